//! The local key. Digests in the record are HMACs with it, so that nobody who has only the record can test guesses of
//! the redacted parts of a command.
//!
//! The key is 32 random bytes in a file beside the record, which only the account can read. A lost key is replaced: old
//! digests then cannot be compared with new ones, exact grants are no longer valid, and earlier prunings cannot be
//! proved to be guard's.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::error::StoreError;

/// The key of the digests.
pub(super) struct DigestKey([u8; 32]);

impl DigestKey {
    /// Reads the key, or creates one if there is none.
    ///
    /// # Errors
    /// The file cannot be read or created, or does not contain 32 bytes.
    pub(super) fn read_or_make(path: &Path) -> Result<Self, StoreError> {
        match Self::read(path) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                make(path).map_err(|error| StoreError::from_io(path, error))?;
                Self::read(path)
            }
            answer => answer,
        }
    }

    /// Reads the key.
    ///
    /// # Errors
    /// The file does not exist, cannot be read, or does not contain 32 bytes.
    pub(super) fn read(path: &Path) -> Result<Self, StoreError> {
        let open = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path);
        let mut file = open.map_err(|error| StoreError::from_io(path, error))?;
        let mut bytes = [0; 32];
        match file.read_exact(&mut bytes) {
            Ok(()) => Ok(Self(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(StoreError::BadKey { path: path.to_owned() })
            }
            Err(error) => Err(StoreError::from_io(path, error)),
        }
    }

    /// Returns the HMAC-SHA-256 of bytes for one purpose. The same bytes have another HMAC for another purpose.
    pub(super) fn seal(&self, purpose: &str, bytes: &[u8]) -> [u8; 32] {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            unreachable!("HMAC takes keys of any length");
        };
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(bytes);
        mac.finalize().into_bytes().into()
    }
}

/// Creates the key in a temporary file and links it to its path: the first of several processes wins, and none reads an
/// incomplete key.
fn make(path: &Path) -> io::Result<()> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let draft = path.with_extension(format!("new-{:016x}", getrandom::u64().map_err(io::Error::other)?));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file.write_all(&bytes).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Without hard links the last process wins, and only digests that are made at this moment become useless.
        Err(_) => fs::copy(&draft, path).map(drop),
        Ok(()) => Ok(()),
    });
    placed.and(fs::remove_file(&draft))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_come_first_at_once_get_the_same_key_and_leave_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("guard.key");
        let sealed: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..16).map(|_| scope.spawn(|| DigestKey::read_or_make(&path).unwrap().seal("x", b"y"))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(sealed.iter().all(|seal| *seal == sealed[0]));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_key_that_is_cut_short_is_no_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("guard.key");
        fs::write(&path, [7; 31]).unwrap();
        assert!(matches!(DigestKey::read_or_make(&path), Err(StoreError::BadKey { .. })));
        assert_eq!(fs::read(&path).unwrap().len(), 31);
    }

    #[test]
    fn the_same_bytes_look_different_for_another_purpose() {
        let key = DigestKey([3; 32]);
        assert_ne!(key.seal("digest", b"x"), key.seal("grant", b"x"));
    }
}
