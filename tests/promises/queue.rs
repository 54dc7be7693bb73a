//! Tests the queue: commands wait without a person at the terminal, a person elsewhere answers, and each request runs
//! once or not at all.

#[path = "queue/answering.rs"]
mod answering;
#[path = "queue/asking.rs"]
mod asking;
#[path = "queue/failing.rs"]
mod failing;
#[path = "queue/inside.rs"]
mod inside;
#[path = "queue/notifying.rs"]
mod notifying;
#[path = "queue/racing.rs"]
mod racing;
#[path = "queue/stage.rs"]
pub mod stage;
#[path = "queue/stopped.rs"]
mod stopped;
