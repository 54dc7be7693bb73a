//! Identifiers that cannot be guessed: public IDs of requests, tokens, and nonces of buttons.
//!
//! Out of scope: their use.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// The gateway's own key.
#[derive(Clone)]
pub struct GatewayKey(pub [u8; 32]);

const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Encodes bytes in base32, in lower case and without padding.
#[must_use]
pub fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut held, mut bits) = (0u32, 0);
    for byte in bytes {
        held = (held << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(letter(held >> bits));
        }
    }
    if bits > 0 {
        text.push(letter(held << (5 - bits)));
    }
    text
}

fn letter(value: u32) -> char {
    // Five bits are an index below 32.
    LETTERS.get((value & 31) as usize).map_or('a', |letter| char::from(*letter))
}

impl GatewayKey {
    /// Returns the public ID of a request. The ID in the queue is short and could be guessed.
    #[must_use]
    pub fn action(&self, request: &str, filed: Timestamp) -> String {
        // HMAC accepts keys of any length, so this cannot fail.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(b"action\0");
        mac.update(request.as_bytes());
        mac.update(&[0]);
        mac.update(&filed.as_millisecond().to_le_bytes());
        let bytes = mac.finalize().into_bytes();
        base32(bytes.get(..16).unwrap_or_default())
    }
}

/// The system provides no random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoRandomBytes(getrandom::Error);

/// Returns random bytes in base32, after a prefix that marks their kind.
///
/// # Errors
/// Returns an error if the system provides no random bytes.
pub fn secret<const N: usize>(front: &str) -> Result<String, NoRandomBytes> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(NoRandomBytes)?;
    Ok(format!("{front}{}", base32(&bytes)))
}

/// Returns the hash of a secret, which is stored in its place.
#[must_use]
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Reports whether two byte strings are equal, in constant time for equal lengths.
#[must_use]
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |found, (a, b)| found | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_that_of_the_rfc() {
        let said: Vec<_> = [&b""[..], b"f", b"fo", b"foo", b"foob", b"fooba", b"foobar"].map(base32).into();
        assert_eq!(said, ["", "my", "mzxq", "mzxw6", "mzxw6yq", "mzxw6ytb", "mzxw6ytboi"]);
    }

    #[test]
    fn a_request_filed_again_has_another_name() {
        let key = GatewayKey([7; 32]);
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        assert_eq!(key.action("b2c3", at(5)), key.action("b2c3", at(5)));
        assert_ne!(key.action("b2c3", at(5)), key.action("b2c3", at(6)));
        assert_ne!(key.action("b2c3", at(5)), key.action("b2c4", at(5)));
        assert_ne!(key.action("b2c3", at(5)), GatewayKey([8; 32]).action("b2c3", at(5)));
        assert_eq!(key.action("b2c3", at(5)).len(), 26);
    }

    #[test]
    fn bytes_are_the_same_only_when_all_are() {
        assert!(same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd") && !same(b"abc", b"ab") && !same(b"", b"a"));
    }
}
