//! Asking a person at the terminal, and what a grant given with the answer covers.
//!
//! What may not enter: deciding whether to ask, and running.

use std::path::PathBuf;

use jiff::Timestamp;

use super::approver::sign;
use super::queue;
use super::road::Road;
use super::settle::folder_identity;
use crate::channel::terminal::{self, Answer, Closed};
use crate::judge::Judgment;
use crate::judge::approved::{Place, Until, What};
use crate::judge::approver::{Approval, Fresh};
use crate::judge::bindings::Bindings;
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
        /// Who answered, where that was not at this terminal: for the record.
        by: Option<String>,
    },
    No(Refusal),
    /// A signal came while asking: it is recorded, then guard dies of it.
    Killed {
        refusal: Refusal,
        signal: i32,
    },
    /// It waits in the queue under this name, and nobody waits for it here.
    Queued {
        request: String,
    },
}

/// A grant that the card offers: exactly this command, in this folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub until: Until,
    pub words: String,
}

/// Asks where a person sits; elsewhere the command waits in the queue, and there too for the other approvers of what
/// several sign.
pub fn ask(road: &Road, invocation: &Invocation, judgment: &Judgment, prompt: &Prompt, no_wait: bool) -> Asked {
    let wait = |why: &str| queue::Wait::of(road, invocation, no_wait, why.to_owned());
    if prompt.approvals > 1
        && let Some(why) = sign::lacking(&road.approvers(), prompt.approvals)
    {
        return Asked::No(Refusal::NoOne { why });
    }
    let situation = &road.caller.terminal;
    // A service counts approvals itself, and none of the session that asked.
    let elsewhere = road.service().is_some() && prompt.approvals > 1;
    // A terminal in raw mode may be showing another card: whose it is, is known once that one is answered.
    let why = if let Some(why) = road.asked_elsewhere() {
        why
    } else if elsewhere {
        ANOTHER.to_owned()
    } else if situation.is_person_here() || *situation == Situation::ForeignRawMode {
        if prompt.approvals > 1 && wait(ANOTHER).time.is_zero() {
            return Asked::No(Refusal::NoOne { why: ANOTHER.to_owned() });
        }
        match at_the_terminal(road, invocation, judgment, prompt) {
            Err(why) => why.to_string(),
            Ok(Asked::Yes { .. }) if prompt.approvals > 1 => {
                return queue::ask_another(road, invocation, judgment, prompt, &wait(ANOTHER));
            }
            Ok(asked) => return asked,
        }
    } else {
        let why = situation.to_string();
        why.strip_prefix("no one to ask: ").unwrap_or(&why).to_owned()
    };
    queue::ask(road, invocation, judgment, prompt, &wait(&why))
}

/// What several approvers sign, one of them signs on the card, and cannot wait for the others.
const ANOTHER: &str = "several approvers are wanted, and nothing may wait here for another";

/// A yes on the card, with the signature that it wants. Only then is it said.
fn signed(
    road: &Road,
    (invocation, judgment): (&Invocation, &Judgment),
    grant: Option<Offer>,
    said: impl FnOnce(),
) -> Asked {
    let (enrolled, tier) = (road.approvers(), judgment.risk.tier);
    let digest = invocation.digest(&judgment.facts.expanded);
    let mut nonce = [0; 16];
    if let Err(error) = getrandom::fill(&mut nonce) {
        return Asked::No(Refusal::Unsigned { why: error.to_string() });
    }
    let fresh = Fresh::of(nonce, invocation, &judgment.risk);
    let bindings = Bindings::of(judgment, folder_identity(&invocation.cwd));
    let filed = jiff::Timestamp::now().as_millisecond();
    let approval =
        Approval { request: "here", filed, fresh: &fresh, digest: &digest, bindings: &bindings, approvals: 1 };
    let message = approval.message();
    let signed = sign::sign(&enrolled, "To run this", &message, &[]);
    match signed.and_then(|signed| sign::are_enough(&enrolled, (tier, 1), &message, &[signed])) {
        Ok(names) => {
            said();
            Asked::Yes { grant, by: Some(format!("signed by {}", names.join(" and "))) }
        }
        Err(why) => Asked::No(Refusal::Unsigned { why }),
    }
}

/// Asks on the card. The card's own end is an answer; that there could be none is not.
fn at_the_terminal(
    road: &Road,
    invocation: &Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
) -> Result<Asked, Closed> {
    let may_grant = prompt.may_grant && judgment.may_grant;
    let Card { view, explained, look, runtime, session, always } = card(road, invocation, judgment, prompt);
    let is_signed = prompt.approvals < 2 && sign::is_wanted(&road.approvers(), judgment.risk.tier, 1);
    let asked = if is_signed { terminal::ask_before_a_signature } else { terminal::ask };
    let answer = asked(&view, prompt, &explained, look, runtime);
    let yes = |grant: Option<Offer>| {
        if is_signed {
            signed(road, (invocation, judgment), grant, || terminal::say_yes(&answer, &view.command, &look))
        } else {
            Asked::Yes { grant, by: None }
        }
    };
    Ok(match answer.clone() {
        Answer::Once => yes(None),
        Answer::Session => yes(session.filter(|_| may_grant)),
        Answer::Always => yes(always.filter(|_| may_grant)),
        Answer::No { words } => Asked::No(Refusal::Person { words }),
        Answer::TimedOut { seconds } => Asked::No(Refusal::Timeout { seconds }),
        Answer::Closed(Closed::Interrupted(signal)) => {
            Asked::Killed { refusal: Refusal::Person { words: None }, signal: signal as i32 }
        }
        Answer::Closed(Closed::Signal(signal)) => Asked::Killed {
            refusal: Refusal::NoOne { why: format!("guard was ended by {signal} while asking") },
            signal: signal as i32,
        },
        Answer::Closed(closed @ (Closed::NoTerminal(_) | Closed::Unattended | Closed::Background | Closed::Busy)) => {
            return Err(closed);
        }
        Answer::Closed(closed) => Asked::No(Refusal::NoOne { why: closed.to_string() }),
    })
}

/// Everything that asking on the card takes.
pub(super) struct Card {
    pub view: CardView,
    pub explained: ExplainView,
    pub look: Look,
    pub runtime: Option<PathBuf>,
    pub session: Option<Offer>,
    pub always: Option<Offer>,
}

/// The card of a command.
pub(super) fn card(road: &Road, invocation: &Invocation, judgment: &Judgment, prompt: &Prompt) -> Card {
    let may_grant = prompt.may_grant && judgment.may_grant;
    let offer = |until: Until| may_grant.then(|| offer(invocation, until));
    let session = offer(Until::Session { id: invocation.session.id.clone() });
    let always = offer(Until::Revoked);
    let threshold = road.policy().thresholds.of(invocation.origin);
    let mut evidence = evidence(road, invocation, judgment);
    if prompt.approvals > 1 {
        evidence.insert(0, format!("{} different approvers sign a yes to this.", prompt.approvals));
    }
    let view = CardView {
        words: words(judgment),
        evidence,
        session_grant: session.as_ref().map(|offer| offer.words.clone()),
        standing_grant: always.as_ref().map(|offer| offer.words.clone()),
        ..CardView::new(invocation, judgment.risk.clone(), threshold)
    };
    let explained = ExplainView {
        parts: parts(&view.command, judgment),
        outcome: explain::outcome(&crate::judge::policy::Decision::Ask(prompt.clone())),
        card: view.clone(),
    };
    let variable = |name: &str| std::env::var(name).ok();
    let look = Look::from_environment(variable, true);
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    Card { view, explained, look, runtime, session, always }
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
