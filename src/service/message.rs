//! What guard and its service say to each other: one JSON object a line, `{"v":1,"ask":…}` and `{"ok":…}` or
//! `{"error":"…"}`.
//!
//! Out of scope: an account or a process. The service knows from the kernel who speaks; where a session is named,
//! it is one of the speaker's own or counts for nothing.

use base64ct::{Base64, Encoding as _};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::gateway::GatewayRequest;
use crate::judge::answer_scope::AnswerScope;
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::approver::Signed;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{Digest, Origin};
use crate::judge::ledger::CommandChanges;
use crate::judge::policy::{ApprovalReason, Refusal, SessionState};
use crate::judge::review::Opinion;
use crate::judge::risk::{Reversibility, Risk, Tier, Weight};
use crate::store::queue::{Justification, PendingMessage};
use crate::store::{ContextEntry, FindingEntry, context, findings};

/// Of what both sides must speak alike.
pub const VERSION: u32 = 1;

/// A request with the version of the protocol.
#[derive(Debug, Serialize, Deserialize)]
pub struct VersionedRequest {
    pub v: u32,
    pub ask: ServiceRequest,
}

/// The version alone, of a line that may be of another.
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
    /// What a session did to files.
    Ledger {
        session: String,
    },
    /// How the session stands, and what a person let run above: [`SessionState`].
    SessionState {
        root: String,
        parent: Option<String>,
    },
    /// The grants in force for the account: a list.
    Grants {
        session: String,
        command: String,
    },
    /// Write a decision down: the row's number, or nothing where no hook had handed it over.
    Row(Box<DecisionMessage>),
    /// Whether a hook handed this over.
    IsHanded {
        handed: Base64Bytes,
        cwd: Base64Bytes,
        root: String,
        tier: Tier,
    },
    /// Write down what came of a command that the speaker waited for.
    Result {
        row: i64,
        exit: Option<i32>,
        signal: Option<i32>,
        duration_ms: u64,
    },
    /// File a command.
    File(Box<NewRequestMessage>),
    /// Look for the answer, and use a yes up.
    Take {
        id: String,
        digest: Digest,
        bindings: Bindings,
    },
    /// Whether a person has said yes to this command of the speaker's, and nobody has used that yet.
    IsAnswered {
        digest: Digest,
    },
    /// Nobody waits any more.
    GiveUp {
        id: String,
    },
    /// It holds no more.
    Void {
        id: String,
        what: String,
    },
    /// The requests: the speaker's own, or all for those who may answer.
    List,
    Find {
        id: String,
    },
    Whole {
        id: String,
    },
    /// Send a byte whenever something happens to a request. The last thing that is said on a connection.
    Listen {
        id: String,
    },
    /// The signatures under the yeses so far.
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
    /// The sessions in which anything was asked or denied, with how each stands.
    Sessions,
    /// Let a session be asked about again.
    Resume {
        root: String,
        session: String,
        why: String,
    },
    /// Show of the record what a verb shows. The files to print to are handed over next.
    Show {
        words: Vec<String>,
        environment: Vec<(String, String)>,
    },
    /// What the gateway's account asks, and no other.
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

    /// The bytes; `None` when they were not written by [`Self::of`].
    pub fn bytes(&self) -> Option<Vec<u8>> {
        Base64::decode_vec(&self.0).ok()
    }
}

/// A risk, without what only the judge needs.
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

/// How a command was settled.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettledBy {
    Allowed(ApprovalReason),
    Refused(Refusal),
    Asked,
}

/// A decision that is to be written down.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionMessage {
    /// It is the answer to a host that runs the command itself.
    pub advised: bool,
    /// The command as both a hook and the shell see it, and the directory.
    pub handed: Option<(Base64Bytes, Base64Bytes)>,
    pub command: String,
    /// The tool that is called, where it is no command, and whether something of its input is hidden.
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
    /// The speaker will wait for the command.
    pub waits: bool,
    pub shape: Option<String>,
    /// What a reviewer thought of it.
    #[serde(default)]
    pub opinion: Option<Opinion>,
    /// What the command does to files.
    #[serde(default)]
    #[serde(rename = "deeds")]
    pub changes: CommandChanges,
}

/// A command that is to wait for a person.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRequestMessage {
    /// As [`crate::store::queue::pack`] writes it.
    pub exact: Base64Bytes,
    pub risk: RiskMessage,
    /// The speaker waits for the answer.
    pub waits: bool,
    pub expires: Timestamp,
    /// How many different approvers it wants, at least.
    pub approvals: u8,
    /// A person decides it every time.
    #[serde(default)]
    pub decision: bool,
    /// Why the command is requested, in the requester's words.
    #[serde(default, rename = "plea")]
    pub justification: Justification,
    /// What a reviewer thinks of it.
    #[serde(default)]
    pub opinion: Option<Opinion>,
    /// Its card offers a grant.
    #[serde(default)]
    pub may_grant: bool,
    /// How many codes may be tried, where a passkey's yes must carry one; 0: none is wanted.
    #[serde(default)]
    pub codes_left: u8,
    /// What is known of what it would touch.
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
    /// How many different approvers are wanted, as the one who answers finds it.
    pub approvals: u8,
    /// How far a yes reaches.
    #[serde(default)]
    pub scope: AnswerScope,
}

/// A session, for those who may let it go on.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionMessage {
    pub root: String,
    pub id: String,
    pub last: Timestamp,
    pub standing: SessionState,
    /// A row of the record that is not as it was written.
    pub edited: Option<i64>,
}
