//! The description of a program: how its arguments are read, what it does, what it wraps and runs.
//!
//! Out of scope: what is bad about it, which is a rule's to say.

use serde::{Deserialize, Serialize};

use super::{
    Build, Console, EffectSpec, Fetch, FlagTest, Load, OutputTaint, Printed, Prints, Runs, Target, Tree, Unpack,
    WorksIn, Wrap,
};
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
    pub style: OptionStyle,
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
    /// The values of variables in its files that nothing sets, as `NAME=value` (`make`).
    pub defaults: Vec<String>,
    /// Of a script that another program writes: what one of its first lines says then. Which words it runs is worked out as
    /// it runs, so nobody can read there what they are (`configure` of Autoconf).
    pub generated: Vec<String>,
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
pub enum OptionStyle {
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

impl OptionStyle {
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
