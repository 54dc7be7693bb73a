//! The record and the queue of guard as a package of its own. Its API is in [`store`].

pub use guard_judge::judge;

#[path = "mod.rs"]
pub mod store;
