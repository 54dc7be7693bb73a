//! The types of requests: what is filed, shown and answered, and the results of these.
//!
//! Out of scope: the file of the queue.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::exact::Exact;
use super::reasons::Reasons;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approver::{Approval, ApprovalNonce, Signed};
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Invocation};
use crate::judge::review::{Opinion, OpinionVerdict};
use crate::judge::risk::{Risk, Tier, Weight};
use crate::store::RecordedAnswer;

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestState {
    /// It waits for an answer.
    Waiting,
    /// Nobody answered in time, or the caller ended. It may still be approved, except for tier 4.
    Late,
    /// A person approved it, and the approval is unused.
    Approved,
    /// A person denied it.
    Denied,
    /// It was approved, and the requester used the approval.
    Used,
    /// The command that would run is no longer the one that was requested.
    Void,
    /// It is too old to be answered or used.
    Lapsed,
}

impl RequestState {
    pub(super) const ALL: [Self; 7] =
        [Self::Waiting, Self::Late, Self::Approved, Self::Denied, Self::Used, Self::Void, Self::Lapsed];

    /// Returns the name in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Late => "late",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Void => "void",
            Self::Lapsed => "lapsed",
        }
    }

    /// Reports whether the request can still be answered.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Late)
    }
}

/// A request as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub id: String,
    pub state: RequestState,
    pub filed: Timestamp,
    /// The time until which the requester waits.
    pub expires: Timestamp,
    /// The guard that waits, under a unique name.
    #[serde(skip)]
    pub waiter: Option<String>,
    pub user: String,
    pub session: String,
    #[serde(skip)]
    pub root: String,
    pub origin: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    pub tier: Tier,
    pub score: Weight,
    /// The command, redacted.
    pub command: String,
    /// The tool that is called, if it is not a shell command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether something in the command was redacted.
    pub redacted: bool,
    pub cwd: String,
    /// The most severe finding: its rule and reason.
    pub why: String,
    /// Whether a person has to decide it every time. Such a request is announced on every channel and listed first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decision: bool,
    /// Whether the requester says that somebody is in a crisis.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crisis: bool,
    /// The requester's justification, redacted. No decision depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The number of different approvers that it needs; 1 for any person who may answer.
    pub approvals: u8,
    /// The approvers who have approved it so far, if it needs several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<String>,
    /// The opinion of a reviewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Opinion>,
    /// Whether its card offers a grant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_grant: bool,
    /// The number of codes that may still be tried if an approval with a passkey has to contain the code that the
    /// waiting guard shows; 0 if no code is needed.
    #[serde(default, skip_serializing_if = "is_none_left")]
    pub codes_left: u8,
    /// The reasons that its card shows.
    #[serde(default, rename = "grounds", skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Reasons>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(skip)]
    pub(super) digest: Vec<u8>,
    #[serde(skip)]
    pub(super) answer: Option<i64>,
    /// The rows of the record with the approvals so far, if it needs several.
    #[serde(skip)]
    pub(super) given: Vec<i64>,
}

/// Reports whether no code is needed.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none_left(codes: &u8) -> bool {
    *codes == 0
}

impl Pending {
    /// Reports whether two requests are for the same command in the same directory and environment.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// Returns the first eight hexadecimal digits of its digest with the local key, which are the same wherever it is
    /// shown.
    #[must_use]
    pub fn short_digest(&self) -> String {
        self.digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reports whether it cannot be approved after the requester stopped waiting.
    #[must_use]
    pub fn is_never_late(&self) -> bool {
        self.tier == Tier::Critical || self.approvals > 1
    }

    /// Reports whether its approval may also be a grant. `waited_for`: the guard that requested it is alive.
    #[must_use]
    pub fn offers_grant(&self, waited_for: bool) -> bool {
        let refused = self.review.as_ref().is_some_and(|opinion| opinion.says == OpinionVerdict::Deny);
        let waits = self.state == RequestState::Waiting && waited_for;
        self.may_grant && waits && !self.is_never_late() && !self.decision && !refused
    }

    /// Returns its position in lists: decisions for somebody in a crisis are first, then other decisions, then all
    /// others.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match (self.decision, self.crisis) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        }
    }
}

/// A request in a message to another process of guard, including the fields that are not listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingMessage {
    pending: Pending,
    waiter: Option<String>,
    root: String,
    digest: Vec<u8>,
}

impl From<Pending> for PendingMessage {
    fn from(pending: Pending) -> Self {
        let (waiter, root, digest) = (pending.waiter.clone(), pending.root.clone(), pending.digest.clone());
        Self { pending, waiter, root, digest }
    }
}

impl From<PendingMessage> for Pending {
    fn from(told: PendingMessage) -> Self {
        let PendingMessage { pending, waiter, root, digest } = told;
        Self { waiter, root, digest, ..pending }
    }
}

/// A command that is to wait for an answer.
#[derive(Clone, Debug)]
pub struct NewRequest<'a> {
    pub invocation: &'a Invocation,
    pub digest: &'a Digest,
    pub risk: &'a Risk,
    pub bindings: &'a Bindings,
    /// The nonce that distinguishes this request from others.
    pub fresh: ApprovalNonce,
    /// The guard that waits; `None` if nobody waits.
    pub waiter: Option<&'a str>,
    /// The processes between that guard and the root of its session.
    pub above: Vec<String>,
    pub expires: Timestamp,
    /// The maximum number of requests of the session that may wait at the same time.
    pub most: u32,
    /// The number of different approvers that it needs.
    pub approvals: u8,
    /// Whether a person has to decide it every time.
    pub decision: bool,
    /// The requester's justification.
    pub justification: &'a Justification,
    /// The opinion of a reviewer.
    pub opinion: Option<&'a Opinion>,
    /// Whether its card offers a grant.
    pub may_grant: bool,
    /// The number of codes that may be tried if an approval with a passkey has to contain one; 0 if no code is needed.
    pub codes_left: u8,
    /// The evidence about the operands, one sentence each, for approvers in other processes.
    pub evidence: &'a [String],
}

