//! Entries for tools of agents that are not commands: the calls that they match, and the parts of a call's input.

use serde::{Deserialize, Serialize};

use super::{Language, SessionNote};
use crate::judge::effect::Effect;
use crate::judge::tier::{Reversibility, Tier, Weight};

/// An entry of the tool registry: the calls that it matches, their tier, and the text that explains a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `family.name`, unique among the rules and tools of all layers.
    pub id: String,
    /// Globs for the normalised name of the tool (`delete_event`).
    pub names: Vec<String>,
    /// Globs for the name of its server, in lower case; empty: any server, or none. [`NO_SERVER`] matches the agent's
    /// own tools.
    pub servers: Vec<String>,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    pub effects: Vec<ToolEffect>,
    /// The reason why the call is dangerous, as one sentence for the user.
    pub reason: String,
    /// The suggested alternative.
    pub instead: Option<String>,
    /// guard refuses the call; nobody can approve it.
    pub deny: bool,
    /// A reviewer may decide up to tier 3.
    pub yolo: bool,
    /// The effect of the input can be undone, whatever programs it contains.
    pub reversible: bool,
    /// The number of approvers who must sign an approval; 1: the number in the policy.
    pub approvals: u8,
    /// Tests of the input, all of which must succeed.
    pub when: Vec<ValueTest>,
    /// Parts of the input with a known meaning, which guard judges by their content.
    pub holds: Vec<InputPart>,
    /// Parts of the input that the card shows first.
    pub show: Vec<String>,
    /// Parts of the input that the record does not contain.
    pub redact: Vec<String>,
}

/// The entry in [`Tool::servers`] that matches a tool of the agent itself.
pub const NO_SERVER: &str = "-";

/// A test of a part of the input. Every condition that is given must be met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueTest {
    /// A JSON pointer; `*` matches every element of an array and every member of an object.
    pub at: String,
    /// At least one value is one of these: a string, or a number or boolean in JSON syntax.
    pub equals: Vec<String>,
    /// At least one string matches one of these globs, without regard to case.
    pub glob: Vec<String>,
    /// At least one string matches none of these globs.
    pub not_glob: Vec<String>,
    /// At least one number is greater.
    pub above: Option<f64>,
    /// At least one number is less.
    pub below: Option<f64>,
    /// There must be a value (`true`), or none (`false`).
    pub present: Option<bool>,
}

/// A part of the input, and its meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputPart {
    /// A JSON pointer, with `*` as in [`ValueTest::at`].
    pub at: String,
    pub what: InputKind,
    /// A pointer to the name of its language. If that language is known, it takes precedence over `kind`.
    pub language: Option<String>,
}

/// The meaning of a part of the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InputKind {
    /// A command string, or a list of a program and its arguments.
    Command,
    /// Code in a language that guard parses.
    Code(Language),
    /// A path or a URL to which this effect applies.
    Effect(Effect),
    /// A path. The verb in the name of the tool gives the effect.
    Path,
}

impl InputKind {
    /// An effect on a path or a host.
    const EFFECTS: [(&str, Effect); 12] = [
        ("load", Effect::Load),
        ("show", Effect::Show),
        ("write", Effect::Write),
        ("edit", Effect::Edit),
        ("append", Effect::Append),
        ("delete", Effect::Delete),
        ("move", Effect::Move),
        ("permit", Effect::Permit),
        ("link", Effect::Link),
        ("send", Effect::Send),
        ("fetch", Effect::Fetch),
        ("execute", Effect::Execute),
    ];

    /// Parses the word in a pattern file: `command`, `path`, an effect or a language.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "command" => Some(Self::Command),
            "path" => Some(Self::Path),
            _ => match Language::of(word) {
                Some(language) => Some(Self::Code(language)),
                None => Self::EFFECTS.iter().find(|(name, _)| *name == word).map(|(_, effect)| Self::Effect(*effect)),
            },
        }
    }

    /// Returns all of these words.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ["command", "path"].into_iter().chain(Self::EFFECTS.map(|(name, _)| name)).chain(Language::names())
    }
}

/// The effect of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolEffect {
    Read,
    Write,
    Delete,
    Send,
    Fetch,
    Execute,
    Deploy,
    Permit,
    Pay,
    Message,
    Secret,
    Browse,
    Decide,
}

impl ToolEffect {
    /// Returns the fact that a call records about the session.
    #[must_use]
    pub const fn note(self) -> Option<SessionNote> {
        match self {
            Self::Send => Some(SessionNote::Egress),
            Self::Pay => Some(SessionNote::Money),
            Self::Message => Some(SessionNote::People),
            Self::Secret => Some(SessionNote::SecretRead),
            Self::Decide => Some(SessionNote::Decision),
            Self::Read
            | Self::Write
            | Self::Delete
            | Self::Fetch
            | Self::Execute
            | Self::Deploy
            | Self::Permit
            | Self::Browse => None,
        }
    }
}
