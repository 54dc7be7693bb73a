//! Tier, weight, score and reversibility, and how they join. Only upward: adding a finding or a
//! context never lowers a risk.

use serde::{Deserialize, Serialize};

use super::syntax::tree::Span;
pub use super::tier::{Reversibility, Tier, Weight};

/// One rule matched against one act.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub rule: String,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    pub reason: String,
    pub instead: Option<String>,
    /// In the command as given.
    pub span: Span,
    /// What it falls on: the operands that made it match, as text.
    pub touches: Vec<String>,
    pub deny: bool,
    pub yolo: bool,
    pub notes: Vec<super::rules::model::Note>,
    /// Why it counts for less than the rule says, when a lowering fact of RISK.md holds.
    pub lowered: Option<String>,
    /// The act, as an index into the facts.
    pub act: Option<usize>,
}

/// A circumstance that changes the score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstance {
    pub fact: CircumstanceFact,
    pub weight: Weight,
    /// What it was recognised by.
    pub detail: Option<String>,
}

/// The circumstances of RISK.md: context, and behaviour in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CircumstanceFact {
    Production,
    Root,
    Ssh,
    OutsideProject,
    ProtectedBranch,
    Disguise,
    TrustedFolder,
    SecretsRead,
    EgressAfterSecrets,
    OtherAgent,
    OwnInstructions,
    OtherPeople,
    AskedAgain,
}

/// The join of everything found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Risk {
    pub tier: Tier,
    pub score: Weight,
    pub reversibility: Reversibility,
    pub findings: Vec<Finding>,
    pub context: Vec<Circumstance>,
}
