//! What a program does to its arguments, what it prints, and where it works.

use serde::{Deserialize, Serialize};

use super::FlagTest;
use crate::judge::effect::Effect;

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
    /// A place in the data of that repository, which the last argument names where it is no option (`git rev-parse
    /// --git-path hooks`).
    RepositoryData,
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
    /// A place of its installation or of what it keeps, which is not known before (`brew --prefix`).
    Place,
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
