//! The command takes guard's place: its signals, its job control and its exit code are its own.

use super::ExecError;
use super::prepare::Prepared;
use super::preserve::Inherited;
use crate::judge::approved::{Approved, Receipt};

/// Becomes the approved command. Returns only when that is impossible.
///
/// For commands that nobody was asked about. After an error guard can do no more than report it and end: signals are
/// then as the command would have found them.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "an approval is used once")]
pub fn replace(approved: Approved, _receipt: Receipt, inherited: &Inherited) -> ExecError {
    let mut command = match Prepared::new(approved.invocation(), inherited) {
        Ok(command) => command,
        Err(error) => return error,
    };
    inherited.restore();
    let number = command.exec();
    command.failure(number)
}
