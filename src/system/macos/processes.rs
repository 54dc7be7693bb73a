//! Processes without `/proc`: only guard itself and its parent are known. An agent further up is recognised by the
//! variables that it sets.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;

use crate::{Process, Seat};

/// Returns what is known about a process.
#[must_use]
pub fn process(pid: i32) -> Option<Process> {
    let own = pid == nix::unistd::getpid().as_raw();
    own.then(|| Process { pid, parent: nix::unistd::getppid().as_raw(), name: String::new(), started: 0 })
}

/// Returns `None`: unknown on this system.
#[must_use]
pub fn seat(_pid: i32, _uid: u32) -> Option<Seat> {
    None
}

/// Returns nothing: unknown on this system.
#[must_use]
pub fn arguments(_pid: i32) -> Vec<String> {
    Vec::new()
}

/// Returns nothing: unknown on this system.
#[must_use]
pub fn environment(_pid: i32) -> Vec<(OsString, OsString)> {
    Vec::new()
}

/// Returns the device and inode of the file that a process runs; known only for guard itself.
#[must_use]
pub fn executable(pid: i32) -> Option<(u64, u64)> {
    let own = pid == nix::unistd::getpid().as_raw();
    let path = own.then(std::env::current_exe)?.ok()?;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Returns nothing: unknown on this system.
#[must_use]
pub fn running(_: (u64, u64)) -> Vec<i32> {
    Vec::new()
}

/// Returns nothing: unknown on this system.
#[must_use]
pub fn holders(_terminal: u64) -> Vec<i32> {
    Vec::new()
}

/// Returns nothing: unknown on this system.
#[must_use]
pub fn children() -> Vec<i32> {
    Vec::new()
}

/// Reports whether a process of this number is alive. Its start time is unknown.
#[must_use]
pub fn lives(name: &str) -> bool {
    let pid: Option<i32> = name.split('.').next().and_then(|pid| pid.parse().ok());
    pid.is_some_and(|pid| nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok())
}

/// Returns an empty text: unknown on this system.
#[must_use]
pub fn boot() -> String {
    String::new()
}

/// Returns `None`: start times are unknown ([`Process::started`]).
#[must_use]
pub fn time_of(_: u64) -> Option<std::time::SystemTime> {
    None
}
