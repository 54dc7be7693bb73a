//! Descriptions of programs that run another command, or code.

use serde::{Deserialize, Serialize};

use super::FlagTest;

/// A program that runs another command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wrap {
    pub inner: Inner,
    /// The position of the command in the arguments.
    pub from: WrapFrom,
    /// Each operand is a separate command (`concurrently 'a' 'b'`).
    pub each: bool,
    /// The number of operands before the command (`timeout 5 …`: 1).
    pub skip: u32,
    /// Leading operands of the form `NAME=value` set its environment.
    pub assignments: bool,
    /// Flags without which the program does not run the command.
    pub when: Vec<FlagTest>,
    /// Flags with which the program runs nothing (`command -v`, `sudo -l`).
    pub unless: Vec<FlagTest>,
    pub root: bool,
    pub remote: Option<RemoteName>,
    /// The position of the operand that names the host, counted from 0 and before the command.
    pub host: Option<u32>,
    /// The arguments that the program adds to those of the command.
    pub adds: Added,
    /// Without a command the program starts a shell that reads standard input (`ssh host`, `sudo -s`, `su`).
    pub bare_shell: bool,
    /// The endings of files that are not commands but scripts in the language of the program (`uv run x.py`).
    pub scripts: Vec<String>,
}

/// The form of the command that a wrapper runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Inner {
    /// A program and its arguments, executed without a shell.
    #[default]
    Argv,
    /// A command string, or words that are joined with blanks, interpreted by a shell.
    Line,
}

/// The position of a wrapper's command in its arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum WrapFrom {
    /// It begins at the first operand after [`Wrap::skip`].
    #[default]
    Operands,
    /// It is the value of one of these options; each occurrence is a command.
    Option(Vec<String>),
    /// It is the value of a key that an option sets (`-o ProxyCommand=…`): the options, and the keys.
    Setting(Vec<String>, Vec<String>),
    /// It begins at each argument that names a described program.
    Anywhere,
    /// It follows one of these words and ends at `;` or `+` (`find -exec`).
    Until(Vec<String>),
    /// It follows this word (`nix-shell --run`, `--`).
    After(String),
}

/// The arguments that a wrapper adds to those of its command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Added {
    #[default]
    Nothing,
    /// Operands from standard input, appended or in place of the string of `-I` (`xargs`).
    Input,
    /// The files that it finds, in place of `{}` (`find`, `fd`).
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

/// The code that an interpreter runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// `shell`, `zsh`, `python`, `js`, `perl`, `ruby`, `php`, `lua`, `awk`, `sed`, `sql`, `redis`, `mongo`, …
    pub language: String,
    /// Options whose value is code.
    pub code: Vec<String>,
    /// The first operand is code (`awk`, `sed`), unless an option of `code` is given.
    pub code_operand: bool,
    /// The first operand is a script file, unless an option of `code` is given.
    pub script_operand: bool,
    /// Options whose value is a script file.
    pub script: Vec<String>,
    /// Without code and script the program reads code from standard input.
    pub stdin: bool,
    /// Options with which the program reads code from standard input after the code or the script (`python -i`); `*`
    /// matches any arguments.
    pub stdin_after: Vec<String>,
    /// The position of the operand that is code, if it is not the first (`sqlite3 DB SQL`: 1).
    pub code_at: Option<u32>,
    /// Flags with which the program only checks the code (`bash -n`).
    pub unless: Vec<FlagTest>,
}
