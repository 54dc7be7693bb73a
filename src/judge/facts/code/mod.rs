//! Code in other languages, read far enough to see what it calls.
//!
//! A reader turns code into calls: a name and its arguments, as far as they are written out. The walk then treats a
//! call like a program of the name `language:callee`, so that what it does is described in the pattern files. Text that
//! is only printed is an argument of a call that nothing describes.
//!
//! What may not enter: evaluation beyond literals, their concatenation and plain assignments; knowledge of what a call
//! does.

mod calls;
mod cmd;
mod powershell;
mod scan;
mod small;
mod sql;
pub(super) mod windows;

use super::act::{Piece, Taint, Unknown, UnknownReason, Value};

/// Stands in code for text that is not known: an expansion of the shell around it.
pub const HOLE: char = '\u{FFFC}';

/// The most calls that are read from one piece of code. What is beyond is said to be unread.
pub const MAX_CALLS: usize = 256;

/// One call, statement or command in code.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name without the language: `os.remove`, `drop`, `flushall`.
    pub callee: String,
    pub args: Vec<Value>,
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
pub fn read(language: &str, text: &str, home: &str) -> Read {
    let mut calls = match language {
        "python" | "js" | "ruby" | "perl" | "php" | "lua" | "mongo" => calls::read(language, text, home),
        "sql" => sql::read(text),
        "awk" => small::awk(text),
        "sed" => small::sed(text),
        "redis" => small::redis(text),
        "powershell" => powershell::read(text, home),
        "cmd" => cmd::read(text),
        _ => Vec::new(),
    };
    let cut = calls.len() > MAX_CALLS;
    calls.truncate(MAX_CALLS);
    Read { calls, cut }
}

/// Code as text, with a hole for each piece that is not known. `None` when nothing of it is known.
#[must_use]
pub fn with_holes(code: &Value) -> Option<String> {
    let mut text = String::new();
    for piece in &code.pieces {
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
    for (number, part) in text.split(HOLE).enumerate() {
        if number > 0 {
            pieces.push(unknown_piece());
        }
        if !part.is_empty() {
            pieces.push(Piece::Text(part.to_owned()));
        }
    }
    Value { pieces }
}

fn unknown_piece() -> Piece {
    Piece::Unknown(Unknown { why: UnknownReason::Other("a value that code works out"), taint: Taint::default() })
}

fn unknown() -> Value {
    Value { pieces: vec![unknown_piece()] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(language: &str, text: &str) -> Vec<String> {
        read(language, text, "/home/dev")
            .calls
            .iter()
            .map(|call| {
                let args: Vec<_> =
                    call.args.iter().map(|arg| arg.known().map_or("?".to_owned(), |text| text.into_owned())).collect();
                format!("{}({})", call.callee, args.join(", "))
            })
            .collect()
    }

    fn has(language: &str, text: &str, call: &str) {
        let all = seen(language, text);
        assert!(all.iter().any(|seen| seen == call), "{call} not in {all:?} of {text}");
    }

    #[test]
    fn python_calls_are_seen_through_imports_and_variables() {
        has("python", "import os; os.system('rm -rf /')", "os.system(rm -rf /)");
        has("python", "from shutil import rmtree as r\nr('build')", "shutil.rmtree(build)");
        has("python", "import subprocess as s\ns.run(['rm', '-rf', x])", "subprocess.run(rm, -rf, ?)");
        has("python", "__import__('os').system('ls')", "os.system(ls)");
        has("python", "p = '/etc' + '/passwd'\nopen(p).read()", "open.read(/etc/passwd)");
        has("python", "from pathlib import Path\nPath('a').unlink()", "pathlib.Path.unlink(a)");
        has("python", "import os\nos.remove(os.path.expanduser('~/.ssh/id'))", "os.remove(/home/dev/.ssh/id)");
        has("python", "import os\nos.remove(f'/tmp/{name}')", "os.remove(?)");
    }

    #[test]
    fn text_that_is_printed_is_no_call() {
        assert_eq!(seen("python", "print(\"os.system('rm -rf /')\")"), ["print(os.system('rm -rf /'))"]);
        assert_eq!(seen("python", "# os.system('x')\nx = 1"), [""; 0]);
        assert_eq!(seen("js", "// fs.rmSync('x')\n/* rm() */ const a = 'rm(1)'"), [""; 0]);
    }

    #[test]
    fn javascript_calls_are_seen_through_require_and_import() {
        has("js", "require('fs').rmSync('src', {recursive: true})", "fs.rmSync(src, --recursive=true)");
        has("js", "const fs = require('node:fs'); fs.promises.rm('x')", "fs.promises.rm(x)");
        has(
            "js",
            "const {execSync} = require('child_process'); execSync(`rm -rf /`)",
            "child_process.execSync(rm -rf /)",
        );
        has("js", "import {unlinkSync as u} from 'fs'; u('x')", "fs.unlinkSync(x)");
        has("js", "import cp from 'child_process'\ncp.spawn('rm', ['-rf', '/'])", "child_process.spawn(rm, -rf, /)");
    }

    #[test]
    fn commands_without_brackets_and_in_backticks_are_seen() {
        has("ruby", "system 'rm -rf /'", "system(rm -rf /)");
        has("ruby", "`rm -rf /`", "backtick(rm -rf /)");
        has("ruby", "%x{rm -rf /}", "backtick(rm -rf /)");
        has("ruby", "require 'fileutils'; FileUtils.rm_rf('src')", "FileUtils.rm_rf(src)");
        has("perl", "system(\"rm -rf /\")", "system(rm -rf /)");
        has("perl", "unlink 'a', 'b'", "unlink(a, b)");
        has("perl", "my $x = qx(rm -rf /);", "backtick(rm -rf /)");
        has("php", "<?php shell_exec('rm -rf /'); unlink(\"x\");", "shell_exec(rm -rf /)");
        has("lua", "os.execute 'rm -rf /'", "os.execute(rm -rf /)");
    }

    #[test]
    fn statements_are_read_and_not_text() {
        has("sql", "select 1; DROP TABLE users", "drop(table, users)");
        has("sql", "DELETE FROM users", "delete(users)");
        has("sql", "delete from users where id = 1", "delete(users, --where)");
        has("sql", "DELETE FROM users WHERE 1=1", "delete(users)");
        has("sql", "TRUNCATE orders", "truncate(orders)");
        assert_eq!(seen("sql", "select 'drop table users'"), ["select()"]);
        assert_eq!(seen("sql", "-- drop table x\nselect 1"), ["select()"]);
        has("redis", "FLUSHALL", "flushall()");
        has("mongo", "db.users.deleteMany({})", "deleteMany({})");
        has("mongo", "db.dropDatabase()", "dropDatabase()");
    }

    #[test]
    fn awk_and_sed_show_what_they_run_and_write() {
        has("awk", "BEGIN { system(\"rm -rf /\") }", "system(rm -rf /)");
        has("awk", "{ print $1 | \"sh\" }", "pipe(sh)");
        has("awk", "{ print > \"out.txt\" }", "write(out.txt)");
        has("sed", "1e rm -rf /", "exec(rm -rf /)");
        has("sed", "s/a/b/w out.txt", "write(out.txt)");
        assert_eq!(seen("sed", "s/execute/write/g"), [""; 0]);
    }

    #[test]
    fn what_the_shell_puts_in_is_unknown() {
        has("python", "open('\u{FFFC}').read()", "open.read(?)");
    }
}
