//! `guard hook --agent NAME`: an agent tells what it is about to do, and guard answers in the agent's own dialect.
//!
//! The road on one page: [`run`] begins the deadline, reads the input, judges it on the main road, writes the answer
//! down and gives it. Safe is no opinion, never consent. Whatever goes wrong is a denial with its reason. What may not
//! enter: what any one agent says (each has a file of its own beside this one), and running anything.

use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

pub mod call;
pub mod hosts;
pub mod plugin;
pub mod watchdog;

mod antigravity;
mod claude;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod droid;
mod gemini;
mod goose;
mod grok;
mod hermes;
mod kimi;
mod qwen;
mod windsurf;

use call::{Answer, Call, Event, Reply, What};
use hosts::Host;
use watchdog::Watchdog;

use super::road::{Judged, Road, RoadError};
use crate::judge::invocation::{Digest, Invocation, Line, Origin, Request};
use crate::judge::policy::{Decision, Record, Refusal};
use crate::judge::risk::{Risk, Tier};
use crate::judge::syntax::tree::Dialect;
use crate::store::{Handed, IntentRow, Settled};
use crate::ui::verdict;

/// The arguments of `guard hook`.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The agent whose hook this is; its JSON is read from standard input
    #[arg(long, value_name = "NAME")]
    pub agent: String,
    /// For how long the agent waits, where its configuration says other than the agent's default
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub timeout: Option<u32>,
}

/// The longest input that is read.
const MAX_INPUT: u64 = 8 * 1024 * 1024;

/// The longest reason that is given, in bytes.
const MAX_REASON: usize = 2000;

/// How long an agent may take that guard does not know.
const UNKNOWN_WAITS: u32 = 5;

/// The exit code of a denial in no dialect.
pub const DENIED: u8 = 2;

/// Answers one call. Returns the exit code.
#[must_use]
pub fn run(args: &HookArgs) -> u8 {
    let host = hosts::named(&args.agent);
    let waits = args.timeout.unwrap_or_else(|| host.map_or(UNKNOWN_WAITS, |host| host.waits));
    let deny = |host: Option<&Host>, event: Event, why: &str| match host {
        Some(host) => (host.say)(event, &Answer::Deny { reason: refused(why) }),
        None => Reply::exit_2(&refused(why)),
    };
    let late = |host: Option<&Host>, event: Event| deny(host, event, "guard ran out of time before it could answer");
    let watchdog = match Watchdog::begin(Host::deadline(waits), late(host, Event::Tool)) {
        Ok(watchdog) => watchdog,
        Err(error) => return give_at_once(&deny(host, Event::Tool, &format!("no deadline can be kept: {error}"))),
    };
    watchdog.on_panic(deny(host, Event::Tool, "guard failed"));
    let input = read();
    let Some(host) = host else {
        let why = format!("guard knows no agent called {:?}: it knows {}", args.agent, hosts::names());
        return watchdog.answer(&deny(None, Event::Tool, &why));
    };
    let input = match input {
        Ok(input) => input,
        Err(why) => return watchdog.answer(&deny(Some(host), Event::Tool, &why)),
    };
    let host = host.in_truth(&input);
    let call = match (host.read)(&input) {
        Ok(call) => call,
        Err(wrong) => return watchdog.answer(&deny(Some(host), wrong.event, &wrong.why)),
    };
    watchdog.lay(late(Some(host), call.event));
    watchdog.on_panic(deny(Some(host), call.event, "guard failed"));
    let answer = match answer(host, &call, &watchdog) {
        Ok(answer) => answer,
        Err(why) => Answer::Deny { reason: refused(&why) },
    };
    watchdog.answer(&(host.say)(call.event, &answer))
}

/// Answers without a watchdog.
fn give_at_once(reply: &Reply) -> u8 {
    use std::io::Write;
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    let _ = io::stdout().write_all(reply.stdout.as_bytes());
    reply.code
}

