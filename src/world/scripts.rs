//! Files that a command would read as code: scripts, manifests, makefiles.

use std::io::Read as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::paths::{self, Content};
use crate::judge::analysis::question::{FileFacts, MAX_FILE};

/// How much is looked at of a file that is too large to be read.
const HEAD: usize = 4096;

/// What a file is that is longer than what is read. A program that was compiled is told by its first bytes, which stand
/// for it; what begins as a text is too large.
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

/// Reads the file at `path`, symbolic links followed, with the SHA-256 of its bytes. Waits for nothing.
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
