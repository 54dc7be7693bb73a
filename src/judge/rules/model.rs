//! What a pattern file says, checked and in the form that matching reads.
//!
//! What describes programs is in `program` and `sources`; here is the rest: rules, lists and examples. These are the values
//! that the build script stores for the built-in files and that user files are turned into at start; the TOML that people
//! write is the business of [`super::source`].

use serde::{Deserialize, Serialize};

mod inner;
mod language;
mod outcome;
mod program;
mod sources;
mod tool;

pub use self::inner::{Added, Inner, RemoteName, Runs, Wrap, WrapFrom};
pub use self::language::Language;
pub use self::outcome::{ArgumentPlace, EffectSpec, OutputTaint, Printed, Prints, Target, Tree, WorksIn};
pub use self::program::{Files, Follow, OperandList, OptionSpec, OptionStyle, Program, Sub, Terminal, ValueKind};
pub use self::sources::{Build, Console, Fetch, FetchInto, Load, Module, Packed, SettingLine, Tasks, Unpack};
pub use self::tool::{InputKind, InputPart, NO_SERVER, Tool, ToolEffect, ValueTest};
pub use super::subs::Subs;
use crate::judge::path_class::PathClass;
use crate::judge::tier::{Reversibility, Tier, Weight};

/// The most approvers that a rule or a tier may want.
pub const MAX_APPROVALS: u8 = 9;

/// A rule: which acts it matches, how bad they are, and what to say of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// `family.name`, unique over all layers.
    pub id: String,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    /// Why it matters: one sentence for a person.
    pub reason: String,
    /// What to do instead.
    pub instead: Option<String>,
    /// Refuses outright, whoever would say yes.
    pub deny: bool,
    /// Lets a reviewer or a threshold above 3.0 settle it up to tier 3 (docs/risk.md, provenance).
    pub yolo: bool,
    /// What it speaks of can be undone though nothing describes what it does: for a reviewer (docs/risk.md, provenance).
    pub reversible: bool,
    /// How many different approvers sign a yes; 1: as the policy has it.
    pub approvals: u8,
    /// What it contributes to the behaviour of a session.
    pub notes: Vec<SessionNote>,
    pub when: Match,
    /// Operands for which one of these facts holds do not count; if none are left, the finding is tier 1.
    pub lower: Vec<Lowering>,
    /// Programs with their subcommands (`docker run`): what one of them made earlier in the line, by the same name, does
    /// not count.
    pub made_by: Vec<Vec<String>>,
    /// Where in a repository the names lie that the rule is about (`refs/heads/`): those that are not there do not count.
    pub refs: Option<String>,
}

/// What an act must be for a rule to match. Every part that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Verb keys: program names, `language:callee`, `:effect`, or `*`. Any of them.
    pub verbs: Vec<String>,
    /// Subcommand paths; the act's path must begin with one of them.
    pub subs: Vec<Vec<String>>,
    /// All of these flags must be given.
    pub flags: Vec<FlagTest>,
    /// None of these.
    pub no_flags: Vec<FlagTest>,
    /// All of these tests must hold.
    pub operands: Vec<OperandTest>,
    /// How many operands there may be, both ends included.
    pub count: Option<(u32, u32)>,
    /// For each of these, some argument passes as it reaches the program.
    pub words: Vec<TextTest>,
    /// Any of these holds for some variable that is set for the command.
    pub env: Vec<EnvTest>,
    /// None of these holds of the variables that are set for the command.
    pub no_env: Vec<NoEnvTest>,
    /// Any of these properties of what is read from standard input.
    pub input: Vec<InputTest>,
    /// Any of these taints is in an argument.
    pub tainted: Vec<TaintName>,
    /// It feeds one of these verbs through a pipe.
    pub feeds: Vec<String>,
    /// It feeds none of these verbs.
    pub no_feeds: Vec<String>,
    /// Not where substitutions take all of its output and hand it to these programs alone.
    pub no_taken_by: Vec<String>,
    /// A person's work was moved into one of these directories, of the one in which the act runs.
    pub brought: Vec<String>,
    /// It stands in one of these wrappers.
    pub wrapped: Vec<String>,
    /// Wrappers that do not count for [`Match::wrapped`].
    pub no_wrapped: Vec<String>,
    /// It stands in none of these wrappers.
    pub outside: Vec<String>,
    /// Only as root, or only not as root.
    pub root: Option<bool>,
    pub recursive: Option<bool>,
    /// Only on another host or in a container, or only here.
    pub remote: Option<bool>,
    /// Dry runs are not matched unless this says so.
    pub dry_run: bool,
    /// Only where no person typed it at a terminal of their own.
    pub guarded: bool,
    /// The whole code that an interpreter is handed: language and a regular expression.
    pub code: Option<CodeTest>,
    /// The output reaches the caller.
    pub shown: Option<bool>,
    /// Last resort: a regular expression over the original text.
    pub text: Option<RawTest>,
}

