//! Tests that each agent understands the answers of its hook: the real program gets the input that each agent writes.
//!
//! Each dialect has a file of exchanges beside this one. `GUARD_UPDATE=1 cargo test hooks` rewrites the answers; review
//! the changes.

#[path = "hooks/damaged.rs"]
mod damaged;
#[path = "hooks/exchanges.rs"]
mod exchanges;
#[path = "hooks/failing.rs"]
mod failing;
#[path = "hooks/files.rs"]
mod files;
#[path = "hooks/once.rs"]
mod once;
#[path = "hooks/plugins.rs"]
mod plugins;
#[path = "hooks/stage.rs"]
pub mod stage;
#[path = "hooks/traps.rs"]
mod traps;
#[path = "hooks/typing.rs"]
mod typing;
#[path = "hooks/waiting.rs"]
mod waiting;

pub use stage::{fed, hook};
