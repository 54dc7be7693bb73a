//! The description of a program: how its arguments are read, what it does, what it wraps and runs.
//!
//! What may not enter: what is bad about it, which is a rule's to say.

use serde::{Deserialize, Serialize};

use super::{Build, Console, Fetch, FlagTest, Load, Unpack};
use crate::judge::analysis::effect::Effect;
use crate::judge::rules::subs::Subs;
use crate::judge::rules::{glob, subs};
use crate::judge::tier::Tier;

/// A program's description: how its arguments are read, and what it does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Names without directories, of all programs that are described alike. Globs are allowed (`gcc-[0-9]*`).
    pub names: Vec<String>,
    /// Which of the names are other spellings of one: the spelling's index and that of the name it stands for.
    pub aliases: Vec<(u16, u16)>,
    /// Nothing but tables of single facts (what it loads, fetches, waits for) name it: what it does is not known.
    pub facts_alone: bool,
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
    /// The command that a call of code stands for: words, and `{method}`, `{0}`, `{}` for what the call says.
    pub command: Vec<String>,
    /// What its standard output carries.
    pub output: OutputTaint,
    /// Flags with which its output is [`OutputTaint::Code`] (`fzf --bash`).
    pub prints_code: Vec<FlagTest>,
    /// What names the place that it acts on, for the production context.
    pub target: Option<Target>,
    /// What it makes is made of the sources that it is given, and does what they say (`gcc`, `rustc`).
    pub compiles: bool,
    /// What it prints, where that is known beforehand. The first that fits counts.
    pub prints: Vec<Prints>,
    /// Where it works, when that can be said.
    pub works_in: Option<WorksIn>,
    /// Its operands are what it makes, and nothing else changes (`mkdir`).
    pub makes: bool,
    /// It gives files other names, or moves them, to where its operands do not say (`rename`).
    pub renames: bool,
    /// It chooses the place or the target of commands behind it (`kubectx`).
    pub chooses: bool,
    /// What it puts into place is what its operands name, unchanged (`cp`).
    pub copies: bool,
    /// Options with which that keeps the directories that are written in front of its name (`cp --parents`).
    pub parents: Vec<String>,
    /// A directory that its operands name with a slash behind it stands for what is in it (`rsync`).
    pub merges: bool,
    /// Where the arguments of a program that nothing describes hold this name and, behind it, short options with all these
    /// letters (with none: anything), they are a command that it may run.
    pub as_argument: Option<String>,
    /// Flags with which a subcommand goes on with what an earlier run began, or ends it (`git rebase --abort`).
    pub resumes: Vec<FlagTest>,
    /// Of an agent: where its host keeps its plans, lists and memory, as globs. They are the agent's own to write.
    pub notes: Vec<String>,
    /// Options that give what runs in a container places of this machine.
    pub mounts: Vec<String>,
    /// What it does to a work tree that it keeps.
    pub tree: Option<Tree>,
    /// What it makes of a secret, or another file of weight, that no effect speaks of.
    pub files: Files,
    /// The files that it loads as code, beside its script.
    pub loads: Vec<Load>,
    /// Directories that stand in front of `PATH` for what it runs (`node_modules/.bin`).
    pub bins: Vec<String>,
    /// What it brings from elsewhere into files, where no effect says which.
    pub fetches: Vec<Fetch>,
    /// What it makes of archives, compressed files and patches.
    pub unpacks: Vec<Unpack>,
    /// When it runs the code of the project in which it starts.
    pub builds: Vec<Build>,
    /// When it waits at a terminal for something to run.
    pub consoles: Vec<Console>,
    /// It reads, checks, formats or carries the code that it is given, and runs none of it (a linter, an editor).
    pub runs_nothing: bool,
    /// What else it runs that stands in files or settings of its own.
    pub follows: Vec<Follow>,
    /// How it is given operands in a file.
    pub lists: Option<OperandList>,
}

/// An option that names a file of operands; without a value they come in on standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperandList {
    pub option: String,
    /// What is listed may be an option too.
    pub options: bool,
    /// What is listed lies below the first operand.
    pub below_first: bool,
}

/// What a program runs that stands in files or settings of a form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Follow {
    /// Settings and aliases of git's, and what a push takes along.
    Git,
    /// Scripts, programs and sets of packages of npm's form (`package.json`).
    Packages,
    /// The command that an image begins with, and what it is given.
    Entrypoint,
    /// Recipes of a makefile.
    Makefile,
    /// Recipes of a justfile.
    Justfile,
    /// Lines of a letter on standard input that begin with `~!`.
    TildeCommands,
}

impl Program {
    /// Whether what it prints is ever this.
    #[must_use]
    pub fn may_print(&self, what: Printed) -> bool {
        self.prints.iter().any(|prints| prints.what == what)
    }

    /// Whether what it writes says what it reads: unchanged, or built from it.
    #[must_use]
    pub fn hands_on(&self) -> bool {
        self.copies || !self.builds.is_empty() || self.may_print(Printed::Input) || self.may_print(Printed::Files)
    }

    /// Whether it builds the project in which it starts, so that what is new there may come of that.
    #[must_use]
    pub fn builds_projects(&self) -> bool {
        self.builds.iter().any(|build| !build.named)
    }
}

