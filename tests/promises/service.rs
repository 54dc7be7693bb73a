//! Tests the record and the queue under their own account: agents ask, only named people answer.

#[path = "service/answering.rs"]
mod answering;
#[path = "service/failing.rs"]
mod failing;
#[path = "service/gateway.rs"]
mod gateway;
#[path = "service/lying.rs"]
mod lying;
#[path = "service/machine.rs"]
pub mod machine;
#[path = "service/standing_up.rs"]
mod standing_up;
