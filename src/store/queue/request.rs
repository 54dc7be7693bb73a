//! A request as a value: what is filed, what is shown of it, what is answered, and what becomes of either.
//!
//! Out of scope: the file it is kept in.

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

/// Where a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestState {
    /// It waits for an answer.
    Waiting,
    /// Nobody answered in time, or the caller went away. It may be approved late, but for tier 4.
    Late,
    /// A person said yes, and nobody has used it yet.
    Approved,
    /// A person said no.
    Denied,
    /// It was allowed, and whoever asked has taken the yes.
    Used,
    /// What was asked is not what would run any more.
    Void,
    /// Too old to be answered or used.
    Lapsed,
}

impl RequestState {
    pub(super) const ALL: [Self; 7] =
        [Self::Waiting, Self::Late, Self::Approved, Self::Denied, Self::Used, Self::Void, Self::Lapsed];

    /// The word in the file.
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

    /// Whether an answer may still be given.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Late)
    }
}

/// A request as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    pub id: String,
    pub state: RequestState,
    pub filed: Timestamp,
    /// Until when it is waited for.
    pub expires: Timestamp,
    /// The guard that waits, by a name that no other process has.
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
    /// Redacted.
    pub command: String,
    /// The tool that is called, where it is no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Something in the command was hidden.
    pub redacted: bool,
    pub cwd: String,
    /// The worst finding: rule and reason.
    pub why: String,
    /// A person decides it every time: it is told everywhere, and stands before others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decision: bool,
    /// Whoever asked says that somebody is in a crisis.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub crisis: bool,
    /// Why, as whoever asked says. Redacted; nothing rests on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// How many different approvers it wants; 1: any person who may answer.
    pub approvals: u8,
    /// The approvers who have said yes so far, where it wants several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<String>,
    /// What a reviewer thinks of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Opinion>,
    /// Its card offers a grant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_grant: bool,
    /// How many codes may still be tried where a passkey's yes must carry the one that the waiting guard shows; 0: none is
    /// wanted.
    #[serde(default, skip_serializing_if = "is_none_left")]
    pub codes_left: u8,
    /// Why it is asked about, as its card shows it.
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
    /// The rows of the record with the yeses so far, where it wants several.
    #[serde(skip)]
    pub(super) given: Vec<i64>,
}

/// Whether nothing is said of codes.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_none_left(codes: &u8) -> bool {
    *codes == 0
}

impl Pending {
    /// Whether two are the same command in the same directory under the same environment.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest
    }

    /// The first eight letters of its digest under the local key: the same wherever this asking is shown.
    #[must_use]
    pub fn short_digest(&self) -> String {
        self.digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Whether nothing is approved once nobody waits for it any more.
    #[must_use]
    pub fn is_never_late(&self) -> bool {
        self.tier == Tier::Critical || self.approvals > 1
    }

    /// Whether a yes to it may be a grant as well. `waited_for` says whether the guard that asked is there.
    #[must_use]
    pub fn offers_grant(&self, waited_for: bool) -> bool {
        let refused = self.review.as_ref().is_some_and(|opinion| opinion.says == OpinionVerdict::Deny);
        let waits = self.state == RequestState::Waiting && waited_for;
        self.may_grant && waits && !self.is_never_late() && !self.decision && !refused
    }

    /// What comes first in every list: a decision for somebody in a crisis, then other decisions, then all else.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match (self.decision, self.crisis) {
            (true, true) => 0,
            (true, false) => 1,
            (false, _) => 2,
        }
    }
}

/// A request as it is sent to another process of guard's: with the fields that no list shows.
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

/// A command that is to wait.
#[derive(Clone, Debug)]
pub struct NewRequest<'a> {
    pub invocation: &'a Invocation,
    pub digest: &'a Digest,
    pub risk: &'a Risk,
    pub bindings: &'a Bindings,
    /// What tells this asking from others.
    pub fresh: ApprovalNonce,
    /// The guard that waits; `None` when nobody does.
    pub waiter: Option<&'a str>,
    /// The processes between that guard and the root of its session.
    pub above: Vec<String>,
    pub expires: Timestamp,
    /// How many of the session may wait at once.
    pub most: u32,
    /// How many different approvers it wants.
    pub approvals: u8,
    /// A person decides it every time.
    pub decision: bool,
    /// Why it is requested.
    pub justification: &'a Justification,
    /// What a reviewer thinks of it.
    pub opinion: Option<&'a Opinion>,
    /// Its card offers a grant.
    pub may_grant: bool,
    /// How many codes may be tried, where a passkey's yes must carry one; 0: none is wanted.
    pub codes_left: u8,
    /// What is known of what it would touch, a sentence each, for whoever answers elsewhere.
    pub evidence: &'a [String],
}

