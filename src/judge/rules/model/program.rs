//! The description of a program: how its arguments are read, what it does, and what it runs.
//!
//! Out of scope: which acts of the program are dangerous. That is defined by rules.

use serde::{Deserialize, Serialize};

use super::{
    Build, Console, EffectSpec, Fetch, FlagTest, Load, OutputTaint, Printed, Prints, Runs, Target, Tree, Unpack,
    WorksIn, Wrap,
};
use crate::judge::rules::subs::Subs;
use crate::judge::rules::{glob, subs};
use crate::judge::tier::Tier;

/// The description of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The names, without directories, of all programs with this description. A name may be a glob (`gcc-[0-9]*`).
    pub names: Vec<String>,
    /// Names that are other spellings: the index of the spelling, and the index of the canonical name.
    pub aliases: Vec<(u16, u16)>,
    /// Only tables of single facts (`[[loads]]`, `[[fetches]]`, `[[consoles]]`) name the program: its acts are unknown.
    pub facts_alone: bool,
    /// The tier of a run that no rule matches.
    pub tier: Tier,
    pub style: OptionStyle,
    /// The options before a subcommand, or all options if there are no subcommands.
    pub options: Vec<OptionSpec>,
    /// The described subcommands. If there are any, the first operand is a subcommand.
    pub subs: Subs,
    pub dry_run: Vec<FlagTest>,
    /// Options whose value is the directory to which the program changes first (`git -C`, `env --chdir`).
    pub chdir: Vec<String>,
    pub effects: Vec<EffectSpec>,
    pub wraps: Vec<Wrap>,
    pub runs: Option<Runs>,
    /// The command that is equivalent to a call in code; `{method}`, `{0}` and `{}` are replaced by parts of the call.
    pub command: Vec<String>,
    /// The kind of data in its standard output.
    pub output: OutputTaint,
    /// Flags with which its output is [`OutputTaint::Code`] (`fzf --bash`).
    pub prints_code: Vec<FlagTest>,
    /// The arguments that name the target of its acts, for the production context.
    pub target: Option<Target>,
    /// The program compiles its operands: its output does what these sources say (`gcc`, `rustc`).
    pub compiles: bool,
    /// The output that is known before the run. The first entry whose arguments match applies.
    pub prints: Vec<Prints>,
    /// The way to find the directory in which the program works.
    pub works_in: Option<WorksIn>,
    /// The program creates its operands and changes nothing else (`mkdir`).
    pub makes: bool,
    /// The program renames or moves files to names that are not among its operands (`rename`).
    pub renames: bool,
    /// The program selects the directory or the target of later commands (`kubectx`).
    pub chooses: bool,
    /// The program copies the files that its operands name without a change (`cp`).
    pub copies: bool,
    /// Options with which the program copies a file together with the directories in its name (`cp --parents`).
    pub parents: Vec<String>,
    /// An operand that ends in a slash means the content of that directory (`rsync`).
    pub merges: bool,
    /// Short options. If the arguments of an undescribed program contain the name of this program, followed by all
    /// these options, they are a command that the undescribed program may run; empty: with any arguments.
    pub as_argument: Option<String>,
    /// Flags with which a subcommand continues or ends what an earlier run began (`git rebase --abort`).
    pub resumes: Vec<FlagTest>,
    /// For an agent: globs for the files in which it keeps its plans, lists and memory. The agent may write them.
    pub notes: Vec<String>,
    /// The default values of variables in its files, as `NAME=value` (`make`).
    pub defaults: Vec<String>,
    /// For a script that another program generates: texts, one of which is in its first lines (`configure` of
    /// Autoconf). Such a script computes the commands that it runs, so that they cannot be read from it.
    pub generated: Vec<String>,
    /// Options that mount directories of this machine into a container.
    pub mounts: Vec<String>,
    /// The changes of the program to a work tree of its own.
    pub tree: Option<Tree>,
    /// The program's use of files among its arguments that no effect mentions.
    pub files: Files,
    /// The files that it loads as code, in addition to its script.
    pub loads: Vec<Load>,
    /// Directories that the program puts before `PATH` for the commands that it runs (`node_modules/.bin`).
    pub bins: Vec<String>,
    /// The downloads of the program into files that no effect names.
    pub fetches: Vec<Fetch>,
    /// The archives, compressed files and patches that the program unpacks or applies.
    pub unpacks: Vec<Unpack>,
    /// The runs in which the program executes the code of the project in its directory.
    pub builds: Vec<Build>,
    /// The runs in which the program reads commands from a terminal.
    pub consoles: Vec<Console>,
    /// The program reads, checks or formats code, and runs none of it (a linter, an editor).
    pub runs_nothing: bool,
    /// The files and settings with a format of their own whose commands the program runs.
    pub follows: Vec<Follow>,
    /// The option that names a file with further operands.
    pub lists: Option<OperandList>,
}

/// An option that names a file of operands; without a value the operands are read from standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperandList {
    pub option: String,
    /// The file may contain options too.
    pub options: bool,
    /// The listed paths are relative to the first operand.
    pub below_first: bool,
}

/// Files and settings with a format of their own whose commands a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Follow {
    /// git's settings and aliases, and the refs of a push.
    Git,
    /// Scripts, programs and workspaces in `package.json`.
    Packages,
    /// The entry point of a container image, with its arguments.
    Entrypoint,
    /// The recipes of a makefile.
    Makefile,
    /// The recipes of a justfile.
    Justfile,
    /// Lines of a mail on standard input that begin with `~!`.
    TildeCommands,
}

