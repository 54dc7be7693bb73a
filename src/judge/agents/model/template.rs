//! Templates of the text that an agent adds around a command before it passes it to a shell.
//!
//! All text is literal except these marks. Each mark matches in one way, without backtracking:
//!
//! - `@NAME@`: a hole. `@COMMAND@` is the command; `@VALUE@` a word in single quotes, `@VARIABLE@` the name of a
//!   variable, `@PATH@` any path; every other hole is described in `holes`, and has the same value wherever it occurs
//!   again.
//! - `@<a@|b@>`: one of these, or nothing. `@!a@|b@>`: one of these.
//! - `@(a@)`: this, once or more.
//! - `@^a@$`: the shell executes this before the command. `@~`: whitespace, at least one character.
//!
//! Out of scope: matching ([`crate::judge::agent_template`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A form of an agent's command lines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    pub text: String,
    /// The allowed content of each hole.
    #[serde(default)]
    pub holes: BTreeMap<String, Hole>,
    /// The notation of the command in its hole.
    #[serde(default)]
    pub command: CommandPosition,
    /// The arguments after the text, if the form requires a number of them: a hole, a word, or an empty text for any
    /// argument.
    #[serde(default)]
    pub positional: Option<Vec<String>>,
    /// Code that the shell executes before the command, with holes in it, each of which is quoted.
    #[serde(default)]
    pub before: String,
    /// A variable whose code is executed before the command.
    #[serde(default)]
    pub variable: String,
    /// Whether it contains no command, because the agent prepares its own files.
    #[serde(default)]
    pub prepares: bool,
    /// Whether whitespace around lines and empty lines are ignored, except in here-documents.
    #[serde(default)]
    pub loose: bool,
    /// Whether it applies only if the agent's own process runs the line, with `-c` as the only option.
    #[serde(default)]
    pub own: bool,
    /// The parsed text; computed when guard is built.
    #[serde(default)]
    pub parts: Vec<TemplatePart>,
}

/// The notation of a command in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandPosition {
    /// In single quotes.
    #[default]
    Quoted,
    /// Unchanged, up to the rest of the text; it must be complete.
    Raw,
    /// As the last word, in double quotes.
    Double,
}

/// The allowed content of a hole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hole {
    /// A path: below the home (`~/`), among temporary files (`TMP/`), or below the parent of a directory of programs
    /// (`PREFIX/`). `*` matches letters and digits, `#` digits, `**/` any directories, and `**` at the end everything
    /// else.
    Path(Vec<String>),
    /// Letters, digits and these characters.
    Chars(String),
    /// One of these texts, which may differ between occurrences.
    Text(Vec<String>),
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TemplatePart {
    Text(String),
    Hole(String),
    Before(Vec<TemplatePart>),
    One { of: Vec<Vec<TemplatePart>>, must: bool },
    Many(Vec<TemplatePart>),
    Blanks,
}

/// The reason why a template is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// A closing mark has no opening one.
    ClosesNothing(char),
    /// A hole is not described.
    Undescribed(String),
    /// The template contains no text beside holes.
    NoText,
    /// An opening mark has no matching closing one.
    NotClosed { letter: char, wanted: char },
    /// Alternatives are in a mark that does not allow them.
    Alternatives(char),
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ClosesNothing(mark) => write!(f, "@{mark} closes nothing"),
            Self::Undescribed(name) => write!(f, "@{name}@ is not described"),
            Self::NoText => f.write_str("it has no text of its own"),
            Self::NotClosed { letter, wanted } => write!(f, "@{letter} is not closed by @{wanted}"),
            Self::Alternatives(letter) => write!(f, "@{letter} has alternatives: put them in @!…@>"),
        }
    }
}

impl std::error::Error for TemplateError {}

/// Holes that need no description.
const KNOWN: [&str; 4] = ["COMMAND", "VALUE", "VARIABLE", "PATH"];

impl Template {
    /// Parses the text into `parts`.
    ///
    /// # Errors
    /// The text is not a valid template.
    pub fn read(&mut self) -> Result<(), TemplateError> {
        let mut rest = self.text.as_str();
        let (mut sequences, mark) = sequences(&mut rest)?;
        if let Some(mark) = mark {
            return Err(TemplateError::ClosesNothing(mark));
        }
        self.parts = sequences.pop().unwrap_or_default();
        let mut unknown = None;
        each(&self.parts, &mut |name| {
            if !KNOWN.contains(&name) && !self.holes.contains_key(name) {
                unknown = Some(name.to_owned());
            }
        });
        match unknown {
            Some(name) => Err(TemplateError::Undescribed(name)),
            None if self.mark().len() < 3 => Err(TemplateError::NoText),
            None => Ok(()),
        }
    }

