//! Telling systemd how the service stands: a datagram to the socket that it names (`sd_notify(3)`).

use std::io;
use std::os::unix::net::UnixDatagram;

/// Tells it `READY=1` or `STOPPING=1`. Nothing, where nobody wants to know.
///
/// # Errors
/// Somebody does and cannot be told.
pub fn tell(state: &str) -> io::Result<()> {
    let Some(place) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let socket = UnixDatagram::unbound()?;
    #[cfg(target_os = "linux")]
    if let Some(name) = place.as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt as _;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return socket.send_to_addr(state.as_bytes(), &address).map(drop);
    }
    socket.send_to(state.as_bytes(), place).map(drop)
}
