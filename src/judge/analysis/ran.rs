//! A program that a command runs, after its arguments were read.
//!
//! What may not enter: what is done about it.

use super::act::Value;
use super::arguments::Reading;
use super::expand::Field;
use crate::judge::rules::model::Program;
use crate::judge::syntax::tree::Span;

/// A program with what it is given.
#[derive(Clone, Copy)]
pub(super) struct Ran<'a> {
    pub name: &'a str,
    /// What is known of it, if only in single facts.
    pub known: Option<&'a Program>,
    pub reading: &'a Reading,
    pub args: &'a [Field],
    /// The variables that are set for it alone.
    pub env: &'a [(String, Value)],
    pub span: Span,
}

impl<'a> Ran<'a> {
    /// What stands for a program, of which only the reading counts.
    pub fn in_place_of(name: &'a str, reading: &'a Reading, span: Span) -> Self {
        Self { name, known: None, reading, args: &[], env: &[], span }
    }
}
