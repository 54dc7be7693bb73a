//! Messengers that speak their real protocols on this machine, with their faults.

mod discord;
mod server;
mod telegram;
mod told;
