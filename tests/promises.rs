#[path = "promises/config.rs"]
mod config;
#[path = "promises/world.rs"]
mod world;
