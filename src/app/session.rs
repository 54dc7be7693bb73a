//! `guard session`: lists sessions, and resumes those that were stopped after repeated denials.
//!
//! Out of scope: deciding what a session may do.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use jiff::{Timestamp, Zoned};

use super::approvals::Approvals;
use super::engine::Engine;
use super::failure::Failure;
use super::pending::is_open;
use super::screen::WrappedOutput;
use super::{exit, record_backend, time};
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject as Covers};
use crate::judge::risk::Tier;
use crate::prompt::confirm::confirm_prose;
use crate::service::message;
use crate::store::{NewGrant, StoreError};
use crate::ui::visible;

/// The arguments of `guard session`.
#[derive(Debug, Args)]
pub struct SessionArgs {
    #[command(subcommand)]
    command: Option<SessionCommand>,
}

#[derive(Debug, Subcommand)]
enum SessionCommand {
    /// Run commands of tier 2 and below in a session without asking, until it ends
    ///
    /// Does not apply in production, to shells and interpreters, or after the session read secrets or was denied a
    /// similar command.
    Trust {
        /// The session, as guard session and guard pending --json list it
        #[arg(value_name = "SESSION")]
        id: String,
    },
    /// Resume a session that was stopped after too many denials in a row
    Resume {
        /// The session, as guard session lists it (default: the stopped one)
        #[arg(value_name = "SESSION")]
        id: Option<String>,
        /// The reason, for the record
        #[arg(long, short = 'r', value_name = "WORDS")]
        reason: String,
    },
}

/// The largest number of sessions that are shown, the most recently active ones.
const SHOWN: usize = 50;

/// A session and its state, for the list.
struct SessionSummary {
    root: String,
    id: String,
    last: Timestamp,
    denials: u32,
    prompts: u32,
    /// A row of the record that was changed after it was written.
    edited: Option<i64>,
    stopped: bool,
}

/// Shows sessions or resumes one, and returns the exit code.
///
/// # Errors
/// The record cannot be used.
pub fn run(args: &SessionArgs) -> Result<u8, Failure> {
    match &args.command {
        None => show(),
        Some(SessionCommand::Resume { id, reason }) => resume(id.as_deref(), reason),
        Some(SessionCommand::Trust { id }) => trust(id),
    }
}

fn sessions(engine: &Engine, most: usize) -> Result<Vec<SessionSummary>, StoreError> {
    let now = Timestamp::now();
    let known = match (engine.service(), engine.store()) {
        (Some(_), Ok(backend)) => backend.sessions(now)?,
        _ => match engine.existing()? {
            Some(store) => record_backend::sessions(&store, most, now)?,
            None => Vec::new(),
        },
    };
    let breaker = engine.policy().breaker_after;
    // A person's own terminal is never stopped: its root is the one that this process would have without an agent.
    let own = |root: &str| root == engine.caller.session.root && !engine.caller.origin.is_guarded();
    let stands = known.into_iter().map(|message::SessionMessage { root, id, last, standing, edited }| {
        let (denials, prompts) = (standing.denials_in_a_row, standing.prompts_last_hour);
        let stopped = !own(&root) && ((denials >= breaker && !standing.resumed) || edited.is_some());
        SessionSummary { root, id, last, denials, prompts, edited, stopped }
    });
    Ok(stands.collect())
}

/// Returns the most recently active sessions, each with a description of its state.
///
/// # Errors
/// The record cannot be read.
pub(super) fn known() -> Result<Vec<(String, String)>, Failure> {
    let engine = Engine::open()?;
    let all = sessions(&engine, SHOWN)?.into_iter().take(SHOWN);
    Ok(all.map(|one| (one.id, told(one.prompts, one.denials, 0))).collect())
}

/// Describes how often a session asked, how many requests were denied in a row, and how many wait.
fn told(prompts: u32, denials: u32, waiting: usize) -> String {
    let prompts = match prompts {
        1 => "1 prompt".to_owned(),
        many => format!("{many} prompts"),
    };
    let waiting = match waiting {
        0 => String::new(),
        1 => "; 1 request waits".to_owned(),
        many => format!("; {many} requests wait"),
    };
    format!("{prompts} in the last hour, {denials} denied in a row{waiting}")
}

