//! Carrying messages to collectors of logs: journald, syslog, OpenTelemetry; and remembering what was carried.
//!
//! What may not enter: the record, and what a message says. Where a caller may not wait, datagrams are sent that are
//! taken at once or not at all.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

pub mod http;
pub mod journald;
pub mod position;
pub mod syslog;

pub use position::Position;

/// A socket that takes whole messages.
pub trait Datagrams {
    /// Hands a message over.
    ///
    /// # Errors
    /// It was not taken: nobody is there, the other side is full, or the message is too long for it.
    fn send(&self, message: &[u8]) -> io::Result<()>;
}

impl Datagrams for UnixDatagram {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        whole(Self::send(self, message)?, message)
    }
}

impl Datagrams for UdpSocket {
    fn send(&self, message: &[u8]) -> io::Result<()> {
        whole(Self::send(self, message)?, message)
    }
}

fn whole(taken: usize, message: &[u8]) -> io::Result<()> {
    if taken == message.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// A datagram socket of this machine. Sending to it does not wait.
///
/// # Errors
/// Nobody listens there.
pub fn unix(path: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect(path)?;
    Ok(socket)
}

/// A UDP socket to a host. A name is looked up, which may wait; sending does not.
///
/// # Errors
/// The host is not known, or not to be reached.
pub fn udp(host: &str, port: u16) -> io::Result<UdpSocket> {
    let address = addresses(host, port)?.into_iter().next().ok_or_else(|| unknown(host))?;
    let here: IpAddr = if address.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(here, 0))?;
    socket.set_nonblocking(true)?;
    socket.connect(address)?;
    Ok(socket)
}

/// Where a host is to be found. A name is looked up, which may wait.
///
/// # Errors
/// The host is not known.
fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => looked_up(host, port)?,
    };
    if found.is_empty() { Err(unknown(host)) } else { Ok(found) }
}

fn unknown(host: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"))
}

/// `getent` is asked for names: a program that is linked statically cannot load the modules that know them.
#[cfg(target_os = "linux")]
fn looked_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let program = ["/usr/bin/getent", "/bin/getent", "/run/current-system/sw/bin/getent"];
    let program = program.into_iter().find(|path| Path::new(path).exists()).ok_or_else(|| unknown(host))?;
    let mut command = std::process::Command::new(program);
    command.args(["ahosts", "--", host]).env_clear().stdin(std::process::Stdio::null());
    let answer = String::from_utf8_lossy(&command.output()?.stdout).into_owned();
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in answer.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()) {
        let address = SocketAddr::new(address, port);
        if !found.contains(&address) {
            found.push(address);
        }
    }
    Ok(found)
}

#[cfg(not(target_os = "linux"))]
fn looked_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok(std::net::ToSocketAddrs::to_socket_addrs(&(host, port))?.collect())
}

/// Whether a message was not taken because it is too long.
#[must_use]
pub fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}
