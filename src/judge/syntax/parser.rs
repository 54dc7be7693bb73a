//! The state of the parser, its entry point and its errors. The grammar is in the sibling modules, each of which adds
//! methods to `Parser`.

use std::collections::BTreeSet;

use super::heredoc::Pending;
use super::limits::{MAX_BYTES, MAX_DEPTH, MAX_LINE, max_steps};
use super::source::{Source, SourceSegment, hole_at, stretches};
use super::tree::{Dialect, HoleId, ParseError, ParseErrorKind, Part, Script, Span, Word};
use super::{cursor, fill};

/// Parses `text` with the grammar of `dialect`.
///
/// # Errors
/// One [`ParseError`] for the whole text; there is no recovery.
pub fn parse(text: &[u8], dialect: Dialect) -> Result<Script, ParseError> {
    check(text)?;
    Parser::new(text, dialect).whole()
}

/// Parses a composed text with the grammar of `dialect`.
///
/// # Errors
/// As for [`parse`]; also if a name contains a hole.
pub fn parse_source(source: &Source, dialect: Dialect) -> Result<Script, ParseError> {
    check(&source.bytes)?;
    let mut parser = Parser::new(&source.bytes, dialect);
    parser.holes = &source.holes;
    parser.whole()
}

/// Checks the limits that apply before a text is parsed.
fn check(text: &[u8]) -> Result<(), ParseError> {
    if text.len() > MAX_BYTES {
        return Err(ParseError { kind: ParseErrorKind::TooLarge, at: cursor::offset(MAX_BYTES) });
    }
    match text.iter().position(|&byte| byte == 0) {
        Some(at) => Err(ParseError { kind: ParseErrorKind::Nul, at: cursor::offset(at) }),
        None => Ok(()),
    }
}

/// Whether a shell that reads line by line would execute some whole lines, or read more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// The shell would execute them, or report an error.
    Complete,
    /// More lines may belong to the command.
    Incomplete,
}

/// Determines whether whole lines are a complete command or the start of one.
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

/// The proof that [`Parser::error`] is set. It is empty, so that results use little stack in deeply nested calls.
#[derive(Debug)]
pub(super) struct ParseFailed;

/// The result of a parsing step.
pub(super) type ParseResult<T = ()> = Result<T, ParseFailed>;

/// The constructs with two possible interpretations. An interpretation that failed at a position is not tried there
/// again, so the number of retries is linear.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attempt {
    /// `((` or `$((` as arithmetic.
    Arithmetic,
    /// `((` as two subshells, if the shell may not know arithmetic commands.
    Subshells,
    /// `[[` as the name of a command, if the shell may not know conditionals.
    PlainCondition,
    /// The parentheses before a `case` pattern as a part of it.
    WholePattern,
    /// `${ …; }` as a command substitution.
    CurrentShell,
    /// `!(…)` as a negated subshell.
    Negation,
}

/// The parser of one text. `text` is limited to the part that is being parsed: a construct whose end is found before
/// its content is parsed (backticks, the body of a here-document) narrows it while its content is parsed.
pub(super) struct Parser<'t> {
    pub(super) text: &'t [u8],
    pub(super) pos: usize,
    pub(super) dialect: Dialect,
    /// The original position of each byte of a rewritten text, and of its end.
    pub(super) origin: Option<&'t [u32]>,
    /// The holes of the original text.
    pub(super) holes: &'t [(u32, HoleId)],
    pub(super) depth: u32,
    /// The remaining number of steps.
    pub(super) steps: u64,
    pub(super) error: Option<ParseError>,
    /// The here-documents whose bodies begin after the next newline.
    pub(super) pending: Vec<Pending>,
    /// The bodies that have been parsed, by number. They are inserted into the tree at the end.
    pub(super) bodies: Vec<Word>,
    /// Whether a closing parenthesis ends the text that is being parsed: `$(…)`, `<(…)`.
    pub(super) in_substitution: bool,
    /// Whether it is inside `${ …; }` as interpreted by bash 5.2, in which the two interpretations need not be compared
    /// again.
    pub(super) in_plain_brace: bool,
    /// The start of a word that is parsed as an argument of a declaring builtin. In zsh too, a parenthesis after its
    /// `=` then begins an array and not a group.
    pub(super) declaring: Option<usize>,
    /// The positions of the open parentheses in the arithmetic that is being parsed.
    pub(super) opens: Vec<usize>,
    pub(super) failed: BTreeSet<(usize, Attempt)>,
    /// The start and end of the last blanks, including a comment after them.
    pub(super) between: (usize, usize),
    /// Whether a here-document ended at the end of the text instead of its delimiter.
    pub(super) cut_heredoc: bool,
}

