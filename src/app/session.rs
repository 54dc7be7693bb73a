//! `guard session`: how sessions stand, and the breaker closed again.
//!
//! What may not enter: deciding what a session may do.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use jiff::{Timestamp, Zoned};

use super::answer::{AnswerError, Desk};
use super::road::Road;
use super::{exit, moment};
use crate::store::StoreError;
use crate::ui::visible;

/// The arguments of `guard session`.
#[derive(Debug, Args)]
pub struct SessionArgs {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Let a session be asked about again after too many denials in a row
    Resume {
        /// The session, as guard session names it; without, the one that is stopped
        #[arg(value_name = "SESSION")]
        id: Option<String>,
        /// Why, for the record
        #[arg(long, short = 'r', value_name = "WORDS")]
        reason: String,
    },
}

/// A session and how it stands.
struct Stands {
    root: String,
    id: String,
    last: Timestamp,
    denials: u32,
    prompts: u32,
    stopped: bool,
}

/// Shows sessions or resumes one, and returns the exit code.
///
/// # Errors
/// The record cannot be used.
pub fn run(args: &SessionArgs) -> Result<u8, AnswerError> {
    match &args.what {
        None => show(),
        Some(What::Resume { id, reason }) => resume(id.as_deref(), reason),
    }
}

fn sessions(road: &Road) -> Result<Vec<Stands>, StoreError> {
    let Some(store) = road.existing()? else { return Ok(Vec::new()) };
    let breaker = road.policy().breaker_after;
    let stands = store.sessions()?.into_iter().map(|(root, id, last)| {
        let standing = store.standing(&root, Timestamp::now())?;
        let (denials, prompts) = (standing.denials_in_a_row, standing.prompts_last_hour);
        Ok(Stands { root, id, last, denials, prompts, stopped: denials >= breaker })
    });
    stands.collect()
}

fn show() -> Result<u8, AnswerError> {
    let road = Road::open()?;
    let zone = Zoned::now();
    let mut out = io::stdout().lock();
    writeln!(out, "This session: {}", visible::text(&road.caller.session.id))?;
    for one in sessions(&road)?.iter().take(50) {
        let stopped = if one.stopped { "; stopped: guard session resume" } else { "" };
        let line = format!(
            "{}  {}  {} asked in the last hour, {} denied in a row{stopped}",
            moment::shown(one.last, zone.time_zone()),
            one.id,
            one.prompts,
            one.denials,
        );
        writeln!(out, "{}", visible::text(&line))?;
    }
    Ok(exit::ALLOW)
}

fn resume(id: Option<&str>, reason: &str) -> Result<u8, AnswerError> {
    let words: Vec<String> = ["resume"].into_iter().chain(id).map(ToOwned::to_owned).collect();
    let desk = match Desk::open("session", &words)? {
        Ok(desk) => desk,
        Err(code) => return Ok(code),
    };
    let mut known = sessions(&desk.road)?;
    known.retain(|one| id.map_or(one.stopped, |id| one.id == id || one.root == id));
    let refused = |why: &str| -> Result<u8, AnswerError> {
        writeln!(io::stderr(), "guard: refused: {why}")?;
        Ok(exit::REFUSED)
    };
    let one = match known.as_slice() {
        [] if id.is_some() => return refused("there is no such session: guard session shows them"),
        [] => return refused("no session is stopped"),
        [one] => one,
        _ => return refused("several sessions are stopped: name one, as guard session shows them"),
    };
    if one.root == desk.road.caller.session.root {
        return refused("a session does not resume itself");
    }
    let by = &desk.road.caller.account.name;
    let store = desk.road.store().map_err(|error| AnswerError::Record(error.to_string()))?;
    let row = store.resume(&one.root, &one.id, by, reason, Timestamp::now())?;
    writeln!(io::stdout(), "{} is asked about again (row {row}).", visible::text(&one.id))?;
    Ok(exit::ALLOW)
}
