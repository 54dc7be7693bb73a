//! The socket: connecting to its path and listening on it.

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

/// Connects. Waits at most `patience` if the service does not accept the connection.
///
/// # Errors
/// Nothing listens at the path, or it does not accept in time.
pub fn reach(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let end: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, CLOSED_ON_EXEC, None)?;
    // Not every system can create a socket with this flag set.
    fcntl(&end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    let time = TimeVal::milliseconds(i64::try_from(patience.as_millis()).unwrap_or(i64::MAX));
    setsockopt(&end, sockopt::SendTimeout, &time)?;
    connect(std::os::fd::AsRawFd::as_raw_fd(&end), &UnixAddr::new(path)?)?;
    Ok(UnixStream::from(end))
}

/// Listens at a path to which every account may connect. Removes the socket of a service that has exited.
///
/// # Errors
/// A process already listens there, or the path cannot be used.
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