/// Reads all of standard input, and keeps it where it is not too long. The rest is read too: an agent that cannot
/// write all of its input may take the hook for a failed one.
fn read() -> Result<Value, String> {
    let mut stdin = io::stdin().lock();
    let mut text = Vec::new();
    let taken = stdin.by_ref().take(MAX_INPUT + 1).read_to_end(&mut text);
    taken.map_err(|error| format!("standard input cannot be read: {error}"))?;
    if text.len() as u64 > MAX_INPUT {
        let _ = io::copy(&mut stdin, &mut io::sink());
        return Err(format!("the input is longer than {} MiB", MAX_INPUT >> 20));
    }
    if text.iter().all(u8::is_ascii_whitespace) {
        return Err("there is no input: this is for the hooks of agents, which write JSON to it".to_owned());
    }
    serde_json::from_slice(&text).map_err(|error| format!("the input is not the JSON that was expected: {error}"))
}

/// The answer to a call; an error is a denial.
fn answer(host: &Host, call: &Call, watchdog: &Watchdog) -> Result<Answer, String> {
    if call.what == What::Other {
        return Ok(Answer::NoOpinion);
    }
    // Configuration and project are those of where the command would run. A folder that is gone has neither.
    if let Some(cwd) = &call.cwd {
        let _ = std::env::set_current_dir(cwd);
    }
    let road = Road::open().map_err(|error| error.to_string())?;
    watchdog.shorten(Duration::from_secs(road.policy().hook.deadline.into()));
    let invocation = invocation(&road, host, call).map_err(|error| error.to_string())?;
    let Judged { judgment, decision } = road.judge(&invocation);
    let risk = &judgment.risk;
    let text = text(&call.what);
    let handed = Handed { text: &text, cwd: &invocation.cwd, root: &invocation.session.root };
    let digest = invocation.digest(&judgment.facts.expanded);
    let note = Note { road: &road, invocation: &invocation, risk, digest };
    let deny = |refusal: Refusal| {
        // A denial that cannot be written down is one all the same.
        let _ = note.write(Settled::Refused(&refusal), None);
        Ok(Answer::Deny { reason: cut(&verdict::refused(&refusal, risk)) })
    };
    match decision {
        Decision::Run(cleared) => match note.write(Settled::Allowed(cleared.basis()), None) {
            Ok(()) if road.policy().hook.grant && !matches!(call.what, What::Files(_)) => Ok(Answer::Allow),
            Ok(()) => Ok(Answer::NoOpinion),
            Err(refusal) => deny(refusal),
        },
        Decision::Refuse(refusal) => deny(refusal),
        Decision::Ask(prompt) if prompt.tier < Tier::Critical => {
            if call.event == Event::Permission && is_handed(&road, &handed, prompt.tier) {
                // The same command was put to the person when the tool was to be used.
                return Ok(Answer::NoOpinion);
            }
            if !call.asks {
                return deny(no_one(host, prompt.tier));
            }
            // What somebody else started cannot hand anything on: it could be the agent's command itself.
            let handed = road.caller.is_called_by_agent().then_some(&handed);
            match note.write(Settled::Asked, handed) {
                Ok(()) => Ok(Answer::Ask { reason: cut(&verdict::question(risk)) }),
                Err(refusal) => deny(refusal),
            }
        }
        Decision::Ask(prompt) => deny(no_one(host, prompt.tier)),
    }
}

/// Why nobody is asked.
fn no_one(host: &Host, tier: Tier) -> Refusal {
    let why = match tier {
        Tier::Critical => "what is of tier 4 is never left to an agent's own prompt".to_owned(),
        _ => format!("{} is not sure to ask a person when its hook wants it to", host.name),
    };
    Refusal::NoOne { why }
}

