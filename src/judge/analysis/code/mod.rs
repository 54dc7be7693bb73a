//! Code in other languages, read far enough to see what it calls.
//!
//! A reader turns code into calls: a name and its arguments, as far as they are written out. The walk then treats a
//! call like a program of the name `language:callee`, so that what it does is described in the pattern files. Text that
//! is only printed is an argument of a call that nothing describes.
//!
//! Out of scope: evaluation beyond literals, their concatenation and plain assignments; knowledge of what a call
//! does.

mod awk;
mod call;
mod client;
mod cmd;
mod command;
mod constants;
mod database;
mod editors;
mod element_texts;
mod evaluation;
mod expression;
mod functions;
mod generic;
mod globs;
mod lists;
mod loops;
mod members;
mod names;
mod paths;
mod powershell;
mod processes;
mod results;
mod scan;
mod sed_redis;
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

/// What code is read against.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The home directory.
    pub home: &'a str,
    /// The path of the file that the code stands in; empty where it stands in none.
    pub file: &'a str,
    /// Whether what a call of this name gives comes from the network.
    pub fetches: &'a dyn Fn(&str) -> bool,
    /// Whether a call of this name is described.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Whether a call of this name runs programs or code, or deletes.
    pub acts: &'a dyn Fn(&str) -> bool,
}

impl World<'_> {
    /// A path with a tilde in front made whole.
    fn at_home(&self, path: Slice<'_>) -> Text {
        let rest = path.find(|path| path.strip_prefix('~'));
        rest.map_or_else(|| path.into(), |rest| Text::joined([self.home.into(), rest]))
    }
}

/// The most calls that are read from one piece of code. What is beyond is said to be unread.
pub const MAX_CALLS: usize = 256;

/// One call, statement or command in code.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name without the language: `os.remove`, `drop`, `flushall`.
    pub callee: String,
    pub args: Vec<Value>,
    /// What the reader itself says of it, as options of the description: `--where`, `--to=FILE`. No text of the code is
    /// ever among them.
    pub facts: Vec<Value>,
}

impl Call {
    /// A call of which nothing is said beside its arguments.
    fn new(callee: String, args: Vec<Value>) -> Self {
        Self { callee, args, facts: Vec::new() }
    }

    /// The same, of which this is said where it holds.
    fn saying(mut self, fact: &str, holds: bool) -> Self {
        self.facts.extend(holds.then(|| Value::text(fact)));
        self
    }

    /// Whether this is said of it.
    fn says(&self, fact: &str) -> bool {
        self.facts.iter().any(|said| said.is(fact))
    }
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallsRead {
    pub calls: Vec<Call>,
    /// There is more than [`MAX_CALLS`].
    pub cut: bool,
}

/// Code to be read.
#[derive(Clone, Debug)]
pub struct Source(Text);

impl Source {
    /// Code that is known.
    #[must_use]
    pub fn known(text: &str) -> Self {
        Self(text.into())
    }

    /// Code of which parts may not be known. `None` when nothing of it is known.
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

    /// The code, with a NUL for each part that is not known.
    #[must_use]
    pub fn rough(&self) -> &str {
        self.0.rough()
    }
}

/// Reads code.
#[must_use]
pub fn read(language: Language, source: &Source, world: World<'_>) -> CallsRead {
    let text = source.0.slice();
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
        Language::Ex => editors::ex(text, world.home),
        Language::Gdb => editors::gdb(text),
        Language::Ipython => editors::ipython(text),
        Language::Tcl => tcl::read(text),
        Language::M4 => editors::m4(text),
        Language::Applescript => editors::applescript(text),
        Language::Other => generic::read(text, world),
    };
    let cut = calls.len() > MAX_CALLS;
    calls.truncate(MAX_CALLS);
    CallsRead { calls, cut }
}

/// Marks the statements on tables that code made itself, by the names of those that it made before: nothing is lost.
/// Where a statement that fails is followed by others, no table is the code's own.
pub fn spare_own_tables(calls: &mut [Call], mut made: Vec<String>, stops: bool) {
    for call in calls.iter_mut().filter(|_| stops) {
        if sql::falls_on(call).is_some_and(|table| made.contains(&table)) {
            call.facts.push(Value::text("--scratch"));
        }
        made.extend(sql::makes(call));
    }
}

/// A value of text of code.
fn value<'t>(text: impl Into<Slice<'t>>) -> Value {
    text.into().value()
}

fn unknown() -> Value {
    Value::of(vec![unknown_piece()])
}

#[cfg(test)]
mod tests;
