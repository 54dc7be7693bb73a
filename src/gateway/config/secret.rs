//! Locations of secrets: the configuration contains the location, and never the secret.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;

use super::SecretError;

/// The time limit for a command to print a secret. A password manager may ask a person first.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interval between two checks whether a command that closed its output has exited.
const LOOK: Duration = Duration::from_millis(5);

/// The maximum length of the output of a command, in bytes.
const LONGEST: u64 = 64 << 10;

/// The location of a secret. The secret is read when it is needed, and never shown.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// A file that only its owner can read.
    File(PathBuf),
    /// A command that prints the secret.
    Command(Vec<String>),
    /// The account's keyring, under this name.
    Keyring(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "Secret({})", path.display()),
            Self::Command(words) => write!(f, "Secret({})", words.first().map_or("", String::as_str)),
            Self::Keyring(name) => write!(f, "Secret({name} of the keyring)"),
        }
    }
}

impl Secret {
    /// Reads the secret.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or if other accounts can read it too.
    pub fn read(&self) -> Result<String, SecretError> {
        use std::os::unix::fs::MetadataExt as _;
        let text = match self {
            Self::File(path) => {
                let told = |error| SecretError::File { path: path.clone(), error };
                let mode = std::fs::metadata(path).map_err(told)?.mode();
                if mode & 0o077 != 0 {
                    return Err(SecretError::ReadableByOthers(path.clone()));
                }
                std::fs::read_to_string(path).map_err(told)?
            }
            Self::Keyring(name) => return crate::keyring::read(name).map_err(SecretError::from),
            Self::Command(words) => printed(words, PATIENCE)?,
        };
        let text = text.trim();
        if text.is_empty() { Err(SecretError::Empty) } else { Ok(text.to_owned()) }
    }
}

/// Returns the output of a command. The command has no standard input, and a process group of its own, which is killed
/// on a timeout, because a child could hold the output open.
fn printed(words: &[String], timeout: Duration) -> Result<String, SecretError> {
    let (program, arguments) = words.split_first().ok_or(SecretError::NoCommand)?;
    let told = |error| SecretError::Program { program: program.clone(), error };
    let until = Instant::now() + timeout;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn().map_err(told)?;
    let out = child.stdout.take();
    let (send, read) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let done = out.map_or(Ok(0), |out| out.take(LONGEST + 1).read_to_end(&mut bytes));
        // The receiver may have given up.
        let _ = send.send(done.map(|_| bytes));
    });
    let read = read.recv_timeout(timeout);
    let status = loop {
        match child.try_wait().map_err(told)? {
            Some(status) if read.is_ok() => break Some(status),
            None if read.is_ok() && Instant::now() < until => thread::sleep(LOOK),
            _ => break None,
        }
    };
    let Some(status) = status else {
        if let Ok(group) = i32::try_from(child.id()) {
            // The process may have just exited.
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        child.wait().map_err(told)?;
        return Err(SecretError::TookTooLong { program: program.clone(), seconds: timeout.as_secs() });
    };
    if !status.success() {
        return Err(SecretError::Failed { program: program.clone(), status });
    }
    let bytes = read.unwrap_or_else(|_| Ok(Vec::new())).map_err(told)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST) {
        return Err(SecretError::TooLong(program.clone()));
    }
    String::from_utf8(bytes).map_err(|_| SecretError::NoText(program.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let pid = directory.path().join("pid");
        // The shell prints and then waits, exits but leaves a child that holds its output open, or closes its output
        // and keeps running.
        for script in [
            "echo x; sleep 60 & echo $! > \"$0\"; wait",
            "sleep 60 & echo $! > \"$0\"",
            "exec >&-; echo $$ > \"$0\"; sleep 60",
        ] {
            let begun = Instant::now();
            let why =
                printed(&words(&["sh", "-c", script, pid.to_str().unwrap()]), Duration::from_secs(1)).unwrap_err();
            assert_eq!(why.to_string(), "sh printed no secret within 1 s", "{script}");
            assert!(begun.elapsed() < Duration::from_secs(10), "{script}");
            let left: i32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
            let is_there = || {
                let shown = Command::new("ps").args(["-o", "stat=", "-p", &left.to_string()]).output().unwrap();
                let state = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
                !state.is_empty() && !state.starts_with('Z')
            };
            while is_there() && begun.elapsed() < Duration::from_secs(10) {
                thread::sleep(LOOK);
            }
            assert!(!is_there(), "{script}: {left} still runs");
        }
    }

    #[test]
    fn a_command_that_prints_too_much_gives_no_secret() {
        let much = printed(&words(&["head", "-c", "70000", "/dev/zero"]), PATIENCE);
        // The command may have been killed by SIGPIPE, because its remaining output was not read.
        assert!(matches!(much, Err(SecretError::TooLong(_) | SecretError::Failed { .. })), "{much:?}");
        assert!(matches!(printed(&words(&["printf", "\\377"]), PATIENCE), Err(SecretError::NoText(_))));
        assert!(matches!(printed(&[], PATIENCE), Err(SecretError::NoCommand)));
    }

    #[test]
    fn a_secret_that_others_can_read_is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "abc\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Secret::File(path.clone()).read().unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Secret::File(path).read().ok().as_deref(), Some("abc"));
        assert_eq!(Secret::Command(vec!["echo".into(), "x".into()]).read().ok().as_deref(), Some("x"));
        assert!(Secret::Command(vec!["false".into()]).read().is_err());
    }
}
