//! The socket itself: where it stands, and whose process is at its other end.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use guard_system::CLOSED_ON_EXEC;
pub use guard_system::{Credentials, credentials};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockType, UnixAddr, connect, setsockopt, socket, sockopt};
use nix::sys::time::{TimeVal, TimeValLike as _};

/// Connects. A service that takes nobody in is waited for no longer than `patience`.
///
/// # Errors
/// Nobody listens there, or nobody answers.
pub fn reach(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let end: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, CLOSED_ON_EXEC, None)?;
    // Where a socket cannot be made so.
    fcntl(&end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    let time = TimeVal::milliseconds(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
    setsockopt(&end, sockopt::SendTimeout, &time)?;
    connect(std::os::fd::AsRawFd::as_raw_fd(&end), &UnixAddr::new(path)?)?;
    Ok(UnixStream::from(end))
}

/// Listens at a place where everybody may speak. What a service that ended left there is taken away.
///
/// # Errors
/// Somebody listens there already, or the place cannot be used.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another process already listens there"));
    }
    match std::fs::symlink_metadata(path) {
        Ok(about) if std::os::unix::fs::FileTypeExt::is_socket(&about.file_type()) => std::fs::remove_file(path)?,
        Ok(_) => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is not a socket")),
        Err(_) => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}
