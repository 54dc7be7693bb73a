//! Reads files that a command would execute as code: scripts, manifests, makefiles.

use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::paths::{self, Content};
use crate::judge::analysis::question::{FileFacts, MAX_FILE};

/// The number of bytes that are read of a file that is too large.
const HEAD: usize = 4096;

/// Returns the facts about a file that exceeds the limit. A compiled program is represented by its first bytes; a file
/// that begins with text is too large.
fn too_large(path: &Path) -> FileFacts {
    let mut bytes = Vec::with_capacity(HEAD);
    let Ok(file) = paths::open(path) else { return FileFacts::Unreadable };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    match file.take(HEAD as u64).read_to_end(&mut bytes) {
        Ok(_) if bytes.split(|byte| *byte == b'\n').next().is_some_and(|line| line.contains(&0)) => {
            let digest = Sha256::new().chain_update(&bytes).chain_update(length.to_le_bytes()).finalize().into();
            FileFacts::Text { bytes, digest }
        }
        Ok(_) => FileFacts::TooLarge,
        Err(_) => FileFacts::Unreadable,
    }
}

/// Reads the file at `path`, following symbolic links, with the SHA-256 of its bytes. It never blocks.
#[must_use]
pub fn read(path: &Path) -> FileFacts {
    match paths::read(path, MAX_FILE) {
        Content::Missing => FileFacts::Missing,
        Content::Bytes(bytes) => {
            let digest = Sha256::digest(&bytes).into();
            FileFacts::Text { bytes, digest }
        }
        Content::TooLarge => too_large(path),
        Content::Unreadable => FileFacts::Unreadable,
    }
}
