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

use super::act::{Piece, Taint, Unknown, UnknownReason, Value};

/// Stands in code for text that is not known: an expansion of the shell around it.
pub const HOLE: char = '\u{FFFC}';

/// Stands in text of code for what a walk over the directory in front of it finds.
const FOUND: char = '\u{E001}';

/// Stands in text of code for a temporary file or directory that was just made.
const TEMPORARY: char = '\u{E002}';

/// Stands in text of code for what was fetched from the network.
const FETCHED: char = '\u{E003}';

/// Stands in text of code for each of the numbers that it goes through: those of processes, or counted ones.
const EACH: char = '\u{E004}';

/// Stands in text of code for any name that a directory holds.
const NAME: char = '\u{E005}';

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

/// Reads code. A language that has no reader gives no calls.
#[must_use]
pub fn read(language: &str, text: &str, world: World<'_>) -> Read {
    // Characters that stand for something here say nothing when they are written.
    let text = &text.replace([FOUND, TEMPORARY, FETCHED, EACH, NAME], "\u{FFFC}");
    let mut calls = match language {
        "python" | "js" | "ruby" | "perl" | "php" | "lua" | "mongo" => calls::read(language, text, world),
        "sql" => sql::read(text),
        "awk" => awk::read(text, world),
        "sed" => sed_redis::sed(text),
        "redis" => sed_redis::redis(text),
        "powershell" => powershell::read(text, world.home),
        "cmd" => cmd::read(text),
        "ex" => editors::ex(text, world.home),
        "gdb" => editors::gdb(text),
        "ipython" => editors::ipython(text),
        "tcl" => tcl::read(text),
        "m4" => editors::m4(text),
        "applescript" => editors::applescript(text),
        "other" => generic::read(text, world),
        _ => Vec::new(),
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

/// Code as text, with a hole for each piece that is not known. `None` when nothing of it is known.
#[must_use]
pub fn with_holes(code: &Value) -> Option<String> {
    let mut text = String::new();
    for piece in code.pieces() {
        match piece {
            Piece::Text(known) | Piece::Glob(known) => text.push_str(known),
            Piece::Unknown(_) => text.push(HOLE),
        }
    }
    text.chars().any(|c| c != HOLE && !c.is_whitespace()).then_some(text)
}

/// A value of text in which holes are what is not known.
fn value(text: &str) -> Value {
    let mut pieces = Vec::new();
    let mut rest = text;
    if let Some((start, after)) = text.split_once(FOUND) {
        let start = (!start.contains([HOLE, TEMPORARY, FETCHED, EACH, NAME])).then(|| start.to_owned());
        let found = Unknown { why: UnknownReason::Found(start), taint: Taint::default() };
        pieces.push(Piece::Unknown(found));
        // Any name in what is found is one of the things that are found.
        rest = if after.chars().all(|c| c == '/' || c == NAME) { "" } else { after };
    }
    let mut known = String::new();
    for c in rest.chars() {
        let piece = match c {
            HOLE | FOUND => unknown_piece(),
            NAME => Piece::Glob("*".to_owned()),
            EACH => {
                let why = UnknownReason::Other(processes::COUNTED);
                Piece::Unknown(Unknown { why, taint: Taint::default() })
            }
            TEMPORARY => {
                Piece::Unknown(Unknown { why: UnknownReason::Temporary { variable: false }, taint: Taint::default() })
            }
            FETCHED => {
                let why = UnknownReason::Other("what is fetched from the network");
                Piece::Unknown(Unknown { why, taint: Taint::FETCHED })
            }
            c => {
                known.push(c);
                continue;
            }
        };
        if !known.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut known)));
        }
        pieces.push(piece);
    }
    if !known.is_empty() {
        pieces.push(Piece::Text(known));
    }
    Value::of(pieces)
}

fn unknown_piece() -> Piece {
    Piece::Unknown(Unknown { why: UnknownReason::Other("a value that code works out"), taint: Taint::default() })
}

fn unknown() -> Value {
    Value::of(vec![unknown_piece()])
}

#[cfg(test)]
mod tests;
