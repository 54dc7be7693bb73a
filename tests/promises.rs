#[path = "promises/asking.rs"]
mod asking;
#[path = "promises/config.rs"]
mod config;
#[path = "promises/drawing.rs"]
mod drawing;
#[path = "promises/harness/mod.rs"]
mod harness;
#[path = "promises/identity.rs"]
mod identity;
#[path = "promises/world.rs"]
mod world;
