//! The configuration of guard as a package of its own. Its API is in [`config`].

pub use guard_judge::judge;

#[path = "mod.rs"]
pub mod config;
