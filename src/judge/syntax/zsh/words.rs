//! Parses zsh words: groups in parentheses, ranges of numbers, `=command`.

use super::qualifiers;
use crate::judge::syntax::cursor::is_meta;
use crate::judge::syntax::parser::{ParseResult, Parser};
use crate::judge::syntax::simple::assigns;
use crate::judge::syntax::tree::{Parameter, ParameterOp, Part, Word};
use crate::judge::syntax::word::WordEnd;

impl Parser<'_> {
    /// Reports whether a word can begin with `byte`, which in other shells would end one.
    pub(in crate::judge::syntax) fn zsh_begins_word(&mut self, byte: u8) -> bool {
        self.zsh() && (byte == b'(' && self.pair(b'(', b')').is_none() || self.zsh_number_range().is_some())
    }

    /// Reports whether the parenthesis here is part of a word. `()` never is.
    pub(in crate::judge::syntax) fn zsh_groups(&mut self, until: WordEnd) -> bool {
        if !self.zsh() || until != WordEnd::Word || self.pair(b'(', b')').is_some() {
            return false;
        }
        let before = self.declaring.and_then(|start| self.text.get(start..self.pos));
        !before.is_some_and(assigns)
    }

    /// Returns the position after a range pattern for numbers, such as `<1-10>`, if there is one.
    pub(in crate::judge::syntax) fn zsh_number_range(&self) -> Option<usize> {
        if !self.zsh() || self.raw(self.pos) != b'<' {
            return None;
        }
        let digits = |mut pos: usize| {
            while self.raw(pos).is_ascii_digit() {
                pos += 1;
            }
            pos
        };
        let dash = digits(self.pos + 1);
        let end = digits(dash + 1);
        (self.raw(dash) == b'-' && self.raw(end) == b'>').then_some(end + 1)
    }

    /// Parses a group in parentheses: alternatives, or glob qualifiers.
    pub(in crate::judge::syntax) fn zsh_group(&mut self, parts: &mut Vec<Part>) -> ParseResult {
        let start = self.pos;
        let alternatives = self.alternatives(start)?;
        let operators = alternatives
            .iter()
            .flat_map(|word| &word.parts)
            .any(|part| matches!(part, Part::Literal(text) if text.contains([';', '&', '<', '>', '\n'])));
        if operators {
            self.pos = start;
            return Err(self.unsupported("an operator within a group of a pattern"));
        }
        parts.push(Part::ExtGlob { operator: '(', alternatives });
        Ok(())
    }

    /// Rejects a word whose glob qualifiers could run a command.
    pub(in crate::judge::syntax) fn refuse_running_qualifiers(&mut self, start: usize, parts: &[Part]) -> ParseResult {
        if qualifiers::may_run(parts) {
            self.pos = start;
            return Err(self.unsupported("a glob qualifier that could run a command"));
        }
        Ok(())
    }

    /// Parses `=(…)`, or the `=` of `=command` at the start of a word, which is replaced by the path of that command.
    /// Returns false and consumes nothing if neither is here.
    pub(in crate::judge::syntax) fn zsh_equals(&mut self, parts: &mut Vec<Part>) -> ParseResult<bool> {
        if !self.zsh() || self.peek() != b'=' {
            return Ok(false);
        }
        let start = self.pos;
        let (next, at) = self.peek_second();
        if next == b'(' {
            self.process_substitution(b'=', parts)?;
        } else if next == 0 || is_meta(next) || next == b'=' {
            return Ok(false);
        } else {
            self.pos = at;
            let span = self.span_from(start);
            let word = Word { parts: vec![Part::Literal("=".to_owned())], span };
            let parameter = Parameter { operation: Some(ParameterOp::Other(word)), span, ..Parameter::default() };
            parts.push(Part::Parameter(Box::new(parameter)));
        }
        Ok(true)
    }
}
