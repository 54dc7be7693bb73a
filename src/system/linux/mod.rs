//! Linux.

pub mod processes;

use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::time::Duration;

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::prctl;
use nix::sys::socket::{MsgFlags, SockFlag, getsockopt, sockopt};
use nix::time::{ClockId, clock_gettime};

use super::{Account, Credentials};

/// Whether the system is macOS, where some programs keep their files in other places.
pub const IS_MACOS: bool = false;

/// The directory for data below a home.
pub const DATA: &str = ".local/share";

/// The programs that look up accounts and hosts if the C library cannot: a static program cannot load the modules for
/// this, and some of them end the program when it tries.
pub const LOOK_UP: &[&str] = &["/usr/bin/getent", "/bin/getent", "/run/current-system/sw/bin/getent"];

/// The highest signal number.
pub const LAST_SIGNAL: c_int = 64;

/// The flag with which a socket is closed on exec from its creation on.
pub const CLOSED_ON_EXEC: SockFlag = SockFlag::SOCK_CLOEXEC;

/// The same flag for received descriptors.
pub const RECEIVED_CLOSED_ON_EXEC: MsgFlags = MsgFlags::MSG_CMSG_CLOEXEC;

mod request {
    nix::ioctl_read_bad!(device, libc::TIOCGDEV, libc::c_uint);
}

/// Makes the loader call a function before `main`. It has the type `extern "C" fn()`, and uses nothing that is not
/// ready by then.
#[macro_export]
macro_rules! before_main {
    ($function:path) => {
        // SAFETY: the section holds pointers to functions that the loader calls with arguments that one which takes none
        // may leave unread under the C calling convention.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static BEFORE_MAIN: extern "C" fn() = $function;
    };
}

/// Returns an account by its name or number, from the system's own look-up; `None` if [`LOOK_UP`] is used instead.
#[must_use]
pub const fn account(_key: &str) -> Option<Account> {
    None
}

/// Returns the addresses of a host, from the system's own look-up; `None` if [`LOOK_UP`] is used instead.
#[must_use]
pub const fn addresses(_host: &str, _port: u16) -> Option<io::Result<Vec<SocketAddr>>> {
    None
}

/// Reports whether a process sent a signal. On Linux the code is then not positive (a process of another namespace has
/// pid 0).
#[must_use]
pub const fn was_sent(about: &libc::siginfo_t) -> bool {
    about.si_code <= 0
}

/// Returns the address of this thread's `errno`.
#[must_use]
pub fn errno_place() -> *mut c_int {
    // SAFETY: the C library's own accessor.
    unsafe { libc::__errno_location() }
}

/// Returns the environment of this process: a null-terminated array of strings.
#[must_use]
pub fn environ() -> *const *const c_char {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: POSIX has every process define it.
    unsafe { environ }
}

/// Returns the path by which this program was started, whatever name its caller passed.
#[must_use]
pub fn started_by() -> Option<OsString> {
    // SAFETY: if it is not null, the kernel's value points to a string that lives as long as the process.
    let path = unsafe {
        let path = libc::getauxval(libc::AT_EXECFN) as *const c_char;
        (!path.is_null()).then(|| CStr::from_ptr(path))
    };
    path.map(|path| OsString::from_vec(path.to_bytes().to_vec()))
}

/// Closes all descriptors from a number on, with one system call. Returns `false` if the system does not support that.
#[must_use]
pub fn close_from(first: c_int) -> bool {
    // SAFETY: the call takes numbers.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) == 0 }
}

/// Sets close-on-exec for all descriptors from a number on, with one system call. Returns `false` if the system does
/// not support that.
#[must_use]
pub fn close_on_exec_from(first: c_int) -> bool {
    // SAFETY: the call takes numbers.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 }
}

/// Sets the capacity of a pipe, as far as the system allows it.
pub fn set_pipe_size(pipe: BorrowedFd<'_>, bytes: c_int) {
    // SAFETY: sets what belongs to a descriptor that is open.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) };
}

