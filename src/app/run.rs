//! `guard -- …` and `guard -c …`: from the command to its exit code.
//!
//! [`authorize`] judges the command, decides, asks if necessary, and records the intent. A command that ran without a
//! prompt then replaces guard; guard waits for one that it asked about. A shell processes the commands on its standard
//! input in the same way, one after the other (`shell::stdin`).

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use jiff::Timestamp;

use super::authorize::{self, ApprovedCommand, RunOptions};
use super::engine::Engine;
use super::export::deliver;
use super::{exit, intent, unknown_envelope};
use crate::exec::{self, ExecError, Inherited};
use crate::judge::approved::Receipt;
use crate::judge::invocation::Request;
use crate::store::{CommandResult, ExitStatus, StoreError};
use crate::world::paths;

/// Runs a command, or prints why it does not run. It returns only if the command did not replace guard.
#[must_use]
pub fn run(argv: Vec<OsString>, options: RunOptions, mut inherited: Inherited) -> u8 {
    match Engine::open() {
        Ok(engine) => one(&engine, Request::Argv(argv), options, &mut inherited),
        Err(error) => failed(&error.to_string()),
    }
}

/// Runs one command, or prints why it does not run.
pub(super) fn one(engine: &Engine, request: Request, options: RunOptions, inherited: &mut Inherited) -> u8 {
    one_with(engine, request, &[], options, inherited)
}

/// Runs one command with additional variables, or prints why it does not run.
pub(super) fn one_with(
    engine: &Engine,
    request: Request,
    variables: &[(&str, PathBuf)],
    options: RunOptions,
    inherited: &mut Inherited,
) -> u8 {
    let invocation = engine.caller.invocation(request).unwrapped(&paths::real);
    let mut invocation = unknown_envelope::opened(engine, invocation);
    invocation.env.variables.extend(variables.iter().map(|(name, value)| ((*name).into(), value.into())));
    match authorize::authorize(engine, invocation, options, inherited) {
        Ok(ApprovedCommand { approved, receipt, asked: false }) => {
            could_not_start(&exec::replace(approved, receipt, inherited))
        }
        Ok(ApprovedCommand { approved, receipt, asked: true }) => match exec::wait(approved, receipt, inherited) {
            Ok(outcome) => {
                if let Err(error) = result(engine, receipt, &outcome) {
                    let _ = writeln!(std::io::stderr(), "guard: cannot record the result: {error}");
                }
                intent::keep_to_retention(engine);
                exec::leave(outcome.ended)
            }
            Err(error) => could_not_start(&error),
        },
        Err(code) => code,
    }
}

/// The reason why the result of a command could not be recorded.
#[derive(Debug, thiserror::Error)]
enum NoResult<'a> {
    /// The record cannot be opened.
    #[error("{0}")]
    Closed(&'a StoreError),
    #[error("{0}")]
    Unwritten(StoreError),
}

fn result<'a>(engine: &'a Engine, receipt: Receipt, outcome: &exec::ExecutionResult) -> Result<(), NoResult<'a>> {
    let end = match outcome.ended {
        exec::ProcessStatus::Exited { code } => ExitStatus::Exit(code),
        exec::ProcessStatus::Killed { signal, .. } => ExitStatus::Signal(signal),
    };
    let duration_ms = intent::milliseconds(outcome.duration);
    let store = engine.store().map_err(NoResult::Closed)?;
    store.result(&receipt, &CommandResult { end, duration_ms }, Timestamp::now()).map_err(NoResult::Unwritten)?;
    deliver::at_once(engine, receipt.row());
    Ok(())
}

pub(super) fn could_not_start(error: &ExecError) -> u8 {
    let _ = writeln!(std::io::stderr(), "guard: {error}");
    u8::try_from(error.exit_code()).unwrap_or(exit::FAILED)
}

/// Prints that guard itself failed, and returns the exit code for that.
pub fn failed(why: &str) -> u8 {
    super::screen::complain(&format!("guard: {why}"));
    exit::FAILED
}