impl Program {
    /// Reports whether any run prints this.
    #[must_use]
    pub fn may_print(&self, what: Printed) -> bool {
        self.prints.iter().any(|prints| prints.what == what)
    }

    /// Reports whether the program writes what it reads, unchanged or built from it.
    #[must_use]
    pub fn hands_on(&self) -> bool {
        self.copies || !self.builds.is_empty() || self.may_print(Printed::Input) || self.may_print(Printed::Files)
    }

    /// Reports whether the program builds the project in its directory, so that it may have created new files there.
    #[must_use]
    pub fn builds_projects(&self) -> bool {
        self.builds.iter().any(|build| !build.named)
    }
}

/// The use that a program makes of files among its arguments that no effect mentions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Files {
    /// Unknown: the program may read them and, if its tier is above 0, change them.
    #[default]
    Any,
    /// It prints facts about its operands but not their content (`ls`, `stat`, `test`).
    Named,
    /// It is meant to read secrets of the account: keys, certificates, variables (`ssh`, `openssl`, `docker`).
    Used,
}

impl Program {
    /// Reports whether both are names of one program, and not only of programs with the same description.
    #[must_use]
    pub fn is_same(&self, one: &str, other: &str) -> bool {
        self.place(one).is_some_and(|one| self.place(other) == Some(one))
    }

    /// Returns all names of the program `name`, including `name` if it is listed.
    pub fn spellings<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + 'a {
        let place = self.place(name);
        let same = move |index: usize| place.is_some_and(|place| stands_for(&self.aliases, index) == place);
        self.names.iter().enumerate().filter(move |(index, _)| same(*index)).map(|(_, name)| name.as_str())
    }

    /// Returns the index of the canonical name of `name`. An exact match takes precedence over a glob.
    fn place(&self, name: &str) -> Option<usize> {
        let exact = self.names.iter().position(|known| known == name);
        let index = exact.or_else(|| self.names.iter().position(|known| glob::text(known, name)))?;
        Some(stands_for(&self.aliases, index))
    }
}

/// Returns the index of the canonical name of the name at `index`, which is `index` if it is not another spelling.
fn stands_for(aliases: &[(u16, u16)], index: usize) -> usize {
    aliases.iter().find(|(spelling, _)| usize::from(*spelling) == index).map_or(index, |(_, name)| usize::from(*name))
}

/// The description of one or more subcommands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sub {
    /// The paths of the subcommands (`["remote", "remove"]`), in all spellings.
    pub paths: Vec<Vec<String>>,
    /// Paths that are other spellings: the index of the spelling, and the index of the canonical path.
    pub aliases: Vec<(u16, u16)>,
    pub tier: Option<Tier>,
    pub options: Vec<OptionSpec>,
    pub dry_run: Vec<FlagTest>,
    pub effects: Vec<EffectSpec>,
    pub wraps: Vec<Wrap>,
    pub runs: Option<Runs>,
    pub output: Option<OutputTaint>,
    /// The subcommand creates its operands and changes nothing else (`git init`).
    pub makes: bool,
    /// As [`Program`] has it, if the subcommand differs.
    pub files: Option<Files>,
    /// The effect of the subcommand on a named terminal.
    pub terminal: Option<Terminal>,
    /// As [`Program`] has it, if the subcommand differs.
    pub compiles: Option<bool>,
}

/// The effect of a subcommand on a named terminal. The value is the option that gives the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Terminal {
    /// It creates the terminal; its operands are the command that runs there instead of a shell.
    Opens(String),
    /// It types its operands into the terminal.
    Types(String),
    /// It ends the terminal.
    Closes(String),
}

impl Sub {
    /// Returns the canonical spelling of one of its paths. A path that matches only by a wildcard is its own spelling.
    #[must_use]
    pub fn canonical<'a>(&'a self, path: &'a [String]) -> Option<&'a [String]> {
        let Some(index) = self.paths.iter().position(|known| known == path) else {
            let covered = |known: &Vec<String>| subs::covers(known.iter().map(String::as_str), path);
            return self.paths.iter().any(covered).then_some(path);
        };
        self.paths.get(stands_for(&self.aliases, index)).map(Vec::as_slice)
    }
}

/// The syntax of a program's options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptionStyle {
    /// getopt_long: short options in one word, `--long=value`, options and operands mixed, `--` ends the options.
    #[default]
    Gnu,
    /// Options end at the first operand (`sudo`, `env`, `ssh`).
    Posix,
    /// As [`OptionStyle::Gnu`], but the first argument may contain short options without a dash (`tar xzf`).
    Bundle,
    /// Long options with one dash (`terraform -auto-approve`, `java -jar`).
    SingleDash,
    /// As [`OptionStyle::SingleDash`], and the options form an expression of tests and actions (`find -name x
    /// -delete`).
    Expression,
    /// `key=value` (`dd`).
    KeyValue,
    /// All arguments are operands (`echo`).
    None,
}

impl OptionStyle {
    /// Reports whether long options have one dash.
    #[must_use]
    pub const fn is_single_dash(self) -> bool {
        matches!(self, Self::SingleDash | Self::Expression)
    }
}

/// An option: its spellings, of which the first is canonical, and whether it takes a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OptionSpec {
    pub names: Vec<String>,
    pub value: ValueKind,
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueKind {
    /// It takes no value.
    None,
    /// The value is attached to the option, or is the next argument.
    Required,
    /// The value can only be attached (`--color=auto`, `-i.bak`).
    Optional,
}
