//! Asking a person at the terminal, and what a grant given with the answer covers.
//!
//! What may not enter: deciding whether to ask, and running.

use std::path::PathBuf;

use jiff::Timestamp;

use super::road::Road;
use crate::channel::terminal::{self, Answer, Closed};
use crate::judge::Judgment;
use crate::judge::approved::{Place, Until, What};
use crate::judge::invocation::Invocation;
use crate::judge::policy::{Prompt, Refusal};
use crate::judge::syntax::tree::Span;
use crate::store::NewGrant;
use crate::ui::card::CardView;
use crate::ui::explain::{self, ExplainView};
use crate::ui::parts::parts;
use crate::ui::style::Look;
use crate::world::terminal::Situation;
use crate::world::{World, evidence};

/// How asking went.
#[derive(Debug)]
pub enum Asked {
    Yes {
        grant: Option<Offer>,
    },
    No(Refusal),
    /// A signal came while asking: it is recorded, then guard dies of it.
    Killed {
        refusal: Refusal,
        signal: i32,
    },
}

/// A grant that the card offers: exactly this command, in this folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub until: Until,
    pub words: String,
}

/// Asks, where a person sits.
pub fn ask(road: &Road, invocation: &Invocation, judgment: &Judgment, prompt: &Prompt) -> Asked {
    let situation = &road.caller.terminal;
    // A terminal in raw mode may be showing another card: whose it is, is known once that one is answered.
    if !situation.is_person_here() && *situation != Situation::ForeignRawMode {
        let why = situation.to_string();
        let why = why.strip_prefix("no one to ask: ").unwrap_or(&why).to_owned();
        return Asked::No(Refusal::NoOne { why });
    }
    let may_grant = prompt.may_grant && judgment.may_grant;
    let offer = |until: Until| may_grant.then(|| offer(invocation, until));
    let session = offer(Until::Session { id: invocation.session.id.clone() });
    let always = offer(Until::Revoked);
    let threshold = road.policy().thresholds.of(invocation.origin);
    let view = CardView {
        words: words(judgment),
        evidence: evidence(road, invocation, judgment),
        session_grant: session.as_ref().map(|offer| offer.words.clone()),
        standing_grant: always.as_ref().map(|offer| offer.words.clone()),
        ..CardView::new(invocation, judgment.risk.clone(), threshold)
    };
    let explained = ExplainView {
        parts: parts(&view.command, judgment),
        outcome: explain::outcome(&crate::judge::policy::Decision::Ask(prompt.clone())),
        card: view.clone(),
    };
    let variable = |name: &str| invocation.env.get(name).map(ToOwned::to_owned);
    let look = Look::from_environment(variable, true);
    let runtime = invocation.env.get("XDG_RUNTIME_DIR").map(PathBuf::from);
    match terminal::ask(&view, prompt, &explained, look, runtime) {
        Answer::Once => Asked::Yes { grant: None },
        Answer::Session => Asked::Yes { grant: session },
        Answer::Always => Asked::Yes { grant: always },
        Answer::No { words } => Asked::No(Refusal::Person { words }),
        Answer::TimedOut { seconds } => Asked::No(Refusal::Timeout { seconds }),
        Answer::Closed(Closed::Interrupted(signal)) => {
            Asked::Killed { refusal: Refusal::Person { words: None }, signal: signal as i32 }
        }
        Answer::Closed(Closed::Signal(signal)) => Asked::Killed {
            refusal: Refusal::NoOne { why: format!("guard was ended by {signal} while asking") },
            signal: signal as i32,
        },
        Answer::Closed(closed) => Asked::No(Refusal::NoOne { why: closed.to_string() }),
    }
}

/// What is known of what it would touch, and what is wrong with the configuration. For the card, never for the verdict.
pub fn evidence(road: &Road, invocation: &Invocation, judgment: &Judgment) -> Vec<String> {
    let world = World::new(invocation);
    let found = evidence::gather(&world, &judgment.facts.acts, &judgment.risk.findings, evidence::MAX_TIME);
    found.lines.into_iter().chain(road.problems()).collect()
}

/// Where command words stand, for the look-alikes among their letters.
fn words(judgment: &Judgment) -> Vec<Span> {
    judgment.facts.acts.iter().filter(|act| act.parent.is_none()).map(|act| act.span).collect()
}

fn offer(invocation: &Invocation, until: Until) -> Offer {
    let end = match &until {
        Until::Session { .. } => "until this session ends".to_owned(),
        Until::Date { at } => format!("until {}", Timestamp::from_second(*at).unwrap_or_default()),
        Until::Revoked => "until it is revoked".to_owned(),
    };
    let folder = invocation.cwd.to_string_lossy();
    Offer { until, words: format!("exactly this command, in {folder} and below, {end}") }
}

/// Keeps a grant that was given with an answer.
///
/// # Errors
/// Why it could not be kept.
pub fn give(road: &Road, invocation: &Invocation, offer: &Offer) -> Result<(), String> {
    let what = What::Exact { command: invocation.display() };
    let place = Place::Folder { path: invocation.cwd.to_string_lossy().into_owned() };
    let store = road.store().map_err(ToString::to_string)?;
    let grant = NewGrant {
        what: &what,
        place: &place,
        until: &offer.until,
        words: &offer.words,
        user: &invocation.user,
        session: &invocation.session.id,
    };
    store.grant(&grant, Timestamp::now()).map(drop).map_err(|error| error.to_string())
}
