//! The options of a shell: what a caller that takes guard for a shell has asked for.
//!
//! What may not enter: judging and running. This reads arguments and keeps them as they were, so that
//! the real shell gets the same.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use thiserror::Error;

/// A shell's command line, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// Everything in front of the command string, as given, `-c` included.
    pub options: Vec<OsString>,
    /// The command string.
    pub text: OsString,
    /// `$0`, `$1`, …
    pub positional: Vec<OsString>,
}

/// Why arguments are no call with a command string.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShellCallError {
    #[error("-c: option requires an argument")]
    NoCommand,
    #[error("{0}: option requires an argument")]
    NoValue(String),
    #[error("{0}: unknown option; see `guard --help`")]
    UnknownOption(String),
    #[error("only command strings are run: guard {options} -c 'COMMAND'")]
    NoCommandString { options: String },
}

/// Long options of bash that take no value.
const LONG: &[&str] = &[
    "--debugger",
    "--dump-po-strings",
    "--dump-strings",
    "--login",
    "--noediting",
    "--noprofile",
    "--norc",
    "--posix",
    "--restricted",
    "--verbose",
];

/// Long options of bash that take a value.
const LONG_WITH_VALUE: &[&str] = &["--init-file", "--rcfile"];

/// Letters of `set` and of the invocation that take no value.
const LETTERS: &[u8] = b"abcefghiklmnprstuvxBCDEHPT";

impl ShellCall {
    /// Reads the arguments after the shell's name as bash 5.2 reads them.
    ///
    /// # Errors
    /// [`ShellCallError`] when there is no command string, or an option that bash does not have.
    pub fn read(arguments: &[OsString]) -> Result<Self, ShellCallError> {
        let shown = |word: &OsStr| word.to_string_lossy().into_owned();
        let mut command = false;
        let mut at = 0;
        while let Some(argument) = arguments.get(at) {
            let bytes = argument.as_bytes();
            match bytes {
                b"--" | b"-" => {
                    at += 1;
                    break;
                }
                _ if bytes.starts_with(b"--") => {
                    let name = shown(argument);
                    if LONG_WITH_VALUE.contains(&name.as_str()) {
                        at += 1;
                        arguments.get(at).ok_or(ShellCallError::NoValue(name))?;
                    } else if !LONG.contains(&name.as_str()) {
                        return Err(ShellCallError::UnknownOption(name));
                    }
                    at += 1;
                }
                [b'-' | b'+', letters @ ..] if !letters.is_empty() => {
                    let mut values = 0;
                    for letter in letters {
                        match letter {
                            b'c' => command |= bytes[0] == b'-',
                            b'o' | b'O' => values += 1,
                            letter if LETTERS.contains(letter) => {}
                            _ => return Err(ShellCallError::UnknownOption(shown(argument))),
                        }
                    }
                    at += 1 + values;
                    if at > arguments.len() {
                        return Err(ShellCallError::NoValue(shown(argument)));
                    }
                }
                _ => break,
            }
        }
        let options = arguments.get(..at).unwrap_or_default().to_vec();
        let mut rest = arguments.get(at..).unwrap_or_default().iter().cloned();
        if !command {
            let options = options.iter().map(|option| shown(option)).collect::<Vec<_>>().join(" ");
            return Err(ShellCallError::NoCommandString { options });
        }
        let text = rest.next().ok_or(ShellCallError::NoCommand)?;
        Ok(Self { options, text, positional: rest.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<ShellCall, ShellCallError> {
        ShellCall::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_spelling_of_the_command_option_that_bash_takes_is_read() {
        for words in [
            &["-c", "ls"][..],
            &["-lc", "ls"],
            &["-ic", "ls"],
            &["-c", "-l", "ls"],
            &["-l", "-c", "ls"],
            &["--norc", "--noprofile", "-c", "ls"],
            &["-o", "pipefail", "-c", "ls"],
            &["-eo", "pipefail", "-c", "ls"],
            &["-lO", "extglob", "-c", "ls"],
            &["+O", "extglob", "-lc", "ls"],
            &["+e", "-c", "ls"],
            &["-c", "--", "ls"],
            &["-ec", "ls"],
        ] {
            let call = read(words).unwrap();
            assert_eq!(call.text, "ls", "{words:?}");
            assert_eq!(call.options.len() + 1, words.len(), "{words:?}");
        }
    }

    #[test]
    fn what_follows_the_string_is_positional() {
        let call = read(&["-c", "echo $1", "name", "-x"]).unwrap();
        assert_eq!(call.positional, ["name", "-x"]);
    }

    #[test]
    fn a_missing_string_is_an_error() {
        assert_eq!(read(&["-c"]), Err(ShellCallError::NoCommand));
        assert_eq!(read(&["-o"]), Err(ShellCallError::NoValue("-o".into())));
        assert!(matches!(read(&["script.sh"]), Err(ShellCallError::NoCommandString { .. })));
        assert!(matches!(read(&["--nonsense"]), Err(ShellCallError::UnknownOption(_))));
    }
}
