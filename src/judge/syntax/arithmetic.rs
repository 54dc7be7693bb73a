//! Parses arithmetic expressions for the expansions in them, up to the closing bracket.

use super::limits::MAX_DEPTH;
use super::parser::{Attempt, ParseResult, Parser};
use super::tree::Arithmetic;
use super::word::WordEnd;

impl Parser<'_> {
    /// Parses arithmetic up to its end, which is not consumed.
    pub(super) fn arithmetic(&mut self, until: WordEnd, arithmetic: &mut Arithmetic) -> ParseResult {
        self.enter()?;
        let start = self.pos;
        self.parts(until, &mut arithmetic.parts)?;
        arithmetic.span = self.span_from(start);
        self.leave();
        Ok(())
    }

    /// Notes that a parenthesis in arithmetic closes here. If `((` began there, it would also end here, and it is not
    /// arithmetic unless another parenthesis closes next. Recording this now avoids another attempt.
    pub(super) fn closed_in_arithmetic(&mut self) {
        if let Some(open) = self.opens.pop()
            && self.opens.len() <= MAX_DEPTH as usize
            && !matches!(self.raw(self.pos + 1), b')' | b'\\')
        {
            self.is_no_arithmetic(open);
        }
    }

    /// Notes that the arithmetic or the text ends with `count` open parentheses.
    pub(super) fn left_open_in_arithmetic(&mut self, count: u32) {
        let first = self.opens.len().saturating_sub(count as usize);
        // Deeper ones are never parsed.
        for index in first..self.opens.len().min(first + MAX_DEPTH as usize) {
            if let Some(&open) = self.opens.get(index) {
                self.is_no_arithmetic(open);
            }
        }
        self.opens.truncate(first);
    }

    fn is_no_arithmetic(&mut self, second: usize) {
        if let Some(first) = second.checked_sub(1)
            && self.raw(first) == b'('
        {
            self.failed.insert((first, Attempt::Arithmetic));
        }
    }
}
