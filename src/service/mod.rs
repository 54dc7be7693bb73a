//! The protocol of guard's own service: messages over a Unix socket, one per line, limited in size and in time. Each
//! side gets the identity of the other from the kernel.
//!
//! Out of scope: which client may make which request, and what the service records.

pub mod client;
pub mod fd_passing;
pub mod gateway;
pub mod line;
pub mod message;
pub mod notify;
pub mod socket;

/// The systemd unit. `@PROGRAM@` is a placeholder for the path of guard.
pub const UNIT: &str = include_str!("guard.service");