fn show() -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let zone = Zoned::now();
    let mut out = WrappedOutput::over(io::stdout().lock(), true);
    writeln!(out, "This session: {}", visible::text(&engine.caller.session.id))?;
    let now = zone.timestamp();
    let mut waiting = super::engine::requests()?.map_or_else(|| Ok(Vec::new()), |queue| queue.list(now))?;
    waiting.retain(|pending| is_open(pending, now));
    let known = sessions(&engine, SHOWN)?;
    // Sessions with waiting requests but no decision yet are not in the record.
    let mut fresh: Vec<(&str, Timestamp, usize)> = Vec::new();
    for pending in waiting.iter().filter(|pending| known.iter().all(|one| one.root != pending.root)) {
        match fresh.iter_mut().find(|(session, ..)| *session == pending.session) {
            Some((_, last, count)) => (*last, *count) = ((*last).max(pending.filed), *count + 1),
            None => fresh.push((&pending.session, pending.filed, 1)),
        }
    }
    for (session, last, count) in fresh {
        let line = format!("{}  {session}  {}", time::format(last, zone.time_zone()), told(0, 0, count));
        writeln!(out, "{}", visible::text(&line))?;
    }
    for one in known.iter().take(SHOWN) {
        let edited = one
            .edited
            .map_or(String::new(), |row| format!("; row {row} of the record was changed after it was written"));
        let stopped = if one.stopped { "; stopped: guard session resume" } else { "" };
        let line = format!(
            "{}  {}  {}{edited}{stopped}",
            time::format(one.last, zone.time_zone()),
            one.id,
            told(one.prompts, one.denials, waiting.iter().filter(|pending| pending.root == one.root).count()),
        );
        writeln!(out, "{}", visible::text(&line))?;
    }
    Ok(exit::ALLOW)
}

fn trust(id: &str) -> Result<u8, Failure> {
    let approvals = match Approvals::open("session", &["trust".to_owned(), id.to_owned()])? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(code),
    };
    let refused = |why: &str| -> Result<u8, Failure> {
        writeln!(io::stderr(), "guard: refused: {why}")?;
        Ok(exit::REFUSED)
    };
    let waiting = approvals.queue.list(Timestamp::now())?.into_iter().map(|pending| (pending.root, pending.session));
    let known = sessions(&approvals.engine, usize::MAX)?.into_iter().map(|one| (one.root, one.id)).chain(waiting);
    let Some((root, session)) = known.into_iter().find(|(root, session)| session == id || root == id) else {
        return refused("no such session; guard session lists the sessions");
    };
    if root == approvals.engine.caller.session.root {
        return refused("a session cannot trust itself");
    }
    let shown = format!(
        "In session {}, commands of tier 2 and below would run without asking until the session ends.\nGuard still \
         asks about tier 3 and 4, production, shells and interpreters.\n",
        visible::text(&session)
    );
    if !confirm_prose(&shown, "Trust this session?")? {
        return refused("session not trusted");
    }
    let grant = NewGrant {
        what: &Covers::UpTo { tier: Tier::Medium },
        place: &GrantPlace::Anywhere,
        until: &GrantExpiry::Session { id: session.clone() },
        words: "all commands of tier 2 and below, in every directory, until this session ends",
        user: &approvals.engine.caller.account.name,
        session: &session,
    };
    let store = approvals.engine.store().map_err(|error| Failure::Message(error.to_string()))?;
    let number = store.grant(&grant, Timestamp::now())?;
    writeln!(io::stdout(), "Added grant {number}. To revoke it: guard allow remove {number}")?;
    Ok(exit::ALLOW)
}

fn resume(id: Option<&str>, reason: &str) -> Result<u8, Failure> {
    let words: Vec<String> = ["resume"].into_iter().chain(id).map(ToOwned::to_owned).collect();
    let approvals = match Approvals::open("session", &words)? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(code),
    };
    let mut known = sessions(&approvals.engine, usize::MAX)?;
    known.retain(|one| id.map_or(one.stopped, |id| one.id == id || one.root == id));
    let refused = |why: &str| -> Result<u8, Failure> {
        writeln!(io::stderr(), "guard: refused: {why}")?;
        Ok(exit::REFUSED)
    };
    let one = match known.as_slice() {
        [] if id.is_some() => return refused("no such session; guard session lists the sessions"),
        [] => return refused("no session is stopped"),
        [one] => one,
        _ => return refused("several sessions are stopped; give the ID of one, as guard session lists it"),
    };
    if one.root == approvals.engine.caller.session.root {
        return refused("a session cannot resume itself");
    }
    let by = &approvals.engine.caller.account.name;
    let store = approvals.engine.store().map_err(|error| Failure::Message(error.to_string()))?;
    let row = store.resume(&one.root, &one.id, by, reason, Timestamp::now())?;
    writeln!(io::stdout(), "Resumed session {} (row {row}).", visible::text(&one.id))?;
    Ok(exit::ALLOW)
}
