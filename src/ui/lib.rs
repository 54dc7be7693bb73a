//! The display of commands and verdicts as a package of its own. Its API is in [`ui`].

pub use guard_judge::judge;

#[path = "mod.rs"]
pub mod ui;
