//! Rules as data: the pattern file format, the catalog of programs and rules, and matching.
//!
//! What may not enter: rules written as code.

pub mod glob;
pub mod model;
pub mod text;
