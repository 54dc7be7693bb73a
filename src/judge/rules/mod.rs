//! Rules as data: the pattern file format, the catalog of programs and rules, and matching.
//!
//! What may not enter: rules written as code.

pub mod model;
