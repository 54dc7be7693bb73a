//! What a pattern file says of tools that are no commands: the calls that an entry speaks of, and what their input
//! holds.

use serde::{Deserialize, Serialize};

use super::{Language, SessionNote};
use crate::judge::effect::Effect;
use crate::judge::tier::{Reversibility, Tier, Weight};

/// An entry of the registry: which calls it speaks of, how bad they are, and what to say of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// `family.name`, unique among rules and tools over all layers.
    pub id: String,
    /// Globs over the tool's name, in plain spelling (`delete_event`).
    pub names: Vec<String>,
    /// Globs over the names of its server, in lower case; empty: any server or none. [`NO_SERVER`] stands for a tool of
    /// the agent's own.
    pub servers: Vec<String>,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    pub effects: Vec<ToolEffect>,
    /// Why it matters: one sentence for a person.
    pub reason: String,
    /// What to do instead.
    pub instead: Option<String>,
    /// Refuses outright, whoever would say yes.
    pub deny: bool,
    /// Lets a reviewer settle it, up to tier 3.
    pub yolo: bool,
    /// What its input holds can be undone, whatever is known of the programs in it.
    pub reversible: bool,
    /// How many different approvers sign a yes; 1: as the policy has it.
    pub approvals: u8,
    /// All of these must hold of the input.
    pub when: Vec<ValueTest>,
    /// What parts of the input are, so that they are judged by what they hold.
    pub holds: Vec<InputPart>,
    /// Parts of the input that a person is shown first.
    pub show: Vec<String>,
    /// Parts of the input that the record does not keep.
    pub redact: Vec<String>,
}

/// Stands among the servers of an entry for a tool that belongs to the agent itself.
pub const NO_SERVER: &str = "-";

/// A test of a part of the input. Every part that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueTest {
    /// A JSON pointer; `*` stands for every element of an array and every member of an object.
    pub at: String,
    /// Some value there is one of these: texts as they are, numbers and truth values as JSON writes them.
    pub equals: Vec<String>,
    /// Some text there matches one of these globs, whatever its case.
    pub glob: Vec<String>,
    /// Some text there matches none of these globs.
    pub not_glob: Vec<String>,
    /// Some number there is greater.
    pub above: Option<f64>,
    /// Some number there is less.
    pub below: Option<f64>,
    /// There is a value, or there is none.
    pub present: Option<bool>,
}

/// A part of the input and what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputPart {
    /// A JSON pointer, with `*` as in [`ValueTest::at`].
    pub at: String,
    pub what: InputKind,
    /// A pointer to the name of its language, which goes before that where one of that name is known.
    pub language: Option<String>,
}

/// What a part of the input is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum InputKind {
    /// A line for a shell, or a list of a program and its arguments.
    Command,
    /// Code in a language that is read.
    Code(Language),
    /// A path or a URL that this is done to.
    Effect(Effect),
    /// A path: what is done to it is said by the verb of the tool's name.
    Path,
}

impl InputKind {
    /// What is done to a path or a host.
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

    /// By the word that a pattern file writes: `command`, `path`, an effect or a language.
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

    /// All of those words.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ["command", "path"].into_iter().chain(Self::EFFECTS.map(|(name, _)| name)).chain(Language::names())
    }
}

/// What a tool does, in words.
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
    /// What it adds to what is known of the session.
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
