//! `guard -- …` and `guard -c …`: the main job, from the command to its exit code.
//!
//! The steps on one page: what is asked for is judged, decided on and written down ([`authorize`]); what nobody was asked
//! about replaces guard, what somebody was asked about is waited for. Commands on standard input go the same way, one
//! after the other (`shell::stdin`).

use std::io::Write;
use std::path::PathBuf;

use jiff::Timestamp;

use super::authorize::{self, Ready, RunOptions};
use super::engine::{Engine, EngineError};
use super::exit;
use super::export::deliver;
use super::shell::called::Called;
use super::shell::{ShellCall, dispatch};
use super::unknown_envelope;
use crate::exec::{self, ExecError, Inherited};
use crate::judge::approved::Receipt;
use crate::judge::invocation::Request;
use crate::store::{End, Outcome};
use crate::world::paths;

/// What is to be run.
#[derive(Debug)]
pub enum Wanted {
    Argv(Vec<std::ffi::OsString>),
    Shell(Called, ShellCall),
}

/// Runs a command, or says why not. Returns an exit code only where the command's own did not become guard's.
#[must_use]
pub fn run(wanted: Wanted, manner: RunOptions, inherited: Inherited) -> u8 {
    match Engine::open() {
        Ok(engine) => on(&engine, wanted, manner, inherited).unwrap_or_else(|error| failed(&error.to_string())),
        Err(error) => failed(&error.to_string()),
    }
}

fn on(engine: &Engine, wanted: Wanted, manner: RunOptions, mut inherited: Inherited) -> Result<u8, EngineError> {
    Ok(match wanted {
        Wanted::Argv(argv) => one(engine, Request::Argv(argv), manner, &mut inherited),
        Wanted::Shell(called, call) => dispatch::enter(engine, &called, call, manner, inherited)?,
    })
}

/// Runs one command, or says why not.
pub(super) fn one(engine: &Engine, request: Request, manner: RunOptions, inherited: &mut Inherited) -> u8 {
    one_with(engine, request, &[], manner, inherited)
}

/// Runs one command with some variables of guard's, or says why not.
pub(super) fn one_with(
    engine: &Engine,
    request: Request,
    variables: &[(&str, PathBuf)],
    manner: RunOptions,
    inherited: &mut Inherited,
) -> u8 {
    let invocation = engine.caller.invocation(request).unwrapped(&paths::real);
    let mut invocation = unknown_envelope::opened(engine, invocation);
    invocation.env.variables.extend(variables.iter().map(|(name, value)| ((*name).into(), value.into())));
    match authorize::authorize(engine, invocation, manner, inherited) {
        Ok(Ready { approved, receipt, asked: false }) => could_not_start(&exec::replace(approved, receipt, inherited)),
        Ok(Ready { approved, receipt, asked: true }) => match exec::wait(approved, receipt, inherited) {
            Ok(outcome) => {
                if let Err(error) = result(engine, receipt, &outcome) {
                    let _ = writeln!(std::io::stderr(), "guard: cannot record the result: {error}");
                }
                authorize::keep_to_retention(engine);
                exec::leave(outcome.ended)
            }
            Err(error) => could_not_start(&error),
        },
        Err(code) => code,
    }
}

fn result(engine: &Engine, receipt: Receipt, outcome: &exec::Outcome) -> Result<(), String> {
    let end = match outcome.ended {
        exec::Ended::Exited { code } => End::Exit(code),
        exec::Ended::Killed { signal, .. } => End::Signal(signal),
    };
    let duration_ms = authorize::milliseconds(outcome.duration);
    let store = engine.store().map_err(ToString::to_string)?;
    store.result(&receipt, &Outcome { end, duration_ms }, Timestamp::now()).map_err(|error| error.to_string())?;
    deliver::at_once(engine, receipt.row());
    Ok(())
}

pub(super) fn could_not_start(error: &ExecError) -> u8 {
    let _ = writeln!(std::io::stderr(), "guard: {error}");
    u8::try_from(error.exit_code()).unwrap_or(exit::FAILED)
}

/// Says that guard itself failed.
pub fn failed(why: &str) -> u8 {
    super::screen::complain(&format!("guard: {why}"));
    exit::FAILED
}
