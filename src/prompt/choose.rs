//! Menus for subcommands: with the arrow keys, or by numbers if the cursor cannot be moved. They read the terminal and
//! never standard input.
//!
//! Out of scope: confirmations, which require a typed line ([`super::confirm`]).

use std::io;

use dialoguer::console::{self, Term};
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{MultiSelect, Select};

use super::handover::Handover;
use super::line;
use crate::ui::pending::cut;
use crate::ui::style::Look;

/// Asks for one of these lines; Enter selects the one at `kept`.
///
/// # Errors
/// There is no terminal, it hung up, or the user cancelled.
pub fn one_of(question: &str, lines: &[String], kept: usize) -> io::Result<usize> {
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    if look.dumb {
        return one_by_number(question, lines, kept);
    }
    let taken = Handover::begin()?;
    taken.term.write_line(&format!("\n{}\n  (arrows and Enter; Esc cancels)", line::fitted(question)))?;
    let (theme, shown) = (theme(&look), fitting(&taken.term, lines));
    let select = Select::with_theme(theme.as_ref()).items(&shown).default(kept).report(false);
    let picked = taken.end(select.interact_on_opt(&taken.term))?;
    if let Some(line) = shown.get(picked) {
        taken.term.write_line(&format!("  {line}"))?;
    }
    Ok(picked)
}

/// Asks for any number of these lines; Enter accepts the marked ones.
///
/// # Errors
/// The same as of [`one_of`].
pub fn some_of(question: &str, items: &[(&str, bool)]) -> io::Result<Vec<usize>> {
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    if look.dumb {
        return some_by_number(question, items);
    }
    let taken = Handover::begin()?;
    taken.term.write_line(&format!("\n{}\n  (Space mark, Enter next, Esc cancel)", line::fitted(question)))?;
    let theme = theme(&look);
    let (lines, marks): (Vec<String>, Vec<bool>) = items.iter().map(|(name, on)| ((*name).to_owned(), *on)).unzip();
    let select =
        MultiSelect::with_theme(theme.as_ref()).items(fitting(&taken.term, &lines)).defaults(&marks).report(false);
    let picked = taken.end(select.interact_on_opt(&taken.term))?;
    let names: Vec<&str> = picked.iter().filter_map(|at| lines.get(*at).map(String::as_str)).collect();
    let said = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    taken.term.write_line(&format!("  {said}"))?;
    Ok(picked)
}

fn theme(look: &Look) -> Box<dyn Theme> {
    console::set_colors_enabled_stderr(look.color);
    // Without colours the other theme would not show the cursor.
    if look.ascii || !look.color { Box::new(SimpleTheme) } else { Box::new(ColorfulTheme::default()) }
}

/// Truncates lines to the width of the terminal; wider lines would be drawn over each other.
fn fitting(term: &Term, lines: &[String]) -> Vec<String> {
    // The widest mark before a line takes six columns.
    let room = usize::from(term.size().1).saturating_sub(7).max(8);
    lines.iter().map(|line| cut(line, room)).collect()
}

/// Asks for a number, on a terminal whose cursor cannot be moved.
fn one_by_number(question: &str, lines: &[String], kept: usize) -> io::Result<usize> {
    let marked = |number: usize| if number == kept { '*' } else { ' ' };
    let listed = lines.iter().enumerate().map(|(number, line)| format!(" {} {}  {line}\n", marked(number), number + 1));
    let mut text = line::fitted(&format!("\n{question}\n{}", listed.collect::<String>())) + "\n";
    loop {
        let typed = line::ask(&text, &format!("1 to {}, Enter keeps {}, q cancels:", lines.len(), kept + 1))?;
        match typed.trim() {
            "" => return Ok(kept),
            "q" | "Q" => return Err(io::Error::other("cancelled")),
            typed => match typed.parse::<usize>() {
                Ok(number @ 1..) if number <= lines.len() => return Ok(number - 1),
                _ => text = format!("{typed} is not one of the choices.\n"),
            },
        }
    }
}

fn some_by_number(question: &str, items: &[(&str, bool)]) -> io::Result<Vec<usize>> {
    let kept: Vec<usize> = items.iter().enumerate().filter(|(_, (_, on))| *on).map(|(number, _)| number).collect();
    let listed = items.iter().enumerate().map(|(number, (name, on))| {
        let mark = if *on { '*' } else { ' ' };
        format!(" {mark} {}  {name}\n", number + 1)
    });
    let mut text = line::fitted(&format!("\n{question}\n{}", listed.collect::<String>())) + "\n";
    loop {
        let typed =
            line::ask(&text, "Numbers separated by spaces, Enter keeps the marked ones, 0 selects none, q cancels:")?;
        let typed = typed.trim();
        match typed {
            "" => return Ok(kept),
            "0" => return Ok(Vec::new()),
            "q" | "Q" => return Err(io::Error::other("cancelled")),
            _ => {}
        }
        let words = typed.split([' ', ',']).filter(|word| !word.is_empty());
        let numbers = words.map(|word| word.parse().ok().filter(|number| (1..=items.len()).contains(number)));
        match numbers.collect::<Option<Vec<usize>>>() {
            Some(numbers) => return Ok(numbers.into_iter().map(|number| number - 1).collect()),
            None => text = format!("{typed} contains something that is not one of the choices.\n"),
        }
    }
}
