//! The checked content of pattern files, in the form that the matcher reads.
//!
//! This module defines rules, lists and examples; `program`, `inner`, `outcome` and `sources` define the descriptions
//! of programs. The build script stores these values for the built-in files, and guard converts the files of users to
//! them when it starts. [`super::source`] reads the TOML.

use serde::{Deserialize, Serialize};

mod inner;
mod language;
mod outcome;
mod program;
mod sources;
mod tool;

pub use self::inner::{Added, Inner, RemoteName, Runs, Wrap, WrapFrom};
pub use self::language::Language;
pub use self::outcome::{ArgumentPlace, EffectSpec, OutputTaint, Printed, Prints, Reduction, Target, Tree, WorksIn};
pub use self::program::{Files, Follow, OperandList, OptionSpec, OptionStyle, Program, Sub, Terminal, ValueKind};
pub use self::sources::{Build, Console, Fetch, FetchInto, Load, Module, Packed, SettingLine, Tasks, Unpack};
pub use self::tool::{InputKind, InputPart, NO_SERVER, Tool, ToolEffect, ValueTest};
pub use super::subs::Subs;
use crate::judge::path_class::PathClass;
use crate::judge::tier::{Reversibility, Tier, Weight};

/// The maximum number of approvers that a rule or a tier can require.
pub const MAX_APPROVALS: u8 = 9;

/// A rule: the acts that it matches, and their tier. The text that explains a finding is an [`Explanation`], which
/// matching does not read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// `family.name`, unique in all layers.
    pub id: String,
    pub tier: Tier,
    pub weight: Weight,
    pub reversibility: Reversibility,
    /// guard refuses the command; nobody can approve it.
    pub deny: bool,
    /// A reviewer, or a threshold above 3.0, may decide up to tier 3 (docs/risk.md, provenance).
    pub yolo: bool,
    /// The act can be undone, although no description defines its effect. A reviewer may then approve it (docs/risk.md,
    /// provenance).
    pub reversible: bool,
    /// The number of approvers who must sign an approval; 1: the number in the policy.
    pub approvals: u8,
    /// The facts that a finding records about the session (docs/risk.md, behaviour).
    pub notes: Vec<SessionNote>,
    pub when: Match,
    /// Operands for which one of these facts is true are ignored; if no operand remains, the finding has tier 1.
    pub lower: Vec<Lowering>,
    /// Programs with subcommands (`docker run`). An operand is ignored if one of them created it, under the same name,
    /// earlier in the command.
    pub made_by: Vec<Vec<String>>,
    /// The directory of a repository that contains the operands (`refs/heads/`). Operands that do not exist there are
    /// ignored.
    pub refs: Option<String>,
}

/// The text that explains the findings of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// The reason why the act is dangerous, as one sentence for the user.
    pub reason: String,
    /// The suggested alternative.
    pub instead: Option<String>,
}

/// The conditions of a rule. An act matches if it meets every condition that is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Match {
    /// Keys of verbs, one of which must be that of the act: a program, `language:callee`, `:effect`, or `*`.
    pub verbs: Vec<String>,
    /// Subcommand paths; the act's path must begin with one of them.
    pub subs: Vec<Vec<String>>,
    /// All of these flags must be given.
    pub flags: Vec<FlagTest>,
    /// None of these flags may be given.
    pub no_flags: Vec<FlagTest>,
    /// All of these tests must succeed.
    pub operands: Vec<OperandTest>,
    /// The minimum and maximum number of operands.
    pub count: Option<(u32, u32)>,
    /// For each of these tests, at least one argument must pass, as the program receives it.
    pub words: Vec<TextTest>,
    /// At least one of these tests must succeed for a variable that is set for the command.
    pub env: Vec<EnvTest>,
    /// None of these tests may succeed for a variable that is set for the command.
    pub no_env: Vec<NoEnvTest>,
    /// Standard input must have one of these properties.
    pub input: Vec<InputTest>,
    /// An argument must contain data with one of these taints.
    pub tainted: Vec<TaintName>,
    /// A pipe must pass the output to one of these verbs.
    pub feeds: Vec<String>,
    /// No pipe may pass the output to one of these verbs.
    pub no_feeds: Vec<String>,
    /// The rule does not match if substitutions pass the whole output to these programs alone.
    pub no_taken_by: Vec<String>,
    /// The rule does not match if the program, or all readers of its output, reduce the data to one of these.
    pub no_reduced: Vec<Reduction>,
    /// Directories, relative to that of the act. The user's own work must have been moved into one of them.
    pub brought: Vec<String>,
    /// One of these wrappers must enclose the act.
    pub wrapped: Vec<String>,
    /// Wrappers that [`Match::wrapped`] ignores.
    pub no_wrapped: Vec<String>,
    /// None of these wrappers may enclose the act.
    pub outside: Vec<String>,
    /// The act must run as root (`true`), or as another user (`false`).
    pub root: Option<bool>,
    pub recursive: Option<bool>,
    /// The act must run on another host or in a container (`true`), or on this machine (`false`).
    pub remote: Option<bool>,
    /// The rule matches dry runs too.
    pub dry_run: bool,
    /// The rule does not match commands that a user typed at a terminal of their own.
    pub guarded: bool,
    /// A test of the code that an interpreter runs.
    pub code: Option<CodeTest>,
    /// The caller must see the output (`true`), or must not (`false`).
    pub shown: Option<bool>,
    /// The output must go to a file (`true`), or must not (`false`).
    pub stored: Option<bool>,
    /// A test of the text of the whole command, for rules that no other condition can express.
    pub text: Option<RawTest>,
}

