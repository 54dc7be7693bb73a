//! Where a person is asked.
//!
//! In scope: opening the terminal, waiting for an answer, and giving the terminal back as it was. What the
//! card looks like is the business of [`crate::ui`]; what an answer means, of the callers.

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
