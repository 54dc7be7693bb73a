//! The judge: values in, values out. No I/O, no clock, no randomness, no printing, no unsafe code.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods)]

pub mod approved;
pub mod facts;
pub mod invocation;
pub mod policy;
pub mod risk;
pub mod rules;
pub mod syntax;
