//! A choice among lines, for verbs that a person types: with the arrow keys, and by numbers where the cursor cannot be
//! moved. On the terminal itself, never on standard input.
//!
//! What may not enter: a yes. The library that draws the choice takes no care of what answers a question of guard's
//! kind: that is [`super::confirm`] and [`super::terminal`].

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;

use dialoguer::console::{self, Term};
use dialoguer::theme::{ColorfulTheme, SimpleTheme, Theme};
use dialoguer::{MultiSelect, Select};
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};
use nix::unistd::dup2_stdin;

use super::line;
use crate::ui::pending::cut;
use crate::ui::style::Look;

/// A question with one answer among these lines; Enter keeps the one at `kept`.
///
/// # Errors
/// There is no terminal, it closed the connection, or the person gave up.
pub fn one_of(question: &str, lines: &[String], kept: usize) -> io::Result<usize> {
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    if look.dumb {
        return one_by_number(question, lines, kept);
    }
    let taken = Taken::begin()?;
    taken.term.write_line(&format!("\n{}\n  (arrows and Enter; Esc cancels)", line::fitted(question)))?;
    let (theme, shown) = (theme(&look), taken.cut(lines));
    let select = Select::with_theme(theme.as_ref()).items(&shown).default(kept).report(false);
    let picked = taken.end(select.interact_on_opt(&taken.term))?;
    if let Some(line) = shown.get(picked) {
        taken.term.write_line(&format!("  {line}"))?;
    }
    Ok(picked)
}

/// A question with any number of answers among these; Enter keeps those that are marked.
///
/// # Errors
/// As [`one_of`].
pub fn some_of(question: &str, items: &[(&str, bool)]) -> io::Result<Vec<usize>> {
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    if look.dumb {
        return some_by_number(question, items);
    }
    let taken = Taken::begin()?;
    taken.term.write_line(&format!("\n{}\n  (Space mark, Enter next, Esc cancel)", line::fitted(question)))?;
    let theme = theme(&look);
    let (lines, marks): (Vec<String>, Vec<bool>) = items.iter().map(|(name, on)| ((*name).to_owned(), *on)).unzip();
    let select = MultiSelect::with_theme(theme.as_ref()).items(taken.cut(&lines)).defaults(&marks).report(false);
    let picked = taken.end(select.interact_on_opt(&taken.term))?;
    let names: Vec<&str> = picked.iter().filter_map(|at| lines.get(*at).map(String::as_str)).collect();
    let said = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    taken.term.write_line(&format!("  {said}"))?;
    Ok(picked)
}

fn theme(look: &Look) -> Box<dyn Theme> {
    console::set_colors_enabled_stderr(look.color);
    // Without colours the other theme would not show where the cursor is.
    if look.ascii || !look.color { Box::new(SimpleTheme) } else { Box::new(ColorfulTheme::default()) }
}

/// The terminal in the hands of the library, which reads keys from standard input where that is a terminal: for as long
/// as it asks, standard input is the one that guard opened.
struct Taken {
    term: Term,
    terminal: File,
    before: Termios,
    /// What standard input was, where it was open.
    stdin: Option<OwnedFd>,
}

impl Taken {
    fn begin() -> io::Result<Self> {
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | libc::O_CLOEXEC)
            .open("/dev/tty")?;
        let before = termios::tcgetattr(&terminal)?;
        // What was typed before the question was there does not answer it. From here on each key waits for the library,
        // Ctrl-C among them, which would else be a signal where it comes between two keys that are read.
        let mut keys = before.clone();
        keys.local_flags.remove(LocalFlags::ISIG | LocalFlags::ICANON | LocalFlags::ECHO);
        termios::tcsetattr(&terminal, SetArg::TCSAFLUSH, &keys)?;
        // Ctrl-C cancels the question, and must not end guard while the cursor is hidden.
        interrupt().thread_block()?;
        let stdin = kept_stdin();
        dup2_stdin(&terminal)?;
        let term = Term::read_write_pair(terminal.try_clone()?, terminal.try_clone()?);
        Ok(Self { term, terminal, before, stdin })
    }

    /// Lines that fit the terminal: what is too wide would be drawn over itself.
    fn cut(&self, lines: &[String]) -> Vec<String> {
        // The widest mark in front of a line takes six columns.
        let room = usize::from(self.term.size().1).saturating_sub(7).max(8);
        lines.iter().map(|line| cut(line, room)).collect()
    }

    /// What was picked, where something was.
    fn end<T>(&self, answer: dialoguer::Result<Option<T>>) -> io::Result<T> {
        match answer {
            Ok(Some(picked)) => {
                // One that was sent meanwhile does now what it does at any other time.
                interrupt().thread_unblock()?;
                Ok(picked)
            }
            Ok(None) => Err(io::Error::other("cancelled")),
            Err(dialoguer::Error::IO(error)) if error.kind() == io::ErrorKind::Interrupted => {
                Err(io::Error::other("cancelled"))
            }
            Err(dialoguer::Error::IO(error)) => Err(error),
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // A terminal that hung up has nothing to give back.
        let _ = self.term.show_cursor();
        let _ = termios::tcsetattr(&self.terminal, SetArg::TCSADRAIN, &self.before);
        if let Some(stdin) = &self.stdin {
            let _ = dup2_stdin(stdin);
        }
    }
}

fn interrupt() -> SigSet {
    let mut set = SigSet::empty();
    set.add(Signal::SIGINT);
    set
}

fn kept_stdin() -> Option<OwnedFd> {
    use std::os::fd::FromRawFd as _;
    let number = fcntl(io::stdin(), FcntlArg::F_DUPFD_CLOEXEC(3)).ok()?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows its number.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The same for a terminal whose cursor cannot be moved.
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
