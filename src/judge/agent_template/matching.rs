//! Matches a line with a template, to the last byte, and returns the text in its holes.
//!
//! Out of scope: names of agents and of their files.

use std::collections::BTreeMap;

use super::AgentDirectories;
use super::scan::Remainder;
use crate::judge::agents::model::{CommandPosition, Hole, Template, TemplatePart};
use crate::judge::syntax::tree::{Command, Dialect, Part as Piece};
use crate::judge::syntax::{self, Completeness};

/// The text in a hole: as it is written, and with the shell's quotes removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HoleText {
    raw: Vec<u8>,
    pub value: Vec<u8>,
}

/// A line that matches a template.
#[derive(Clone, Debug, Default)]
pub(super) struct TemplateMatch {
    pub holes: BTreeMap<String, HoleText>,
    /// The code that the shell executes before the command, line by line.
    pub before: Vec<Vec<u8>>,
}

/// A matcher for the lines of one template.
pub(super) struct Matching<'a> {
    pub template: &'a Template,
    pub places: &'a AgentDirectories<'a>,
    pub dialect: Dialect,
}

impl Matching<'_> {
    /// Returns the match; `None` if the text has another form.
    pub fn of(&self, text: &[u8]) -> Option<TemplateMatch> {
        let mut fit = TemplateMatch::default();
        let mut scan = Remainder::of(text);
        self.sequence(&self.template.parts, &mut scan, &mut fit)?;
        scan.end()?;
        Some(fit)
    }

    fn sequence(&self, parts: &[TemplatePart], scan: &mut Remainder<'_>, fit: &mut TemplateMatch) -> Option<()> {
        for (at, part) in parts.iter().enumerate() {
            match part {
                TemplatePart::Text(text) => scan.text(text)?,
                TemplatePart::Blanks => scan.blanks()?,
                TemplatePart::Hole(name) if name == "COMMAND" => {
                    let value = self.command(scan, parts.get(at + 1..).unwrap_or_default())?;
                    fit.holes.insert(name.clone(), HoleText { raw: Vec::new(), value });
                }
                TemplatePart::Hole(name) => self.hole(name, scan, fit)?,
                TemplatePart::Before(inner) => {
                    let start = scan.rest();
                    self.sequence(inner, scan, fit)?;
                    fit.before.push(taken(start, scan));
                }
                TemplatePart::One { of, must } => {
                    if !of.iter().any(|one| self.attempt(one, scan, fit)) && *must {
                        return None;
                    }
                }
                TemplatePart::Many(inner) => {
                    // A hole may have another text in each repetition.
                    let holes = fit.holes.clone();
                    self.sequence(inner, scan, fit)?;
                    loop {
                        fit.holes.clone_from(&holes);
                        let left = scan.rest().len();
                        if !self.attempt(inner, scan, fit) || scan.rest().len() == left {
                            break;
                        }
                    }
                    fit.holes.clone_from(&holes);
                }
            }
        }
        Some(())
    }

    /// Matches these parts and reports whether they match. If they do not, the state is unchanged.
    fn attempt(&self, parts: &[TemplatePart], scan: &mut Remainder<'_>, fit: &mut TemplateMatch) -> bool {
        let mut ahead = *scan;
        let mut attempt = fit.clone();
        let fits = self.sequence(parts, &mut ahead, &mut attempt).is_some();
        if fits {
            (*scan, *fit) = (ahead, attempt);
        }
        fits
    }

    fn command(&self, scan: &mut Remainder<'_>, after: &[TemplatePart]) -> Option<Vec<u8>> {
        match self.template.command {
            CommandPosition::Quoted => scan.quoted(),
            CommandPosition::Raw => {
                let end: String =
                    after.iter().map(|part| if let TemplatePart::Text(text) = part { text } else { "" }).collect();
                let inner = scan.rest().strip_suffix(end.as_bytes())?;
                // An incomplete command could close the construct around it and have text outside of it.
                syntax::parse(inner, self.dialect).ok()?;
                let whole = [inner, b"\n"].concat();
                (syntax::completeness(&whole, self.dialect) == Completeness::Complete).then_some(())?;
                scan.skip(inner.len());
                Some(inner.to_vec())
            }
            CommandPosition::Double => {
                let inner = double(std::str::from_utf8(scan.rest()).ok()?.trim_end_matches('\n'), self.dialect)?;
                scan.skip(scan.rest().len());
                after.is_empty().then_some(inner)
            }
        }
    }

    fn hole(&self, name: &str, scan: &mut Remainder<'_>, fit: &mut TemplateMatch) -> Option<()> {
        let described = self.template.holes.get(name);
        if let Some(Hole::Text(texts)) = described {
            return texts.iter().any(|text| scan.may(text)).then_some(());
        }
        if let Some(found) = fit.holes.get(name) {
            return scan.bytes(&found.raw);
        }
        let start = scan.rest();
        let value = match (described, name) {
            (Some(Hole::Path(patterns)), _) => patterns.iter().find_map(|pattern| self.path(pattern, scan))?,
            (Some(Hole::Chars(more)), _) => scan.letters(more).to_vec(),
            (None, "VALUE") => scan.quoted()?,
            (None, "VARIABLE") => scan.name()?.to_vec(),
            (None, "PATH") => scan.path()?.into_bytes(),
            _ => return None,
        };
        // The next occurrence may have another value or name.
        if !matches!(name, "VALUE" | "VARIABLE") {
            fit.holes.insert(name.to_owned(), HoleText { raw: taken(start, scan), value });
        }
        Some(())
    }

    /// Matches a path with a pattern, below one of the directories that the beginning of the pattern denotes.
    fn path(&self, pattern: &str, scan: &mut Remainder<'_>) -> Option<Vec<u8>> {
        let (place, pattern) = pattern.split_once('/')?;
        let roots = self.places.of(place);
        if scan.rest().starts_with(b"'") {
            let mut ahead = *scan;
            let quoted = ahead.quoted()?;
            let fits = roots.iter().any(|root| below(root, pattern, &quoted) == Some(quoted.len()));
            return fits.then(|| {
                *scan = ahead;
                quoted
            });
        }
        let length = roots.iter().find_map(|root| below(root, pattern, scan.rest()))?;
        let path = scan.rest().get(..length)?.to_vec();
        scan.skip(length);
        path.iter().all(|byte| is_plain(*byte)).then_some(path)
    }
}

