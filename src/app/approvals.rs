//! Shows waiting requests to a person and records the answers.
//!
//! A request is shown in full and judged again in its own directory and environment; the answer is valid for exactly
//! that. Whether the person may answer is decided before anything is shown ([`super::place`]): they need a terminal of
//! their own, and must not be the requester. Out of scope: running anything.

mod report;
mod shown_request;
mod unanswerable;

use std::io::{self, Write as _};

use jiff::Timestamp;

pub(super) use self::report::AnswerReport;
pub(super) use self::shown_request::{ShownRequest, in_full, question};
pub(super) use self::unanswerable::Unanswerable;
use super::approver::sign;
use super::ask::PromptCard;
use super::ask_outcome::offered_grant;
use super::engine::Engine;
use super::exit;
use super::failure::Failure;
use super::place::{attempt, not_from_here};
use super::record_backend::{RecordBackend, Requests};
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::{self, ApprovalNonce};
use crate::judge::bindings::Bindings;
use crate::judge::policy::Refusal;
use crate::judge::risk::Tier;
use crate::prompt::answer::PromptAnswer as Reply;
use crate::prompt::confirm::confirm;
use crate::prompt::terminal;
use crate::store::StoreError;
use crate::store::queue::{Answer, AnswerOutcome, Pending, RequestState};
use crate::ui::pending::approvals;
use crate::ui::style::{self, Look};
use crate::ui::visible;
use crate::world::identity::{Account, Caller, Process};
use crate::world::paths;
use crate::world::terminal::TerminalState;

/// The queue as a person at a terminal of their own may answer it.
pub(super) struct Approvals {
    pub engine: Engine,
    pub queue: Requests,
    verb: String,
    /// The processes that could type at this terminal.
    behind: Vec<Process>,
}

impl Approvals {
    /// Opens the queue if the caller may answer. Otherwise refuses, records the attempt and returns the exit code.
    pub fn open(verb: &str, words: &[String]) -> Result<Result<Self, u8>, Failure> {
        let engine = Engine::open()?;
        let verb =
            [&["guard", verb], words.iter().map(String::as_str).collect::<Vec<_>>().as_slice()].concat().join(" ");
        let behind = engine.caller.behind_the_terminal();
        let stranger = engine.service().filter(|service| !service.approves(&engine.caller.account.name));
        let stranger = stranger.map(|_| "this account is not an approver of this machine".to_owned());
        if let Some(why) = not_from_here(&engine.caller, &behind).or(stranger) {
            attempt(&engine, &verb, &why);
            writeln!(io::stderr(), "guard: refused: {}", Refusal::Attempt { why })?;
            return Ok(Err(exit::REFUSED));
        }
        let queue = engine.requests()?;
        Ok(Ok(Self { engine, queue, verb, behind }))
    }

    /// Returns the requests with these IDs, or all that wait.
    pub fn named(&self, ids: &[String], all: bool, report: &mut AnswerReport) -> Result<Vec<Pending>, Failure> {
        let known = self.queue.list(Timestamp::now())?;
        if all {
            let waiting: Vec<_> = known.into_iter().filter(|pending| pending.state == RequestState::Waiting).collect();
            if waiting.is_empty() {
                report.lines.push("No requests are waiting.".to_owned());
            }
            return Ok(waiting);
        }
        let mut found: Vec<Pending> = Vec::new();
        for id in ids.iter().map(|id| id.to_ascii_lowercase()) {
            match select(&known, &id) {
                Ok(pending) if !found.iter().any(|known| known.id == pending.id) => found.push(pending.clone()),
                Ok(_) => {}
                Err(why) => report.no(&id, why),
            }
        }
        Ok(found)
    }

    /// Checks that this person did not make the request. Otherwise records the attempt and returns the reason why they
    /// may not answer.
    pub fn may_answer(&self, pending: &Pending) -> Result<Result<(), Unanswerable>, Failure> {
        let Some(why) = self.asked_here(pending)? else { return Ok(Ok(())) };
        attempt(&self.engine, &self.verb, &format!("request {}: {why}", pending.id));
        Ok(Err(Unanswerable::Attempt(Refusal::Attempt { why: why.to_owned() })))
    }

