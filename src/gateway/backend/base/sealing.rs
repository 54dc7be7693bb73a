//! Encrypts submissions while they wait, so that neither the database nor a copy of it alone reveals them. The key is
//! stored beside it, for the same account; a copy of both files reveals everything.
//!
//! Out of scope: the content of submissions.

use std::cell::OnceCell;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64ct::{Base64Unpadded, Encoding as _};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::backend::BackendError;

/// The prefix of encrypted text. No JSON object begins with it.
const MARK: &str = "sealed:";

/// The encryption key, which is read when it is first needed.
pub(super) struct Sealing {
    path: PathBuf,
    key: OnceCell<LessSafeKey>,
}

impl fmt::Debug for Sealing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealing({})", self.path.display())
    }
}

impl Sealing {
    /// Uses the key in this file, which is created if it does not exist.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, key: OnceCell::new() }
    }

    fn key(&self) -> Result<&LessSafeKey, BackendError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let bytes = read_or_make(&self.path).map_err(|error| BackendError::File { path: self.path.clone(), error })?;
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes);
        let key = key.map_err(|_| BackendError::NoKey { path: self.path.clone() })?;
        Ok(self.key.get_or_init(|| LessSafeKey::new(key)))
    }

    /// Encrypts a text under a name. It can only be decrypted under the same name.
    ///
    /// # Errors
    /// There is no key, or the system gives no random bytes.
    pub(super) fn seal(&self, name: &str, text: &str) -> Result<String, BackendError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(BackendError::Random)?;
        let mut bytes = text.as_bytes().to_vec();
        let sealed = self.key()?.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(name.as_bytes()),
            &mut bytes,
        );
        sealed.map_err(|_| BackendError::TooLong)?;
        Ok(format!("{MARK}{}", Base64Unpadded::encode_string(&[&nonce[..], &bytes].concat())))
    }

    /// Decrypts a text that was encrypted under a name. Text that an earlier version stored unencrypted is returned
    /// unchanged.
    ///
    /// # Errors
    /// The text is damaged, or was encrypted under another name or with another key.
    pub(super) fn open(&self, name: &str, kept: &str) -> Result<String, BackendError> {
        let Some(sealed) = kept.strip_prefix(MARK) else { return Ok(kept.to_owned()) };
        let wrong = || BackendError::Sealed;
        let bytes = Base64Unpadded::decode_vec(sealed).map_err(|_| wrong())?;
        let (nonce, rest) = bytes.split_at_checked(NONCE_LEN).ok_or_else(wrong)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| wrong())?;
        let mut rest = rest.to_vec();
        let text = self.key()?.open_in_place(nonce, Aad::from(name.as_bytes()), &mut rest).map_err(|_| wrong())?;
        String::from_utf8(text.to_vec()).map_err(|_| wrong())
    }
}

/// Reads the bytes of the key, or creates them. If two processes create a key at once, the first one is used.
fn read_or_make(path: &Path) -> io::Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        OpenOptions::new().read(true).open(path)?.take(64).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        answer => return answer,
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    let mut part = [0; 8];
    getrandom::fill(&mut part).map_err(|error| io::Error::other(error.to_string()))?;
    let made = path.with_extension(format!("key.{:x}", u64::from_le_bytes(part)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&made)?;
    file.write_all(&key)?;
    file.sync_all()?;
    // A hard link does not replace an existing file.
    let linked = std::fs::hard_link(&made, path);
    std::fs::remove_file(&made)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => read(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_under_its_name_and_key_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gateway.key");
        let of = |path: &Path| Sealing::new(path.to_owned());
        let sealed = of(&path).seal("a", "{\"input\":\"hush\"}").unwrap();
        assert!(!sealed.contains("hush"));
        assert_ne!(sealed, of(&path).seal("a", "{\"input\":\"hush\"}").unwrap());
        assert_eq!(of(&path).open("a", &sealed).ok().as_deref(), Some("{\"input\":\"hush\"}"));
        assert!(of(&path).open("b", &sealed).is_err());
        assert!(of(&directory.path().join("other.key")).open("a", &sealed).is_err());
        for at in [MARK.len(), sealed.len() / 2, sealed.len() - 2] {
            let mut other = sealed.clone().into_bytes();
            other[at] = if other[at] == b'A' { b'B' } else { b'A' };
            assert!(of(&path).open("a", &String::from_utf8(other).unwrap()).is_err(), "{at}");
        }
        assert!(of(&path).open("a", MARK).is_err());
        assert_eq!(of(&path).open("a", "{\"command\":\"ls\"}").ok().as_deref(), Some("{\"command\":\"ls\"}"));
        std::fs::write(&path, "short").unwrap();
        assert!(of(&path).seal("a", "x").unwrap_err().to_string().contains("not a key of 32 bytes"));
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(directory.path().join("other.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left of making it");
    }
}
