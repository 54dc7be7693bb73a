//! Exit codes of `guard -- …` and `guard -c …`. A command that ran gives its own.

use std::io;

/// It may run (`guard check`).
pub const ALLOW: u8 = 0;
/// A person would be asked (`guard check`).
pub const ASK: u8 = 1;
/// It would be refused (`guard check`).
pub const DENY: u8 = 2;
/// It does not run without a word. An editor of lines makes room for that first, and asks again (`guard line`).
pub const NOT_UNASKED: u8 = 4;
/// It waits in the queue, and nobody waits for it.
pub const QUEUED: u8 = 75;
/// guard itself failed, or was called wrongly.
pub const FAILED: u8 = 125;
/// Refused, or found and not executable.
pub const REFUSED: u8 = 126;
/// Not found.
pub const NOT_FOUND: u8 = 127;

/// The code of a verb that has printed what it found. A reader who stops reading has seen enough: the code stays.
///
/// # Errors
/// Printing failed for another reason.
pub fn after(printed: io::Result<()>, code: u8) -> io::Result<u8> {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(code),
    }
}
