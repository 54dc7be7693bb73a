//! Handing open files over, so that what the service prints goes to whoever asked and to nobody else.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use guard_system::RECEIVED_CLOSED_ON_EXEC;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};

/// Hands over standard output and standard error.
///
/// # Errors
/// The other end does not take them.
pub fn send(stream: &UnixStream, files: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    let files = files.map(|file| file.as_raw_fd());
    let message = [ControlMessage::ScmRights(&files)];
    sendmsg::<UnixAddr>(stream.as_raw_fd(), &[IoSlice::new(b".")], &message, MsgFlags::empty(), None)?;
    Ok(())
}

/// Takes what [`send`] hands over.
///
/// # Errors
/// The other end gave something else, or nothing in time.
pub fn receive(stream: &UnixStream) -> io::Result<[OwnedFd; 2]> {
    let mut byte = [0];
    let mut space = nix::cmsg_space!([RawFd; 2]);
    let mut slices = [IoSliceMut::new(&mut byte)];
    let message = recvmsg::<UnixAddr>(stream.as_raw_fd(), &mut slices, Some(&mut space), RECEIVED_CLOSED_ON_EXEC)?;
    let mut files = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            // SAFETY: the kernel has just made these descriptors for this process, and nobody else knows of them.
            files.extend(fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    files.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}
