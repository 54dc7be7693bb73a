//! Exit codes of `guard -- …` and `guard -c …`. A command that ran returns its own.

use std::io;

/// The command may run (`guard check`).
pub const ALLOW: u8 = 0;
/// guard would ask a person (`guard check`).
pub const ASK: u8 = 1;
/// guard would refuse the command (`guard check`).
pub const DENY: u8 = 2;
/// guard would ask or print. A line editor makes room first and calls again (`guard line`).
pub const NOT_UNASKED: u8 = 4;
/// The request is in the queue, and no process waits for it.
pub const QUEUED: u8 = 75;
/// guard itself failed, or was used incorrectly.
pub const FAILED: u8 = 125;
/// The command was refused, or was found but is not executable.
pub const REFUSED: u8 = 126;
/// The command was not found.
pub const NOT_FOUND: u8 = 127;

/// Returns the exit code of a verb after printing. A reader that stops reading does not change the code.
///
/// # Errors
/// Printing failed for another reason.
pub fn after(printed: io::Result<()>, code: u8) -> io::Result<u8> {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(code),
    }
}
