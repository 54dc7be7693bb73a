//! Provides the harness of the promises.

pub mod home;
pub mod program;
pub mod pty;
mod start;
pub mod tools;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod trace;
