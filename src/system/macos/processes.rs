//! Processes, where there is no `/proc`: only guard itself and its parent are known. An agent further up is then
//! known by the marks that it leaves in the environment.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;

use crate::{Process, Seat};

/// What is known of a process.
#[must_use]
pub fn process(pid: i32) -> Option<Process> {
    let own = pid == nix::unistd::getpid().as_raw();
    own.then(|| Process { pid, parent: nix::unistd::getppid().as_raw(), name: String::new(), started: 0 })
}

/// Not known.
#[must_use]
pub fn seat(_pid: i32, _uid: u32) -> Option<Seat> {
    None
}

/// Not known.
#[must_use]
pub fn arguments(_pid: i32) -> Vec<String> {
    Vec::new()
}

/// Not known.
#[must_use]
pub fn environment(_pid: i32) -> Vec<(OsString, OsString)> {
    Vec::new()
}

/// Device and inode of the file that a process runs; known of guard alone.
#[must_use]
pub fn executable(pid: i32) -> Option<(u64, u64)> {
    let own = pid == nix::unistd::getpid().as_raw();
    let path = own.then(std::env::current_exe)?.ok()?;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Not known.
#[must_use]
pub fn running(_: (u64, u64)) -> Vec<i32> {
    Vec::new()
}

/// Not known.
#[must_use]
pub fn holders(_terminal: u64) -> Vec<i32> {
    Vec::new()
}

/// Not known.
#[must_use]
pub fn children() -> Vec<i32> {
    Vec::new()
}

/// Whether a process of this number lives: when it was started is not known.
#[must_use]
pub fn lives(name: &str) -> bool {
    let pid: Option<i32> = name.split('.').next().and_then(|pid| pid.parse().ok());
    pid.is_some_and(|pid| nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok())
}

/// Not known.
#[must_use]
pub fn boot() -> String {
    String::new()
}

/// Not known: see [`Process::started`].
#[must_use]
pub fn time_of(_: u64) -> Option<std::time::SystemTime> {
    None
}
