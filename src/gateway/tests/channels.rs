//! Tests channels with local servers that implement the real protocols of the messengers, including their faults.

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
