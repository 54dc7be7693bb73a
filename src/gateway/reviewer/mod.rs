//! The reviewer: a model's opinion of one command, asked by the one-shot helper `guard-gateway review`.
//!
//! guard hands over what it found and what it may cost; what comes back is an opinion, or that there is none and why.
//! [`prompt`] says what a model is told and how what cannot be trusted is kept apart, [`wire`] speaks the providers'
//! protocols, [`answer`] reads what they say, [`state`] counts. It asks through [`crate::channel::http::client`], the
//! gateway's one HTTP client.
//!
//! Out of scope: letting anything run. What an opinion means is guard's own affair, and holds whatever it says.

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

/// The longest question that is read.
const MAX_INPUT: u64 = 1 << 20;

/// The arguments of `guard-gateway review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {}

/// What guard asks.
#[derive(Debug, Deserialize)]
pub struct ReviewInput {
    pub reviewer: Reviewer,
    /// Where calls, tokens and opinions are counted and kept.
    pub state: PathBuf,
    /// A text of the account's own that is added to the policy.
    pub policy: String,
    /// What people decided about other commands, accepted one by one.
    pub examples: Vec<Value>,
    /// Of the command, whole.
    pub digest: String,
    /// What was found in it.
    pub request: Value,
}

/// Why nobody is asked, or told what was said.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("standard input: {0}")]
    Input(io::Error),
    #[error("invalid request: {0}")]
    Question(serde_json::Error),
    /// Standard output, and the runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a question on standard input, asks, and prints the opinion.
///
/// # Errors
/// There is no question, or nobody to tell.
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
