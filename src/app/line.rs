//! `guard line`: the question of an interactive shell before it runs a line. The lines of `guard init` ask it.
//!
//! 0 lets the line run, 1 says that it is not whole yet, 4 wants to be asked anew, anything else holds it back. The shell
//! runs it, in itself.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;

use clap::Args;
use nix::sys::termios::{self, LocalFlags, SetArg, Termios};

use super::authorize::{self, RunOptions};
use super::engine::{Engine, EngineError};
use super::init::Interactive;
use crate::exec::Inherited;
use crate::judge::invocation::{Line, Request};
use crate::judge::syntax::tree::Dialect;
use crate::judge::syntax::{self, Completeness};

/// The arguments of `guard line`.
#[derive(Debug, Args)]
pub struct LineArgs {
    /// Do not ask or print: exit 4 if guard would ask or print
    #[arg(long)]
    unasked: bool,
    /// The shell that asks
    shell: Interactive,
    /// The line
    #[arg(allow_hyphen_values = true)]
    line: std::ffi::OsString,
    /// The shell's definitions of the names in the line, as commands
    #[arg(default_value = "", allow_hyphen_values = true)]
    names: std::ffi::OsString,
}

/// More lines may follow.
const NOT_WHOLE: u8 = 1;

/// Judges, asks where a person must be asked, and says whether the line may run.
///
/// # Errors
/// There is no one to judge for.
pub fn run(args: LineArgs, mut inherited: Inherited) -> Result<u8, EngineError> {
    let dialect = match args.shell {
        Interactive::Zsh => Dialect::Zsh,
        Interactive::Bash | Interactive::Fish => Dialect::Bash,
    };
    let mut text = args.line.into_vec();
    let mut before = args.names.into_vec();
    if args.shell == Interactive::Fish {
        text = syntax::fish::as_bash(&text);
        before = syntax::fish::as_bash(&before);
    } else if syntax::completeness(&[&text, &b"\n"[..]].concat(), dialect) == Completeness::Incomplete {
        return Ok(NOT_WHOLE);
    }
    // What cannot be read says nothing of the line; the line itself is judged whatever it calls.
    if syntax::parse(&before, dialect).is_err() {
        before.clear();
    }
    // An editor of lines keeps the terminal for itself; guard asks on one that waits for lines.
    let _modes = Cooked::make();
    let engine = Engine::open()?;
    // Words are looked up as this shell does, whichever file it is.
    let shell = engine.shell(Some(dialect)).or_else(|_| engine.shell(None))?.path;
    let line = Line { text, dialect, shell, options: Vec::new(), positional: Vec::new(), before, envelope: None };
    let invocation = engine.caller.invocation(Request::Line(line));
    let options = RunOptions { unasked: args.unasked, ..RunOptions::default() };
    Ok(authorize::authorize(&engine, invocation, options, &mut inherited).map_or_else(|code| code, |_| 0))
}

/// The terminal, waiting for lines for as long as this lives.
struct Cooked {
    terminal: File,
    before: Termios,
}

impl Cooked {
    fn make() -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        let before = termios::tcgetattr(&terminal).ok()?;
        if before.local_flags.contains(LocalFlags::ICANON) || !is_foreground(&terminal) {
            return None;
        }
        let mut modes = before.clone();
        modes.local_flags |= LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG;
        modes.input_flags |= termios::InputFlags::ICRNL;
        modes.output_flags |= termios::OutputFlags::OPOST;
        termios::tcsetattr(&terminal, SetArg::TCSANOW, &modes).ok()?;
        Some(Self { terminal, before })
    }
}

fn is_foreground(terminal: &File) -> bool {
    nix::unistd::tcgetpgrp(terminal) == Ok(nix::unistd::getpgrp())
}

impl Drop for Cooked {
    fn drop(&mut self) {
        // The editor sets its own modes again when this fails.
        let _: Result<(), io::Error> =
            termios::tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before).map_err(Into::into);
    }
}