    /// Returns the longest text that every line of this form contains.
    #[must_use]
    pub fn mark(&self) -> &str {
        let texts = self.parts.iter().filter_map(|part| match part {
            // In a loose template the indentation of a line may differ.
            TemplatePart::Text(text) if self.loose => text.lines().max_by_key(|line| line.len()),
            TemplatePart::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.max_by_key(|text| text.len()).unwrap_or_default()
    }
}

fn each(parts: &[TemplatePart], found: &mut impl FnMut(&str)) {
    for part in parts {
        match part {
            TemplatePart::Text(_) | TemplatePart::Blanks => {}
            TemplatePart::Hole(name) => found(name),
            TemplatePart::Before(inner) | TemplatePart::Many(inner) => each(inner, found),
            TemplatePart::One { of, .. } => of.iter().for_each(|inner| each(inner, found)),
        }
    }
}

/// Parses alternatives up to the mark that closes them, and returns both.
fn sequences(rest: &mut &str) -> Result<(Vec<Vec<TemplatePart>>, Option<char>), TemplateError> {
    let mut all = vec![Vec::new()];
    let mut text = String::new();
    loop {
        let (before, mark) = match rest.split_once('@') {
            Some((before, after)) => (before, Some(after)),
            None => (*rest, None),
        };
        text.push_str(before);
        let Some(after) = mark else {
            *rest = "";
            put(&mut all, &mut text, None);
            return Ok((all, None));
        };
        let name: String = after.chars().take_while(|letter| letter.is_ascii_uppercase() || *letter == '_').collect();
        if !name.is_empty() && after[name.len()..].starts_with('@') {
            *rest = &after[name.len() + 1..];
            put(&mut all, &mut text, Some(TemplatePart::Hole(name)));
            continue;
        }
        let Some(letter) = after.chars().next().filter(|letter| "<!|>()^$~".contains(*letter)) else {
            text.push('@');
            *rest = after;
            continue;
        };
        *rest = &after[1..];
        match letter {
            '|' => {
                put(&mut all, &mut text, None);
                all.push(Vec::new());
            }
            '~' => put(&mut all, &mut text, Some(TemplatePart::Blanks)),
            '>' | ')' | '$' => {
                put(&mut all, &mut text, None);
                return Ok((all, Some(letter)));
            }
            _ => {
                let (mut of, end) = sequences(rest)?;
                let wanted = match letter {
                    '(' => ')',
                    '^' => '$',
                    _ => '>',
                };
                if end != Some(wanted) {
                    return Err(TemplateError::NotClosed { letter, wanted });
                }
                let part = match letter {
                    '<' | '!' => TemplatePart::One { of, must: letter == '!' },
                    _ if of.len() != 1 => return Err(TemplateError::Alternatives(letter)),
                    '(' => TemplatePart::Many(of.pop().unwrap_or_default()),
                    _ => TemplatePart::Before(of.pop().unwrap_or_default()),
                };
                put(&mut all, &mut text, Some(part));
            }
        }
    }
}

fn put(all: &mut [Vec<TemplatePart>], text: &mut String, part: Option<TemplatePart>) {
    let Some(last) = all.last_mut() else { return };
    if !text.is_empty() {
        last.push(TemplatePart::Text(std::mem::take(text)));
    }
    last.extend(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<TemplatePart>, TemplateError> {
        let holes = BTreeMap::from([("ID".to_owned(), Hole::Chars(String::new()))]);
        let mut template = Template { text: text.to_owned(), holes, ..Template::default() };
        template.read().map(|()| template.parts)
    }

    fn text(text: &str) -> TemplatePart {
        TemplatePart::Text(text.to_owned())
    }

    #[test]
    fn marks_mean_what_they_say_and_all_else_stands_for_itself() {
        let one = |must| TemplatePart::One { of: vec![vec![text("a")], vec![text("b")]], must };
        let id = TemplatePart::Hole("ID".to_owned());
        assert_eq!(read("run @<a@|b@>@!a@|b@>"), Ok(vec![text("run "), one(false), one(true)]));
        assert_eq!(read("run @(x@ID@@)"), Ok(vec![text("run "), TemplatePart::Many(vec![text("x"), id])]));
        assert_eq!(
            read("run @^x@$@~y"),
            Ok(vec![text("run "), TemplatePart::Before(vec![text("x")]), TemplatePart::Blanks, text("y")])
        );
        assert_eq!(read("run \"$@\" ${x[@]} a@b.example"), Ok(vec![text("run \"$@\" ${x[@]} a@b.example")]));
    }

    #[test]
    fn what_is_wrong_with_a_template_is_said() {
        for (wrong, why) in [
            ("run @OTHER@", "@OTHER@ is not described"),
            ("run @<a", "@< is not closed by @>"),
            ("run @(a@>", "@( is not closed by @)"),
            ("run a@>", "@> closes nothing"),
            ("run @(a@|b@)", "@( has alternatives"),
            ("@ID@", "no text of its own"),
        ] {
            assert!(read(wrong).is_err_and(|said| said.to_string().contains(why)), "{wrong}: {:?}", read(wrong));
        }
    }

    #[test]
    fn the_mark_is_the_longest_text_that_is_always_there() {
        let mark = |text: &str, loose| {
            let mut template = Template { text: text.to_owned(), loose, ..Template::default() };
            template.read().unwrap();
            template.mark().to_owned()
        };
        assert_eq!(mark("abc@COMMAND@abcdef@<ghijklmnop@>", false), "abcdef");
        assert_eq!(mark("abc\nabcd@COMMAND@", false), "abc\nabcd");
        assert_eq!(mark("abc\nabcd@COMMAND@", true), "abcd");
    }
}
