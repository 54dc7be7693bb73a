//! From a tree to acts: what would run, with quoting, wrappers and nesting gone.
//!
//! What may not enter: I/O and opinion. A fact is never "dangerous".

pub mod act;
pub mod arguments;
mod arithmetic;
mod assignment;
mod braces;
mod builtins;
mod change;
mod choices;
pub mod class;
pub mod code;
mod command;
mod compound;
mod declare;
mod decode;
mod disguise;
pub mod effect;
pub mod env;
mod expand;
mod foreign;
mod found;
mod frame;
pub mod fuel;
mod function;
mod guessed;
pub mod hosts;
mod input;
mod landing;
mod leads;
mod links;
mod lists;
mod looks;
pub mod lookup;
mod map;
mod marked;
mod naming;
mod output;
mod parameter;
pub mod paths;
mod pattern;
mod printed;
mod program;
pub mod question;
mod recipes;
mod redirect;
mod scripts;
mod search;
mod shells;
mod split;
mod state;
mod streams;
mod substitution;
pub mod terminals;
#[cfg(test)]
mod testing;
mod tool;
mod transform;
mod traps;
pub mod value;
mod walk;
mod windows;
mod wrappers;
mod written;

pub use walk::{TOO_LARGE, work_out};
