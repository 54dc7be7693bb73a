//! Sends messages to log collectors (journald, syslog, OpenTelemetry), and stores what was sent.
//!
//! Out of scope: the record, and the content of messages. A caller that may not wait sends datagrams, which are
//! accepted at once or not at all.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

pub mod http;
pub mod journald;
pub mod progress_file;
pub mod syslog;

pub use progress_file::ProgressFile;

/// A socket that accepts whole messages.
pub trait Datagrams {
    /// Sends a message.
    ///
    /// # Errors
    /// It was not accepted: there is no receiver, the receiver's buffer is full, or the message is too long.
    fn send(&self, message: &[u8]) -> io::Result<()>;
}

impl Datagrams for UnixDatagram {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        check_all_sent(Self::send(self, message)?, message)
    }
}

impl Datagrams for UdpSocket {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        check_all_sent(Self::send(self, message)?, message)
    }
}

fn check_all_sent(taken: usize, message: &[u8]) -> io::Result<()> {
    if taken == message.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Creates a datagram socket that is connected to a Unix socket. Sending does not wait.
///
/// # Errors
/// Nobody listens there.
pub fn unix(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect(path)?;
    Ok(socket)
}

/// Creates a UDP socket that is connected to the first of a host's addresses. Sending does not wait.
///
/// # Errors
/// There is no address, or it cannot be reached.
pub fn udp(host: &[SocketAddr]) -> io::Result<UdpSocket> {
    let address = host.first().ok_or(io::ErrorKind::NotFound)?;
    let here: IpAddr = if address.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(here, 0))?;
    socket.set_nonblocking(true)?;
    socket.connect(address)?;
    Ok(socket)
}

/// Reports whether a message was not accepted because it is too long.
#[must_use]
pub fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}
