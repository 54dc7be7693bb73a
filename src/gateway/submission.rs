//! Runs a `guard submit` process to judge each command that a client submits. It waits in the queue like any guard. It
//! withdraws its request when its standard input is closed: if the gateway dies, nothing waits any longer, and nothing
//! runs.
//!
//! Out of scope: HTTP, and judging.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::backend::BackendError;
use crate::secrets::NoRandomBytes;

/// The input of `guard submit`.
#[derive(Clone, Debug, Serialize)]
pub struct SubmitInput<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argv: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<&'a str>,
    pub cwd: &'a str,
    pub client: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The origin of the command: `api`, or the messenger whose bot submits it.
    pub origin: &'a str,
    pub crisis: bool,
    pub timeout_secs: u32,
}

/// A running `guard submit` process.
pub struct SubmitProcess {
    child: Child,
    /// Kept open, because closing it withdraws the request.
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

/// The maximum length of an output line, in bytes.
const LONGEST: usize = 4 << 20;

/// The reason why a command was not judged.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The path of this program is unknown.
    #[error(transparent)]
    Own(io::Error),
    #[error("guard is not in the directory of the gateway ({})", .0.display())]
    NoGuard(PathBuf),
    #[error("guard submit: {0}")]
    Program(io::Error),
    #[error("cannot open the pipes of guard submit")]
    NoPipes,
    #[error("the output of guard submit is not JSON: {0}")]
    NoJson(#[from] serde_json::Error),
    #[error("the output of guard submit is too long")]
    TooLong,
    /// The error message of `guard submit`.
    #[error("{0}")]
    Refused(String),
    #[error("guard submit ended without an answer")]
    Silent,
}

/// The reason why a submitted command was not judged, or why its result was not stored.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    #[error("{action}: {LOST}")]
    Lost { action: String },
    #[error(transparent)]
    Judge(#[from] SubmitError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Random(#[from] NoRandomBytes),
}

/// The reason reported for a command that was waiting when its gateway stopped, and that cannot be submitted again.
pub const LOST: &str = "the submission can no longer be read; submit it again";

/// Returns the path of guard: in the directory of the gateway, `/usr/local/bin` or `/usr/bin`.
///
/// # Errors
/// Returns an error if guard is in none of them.
pub fn guard() -> Result<PathBuf, SubmitError> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize).map_err(SubmitError::Own)?;
    let beside = own.parent().unwrap_or(Path::new("/")).join("guard");
    let places = [beside, "/usr/local/bin/guard".into(), "/usr/bin/guard".into()];
    let found = places.iter().find(|path| path.is_file()).cloned();
    found.ok_or(SubmitError::NoGuard(own))
}

impl SubmitProcess {
    /// Starts a process with this input.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub async fn start(guard: &Path, body: &str) -> Result<Self, SubmitError> {
        let told = SubmitError::Program;
        let mut command = Command::new(guard);
        command.arg("submit").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(told)?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(SubmitError::NoPipes);
        };
        stdin.write_all(format!("{body}\n").as_bytes()).await.map_err(told)?;
        Ok(Self { child, stdin: Some(stdin), lines: BufReader::new(stdout).lines() })
    }

    /// Returns the next line of its output: that the request waits, or the result.
    ///
    /// # Errors
    /// Returns an error if the process ended without a result, which allows nothing, or if the line is invalid.
    pub async fn next(&mut self) -> Result<Value, SubmitError> {
        match self.lines.next_line().await {
            Ok(Some(line)) if line.len() <= LONGEST => Ok(serde_json::from_str(&line)?),
            Ok(Some(_)) => Err(SubmitError::TooLong),
            Ok(None) | Err(_) => Err(self.complaint().await),
        }
    }

    /// Withdraws the request.
    pub fn give_up(&mut self) {
        self.stdin = None;
    }

    async fn complaint(&mut self) -> SubmitError {
        use tokio::io::AsyncReadExt as _;
        let mut said = String::new();
        if let Some(stderr) = self.child.stderr.take() {
            let _ = stderr.take(4096).read_to_string(&mut said).await;
        }
        let said = said.trim().strip_prefix("guard: ").unwrap_or(said.trim()).to_owned();
        if said.is_empty() { SubmitError::Silent } else { SubmitError::Refused(said) }
    }
}
