//! Messengers that speak their real protocols on this machine, with their faults.

mod discord;
pub mod server;
mod slack;
mod telegram;
mod told;