/// Stands among the subcommands of a rule for a run without any.
pub const NO_SUB: &str = "-";

/// A flag, by any of its spellings, with a test of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlagTest {
    pub names: Vec<String>,
    pub value: Option<TextTest>,
}

/// A test of a text. Of the patterns (`exact`, `glob`, `regex`) that are given any must match, of the classes any must
/// hold, of the host classes any must hold, and none of the negative ones may. On an operand that is a path, patterns are
/// held against the text as written and against the absolute, lexically normal path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextTest {
    pub exact: Vec<String>,
    /// Shell globs over the whole text, `*` crossing slashes.
    pub glob: Vec<String>,
    /// An unanchored regular expression.
    pub regex: Option<String>,
    /// What of a text is looked for before the expression is tried, by [`super::expression::literals`].
    pub literals: Vec<String>,
    pub class: Vec<PathClass>,
    pub not_class: Vec<PathClass>,
    pub host: Vec<HostClass>,
    /// It is (or is not) unknown before the command runs.
    pub dynamic: Option<bool>,
    /// It holds what a command prints, or what is read, of which nothing is known.
    pub computed: bool,
    pub not_glob: Vec<String>,
    pub not_regex: Option<String>,
    /// A regular expression over what the file of that path says before the command runs. Holds of a file that cannot be
    /// looked at, and of none that is not there or whose path is not known.
    pub content: Option<String>,
    /// It is a file with something in it that nobody else keeps: git neither has it as it is nor ignores it in the project's
    /// repository, or it lies outside the project. Of a path that is not known in full it does not hold.
    pub only_copy: bool,
    /// It names a package that is well known in none of these indexes (`npm`), or whose name behind a prefix is not
    /// (`npm:create-`).
    pub package: Vec<String>,
}

/// Which operands a test speaks of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperandTest {
    pub which: OperandQuantifier,
    pub test: TextTest,
}

/// A quantifier or a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperandQuantifier {
    /// Some operand passes. With `lower`, the ones that pass and are not lowered count.
    #[default]
    Any,
    /// There is one, and all pass.
    All,
    /// No operand passes.
    No,
    /// The operand at this place, counted from 0.
    At(u32),
    Last,
}

/// A test of an environment variable that is set for the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvTest {
    /// A glob over the name.
    pub name: String,
    pub value: Option<TextTest>,
}

/// A variable that takes a command out of a rule, where nothing else decides what the variable decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoEnvTest {
    /// The name.
    pub name: String,
    /// Of the value that is in force.
    pub value: TextTest,
    /// Globs over the names of variables any of which, set in the line or outside of it, may decide instead.
    pub unless: Vec<String>,
}

/// A property of standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputTest {
    Pipe,
    Fetched,
    Decoded,
    Secret,
    /// A file that is a secret itself, not what a pipe passes on of it.
    SecretFile,
    /// The value of a variable that is named like a secret.
    Named,
    Text,
    File,
    /// What guard itself reads from: a terminal, or whatever the caller has there.
    Inherited,
}

/// The names of the taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaintName {
    Fetched,
    Decoded,
    Secret,
    Foreign,
    /// The value of a variable that is named like a secret.
    Named,
}

