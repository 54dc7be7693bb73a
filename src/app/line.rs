//! `guard line`: judges a line before an interactive shell runs it. The integration of `guard init` calls it.
//!
//! Exit code 0 lets the shell run the line, 1 means that the line is incomplete, and 4 that guard must be called again
//! with room to ask. With any other code the shell does not run the line.

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

/// The exit code for an incomplete line.
const NOT_WHOLE: u8 = 1;

/// Judges the line, asks if necessary, and returns the exit code.
///
/// # Errors
/// The engine cannot start.
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
    // Ignore definitions that cannot be parsed. The line itself is still judged.
    if syntax::parse(&before, dialect).is_err() {
        before.clear();
    }
    // A line editor has the terminal in raw mode; guard needs canonical mode to ask.
    let _modes = Cooked::make();
    let engine = Engine::open()?;
    // Look words up as this shell does, whichever file it is.
    let shell = engine.shell(Some(dialect)).or_else(|_| engine.shell(None))?.path;
    let line = Line { text, dialect, shell, options: Vec::new(), positional: Vec::new(), before, envelope: None };
    let invocation = engine.caller.invocation(Request::Line(line));
    let options = RunOptions { unasked: args.unasked, ..RunOptions::default() };
    Ok(authorize::authorize(&engine, invocation, options, &mut inherited).map_or_else(|code| code, |_| 0))
}

/// The terminal in canonical mode until this is dropped.
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
        // If this fails, the editor still sets its own modes again.
        let _: Result<(), io::Error> =
            termios::tcsetattr(&self.terminal, SetArg::TCSANOW, &self.before).map_err(Into::into);
    }
}