/// Reports whether other processes of this account may read this process's memory and trace it.
#[must_use]
pub fn is_open_to_others() -> bool {
    prctl::get_dumpable().unwrap_or_default()
}

/// Sets whether other processes of this account may read this process's memory and trace it, and whether the system may
/// dump it. One system call.
pub fn set_open_to_others(open: bool) {
    // The call cannot fail with these values.
    let _ = prctl::set_dumpable(open);
}

/// Returns whether a program may insert keys into the input of its own terminal (`TIOCSTI`), according to the sysctl
/// `dev.tty.legacy_tiocsti`; `None` if the kernel has no such setting and therefore always allows it.
#[must_use]
pub fn lets_keys_be_injected() -> Option<bool> {
    let setting = std::fs::read("/proc/sys/dev/tty/legacy_tiocsti").ok()?;
    Some(setting.trim_ascii() != b"0")
}

/// Sets whether descendants of this process become its children when their parents end.
pub fn adopt_orphans(adopts: bool) {
    let _ = prctl::set_child_subreaper(adopts);
}

/// Returns the time of a clock that continues while the machine sleeps.
#[must_use]
pub fn steady_clock() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_BOOTTIME).ok().map(Duration::from)
}

/// Returns the device number of a terminal, from a descriptor of `/dev/tty`.
#[must_use]
pub fn terminal_number(terminal: BorrowedFd<'_>) -> Option<u64> {
    let mut device: libc::c_uint = 0;
    // SAFETY: TIOCGDEV writes one unsigned int through the pointer, which is valid for the call.
    unsafe { request::device(terminal.as_raw_fd(), &raw mut device) }.ok()?;
    Some(u64::from(device))
}

/// Returns the process at the other end.
///
/// # Errors
/// The system does not know it.
pub fn credentials(stream: &UnixStream) -> io::Result<Credentials> {
    let found = getsockopt(stream, sockopt::PeerCredentials)?;
    Ok(Credentials { pid: found.pid(), uid: found.uid() })
}

/// Sends a datagram to a socket. The name of an abstract socket begins with `@`.
///
/// # Errors
/// No socket of this name is open.
pub fn send_datagram(socket: &UnixDatagram, bytes: &[u8], to: &OsStr) -> io::Result<()> {
    match to.as_bytes().strip_prefix(b"@") {
        Some(name) => socket.send_to_addr(bytes, &std::os::unix::net::SocketAddr::from_abstract_name(name)?),
        None => socket.send_to(bytes, to),
    }
    .map(drop)
}

/// Calls `told` at each change of a file in a directory whose name begins with `name`, until it returns `false`.
///
/// # Errors
/// The directory cannot be watched.
pub fn watch(directory: &Path, name: &str, told: impl Fn() -> bool) -> io::Result<()> {
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC)?;
    inotify.add_watch(directory, AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_CREATE | AddWatchFlags::IN_DELETE)?;
    loop {
        let events = inotify.read_events()?;
        let ours = |found: &OsString| found.as_bytes().starts_with(name.as_bytes());
        if events.iter().any(|event| event.name.as_ref().is_some_and(ours)) && !told() {
            return Ok(());
        }
    }
}

/// Reports whether a directory is on a file system that several machines, or a process in user space, may change. A
/// file system of unknown type counts as local.
#[must_use]
pub fn is_shared(directory: &Path) -> bool {
    /// From linux/magic.h and the file systems' own headers: NFS, SMB (three generations), 9P, FUSE (sshfs and all
    /// others), Ceph, AFS (two), Coda, NCP, GFS2, OCFS2, Lustre, GPFS, VirtualBox, VMware.
    const SHARED: [u32; 17] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x00C3_6400,
        0x5346_414F,
        0x6B41_4653,
        0x7375_7245,
        0x564C,
        0x0116_1970,
        0x7461_636F,
        0x0BD0_0BD0,
        0x4750_4653,
        0x786F_4256,
        0xBACB_ACBC,
    ];
    let Ok(about) = nix::sys::statfs::statfs(directory) else { return false };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    let kind = about.filesystem_type().0 as u32;
    SHARED.contains(&kind)
}
