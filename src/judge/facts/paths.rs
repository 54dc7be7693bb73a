//! Path classes: what kind of place a path names.
//!
//! What may not enter: I/O. A path is classed by its text, the working directory and what the world
//! answered; an unknown path has the class [`PathClass::Dynamic`].

pub use super::class::{PathClass, PathClasses};
