//! The parser's state, its entry point and its errors. The grammar itself stands in the rooms
//! beside this one, each adding its own part to `Parser`.

use std::collections::BTreeSet;

use super::heredoc::Pending;
use super::limits::{MAX_BYTES, MAX_DEPTH, MAX_LINE, max_steps};
use super::source::{Source, SourceSegment, hole_at, stretches};
use super::tree::{Dialect, HoleId, ParseError, ParseErrorKind, Part, Script, Span, Word};
use super::{cursor, fill};

/// Reads `text` by the grammar of `dialect`.
///
/// # Errors
/// One [`ParseError`] for the whole text; there is no recovery.
pub fn parse(text: &[u8], dialect: Dialect) -> Result<Script, ParseError> {
    check(text)?;
    Parser::new(text, dialect).whole()
}

/// Reads a composed text by the grammar of `dialect`.
///
/// # Errors
/// As [`parse`]; also where a name has a hole in it.
pub fn parse_source(source: &Source, dialect: Dialect) -> Result<Script, ParseError> {
    check(&source.bytes)?;
    let mut parser = Parser::new(&source.bytes, dialect);
    parser.holes = &source.holes;
    parser.whole()
}

/// Whether a text may be read at all.
fn check(text: &[u8]) -> Result<(), ParseError> {
    if text.len() > MAX_BYTES {
        return Err(ParseError { kind: ParseErrorKind::TooLarge, at: cursor::offset(MAX_BYTES) });
    }
    match text.iter().position(|&byte| byte == 0) {
        Some(at) => Err(ParseError { kind: ParseErrorKind::Nul, at: cursor::offset(at) }),
        None => Ok(()),
    }
}

/// Whether a shell that reads lines would run a text of whole lines, or wait for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It would run it, or say that it is wrong.
    Complete,
    /// More lines may belong to it.
    Incomplete,
}

/// Whether whole lines are a command, or the beginning of one.
#[must_use]
pub fn completeness(text: &[u8], dialect: Dialect) -> Completeness {
    let backslashes = text.strip_suffix(b"\n").unwrap_or_default().iter().rev().take_while(|byte| **byte == b'\\');
    if text.len() > MAX_LINE || text.contains(&0) {
        return Completeness::Complete;
    }
    if backslashes.count() % 2 == 1 {
        return Completeness::Incomplete;
    }
    let mut parser = Parser::new(text, dialect);
    let incomplete = match parser.script_to_end(&mut Script::default()) {
        Ok(()) => parser.cut_heredoc,
        Err(ParseFailed) => parser.error.is_some_and(|error| match error.kind {
            ParseErrorKind::Unterminated { .. } => true,
            ParseErrorKind::Unexpected(_) => error.at as usize >= text.trim_ascii_end().len(),
            _ => false,
        }),
    };
    if incomplete { Completeness::Incomplete } else { Completeness::Complete }
}

/// The proof that [`Parser::error`] has been set. It carries nothing, so that results stay small on
/// the stack of deeply nested calls.
#[derive(Debug)]
pub(super) struct ParseFailed;

/// What a reading step returns.
pub(super) type ParseResult<T = ()> = Result<T, ParseFailed>;

/// The constructs that can be read in two ways. A reading that failed once at a place is not tried
/// there again, which keeps retries linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attempt {
    /// `((` or `$((` as arithmetic.
    Arithmetic,
    /// `((` as two subshells, where the shell may not know arithmetic commands.
    Subshells,
    /// `[[` as the name of a command, where the shell may not know conditionals.
    PlainCondition,
    /// The parentheses in front of a `case` pattern as a part of it.
    WholePattern,
    /// `${ …; }` as a command substitution.
    CurrentShell,
    /// `!(…)` as a negated subshell.
    Negation,
}

