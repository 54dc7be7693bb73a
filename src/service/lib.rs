//! The protocol of guard's own service, as a crate of its own: everything is in [`service`].

pub use guard_judge::judge;
pub use guard_store::store;

#[path = "mod.rs"]
pub mod service;
