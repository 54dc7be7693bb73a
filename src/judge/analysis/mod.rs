//! From a tree to acts: what would run, with quoting, wrappers and nesting gone.
//!
//! What may not enter: I/O and opinion. A fact is never "dangerous".

pub mod act;
pub mod arguments;
mod arithmetic;
mod assignment;
mod braces;
mod branches;
mod builtins;
mod change;
pub mod class;
pub mod code;
mod command;
mod compound;
mod declare;
mod decode;
mod destinations;
mod disguise;
pub mod effect;
mod embedded_calls;
mod enclosing;
pub mod env;
mod expand;
pub mod fuel;
mod function;
mod heuristic_wrappers;
mod homoglyphs;
pub mod hosts;
mod indirection;
mod input;
mod links;
mod lists;
pub mod lookup;
mod map;
mod marked;
mod numbered;
mod output;
mod parameter;
pub mod paths;
mod pattern;
mod program;
pub mod question;
mod recipes;
mod redirect;
mod scripts;
mod search;
mod search_results;
mod secret_names;
mod shells;
mod split;
mod state;
mod stdout_model;
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
