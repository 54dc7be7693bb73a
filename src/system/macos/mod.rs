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

/// Whether the system is macOS, where some programs keep their files in other places.
pub const IS_MACOS: bool = true;

/// The directory for data below a home.
pub const DATA: &str = "Library/Application Support";

/// The programs that look up accounts and hosts if the system's own look-up cannot be called.
pub const LOOK_UP: &[&str] = &[];

/// The highest signal number.
pub const LAST_SIGNAL: c_int = 31;

/// The flag with which a socket is closed on exec from its creation on. macOS has none.
pub const CLOSED_ON_EXEC: SockFlag = SockFlag::empty();

/// The same flag for received descriptors.
pub const RECEIVED_CLOSED_ON_EXEC: MsgFlags = MsgFlags::empty();

/// The interval at which a watched file is checked.
const PACE: Duration = Duration::from_millis(250);

/// Makes the loader call a function before `main`. It has the type `extern "C" fn()`, and uses nothing that is not
/// ready by then.
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

/// Returns an account by its name or number, from the system's own look-up.
#[must_use]
pub fn account(key: &str) -> Option<Account> {
    let found = match key.parse::<u32>() {
        Ok(uid) => User::from_uid(uid.into()),
        Err(_) => User::from_name(key),
    };
    let user = found.ok().flatten()?;
    Some(Account { uid: user.uid.as_raw(), name: user.name, home: user.dir, shell: user.shell })
}

/// Returns the addresses of a host, from the system's own look-up.
#[must_use]
pub fn addresses(host: &str, port: u16) -> Option<io::Result<Vec<SocketAddr>>> {
    Some((host, port).to_socket_addrs().map(Iterator::collect))
}

/// Reports whether a process sent a signal. The kernel's own signals have pid 0.
#[must_use]
pub const fn was_sent(about: &libc::siginfo_t) -> bool {
    about.si_pid != 0
}

/// Returns the address of this thread's `errno`.
#[must_use]
pub fn errno_place() -> *mut c_int {
    // SAFETY: the C library's own accessor.
    unsafe { libc::__error() }
}

/// Returns the environment of this process: a null-terminated array of strings.
#[must_use]
pub fn environ() -> *const *const c_char {
    // SAFETY: the system library's own accessor.
    unsafe { (*libc::_NSGetEnviron()).cast_const().cast() }
}

/// Returns `None`: the path is unknown.
#[must_use]
pub const fn started_by() -> Option<OsString> {
    None
}

/// Returns `false`: the system does not support this with one call.
#[must_use]
pub const fn close_from(_first: c_int) -> bool {
    false
}

/// Returns `false`: the system does not support this with one call.
#[must_use]
pub const fn close_on_exec_from(_first: c_int) -> bool {
    false
}

/// Does nothing: the capacity cannot be set.
pub const fn set_pipe_size(_pipe: BorrowedFd<'_>, _bytes: c_int) {}

/// Returns `false`: this cannot be set, so that it need not be restored.
#[must_use]
pub const fn is_open_to_others() -> bool {
    false
}

/// Does nothing: this cannot be set.
pub const fn set_open_to_others(_open: bool) {}

/// Does nothing: this cannot be set.
pub const fn adopt_orphans(_adopts: bool) {}

/// Returns whether a program may insert keys into the input of its own terminal. macOS always allows it and has no
/// setting for it.
#[must_use]
pub const fn lets_keys_be_injected() -> Option<bool> {
    None
}

/// Returns the time of a clock that continues while the machine sleeps.
#[must_use]
pub fn steady_clock() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_MONOTONIC).ok().map(Duration::from)
}

/// Returns `None`: the number is unknown.
#[must_use]
pub const fn terminal_number(_terminal: BorrowedFd<'_>) -> Option<u64> {
    None
}

/// Returns the process at the other end.
///
/// # Errors
/// Always: only Linux identifies the process.
pub fn credentials(_stream: &UnixStream) -> io::Result<Credentials> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Sends a datagram to a socket.
///
/// # Errors
/// No socket of this name is open.
pub fn send_datagram(socket: &UnixDatagram, bytes: &[u8], to: &OsStr) -> io::Result<()> {
    socket.send_to(bytes, to).map(drop)
}

/// Calls `told` at each change of a file in a directory that has this name, or this name and `-wal`, until it returns
/// `false`.
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

/// Reports whether a directory is on a file system that several machines, or a process in user space, may change. A
/// file system of unknown type counts as local.
#[must_use]
pub fn is_shared(directory: &Path) -> bool {
    nix::sys::statfs::statfs(directory).is_ok_and(|about| {
        ["nfs", "smbfs", "afpfs", "webdav", "osxfuse", "macfuse", "fusefs"].contains(&about.filesystem_type_name())
    })
}
