//! Asks about a command: the reviewer, a person at the terminal, or people through the queue.
//!
//! Out of scope: deciding whether to ask, and running the command.

use std::path::PathBuf;

use super::approver::sign;
use super::ask_outcome::{AskOutcome, GrantOffer, offer};
use super::engine::Engine;
use super::evidence::evidence;
use super::queue;
use super::reviewer::{self, Advice, Review};
use crate::judge::Judgment;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approved::GrantExpiry;
use crate::judge::approver::{Approval, ApprovalNonce};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::Invocation;
use crate::judge::policy::{Decision, Prompt, Refusal};
use crate::judge::review::role;
use crate::judge::syntax::tree::Span;
use crate::judge::tier::Tier;
use crate::prompt::answer::{PromptAnswer, PromptClosed, ReviewInProgress};
use crate::prompt::prompt_loop::PromptRequest;
use crate::prompt::terminal;
use crate::store::{Entry, Filter, Store, StoreError, is_probe};
use crate::ui::card_view::{CardView, command_bytes};
use crate::ui::explain::{self, ExplainView};
use crate::ui::parts::parts;
use crate::ui::style::Look;
use crate::ui::{pending, visible};
use crate::world::paths;
use crate::world::terminal::TerminalState;

/// Asks at the terminal if a user is there; otherwise the command waits in the queue. If several approvers must sign,
/// it also waits there for the others. guard does not ask about a command that the reviewer decides, and a user at the
/// terminal does not have to wait for the reviewer.
pub fn ask(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    no_wait: bool,
    review: &mut Review<'_>,
) -> AskOutcome {
    let wait = |why: &str| queue::WaitOptions::of(engine, invocation, no_wait, why.to_owned());
    if prompt.approvals > 1
        && let Some(why) = sign::lacking(&engine.approvers(), prompt.approvals)
    {
        return AskOutcome::No(Refusal::NoOne { why });
    }
    if let Advice::Runs(approved) = review.quickly() {
        return AskOutcome::Reviewed(approved);
    }
    let situation = &engine.caller.terminal;
    // The service counts approvals itself, and accepts none from the session of the requester.
    let elsewhere = engine.service().is_some() && prompt.approvals > 1;
    // A terminal in raw mode may show another card. Whether this process may use it is known after that card was
    // answered.
    let why = if let Some(why) = engine.asked_elsewhere() {
        why
    } else if elsewhere {
        ANOTHER.to_owned()
    } else if situation.is_person_here() || *situation == TerminalState::ForeignRawMode {
        if prompt.approvals > 1 && wait(ANOTHER).time.is_zero() {
            return AskOutcome::No(Refusal::NoOne { why: ANOTHER.to_owned() });
        }
        match at_the_terminal(engine, invocation, judgment, prompt, review) {
            Err(why) => why.to_string(),
            Ok(AskOutcome::Yes { .. }) if prompt.approvals > 1 => {
                return queue::ask_another(engine, invocation, judgment, prompt, &wait(ANOTHER));
            }
            Ok(asked) => return asked,
        }
    } else {
        let why = situation.to_string();
        why.strip_prefix("no one to ask: ").unwrap_or(&why).to_owned()
    };
    match review.advice() {
        Advice::Runs(approved) => AskOutcome::Reviewed(approved),
        Advice::Refused(refusal) => {
            let opinion = review.opinion.as_ref();
            AskOutcome::No(reviewer::overrulable(engine, invocation, judgment, refusal, opinion))
        }
        Advice::Open => {
            let wait = queue::WaitOptions { opinion: review.opinion.clone(), ..wait(&why) };
            queue::ask(engine, invocation, judgment, prompt, &wait)
        }
    }
}

/// The largest number of characters of a command beside the question who signs.
const SHOWN: usize = 60;

/// The reason for a refusal if several approvers must sign, but the command cannot wait for the others.
const ANOTHER: &str = "several approvers are needed, and requests cannot wait here for another one";