/// A test of code in another language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeTest {
    pub languages: Vec<String>,
    /// One of these texts stands in what the expression matches: looked for first. None: it is always tried.
    pub literals: Vec<String>,
    pub regex: String,
}

/// A raw match: the literal is looked for before the regular expression is compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawTest {
    pub literal: String,
    pub regex: Option<String>,
}

/// Kinds of host, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostClass {
    /// localhost and loopback addresses.
    Local,
    /// On the list of forges, registries, documentation.
    Known,
    /// Anything else that is named.
    Unknown,
    /// A cloud metadata service.
    Metadata,
    /// A place made to receive what is sent (paste sites, request catchers, tunnels).
    Drop,
    /// The text is no URL and names no host.
    None,
    /// A name or address of the network that this machine stands in (`db`, `192.168.1.5`). A rule that means known hosts
    /// means these too.
    Near,
}

impl HostClass {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Local, Self::Known, Self::Unknown, Self::Metadata, Self::Drop, Self::None, Self::Near];

    /// As pattern files write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Known => "known",
            Self::Unknown => "unknown",
            Self::Metadata => "metadata",
            Self::Drop => "drop",
            Self::None => "none",
            Self::Near => "near",
        }
    }
}

/// The facts of docs/risk.md that take an operand out of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lowering {
    /// Named as generated, and ignored by the repository's committed ignore files, no symlink, holds no repository.
    Generated,
    /// Under the temp directory.
    Temp,
    /// Created by the same line or session with nothing moved or copied into it.
    Created,
    /// Does not exist, and no earlier act of the line could have made it.
    Missing,
    /// One named file that git tracks and that has no uncommitted change.
    Tracked,
    /// The act is about the directory worked in, and that lies under the temp directory.
    Scratch,
    /// The session's own work: what its commands and tools made, or they alone changed, and is still as they left it.
    Session,
    /// The act takes back changes of the work tree worked in, and all that is changed there is the session's own.
    Edits,
    /// A note of the agent whose session this is, as the description of its program says.
    Notes,
    /// The act runs in a container that this very command starts.
    Container,
}

impl Lowering {
    /// Whether it is a property of the act, so that a rule without operands may name it.
    #[must_use]
    pub const fn is_of_act(self) -> bool {
        matches!(self, Self::Scratch | Self::Container | Self::Edits)
    }
}

/// What a finding adds to what is known of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionNote {
    /// Credentials were read.
    SecretRead,
    /// Data went out.
    Egress,
    /// Other people are acted on: mail, messages, publishing.
    People,
    /// Another agent's workspace, memory or configuration.
    OtherAgent,
    /// The agent's own instructions or hooks.
    OwnInstructions,
    /// Money moves.
    Money,
    /// It acts for a person in a crisis, or speaks for one: it always waits for a person (docs/risk.md, decision).
    Decision,
}

/// Paths of one class, by glob. `~` is any home, `**` crosses directories, a pattern without a slash is a base name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathList {
    pub class: PathClass,
    pub globs: Vec<String>,
    pub except: Vec<String>,
}

/// Hosts of one class, by name; `*.example.org` covers all below it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostList {
    pub class: HostClass,
    pub names: Vec<String>,
}

/// Well-known packages of an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PackageList {
    pub index: String,
    /// Characters that the index takes for one another in a name.
    pub alike: String,
    /// What a client takes before a name, with the colon: `dev:`.
    pub marks: Vec<String>,
    /// Names; `@scope/*` covers all below it, and `Scope.*`.
    pub names: Vec<String>,
}

/// An exact command that always runs (docs/risk.md, support).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    pub argv: Vec<String>,
    /// What it helps with.
    pub why: String,
}

/// The examples of a rule or of an entry for a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Examples {
    pub rule: String,
    /// It finds these.
    pub bad: Vec<String>,
    /// It leaves these alone.
    pub good: Vec<String>,
    /// It leaves these alone, and another rule finds them.
    pub other: Vec<String>,
    /// Calls that the entry speaks of: a name, and the input as JSON behind a blank.
    pub calls: Vec<String>,
    /// Calls that it does not speak of.
    pub other_calls: Vec<String>,
}
