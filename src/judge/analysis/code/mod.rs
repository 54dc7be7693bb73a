//! Parses code in other languages to find its calls.
//!
//! A parser turns code into calls: a name and its arguments, as far as they are known. The walk then treats a call like
//! a program with the name `language:callee`, which pattern files describe. Text that is only printed is an argument of
//! an undescribed call.
//!
//! Out of scope: what a call does. Only literals, concatenations, plain assignments and described results are
//! evaluated.

mod awk;
mod call;
mod client;
mod cmd;
mod command;
mod constants;
mod database;
mod element_texts;
mod evaluation;
mod expression;
mod file_text;
mod functions;
mod generic;
mod globs;
mod line_commands;
mod lists;
mod loops;
mod members;
mod names;
mod opening;
mod paths;
mod powershell;
mod processes;
mod results;
mod scan;
mod sed_redis;
mod shell_statements;
mod sql;
mod statements;
mod strings;
mod tcl;
mod text;
mod values;
pub(super) mod windows;

use crate::judge::rules::model::Language;
pub use command::{CallWord, words_of};
use text::{Gap, Slice, Text, TextItem, unknown_piece};

use super::act::{Piece, Value};

/// The context of code.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The home directory.
    pub home: &'a str,
    /// The path of the file that contains the code; empty if there is none.
    pub file: &'a str,
    /// Reports whether a call with this name returns data from the network.
    pub fetches: &'a dyn Fn(&str) -> bool,
    /// Reports whether a call with this name is described.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Reports whether a call with this name runs programs or code, or deletes.
    pub acts: &'a dyn Fn(&str) -> bool,
    /// Charges work. `false`: no fuel is left; what follows in the code need not be read.
    pub spend: &'a dyn Fn(u64) -> bool,
}

impl World<'_> {
    /// Expands a leading tilde in a path.
    fn at_home(&self, path: Slice<'_>) -> Text {
        let rest = path.find(|path| path.strip_prefix('~'));
        rest.map_or_else(|| path.into(), |rest| Text::joined([self.home.into(), rest]))
    }
}

/// Maximum number of calls in one piece of code. If there are more, the code counts as not read completely.
pub const MAX_CALLS: usize = 256;

/// A call, statement or command in code.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name without the language: `os.remove`, `drop`, `flushall`.
    pub callee: String,
    pub args: Vec<Value>,
    /// Facts from the parser, as options of the description: `--where`, `--to=FILE`. The text of the code never appears
    /// as one of them.
    pub facts: Vec<Value>,
}

impl Call {
    /// Creates a call without facts.
    fn new(callee: String, args: Vec<Value>) -> Self {
        Self { callee, args, facts: Vec::new() }
    }

    /// Adds a fact, if a condition is true.
    fn saying(mut self, fact: &str, holds: bool) -> Self {
        self.facts.extend(holds.then(|| Value::text(fact)));
        self
    }

    /// Reports whether it has this fact.
    fn says(&self, fact: &str) -> bool {
        self.facts.iter().any(|said| said.is(fact))
    }
}

/// The calls in a piece of code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallsRead {
    pub calls: Vec<Call>,
    /// Whether there are more than [`MAX_CALLS`].
    pub cut: bool,
    /// Whether a whole statement is unknown.
    pub unknown: bool,
}

/// Code for a parser.
#[derive(Clone, Debug)]
pub struct Source(Text);

impl Source {
    /// Creates it from known code.
    #[must_use]
    pub fn known(text: &str) -> Self {
        Self(text.into())
    }

    /// Creates it from partly known code. `None` if it is completely unknown.
    #[must_use]
    pub fn of(code: &Value) -> Option<Self> {
        let mut text = Text::default();
        let mut says = false;
        for piece in code.pieces() {
            match piece {
                Piece::Text(known) | Piece::Glob(known) => {
                    says |= known.chars().any(|c| !c.is_whitespace());
                    text.push_text(known);
                }
                Piece::Unknown(_) => text.push_gap(Gap::Value),
            }
        }
        says.then_some(Self(text))
    }

    /// Returns the code with a NUL for each unknown part.
    #[must_use]
    pub fn rough(&self) -> &str {
        self.0.rough()
    }
}

/// Parses code.
#[must_use]
pub fn read(language: Language, source: &Source, world: World<'_>) -> CallsRead {
    let text = source.0.slice();
    if !(world.spend)(source.rough().len() as u64) {
        return CallsRead::default();
    }
    let mut calls = match language {
        Language::Python
        | Language::Js
        | Language::Ruby
        | Language::Perl
        | Language::Php
        | Language::Lua
        | Language::Mongo => statements::read(language, text, world),
        Language::Sql => sql::read(text),
        Language::Awk => awk::read(text, world),
        Language::Sed => sed_redis::sed(text),
        Language::Redis => sed_redis::redis(text),
        Language::Powershell => powershell::read(text, world.home),
        Language::Cmd => cmd::read(text),
        Language::Ex | Language::Gdb => line_commands::read(language, text, world.home),
        Language::Ipython => shell_statements::ipython(text),
        Language::Tcl => tcl::read(text),
        Language::M4 => shell_statements::m4(text),
        Language::Applescript => shell_statements::applescript(text),
        Language::Other => generic::read(text, world),
    };
    let cut = calls.len() > MAX_CALLS;
    calls.truncate(MAX_CALLS);
    let unknown = language.acts_by_call()
        && language != Language::Sql
        && text.has_gaps()
        && statements::is_unknown(language, text);
    CallsRead { calls, cut, unknown }
}

/// Marks statements on tables that the code created itself, so that nothing is lost. `made` are the tables that it
/// created before. If statements continue after a failed one, no table counts as created by the code.
pub fn spare_own_tables(calls: &mut [Call], mut made: Vec<String>, stops: bool) {
    for call in calls.iter_mut().filter(|_| stops) {
        if sql::falls_on(call).is_some_and(|table| made.contains(&table)) {
            call.facts.push(Value::text("--scratch"));
        }
        made.extend(sql::makes(call));
    }
}

/// Converts a text of code to a value.
fn value<'t>(text: impl Into<Slice<'t>>) -> Value {
    text.into().value()
}

fn unknown() -> Value {
    Value::of(vec![unknown_piece()])
}

#[cfg(test)]
mod tests;