/// Returns an approval from the card, after the required signature was made.
fn signed(
    engine: &Engine,
    (invocation, judgment): (&Invocation, &Judgment),
    grant: Option<GrantOffer>,
    by: Option<String>,
    said: impl FnOnce(),
) -> AskOutcome {
    let (enrolled, tier) = (engine.approvers(), judgment.risk.tier);
    let digest = invocation.digest(&judgment.facts.expanded);
    let mut nonce = [0; 16];
    if let Err(error) = getrandom::fill(&mut nonce) {
        return AskOutcome::No(Refusal::Unsigned { why: error.to_string() });
    }
    let fresh = ApprovalNonce::of(nonce, invocation, &judgment.risk);
    let bindings = Bindings::of(judgment, paths::directory_identity(&invocation.cwd));
    let filed = jiff::Timestamp::now().as_millisecond();
    let approval = Approval {
        request: "here",
        filed,
        fresh: &fresh,
        digest: &digest,
        bindings: &bindings,
        approvals: 1,
        scope: AnswerScope::of(grant.as_ref().map(|offer| &offer.until)),
    };
    let message = approval.message();
    // The card is no longer visible: the signer must see the command again.
    let command = pending::cut(&visible::line(&command_bytes(&invocation.request), false), SHOWN);
    let signed = sign::sign(&enrolled, &format!("To approve `{command}`"), &message, &[]);
    match signed.and_then(|signed| sign::are_enough(&enrolled, (tier, 1), &message, &[signed])) {
        Ok(names) => {
            said();
            let signed = format!("signed by {}", names.join(" and "));
            let by = by.map_or(signed.clone(), |by| format!("{by}; {signed}"));
            AskOutcome::Yes { grant, by: Some(by) }
        }
        Err(error) => AskOutcome::No(Refusal::Unsigned { why: error.to_string() }),
    }
}

/// Asks on the card. The end of the card is an answer; a failure to show it is not.
fn at_the_terminal(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    prompt: &Prompt,
    review: &mut Review<'_>,
) -> Result<AskOutcome, PromptClosed> {
    let may_grant = prompt.may_grant && judgment.may_grant;
    let PromptCard { mut view, mut explained, look, runtime, session, always } =
        card(engine, invocation, judgment, prompt);
    view.first = judgment.risk.tier >= Tier::High && is_first(engine);
    view.opinion = review.opinion_line();
    explained.card.opinion.clone_from(&view.opinion);
    let is_signed = prompt.approvals < 2 && sign::is_wanted(&engine.approvers(), judgment.risk.tier, 1);
    let second = if review.is_open() { Some(&mut *review as &mut dyn ReviewInProgress) } else { None };
    let question = PromptRequest { view: &view, prompt, explained: &explained, look, said: !is_signed };
    let answer = terminal::ask_beside(question, runtime, second);
    // If nobody could be asked, the reviewer's opinion is still needed.
    if !matches!(answer, PromptAnswer::Closed(_)) {
        review.end();
    }
    let allowed = |grant: Option<GrantOffer>, by: Option<String>| {
        if is_signed {
            let said = || terminal::say_yes(&answer, &view.command, &look);
            signed(engine, (invocation, judgment), grant, by, said)
        } else {
            AskOutcome::Yes { grant, by }
        }
    };
    let yes = |grant| allowed(grant, None);
    Ok(match answer.clone() {
        PromptAnswer::Once => yes(None),
        PromptAnswer::Overruled { words } => allowed(None, Some(format!("against the reviewer's denial: {words}"))),
        PromptAnswer::Settled => match review.outcome() {
            Advice::Runs(approved) => {
                terminal::say_yes(&answer, &view.command, &look);
                AskOutcome::Reviewed(approved)
            }
            Advice::Refused(refusal) => AskOutcome::No(refusal),
            Advice::Open => AskOutcome::No(Refusal::Changed { what: "what the reviewer may decide".to_owned() }),
        },
        PromptAnswer::Session => yes(session.filter(|_| may_grant)),
        PromptAnswer::Always => yes(always.filter(|_| may_grant)),
        PromptAnswer::No { words, .. } => AskOutcome::No(Refusal::Person { words }),
        PromptAnswer::TimedOut { seconds } => AskOutcome::No(Refusal::Timeout { seconds }),
        PromptAnswer::Closed(PromptClosed::Interrupted(signal)) => {
            AskOutcome::Killed { refusal: Refusal::Person { words: None }, signal: signal as i32 }
        }
        PromptAnswer::Closed(PromptClosed::Signal(signal)) => AskOutcome::Killed {
            refusal: Refusal::NoOne { why: format!("guard was killed by {signal} while asking") },
            signal: signal as i32,
        },
        PromptAnswer::Closed(
            closed @ (PromptClosed::NoTerminal(_)
            | PromptClosed::Unattended
            | PromptClosed::Background
            | PromptClosed::Busy),
        ) => {
            return Err(closed);
        }
        PromptAnswer::Closed(closed) => AskOutcome::No(Refusal::NoOne { why: closed.to_string() }),
    })
}

