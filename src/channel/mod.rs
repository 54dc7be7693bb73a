//! Where a person is asked.
//!
//! What belongs here: opening the terminal, waiting for an answer, and giving the terminal back as it was. What the
//! card looks like is the business of [`crate::ui`]; what an answer means, of the callers.

mod alarm;
mod asking;
pub mod bell;
pub mod confirm;
mod dialog;
pub mod full;
mod keys;
pub mod line;
mod lock;
mod screen;
pub mod ssh_keygen;
pub mod terminal;
mod tty;
mod word;