/// Why a command is requested, in the requester's words. It may bring a request forward, and lowers no risk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Justification {
    /// Somebody is in a crisis.
    pub crisis: bool,
    /// Why it is asked for.
    pub said: Option<String>,
}

/// The result of filing a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilingResult {
    /// It waits, under this name. `twins`: others of the same session wait for the same.
    Waits { id: String, twins: bool },
    /// It was answered before, and the answer may be used now.
    Answered { id: String },
    /// So many of the session wait already.
    Crowded { waiting: u32 },
}

/// What the one who waits finds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitState {
    /// Nothing yet.
    Waiting,
    /// A yes, which is now used up.
    Yes(RecordedAnswer),
    /// A no, with words.
    No { by: String, words: Option<String> },
    /// It holds no more, and why.
    Void { what: String },
    /// Nobody answered in time.
    Late,
}

/// A person's answer.
#[derive(Clone, Debug)]
pub struct Answer<'a> {
    /// What the yes is bound to; `None`: no.
    pub yes: Option<(&'a Digest, &'a Bindings)>,
    pub by: &'a str,
    pub words: Option<&'a str>,
    /// Of approvers, over the request.
    pub signatures: &'a [Signed],
    /// The guard that asked is there and waits.
    pub waited_for: bool,
    /// How many different approvers are wanted, as the one who answers finds it.
    pub approvals: u8,
    /// All names under which the one who signed could have signed.
    pub signer: &'a [String],
    /// How far a yes reaches.
    pub scope: AnswerScope,
}

/// What an answer led to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerOutcome {
    /// It counts; it is `late` when nobody waits for it any more.
    Done { late: bool },
    /// It counts, and more approvers are wanted beside these.
    Partly { by: Vec<String> },
    /// This approver has said yes already, and counts once.
    SignedAlready { by: String },
    /// Several approvers are wanted, and this yes is none's.
    Unsigned,
    /// The passkey of this approver has counted further than this signature says: somebody may have copied it.
    Copied { by: String },
    /// A reviewer refused it, and a yes against that says why.
    Wordless,
    /// A yes may not reach so far, and why: nothing was approved.
    NotOffered { why: String },
    /// Somebody was first, or it is over.
    Settled(Box<Pending>),
    /// It is of tier 4 or wants several approvers, and nobody waits for it any more.
    TooLate,
    /// It was asked anew since it was shown.
    AskedAnew,
    /// There is no such request.
    Unknown,
}

/// A request with the exact command that it would run.
#[derive(Clone, Debug)]
pub struct FullRequest {
    pub pending: Pending,
    pub invocation: Invocation,
    /// Of the invocation, as whoever asked worked it out.
    pub digest: Digest,
    pub bindings: Bindings,
    /// What tells this asking from others, as whoever asked made it.
    pub fresh: ApprovalNonce,
    /// The processes between the guard that waits and the root of its session.
    pub above: Vec<String>,
}

impl FullRequest {
    /// A request and the bytes of [`pack`]; `None` when they are none.
    #[must_use]
    pub fn unpack(pending: Pending, bytes: &[u8]) -> Option<Self> {
        let exact = postcard::from_bytes::<Exact>(bytes).ok()?;
        let (digest, fresh) = (Digest(exact.digest), exact.fresh);
        let (invocation, bindings, above) = exact.into_parts();
        Some(Self { pending, invocation, digest, bindings, fresh, above })
    }

    /// What an approver signs for a yes to it that reaches so far, where this is what it would do now and this is what
    /// they were shown.
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

/// What [`FullRequest::unpack`] is given where there is no request yet.
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

/// A command as it waits, in bytes.
#[must_use]
pub fn pack(
    invocation: &Invocation,
    digest: &Digest,
    bindings: &Bindings,
    fresh: ApprovalNonce,
    above: &[String],
) -> Vec<u8> {
    let exact = Exact::of(invocation, *digest, bindings.clone(), fresh, above.to_vec());
    // A vector grows without an error; this cannot fail, and an empty one could not be approved.
    postcard::to_allocvec(&exact).unwrap_or_default()
}
