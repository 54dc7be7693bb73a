//! What verbs show of the record, for those who may read it: the service runs the verb on its own directory and lets it
//! print to the files of whoever asked.
//!
//! What may not enter: a verb that writes, or that opens files by name.

use std::io::Write as _;
use std::sync::Mutex;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::server::Server;
use crate::app::{engine, exit, record_backend};
use crate::exec::tool::Tool;
use crate::service::client::{Client, line};
use crate::service::line::Lines;
use crate::service::message::{Ask, Reply};
use crate::service::pass;

/// Of the environment, what changes how things are shown.
const SHOWN_BY: [&str; 8] = ["TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];

/// Has the service run a verb that shows of the record, where one keeps it. `words` begin with the verb.
#[must_use]
pub fn passed_on(words: Vec<String>) -> Option<u8> {
    let service = engine::service()?;
    let environment =
        SHOWN_BY.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect();
    let client = record_backend::client(&service);
    Some(ask(&client, Ask::Show { words, environment }).unwrap_or_else(|why| {
        let _ = writeln!(std::io::stderr(), "guard: {why}");
        exit::FAILED
    }))
}

fn ask(client: &Client, ask: Ask) -> Result<u8, String> {
    let told = |error: std::io::Error| format!("no answer from guard's service: {error}");
    client.ask::<()>(ask).map_err(|error| error.to_string())?;
    let mut lines = client.take_lines().ok_or("guard's service closed the connection")?;
    use std::os::fd::AsFd as _;
    pass::give(lines.stream(), [std::io::stdout().as_fd(), std::io::stderr().as_fd()]).map_err(told)?;
    let told = lines.receive(None).map_err(told)?.ok_or("guard's service closed the connection")?;
    match serde_json::from_slice(&told) {
        Ok(Reply::Ok(code)) => Ok(code),
        Ok(Reply::Error(why)) => Err(why),
        Err(error) => Err(error.to_string()),
    }
}

/// Runs a verb for whoever asked.
pub(super) fn on(server: &Server, words: &[String], environment: Vec<(String, String)>, mut lines: Lines) {
    let done = run(server, words, environment, &mut lines);
    let _ = lines.send(line(&done.map_or_else(Reply::Error, Reply::Ok)));
}

fn run(
    server: &Server,
    words: &[String],
    environment: Vec<(String, String)>,
    lines: &mut Lines,
) -> Result<i32, String> {
    let told = |error: std::io::Error| error.to_string();
    let verb = words.first().map_or("", String::as_str);
    let prunes = words.iter().skip(1).find(|word| !word.starts_with('-')).is_some_and(|word| word == "prune");
    let sends = words.iter().any(|word| word.starts_with("--d"));
    if !["log", "stats", "verify", "export"].contains(&verb) || prunes || (verb == "export" && sends) {
        return Err(
            "only log, stats, verify and export can read the service's record, without pruning or sending".to_owned()
        );
    }
    lines.send(line(&Reply::Ok(()))).map_err(told)?;
    let [out, errors] = pass::take(lines.stream()).map_err(told)?;
    let tool =
        Tool::own().map_err(told)?.args(["serve", "--directory"]).arg(server.paths.directory()).arg("--").args(words);
    let shown_by = environment.into_iter().filter(|(name, _)| SHOWN_BY.contains(&name.as_str()));
    let tool = tool.alone(shown_by.map(|(name, value)| (name.into(), value.into()))).stdout(out).stderr(errors);
    let mut child = tool.start().map_err(told)?;
    let pid = Pid::from_raw(child.id().cast_signed());
    // Its number is its own until it is waited for, which is after this says so.
    let ended = Mutex::new(false);
    let stream = lines.stream().try_clone().map_err(told)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Nothing more is said: whoever asked has seen enough when this ends.
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
    let status = child.wait().map_err(told)?;
    Ok(status.code().unwrap_or(exit::FAILED.into()))
}