/// The entry in [`Match::subs`] that matches a run without a subcommand.
pub const NO_SUB: &str = "-";

/// A flag in any of its spellings, with a test of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlagTest {
    pub names: Vec<String>,
    pub value: Option<TextTest>,
}

/// A test of a text. One of the given patterns (`exact`, `glob`, `regex`) must match, the text must have one of the
/// classes and one of the host classes, and no negative test may succeed. If the operand is a path, the patterns are
/// matched with the text as written and with the absolute, lexically normalised path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextTest {
    pub exact: Vec<String>,
    /// Shell globs that match the whole text; `*` matches slashes too.
    pub glob: Vec<String>,
    /// An unanchored regular expression.
    pub regex: Option<String>,
    /// Literals of which a text must contain one before the expression is tried, found by
    /// [`super::expression::literals`].
    pub literals: Vec<String>,
    pub class: Vec<PathClass>,
    pub not_class: Vec<PathClass>,
    pub host: Vec<HostClass>,
    /// The text must be unknown before the command runs (`true`), or known (`false`).
    pub dynamic: Option<bool>,
    /// The text must contain unknown output of a command, or unknown input.
    pub computed: bool,
    pub not_glob: Vec<String>,
    pub not_regex: Option<String>,
    /// The text must be a regular expression that matches one of these texts.
    pub matching: Vec<String>,
    /// A regular expression for the content of the file at that path before the command runs. It matches a file that
    /// cannot be read; it does not match if the file does not exist or its path is unknown.
    pub content: Option<String>,
    /// The path must be that of a file that is not empty and of which no other copy is known: it is outside the
    /// project, or the project's repository neither contains it unchanged nor ignores it. A partly unknown path does
    /// not match.
    pub only_copy: bool,
    /// The text must be a list of paths, separated by colons, of which one is in the temporary directory and was created
    /// neither by the command nor by its session, nor is in the project.
    pub not_made: bool,
    /// The text must name a package that is not well known in any of these indexes (`npm`), or whose name with a prefix
    /// is not (`npm:create-`).
    pub package: Vec<String>,
}

/// A test of operands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperandTest {
    pub which: OperandQuantifier,
    pub test: TextTest,
}

/// The operands that have to pass a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperandQuantifier {
    /// At least one. If the rule has `lower`, at least one that passes must not be lowered.
    #[default]
    Any,
    /// All, and there is at least one.
    All,
    /// None.
    No,
    /// The operand at this position, counted from 0.
    At(u32),
    Last,
}

/// A test of an environment variable that is set for the command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvTest {
    /// A glob that matches the name.
    pub name: String,
    pub value: Option<TextTest>,
}

/// A variable with which a rule does not match, unless an option or another variable overrides it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoEnvTest {
    /// The name.
    pub name: String,
    /// The test of its value.
    pub value: TextTest,
    /// Globs for the names of variables that override it, whether the command sets them or guard's environment contains
    /// them.
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
    /// A file that is a secret, read directly and not through a pipe.
    SecretFile,
    /// The value of a variable whose name suggests a secret.
    Named,
    Text,
    File,
    /// The standard input of guard: a terminal, or what the caller passed.
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
    /// The value of a variable whose name suggests a secret.
    Named,
    /// The process ID of the program that started the shell.
    Parent,
}

