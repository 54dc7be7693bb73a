//! `guard person`: reports whether a person who may answer is at the terminal. For programs beside guard that change
//! who can answer.
//!
//! Such a program runs it itself. It checks the terminal and the processes above. Out of scope: what is changed.

use std::io::{self, Write as _};

use clap::Args;

use super::engine::Engine;
use super::exit;
use super::failure::Failure;
use super::place::{attempt, not_from_here};
use crate::judge::policy::Refusal;

/// The arguments of `guard person`.
#[derive(Debug, Args)]
pub struct PersonArgs {
    /// The intended action, which is recorded if the caller is not a person
    #[arg(required = true, value_name = "WORD")]
    doing: Vec<String>,
}

/// Returns 0 if a person is at the terminal, and otherwise 126 after recording the attempt.
///
/// # Errors
/// It cannot be determined, which does not count as a person.
pub fn run(args: &PersonArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let Some(why) = not_from_here(&engine.caller, &engine.caller.behind_the_terminal()) else { return Ok(exit::ALLOW) };
    attempt(&engine, &args.doing.join(" "), &why);
    writeln!(io::stderr(), "guard: refused: {}", Refusal::Attempt { why })?;
    Ok(exit::REFUSED)
}
