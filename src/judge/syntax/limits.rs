//! The limits of the parser. They count bytes, levels and steps, not time, so that the same input gets the same result
//! under any load. Exceeding each is a separate error, and none of them means "allow".

/// The maximum size of a parsed text, such as a script, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The maximum size of a command line that consists of several lines, in bytes. With each of its lines, guard checks
/// again whether it is complete.
pub const MAX_LINE: usize = 256 * 1024;

/// The maximum nesting depth, in levels. It must fit in a stack of 256 KiB.
pub const MAX_DEPTH: u32 = 100;

/// Returns the maximum number of steps for a text of `len` bytes.
#[must_use]
pub const fn max_steps(len: usize) -> u64 {
    4096 + 64 * len as u64
}
