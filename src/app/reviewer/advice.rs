//! Applies the reviewer's opinion to one command: it runs, it is refused, or a person is asked and sees the opinion.
//!
//! Every entry point consults the reviewer through this module before it asks a person. Out of scope: how the person is
//! asked.

use std::io::Write as _;
use std::time::Duration;

use super::consult::Consult;
use crate::app::approver::sign;
use crate::app::engine::Engine;
use crate::app::queue;
use crate::judge::Judgment;
use crate::judge::approved::Approved;
use crate::judge::invocation::Invocation;
use crate::judge::policy::Refusal;
use crate::judge::review::{Opinion, OpinionVerdict, Outcome, Role, gate, role};
use crate::judge::risk::{Finding, Tier};
use crate::prompt::answer::{ReviewInProgress, ReviewProgress};
use crate::store::{Entry, Filter, Store};
use crate::ui::card_view::OpinionLine;

/// The time to wait for a quick opinion before a card is shown.
const GRACE: Duration = Duration::from_millis(150);

/// The review of one command, finished or not.
pub struct Review<'a> {
    engine: &'a Engine,
    invocation: &'a Invocation,
    judgment: &'a Judgment,
    consult: Option<Consult>,
    /// Whether an approver must sign the command, so that the reviewer only advises.
    is_signed: bool,
    /// The opinion, once there is one.
    pub opinion: Option<Opinion>,
}

/// The outcome of the review without a person.
#[derive(Debug)]
pub enum Advice {
    Runs(Box<Approved>),
    Refused(Refusal),
    /// Not settled.
    Open,
}

impl<'a> Review<'a> {
    /// Starts asking the reviewer if the policy requires it, for at most `most`.
    #[must_use]
    pub fn begin(engine: &'a Engine, invocation: &'a Invocation, judgment: &'a Judgment, most: Duration) -> Self {
        let consult = Consult::begin(engine, invocation, judgment, most);
        let tier = judgment.risk.tier;
        let is_signed = consult.is_some() && tier >= Tier::High && sign::is_wanted(&engine.approvers(), tier, 1);
        Self { engine, invocation, judgment, consult, is_signed, opinion: None }
    }

    /// Waits for the opinion and applies it.
    #[must_use]
    pub fn advice(&mut self) -> Advice {
        if let Some(consult) = self.consult.take() {
            self.opinion = Some(self.marked(consult.wait()));
        }
        self.outcome()
    }

    /// Waits a moment for the opinion and applies it if there is one.
    #[must_use]
    pub fn quickly(&mut self) -> Advice {
        let Some(consult) = &mut self.consult else { return self.outcome() };
        let Some(opinion) = consult.poll(GRACE) else { return Advice::Open };
        self.consult = None;
        self.opinion = Some(self.marked(opinion));
        self.outcome()
    }

    /// Applies the current opinion. An approval counts only if the same command would run now.
    #[must_use]
    pub fn outcome(&self) -> Advice {
        let Some(opinion) = &self.opinion else { return Advice::Open };
        match self.gate(opinion) {
            Outcome::Ask => Advice::Open,
            Outcome::Refuse(refusal) => Advice::Refused(refusal),
            Outcome::Run(_) => {
                let fresh = self.engine.judge_again(self.invocation);
                let (shown, policy) = (self.judgment, self.engine.policy());
                match Approved::by_reviewer(self.invocation.clone(), shown, &fresh, policy, opinion) {
                    Ok(approved) => Advice::Runs(Box::new(approved)),
                    Err(refusal) => Advice::Refused(refusal),
                }
            }
        }
    }

    /// Stops asking.
    pub fn end(&mut self) {
        self.consult = None;
    }

    /// Returns the line of the opinion on a card.
    #[must_use]
    pub fn opinion_line(&self) -> Option<OpinionLine> {
        self.opinion.as_ref().map(|opinion| self.said_of(opinion))
    }

    fn said_of(&self, opinion: &Opinion) -> OpinionLine {
        let denies = opinion.says == OpinionVerdict::Deny && matches!(self.gate(opinion), Outcome::Refuse(_));
        OpinionLine { denies, ..OpinionLine::of(opinion) }
    }

    /// Returns what the opinion may decide.
    fn gate(&self, opinion: &Opinion) -> Outcome {
        match self.is_signed {
            true => Outcome::Ask,
            false => gate(self.invocation, self.judgment, self.engine.policy(), opinion),
        }
    }

