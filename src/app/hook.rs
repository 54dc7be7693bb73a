//! `guard hook --agent NAME`: an agent reports the call that it is about to make, and guard answers in its protocol.
//!
//! [`run`] sets the deadline, reads the input, judges it, records the answer (`advice`) and writes it. A safe command
//! gets no opinion, never an approval. Every failure is a denial with its reason. Out of scope: the protocol of any
//! one agent (data, read by `dialect`), and running anything.

use std::io::{self, Read};

use clap::Args;
use serde_json::Value;

pub mod call;
pub mod dialect;
pub mod hosts;
pub mod shape;
pub mod watchdog;

mod caller_gone;
mod files;
mod limits;
mod respond;
mod typing;
mod unjudged;

use call::{HookReply, HookStage, Reply};
use hosts::Host;
use watchdog::Watchdog;

/// The arguments of `guard hook`.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent that calls the hook; its JSON is read from standard input
    #[arg(long, value_name = "NAME")]
    pub agent: String,
    /// The agent's time limit for the hook in seconds, if it is not the default
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub timeout: Option<u32>,
}

/// The longest input that is parsed, in bytes.
const MAX_INPUT: u64 = 8 * 1024 * 1024;

/// The longest reason in an answer, in bytes.
const MAX_REASON: usize = 2000;

/// The time limit of an unknown agent, in seconds.
const UNKNOWN_WAITS: u32 = 5;

/// The reason that is given when the deadline passes.
const LATE: &str = "guard could not answer in time";

/// The exit code of a denial that is not in any dialect.
pub const DENIED: u8 = 2;

/// Answers one call. Returns the exit code.
#[must_use]
pub fn run(args: &HookArgs) -> u8 {
    let host = hosts::named(&args.agent);
    let waits = args.timeout.unwrap_or_else(|| host.map_or(UNKNOWN_WAITS, |host| host.hook.waits));
    let waits = host.map_or(waits, |host| host.waits(waits).min(limits::configured(host).unwrap_or(u32::MAX)));
    let deny = |host: Option<Host>, event: HookStage, why: &str| match host {
        Some(host) => dialect::say(host, event, &HookReply::Deny { reason: refused(why) }),
        None => Reply::exit_2(&refused(why)),
    };
    let late = |host: Option<Host>, event: HookStage| deny(host, event, LATE);
    let agent = host.map_or(args.agent.as_str(), |host| host.name());
    let watchdog = match Watchdog::begin(Host::deadline(waits), late(host, HookStage::Unknown), agent) {
        Ok(watchdog) => watchdog,
        Err(error) => {
            return watchdog::give(&deny(host, HookStage::Unknown, &format!("cannot set the deadline: {error}")));
        }
    };
    watchdog.on_panic(deny(host, HookStage::Unknown, "guard failed"));
    let input = read();
    let Some(host) = host else {
        let why = format!("unknown agent {:?}; known agents: {}", args.agent, hosts::names());
        unjudged::record(agent, &why);
        return watchdog.answer(&deny(None, HookStage::Unknown, &why));
    };
    let input = match input {
        Ok(input) => input,
        Err(error) => {
            let why = error.to_string();
            unjudged::record(agent, &why);
            return watchdog.answer(&deny(Some(host), HookStage::Unknown, &why));
        }
    };
    let host = host.in_truth(&input);
    let call = match dialect::read(host, &input) {
        Ok(call) => call,
        Err(wrong) => {
            unjudged::record(host.name(), &wrong.why);
            return watchdog.answer(&deny(Some(host), wrong.event, &wrong.why));
        }
    };
    watchdog.lay(late(Some(host), call.event));
    watchdog.on_panic(deny(Some(host), call.event, "guard failed"));
    let answer = match respond::on(host, &call, &watchdog) {
        Ok(answer) => answer,
        Err(error) => {
            let why = error.to_string();
            unjudged::record(host.name(), &why);
            HookReply::Deny { reason: refused(&why) }
        }
    };
    watchdog.answer(&dialect::say(host, call.event, &answer))
}

/// The reason why the input of a hook cannot be parsed.
#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("cannot read standard input: {0}")]
    Read(#[from] io::Error),
    #[error("the input is longer than {} MiB", MAX_INPUT >> 20)]
    TooLong,
    #[error("no input: guard hook is called by agents, which write JSON to it")]
    Empty,
    #[error("the input is not the expected JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Reads and parses standard input. If it is too long, it is still read to the end, because an agent that cannot write
/// all of its input may treat the hook as failed.
fn read() -> Result<Value, InputError> {
    let mut stdin = io::stdin().lock();
    let mut text = Vec::new();
    let taken = stdin.by_ref().take(MAX_INPUT + 1).read_to_end(&mut text);
    taken?;
    if text.len() as u64 > MAX_INPUT {
        let _ = io::copy(&mut stdin, &mut io::sink());
        return Err(InputError::TooLong);
    }
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err(InputError::Empty);
    }
    Ok(serde_json::from_slice(&text)?)
}

/// Returns the reason of a denial that is not about the command.
fn refused(why: &str) -> String {
    cut(&format!("guard: refused: {}", crate::ui::visible::text(why)))
}

/// Shortens a reason to one line that no host truncates.
fn cut(reason: &str) -> String {
    let line = reason.replace(['\n', '\r'], " ");
    if line.len() <= MAX_REASON {
        return line;
    }
    let mut end = MAX_REASON;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… (cut)", line.get(..end).unwrap_or_default())
}
