//! One file per verb: the only floor that knows the order of things.

pub mod config;
