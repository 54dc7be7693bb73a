//! Checks for a newer version of guard by running a program that the account configures (`update.command`). Only `guard
//! status` and `guard doctor` do this, at most once a day. guard itself connects to no server.
//!
//! Out of scope: any use of the network, and installing an update.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::engine::Engine;
use crate::exec::notice::{self, PLACES};
use crate::exec::probe::Probe;

/// This version.
pub const OWN: &str = env!("CARGO_PKG_VERSION");

/// The time limit of the program.
const LIMIT: Duration = Duration::from_secs(5);

/// The number of seconds for which a result is cached.
const A_DAY: i64 = 24 * 60 * 60;

/// The longest text that is accepted as a version, in bytes.
const LONGEST: usize = 40;

/// The name of the cache file, which is beside the record.
const FILE: &str = "newest-version.json";

/// The last update check, as it is cached.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CachedCheck {
    /// The time of the check, in seconds since 1970.
    asked: i64,
    command: Vec<String>,
    #[serde(rename = "said")]
    output: CheckOutput,
}

/// The result of the update check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutput {
    Version(String),
    Failed(String),
}

impl CheckOutput {
    /// Returns the version if it is newer than this one.
    #[must_use]
    pub fn newer(&self) -> Option<&str> {
        match self {
            Self::Version(version) if is_newer(version, OWN) => Some(version),
            Self::Version(_) | Self::Failed(_) => None,
        }
    }
}

/// Returns the output of the program, possibly cached within the last day, or `None` if no program is configured.
#[must_use]
pub fn newest(engine: &Engine) -> Option<CheckOutput> {
    let argv = &engine.policy().update_command;
    argv.first()?;
    let directory = engine.paths().ok()?.directory().to_owned();
    let now = Timestamp::now().as_second();
    let kept =
        std::fs::read(directory.join(FILE)).ok().and_then(|text| serde_json::from_slice::<CachedCheck>(&text).ok());
    // A time in the future comes from a clock that was wrong.
    if let Some(kept) = kept.filter(|kept| (now - A_DAY..=now).contains(&kept.asked) && kept.command == *argv) {
        return Some(kept.output);
    }
    let said = asked(engine, argv);
    keep(&directory, &CachedCheck { asked: now, command: argv.clone(), output: said.clone() });
    Some(said)
}

/// Caches a result. If this fails, the program runs again the next time.
fn keep(directory: &Path, kept: &CachedCheck) {
    let Ok(text) = serde_json::to_vec(kept) else { return };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    let draft = directory.join(format!("{FILE}.new"));
    let _ =
        made.and_then(|()| std::fs::write(&draft, text)).and_then(|()| std::fs::rename(&draft, directory.join(FILE)));
}

fn asked(engine: &Engine, argv: &[String]) -> CheckOutput {
    let account = &engine.caller.account;
    let home = account.home.as_deref();
    let program = argv.first().and_then(|program| notice::find(program, home));
    let Some(program) = program else {
        return CheckOutput::Failed(format!("{} not found", argv.first().map_or("", String::as_str)));
    };
    let words = argv.iter().skip(1).map(OsString::from);
    let argv: Vec<OsString> = [program.into_os_string()].into_iter().chain(words).collect();
    let mut env: Vec<(OsString, OsString)> = vec![("PATH".into(), PLACES.join(":").into())];
    env.extend(home.map(|home| ("HOME".into(), home.into())));
    let cwd = home.unwrap_or(Path::new("/"));
    match (Probe { argv: &argv, env: &env, cwd, limit: LIMIT }).with_input("") {
        Ok(seen) if seen.late => CheckOutput::Failed(format!("no answer within {} s", LIMIT.as_secs())),
        Ok(seen) if seen.code == Some(0) => version(&seen.stdout).map_or_else(
            || CheckOutput::Failed("it printed no version".to_owned()),
            |version| CheckOutput::Version(version.to_owned()),
        ),
        Ok(_) => CheckOutput::Failed("it failed".to_owned()),
        Err(error) => CheckOutput::Failed(error.to_string()),
    }
}

/// Parses the version in the first line, with or without a leading `v`.
fn version(text: &str) -> Option<&str> {
    let line = text.trim().lines().next()?.trim();
    let version = line.strip_prefix('v').unwrap_or(line);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
    (version.len() <= LONGEST && version.starts_with(|c: char| c.is_ascii_digit()) && version.chars().all(plain))
        .then_some(version)
}

/// Reports whether one version is newer than another: by their numbers, and a release is newer than its pre-releases.
fn is_newer(one: &str, other: &str) -> bool {
    let parts = |version: &str| {
        let version = version.split('+').next().unwrap_or_default().to_owned();
        let (numbers, before) = match version.split_once('-') {
            Some((numbers, before)) => (numbers.to_owned(), Some(before.to_owned())),
            None => (version, None),
        };
        let mut numbers: Vec<u64> = numbers.split('.').map(|number| number.parse().unwrap_or(0)).collect();
        numbers.resize(4, 0);
        (numbers, before.is_none(), before)
    };
    parts(one) > parts(other)
}

#[cfg(test)]
mod tests {
    use super::{is_newer, version};

    #[test]
    fn versions_are_read_and_compared_by_their_numbers() {
        assert_eq!(version("v0.10.0\nmore\n"), Some("0.10.0"));
        for none in ["", "<html>", "newest", "1.0; rm -rf x", &"1".repeat(50)] {
            assert_eq!(version(none), None, "{none}");
        }
        for (one, other, newer) in [
            ("0.10.0", "0.9.9", true),
            ("0.1.0", "0.1.0", false),
            ("0.1", "0.1.0", false),
            ("0.0.9", "0.1.0", false),
            ("1.0.0", "1.0.0-rc.1", true),
            ("1.0.0-rc.1", "1.0.0", false),
            ("0.1.0+build", "0.1.0", false),
        ] {
            assert_eq!(is_newer(one, other), newer, "{one} {other}");
        }
    }
}
