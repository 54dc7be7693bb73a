//! `guard reviewer`, and asking the reviewer: with `mode = "smart"`, the step between the rules and a person.
//!
//! Every entry point passes a command that guard would ask about through [`Review`]. [`crate::judge::review`] decides
//! what an opinion may settle. guard itself connects to no model: the gateway's helper does, or a program that the
//! configuration names. Out of scope: HTTP.

mod advice;
mod consult;
mod contents;
mod evaluation;
mod examples;
mod request;
mod stats;

use std::ffi::OsString;
use std::io::{self, Write as _};

use clap::{Args, Subcommand};

pub use self::advice::{Advice, Review, overrulable, warn_of_yolo, yolo_in};
use self::request::Request;
use super::engine::{Engine, JudgedCommand};
use super::exit;
use super::failure::Failure;
use crate::config::Reviewer;

/// The arguments of `guard reviewer`.
#[derive(Debug, Args)]
pub struct ReviewerArgs {
    #[command(subcommand)]
    command: ReviewerCommand,
}

#[derive(Debug, Subcommand)]
enum ReviewerCommand {
    /// Print the request that the reviewer would get for a command, as JSON, without asking it
    Request {
        /// The command string
        command: OsString,
    },
    /// Test the configured reviewer with the built-in commands and injections
    Test(evaluation::TestArgs),
    /// Show how often it was asked, its answers, how often people agreed, and its cost
    Stats(stats::StatsArgs),
    /// List opinions with which users disagreed, and add them as examples
    Examples(examples::ExamplesArgs),
}

/// Runs the verb and returns the exit code.
///
/// # Errors
/// There is no reviewer, or the record cannot be read.
pub fn run(args: &ReviewerArgs) -> Result<u8, Failure> {
    match &args.command {
        ReviewerCommand::Request { command } => shown(command),
        ReviewerCommand::Test(args) => evaluation::run(args),
        ReviewerCommand::Stats(args) => stats::run(args),
        ReviewerCommand::Examples(args) => examples::run(args),
    }
}

fn shown(command: &OsString) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let invocation = engine.caller.invocation(engine.plain_line(command.clone())?);
    let JudgedCommand { judgment, .. } = engine.judge(&invocation);
    let request = Request::of(&engine, &invocation, &judgment);
    let text = serde_json::to_string_pretty(&request).map_err(io::Error::from)? + "\n";
    Ok(exit::after(io::stdout().write_all(text.as_bytes()), exit::ALLOW)?)
}

/// Returns the configured reviewer.
fn configured(engine: &Engine) -> Result<&Reviewer, Failure> {
    let config = engine.config();
    let none = || match config.problems.iter().find(|problem| problem.is_of_reviewer()) {
        Some(problem) => Failure::Message(problem.to_string()),
        None => Failure::Message("no reviewer is configured; see guard-reviewer(7)".to_owned()),
    };
    config.reviewer.as_ref().map(|(reviewer, _)| reviewer).ok_or_else(none)
}