    /// Adds the rules that let the reviewer decide, for the record.
    fn marked(&self, opinion: Opinion) -> Opinion {
        let Role::Settles { with } = role(self.judgment, self.engine.policy()) else { return opinion };
        let lent = |finding: &&Finding| finding.yolo && with.contains(&finding.rule);
        let yolo = self.judgment.risk.findings.iter().filter(lent).map(|finding| finding.rule.clone()).collect();
        Opinion { yolo, ..opinion }
    }

    /// Reports whether the reviewer is being asked.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.consult.is_some()
    }
}

impl ReviewInProgress for Review<'_> {
    fn poll(&mut self) -> ReviewProgress {
        let Some(consult) = &mut self.consult else {
            let said = self.opinion_line().unwrap_or(OpinionLine { line: String::new(), denies: false });
            return ReviewProgress::Said(said);
        };
        let after = consult.asked_for();
        let Some(opinion) = consult.poll(Duration::ZERO) else { return ReviewProgress::Pending { after } };
        self.consult = None;
        let opinion = self.marked(opinion);
        let outcome = self.gate(&opinion);
        let said = self.said_of(&opinion);
        self.opinion = Some(opinion);
        if matches!(outcome, Outcome::Run(_)) { ReviewProgress::Settled } else { ReviewProgress::Said(said) }
    }
}

/// Returns a refusal by the reviewer where no person is present, with how a person can overrule it.
#[must_use]
pub fn overrulable(
    engine: &Engine,
    invocation: &Invocation,
    judgment: &Judgment,
    refusal: Refusal,
    opinion: Option<&Opinion>,
) -> Refusal {
    match (refusal, opinion) {
        (Refusal::Reviewer { by, mut reason }, Some(opinion)) => {
            if let Some(id) = queue::file_refused(engine, invocation, judgment, opinion) {
                reason.push_str(&format!(" (a person can overrule it once with a reason: guard approve {id})"));
            }
            Refusal::Reviewer { by, reason }
        }
        (refusal, _) => refusal,
    }
}

/// The number of rows of the session that are searched for an earlier message.
const LOOKED_THROUGH: u32 = 200;

/// Tells a person at the terminal, once per session, that a rule's `yolo` let the reviewer decide.
pub fn warn_of_yolo(engine: &Engine, invocation: &Invocation, opinion: &Opinion) {
    if opinion.yolo.is_empty() || !engine.caller.terminal.is_person_here() {
        return;
    }
    let session = Some(invocation.session.id.clone());
    let filter = Filter { session, limit: Some(LOOKED_THROUGH), ..Filter::default() };
    let told = |store: Store| {
        let rows = store.find(&filter).map(|ids| store.entries(&ids)).unwrap_or_default();
        rows.into_iter().flatten().any(|entry| entry.review.is_some_and(|opinion| !opinion.yolo.is_empty()))
    };
    if !engine.existing().ok().flatten().is_some_and(told) {
        let rules = opinion.yolo.join(", ");
        let _ = writeln!(
            std::io::stderr(),
            "guard: yolo of {rules} lets the reviewer decide commands that cannot be undone"
        );
    }
}

/// Returns the same message for a session without a person, to add to its next refusal or question. It appears once per
/// session, according to its rows. The row of this command is already written.
#[must_use]
pub fn yolo_in(engine: &Engine, invocation: &Invocation) -> Option<String> {
    if !invocation.origin.is_guarded() && engine.caller.terminal.is_person_here() {
        return None;
    }
    let session = Some(invocation.session.id.clone());
    let filter = Filter { session, limit: Some(LOOKED_THROUGH), ..Filter::default() };
    let store = engine.existing().ok().flatten()?;
    let rows: Vec<Entry> = store.find(&filter).map(|ids| store.entries(&ids)).ok()?.into_iter().flatten().collect();
    let lent = |entry: &Entry| entry.review.clone().filter(|opinion| !opinion.yolo.is_empty());
    let ran = |entry: &&Entry| entry.decision.as_deref() == Some("allow");
    let (at, opinion) =
        rows.iter().enumerate().filter(|(_, row)| ran(row)).find_map(|(at, row)| Some((at, lent(row)?)))?;
    let told = |entry: &&Entry| matches!(entry.decision.as_deref(), Some("deny" | "ask"));
    let is_first = rows.iter().skip(at).filter(told).count() <= 1;
    is_first
        .then(|| format!("yolo of {} lets the reviewer decide commands that cannot be undone", opinion.yolo.join(", ")))
}
