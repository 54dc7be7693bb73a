//! The record and the queue of `guard`, by themselves: everything is in [`store`].

pub use guard_judge::judge;

#[path = "mod.rs"]
pub mod store;
