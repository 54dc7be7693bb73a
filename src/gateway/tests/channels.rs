//! Messengers that speak their real protocols on this machine, with their faults.

mod adding;
mod cards;
pub mod discord;
mod email;
mod escalation;
mod examples;
mod load;
mod one_way;
pub mod server;
pub mod slack;
mod socket;
pub mod telegram;
