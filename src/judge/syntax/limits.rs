//! The limits of reading. They count bytes, levels and steps, never time: the same input gets the
//! same answer under any load. Each is an error of its own, and none ever means "allow".

/// The largest text that is read, in bytes: a script.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The largest command line of several lines, in bytes: whether it is complete is asked again with each of them.
pub const MAX_LINE: usize = 256 * 1024;

/// The deepest nesting, in levels. It must fit a stack of 256 KiB.
pub const MAX_DEPTH: u32 = 100;

/// How many steps a text of `len` bytes may take.
#[must_use]
pub const fn max_steps(len: usize) -> u64 {
    4096 + 64 * len as u64
}