    /// Returns the reason why this session counts as the one that asked, or `None` if it does not.
    pub fn asked_here(&self, pending: &Pending) -> Result<Option<&'static str>, Failure> {
        let caller = &self.engine.caller;
        let above = self.queue.full_request(&pending.id)?.map_or_else(Vec::new, |whole| whole.above);
        let is_above = |name: String| above.contains(&name);
        Ok(if caller.session.root == pending.root {
            Some("a session cannot answer its own request; answer from another terminal")
        } else if self.behind.iter().filter_map(Process::unique_name).any(is_above) {
            Some("this terminal and the requesting command have the same parent process; answer from another terminal")
        } else {
            None
        })
    }

    /// Returns a request as it would run now, or the reason why it cannot be approved.
    pub fn show(&self, pending: &Pending) -> Result<Result<ShownRequest, Unanswerable>, Failure> {
        if let Err(why) = self.may_answer(pending)? {
            return Ok(Err(why));
        }
        let waited_for = pending.waiter.as_deref().is_none_or(Caller::lives) && pending.state == RequestState::Waiting;
        if pending.is_never_late() && pending.state.is_open() && !waited_for {
            return Ok(Err(Unanswerable::TooLate(pending.tier)));
        }
        let Some(whole) = self.queue.full_request(&pending.id)?.filter(|_| pending.state.is_open()) else {
            return Ok(Err(match pending.state.is_open() {
                true => Unanswerable::OtherVersion,
                false => Unanswerable::settled(pending),
            }));
        };
        let invocation = &whole.invocation;
        // This account may see less of another account's files. The process that runs the command checks there what it
        // was judged by.
        let is_others = self.queue.is_shared() && invocation.uid != self.engine.caller.account.uid;
        let caller = Caller {
            cwd: invocation.cwd.clone(),
            env: invocation.env.clone(),
            account: Account::of(invocation.uid),
            origin: invocation.origin,
            session: invocation.session.clone(),
            terminal: TerminalState::NoTerminal,
            ancestors: Vec::new(),
        };
        let engine = if is_others { Engine::of_a_stranger(caller) } else { Engine::of(caller) };
        let judgment = engine.judge(invocation).judgment;
        // Hidden parts of a tool's input are not available here. The waiting process has them and judges again.
        let (digest, bindings) = if is_others || invocation.hides_here() {
            (whole.digest, whole.bindings.clone())
        } else {
            let bindings = Bindings::of(&judgment, paths::directory_identity(&invocation.cwd));
            (invocation.digest(&judgment.facts.expanded), bindings)
        };
        if let Some(what) = whole.bindings.difference(&bindings) {
            self.queue.void(&pending.id, &what)?;
            self.wake(&pending.id);
            return Ok(Err(Unanswerable::Void(format!("{what} changed after the request"))));
        }
        let wanted = pending.approvals.max(engine.policy().approvals.wanted(&judgment.risk));
        if (judgment.risk.tier == Tier::Critical || wanted > 1) && !waited_for {
            return Ok(Err(Unanswerable::TooLate(judgment.risk.tier)));
        }
        let mut signed = Vec::new();
        if wanted > 1 {
            let enrolled = self.engine.approvers();
            if let Some(why) = sign::lacking(&enrolled, wanted) {
                return Ok(Err(Unanswerable::Approvers(why)));
            }
            let store = self.store()?;
            let message = whole.approval(&whole.fresh, &digest, &bindings, AnswerScope::Once).message();
            let given = self.queue.signatures_so_far(store, &pending.id, &digest, &bindings)?;
            let names =
                given.and_then(|given| approver::signers(&enrolled.approvers, &message, &given).ok().map(owned));
            let Some(names) = names else {
                let what = "one of its approvals was not signed by an enrolled approver";
                self.queue.void(&pending.id, what)?;
                self.wake(&pending.id);
                return Ok(Err(Unanswerable::Void(what.to_owned())));
            };
            signed = names;
        }
        let same = |one: &Pending| one.id != pending.id && one.state == RequestState::Waiting && one.is_same(pending);
        let more = self.queue.list(Timestamp::now())?.iter().filter(|one| same(one)).count();
        let approvals = wanted;
        Ok(Ok(ShownRequest {
            whole,
            engine,
            judgment,
            digest,
            bindings,
            waited_for,
            more,
            approvals,
            signed,
            is_others,
        }))
    }

    /// Asks about one request on the card. An approval without another choice there has the scope `scope`.
    pub fn ask(&self, one: &ShownRequest, scope: AnswerScope, report: &mut AnswerReport) -> Result<(), Failure> {
        if let Err(why) = one.offers(scope) {
            report.no(one.id(), format!("not approved: {why}"));
            return Ok(());
        }
        let (PromptCard { mut view, mut explained, look, runtime, session, always }, mut prompt) = one.card();
        // A grant may need a signature although the command alone does not.
        let grave = if prompt.may_grant { Tier::High } else { one.tier() };
        if let Ok(Some(offer)) = offered_grant(&one.whole.invocation, true, scope) {
            view.evidence.insert(0, format!("If you approve, guard also runs without asking: {}.", offer.words));
            view.lasts = true;
            explained.card = view.clone();
            // The scope was already given.
            prompt.may_grant = false;
        }
        let is_signed = sign::is_wanted(&self.engine.approvers(), one.tier().max(grave), one.approvals);
        // It is not an approval until it is signed. The outcome is reported at the end.
        let asked = if is_signed { terminal::ask_before_a_signature } else { terminal::ask };
        match asked(&view, &prompt, &explained, look, runtime) {
            Reply::Once => self.allow(one, scope, None, report),
            Reply::Overruled { words } => self.allow(one, AnswerScope::Once, Some(&words), report),
            Reply::Settled => {
                report.no(one.id(), "not approved: already answered elsewhere");
                Ok(())
            }
            Reply::Session => {
                self.allow(one, AnswerScope::of(session.as_ref().map(|offer| &offer.until)), None, report)
            }
            Reply::Always => self.allow(one, AnswerScope::of(always.as_ref().map(|offer| &offer.until)), None, report),
            Reply::No { words, typed: true } => self.deny(&one.whole.pending, words.as_deref(), report),
            Reply::No { .. } => {
                let id = one.id();
                report.no(id, format!("not approved; the request still waits (to deny it: guard deny {id})"));
                Ok(())
            }
            Reply::TimedOut { .. } => {
                report.no(one.id(), "not approved: the request timed out");
                Ok(())
            }
            Reply::Closed(closed) => {
                report.no(one.id(), format!("not approved: {closed}"));
                Ok(())
            }
        }
    }

    /// Asks one question about several requests, after showing all of them in full.
    pub fn ask_together(&self, batch: &[ShownRequest], report: &mut AnswerReport) -> Result<(), Failure> {
        let look = Look::from_environment(|name| std::env::var(name).ok(), true);
        let columns = crossterm::terminal::size().map_or(80, |(columns, _)| columns.into());
        let text = style::render(&in_full(batch, columns, &look), &look);
        let yes = confirm(&text, &question(batch))?;
        for one in batch {
            if yes {
                self.allow(one, AnswerScope::Once, None, report)?;
            } else {
                report.no(one.id(), "not approved");
            }
        }
        Ok(())
    }

    /// Approves what was shown with this scope, with a reason where it overrules a reviewer. A grant is stored by the
    /// waiting process.
    pub fn allow(
        &self,
        one: &ShownRequest,
        scope: AnswerScope,
        words: Option<&str>,
        report: &mut AnswerReport,
    ) -> Result<(), Failure> {
        let (mut signatures, mut signer) = (Vec::new(), Vec::new());
        let enrolled = self.engine.approvers();
        if sign::is_wanted(&enrolled, scope.signed_as(one.tier()), one.approvals) {
            // Sign what was shown here. For another account's command, sign what that account's process filed.
            let shown = ApprovalNonce::of(one.whole.fresh.nonce, &one.whole.invocation, &one.judgment.risk);
            let fresh = if one.is_others { one.whole.fresh } else { shown };
            let message = one.whole.approval(&fresh, &one.digest, &one.bindings, scope).message();
            match sign::sign(&enrolled, &format!("To approve {}", one.id()), &message, &one.signed) {
                Ok(signed) => {
                    signer = sign::names(&enrolled, &signed.approver);
                    signatures.push(signed);
                }
                Err(why) => {
                    report.no(one.id(), Refusal::Unsigned { why: why.to_string() });
                    return Ok(());
                }
            }
        }
        let answer = Answer {
            signatures: &signatures,
            yes: Some((&one.digest, &one.bindings)),
            by: &self.engine.caller.account.name,
            words,
            waited_for: self.is_waited_for(&one.whole.pending),
            approvals: one.approvals,
            signer: &signer,
            scope,
        };
        self.give(&one.whole.pending, &answer, report)
    }

    /// Denies a request, with or without a reason.
    pub fn deny(&self, pending: &Pending, words: Option<&str>, report: &mut AnswerReport) -> Result<(), Failure> {
        let by = self.engine.caller.account.name.as_str();
        let answer = Answer {
            yes: None,
            by,
            words,
            signatures: &[],
            waited_for: self.is_waited_for(pending),
            approvals: 1,
            signer: &[],
            scope: AnswerScope::Once,
        };
        self.give(pending, &answer, report)
    }

    /// Reports whether the requesting process waits, or filed the request without waiting.
    fn is_waited_for(&self, pending: &Pending) -> bool {
        pending.waiter.as_deref().is_none_or(Caller::lives) && pending.expires > Timestamp::now()
    }

    fn give(&self, pending: &Pending, answer: &Answer<'_>, report: &mut AnswerReport) -> Result<(), Failure> {
        let id = &pending.id;
        let outcome = match self.queue.answer(self.store()?, pending, answer, Timestamp::now()) {
            Err(StoreError::Elsewhere { why }) => {
                report.no(id, &why);
                return Ok(());
            }
            outcome => outcome?,
        };
        let command = visible::text(&pending.command).into_owned();
        match outcome {
            AnswerOutcome::Done { late } => {
                self.wake(id);
                match (answer.yes.is_some(), late) {
                    (true, false) if answer.scope.is_once() => report.yes(id, &format!("approved: {command}")),
                    (true, false) => report.yes(id, &format!("approved, {}: {command}", so_far(answer.scope))),
                    (true, true) => report.yes(id, &format!("approved, can run once within an hour: {command}")),
                    (false, _) => report.yes(id, &format!("denied: {command}")),
                }
            }
            AnswerOutcome::Partly { by } => {
                let wanted = answer.approvals.max(pending.approvals);
                let so_far = approvals(wanted, &by).unwrap_or_default();
                report.yes(id, &format!("{so_far}: {command}"));
            }
            AnswerOutcome::SignedAlready { by } => {
                report.no(id, format!("{by} has already signed; another approver must sign"))
            }
            AnswerOutcome::Copied { by } => report.no(id, format!("refused: the passkey of {by} may have been copied")),
            AnswerOutcome::Unsigned => {
                report.no(id, "not approved: several approvers are needed, and this approval is not signed")
            }
            AnswerOutcome::Settled(pending) => report.no(id, Unanswerable::settled(&pending)),
            AnswerOutcome::Wordless => report.no(id, "the reviewer denied it; give a reason to approve it anyway"),
            AnswerOutcome::NotOffered { why } => report.no(id, format!("not approved: {why}")),
            AnswerOutcome::TooLate => {
                report.no(id, Unanswerable::TooLate(pending.tier));
            }
            AnswerOutcome::AskedAnew => report.no(id, "the request was renewed in the meantime; look at it again"),
            AnswerOutcome::Unknown => report.no(id, "the request no longer exists"),
        }
        Ok(())
    }

    fn store(&self) -> Result<&RecordBackend, Failure> {
        self.engine.store().map_err(|error| Failure::Message(error.to_string()))
    }

    fn wake(&self, id: &str) {
        self.queue.wake(id);
    }
}

