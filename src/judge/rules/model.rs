//! What a pattern file says, checked and in the form that matching reads.
//!
//! These are the values that the build script stores for the built-in files and that user files are
//! turned into at start; the TOML that people write is the business of [`super::source`].

use serde::{Deserialize, Serialize};

use super::glob;
use super::subs;
pub use super::subs::Subs;
use crate::judge::facts::class::PathClass;
use crate::judge::facts::effect::Effect;
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
    /// Lets a reviewer or a threshold above 3.0 settle it up to tier 3 (RISK.md, provenance).
    pub yolo: bool,
    /// How many different approvers sign a yes; 1: as the policy has it.
    pub approvals: u8,
    /// What it contributes to the behaviour of a session.
    pub notes: Vec<Note>,
    pub when: Match,
    /// Operands for which one of these facts holds do not count; if none are left, the finding is tier 1.
    pub lower: Vec<Lowering>,
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
    /// Any of these properties of what is read from standard input.
    pub input: Vec<InputTest>,
    /// Any of these taints is in an argument.
    pub tainted: Vec<TaintName>,
    /// It feeds one of these verbs through a pipe.
    pub feeds: Vec<String>,
    /// It feeds none of these verbs.
    pub no_feeds: Vec<String>,
    /// It stands in one of these wrappers.
    pub wrapped: Vec<String>,
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
    pub class: Vec<PathClass>,
    pub not_class: Vec<PathClass>,
    pub host: Vec<HostClass>,
    /// It is (or is not) unknown before the command runs.
    pub dynamic: Option<bool>,
    pub not_glob: Vec<String>,
    pub not_regex: Option<String>,
    /// A regular expression over what the file of that path says before the command runs. Holds of a file that cannot be
    /// looked at, and of none that is not there or whose path is not known.
    pub content: Option<String>,
}

/// Which operands a test speaks of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperandTest {
    pub which: Which,
    pub test: TextTest,
}

/// A quantifier or a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
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
    Text,
    File,
}

/// The names of the taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaintName {
    Fetched,
    Decoded,
    Secret,
    Foreign,
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
}

impl HostClass {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::Local, Self::Known, Self::Unknown, Self::Metadata, Self::Drop, Self::None];
}

/// The facts of RISK.md that take an operand out of a rule.
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
}

/// What a finding adds to what is known of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
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
}

/// A program's description: how its arguments are read, and what it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Names without directories, of all programs that are described alike. Globs are allowed (`python3.*`).
    pub names: Vec<String>,
    /// Which of the names are other spellings of one: the spelling's index and that of the name it stands for.
    pub aliases: Vec<(u16, u16)>,
    /// What a plain run of it is, when no rule says more.
    pub tier: Tier,
    pub style: Style,
    /// Options before the subcommand, or all of them when there are no subcommands.
    pub options: Vec<OptionSpec>,
    /// Described subcommands. With any, the first operand is looked up as a subcommand.
    pub subs: Subs,
    pub dry_run: Vec<FlagTest>,
    /// Options whose value is the directory that it changes to before all else (`git -C`, `env --chdir`).
    pub chdir: Vec<String>,
    pub effects: Vec<EffectSpec>,
    pub wraps: Vec<Wrap>,
    pub runs: Option<Runs>,
    /// What its standard output carries.
    pub output: OutputTaint,
    /// Flags with which its output is [`OutputTaint::Code`] (`fzf --bash`).
    pub prints_code: Vec<FlagTest>,
    /// What names the place that it acts on, for the production context.
    pub target: Option<Target>,
}

impl Program {
    /// Whether both are names of one program, not only of programs that are described alike.
    #[must_use]
    pub fn is_same(&self, one: &str, other: &str) -> bool {
        self.place(one).is_some_and(|one| self.place(other) == Some(one))
    }

    /// The names of the same program as `name`, itself among them if it is listed.
    pub fn spellings<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + 'a {
        let place = self.place(name);
        let same = move |index: usize| place.is_some_and(|place| stands_for(&self.aliases, index) == place);
        self.names.iter().enumerate().filter(move |(index, _)| same(*index)).map(|(_, name)| name.as_str())
    }

    /// The index of the name that `name` is a spelling of; exact names come before globs.
    fn place(&self, name: &str) -> Option<usize> {
        let exact = self.names.iter().position(|known| known == name);
        let index = exact.or_else(|| self.names.iter().position(|known| glob::text(known, name)))?;
        Some(stands_for(&self.aliases, index))
    }
}

/// The index of the name that the name at `index` is another spelling of, itself when of none.
fn stands_for(aliases: &[(u16, u16)], index: usize) -> usize {
    aliases.iter().find(|(spelling, _)| usize::from(*spelling) == index).map_or(index, |(_, name)| usize::from(*name))
}

/// Subcommands that are described alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sub {
    /// Their paths (`["remote", "remove"]`), all spellings of each.
    pub paths: Vec<Vec<String>>,
    /// Which of the paths are other spellings of one: the spelling's index and that of the path it stands for.
    pub aliases: Vec<(u16, u16)>,
    pub tier: Option<Tier>,
    pub options: Vec<OptionSpec>,
    pub dry_run: Vec<FlagTest>,
    pub effects: Vec<EffectSpec>,
    pub wraps: Vec<Wrap>,
    pub runs: Option<Runs>,
    pub output: Option<OutputTaint>,
}

impl Sub {
    /// The canonical spelling of one of its paths; words that a path covers without naming them are their own.
    #[must_use]
    pub fn canonical<'a>(&'a self, path: &'a [String]) -> Option<&'a [String]> {
        let Some(index) = self.paths.iter().position(|known| known == path) else {
            let covered = |known: &Vec<String>| subs::covers(known.iter().map(String::as_str), path);
            return self.paths.iter().any(covered).then_some(path);
        };
        self.paths.get(stands_for(&self.aliases, index)).map(Vec::as_slice)
    }
}

