//! `guard person`: whether a person stands here who may answer, for programs beside guard that change who answers.
//!
//! It is asked by the program itself, whoever started that: what is looked at are the terminal and the processes above.
//! Out of scope: what is changed.

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

/// Ends with 0 where a person stands here, else with 126; the attempt is in the record.
///
/// # Errors
/// It cannot be told, which is no yes.
pub fn run(args: &PersonArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let Some(why) = not_from_here(&engine.caller, &engine.caller.behind_the_terminal()) else { return Ok(exit::ALLOW) };
    attempt(&engine, &args.doing.join(" "), &why);
    writeln!(io::stderr(), "guard: refused: {}", Refusal::Attempt { why })?;
    Ok(exit::REFUSED)
}
