//! Rules as data: the pattern file format, and the catalog of programs and rules.
//!
//! Out of scope: rules written as code, and matching (`matcher`).

pub mod blob;
pub mod catalog;
pub mod explanations;
pub mod expression;
pub mod glob;
mod index;
pub mod languages;
mod lazy;
pub mod line_commands;
pub mod model;
mod packages;
pub mod problem;
pub mod secrets;
pub mod shell_languages;
pub mod source;
pub mod source_files;
pub mod subs;
pub mod text;
#[cfg(test)]
mod word_list_source;
pub(crate) mod word_lists;
