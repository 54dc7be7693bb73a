//! Passes file descriptors over the socket, so that the output of a verb goes to the client that requested it.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use guard_system::RECEIVED_CLOSED_ON_EXEC;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, UnixAddr, recvmsg, sendmsg};

/// Sends the descriptors of standard output and standard error.
///
/// # Errors
/// The other end does not receive them.
pub fn send(stream: &UnixStream, files: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    let files = files.map(|file| file.as_raw_fd());
    let message = [ControlMessage::ScmRights(&files)];
    sendmsg::<UnixAddr>(stream.as_raw_fd(), &[IoSlice::new(b".")], &message, MsgFlags::empty(), None)?;
    Ok(())
}

/// Receives the descriptors that [`send`] sends.
///
/// # Errors
/// The other end sent something else, or nothing in time.
pub fn receive(stream: &UnixStream) -> io::Result<[OwnedFd; 2]> {
    let mut byte = [0];
    let mut space = nix::cmsg_space!([RawFd; 2]);
    let mut slices = [IoSliceMut::new(&mut byte)];
    let message = recvmsg::<UnixAddr>(stream.as_raw_fd(), &mut slices, Some(&mut space), RECEIVED_CLOSED_ON_EXEC)?;
    let mut files = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(fds) = part {
            // SAFETY: the kernel has just created these descriptors for this process, and nothing else owns them.
            files.extend(fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    files.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}
