//! Parses a command string as a shell would. The result is a tree or one error.
//!
//! Out of scope: evaluation, knowledge of programs, recovery from errors.

mod arithmetic;
mod assignment;
mod compound;
mod conditional;
mod cursor;
mod dollar;
mod escape;
mod fill;
mod heredoc;
mod list;
mod loops;
mod parameter;
mod quote;
mod redirect;
mod reserved;
mod simple;
mod source;
mod word;
mod zsh;

pub mod fish;
pub mod limits;
pub mod parser;
pub mod structured;
pub mod tree;
pub mod visit;

pub use parser::{Completeness, completeness, parse, parse_source};
pub use source::{Source, lines_before};