/// How a program writes its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// getopt_long: clusters, `--long=value`, options and operands mixed, `--` ends options.
    #[default]
    Gnu,
    /// Options end at the first operand (`sudo`, `env`, `ssh`).
    Posix,
    /// As gnu, but the first argument is a cluster also without a dash (`tar xzf`).
    Bundle,
    /// One dash and a word (`find -name`, `terraform -auto-approve`, `java -jar`).
    SingleDash,
    /// `key=value` (`dd`).
    KeyValue,
    /// All arguments are operands (`echo`).
    None,
}

/// One option: its spellings, the canonical one first, and whether it takes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionSpec {
    pub names: Vec<String>,
    pub value: ValueKind,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueKind {
    /// None.
    None,
    /// Attached or the next argument.
    Required,
    /// Attached only (`--color=auto`, `-i.bak`).
    Optional,
}

/// One effect of a program, derived as an act of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectSpec {
    pub does: Effect,
    pub to: Place,
    /// Flags that must be given for it.
    pub when: Vec<FlagTest>,
    /// Flags with which it does not happen.
    pub unless: Vec<FlagTest>,
    /// Flags that make it reach into directories.
    pub recursive: Vec<FlagTest>,
    /// It always reaches into directories.
    pub always_recursive: bool,
}

/// Which arguments an effect falls on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Place {
    Operands,
    First,
    Last,
    /// All but the last.
    Init,
    /// All but the first.
    Rest,
    /// The value of one of these flags.
    Flag(Vec<String>),
    /// Files in the working directory, by the last names of the operands: what a download of them is saved as.
    Names,
    /// Nothing named: the working directory.
    Here,
    /// What comes in on standard input.
    Stdin,
    /// All of these together, as one effect.
    All(Vec<Place>),
}

/// A program that runs another command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wrap {
    pub inner: Inner,
    /// Where the inner command begins.
    pub from: WrapFrom,
    /// Each operand is a command of its own (`concurrently 'a' 'b'`).
    pub each: bool,
    /// Operands in front of the command (`timeout 5 …`: 1).
    pub skip: u32,
    /// Leading `NAME=value` operands set its environment.
    pub assignments: bool,
    /// Flags that must be given for it.
    pub when: Vec<FlagTest>,
    /// Flags with which it does not run anything (`command -v`, `sudo -l`).
    pub unless: Vec<FlagTest>,
    pub root: bool,
    pub remote: Option<RemoteName>,
    /// Which operand, counted from 0 and before the command, names the host.
    pub host: Option<u32>,
    /// What is added to the inner command's arguments.
    pub adds: Added,
    /// Without a command it starts a shell that reads standard input (`ssh host`, `sudo -s`, `su`).
    pub bare_shell: bool,
}

/// How the inner command is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inner {
    /// As arguments of its own, no shell in between.
    #[default]
    Argv,
    /// As one string, or as words that are joined by blanks, read by a shell.
    Line,
}

/// Where the inner command stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum WrapFrom {
    /// At the first operand after `skip`.
    #[default]
    Operands,
    /// In the value of one of these options; each occurrence is a command.
    Option(Vec<String>),
    /// In the value of one of these options where it sets one of these keys (`-o ProxyCommand=…`): options and keys.
    Setting(Vec<String>, Vec<String>),
    /// Wherever an argument names a program that is described.
    Anywhere,
    /// After one of these words up to `;` or `+` (`find -exec`).
    Until(Vec<String>),
    /// After this word (`nix-shell --run`, `--`).
    After(String),
}

/// What a wrapper adds to the inner command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Added {
    #[default]
    Nothing,
    /// Operands read from standard input, appended, or in place of the `-I` string (`xargs`).
    Input,
    /// The files found, in place of `{}` (`find`, `fd`).
    Found,
}

/// The names of [`crate::judge::facts::act::RemoteKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemoteName {
    Ssh,
    Container,
    Cluster,
}

/// An interpreter: which code it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// `shell`, `zsh`, `python`, `js`, `perl`, `ruby`, `php`, `lua`, `awk`, `sed`, `sql`, `redis`, `mongo`, …
    pub language: String,
    /// Options whose value is code.
    pub code: Vec<String>,
    /// The first operand is code (`awk`, `sed`), unless a code option is given.
    pub code_operand: bool,
    /// The first operand is a script file, unless a code option is given.
    pub script_operand: bool,
    /// Options whose value is a script file.
    pub script: Vec<String>,
    /// Reads code from standard input when there is neither code nor script.
    pub stdin: bool,
    /// Which operand is code, when it is not the first (`sqlite3 DB SQL`: 1).
    pub code_at: Option<u32>,
    /// Flags with which it only reads the code (`bash -n`).
    pub unless: Vec<FlagTest>,
}

/// What a program's output carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputTaint {
    /// What its input and arguments carried (`cat`, `grep`, `gzip`): the stricter reading.
    #[default]
    Copies,
    /// Nothing of its input (`wc`, `make`).
    Own,
    /// Fetched from the network.
    Fetched,
    /// Decoded from its input.
    Decoded,
    /// A secret.
    Secret,
    /// Shell code of its own that is made to be evaluated (`ssh-agent`, `brew shellenv`).
    Code,
}

/// Where a program acts, for the production context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Flags whose value names it.
    pub flags: Vec<String>,
    /// Any operand may name it.
    pub operands: bool,
    /// Environment variables that name it.
    pub env: Vec<String>,
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

/// An example of a rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Examples {
    pub rule: String,
    pub bad: Vec<String>,
    pub good: Vec<String>,
}
