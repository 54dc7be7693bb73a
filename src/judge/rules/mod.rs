//! Rules as data: the pattern file format, the catalog of programs and rules, and matching.
//!
//! What may not enter: rules written as code.

pub mod blob;
pub mod catalog;
pub mod expression;
pub mod glob;
mod index;
mod lazy;
pub mod matcher;
pub mod model;
mod packages;
pub mod problem;
pub mod secrets;
pub mod source;
pub mod subs;
pub mod text;