/// Reads one text. `text` is what is in reach now: a construct whose end is found before it is read
/// (backticks, a here-document's body) narrows it for as long as its inside is read.
pub(super) struct Parser<'t> {
    pub(super) text: &'t [u8],
    pub(super) pos: usize,
    pub(super) dialect: Dialect,
    /// Where each byte of a rewritten text, and its end, stands in the original.
    pub(super) origin: Option<&'t [u32]>,
    /// Where the original text has holes.
    pub(super) holes: &'t [(u32, HoleId)],
    pub(super) depth: u32,
    /// What is left of the step limit.
    pub(super) steps: u64,
    pub(super) error: Option<ParseError>,
    /// Here-documents whose bodies begin after the next newline.
    pub(super) pending: Vec<Pending>,
    /// The bodies read so far, by number. They are put into the tree at the end.
    pub(super) bodies: Vec<Word>,
    /// A closing parenthesis ends the text being read: `$(…)`, `<(…)`.
    pub(super) in_substitution: bool,
    /// Inside `${ …; }` as bash 5.2 would read it, where nothing needs to be compared again.
    pub(super) in_plain_brace: bool,
    /// Where the word began that is being read as an argument of a declaring builtin: in zsh too a
    /// parenthesis after its `=` begins an array, not a group.
    pub(super) declaring: Option<usize>,
    /// Where the parentheses stand that are open in the arithmetic being read.
    pub(super) opens: Vec<usize>,
    pub(super) failed: BTreeSet<(usize, Attempt)>,
    /// Where the last blanks, with the comment behind them, begin and end.
    pub(super) between: (usize, usize),
    /// A here-document ended with the text, not with its delimiter.
    pub(super) cut_heredoc: bool,
}

