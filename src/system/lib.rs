//! The system calls that differ between Linux and macOS. Only this crate distinguishes the two systems.
//!
//! Both modules have the same names. What a system does not offer is expressed by the value that callers treat most
//! strictly: an unknown process, no number, an error. Out of scope: anything that POSIX has, and starting programs.

#[cfg(target_os = "linux")]
#[path = "linux/mod.rs"]
mod here;

#[cfg(target_os = "macos")]
#[path = "macos/mod.rs"]
mod here;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("guard runs on Linux and on macOS; src/system has no module for this system");

pub use here::*;

/// An account, as the system's account database contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub name: String,
    pub home: std::path::PathBuf,
    pub shell: std::path::PathBuf,
}

/// Returns the directory for programs' data: `$XDG_DATA_HOME` (on Linux), else the system's directory for it below
/// `$HOME`. `None` without a home: the library would query the C library's accounts, whose modules can end a static
/// program.
#[must_use]
pub fn data_directory() -> Option<std::path::PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    directories::BaseDirs::new().map(|directories| directories.data_dir().to_owned())
}

/// The process at the other end of a socket, according to the kernel: the one that connected, or that began to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub pid: i32,
    pub uid: u32,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    /// The name that the kernel has, on Linux at most 15 bytes; empty if it is unknown.
    pub name: String,
    /// The start time in clock ticks since the machine started; zero if it is unknown. It distinguishes a process from
    /// a later one with the same number.
    pub started: u64,
}

impl Process {
    /// Returns a name that no other process has or had: number, start time, and start of the machine. `None` if the
    /// start time is unknown.
    #[must_use]
    pub fn unique_name(&self) -> Option<String> {
        (self.started > 0).then(|| format!("{}.{}.{}", self.pid, self.started, processes::boot()))
    }
}

/// The session and the terminal of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The leader of its session.
    pub leader: i32,
    /// Whether it has a controlling terminal, and is in the foreground there.
    pub terminal: bool,
}
