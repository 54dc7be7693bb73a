//! Processes, where there is no `/proc`: only guard itself and its parent are known. An agent further up is then
//! known by the marks that it leaves in the environment.

use std::os::unix::fs::MetadataExt;

use crate::judge::invocation::Environment;

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// Empty: not known.
    pub name: String,
    /// Zero: not known.
    pub started: u64,
}

/// What is known of a process.
pub fn process(pid: i32) -> Option<Process> {
    let own = pid == nix::unistd::getpid().as_raw();
    own.then(|| Process { pid, parent: nix::unistd::getppid().as_raw(), name: String::new(), started: 0 })
}

/// Where a process sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    pub leader: i32,
    pub terminal: bool,
}

/// Not known.
pub fn seat(_pid: i32, _uid: u32) -> Option<Seat> {
    None
}

/// Not known.
pub fn arguments(_pid: i32) -> Vec<String> {
    Vec::new()
}

/// Not known.
pub fn environment(_pid: i32) -> Environment {
    Environment::default()
}

/// Device and inode of the file that a process runs; known of guard alone.
pub fn executable(pid: i32) -> Option<(u64, u64)> {
    let own = pid == nix::unistd::getpid().as_raw();
    let path = own.then(std::env::current_exe)?.ok()?;
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Not known.
pub fn running(_: (u64, u64)) -> Vec<i32> {
    Vec::new()
}

/// Not known.
pub fn holders(_terminal: u64) -> Vec<i32> {
    Vec::new()
}

/// Not known.
pub fn boot() -> String {
    String::new()
}

/// Not known: see [`Process::started`].
pub fn time_of(_: u64) -> Option<std::time::SystemTime> {
    None
}