/// What the agent wants to do, as an invocation of its own session.
fn invocation(road: &Road, host: &Host, call: &Call) -> Result<Invocation, RoadError> {
    let request = match &call.what {
        What::Line(text) => line(road, host, text)?,
        What::Argv(words) => Request::Argv(words.iter().map(Into::into).collect()),
        What::PowerShell(code) => {
            Request::Argv(["pwsh", "-NoProfile", "-Command", code].iter().map(Into::into).collect())
        }
        What::Files(changes) => {
            let home = road.caller.account.home.as_deref();
            let mut changes = changes.clone();
            for change in &mut changes {
                if let (Some(rest), Some(home)) = (change.path.strip_prefix("~/"), home.and_then(Path::to_str)) {
                    change.path = format!("{home}/{rest}");
                }
            }
            Request::Files(changes)
        }
        What::Other => Request::Files(Vec::new()),
    };
    let mut invocation = road.caller.invocation(request);
    invocation.origin = Origin::Agent;
    if let Some(cwd) = &call.cwd {
        invocation.cwd = if cwd.is_absolute() { cwd.clone() } else { invocation.cwd.join(cwd) };
    }
    // The hook's own folder is not the command's.
    invocation.env.variables.insert("PWD".into(), invocation.cwd.clone().into());
    invocation.env.variables.remove(std::ffi::OsStr::new("OLDPWD"));
    let session = &mut invocation.session;
    session.agent = Some(host.name.to_owned());
    if let Some(id) = &call.session {
        session.id = format!("{}:{id}", host.name);
        if let Some(part) = invocation.env.get("GUARD_SESSION").filter(|part| !part.is_empty()) {
            session.id = format!("{}/{part}", session.id);
        }
        // Hooks have no terminal, and often are the only ones of their session: without the agent's process only its
        // own name for the session holds its calls together.
        if !road.caller.has_agent_above() {
            session.root = format!("{}@{}:{id}", invocation.uid, host.name);
        }
    }
    Ok(invocation)
}

/// A command string as the agent's shell would read it.
fn line(road: &Road, host: &Host, text: &str) -> Result<Request, RoadError> {
    let request = road.plain_line(text.into())?;
    // These run commands with the account's own shell, which may be zsh.
    let own = match host.name {
        "claude" => ["CLAUDE_CODE_SHELL", "SHELL"].iter().find_map(|name| road.caller.env.get(name)),
        "codex" => road.caller.account.shell.as_deref().and_then(Path::to_str),
        "cursor" | "droid" | "opencode" | "amp" => road.caller.env.get("SHELL"),
        _ => None,
    };
    Ok(match (request, own.map(Path::new)) {
        (Request::Line(line), Some(own)) if own.file_name().is_some_and(|name| name == "zsh") => {
            Request::Line(Line { dialect: Dialect::Zsh, shell: own.to_owned(), ..line })
        }
        (request, _) => request,
    })
}

/// What the hook and the shell both see of a command. Changes of files never reach a shell.
fn text(what: &What) -> Vec<u8> {
    match what {
        What::Line(text) => text.clone().into_bytes(),
        What::Argv(words) => words.join("\0").into_bytes(),
        What::PowerShell(code) => code.clone().into_bytes(),
        What::Files(_) | What::Other => Vec::new(),
    }
}

fn is_handed(road: &Road, handed: &Handed<'_>, tier: Tier) -> bool {
    !handed.text.is_empty()
        && road.store().is_ok_and(|store| store.is_handed(handed, tier, Timestamp::now()).unwrap_or(false))
}

/// What is to be written down of an answer.
struct Note<'a> {
    road: &'a Road,
    invocation: &'a Invocation,
    risk: &'a Risk,
    digest: Digest,
}

impl Note<'_> {
    /// Writes the answer down.
    ///
    /// # Errors
    /// It could not be written, and it is of tier 2 or above.
    fn write(&self, settled: Settled<'_>, handed: Option<&Handed<'_>>) -> Result<(), Refusal> {
        let Self { road, invocation, risk, digest } = *self;
        let plain = risk.tier <= Tier::Low && risk.findings.is_empty() && matches!(settled, Settled::Allowed(_));
        if plain && road.policy().record == Record::Flagged {
            return Ok(());
        }
        let row = IntentRow {
            at: Timestamp::now(),
            invocation,
            digest,
            risk,
            settled,
            answer_ms: None,
            words: None,
            parent: None,
            process: None,
        };
        let written = road.store().map_err(ToString::to_string).and_then(|store| {
            let written = match handed.filter(|handed| !handed.text.is_empty()) {
                Some(handed) => store.advised_and_handed(&row, handed),
                None => store.advised(&row),
            };
            written.map_err(|error| error.to_string())
        });
        match written {
            Ok(_) => Ok(()),
            Err(_) if risk.tier <= Tier::Low => Ok(()),
            Err(why) => Err(Refusal::Unrecorded { why }),
        }
    }
}

/// A denial that is not about the command.
fn refused(why: &str) -> String {
    cut(&format!("guard: refused: {}", crate::ui::visible::text(why)))
}

/// A reason of one line that no host has to cut.
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