/// A test of code in another language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeTest {
    pub languages: Vec<String>,
    /// Literals of which the code must contain one before the expression is tried; empty: it is always tried.
    pub literals: Vec<String>,
    pub regex: String,
}

/// A test of raw text. guard searches the literal before it compiles the regular expression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawTest {
    pub literal: String,
    pub regex: Option<String>,
}

/// A class of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostClass {
    /// localhost and loopback addresses.
    Local,
    /// A host in the lists of forges, registries and documentation.
    Known,
    /// Any other named host.
    Unknown,
    /// A cloud metadata service.
    Metadata,
    /// A service that exists to receive data (paste sites, request catchers, tunnels).
    Drop,
    /// The text is not a URL and does not name a host.
    None,
    /// A name or address in the network of this machine (`db`, `192.168.1.5`). Rules for known hosts apply to it too.
    Near,
}

impl HostClass {
    /// All classes, in the order of their discriminants.
    pub const ALL: [Self; 7] =
        [Self::Local, Self::Known, Self::Unknown, Self::Metadata, Self::Drop, Self::None, Self::Near];

    /// Returns the name in pattern files.
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

/// The facts that lower a finding (docs/risk.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lowering {
    /// A pattern classifies the path as generated, and the repository's committed ignore files ignore it. It is not a
    /// symbolic link and contains no repository.
    Generated,
    /// The path is below the temporary directory.
    Temp,
    /// The same command created it, and no session moved or copied anything into it.
    Created,
    /// It does not exist, and no earlier act of the command could have created it.
    Missing,
    /// It does not exist, in the project or elsewhere, so that the act only creates it.
    New,
    /// It is a single named file that git tracks and that has no uncommitted change.
    Tracked,
    /// The act changes the directory in which it runs, and that directory is below the temporary directory.
    Scratch,
    /// It is the session's own work: only commands and tools of the session created or changed it, and it is unchanged
    /// since.
    Session,
    /// The act reverts changes of the work tree in which it runs, and all of those changes are the session's own.
    Edits,
    /// It is a note of the agent whose session this is, by the description of the agent's program.
    Notes,
    /// The act runs in a container that this command starts.
    Container,
}

impl Lowering {
    /// Reports whether the fact is about the act and not about an operand. A rule without operands may then contain it.
    #[must_use]
    pub const fn is_of_act(self) -> bool {
        matches!(self, Self::Scratch | Self::Container | Self::Edits)
    }
}

/// A fact that a finding records about the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionNote {
    /// The act reads credentials.
    SecretRead,
    /// The act sends data.
    Egress,
    /// The act affects other people: mail, messages, publishing.
    People,
    /// The act touches another agent's workspace, memory or configuration.
    OtherAgent,
    /// The act changes the agent's own instructions or hooks.
    OwnInstructions,
    /// The act moves money.
    Money,
    /// The act affects a person in a crisis, or speaks for one: it always requires a person's answer (docs/risk.md,
    /// decision).
    Decision,
}

/// Globs for the paths of a class. `~` is any home directory, `**` matches any number of directories, and a pattern
/// without a slash matches a base name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathList {
    pub class: PathClass,
    pub globs: Vec<String>,
    pub except: Vec<String>,
}

/// The names of the hosts of a class; `*.example.org` matches all subdomains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostList {
    pub class: HostClass,
    pub names: Vec<String>,
}

/// The well-known packages of an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PackageList {
    pub index: String,
    /// Characters that the index treats as equal in a name.
    pub alike: String,
    /// Prefixes that a client accepts before a name, with the colon: `dev:`.
    pub marks: Vec<String>,
    /// The names; `@scope/*` and `Scope.*` match all names with that prefix.
    pub names: Vec<String>,
}

/// A command that always runs, if its arguments are exactly these (docs/risk.md, support).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    pub argv: Vec<String>,
    /// The purpose of the command.
    pub why: String,
}

/// The examples of a rule, or of an entry of the tool registry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Examples {
    pub rule: String,
    /// Commands that the rule finds.
    pub bad: Vec<String>,
    /// Commands of tier 1 at most.
    pub good: Vec<String>,
    /// Commands that this rule does not find, but another does.
    pub other: Vec<String>,
    /// Tool calls that the entry matches: a name and, after a blank, the input as JSON.
    pub calls: Vec<String>,
    /// Tool calls that the entry does not match.
    pub other_calls: Vec<String>,
}
