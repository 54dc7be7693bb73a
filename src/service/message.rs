//! The protocol between guard and its service: one JSON object per line, `{"v":1,"ask":…}` for a request and
//! `{"ok":…}` or `{"error":"…"}` for an answer.
//!
//! Out of scope: the client's account and process, which the service gets from the kernel. A session that a message
//! names must be one of the client's own account.

use base64ct::{Base64, Encoding as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::gateway::GatewayRequest;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject, ShapeScope};
use crate::judge::approver::Signed;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Origin};
use crate::judge::ledger::CommandChanges;
use crate::judge::policy::{ApprovalReason, Refusal, SessionState};
use crate::judge::review::Opinion;
use crate::judge::risk::{Reversibility, Risk, Tier, Weight};
use crate::store::queue::{Justification, PendingMessage};
use crate::store::{ContextEntry, FindingEntry, context, findings};

/// The version of the protocol, which must be the same on both sides.
pub const VERSION: u32 = 1;

/// A request with the version of the protocol.
#[derive(Debug, Serialize, Deserialize)]
pub struct VersionedRequest {
    pub v: u32,
    pub ask: ServiceRequest,
}

/// The version alone, to read it from a message of any version.
#[derive(Debug, Deserialize)]
pub struct Version {
    pub v: u32,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply<T> {
    Ok(T),
    Error(String),
}

/// A request to the service.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ServiceRequest {
    /// Return a session's changes of files.
    Ledger {
        session: String,
    },
    /// Return the state of the session and the approved command that encloses this one: [`SessionState`].
    SessionState {
        root: String,
        parent: Option<String>,
    },
    /// List the grants that are valid for the account.
    Grants {
        session: String,
        command: String,
    },
    /// Record a decision. Returns the number of the row, or nothing if no hook had handed the command over.
    Row(Box<DecisionMessage>),
    /// Report whether a hook handed this command over.
    IsHanded {
        handed: Base64Bytes,
        cwd: Base64Bytes,
        root: String,
        tier: Tier,
    },
    /// Record the result of a command that the client waited for.
    Result {
        row: i64,
        exit: Option<i32>,
        signal: Option<i32>,
        duration_ms: u64,
    },
    /// File a request.
    File(Box<NewRequestMessage>),
    /// Look for the answer, and use an approval.
    Take {
        id: String,
        digest: Digest,
        bindings: Bindings,
    },
    /// Report whether a person has approved this command of the client's account and the approval is unused.
    IsAnswered {
        digest: Digest,
    },
    /// Withdraw a request: its process no longer waits.
    GiveUp {
        id: String,
    },
    /// Void a request or its answer, because the data on which its assessment depends has changed.
    Void {
        id: String,
        what: String,
    },
    /// List the requests: those of the client's account, or all for an approver.
    List,
    Find {
        id: String,
    },
    Whole {
        id: String,
    },
    /// Send a byte whenever something happens to a request. This must be the last request of a connection.
    Listen {
        id: String,
    },
    /// Return the signatures of the approvals so far.
    Signatures {
        id: String,
        digest: Digest,
        bindings: Bindings,
    },
    /// Answer a request.
    Answer(Box<AnswerMessage>),
    /// Give a grant to an account.
    Grant {
        what: GrantSubject,
        place: GrantPlace,
        until: GrantExpiry,
        words: String,
        user: String,
        session: String,
    },
    /// List the sessions in which anything was asked or denied, with the state of each.
    Sessions,
    /// Resume a paused session.
    Resume {
        root: String,
        session: String,
        why: String,
    },
    /// Run a verb that reads the record. The descriptors to write to are passed next.
    Show {
        words: Vec<String>,
        environment: Vec<(String, String)>,
    },
    /// A request that only the gateway's account may make.
    Gateway(GatewayRequest),
}

/// Bytes that may not be UTF-8, as Base64.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Base64Bytes(String);

