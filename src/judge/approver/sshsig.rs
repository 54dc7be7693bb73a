//! Verifies signatures of `ssh-keygen -Y sign` (PROTOCOL.sshsig of OpenSSH), made by Ed25519 keys in a file or on
//! hardware.
//!
//! Out of scope: keys of other types, and the creation of signatures, which `ssh-keygen` does.
//!
//! The package ssh-key parses all of this too, but accepts the signature of a hardware key without a touch; it would
//! enlarge the program by 54 KB and add a second version of SHA-2.

use base64ct::{Base64, Encoding as _};
use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest as _, Sha256, Sha512};
use thiserror::Error;

/// The namespace of guard's signatures, so that one for another purpose is invalid here.
pub const NAMESPACE: &str = "guard";

const MAGIC: &[u8] = b"SSHSIG";
const FILE: &[u8] = b"ssh-ed25519";
const HARDWARE: &[u8] = b"sk-ssh-ed25519@openssh.com";

/// The flag of a hardware key that was touched.
const PRESENT: u8 = 1;

/// The reason why a line is not a public key that guard accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnreadableKey {
    #[error("not an OpenSSH public key; give the .pub file")]
    Form,
    #[error(
        "only ssh-ed25519 and sk-ssh-ed25519@openssh.com keys are supported; create one with ssh-keygen -t ed25519"
    )]
    Kind,
}

/// A public key of OpenSSH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    /// The encoding in signatures.
    blob: Vec<u8>,
    key: VerifyingKey,
    /// The application of a hardware key.
    application: Option<Vec<u8>>,
}

impl PublicKey {
    /// Parses a line of a `.pub` file.
    ///
    /// # Errors
    /// [`UnreadableKey`].
    pub fn read(line: &str) -> Result<Self, UnreadableKey> {
        let mut words = line.split_ascii_whitespace();
        let (kind, body) = words.next().zip(words.next()).ok_or(UnreadableKey::Form)?;
        let blob = Base64::decode_vec(body).map_err(|_| UnreadableKey::Form)?;
        let mut rest = blob.as_slice();
        let named = string(&mut rest).ok_or(UnreadableKey::Form)?;
        if named != kind.as_bytes() {
            return Err(UnreadableKey::Form);
        }
        if ![FILE, HARDWARE].contains(&named) {
            return Err(UnreadableKey::Kind);
        }
        let key = string(&mut rest).and_then(|key| <[u8; 32]>::try_from(key).ok());
        let key = key.and_then(|key| VerifyingKey::from_bytes(&key).ok()).ok_or(UnreadableKey::Form)?;
        let application =
            if named == HARDWARE { Some(string(&mut rest).ok_or(UnreadableKey::Form)?.to_owned()) } else { None };
        if !rest.is_empty() {
            return Err(UnreadableKey::Form);
        }
        Ok(Self { blob, key, application })
    }

    /// Reports whether it is on hardware that requires a touch.
    #[must_use]
    pub const fn is_hardware(&self) -> bool {
        self.application.is_some()
    }

    /// Reports whether an armoured signature is by this key, in guard's namespace, and over `message`.
    #[must_use]
    pub fn verify(&self, armoured: &str, message: &[u8]) -> bool {
        self.try_verify(armoured, message).is_some()
    }

    fn try_verify(&self, armoured: &str, message: &[u8]) -> Option<()> {
        let body = armoured.trim().strip_prefix("-----BEGIN SSH SIGNATURE-----")?;
        let body = body.strip_suffix("-----END SSH SIGNATURE-----")?;
        let body: String = body.split_ascii_whitespace().collect();
        let bytes = Base64::decode_vec(&body).ok()?;
        let mut rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&1u32.to_be_bytes())?;
        let (blob, namespace) = (string(&mut rest)?, string(&mut rest)?);
        let (reserved, hash, signature) = (string(&mut rest)?, string(&mut rest)?, string(&mut rest)?);
        if blob != self.blob || namespace != NAMESPACE.as_bytes() || !rest.is_empty() {
            return None;
        }
        let hashed = match hash {
            b"sha256" => Sha256::digest(message).to_vec(),
            b"sha512" => Sha512::digest(message).to_vec(),
            _ => return None,
        };
        let mut signed = MAGIC.to_vec();
        for part in [namespace, reserved, hash, &hashed] {
            signed.extend(u32::try_from(part.len()).ok()?.to_be_bytes());
            signed.extend(part);
        }
        let mut rest = signature;
        let kind = string(&mut rest)?;
        let signature = Signature::from_slice(string(&mut rest)?).ok()?;
        match &self.application {
            None => {
                (kind == FILE && rest.is_empty()).then_some(())?;
            }
            Some(application) => {
                let (flags, counter) = rest.split_first()?;
                (kind == HARDWARE && counter.len() == 4 && flags & PRESENT != 0).then_some(())?;
                let mut by_hardware = Sha256::digest(application).to_vec();
                by_hardware.push(*flags);
                by_hardware.extend(counter);
                by_hardware.extend(Sha256::digest(&signed));
                signed = by_hardware;
            }
        }
        self.key.verify_strict(&signed, &signature).ok()
    }
}

