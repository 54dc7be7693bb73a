//! A request as it is shown to a person, alone or in a batch.
//!
//! Out of scope: the answer.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::app::ask::{self, PromptCard};
use crate::app::engine::Engine;
use crate::judge::Judgment;
use crate::judge::answer_scope::{AnswerScope, NotOffered};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::Digest;
use crate::judge::policy::Prompt;
use crate::judge::review::OpinionVerdict;
use crate::judge::risk::Tier;
use crate::store::queue::{FullRequest, Pending};
use crate::ui::card_view::OpinionLine;
use crate::ui::pending::approvals;
use crate::ui::style::{Line, Look, Style};
use crate::ui::{card, wrap};

/// A request as it is shown, and what an approval would be bound to.
pub struct ShownRequest {
    pub whole: FullRequest,
    pub(super) engine: Engine,
    pub judgment: Judgment,
    pub(super) digest: Digest,
    pub(super) bindings: Bindings,
    pub(super) waited_for: bool,
    /// The number of other waiting requests of the same command.
    pub(super) more: usize,
    /// The number of different approvers it needs.
    pub(super) approvals: u8,
    /// The approvers who have made a valid signature.
    pub(super) signed: Vec<String>,
    /// Whether another account made the request.
    pub(super) is_others: bool,
}

impl ShownRequest {
    pub fn id(&self) -> &str {
        &self.whole.pending.id
    }

    /// Returns the higher of the filed tier and the current one.
    pub fn tier(&self) -> Tier {
        self.whole.pending.tier.max(self.judgment.risk.tier)
    }

    /// Reports whether the requesting process offers a grant with the answer.
    fn may_grant(&self) -> bool {
        self.whole.pending.offers_grant(self.waited_for)
    }

    /// Checks that an approval may have this scope.
    ///
    /// # Errors
    /// It may not. Holds the reason.
    pub fn offers(&self, scope: AnswerScope) -> Result<(), NotOffered> {
        let may_grant = self.prompt().may_grant && self.judgment.may_grant;
        scope.check(may_grant, &self.whole.pending.session, Timestamp::now().as_second())
    }

    /// Reports whether one question may cover it together with others.
    pub fn may_be_in_a_batch(&self) -> bool {
        let refused = self.whole.pending.review.as_ref().is_some_and(|opinion| opinion.says == OpinionVerdict::Deny);
        !refused && self.tier() <= Tier::Medium && self.approvals == 1 && !self.whole.pending.decision
    }

    /// Returns the prompt of the card.
    fn prompt(&self) -> Prompt {
        let timeouts = self.engine.policy().timeouts;
        let tier = self.tier();
        let left = self.whole.pending.expires.duration_since(Timestamp::now()).as_secs();
        let left = if self.waited_for { u32::try_from(left).unwrap_or(0).max(1) } else { u32::MAX };
        let decision = self.whole.pending.decision || self.judgment.risk.is_decision();
        let seconds = if tier == Tier::Critical { timeouts.critical } else { 300 };
        Prompt {
            tier,
            seconds: seconds.min(left),
            finish_seconds: timeouts.critical_finish.min(left),
            word: tier == Tier::Critical,
            may_grant: self.may_grant() && tier < Tier::Critical && self.approvals == 1 && !decision,
            approvals: self.approvals,
            decision,
        }
    }

    /// Returns the card, with facts about the request itself.
    pub fn card(&self) -> (PromptCard, Prompt) {
        self.card_of(&[self.id()])
    }

    /// Returns the card for these requests of one session, which are all of this command.
    fn card_of(&self, ids: &[&str]) -> (PromptCard, Prompt) {
        let prompt = self.prompt();
        let mut card = ask::card(&self.engine, &self.whole.invocation, &self.judgment, &prompt);
        let Pending { session, .. } = &self.whole.pending;
        let digest = self.whole.pending.short_digest();
        let of_all = match ids {
            [id] if self.waited_for => {
                format!("Request {id} of session {session}, digest {digest}; the requester is waiting.")
            }
            [id] => format!(
                "Request {id} of session {session}, digest {digest}; the requester no longer waits. If approved, the \
                 same command can run once within an hour."
            ),
            ids => format!(
                "Requests {} of session {session}, digest {digest}; one approval answers all of them.",
                ids.join(", ")
            ),
        };
        card.view.queued = true;
        let evidence = &mut card.view.evidence;
        if let Some(so_far) = approvals(self.approvals, &self.signed).filter(|_| !self.signed.is_empty()) {
            // It replaces the line about the number of approvers, because it contains that number.
            evidence.remove(0);
            evidence.insert(0, format!("{so_far}."));
        }
        let (more, s) = (self.more.saturating_sub(ids.len() - 1), if self.more == ids.len() { "" } else { "s" });
        if more > 0 && ids.len() == 1 {
            evidence.insert(0, format!("{more} more request{s} for the same command; this answers one."));
        }
        if self.is_others {
            let Pending { user, tier, why, .. } = &self.whole.pending;
            let tier = tier.number();
            evidence.insert(0, format!("Requested by {user}, whose guard judged it tier {tier} ({why})."));
        }
        if let Some(said) = &self.whole.pending.said {
            evidence.insert(0, format!("Reason given by the requester: {said}"));
        }
        evidence.insert(0, of_all);
        if let Some(opinion) = &self.whole.pending.review {
            card.view.opinion =
                Some(OpinionLine { denies: opinion.says == OpinionVerdict::Deny, ..OpinionLine::of(opinion) });
        }
        card.explained.card = card.view.clone();
        (card, prompt)
    }
}

/// Returns the lines that show all commands of a batch in full, and what they touch together.
pub fn in_full(batch: &[impl std::borrow::Borrow<ShownRequest>], columns: usize, look: &Look) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut touched = BTreeSet::new();
    let all: Vec<&ShownRequest> = batch.iter().map(std::borrow::Borrow::borrow).collect();
    let is_twin = |one: &ShownRequest, other: &ShownRequest| {
        let (one, other) = (&one.whole.pending, &other.whole.pending);
        one.is_same(other) && one.root == other.root
    };
    for (at, one) in all.iter().enumerate() {
        // Show the same command of the same session once.
        if all.iter().take(at).any(|before| is_twin(before, one)) {
            continue;
        }
        let ids: Vec<&str> = all.iter().filter(|other| is_twin(one, other)).map(|other| other.id()).collect();
        let (PromptCard { view, .. }, _) = one.card_of(&ids);
        lines.extend(card::plain(&view, false, columns, look));
        lines.push(Line::new());
        touched.extend(one.judgment.risk.findings.iter().flat_map(|finding| finding.touches.iter().cloned()));
    }
    if !touched.is_empty() {
        let all = touched.into_iter().collect::<Vec<_>>().join(", ");
        let all = Line::of(Style::Strong, "Together they affect: ").with(Style::Plain, all);
        lines.extend(wrap::styled(&all, columns.saturating_sub(1).max(20)));
    }
    lines
}

/// Returns the question about a batch.
pub fn question(batch: &[impl std::borrow::Borrow<ShownRequest>]) -> String {
    match batch.len() {
        1 => "Approve 1 command?".to_owned(),
        count => format!("Approve all {count} commands?"),
    }
}
