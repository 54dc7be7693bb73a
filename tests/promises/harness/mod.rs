//! What the promises need to hold a program to its word.

pub mod home;
pub mod program;
pub mod pty;
mod start;
pub mod tools;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod trace;
