//! The reviewer: asks a model for its opinion on one command, in the one-shot helper `guard-gateway review`.
//!
//! guard passes in its findings and the budget; the result is an opinion, or the reason why there is none. [`prompt`]
//! builds the prompt and isolates untrusted text in it, [`wire`] implements the providers' protocols, [`answer`] parses
//! the answers, [`state`] counts usage. Requests are sent with [`crate::channel::http::client`], the gateway's only
//! HTTP client.
//!
//! Out of scope: running commands. guard alone decides what an opinion means, whatever it says.

pub mod answer;
mod ask;
pub mod prompt;
pub mod state;
pub mod wire;

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use guard_config::config::Reviewer;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::judge::review::Opinion;

/// The maximum length of the input, in bytes.
const MAX_INPUT: u64 = 1 << 20;

/// The arguments of `guard-gateway review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {}

/// The input from guard.
#[derive(Debug, Deserialize)]
pub struct ReviewInput {
    pub reviewer: Reviewer,
    /// The file in which calls, tokens and opinions are stored.
    pub state: PathBuf,
    /// A text of the account that is added to the policy.
    pub policy: String,
    /// People's decisions about other commands, each accepted individually.
    pub examples: Vec<Value>,
    /// The complete digest of the command.
    pub digest: String,
    /// The findings about the command.
    pub request: Value,
}

/// The reason why no opinion is printed.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("standard input: {0}")]
    Input(io::Error),
    #[error("invalid request: {0}")]
    Question(serde_json::Error),
    /// An error of standard output or of the runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads the request from standard input, asks the model, and prints the opinion.
///
/// # Errors
/// The request is invalid, or the opinion cannot be printed.
pub fn run(_: &ReviewArgs) -> Result<u8, ReviewError> {
    let mut text = Vec::new();
    let read = io::stdin().lock().take(MAX_INPUT + 1).read_to_end(&mut text);
    read.map_err(ReviewError::Input)?;
    let question: ReviewInput = serde_json::from_slice(&text).map_err(ReviewError::Question)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let opinion: Opinion = runtime.block_on(ask::ask(&question));
    let told = json!({ "v": 1, "opinion": opinion });
    writeln!(io::stdout().lock(), "{told}")?;
    Ok(0)
}