/// Returns the scope of an approval in words.
fn so_far(scope: AnswerScope) -> String {
    match scope {
        AnswerScope::Once => "once".to_owned(),
        AnswerScope::Session => "until its session ends".to_owned(),
        AnswerScope::Until(at) => format!("until {}", Timestamp::from_second(at).unwrap_or_default()),
        AnswerScope::Always => "until revoked".to_owned(),
    }
}

/// The reason why no single request was selected.
#[derive(Debug, thiserror::Error)]
pub(super) enum SelectError {
    #[error("no such request; guard pending lists the requests")]
    Nothing,
    #[error("ambiguous request ID: {}", .0.join(", "))]
    Several(Vec<String>),
}

/// Returns the request with this ID, or the only one whose ID begins so. Waiting requests are preferred to settled
/// ones.
///
/// # Errors
/// None or several match.
pub(super) fn select<'a>(known: &'a [Pending], id: &str) -> Result<&'a Pending, SelectError> {
    if let Some(pending) = known.iter().find(|pending| pending.id == id) {
        return Ok(pending);
    }
    let like = || known.iter().filter(|pending| !id.is_empty() && pending.id.starts_with(id));
    let open: Vec<&Pending> = like().filter(|pending| pending.state.is_open()).collect();
    let all = if open.is_empty() { like().collect() } else { open };
    match all.as_slice() {
        [one] => Ok(one),
        [] => Err(SelectError::Nothing),
        several => Err(SelectError::Several(several.iter().map(|pending| pending.id.clone()).collect())),
    }
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}
