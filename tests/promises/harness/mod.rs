//! What the promises need to hold a program to its word.

pub mod home;
pub mod pty;
