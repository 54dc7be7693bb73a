//! Files that a command would read as code: scripts, manifests, makefiles.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::paths::{self, Content};
use crate::judge::facts::question::{FileFacts, MAX_FILE};

/// Reads the file at `path`, symbolic links followed, with the SHA-256 of its bytes. Waits for nothing.
#[must_use]
pub fn read(path: &Path) -> FileFacts {
    match paths::read(path, MAX_FILE) {
        Content::Missing => FileFacts::Missing,
        Content::Bytes(bytes) => {
            let digest = Sha256::digest(&bytes).into();
            FileFacts::Text { bytes, digest }
        }
        Content::TooLarge => FileFacts::TooLarge,
        Content::Unreadable => FileFacts::Unreadable,
    }
}