/// Reads the next string of the wire format: its length in four bytes, then its bytes.
fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (text, after) = after.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    *rest = after;
    Some(text)
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signer as _, SigningKey};
    use proptest::prelude::*;

    use super::*;

    fn wire(parts: &[&[u8]]) -> Vec<u8> {
        parts.iter().flat_map(|part| [&u32::try_from(part.len()).unwrap().to_be_bytes()[..], part].concat()).collect()
    }

    fn armour(bytes: &[u8]) -> String {
        format!("-----BEGIN SSH SIGNATURE-----\n{}\n-----END SSH SIGNATURE-----\n", Base64::encode_string(bytes))
    }

    /// Returns a public key and a signature in the format of a hardware key.
    fn by_hardware(secret: &SigningKey, namespace: &[u8], message: &[u8], flags: u8) -> (String, String) {
        let blob = wire(&[HARDWARE, secret.verifying_key().as_bytes(), b"ssh:"]);
        let data = [MAGIC, &wire(&[namespace, b"", b"sha512", &Sha512::digest(message)])].concat();
        let counter = [0, 0, 0, 9];
        let to_sign = [&Sha256::digest(b"ssh:")[..], &[flags], &counter, &Sha256::digest(&data)[..]].concat();
        let signature = [&wire(&[HARDWARE, &secret.sign(&to_sign).to_bytes()])[..], &[flags], &counter].concat();
        let whole = [MAGIC, &1u32.to_be_bytes(), &wire(&[&blob, namespace, b"", b"sha512", &signature])].concat();
        (format!("sk-ssh-ed25519@openssh.com {} me", Base64::encode_string(&blob)), armour(&whole))
    }

    #[test]
    fn a_hardware_key_counts_only_when_it_was_touched() {
        let secret = SigningKey::from_bytes(&[3; 32]);
        for (flags, holds) in [(1, true), (5, true), (0, false), (4, false)] {
            let (public, signature) = by_hardware(&secret, b"guard", b"this", flags);
            let key = PublicKey::read(&public).unwrap();
            assert!(key.is_hardware());
            assert_eq!(key.verify(&signature, b"this"), holds, "{flags}");
            assert!(!key.verify(&signature, b"that"));
        }
    }

    #[test]
    fn what_was_signed_for_something_else_does_not_hold() {
        let secret = SigningKey::from_bytes(&[3; 32]);
        let (public, signature) = by_hardware(&secret, b"git", b"this", 1);
        assert!(!PublicKey::read(&public).unwrap().verify(&signature, b"this"));
    }

    #[test]
    fn keys_of_other_kinds_are_refused_with_the_remedy() {
        let rsa = Base64::encode_string(&wire(&[b"ssh-rsa", &[1], &[2]]));
        assert_eq!(PublicKey::read(&format!("ssh-rsa {rsa} me")), Err(UnreadableKey::Kind));
        for line in ["", "ssh-ed25519", "ssh-ed25519 ????", &format!("ssh-ed25519 {rsa}"), "-----BEGIN OPENSSH"] {
            assert_eq!(PublicKey::read(line), Err(UnreadableKey::Form), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..200), line in "[ -~]{0,80}") {
            let secret = SigningKey::from_bytes(&[3; 32]);
            let (public, _) = by_hardware(&secret, b"guard", b"", 1);
            let key = PublicKey::read(&public).unwrap();
            let begun = [MAGIC, &1u32.to_be_bytes(), &bytes[..]].concat();
            prop_assert!(!key.verify(&armour(&bytes), b"") && !key.verify(&armour(&begun), b""));
            let _ = PublicKey::read(&line);
        }
    }
}
