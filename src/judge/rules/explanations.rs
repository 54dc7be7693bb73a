//! The texts that explain the findings of the built-in rules, compressed: most commands have no finding, so their size
//! matters more than the time to read them.
//!
//! They are in blocks, in the order of the rules, so that one text does not need all of them.

use super::blob::{BadBlob, laid_out, number, stored};
use super::model::Explanation;

/// The number of texts in a block.
const BLOCK: usize = 64;

/// The best compression of deflate.
const LEVEL: u8 = 10;

/// Returns the blocks, for the build script.
///
/// # Errors
/// An offset does not fit in 32 bits.
pub fn pack(all: &[Explanation]) -> Result<Vec<u8>, BadBlob> {
    let packed = |block: &[Explanation]| {
        let bytes = postcard::to_allocvec(block).map_err(|_| BadBlob)?;
        Ok(miniz_oxide::deflate::compress_to_vec(&bytes, LEVEL))
    };
    laid_out(&all.chunks(BLOCK).map(packed).collect::<Result<Vec<_>, _>>()?)
}

/// Returns the block that contains the text of a rule, and the index of the text in the block.
#[must_use]
pub const fn place(rule: usize) -> (usize, usize) {
    (rule / BLOCK, rule % BLOCK)
}

/// Returns the number of blocks.
#[must_use]
pub fn blocks(bytes: &[u8]) -> usize {
    number(bytes, 0).unwrap_or(0) as usize
}

/// Decompresses a block.
///
/// # Errors
/// The bytes are damaged, or there is no such block.
pub fn unpack(bytes: &[u8], block: usize) -> Result<Vec<Explanation>, BadBlob> {
    let unpacked = miniz_oxide::inflate::decompress_to_vec(stored(bytes, block).ok_or(BadBlob)?);
    postcard::from_bytes(&unpacked.map_err(|_| BadBlob)?).map_err(|_| BadBlob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_from_its_place() {
        let text =
            |rule: usize| Explanation { reason: rule.to_string(), instead: rule.is_multiple_of(2).then(String::new) };
        let all: Vec<Explanation> = (0..BLOCK * 2 + 1).map(text).collect();
        let packed = pack(&all).unwrap();
        for (rule, wanted) in all.iter().enumerate() {
            let (block, at) = place(rule);
            assert!(block < blocks(&packed));
            assert_eq!(unpack(&packed, block).unwrap().get(at), Some(wanted));
        }
        assert_eq!(unpack(&packed, blocks(&packed)), Err(BadBlob));
        assert_eq!(unpack(&[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0xff], 0), Err(BadBlob));
    }
}
