//! Notifies systemd of the state of the service: a datagram to the socket that systemd names (`sd_notify(3)`).

use std::io;
use std::os::unix::net::UnixDatagram;

/// Sends a state such as `READY=1` or `STOPPING=1`. Does nothing if systemd does not ask for it.
///
/// # Errors
/// systemd asks for it, but the datagram cannot be sent.
pub fn tell(state: &str) -> io::Result<()> {
    let Some(place) = std::env::var_os("NOTIFY_SOCKET") else { return Ok(()) };
    let socket = UnixDatagram::unbound()?;
    guard_system::send_datagram(&socket, state.as_bytes(), &place)
}
