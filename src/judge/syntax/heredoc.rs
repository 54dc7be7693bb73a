//! Parses the bodies of here-documents: their ends and their expansions.

use super::cursor::text_of;
use super::parser::{ParseResult, Parser};
use super::quote::Quoted;
use super::source::{SourceSegment, stretches};
use super::tree::{Dialect, Part, Word};

/// A here-document whose body has not been reached yet.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Its index in [`Parser::bodies`].
    pub(super) id: usize,
    pub(super) delimiter: String,
    pub(super) quoted: bool,
    pub(super) strip_tabs: bool,
}

/// The range of a body, and the position after its delimiter.
struct BodyExtent {
    start: usize,
    end: usize,
    next: usize,
    /// Whether tabs at the start of lines must be removed.
    tabs: bool,
}

impl Parser<'_> {
    /// Parses the bodies that begin here, after a newline.
    pub(super) fn heredoc_bodies(&mut self) -> ParseResult {
        for pending in std::mem::take(&mut self.pending) {
            let extent = self.extent(&pending)?;
            let body = self.body(&pending, &extent)?;
            if let Some(place) = self.bodies.get_mut(pending.id) {
                *place = body;
            }
            self.pos = extent.next;
        }
        Ok(())
    }

    /// Ends the text: here-documents whose bodies are missing have empty ones.
    pub(super) fn end_of_text(&mut self) {
        let span = self.span_from(self.pos);
        self.cut_heredoc |= !self.pending.is_empty();
        for pending in std::mem::take(&mut self.pending) {
            if let Some(place) = self.bodies.get_mut(pending.id) {
                place.span = span;
            }
        }
    }

    /// Finds the line that ends the body. Without one, the body ends at the end of the text, as in every shell.
    fn extent(&mut self, pending: &Pending) -> ParseResult<BodyExtent> {
        let start = self.pos;
        let mut line = start;
        let mut tabs = false;
        while line < self.text.len() {
            let mut pos = line;
            if pending.strip_tabs {
                while self.raw(pos) == b'\t' {
                    pos += 1;
                    tabs = true;
                }
            }
            let (matched, next) = self.line(pos, pending)?;
            match matched {
                DelimiterMatch::Whole => return Ok(BodyExtent { start, end: line, next, tabs }),
                DelimiterMatch::BeforeParenthesis(at) => return Ok(BodyExtent { start, end: line, next: at, tabs }),
                DelimiterMatch::No => line = next,
            }
        }
        self.cut_heredoc = true;
        Ok(BodyExtent { start, end: self.text.len(), next: self.text.len(), tabs })
    }

    /// Compares the line at `start`, joined with its continuation lines, with the delimiter. Also returns the start of
    /// the next line.
    fn line(&mut self, start: usize, pending: &Pending) -> ParseResult<(DelimiterMatch, usize)> {
        let delimiter = pending.delimiter.as_bytes();
        let mut rest = Some(delimiter);
        let mut after = None;
        let mut exact = true;
        let mut closes = false;
        let mut pos = start;
        let end = loop {
            if rest.is_some_and(<[u8]>::is_empty) && after.is_none() {
                after = Some(pos);
            }
            let byte = self.raw(pos);
            // An escaped character does not begin a line continuation.
            let pair = byte == b'\\' && !pending.quoted && pos + 1 < self.text.len();
            if pos >= self.text.len() || byte == b'\n' {
                break pos;
            }
            if pair && self.raw(pos + 1) == b'\n' {
                pos += 2;
                continue;
            }
            for at in pos..=pos + usize::from(pair) {
                exact &= after.is_none();
                closes |= after.is_some() && self.raw(at) == b')';
                rest =
                    rest.and_then(|rest| rest.split_first()).filter(|(first, _)| **first == self.raw(at)).map(|x| x.1);
            }
            pos += 1 + usize::from(pair);
        };
        self.spend(end - start + 1)?;
        let next = (end + 1).min(self.text.len());
        Ok(match after {
            Some(_) if exact => (DelimiterMatch::Whole, next),
            // bash also ends the body within a line that contains the closing parenthesis of the substitution.
            Some(at) if closes && self.in_substitution && self.dialect == Dialect::Bash => {
                (DelimiterMatch::BeforeParenthesis(at), next)
            }
            _ => (DelimiterMatch::No, next),
        })
    }

    fn body(&mut self, pending: &Pending, extent: &BodyExtent) -> ParseResult<Word> {
        let mut word = Word::default();
        if extent.tabs {
            let (text, origin) = self.without_tabs(pending, extent)?;
            if pending.quoted {
                let place = |at: usize| origin.get(at).copied().unwrap_or(0);
                word.parts.extend(stretches(&text, self.holes, place).map(|stretch| match stretch {
                    SourceSegment::Bytes(bytes) => Part::Literal(text_of(bytes)),
                    SourceSegment::Hole(hole) => Part::Hole(hole),
                }));
            } else {
                self.nested(&text, &origin, |parser| parser.quoted(Quoted::End, &mut word.parts))?;
            }
        } else if pending.quoted {
            if extent.end > extent.start {
                self.with_holes(extent.start, extent.end, &mut word.parts, |bytes| Part::Literal(text_of(bytes)));
                word.parts.retain(|part| *part != Part::Literal(String::new()));
            }
        } else {
            let outer = std::mem::replace(&mut self.in_substitution, false);
            self.pos = extent.start;
            self.narrowed(extent.end, |parser| parser.quoted(Quoted::End, &mut word.parts))?;
            self.in_substitution = outer;
        }
        word.span.start = self.place(extent.start);
        word.span.end = self.place(extent.end);
        Ok(word)
    }

    /// Returns the body without the tabs at the start of each line, and the original position of each byte.
    fn without_tabs(&mut self, pending: &Pending, extent: &BodyExtent) -> ParseResult<(Vec<u8>, Vec<u32>)> {
        // A copy uses memory at each level, so it costs more steps than parsing.
        self.spend((extent.end - extent.start) * 4)?;
        let mut text = Vec::with_capacity(extent.end - extent.start);
        let mut origin = Vec::with_capacity(extent.end - extent.start + 1);
        let mut line_start = true;
        let mut pos = extent.start;
        while pos < extent.end {
            let byte = self.raw(pos);
            if line_start && byte == b'\t' {
                pos += 1;
                continue;
            }
            let pair = byte == b'\\' && !pending.quoted && pos + 1 < extent.end;
            for at in pos..=pos + usize::from(pair) {
                text.push(self.raw(at));
                origin.push(self.place(at));
            }
            // A continuation line is not a new line: its tabs are kept.
            line_start = byte == b'\n';
            pos += 1 + usize::from(pair);
        }
        origin.push(self.place(extent.end));
        Ok((text, origin))
    }
}

/// The result of comparing a line with a delimiter.
enum DelimiterMatch {
    No,
    Whole,
    /// The delimiter ends at this position, and a closing parenthesis follows on the line.
    BeforeParenthesis(usize),
}