/// The content of a prompt.
pub(super) struct PromptCard {
    pub view: CardView,
    pub explained: ExplainView,
    pub look: Look,
    pub runtime: Option<PathBuf>,
    pub session: Option<GrantOffer>,
    pub always: Option<GrantOffer>,
}

/// Returns the card of a command.
pub(super) fn card(engine: &Engine, invocation: &Invocation, judgment: &Judgment, prompt: &Prompt) -> PromptCard {
    let may_grant = prompt.may_grant && judgment.may_grant;
    let offer = |until: GrantExpiry| may_grant.then(|| offer(invocation, until));
    let session = offer(GrantExpiry::Session { id: invocation.session.id.clone() });
    let always = offer(GrantExpiry::Revoked);
    let threshold = engine.policy().thresholds.of(invocation.origin);
    let mut evidence = evidence(engine, invocation, judgment);
    if prompt.approvals > 1 {
        evidence.insert(0, format!("{} different approvers must sign.", prompt.approvals));
    }
    let view = CardView {
        words: words(judgment),
        evidence,
        session_grant: session.as_ref().map(|offer| offer.words.clone()),
        standing_grant: always.as_ref().map(|offer| offer.words.clone()),
        ..CardView::new(invocation, judgment.risk.clone(), threshold)
    };
    let told = explain::reviewer(&role(judgment, engine.policy()));
    let explained = ExplainView {
        parts: parts(&view.command, judgment),
        outcome: told.into_iter().chain(explain::outcome(&Decision::Ask(prompt.clone()))).collect(),
        card: view.clone(),
    };
    let variable = |name: &str| std::env::var(name).ok();
    let look = Look::from_environment(variable, true);
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    PromptCard { view, explained, look, runtime, session, always }
}

/// Reports whether the record can be read, and none of its newest commands of tier 3 and above was answered by a
/// person. The test commands of the doctor are ignored.
fn is_first(engine: &Engine) -> bool {
    /// The number of commands that are read.
    const NEWEST: u32 = 100;
    let high = Filter { tiers: Some((Tier::High, Tier::Critical)), limit: Some(NEWEST), ..Filter::default() };
    let is_answered = |entry: &Entry| entry.settled_by.as_deref() == Some("person") && !is_probe(&entry.findings);
    let is_new = |store: &Store| -> Result<bool, StoreError> {
        for row in store.find(&high)?.into_iter().rev() {
            if is_answered(&store.entry(row)?) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    engine.existing().is_ok_and(|store| store.is_none_or(|store| is_new(&store).unwrap_or(false)))
}

/// Returns the positions of command words, in which the card marks homoglyphs.
fn words(judgment: &Judgment) -> Vec<Span> {
    judgment.facts.acts.iter().filter(|act| act.parent.is_none()).map(|act| act.span).collect()
}
