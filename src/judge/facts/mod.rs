//! From a tree to acts: what would run, with quoting, wrappers and nesting gone.
//!
//! What may not enter: I/O and opinion. A fact is never "dangerous".

pub mod act;
pub mod arguments;
mod arithmetic;
mod braces;
mod builtins;
pub mod class;
pub mod code;
mod command;
mod compound;
mod disguise;
pub mod effect;
mod expand;
mod foreign;
mod frame;
pub mod hosts;
mod leads;
mod output;
mod parameter;
pub mod paths;
mod pattern;
mod program;
pub mod question;
mod recipes;
mod redirect;
mod shells;
mod split;
mod state;
mod streams;
#[cfg(test)]
mod testing;
pub mod value;
mod walk;
mod wrappers;

pub use walk::work_out;