/// Where an attempt began.
struct Checkpoint<'t> {
    text: &'t [u8],
    pos: usize,
    depth: u32,
    pending: Vec<Pending>,
    opens: usize,
    in_substitution: bool,
    in_plain_brace: bool,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t [u8], dialect: Dialect) -> Self {
        Self {
            text,
            pos: 0,
            dialect,
            origin: None,
            holes: &[],
            depth: 0,
            steps: max_steps(text.len()),
            error: None,
            pending: Vec::new(),
            bodies: Vec::new(),
            in_substitution: false,
            in_plain_brace: false,
            declaring: None,
            opens: Vec::new(),
            failed: BTreeSet::new(),
            between: (0, 0),
            cut_heredoc: false,
        }
    }

    /// Reads everything in reach as one script.
    fn whole(mut self) -> Result<Script, ParseError> {
        let mut script = Script::default();
        match self.script_to_end(&mut script) {
            Ok(()) => {
                fill::bodies(&mut script, &mut self.bodies);
                Ok(script)
            }
            Err(ParseFailed) => Err(self.take_error()),
        }
    }

    /// A script that must reach the end of the text.
    pub(super) fn script_to_end(&mut self, script: &mut Script) -> ParseResult {
        self.list(script)?;
        if self.pos < self.text.len() {
            return Err(self.unexpected());
        }
        self.end_of_text();
        Ok(())
    }

    /// Reads a rewritten text. `origin` says where each of its bytes, and its end, came from.
    pub(super) fn nested(
        &mut self,
        text: &[u8],
        origin: &[u32],
        read: impl FnOnce(&mut Parser<'_>) -> ParseResult,
    ) -> ParseResult {
        let mut inner = Parser::new(text, self.dialect);
        inner.origin = Some(origin);
        inner.holes = self.holes;
        inner.depth = self.depth;
        inner.steps = self.steps;
        inner.bodies = std::mem::take(&mut self.bodies);
        inner.in_plain_brace = self.in_plain_brace;
        let outcome = read(&mut inner);
        self.steps = inner.steps;
        self.bodies = inner.bodies;
        self.error = inner.error;
        self.cut_heredoc |= inner.cut_heredoc;
        outcome
    }

    /// Reads the part of the text from the current place up to `end` and nothing beyond.
    pub(super) fn narrowed(&mut self, end: usize, read: impl FnOnce(&mut Self) -> ParseResult) -> ParseResult {
        let text = self.text;
        self.text = text.get(..end).unwrap_or(text);
        read(self)?;
        self.text = text;
        Ok(())
    }

    /// Tries one of two readings. `None` means that it does not apply and nothing has happened; a
    /// limit that was hit ends the whole reading.
    pub(super) fn attempt<T>(
        &mut self,
        kind: Attempt,
        read: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<Option<T>> {
        let key = (self.pos, kind);
        if self.failed.contains(&key) {
            return Ok(None);
        }
        let before = self.checkpoint();
        match read(self) {
            Ok(value) => Ok(Some(value)),
            Err(ParseFailed) => {
                self.back_to(*before)?;
                self.failed.insert(key);
                Ok(None)
            }
        }
    }

    fn checkpoint(&self) -> Box<Checkpoint<'t>> {
        Box::new(Checkpoint {
            text: self.text,
            pos: self.pos,
            depth: self.depth,
            pending: self.pending.clone(),
            opens: self.opens.len(),
            in_substitution: self.in_substitution,
            in_plain_brace: self.in_plain_brace,
        })
    }

    /// Forgets a failure, unless it was a limit.
    fn back_to(&mut self, before: Checkpoint<'t>) -> ParseResult {
        if self.error.as_ref().is_some_and(|error| error.kind.is_limit()) {
            return Err(ParseFailed);
        }
        self.error = None;
        self.text = before.text;
        self.pos = before.pos;
        self.depth = before.depth;
        self.pending = before.pending;
        self.opens.truncate(before.opens);
        self.in_substitution = before.in_substitution;
        self.in_plain_brace = before.in_plain_brace;
        Ok(())
    }

    /// One level down. Every cycle of calls in the grammar passes here.
    pub(super) fn enter(&mut self) -> ParseResult {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(ParseErrorKind::TooDeep));
        }
        self.depth += 1;
        Ok(())
    }

    /// One level up again. Not called on the way out of a failure: that ends everything, or the
    /// attempt restores the level.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts `steps` against the limit.
    pub(super) fn spend(&mut self, steps: usize) -> ParseResult {
        match self.steps.checked_sub(steps as u64) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(self.fail(ParseErrorKind::TooMuchWork)),
        }
    }

    /// The hole at `pos`.
    pub(super) fn hole(&self, pos: usize) -> Option<HoleId> {
        hole_at(self.holes, self.place(pos))
    }

    /// Whether there is a hole between two places.
    pub(super) fn has_hole(&self, start: usize, end: usize) -> bool {
        !self.holes.is_empty() && (start..end).any(|pos| self.raw(pos) == cursor::HOLE && self.hole(pos).is_some())
    }

    /// The text from `start` to `end` as parts: those that `read` makes of bytes, and holes. An empty text is one part.
    pub(super) fn with_holes(
        &self,
        start: usize,
        end: usize,
        parts: &mut Vec<Part>,
        mut read: impl FnMut(&[u8]) -> Part,
    ) {
        let text = self.text.get(start..end).unwrap_or_default();
        if !self.has_hole(start, end) {
            parts.push(read(text));
            return;
        }
        let begins = parts.len();
        parts.extend(stretches(text, self.holes, |at| self.place(start + at)).map(|stretch| match stretch {
            SourceSegment::Bytes(bytes) => read(bytes),
            SourceSegment::Hole(hole) => Part::Hole(hole),
        }));
        // Quotes around holes alone are quotes all the same.
        if parts.get(begins..).is_some_and(|parts| parts.iter().all(|part| matches!(part, Part::Hole(_)))) {
            parts.insert(begins, read(b""));
        }
    }

    /// Where `pos` stands in the original text.
    pub(super) fn place(&self, pos: usize) -> u32 {
        match self.origin {
            Some(origin) => origin.get(pos).or(origin.last()).copied().unwrap_or(0),
            None => cursor::offset(pos),
        }
    }

    /// The span from `start` to the current place.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(self.place(start), self.place(self.pos).max(self.place(start)))
    }

    /// From `start` to here, without the blanks and the comment that were just stepped over.
    pub(super) fn solid_span_from(&self, start: usize) -> Span {
        let (begin, end) = self.between;
        let solid = if end == self.pos { begin.max(start) } else { self.pos };
        Span::new(self.place(start), self.place(solid).max(self.place(start)))
    }

    /// Fails at the current place.
    pub(super) fn fail(&mut self, kind: ParseErrorKind) -> ParseFailed {
        self.error = Some(ParseError { kind, at: self.place(self.pos) });
        ParseFailed
    }

    /// Fails because a construct that began at `began` has no end.
    pub(super) fn unterminated(&mut self, what: &'static str, began: usize) -> ParseFailed {
        let began = self.place(began);
        self.fail(ParseErrorKind::Unterminated { what, began })
    }

    /// Fails because a form cannot be read without knowing the shell's options or version.
    pub(super) fn unsupported(&mut self, what: &'static str) -> ParseFailed {
        self.fail(ParseErrorKind::Unsupported(what))
    }

    /// Fails because the grammar does not allow what stands at the current place.
    pub(super) fn unexpected(&mut self) -> ParseFailed {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let what = match rest.first() {
            None => "end of the command".to_owned(),
            Some(b'\n') => "end of the line".to_owned(),
            Some(_) => {
                let len = rest.iter().take(24).position(|&byte| cursor::is_meta(byte)).unwrap_or(rest.len().min(24));
                format!("`{}`", String::from_utf8_lossy(rest.get(..len.max(1)).unwrap_or_default()))
            }
        };
        self.fail(ParseErrorKind::Unexpected(what))
    }

    fn take_error(&mut self) -> ParseError {
        // `ParseFailed` is only made by `fail`, which sets the error; the default is there so that a
        // mistake in that would still be an error.
        self.error.take().unwrap_or(ParseError { kind: ParseErrorKind::Unexpected("text".to_owned()), at: 0 })
    }
}
