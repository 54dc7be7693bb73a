//! From a tree to acts: what would run, with quoting, wrappers and nesting gone.
//!
//! What may not enter: I/O and opinion. A fact is never "dangerous".

pub mod act;
pub mod arguments;
pub mod class;
pub mod effect;
pub mod hosts;
pub mod paths;
pub mod question;
pub mod value;
