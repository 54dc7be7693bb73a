//! The command replaces guard, so that its signals, its job control and its exit code are its own.

use super::ExecError;
use super::prepare::Prepared;
use super::preserve::Inherited;
use crate::judge::approved::{Approved, Receipt};

/// Replaces guard by the approved command. It returns only if that fails.
///
/// It is for commands that run without a prompt. After an error guard can only report it and end, because signals have
/// the dispositions for the command.
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
