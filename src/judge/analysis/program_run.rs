//! A program that a command runs, before and after its arguments are read.
//!
//! Out of scope: what is done about it.

use super::act::{Disguise, Value};
use super::arguments::Reading;
use super::expand::Field;
use crate::judge::rules::model::Program;
use crate::judge::syntax::tree::Span;

/// What a command calls by name.
#[derive(Clone)]
pub(super) struct CommandCall<'a> {
    pub name: &'a str,
    /// The path by which it is called; `None`: it is looked for.
    pub path: Option<Value>,
    pub args: &'a [Field],
    /// The variables that are set for it alone.
    pub env: &'a [(String, Value)],
    pub span: Span,
    pub disguise: Option<Disguise>,
}

/// A program with what was read of what it is given.
#[derive(Clone, Copy)]
pub(super) struct ProgramRun<'a> {
    pub name: &'a str,
    /// What is known of it, if only in single facts.
    pub known: Option<&'a Program>,
    pub reading: &'a Reading,
    pub args: &'a [Field],
    /// The variables that are set for it alone.
    pub env: &'a [(String, Value)],
    pub span: Span,
}

impl<'a> ProgramRun<'a> {
    /// What stands for a program, of which only the reading counts.
    pub fn in_place_of(name: &'a str, reading: &'a Reading, span: Span) -> Self {
        Self { name, known: None, reading, args: &[], env: &[], span }
    }
}
