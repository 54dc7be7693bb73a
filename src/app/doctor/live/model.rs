//! Runs the stand-in for a model as a child process, and tells it what to propose when the agent queries it.
//!
//! Out of scope: which steps are proposed.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

use super::cases::OfferedTool;
use crate::exec::tool::Tool;

/// The time that the stand-in may take to start.
const BEGIN: Duration = Duration::from_secs(20);

/// The time that [`Model::next`] waits for an event, so that its caller can check whether the agent still runs.
const BEAT: Duration = Duration::from_millis(50);

/// A running stand-in. It is killed when this is dropped.
#[derive(Debug)]
pub struct Model {
    child: Child,
    lines: Receiver<String>,
    pub url: String,
}

/// An event that the stand-in reports.
#[derive(Debug)]
pub enum ModelEvent {
    /// The agent queries its model for the next step.
    Wants {
        /// The agent's messages to its model about each of the previous steps.
        told: Vec<String>,
        /// The whole conversation.
        heard: String,
        /// The tools that the agent offers.
        offered: Vec<OfferedTool>,
    },
    /// The agent offers no tool for the last step.
    Lacks,
}

impl Model {
    /// Starts the stand-in, and waits until it reports its address.
    ///
    /// # Errors
    /// It does not start, or reports no address.
    pub fn start(program: &Path, talks: bool) -> io::Result<Self> {
        let tool = Tool::at(program)?.arg("model").args(talks.then_some("--talks")).alone([]);
        let mut child = tool.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).start()?;
        let (send, lines) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let mut model = Self { child, lines, url: String::new() };
        let first =
            model.lines.recv_timeout(BEGIN).map_err(|_| io::Error::other("cannot start the stand-in for a model"))?;
        let first: Value = serde_json::from_str(&first).unwrap_or_default();
        model.url = first["url"]
            .as_str()
            .ok_or_else(|| io::Error::other("the stand-in for a model has another version"))?
            .to_owned();
        Ok(model)
    }

    /// Returns the next event, or `None` if there is none within a short time.
    ///
    /// # Errors
    /// The stand-in has stopped.
    pub fn next(&self) -> io::Result<Option<ModelEvent>> {
        let line = match self.lines.recv_timeout(BEAT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the stand-in for a model has stopped"));
            }
        };
        let word: Value = serde_json::from_str(&line).unwrap_or_default();
        Ok(match () {
            () if word.get("wants").is_some() => Some(ModelEvent::Wants {
                told: texts(&word["told"]),
                heard: word["heard"].as_str().unwrap_or_default().to_owned(),
                offered: word["offered"].as_array().into_iter().flatten().map(offered).collect(),
            }),
            () if word.get("lacks").is_some() => Some(ModelEvent::Lacks),
            () => None,
        })
    }

    /// Tells the stand-in which steps to propose.
    ///
    /// # Errors
    /// The stand-in has stopped.
    pub fn propose(&mut self, step: &Value) -> io::Result<()> {
        let stdin = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(stdin, "{step}")?;
        stdin.flush()
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn offered(tool: &Value) -> OfferedTool {
    let is = |what: &str| tool[what].as_bool().unwrap_or_default();
    OfferedTool { name: tool["name"].as_str().unwrap_or_default().to_owned(), runs: is("runs"), writes: is("writes") }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