/// What a program makes of the files that its arguments name where no effect says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Files {
    /// Not known: it may read them, and one that is more than a reader may change them.
    #[default]
    Any,
    /// It tells of its operands without what is in them (`ls`, `stat`, `test`).
    Named,
    /// It reads secrets of the account's own rightly: keys, certificates, variables (`ssh`, `openssl`, `docker`).
    Used,
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
    /// Its operands are what it makes, and nothing else changes (`git init`).
    pub makes: bool,
    /// As of the program, where it is otherwise.
    pub files: Option<Files>,
    /// What it does to terminals that have names.
    pub terminal: Option<Terminal>,
    /// As of the program, where it is otherwise.
    pub compiles: Option<bool>,
}

/// What a subcommand does to a terminal that has a name, which an option gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Terminal {
    /// It begins one; its operands are the command that runs there in place of a shell.
    Opens(String),
    /// It types its operands into one.
    Types(String),
    /// It ends one.
    Closes(String),
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
    /// One dash and a word (`terraform -auto-approve`, `java -jar`).
    SingleDash,
    /// As single-dash, and what stands there is an expression of tests and actions (`find -name x -delete`).
    Expression,
    /// `key=value` (`dd`).
    KeyValue,
    /// All arguments are operands (`echo`).
    None,
}

impl Style {
    /// Whether an option is one dash and a word.
    #[must_use]
    pub const fn is_single_dash(self) -> bool {
        matches!(self, Self::SingleDash | Self::Expression)
    }
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
    pub to: ArgumentPlace,
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
pub enum ArgumentPlace {
    Operands,
    First,
    Last,
    /// All but the last.
    Init,
    /// All but the first.
    Rest,
    /// The value of one of these flags.
    Flag(Vec<String>),
    /// The same, where it is what is sent and never the host.
    Data(Vec<String>),
    /// The operands; those that are relative are below the directory that one of these flags names, where one is given.
    Below(Vec<String>),
    /// Files in the working directory, by the last names of the operands: what a download of them is saved as.
    Names,
    /// Nothing named: the working directory.
    Here,
    /// What comes in on standard input.
    Stdin,
    /// All of these together, as one effect.
    All(Vec<ArgumentPlace>),
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

/// The names of [`crate::judge::analysis::act::RemoteKind`].
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

/// What a program prints with some arguments, known before it runs. Of several the first counts that can be worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prints {
    pub what: Printed,
    /// The arguments with which it does, word by word: a glob, a regular expression behind `~`, or `...` for any number of
    /// words. None: with any.
    pub args: Vec<Vec<String>>,
}

/// What may be known of an output: what it is made of, or what kind of text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Printed {
    /// Nothing at all (`rm`).
    Nothing,
    /// Digits and letters only: a count, a time, an identifier (`date +%s`).
    Number,
    /// The name of a temporary file that is made (`mktemp`).
    Temporary,
    /// Who runs it (`whoami`).
    User,
    /// The top of the repository worked in (`git rev-parse --show-toplevel`).
    Repository,
    /// What it is fed, as it is (`tee`).
    Input,
    /// What is in the files that it is given; `-` is what it is fed (`cat`).
    Files,
    /// Some of the lines that it is fed, where these are a list of names (`grep`).
    SomeLines,
    /// The first lines of what it is fed: ten, `-n COUNT` or `-1` (`head`).
    FirstLines,
    /// The last ones (`tail`).
    LastLines,
    /// All lines in order (`sort`).
    SortedLines,
    /// All lines, the last one first (`tac`).
    ReversedLines,
    /// Each line from its end (`rev`).
    ReversedLetters,
    /// What it is fed with letters replaced, deleted or squeezed, as its arguments say (`tr`).
    Translated,
    /// What it is fed, decoded (`base64 -d`).
    Base64,
    /// The same of base 32.
    Base32,
    /// The same of pairs of hexadecimal digits (`xxd -r -p`).
    Hexadecimal,
    /// Digits and letters made of what it is fed (`sha256sum`).
    Digest,
    /// Letters of the set that is its last argument, from what it is fed (`tr -dc`).
    Letters,
    /// The beginning of what it is fed, where that is digits and letters (`head -c`).
    Beginning,
    /// Numbers up to its only argument, or from its first to its second (`seq`).
    Sequence,
    /// The last name of a path, without an ending that it is given (`basename`).
    Name,
    /// What stands before that (`dirname`).
    Directory,
    /// Where the program lies that its last argument names (`which`).
    Program,
    /// The whole path to which its last argument leads (`realpath`).
    Path,
    /// The files that it is given, by the names that they are given by (`ls`).
    Names,
}

/// Where a program works, for [`super::Lowering::Scratch`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorksIn {
    /// Flags whose value is such a place.
    pub flags: Vec<String>,
    /// Environment variables that name one.
    pub env: Vec<String>,
    /// It works in the working directory too, and there alone when nothing is named.
    pub here: bool,
}

/// What a program does to a work tree that it keeps, by the first word of its subcommands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// These change what lies in it, or what is ignored there.
    pub changes: Vec<String>,
    /// Of these, the ones that move things to where no argument may say.
    pub moves: Vec<String>,
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
