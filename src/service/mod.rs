//! Speaking to guard's own service and being spoken to: a Unix socket on which each side knows from the kernel who the
//! other is, one message a line, bounded in size and in time.
//!
//! Out of scope: who may say what, which the service decides, and what is written down for it.

pub mod client;
pub mod fd_passing;
pub mod gateway;
pub mod line;
pub mod message;
pub mod notify;
pub mod socket;

/// The systemd unit, with `@PROGRAM@` where guard's own path belongs.
pub const UNIT: &str = include_str!("guard.service");
