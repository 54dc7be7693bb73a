//! The judge of guard as a package of its own. Its API is in [`judge`].

#[path = "mod.rs"]
pub mod judge;
