//! Asks a person on the terminal.
//!
//! This module opens the terminal, waits for an answer, and restores the terminal. Out of scope: the appearance of the
//! card ([`crate::ui`]), and the meaning of an answer (the callers).

pub mod answer;
pub mod choose;
pub mod confirm;
mod dialog;
pub mod fullscreen;
mod handover;
mod keys;
pub mod line;
mod lock;
pub mod process_seal;
pub mod prompt_loop;
mod screen;
mod signal_watch;
pub mod split_screen;
pub mod terminal;
mod tty;
pub mod wakeup;
mod word;
