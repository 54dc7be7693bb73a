//! What a program runs: another command, or code.

use serde::{Deserialize, Serialize};

use super::FlagTest;

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
    /// Options with which the program reads code from standard input after the code or the script (`python -i`); `*`
    /// stands for any arguments.
    pub stdin_after: Vec<String>,
    /// Which operand is code, when it is not the first (`sqlite3 DB SQL`: 1).
    pub code_at: Option<u32>,
    /// Flags with which it only reads the code (`bash -n`).
    pub unless: Vec<FlagTest>,
}
