//! Dispatches a shell's call: a command string and a script are judged as one command, standard input as many, and an
//! interactive shell is the real one with guard's integration.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use super::request::request;
use super::shell_name::ShellName;
use super::{CommandSource, ShellCall, interactive, stdin};
use crate::app::authorize::RunOptions;
use crate::app::engine::{Engine, EngineError};
use crate::app::run;
use crate::exec::Inherited;

/// Runs a shell's call, or prints why it cannot. Returns only if guard does not become the real shell.
#[must_use]
pub fn run(called: &ShellName, call: ShellCall, options: RunOptions, inherited: Inherited) -> u8 {
    let entered = Engine::open().and_then(|engine| enter(&engine, called, call, options, inherited));
    entered.unwrap_or_else(|error| run::failed(&error.to_string()))
}

/// Runs a shell's call with an open engine.
///
/// # Errors
/// There is no real shell of that name.
fn enter(
    engine: &Engine,
    called: &ShellName,
    call: ShellCall,
    options: RunOptions,
    mut inherited: Inherited,
) -> Result<u8, EngineError> {
    let shell = engine.shell(called.dialect)?;
    inherited.argv0 = Some(called.argv0(shell.path.as_os_str()));
    if call.reads == CommandSource::Stdin && !inherited.was_closed(0) {
        let is_typed = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        if is_typed {
            return Ok(interactive::start(engine, called, &shell, call, inherited));
        }
        if !has_nothing_to_say() {
            return Ok(stdin::feed(engine, &shell, call, options, inherited));
        }
    }
    Ok(run::one(engine, request(&shell, call), options, &mut inherited))
}

/// Reports whether standard input is `/dev/null`.
fn has_nothing_to_say() -> bool {
    let number =
        |file: &File| file.metadata().ok().filter(|facts| facts.file_type().is_char_device()).map(|facts| facts.rdev());
    let input = std::io::stdin().as_fd().try_clone_to_owned().ok().map(File::from);
    let null = File::open("/dev/null").ok();
    matches!((input.as_ref().and_then(number), null.as_ref().and_then(number)), (Some(input), Some(null)) if input == null)
}