/// The justification of a command in the requester's words. It may give a request priority, but does not lower the
/// risk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Justification {
    /// Whether somebody is in a crisis.
    pub crisis: bool,
    /// The reason for the request.
    pub said: Option<String>,
}

/// The result of filing a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilingResult {
    /// The request waits under this name. `twins`: other processes of the same session wait for the same command.
    Waits { id: String, twins: bool },
    /// It was answered before, and the answer can be used now.
    Answered { id: String },
    /// The session already has this number of waiting requests, which is the maximum.
    Crowded { waiting: u32 },
}

/// The state of a request for the process that waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitState {
    /// There is no answer yet.
    Waiting,
    /// It was approved, and the approval is now used.
    Yes(RecordedAnswer),
    /// It was denied, with a message.
    No { by: String, words: Option<String> },
    /// It is no longer valid, for this reason.
    Void { what: String },
    /// Nobody answered in time.
    Late,
}

/// A person's answer.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// The data to which an approval is bound; `None` for a denial.
    pub yes: Option<(&'a Digest, &'a Bindings)>,
    pub by: &'a str,
    pub words: Option<&'a str>,
    /// The approvers' signatures of the request.
    pub signatures: &'a [Signed],
    /// Whether the guard that requested it is alive and waits.
    pub waited_for: bool,
    /// The number of different approvers that it needs according to the process that answers.
    pub approvals: u8,
    /// All names under which the signer could have signed.
    pub signer: &'a [String],
    /// The scope of an approval.
    pub scope: AnswerScope,
}

/// The result of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerOutcome {
    /// It is valid. `late`: nobody waits for it any more.
    Done { late: bool },
    /// It is valid, and further approvers are needed in addition to these.
    Partly { by: Vec<String> },
    /// This approver has already approved it and counts only once.
    SignedAlready { by: String },
    /// Several approvers are needed, and this approval is not signed.
    Unsigned,
    /// The counter of this approver's passkey is already higher than that of the signature: the passkey may have been
    /// copied.
    Copied { by: String },
    /// A reviewer denied it, and an approval needs a reason.
    Wordless,
    /// The approval may not have this scope, for this reason; nothing was approved.
    NotOffered { why: String },
    /// It was already answered, or it ended.
    Settled(Box<Pending>),
    /// It is of tier 4 or needs several approvers, and nobody waits for it any more.
    TooLate,
    /// It was requested again after it was shown.
    AskedAnew,
    /// There is no such request.
    Unknown,
}

/// A request with its exact command.
#[derive(Clone, Debug)]
pub struct FullRequest {
    pub pending: Pending,
    pub invocation: Invocation,
    /// The digest of the invocation, computed by the requester.
    pub digest: Digest,
    pub bindings: Bindings,
    /// The nonce of the request, created by the requester.
    pub fresh: ApprovalNonce,
    /// The processes between the guard that waits and the root of its session.
    pub above: Vec<String>,
}

impl FullRequest {
    /// Parses the bytes of [`pack`] for a request; `None` if they are invalid.
    #[must_use]
    pub fn unpack(pending: Pending, bytes: &[u8]) -> Option<Self> {
        let exact = postcard::from_bytes::<Exact>(bytes).ok()?;
        let (digest, fresh) = (Digest(exact.digest), exact.fresh);
        let (invocation, bindings, above) = exact.into_parts();
        Some(Self { pending, invocation, digest, bindings, fresh, above })
    }

    /// Returns what an approver signs to approve the request with this scope. `digest` and `bindings` are those of the
    /// command as it would run now, and `fresh` is the nonce that was shown.
    #[must_use]
    pub fn approval<'a>(
        &'a self,
        fresh: &'a ApprovalNonce,
        digest: &'a Digest,
        bindings: &'a Bindings,
        scope: AnswerScope,
    ) -> Approval<'a> {
        let Pending { id, filed, approvals, .. } = &self.pending;
        Approval { request: id, filed: filed.as_millisecond(), fresh, digest, bindings, approvals: *approvals, scope }
    }
}

/// Returns the request that [`FullRequest::unpack`] needs if there is none yet.
#[must_use]
pub fn blank() -> Pending {
    Pending {
        id: String::new(),
        state: RequestState::Waiting,
        filed: Timestamp::UNIX_EPOCH,
        expires: Timestamp::UNIX_EPOCH,
        waiter: None,
        user: String::new(),
        session: String::new(),
        root: String::new(),
        origin: String::new(),
        agent: None,
        tier: Tier::Critical,
        score: Weight(0),
        command: String::new(),
        tool: None,
        redacted: false,
        cwd: String::new(),
        why: String::new(),
        decision: false,
        crisis: false,
        said: None,
        approvals: 1,
        approved_by: Vec::new(),
        review: None,
        may_grant: false,
        codes_left: 0,
        reasons: None,
        decided: None,
        decided_by: None,
        words: None,
        digest: Vec::new(),
        answer: None,
        given: Vec::new(),
    }
}

/// Serialises the exact command of a request.
#[must_use]
pub fn pack(
    invocation: &Invocation,
    digest: &Digest,
    bindings: &Bindings,
    fresh: ApprovalNonce,
    above: &[String],
) -> Vec<u8> {
    let exact = Exact::of(invocation, *digest, bindings.clone(), fresh, above.to_vec());
    // Serialisation to a vector cannot fail; an empty one could not be approved.
    postcard::to_allocvec(&exact).unwrap_or_default()
}
