#[path = "promises/config.rs"]
mod config;
