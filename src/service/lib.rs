//! The way to guard's own service, by itself: everything is in [`service`].

pub use guard_judge::judge;
pub use guard_store::store;

#[path = "mod.rs"]
pub mod service;
