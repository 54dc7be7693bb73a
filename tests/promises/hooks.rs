//! What a hook is told is what the agent understands: the real program, fed as each agent feeds it.
//!
//! Each dialect has a file of exchanges beside this one. `GUARD_UPDATE=1 cargo test hooks` writes the answers anew; look
//! at what changed.

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
