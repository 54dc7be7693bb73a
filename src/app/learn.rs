//! `guard learn`: offers grants for commands that a person has allowed repeatedly.
//!
//! An offer needs a number of approvals of one shape and no denial. A command that cannot be undone is never offered,
//! and only a person gives the grant.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp, Zoned};

use super::allow::{examples, shaped};
use super::approvals::Approvals;
use super::approver::sign;
use super::engine::Engine;
use super::failure::Failure;
use super::{exit, screen, time};
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::risk::Tier;
use crate::prompt::confirm::confirm_prose;
use crate::store::{NewGrant, ShapeAnswers, StoreError};
use crate::ui::visible;

/// The arguments of `guard learn`.
#[derive(Debug, Args)]
pub struct LearnArgs {
    #[command(subcommand)]
    what: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show a suggested grant and add it
    Accept {
        /// The number of the suggestion, as guard learn lists it
        number: usize,
    },
}

/// The number of approvals of one shape that make an offer.
const OFTEN: u32 = 10;

/// The period in days in which they are counted.
const DAYS: i64 = 30;

/// A possible grant.
struct LearnedGrant {
    answers: ShapeAnswers,
    directory: String,
    what: GrantSubject,
}

/// Returns the narrowest subject that covers the approved commands: one repeated command, or else the shape.
fn narrowest(answers: &ShapeAnswers) -> GrantSubject {
    match &answers.command {
        Some(command) => GrantSubject::Exact { command: command.clone() },
        None => GrantSubject::Shape { shape: answers.shape.clone() },
    }
}

/// Lists offers or accepts one, and returns the exit code.
///
/// # Errors
/// The record or the terminal cannot be used.
pub fn run(args: &LearnArgs) -> Result<u8, Failure> {
    match args.what {
        None => list(),
        Some(Action::Accept { number }) => accept(number),
    }
}

/// Returns the shapes that were allowed often enough and never denied, can be undone, and are not covered by a grant.
fn offers(engine: &Engine) -> Result<Vec<LearnedGrant>, StoreError> {
    let Some(store) = engine.existing()? else { return Ok(Vec::new()) };
    let now = Timestamp::now();
    let since = now.saturating_sub(SignedDuration::from_hours(24 * DAYS)).unwrap_or(Timestamp::MIN);
    let granted = store.grants(now)?;
    let mut offers = Vec::new();
    for answers in store.answers_by_shape(since)? {
        if answers.allowed < OFTEN || answers.denied > 0 || answers.grave {
            continue;
        }
        // Use the directory with the most approvals. guard still asks about the command elsewhere.
        let Some((directory, _)) = answers.directories.iter().max_by_key(|(_, count)| **count) else { continue };
        let directory = directory.clone();
        let what = narrowest(&answers);
        let covers = |grant: &crate::judge::approved::Grant| grant.what == what && grant.place.holds(&directory);
        if !granted.iter().any(|listed| listed.ended.is_none() && covers(&listed.grant)) {
            offers.push(LearnedGrant { answers, directory, what });
        }
    }
    Ok(offers)
}

fn words(offer: &LearnedGrant) -> String {
    let what = match &offer.what {
        GrantSubject::Exact { command } => format!("exactly `{command}`"),
        _ => shaped(&offer.answers.shape),
    };
    format!("{what}, in {} and below, until revoked", offer.directory)
}

fn list() -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let offers = offers(&engine)?;
    let zone = Zoned::now();
    let mut out = io::stdout().lock();
    if offers.is_empty() {
        let said = format!("No command was allowed {OFTEN} times in {DAYS} days without a denial.\n");
        out.write_all(screen::fitted(&said).as_bytes())?;
    }
    for (number, offer) in offers.iter().enumerate() {
        let times = format!(
            "{}. You allowed it {} times in {DAYS} days, last {}, and never denied it.",
            number + 1,
            offer.answers.allowed,
            time::format(offer.answers.last, zone.time_zone())
        );
        writeln!(out, "{times}\n   Guard would run without asking: {}.", visible::text(&words(offer)))?;
    }
    if !offers.is_empty() {
        writeln!(out, "To add one: guard learn accept NUMBER")?;
    }
    Ok(exit::ALLOW)
}

fn accept(number: usize) -> Result<u8, Failure> {
    let approvals = match Approvals::open("learn", &["accept".to_owned(), number.to_string()])? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(code),
    };
    let refused = |why: &str| -> Result<u8, Failure> {
        writeln!(io::stderr(), "guard: refused: {}", visible::text(why))?;
        Ok(exit::REFUSED)
    };
    let offers = offers(&approvals.engine)?;
    let Some(offer) = number.checked_sub(1).and_then(|at| offers.get(at)) else {
        return refused("no such suggestion; guard learn lists the suggestions");
    };
    // A grant that an approver must sign is given by `guard allow`, which asks for the signature.
    if sign::is_wanted(&approvals.engine.approvers(), Tier::High, 1) {
        return refused("an approver must sign a grant; use guard allow add --shape");
    }
    let words = words(offer);
    let mut said = format!("Guard would run without asking: {}.\n", visible::text(&words));
    if let GrantSubject::Shape { shape } = &offer.what {
        said.push_str(&examples(shape, &offer.directory));
    }
    if !confirm_prose(&said, "Add this grant?")? {
        return refused("grant not added");
    }
    let grant = NewGrant {
        what: &offer.what,
        place: &GrantPlace::Directory { path: offer.directory.clone() },
        until: &GrantExpiry::Revoked,
        words: &words,
        user: &approvals.engine.caller.account.name,
        session: &approvals.engine.caller.session.id,
    };
    let store = approvals.engine.store().map_err(|error| Failure::Message(error.to_string()))?;
    let id = store.grant(&grant, Timestamp::now())?;
    writeln!(io::stdout(), "Added grant {id}. To revoke it: guard allow remove {id}")?;
    Ok(exit::ALLOW)
}
