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
    guard_system::send_datagram(&socket, state.as_bytes(), &place)
}
