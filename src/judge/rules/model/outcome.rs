//! Descriptions of the effects of a program, of its output, and of the directory in which it works.

use serde::{Deserialize, Serialize};

use super::FlagTest;
use crate::judge::effect::Effect;

/// An effect of a program. The analysis adds an act for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectSpec {
    pub does: Effect,
    pub to: ArgumentPlace,
    /// Flags without which the program does not have the effect.
    pub when: Vec<FlagTest>,
    /// Flags with which the program does not have the effect.
    pub unless: Vec<FlagTest>,
    /// Flags with which the effect is recursive.
    pub recursive: Vec<FlagTest>,
    /// The effect is always recursive.
    pub always_recursive: bool,
}

/// The arguments to which an effect applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ArgumentPlace {
    Operands,
    First,
    Last,
    /// All operands but the last.
    Init,
    /// All operands but the first.
    Rest,
    /// The value of one of these flags.
    Flag(Vec<String>),
    /// The value of one of these flags, which is data that is sent and never the host.
    Data(Vec<String>),
    /// The operands. If one of these flags is given, relative operands are below the directory that it names.
    Below(Vec<String>),
    /// The arguments of a place. If one of these flags is given, relative ones are below the directory that it names.
    Inside(Box<ArgumentPlace>, Vec<String>),
    /// Files in the working directory that are named by the last parts of the operands, as a download saves them.
    Names,
    /// The working directory.
    Here,
    /// The data on standard input.
    Stdin,
    /// All of these, as one effect.
    All(Vec<ArgumentPlace>),
}

/// The kind of data in a program's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputTaint {
    /// Data of its input and of the files among its arguments (`cat`, `grep`, `gzip`). This is the strictest
    /// assumption.
    #[default]
    Copies,
    /// No data of its input (`wc`, `make`).
    Own,
    /// Data from the network.
    Fetched,
    /// Decoded data of its input.
    Decoded,
    /// A secret.
    Secret,
    /// Shell code that is meant to be evaluated (`ssh-agent`, `brew shellenv`).
    Code,
}

/// The output of a program with certain arguments, as far as it is known before the run. The first of several entries
/// that can be evaluated applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prints {
    pub what: Printed,
    /// The arguments of such a run, word by word: a glob, a regular expression after `~`, or `...` for any number of
    /// words. Empty: any arguments.
    pub args: Vec<Vec<String>>,
    /// The usual place of a [`Printed::Place`]: a leading tilde is the home directory.
    pub at: Option<String>,
}

/// The known part of an output: the way in which it is computed, or its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Printed {
    /// No output (`rm`).
    Nothing,
    /// Digits and letters: a count, a time, an identifier (`date +%s`).
    Number,
    /// The name of a new temporary file (`mktemp`).
    Temporary,
    /// The name of the account (`whoami`).
    User,
    /// The top level of the repository (`git rev-parse --show-toplevel`).
    Repository,
    /// The path in the data of the repository that the last argument names, if it is not an option (`git rev-parse
    /// --git-path
    /// hooks`).
    RepositoryData,
    /// Its input, unchanged (`tee`).
    Input,
    /// The content of the files among its arguments; `-` is its input (`cat`).
    Files,
    /// Some lines of its input, if these are a list of names (`grep`).
    SomeLines,
    /// The first lines of its input: ten, or the number in `-n COUNT` or `-COUNT` (`head`).
    FirstLines,
    /// The last lines of its input (`tail`).
    LastLines,
    /// The lines of its input, sorted (`sort`).
    SortedLines,
    /// The lines of its input in reverse order (`tac`).
    ReversedLines,
    /// The lines of its input, each reversed (`rev`).
    ReversedLetters,
    /// Its input with characters replaced, deleted or squeezed, as its arguments say (`tr`).
    Translated,
    /// Its input, decoded from base 64 (`base64 -d`).
    Base64,
    /// Its input, decoded from base 32 (`base32 -d`).
    Base32,
    /// Its input, decoded from hexadecimal digits (`xxd -r -p`).
    Hexadecimal,
    /// Digits and letters computed from its input (`sha256sum`).
    Digest,
    /// The characters of its input that its last argument lists (`tr -dc`).
    Letters,
    /// The beginning of its input, if that is digits and letters (`head -c`).
    Beginning,
    /// The numbers up to its only argument, or from its first to its second (`seq`).
    Sequence,
    /// The last part of a path, without the given suffix (`basename`).
    Name,
    /// A path without its last part (`dirname`).
    Directory,
    /// The path of the program that its last argument names (`which`).
    Program,
    /// The absolute path of its last argument, with links resolved (`realpath`).
    Path,
    /// The files among its arguments, under the names that are given (`ls`).
    Names,
    /// Of each line of its input, or of the files among its arguments, the part before a `=` (`cut -d= -f1`).
    EntryNames,
    /// A directory of its data, which is unknown before the run (`npm prefix`).
    Place,
    /// A directory of installed programs, which is unknown before the run (`brew --prefix`). Scripts below it are not
    /// the project's, and run with the same trust as the program.
    Installation,
}

/// What a program makes of data, so that nothing else of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Counts, digests, or nothing (`wc`, `sha256sum`).
    Counts,
    /// The names of entries. Lines without a `=` remain.
    EntryNames,
}

/// The way to find the directory in which a program works, for [`super::Lowering::Scratch`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorksIn {
    /// Flags whose value is such a directory.
    pub flags: Vec<String>,
    /// Environment variables that name such a directory.
    pub env: Vec<String>,
    /// It also works in the working directory, and only there if no directory is named.
    pub here: bool,
}

/// The changes of a program to a work tree of its own, by the first word of its subcommands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tree {
    /// Subcommands that change files of the work tree, or what is ignored in it.
    pub changes: Vec<String>,
    /// Those of them that move files to paths that are not among the arguments.
    pub moves: Vec<String>,
}

/// The arguments and variables that name the target of a program's acts, for the production context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Flags whose value names the target.
    pub flags: Vec<String>,
    /// Any operand may name the target.
    pub operands: bool,
    /// Environment variables that name the target.
    pub env: Vec<String>,
}
