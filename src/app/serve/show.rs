//! Shows the service's record to approvers: the service runs a verb on its own directory, and the verb writes to
//! the client's standard output and standard error.
//!
//! Out of scope: a verb that writes, or that opens files by name.

use std::io::Write as _;
use std::sync::Mutex;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::server::Server;
use crate::app::{engine, exit, record_backend};
use crate::exec::tool::Tool;
use crate::service::client::{Client, line};
use crate::service::fd_passing;
use crate::service::line::Lines;
use crate::service::message::{Reply, ServiceRequest};
use crate::store::StoreError;

/// The environment variables that affect the output and are passed to the verb.
const SHOWN_BY: [&str; 8] = ["TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];

/// If a service keeps the record, lets it run a verb that reads it. `words` begin with the verb.
#[must_use]
pub fn passed_on(words: Vec<String>) -> Option<u8> {
    let service = engine::service()?;
    let environment =
        SHOWN_BY.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect();
    let client = record_backend::client(&service);
    Some(ask(&client, ServiceRequest::Show { words, environment }).unwrap_or_else(|why| {
        let _ = writeln!(std::io::stderr(), "guard: {why}");
        exit::FAILED
    }))
}

/// The reason why the record of the service cannot be shown.
#[derive(Debug, thiserror::Error)]
enum ShowError {
    #[error(transparent)]
    Refused(#[from] StoreError),
    #[error("guard's service closed the connection")]
    Closed,
    #[error("no answer from guard's service: {0}")]
    NoAnswer(std::io::Error),
    /// The error that the service returned.
    #[error("{0}")]
    Service(String),
    #[error(transparent)]
    NoReply(#[from] serde_json::Error),
    #[error("only log, stats, verify and export can read the service's record, without pruning or sending")]
    Verb,
    #[error(transparent)]
    Run(#[from] std::io::Error),
}

fn ask(client: &Client, ask: ServiceRequest) -> Result<u8, ShowError> {
    client.ask::<()>(ask)?;
    let mut lines = client.take_lines().ok_or(ShowError::Closed)?;
    use std::os::fd::AsFd as _;
    fd_passing::send(lines.stream(), [std::io::stdout().as_fd(), std::io::stderr().as_fd()])
        .map_err(ShowError::NoAnswer)?;
    let told = lines.receive(None).map_err(ShowError::NoAnswer)?.ok_or(ShowError::Closed)?;
    match serde_json::from_slice(&told)? {
        Reply::Ok(code) => Ok(code),
        Reply::Error(why) => Err(ShowError::Service(why)),
    }
}

/// Runs a verb for a client.
pub(super) fn on(server: &Server, words: &[String], environment: Vec<(String, String)>, mut lines: Lines) {
    let done = run(server, words, environment, &mut lines);
    let _ = lines.send(line(&done.map_or_else(|error| Reply::Error(error.to_string()), Reply::Ok)));
}

fn run(
    server: &Server,
    words: &[String],
    environment: Vec<(String, String)>,
    lines: &mut Lines,
) -> Result<i32, ShowError> {
    let verb = words.first().map_or("", String::as_str);
    let prunes = words.iter().skip(1).find(|word| !word.starts_with('-')).is_some_and(|word| word == "prune");
    let sends = words.iter().any(|word| word.starts_with("--d"));
    if !["log", "stats", "verify", "export"].contains(&verb) || prunes || (verb == "export" && sends) {
        return Err(ShowError::Verb);
    }
    lines.send(line(&Reply::Ok(())))?;
    let [out, errors] = fd_passing::receive(lines.stream())?;
    let tool = Tool::own()?.args(["serve", "--directory"]).arg(server.paths.directory()).arg("--").args(words);
    let shown_by = environment.into_iter().filter(|(name, _)| SHOWN_BY.contains(&name.as_str()));
    let tool = tool.alone(shown_by.map(|(name, value)| (name.into(), value.into()))).stdout(out).stderr(errors);
    let mut child = tool.start()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    // The process ID stays valid until the child is waited for, which happens only after `ended` is set.
    let ended = Mutex::new(false);
    let stream = lines.stream().try_clone()?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The client sends nothing more. When this returns, it has disconnected.
            let _ = lines.receive(None);
            if let Ok(ended) = ended.lock()
                && !*ended
            {
                let _ = kill(pid, Signal::SIGKILL);
            }
        });
        crate::exec::until_ended(pid);
        if let Ok(mut ended) = ended.lock() {
            *ended = true;
        }
        let _ = stream.shutdown(std::net::Shutdown::Read);
    });
    let status = child.wait()?;
    Ok(status.code().unwrap_or(exit::FAILED.into()))
}
