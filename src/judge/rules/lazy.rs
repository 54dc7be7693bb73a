//! Values that are created on first use and then keep their address.
//!
//! Creating the container is cheap, regardless of its number of slots.

use std::cell::OnceCell;

const CHUNK: usize = 64;

type Chunk<T> = [OnceCell<Box<T>>; CHUNK];

/// A fixed number of slots, each filled on first access.
#[derive(Debug)]
pub struct Lazy<T> {
    chunks: Box<[OnceCell<Box<Chunk<T>>>]>,
}

impl<T> Lazy<T> {
    /// Creates `len` empty slots.
    #[must_use]
    pub fn new(len: usize) -> Self {
        Self { chunks: std::iter::repeat_with(OnceCell::new).take(len.div_ceil(CHUNK)).collect() }
    }

    /// Returns the value in the slot, created by `make` if it is empty; `None` if there is no such slot.
    pub fn get(&self, slot: usize, make: impl FnOnce() -> T) -> Option<&T> {
        let chunk = self.chunks.get(slot / CHUNK)?;
        let chunk = chunk.get_or_init(|| Box::new(std::array::from_fn(|_| OnceCell::new())));
        Some(chunk.get(slot % CHUNK)?.get_or_init(|| Box::new(make())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_made_once_and_keeps_its_place() {
        let lazy = Lazy::new(100);
        let first: *const u32 = lazy.get(99, || 7).unwrap();
        let again: *const u32 = lazy.get(99, || 8).unwrap();
        assert_eq!(lazy.get(99, || 9), Some(&7));
        assert_eq!(first, again);
    }

    #[test]
    fn beyond_the_last_chunk_there_is_nothing() {
        assert_eq!(Lazy::new(64).get(64, || 1), None);
    }
}
