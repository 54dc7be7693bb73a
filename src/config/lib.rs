//! The configuration of `guard`, by itself: everything is in [`config`].

pub use guard_judge::judge;

#[path = "mod.rs"]
pub mod config;
