//! What `guard` shows of a command, by itself: everything is in [`ui`].

pub use guard_judge::judge;

#[path = "mod.rs"]
pub mod ui;