/// Returns the text that was read since `start`.
fn taken(start: &[u8], scan: &Remainder<'_>) -> Vec<u8> {
    start.get(..start.len() - scan.rest().len()).unwrap_or_default().to_vec()
}

/// Returns the length of the path below this root that matches the pattern.
fn below(root: &str, pattern: &str, text: &[u8]) -> Option<usize> {
    let rest = text.strip_prefix(root.trim_end_matches('/').as_bytes())?.strip_prefix(b"/")?;
    Some(text.len() - rest.len() + fits(pattern, rest)?)
}

/// Returns the length of the beginning of a text that matches a pattern.
fn fits(pattern: &str, text: &[u8]) -> Option<usize> {
    let run = |is: fn(&u8) -> bool| text.iter().take_while(|byte| is(byte)).count();
    if let Some(rest) = pattern.strip_prefix("**/") {
        let mut at = 0;
        loop {
            if let Some(more) = fits(rest, text.get(at..)?) {
                return Some(at + more);
            }
            let next = text.get(at..)?.iter().take_while(|byte| is_plain(**byte) && **byte != b'/').count();
            let directory = text.get(at..at + next)?;
            (next > 0 && directory != b".." && text.get(at + next) == Some(&b'/')).then_some(())?;
            at += next + 1;
        }
    }
    if pattern == "**" {
        let length = run(|byte| is_plain(*byte));
        let named = text.get(..length)?;
        return (length > 0 && !named.split(|byte| *byte == b'/').any(|part| part == b"..")).then_some(length);
    }
    let Some(first) = pattern.chars().next() else { return Some(0) };
    let (length, rest) = match first {
        '*' => (run(u8::is_ascii_alphanumeric), &pattern[1..]),
        '#' => (run(u8::is_ascii_digit), &pattern[1..]),
        _ => (usize::from(text.first() == pattern.as_bytes().first()), pattern.get(1..)?),
    };
    (length > 0).then_some(())?;
    Some(length + fits(rest, text.get(length..)?)?)
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b'@' | b'%' | b'~')
}

/// Returns the command of an `eval` with one word in double quotes, in which a shell makes expansions: the text if it
/// is literal, and otherwise the whole `eval`.
fn double(word: &str, dialect: Dialect) -> Option<Vec<u8>> {
    let line = format!("eval {word}");
    let script = syntax::parse(line.as_bytes(), dialect).ok()?;
    let [item] = script.items.as_slice() else { return None };
    let [Command::Simple(simple)] = item.first.commands.as_slice() else { return None };
    let [_, command] = simple.words.as_slice() else { return None };
    let is_alone = item.rest.is_empty()
        && !item.background
        && !item.first.negated
        && !item.first.timed
        && simple.redirects.is_empty()
        && simple.assignments.is_empty();
    let [Piece::Double { parts, localized: false }] = command.parts.as_slice() else { return None };
    is_alone.then_some(())?;
    Some(match parts.as_slice() {
        [Piece::Literal(text)] if !word.contains('\\') => text.clone().into_bytes(),
        _ => line.into_bytes(),
    })
}

/// Removes whitespace around lines, and empty lines, except in here-documents with a quoted delimiter.
pub(super) fn loosened(text: &[u8]) -> Vec<u8> {
    let mut loose = Vec::with_capacity(text.len());
    let mut end: Option<Vec<u8>> = None;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if let Some(tag) = &end {
            loose.extend_from_slice(line);
            if line.strip_suffix(b"\n").unwrap_or(line) == tag.as_slice() {
                end = None;
            }
            continue;
        }
        let line = line.trim_ascii();
        if !line.is_empty() {
            loose.extend_from_slice(line);
            loose.push(b'\n');
        }
        let at = memchr::memmem::rfind(line, b"<< '");
        end = at.and_then(|at| Some(line.get(at + 4..)?.strip_suffix(b"'")?.to_vec()));
    }
    loose
}