impl Base64Bytes {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Base64::encode_string(bytes))
    }

    /// Decodes the bytes. Returns `None` if they are not valid Base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        Base64::decode_vec(&self.0).ok()
    }
}

/// A risk, without the parts that only the judge needs.
#[derive(Debug, Serialize, Deserialize)]
pub struct RiskMessage {
    tier: Tier,
    score: Weight,
    reversibility: Reversibility,
    findings: Vec<FindingEntry>,
    context: Vec<ContextEntry>,
}

impl From<&Risk> for RiskMessage {
    fn from(risk: &Risk) -> Self {
        let Risk { tier, score, reversibility, .. } = *risk;
        Self { tier, score, reversibility, findings: findings(risk), context: context(risk) }
    }
}

impl From<RiskMessage> for Risk {
    fn from(found: RiskMessage) -> Self {
        Self {
            tier: found.tier,
            score: found.score,
            reversibility: found.reversibility,
            findings: found.findings.into_iter().map(Into::into).collect(),
            context: found.context.into_iter().map(Into::into).collect(),
        }
    }
}

/// The decision on a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    Allowed(ApprovalReason),
    Refused(Refusal),
    Asked,
}

/// A decision to record.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionMessage {
    /// Whether the decision is an answer to a host that runs the command itself.
    pub advised: bool,
    /// The command in the form that both a hook and the shell see, and its directory.
    pub handed: Option<(Base64Bytes, Base64Bytes)>,
    pub command: String,
    /// For a tool call that is not a command: the tool, and whether part of its input is hidden.
    #[serde(default)]
    pub tool: Option<(String, bool)>,
    pub cwd: Base64Bytes,
    pub session: String,
    pub root: String,
    pub agent: Option<String>,
    pub origin: Origin,
    pub digest: Digest,
    pub risk: RiskMessage,
    pub settled: SettledBy,
    pub answer_ms: Option<u64>,
    pub words: Option<String>,
    pub parent: Option<String>,
    /// Whether the client will wait for the command.
    pub waits: bool,
    pub shape: Option<ShapeScope>,
    /// The reviewer's opinion.
    #[serde(default)]
    pub opinion: Option<Opinion>,
    /// The command's changes of files.
    #[serde(default)]
    #[serde(rename = "deeds")]
    pub changes: CommandChanges,
}

/// A command that waits for a person's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRequestMessage {
    /// The invocation and the data to which its approval is bound, in the format of [`crate::store::queue::pack`].
    pub exact: Base64Bytes,
    pub risk: RiskMessage,
    /// Whether the client waits for the answer.
    pub waits: bool,
    pub expires: Timestamp,
    /// The minimum number of different approvers.
    pub approvals: u8,
    /// Whether a person must decide it every time; no grant can cover it.
    #[serde(default)]
    pub decision: bool,
    /// The justification of the request, in the requester's words.
    #[serde(default, rename = "plea")]
    pub justification: Justification,
    /// The reviewer's opinion.
    #[serde(default)]
    pub opinion: Option<Opinion>,
    /// Whether its card offers a grant.
    #[serde(default)]
    pub may_grant: bool,
    /// The number of further codes that may be tried if an approval by passkey must contain a code; 0 if it need not.
    #[serde(default)]
    pub codes_left: u8,
    /// Facts about the operands of the command.
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// A person's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerMessage {
    /// The request as it was shown.
    pub shown: PendingMessage,
    pub yes: Option<(Digest, Bindings)>,
    pub words: Option<String>,
    pub signatures: Vec<Signed>,
    /// The number of different approvers that are needed, according to the person who answers.
    pub approvals: u8,
    /// The scope of an approval.
    #[serde(default)]
    pub scope: AnswerScope,
}

/// A session, for those who may resume it.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionMessage {
    pub root: String,
    pub id: String,
    pub last: Timestamp,
    pub standing: SessionState,
    /// The number of a row of the record that was changed after it was written.
    pub edited: Option<i64>,
}
