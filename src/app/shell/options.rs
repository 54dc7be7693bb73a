//! Parses the options of bash, sh and zsh as each of these shells does.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::{CommandSource, ShellCall, ShellCallError};
use crate::judge::syntax::tree::Dialect;

/// Long options of bash that take no value. bash also accepts them with one dash before all short options.
const LONG: &[&str] = &[
    "debug",
    "debugger",
    "dump-po-strings",
    "dump-strings",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "pretty-print",
    "restricted",
    "verbose",
    "wordexp",
];

/// Long options of bash that take a value.
const LONG_WITH_VALUE: &[&str] = &["init-file", "rcfile"];

/// Letters of bash's `set` and invocation that take no value.
const BASH: &[u8] = b"abcefhiklmnprstuvxBCDEHPT";
/// Option letters of dash that take no value.
const SH: &[u8] = b"abcefilmnpqsuvxCEIV";

/// The state of parsing.
#[derive(Default)]
struct OptionParser {
    command: bool,
    stdin: bool,
    interactive: bool,
    login: bool,
    /// Whether an option only prints something and exits.
    nothing: bool,
}

pub(super) fn read(dialect: Dialect, arguments: &[OsString]) -> Result<ShellCall, ShellCallError> {
    let mut reading = OptionParser::default();
    let at = match dialect {
        Dialect::Bash => reading.bash(arguments)?,
        Dialect::Sh => reading.short(arguments, 0, SH, b"o")?,
        Dialect::Zsh => reading.zsh(arguments)?,
    };
    let mut options = arguments.get(..at).unwrap_or_default().to_vec();
    let mut rest = arguments.get(at..).unwrap_or_default().iter().cloned();
    let reads = if reading.nothing {
        options.extend(rest.by_ref());
        CommandSource::Nothing
    } else if reading.command {
        CommandSource::Text(rest.next().ok_or(ShellCallError::NoCommand)?)
    } else if reading.stdin {
        CommandSource::Stdin
    } else {
        rest.next().map_or(CommandSource::Stdin, CommandSource::Script)
    };
    let OptionParser { interactive, login, .. } = reading;
    Ok(ShellCall { options, reads, positional: rest.collect(), interactive, login })
}

