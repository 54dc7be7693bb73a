//! macOS.

pub mod processes;

use std::ffi::{OsStr, OsString, c_char, c_int};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::BorrowedFd;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::{MsgFlags, SockFlag};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::User;

use super::{Account, Credentials};

/// Whether files that a program keeps elsewhere on macOS are looked for there.
pub const IS_MACOS: bool = true;

/// The directory for data below a home.
pub const DATA: &str = "Library/Application Support";

/// The programs that look up accounts and hosts, where the system's own look-up cannot be called.
pub const LOOK_UP: &[&str] = &[];

/// The highest signal number there is.
pub const LAST_SIGNAL: c_int = 31;

/// What has a socket closed when a program starts, from its first moment on: nothing has.
pub const CLOSED_ON_EXEC: SockFlag = SockFlag::empty();

/// The same for descriptors that are received.
pub const RECEIVED_CLOSED_ON_EXEC: MsgFlags = MsgFlags::empty();

/// How often a watched file is looked at.
const PACE: Duration = Duration::from_millis(250);

/// Has the loader call a function before `main`: of type `extern "C" fn()`, in need of nothing that is not ready by then.
#[macro_export]
macro_rules! before_main {
    ($function:path) => {
        // SAFETY: the section holds pointers to functions that the loader calls with arguments that one which takes none
        // may leave unread under the C calling convention.
        #[used]
        #[unsafe(link_section = "__DATA,__mod_init_func")]
        static BEFORE_MAIN: extern "C" fn() = $function;
    };
}

/// An account by its name or number, as the system's own look-up gives it.
#[must_use]
pub fn account(key: &str) -> Option<Account> {
    let found = match key.parse::<u32>() {
        Ok(uid) => User::from_uid(uid.into()),
        Err(_) => User::from_name(key),
    };
    let user = found.ok().flatten()?;
    Some(Account { uid: user.uid.as_raw(), name: user.name, home: user.dir, shell: user.shell })
}

/// The addresses of a host, as the system's own look-up gives them.
#[must_use]
pub fn addresses(host: &str, port: u16) -> Option<io::Result<Vec<SocketAddr>>> {
    Some((host, port).to_socket_addrs().map(Iterator::collect))
}

/// Whether a process sent a signal: the kernel's own come from pid 0.
#[must_use]
pub const fn was_sent(about: &libc::siginfo_t) -> bool {
    about.si_pid != 0
}

/// Where this thread's `errno` is.
#[must_use]
pub fn errno_place() -> *mut c_int {
    // SAFETY: the C library's own accessor.
    unsafe { libc::__error() }
}

/// The environment of this process: a null-terminated array of strings.
#[must_use]
pub fn environ() -> *const *const c_char {
    // SAFETY: the system library's own accessor.
    unsafe { (*libc::_NSGetEnviron()).cast_const().cast() }
}

/// Not known.
#[must_use]
pub const fn started_by() -> Option<OsString> {
    None
}

/// Not at once.
#[must_use]
pub const fn close_from(_first: c_int) -> bool {
    false
}

/// Not at once.
#[must_use]
pub const fn close_on_exec_from(_first: c_int) -> bool {
    false
}

/// Cannot be set.
pub const fn set_pipe_size(_pipe: BorrowedFd<'_>, _bytes: c_int) {}

/// Cannot be set, so nothing is to be opened again.
#[must_use]
pub const fn is_open_to_others() -> bool {
    false
}

/// Cannot be set.
pub const fn set_open_to_others(_open: bool) {}

/// Cannot be set: they are left alone.
pub const fn adopt_orphans(_adopts: bool) {}

/// Whether a program may put keys into the input of its own terminal: macOS always lets it, and has no setting for it.
#[must_use]
pub const fn lets_keys_be_injected() -> Option<bool> {
    None
}

/// The time by a clock that goes on while the machine sleeps.
#[must_use]
pub fn steady_clock() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_MONOTONIC).ok().map(Duration::from)
}

/// Not known.
#[must_use]
pub const fn terminal_number(_terminal: BorrowedFd<'_>) -> Option<u64> {
    None
}

/// Who is at the other end.
///
/// # Errors
/// Always: which process it is can be told on Linux alone.
pub fn credentials(_stream: &UnixStream) -> io::Result<Credentials> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Sends a datagram to a socket.
///
/// # Errors
/// Nobody listens there.
pub fn send_datagram(socket: &UnixDatagram, bytes: &[u8], to: &OsStr) -> io::Result<()> {
    socket.send_to(bytes, to).map(drop)
}

/// Calls it at each change of a file in a directory that has this name, or this name and `-wal`, until it returns false.
///
/// # Errors
/// None.
pub fn watch(directory: &Path, name: &str, told: impl Fn() -> bool) -> io::Result<()> {
    let names = [name.to_owned(), format!("{name}-wal")];
    let times =
        || names.each_ref().map(|name| std::fs::metadata(directory.join(name)).and_then(|it| it.modified()).ok());
    let mut before = times();
    loop {
        std::thread::sleep(PACE);
        let now = times();
        if std::mem::replace(&mut before, now) != now && !told() {
            return Ok(());
        }
    }
}

/// Whether a directory lies on a file system that several machines, or a process in user space, may change. One that does
/// not tell its kind does not.
#[must_use]
pub fn is_shared(directory: &Path) -> bool {
    nix::sys::statfs::statfs(directory).is_ok_and(|about| {
        ["nfs", "smbfs", "afpfs", "webdav", "osxfuse", "macfuse", "fusefs"].contains(&about.filesystem_type_name())
    })
}
