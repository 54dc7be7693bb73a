//! Code in other languages, read far enough to see what it calls.
//!
//! A reader turns code into calls: a name and its arguments, as far as they are written out. The walk then treats a
//! call like a program of the name `language:callee`, so that what it does is described in the pattern files. Text that
//! is only printed is an argument of a call that nothing describes.
//!
//! What may not enter: evaluation beyond literals, their concatenation and plain assignments; knowledge of what a call
//! does.

mod awk;
mod call;
mod calls;
mod client;
mod cmd;
mod command;
mod constants;
mod database;
mod editors;
mod expression;
mod functions;
mod generic;
mod globs;
mod language;
mod lists;
mod loops;
mod names;
mod powershell;
mod processes;
mod scan;
mod sed_redis;
mod sql;
mod strings;
mod tcl;
mod values;
pub(super) mod windows;

pub use command::{CallWord, words_of};
use language::Language;

use super::act::{Piece, Taint, Unknown, UnknownReason, Value};

/// Begins each mark in text of code. Readers see no other NUL: what is read has none (see [`Source`]), and what a string
/// denotes has none (see [`denoted`]). The letter behind it is nothing that a language gives a meaning.
const MARK: char = '\0';

/// Stands in text of code for what is not known: an expansion of the shell around it.
const HOLE: &str = "\0\u{fffc}";

/// Stands in text of code for what a walk over the directory in front of it finds.
const FOUND: &str = "\0\u{e001}";

/// Stands in text of code for a temporary file or directory that was just made.
const TEMPORARY: &str = "\0\u{e002}";

/// Stands in text of code for what was fetched from the network.
const FETCHED: &str = "\0\u{e003}";

/// Stands in text of code for each of the numbers that it goes through: those of processes, or counted ones.
const EACH: &str = "\0\u{e004}";

/// Stands in text of code for any name that a directory holds.
const NAME: &str = "\0\u{e005}";

/// What code is read against.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The home directory.
    pub home: &'a str,
    /// Whether what a call of this name gives comes from the network.
    pub fetches: &'a dyn Fn(&str) -> bool,
    /// Whether a call of this name is described.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Whether a call of this name runs programs or code, or deletes.
    pub acts: &'a dyn Fn(&str) -> bool,
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
pub struct Read {
    pub calls: Vec<Call>,
    /// There is more than [`MAX_CALLS`].
    pub cut: bool,
}

/// Code to be read.
#[derive(Clone, Debug)]
pub struct Source(String);

impl Source {
    /// Code that is known.
    #[must_use]
    pub fn known(text: &str) -> Self {
        Self(denoted(text))
    }

    /// Code of which parts may not be known. `None` when nothing of it is known.
    #[must_use]
    pub fn of(code: &Value) -> Option<Self> {
        let mut text = String::new();
        let mut says = false;
        for piece in code.pieces() {
            match piece {
                Piece::Text(known) | Piece::Glob(known) => {
                    says |= known.chars().any(|c| !c.is_whitespace());
                    text.push_str(&denoted(known));
                }
                Piece::Unknown(_) => text.push_str(HOLE),
            }
        }
        says.then_some(Self(text))
    }

    /// The code, with marks for what is not known.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// Text as readers see it that is written in code, or that a string in it denotes: no path and no command has a NUL, so that
/// what has one is not known there.
fn denoted(text: &str) -> String {
    if text.contains(MARK) { text.replace(MARK, HOLE) } else { text.to_owned() }
}

/// Reads code. A language that has no reader gives no calls.
#[must_use]
pub fn read(language: &str, source: &Source, world: World<'_>) -> Read {
    let text = source.text();
    let Some(language) = Language::of(language) else { return Read::default() };
    let mut calls = match language {
        Language::Python
        | Language::Js
        | Language::Ruby
        | Language::Perl
        | Language::Php
        | Language::Lua
        | Language::Mongo => calls::read(language, text, world),
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
    Read { calls, cut }
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

/// A value of text of code: what its marks stand for is no text.
fn value(text: &str) -> Value {
    if !text.contains(MARK) {
        return if text.is_empty() { Value::default() } else { Value::text(text) };
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    if let Some((start, after)) = text.split_once(FOUND) {
        let start = (!start.contains(MARK)).then(|| start.to_owned());
        pieces.push(unknown_for(UnknownReason::Found(start), Taint::default()));
        // Any name in what is found is one of the things that are found.
        rest = if after.replace(NAME, "").chars().all(|c| c == '/') { "" } else { after };
    }
    for (at, part) in rest.split(MARK).enumerate() {
        let mut known = part;
        if at > 0 {
            let letter = part.chars().next();
            known = part.get(letter.map_or(0, char::len_utf8)..).unwrap_or_default();
            pieces.push(piece_of(letter));
        }
        if !known.is_empty() {
            pieces.push(Piece::Text(known.to_owned()));
        }
    }
    Value::of(pieces)
}

/// What the mark of this letter stands for.
fn piece_of(letter: Option<char>) -> Piece {
    let is = |mark: &str| mark.chars().nth(1) == letter;
    match letter {
        _ if is(NAME) => Piece::Glob("*".to_owned()),
        _ if is(EACH) => unknown_for(UnknownReason::Other(processes::COUNTED), Taint::default()),
        _ if is(TEMPORARY) => unknown_for(UnknownReason::Temporary { variable: false }, Taint::default()),
        _ if is(FETCHED) => unknown_for(UnknownReason::Other("what is fetched from the network"), Taint::FETCHED),
        _ => unknown_piece(),
    }
}

fn unknown_for(why: UnknownReason, taint: Taint) -> Piece {
    Piece::Unknown(Unknown { why, taint })
}

fn unknown_piece() -> Piece {
    unknown_for(UnknownReason::Other("a value that code works out"), Taint::default())
}

fn unknown() -> Value {
    Value::of(vec![unknown_piece()])
}

#[cfg(test)]
mod tests;
