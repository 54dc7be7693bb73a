//! A program that a command runs, before and after its arguments are parsed.

use super::act::{Disguise, Value};
use super::arguments::Reading;
use super::expand::Field;
use crate::judge::rules::model::Program;
use crate::judge::syntax::tree::Span;

/// A call of a program by a command.
#[derive(Clone)]
pub(super) struct CommandCall<'a> {
    pub name: &'a str,
    /// The path by which it is called; `None`: it is searched in `PATH`.
    pub path: Option<Value>,
    pub args: &'a [Field],
    /// The variables that are set only for it.
    pub env: &'a [(String, Value)],
    pub span: Span,
    pub disguise: Option<Disguise>,
}

/// A program with its parsed arguments.
#[derive(Clone, Copy)]
pub(super) struct ProgramRun<'a> {
    pub name: &'a str,
    /// Its description, even if that only contains single facts.
    pub known: Option<&'a Program>,
    pub reading: &'a Reading,
    pub args: &'a [Field],
    /// The variables that are set only for it.
    pub env: &'a [(String, Value)],
    pub span: Span,
}

impl<'a> ProgramRun<'a> {
    /// Creates a run of which only the parsed arguments are used.
    pub fn in_place_of(name: &'a str, reading: &'a Reading, span: Span) -> Self {
        Self { name, known: None, reading, args: &[], env: &[], span }
    }
}
