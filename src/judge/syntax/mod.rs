//! Reading a command string as a shell would: bytes in, a tree or one error out.
//!
//! What may not enter: evaluation, knowledge of programs, recovery from errors.

pub mod limits;
pub mod parser;
pub mod tree;

pub use parser::parse;
