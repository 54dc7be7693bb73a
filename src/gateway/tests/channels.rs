//! Messengers that speak their real protocols on this machine, with their faults.

mod discord;
mod email;
pub mod server;
mod slack;
mod socket;
pub mod telegram;
mod told;
