//! The calls that differ between Linux and macOS, and the only place that asks which of the two it is.
//!
//! Both modules have the same names. What the system does not offer is said by the value that the callers read strictly:
//! a process that is not known, no number, an error. Out of scope: anything that POSIX has, and starting a program.

#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod here;

#[cfg(target_os = "macos")]
#[path = "macos/mod.rs"]
mod here;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("guard runs on Linux and on macOS; src/system has no module for this system");

pub use here::*;

/// An account, as the system's own look-up gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub name: String,
    pub home: std::path::PathBuf,
    pub shell: std::path::PathBuf,
}

/// Where programs keep their data: `$XDG_DATA_HOME` (on Linux), else the system's directory for it below `$HOME`. `None`
/// without a home: the library would ask the C library's accounts, whose modules can end a static program.
#[must_use]
pub fn data_directory() -> Option<std::path::PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    directories::BaseDirs::new().map(|directories| directories.data_dir().to_owned())
}

/// A process at the other end of a socket, as the kernel knows it: the one that connected, or that began to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub pid: i32,
    pub uid: u32,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// As the kernel knows it, on Linux at most 15 bytes; empty where it does not tell.
    pub name: String,
    /// When it was started, in clock ticks since the machine was; zero where the kernel does not tell. Tells a process
    /// from a later one of the same number.
    pub started: u64,
}

impl Process {
    /// A name that no other process has or had: number, start, and start of the machine. `None` where the system does
    /// not tell when a process was started.
    #[must_use]
    pub fn unique_name(&self) -> Option<String> {
        (self.started > 0).then(|| format!("{}.{}.{}", self.pid, self.started, processes::boot()))
    }
}

/// Where a process sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The leader of its session.
    pub leader: i32,
    /// It has a controlling terminal, and is in the foreground there.
    pub terminal: bool,
}
