//! The judge of `guard`, by itself: everything is in [`judge`].

#[path = "mod.rs"]
pub mod judge;