/// The state at the start of an attempt.
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

    /// Parses the whole text as one script.
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

    /// Parses a script that must end at the end of the text.
    pub(super) fn script_to_end(&mut self, script: &mut Script) -> ParseResult {
        self.list(script)?;
        if self.pos < self.text.len() {
            return Err(self.unexpected());
        }
        self.end_of_text();
        Ok(())
    }

    /// Parses a rewritten text. `origin` contains the original position of each byte and of the end.
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

    /// Parses the text from the current position to `end`.
    pub(super) fn narrowed(&mut self, end: usize, read: impl FnOnce(&mut Self) -> ParseResult) -> ParseResult {
        let text = self.text;
        self.text = text.get(..end).unwrap_or(text);
        read(self)?;
        self.text = text;
        Ok(())
    }

    /// Tries one of two interpretations. `None` if it does not apply; the state is then unchanged. An exceeded limit
    /// ends the whole parsing.
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

    /// Restores the state at a checkpoint after a failure, unless a limit was exceeded.
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

    /// Enters a nesting level. Every recursive cycle in the grammar calls this.
    pub(super) fn enter(&mut self) -> ParseResult {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(ParseErrorKind::TooDeep));
        }
        self.depth += 1;
        Ok(())
    }

    /// Leaves a nesting level. Not called on failure, which either ends everything or makes the attempt restore the
    /// level.
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

    /// Returns the hole at `pos`.
    pub(super) fn hole(&self, pos: usize) -> Option<HoleId> {
        hole_at(self.holes, self.place(pos))
    }

    /// Reports whether there is a hole between two positions.
    pub(super) fn has_hole(&self, start: usize, end: usize) -> bool {
        !self.holes.is_empty() && (start..end).any(|pos| self.raw(pos) == cursor::HOLE && self.hole(pos).is_some())
    }

    /// Adds the text from `start` to `end` as parts: the holes, and the parts that `read` creates from the bytes
    /// between them. An empty text is one part.
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
        // If only holes were quoted, an empty part preserves the quotes.
        if parts.get(begins..).is_some_and(|parts| parts.iter().all(|part| matches!(part, Part::Hole(_)))) {
            parts.insert(begins, read(b""));
        }
    }

    /// Returns the position of `pos` in the original text.
    pub(super) fn place(&self, pos: usize) -> u32 {
        match self.origin {
            Some(origin) => origin.get(pos).or(origin.last()).copied().unwrap_or(0),
            None => cursor::offset(pos),
        }
    }

    /// Returns the span from `start` to the current position.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(self.place(start), self.place(self.pos).max(self.place(start)))
    }

    /// Returns the span from `start` to the current position, without the blanks and the comment that were skipped
    /// last.
    pub(super) fn solid_span_from(&self, start: usize) -> Span {
        let (begin, end) = self.between;
        let solid = if end == self.pos { begin.max(start) } else { self.pos };
        Span::new(self.place(start), self.place(solid).max(self.place(start)))
    }

    /// Fails at the current position.
    pub(super) fn fail(&mut self, kind: ParseErrorKind) -> ParseFailed {
        self.error = Some(ParseError { kind, at: self.place(self.pos) });
        ParseFailed
    }

    /// Fails because a construct that began at `began` is not terminated.
    pub(super) fn unterminated(&mut self, what: &'static str, began: usize) -> ParseFailed {
        let began = self.place(began);
        self.fail(ParseErrorKind::Unterminated { what, began })
    }

    /// Fails because the meaning of a construct depends on the shell's options or version.
    pub(super) fn unsupported(&mut self, what: &'static str) -> ParseFailed {
        self.fail(ParseErrorKind::Unsupported(what))
    }

    /// Fails because the grammar does not allow the next token.
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
        // Only `fail` creates `ParseFailed`, and it sets the error. The default ensures that a bug there still results
        // in an error.
        self.error.take().unwrap_or(ParseError { kind: ParseErrorKind::Unexpected("text".to_owned()), at: 0 })
    }
}
