#[path = "promises/asking.rs"]
mod asking;
#[path = "promises/config.rs"]
mod config;
#[path = "promises/identity.rs"]
mod identity;
#[path = "promises/world.rs"]
mod world;
#[path = "promises/harness/mod.rs"]
mod harness;
