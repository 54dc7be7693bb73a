//! Arithmetic text: what it expands, up to its closing bracket.

use super::parser::{Parser, Read};
use super::tree::Arithmetic;
use super::word::Until;

impl Parser<'_> {
    /// Reads arithmetic up to what ends it, which is left for the caller.
    pub(super) fn arithmetic(&mut self, until: Until, arithmetic: &mut Arithmetic) -> Read {
        self.enter()?;
        let start = self.pos;
        self.parts(until, &mut arithmetic.parts)?;
        arithmetic.span = self.span_from(start);
        self.leave();
        Ok(())
    }
}