fn shown(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

impl OptionParser {
    /// Returns the index of the first operand.
    fn bash(&mut self, arguments: &[OsString]) -> Result<usize, ShellCallError> {
        let mut at = 0;
        while let Some(argument) = arguments.get(at) {
            let bytes = argument.as_bytes();
            let Some(name) = bytes.strip_prefix(b"-").filter(|name| !name.is_empty() && *name != b"-") else { break };
            let is_long = name.starts_with(b"-");
            let name = String::from_utf8_lossy(name.strip_prefix(b"-").unwrap_or(name)).into_owned();
            if LONG_WITH_VALUE.contains(&name.as_str()) {
                at += 1;
                arguments.get(at).ok_or_else(|| ShellCallError::NoValue(shown(argument)))?;
            } else if matches!(name.as_str(), "version" | "help") {
                self.nothing = true;
                return Ok(at + 1);
            } else if LONG.contains(&name.as_str()) {
                self.login |= name == "login";
            } else if is_long {
                return Err(ShellCallError::UnknownOption(shown(argument)));
            } else {
                break;
            }
            at += 1;
        }
        self.short(arguments, at, BASH, b"oO")
    }

    /// Parses the option letters of one word. The values of some are in the following words.
    fn short(
        &mut self,
        arguments: &[OsString],
        mut at: usize,
        known: &[u8],
        with_value: &[u8],
    ) -> Result<usize, ShellCallError> {
        while let Some(argument) = arguments.get(at) {
            let letters = match argument.as_bytes() {
                b"--" | b"-" => return Ok(at + 1),
                [b'-' | b'+', letters @ ..] => letters,
                _ => break,
            };
            at += 1;
            for letter in letters {
                if with_value.contains(letter) {
                    // Without a value the shell lists its options.
                    self.nothing |= arguments.get(at).is_none();
                    at += 1;
                } else if known.contains(letter) {
                    self.letter(*letter);
                } else {
                    return Err(ShellCallError::UnknownOption(shown(argument)));
                }
            }
        }
        Ok(at.min(arguments.len()))
    }

    fn letter(&mut self, letter: u8) {
        match letter {
            b'c' => self.command = true,
            b's' => self.stdin = true,
            b'i' => self.interactive = true,
            b'l' => self.login = true,
            _ => {}
        }
    }

    fn zsh(&mut self, arguments: &[OsString]) -> Result<usize, ShellCallError> {
        let mut at = 0;
        while let Some(argument) = arguments.get(at) {
            let bytes = argument.as_bytes();
            at += 1;
            match bytes {
                b"--" | b"-" | b"+" => return Ok(at),
                b"--version" | b"--help" if at == 1 => {
                    self.nothing = true;
                    return Ok(at);
                }
                b"--emulate" if at == 1 => {
                    at += 1;
                    arguments.get(at - 1).ok_or_else(|| ShellCallError::NoValue(shown(argument)))?;
                }
                [b'-' | b'+', b'-', name @ ..]
                    if name.iter().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte)) =>
                {
                    self.zsh_option(name);
                }
                [b'-' | b'+', letters @ ..] => {
                    let mut ends = false;
                    for (index, letter) in letters.iter().enumerate() {
                        match letter {
                            b'b' => ends = true,
                            b'o' => {
                                let attached = letters.get(index + 1..).unwrap_or_default();
                                if attached.is_empty() {
                                    let value =
                                        arguments.get(at).ok_or_else(|| ShellCallError::NoValue(shown(argument)))?;
                                    self.zsh_option(value.as_bytes());
                                    at += 1;
                                } else {
                                    self.zsh_option(attached);
                                }
                                break;
                            }
                            letter if letter.is_ascii_alphanumeric() => self.letter(*letter),
                            _ => return Err(ShellCallError::UnknownOption(shown(argument))),
                        }
                    }
                    if ends {
                        return Ok(at);
                    }
                }
                _ => return Ok(at - 1),
            }
        }
        Ok(at)
    }

    /// Parses an option by its name, ignoring case, `-` and `_`.
    fn zsh_option(&mut self, name: &[u8]) {
        let name: Vec<u8> = name.iter().filter(|byte| !b"-_".contains(byte)).map(u8::to_ascii_lowercase).collect();
        match name.as_slice() {
            b"shinstdin" => self.stdin = true,
            b"interactive" => self.interactive = true,
            b"login" => self.login = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dialect: Dialect, words: &[&str]) -> Result<ShellCall, ShellCallError> {
        ShellCall::read(dialect, &words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    /// Every call runs `printf '%s.' "$0" "$@"` or similar. Checks that the argument which guard parses as the command
    /// is the one that the real shell runs.
    fn agrees_with_the_real_shell(dialect: Dialect, program: &str, calls: &[&[&str]]) {
        const TEXT: &str = "printf %s ran";
        if std::process::Command::new(program).arg("-c").arg(":").output().is_err() {
            assert!(std::env::var_os("GUARD_TESTS_NEED_ALL_TOOLS").is_none(), "{program} is not installed");
            return;
        }
        for words in calls {
            let words: Vec<&str> = words.iter().map(|word| if *word == "CMD" { TEXT } else { word }).collect();
            let output = std::process::Command::new(program)
                .args(&words)
                .stdin(std::process::Stdio::null())
                .env("HOME", "/nonexistent")
                .output()
                .unwrap();
            let ran = output.stdout.ends_with(b"ran");
            let read = read(dialect, &words);
            let is_text = read.as_ref().is_ok_and(|call| call.reads == CommandSource::Text(TEXT.into()));
            assert_eq!(is_text, ran, "{program} {words:?}: {read:?}, {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    #[test]
    fn what_is_taken_for_the_command_string_is_what_the_real_shell_runs() {
        let both: &[&[&str]] = &[
            &["-c", "CMD"],
            &["+c", "CMD"],
            &["-ec", "CMD"],
            &["-ce", "CMD"],
            &["+e", "-c", "CMD"],
            &["-c", "-e", "CMD"],
            &["-c", "+e", "CMD"],
            &["-c", "--", "CMD"],
            &["-c", "-", "CMD"],
            &["-sc", "CMD"],
            &["-c", "CMD", "-x"],
            &["-c", "-x", "--", "CMD", "name"],
            &["--", "-c", "CMD"],
            &["-", "-c", "CMD"],
            &["-x", "CMD"],
            &["CMD", "-c", "CMD"],
            &["-c"],
        ];
        let posix: &[&[&str]] = &[
            &["-o", "errexit", "-c", "CMD"],
            &["-co", "errexit", "CMD"],
            &["-oc", "errexit", "CMD"],
            &["-eo", "nounset", "-c", "CMD"],
            &["-c", "-o", "errexit", "CMD"],
            &["-oo", "errexit", "nounset", "-c", "CMD"],
            &["-b", "-c", "CMD"],
            &["-lc", "CMD"],
        ];
        let bash: &[&[&str]] = &[
            &["-norc", "-c", "CMD"],
            &["-norc", "CMD", "errexit", "CMD"],
            &["--norc", "--noprofile", "-c", "CMD"],
            &["-noprofile", "-lc", "CMD"],
            &["-x", "--norc", "-c", "CMD"],
            &["-login", "-c", "CMD"],
            &["--rcfile", "-c", "-c", "CMD"],
            &["-rcfile", "-c", "CMD"],
            &["-lO", "extglob", "-c", "CMD"],
            &["+O", "extglob", "-lc", "CMD"],
            &["-oO", "errexit", "extglob", "-c", "CMD"],
            &["-posix", "-ec", "CMD"],
            &["-c", "--norc", "CMD"],
            &["-verbose", "-c", "CMD"],
        ];
        let zsh: &[&[&str]] = &[
            &["-fc", "CMD"],
            &["-f", "-c", "CMD"],
            &["-o", "errexit", "-c", "CMD"],
            &["-oerrexit", "-c", "CMD"],
            &["-coerrexit", "CMD"],
            &["-c", "-oerrexit", "CMD"],
            &["-c", "-o", "errexit", "CMD"],
            &["-oc", "CMD"],
            &["-b", "-c", "CMD"],
            &["-bc", "CMD"],
            &["-cb", "CMD"],
            &["--no-rcs", "-c", "CMD"],
            &["-c", "--no-rcs", "CMD"],
            &["--emulate", "sh", "-c", "CMD"],
            &["-3c", "CMD"],
            &["-lc", "CMD"],
        ];
        for calls in [both, posix, bash] {
            agrees_with_the_real_shell(Dialect::Bash, "bash", calls);
        }
        for calls in [both, posix] {
            agrees_with_the_real_shell(Dialect::Sh, "dash", calls);
        }
        for calls in [both, zsh] {
            agrees_with_the_real_shell(Dialect::Zsh, "zsh", calls);
        }
    }

    #[test]
    fn the_options_in_front_are_kept_as_they_were_given() {
        let call = read(Dialect::Bash, &["-l", "-o", "pipefail", "-c", "echo $1", "name", "-x"]).unwrap();
        assert_eq!(call.options, ["-l", "-o", "pipefail", "-c"]);
        assert_eq!(call.reads, CommandSource::Text("echo $1".into()));
        assert_eq!(call.positional, ["name", "-x"]);
        assert!(call.login && !call.interactive);
    }

    #[test]
    fn scripts_standard_input_and_what_only_prints_are_told_apart() {
        let reads = |words: &[&str]| read(Dialect::Bash, words).unwrap().reads;
        assert_eq!(reads(&["-x", "script.sh", "-c", "no"]), CommandSource::Script("script.sh".into()));
        assert_eq!(reads(&["--", "-c"]), CommandSource::Script("-c".into()));
        assert_eq!(reads(&[]), CommandSource::Stdin);
        assert_eq!(reads(&["-s", "one", "two"]), CommandSource::Stdin);
        assert_eq!(reads(&["-i"]), CommandSource::Stdin);
        assert_eq!(reads(&["--version"]), CommandSource::Nothing);
        assert_eq!(reads(&["-o"]), CommandSource::Nothing);
        assert_eq!(read(Dialect::Zsh, &["--version"]).unwrap().reads, CommandSource::Nothing);
    }

    #[test]
    fn an_option_that_is_not_known_is_an_error() {
        assert_eq!(read(Dialect::Bash, &["-c"]), Err(ShellCallError::NoCommand));
        assert_eq!(read(Dialect::Zsh, &["-o"]), Err(ShellCallError::NoValue("-o".into())));
        for words in [&["--nonsense"][..], &["-Z", "-c", "x"], &["-x", "--norc"]] {
            assert!(matches!(read(Dialect::Bash, words), Err(ShellCallError::UnknownOption(_))), "{words:?}");
        }
        assert!(matches!(read(Dialect::Sh, &["--login"]), Err(ShellCallError::UnknownOption(_))));
    }
}
