//! Whether a person stands here: who answers is changed by one at their own terminal alone, never by an agent that would
//! make itself an approver. guard tells it, with its own knowledge of agents, terminals and what stands above.
//!
//! What may not enter: what is changed.

use std::process::Command;

use crate::submission;

/// Exit code of what was refused; why stands on standard error.
pub const REFUSED: u8 = 126;

/// True where a person stands here. Where not, guard has said why and has written the attempt down.
///
/// # Errors
/// guard cannot be asked, which is no yes.
pub fn is_here(doing: &str) -> Result<bool, String> {
    let guard = submission::guard()?;
    let status = Command::new(&guard).args(["person", "--"]).args(doing.split(' ')).status();
    let status = status.map_err(|error| format!("cannot start {}: {error}", guard.display()))?;
    match status.code() {
        Some(0) => Ok(true),
        Some(code) if code == i32::from(REFUSED) => Ok(false),
        _ => Err(format!("{} person: {status}", guard.display())),
    }
}
