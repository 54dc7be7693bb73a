//! Converts values to styled lines: what users see of commands and decisions.
//!
//! All text of commands, pattern files and people passes through [`visible`], so that no line contains a raw control
//! character.
//!
//! Out of scope: I/O, clocks and decisions. Colours, widths and times are parameters.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros))]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros))]

pub mod card;
pub mod card_view;
pub mod command;
pub mod count;
pub mod diff;
pub mod explain;
pub mod foot;
mod glyph;
pub mod json;
mod lookalike;
pub mod parts;
pub mod pending;
pub mod review;
pub mod style;
pub mod verdict;
pub mod visible;
mod why;
pub mod wrap;

pub use self::why::{circumstance_words, undo_words};
