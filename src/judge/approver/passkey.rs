//! Passkeys: verifies the registrations and assertions of browsers (WebAuthn level 3).
//!
//! A browser shows its user the name of a site and never a command: what is signed is a challenge, which here is the
//! digest of the message that an approver signs. A page can therefore show one request and pass on another. A valid
//! assertion proves only that the owner touched the key for this very request. Out of scope: the key's signature
//! counter, which the queue stores.

use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use ed25519_dalek::VerifyingKey;
use hmac::{Hmac, KeyInit as _, Mac as _};
use p256::ecdsa::signature::Verifier as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Maximum lengths of an assertion, clientDataJSON and authenticatorData, in bytes.
const MAX_ASSERTION: usize = 8 << 10;
const MAX_CLIENT_DATA: usize = 2 << 10;
const MAX_AUTHENTICATOR_DATA: usize = 1 << 10;

/// The bits of the flags in authenticatorData.
const PRESENT: u8 = 1;
const VERIFIED: u8 = 4;
const MAY_BE_COPIED: u8 = 8;
const IS_COPIED: u8 = 16;
const HAS_KEY: u8 = 64;
const HAS_EXTENSIONS: u8 = 128;

/// The bytes before the coordinates of a key, in the canonical order of CTAP2.
const ES256_X: [u8; 10] = [0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20];
const ES256_Y: [u8; 3] = [0x22, 0x58, 0x20];
const EDDSA: [u8; 10] = [0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 0x20];
/// The beginning of a key for RS256, which old versions of Windows Hello create.
const RS256: [u8; 7] = [0xa4, 1, 3, 3, 0x39, 1, 0];

/// The bytes of an attestationObject before authData, without an attestation.
const NOTHING_ATTESTED: &[u8] = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData";

/// An enrolled passkey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passkey {
    /// The host name of its page.
    pub rp_id: String,
    /// The origins of the pages that may use it, with scheme and port.
    pub origins: Vec<String>,
    /// The credential ID, in base64url.
    pub credential: String,
    /// The public key in COSE format, in base64.
    pub public: String,
    /// Whether its owner's devices may share it, which is fixed when it is created.
    pub shared: bool,
}

/// The reason why an assertion or a registration is invalid, in words that may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadPasskey {
    #[error("it is too long")]
    Long,
    #[error("it is not in the format of a browser")]
    Form,
    #[error("it was made by another passkey")]
    Credential,
    #[error("it is for another operation (clientDataJSON.type)")]
    Type,
    #[error("it answers another challenge, of another or a renewed request")]
    Challenge,
    #[error("it was made on a page that is not enrolled (origin)")]
    Origin,
    #[error("it was made in a frame of another site")]
    Frame,
    #[error("it is for another site (rpIdHash)")]
    Site,
    #[error("the key was not touched")]
    Presence,
    #[error("the key did not verify the user (user verification)")]
    Verification,
    #[error("its flags are invalid for this key")]
    Flags,
    #[error("the signature is invalid")]
    Signature,
    #[error("the key is for RS256; guard accepts ES256 and EdDSA")]
    Rs256,
    #[error("the key is not for ES256 or EdDSA")]
    Key,
    #[error("the key contains an attestation, which was not requested")]
    Attested,
}

/// The assertion with which a browser approves. Each part is in base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assertion {
    pub id: String,
    #[serde(rename = "authenticatorData")]
    pub authenticator_data: String,
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    pub signature: String,
    /// The approver's input for the code that guard shows ([`super::ConfirmCode`]). It is not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl Assertion {
    /// Returns the text form, as a signature.
    #[must_use]
    pub fn written(&self) -> String {
        Base64::encode_string(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// Parses the text form.
    fn read(text: &str) -> Result<Self, BadPasskey> {
        if text.len() > MAX_ASSERTION {
            return Err(BadPasskey::Long);
        }
        let bytes = Base64::decode_vec(text).map_err(|_| BadPasskey::Form)?;
        serde_json::from_slice(&bytes).map_err(|_| BadPasskey::Form)
    }
}

/// Returns the key that an assertion names and its signature counter, if the text is an assertion. The assertion is not
/// verified.
#[must_use]
pub fn counted(signature: &str) -> Option<(String, u32)> {
    let assertion = Assertion::read(signature).ok()?;
    let data = part(&assertion.authenticator_data, MAX_AUTHENTICATOR_DATA).ok()?;
    let count = data.get(33..37)?.try_into().ok()?;
    Some((assertion.id, u32::from_be_bytes(count)))
}

/// Returns the code that was typed with an assertion; `None` if the text is not an assertion.
#[must_use]
pub fn typed_code(signature: &str) -> Option<Option<String>> {
    Assertion::read(signature).ok().map(|assertion| assertion.code)
}

#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin", default)]
    cross_origin: bool,
    #[serde(rename = "topOrigin", default)]
    top_origin: Option<serde_json::Value>,
}

impl ClientData {
    fn check(bytes: &[u8], kind: &str, challenge: &[u8; 32], origins: &[String]) -> Result<(), BadPasskey> {
        let data: Self = serde_json::from_slice(bytes).map_err(|_| BadPasskey::Form)?;
        if data.kind != kind {
            return Err(BadPasskey::Type);
        }
        if data.challenge != Base64UrlUnpadded::encode_string(challenge) {
            return Err(BadPasskey::Challenge);
        }
        if data.cross_origin || data.top_origin.is_some() {
            return Err(BadPasskey::Frame);
        }
        if origins.contains(&data.origin) { Ok(()) } else { Err(BadPasskey::Origin) }
    }
}

fn part(text: &str, most: usize) -> Result<Vec<u8>, BadPasskey> {
    if text.len() > most * 2 {
        return Err(BadPasskey::Long);
    }
    let bytes = Base64UrlUnpadded::decode_vec(text).map_err(|_| BadPasskey::Form)?;
    if bytes.len() > most { Err(BadPasskey::Long) } else { Ok(bytes) }
}

/// Returns the challenge for the message that an approver signs.
#[must_use]
pub fn challenge(message: &[u8]) -> [u8; 32] {
    Sha256::digest(message).into()
}

/// Returns the flags of authenticatorData after checking the site, the user's presence and the user verification.
fn flags(data: &[u8], rp_id: &str) -> Result<u8, BadPasskey> {
    let (Some(site), Some(flags)) = (data.get(..32), data.get(32)) else { return Err(BadPasskey::Form) };
    if site != Sha256::digest(rp_id.as_bytes()).as_slice() {
        return Err(BadPasskey::Site);
    }
    if flags & PRESENT == 0 {
        return Err(BadPasskey::Presence);
    }
    if flags & VERIFIED == 0 {
        return Err(BadPasskey::Verification);
    }
    // A key that is backed up must be eligible for backup.
    if flags & IS_COPIED != 0 && flags & MAY_BE_COPIED == 0 {
        return Err(BadPasskey::Flags);
    }
    Ok(*flags)
}

impl Passkey {
    /// Verifies an assertion for a message.
    ///
    /// # Errors
    /// The part that is invalid.
    pub fn verify(&self, message: &[u8], signature: &str) -> Result<(), BadPasskey> {
        let assertion = Assertion::read(signature)?;
        if assertion.id != self.credential {
            return Err(BadPasskey::Credential);
        }
        let client_data = part(&assertion.client_data, MAX_CLIENT_DATA)?;
        ClientData::check(&client_data, "webauthn.get", &challenge(message), &self.origins)?;
        let data = part(&assertion.authenticator_data, MAX_AUTHENTICATOR_DATA)?;
        let flags = flags(&data, &self.rp_id)?;
        let plain = data.len() == 37;
        if flags & HAS_KEY != 0
            || (flags & MAY_BE_COPIED != 0) != self.shared
            || (flags & HAS_EXTENSIONS != 0) == plain
            || data.len() < 37
        {
            return Err(BadPasskey::Flags);
        }
        let signature = part(&assertion.signature, MAX_AUTHENTICATOR_DATA)?;
        let signed = [data.as_slice(), &Sha256::digest(&client_data)].concat();
        let public = Base64::decode_vec(&self.public).map_err(|_| BadPasskey::Key)?;
        PublicKey::read(&public)?.0.verify(&signed, &signature)
    }

    /// Checks that the public key can be parsed and that the names are present.
    ///
    /// # Errors
    /// The passkey is invalid.
    pub fn check(&self) -> Result<(), BadPasskey> {
        let public = Base64::decode_vec(&self.public).map_err(|_| BadPasskey::Key)?;
        let (_, rest) = PublicKey::read(&public)?;
        let named = !self.rp_id.is_empty() && !self.origins.is_empty() && !self.credential.is_empty();
        if rest.is_empty() && named { Ok(()) } else { Err(BadPasskey::Key) }
    }

    /// Reports whether both are the same key.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.public == other.public || Base64::decode_vec(&self.public) == Base64::decode_vec(&other.public)
    }
}

/// A COSE key.
enum PublicKey {
    // It is boxed because it is far larger than the other variant.
    Es256(Box<p256::ecdsa::VerifyingKey>),
    EdDsa(VerifyingKey),
}

impl PublicKey {
    /// Parses the key at the beginning of these bytes, and returns the rest.
    fn read(bytes: &[u8]) -> Result<(Self, &[u8]), BadPasskey> {
        let coordinate = |at: usize| -> Result<[u8; 32], BadPasskey> {
            bytes.get(at..at + 32).and_then(|bytes| bytes.try_into().ok()).ok_or(BadPasskey::Key)
        };
        if bytes.starts_with(&ES256_X) {
            if bytes.get(42..45) != Some(&ES256_Y) {
                return Err(BadPasskey::Key);
            }
            let point = [&[4][..], &coordinate(10)?, &coordinate(45)?].concat();
            let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).map_err(|_| BadPasskey::Key)?;
            return Ok((Self::Es256(Box::new(key)), bytes.get(77..).unwrap_or_default()));
        }
        if bytes.starts_with(&EDDSA) {
            let key = VerifyingKey::from_bytes(&coordinate(10)?).map_err(|_| BadPasskey::Key)?;
            return Ok((Self::EdDsa(key), bytes.get(42..).unwrap_or_default()));
        }
        Err(if bytes.starts_with(&RS256) { BadPasskey::Rs256 } else { BadPasskey::Key })
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), BadPasskey> {
        let holds = match self {
            // An s in the upper half of its range is valid: half of all signatures have one.
            Self::Es256(key) => p256::ecdsa::Signature::from_der(signature)
                .is_ok_and(|signature| key.verify(message, &signature).is_ok()),
            Self::EdDsa(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(message, &signature).is_ok()),
        };
        if holds { Ok(()) } else { Err(BadPasskey::Signature) }
    }
}

/// The pairing of a passkey, as the terminal that began it knows it.
#[derive(Clone, Debug)]
pub struct PasskeyPairing {
    /// A secret that only that terminal and the readers of its code know.
    pub secret: [u8; 32],
    /// The approver's name.
    pub name: String,
}

/// The registration that a browser returns for a new passkey. Each part is in base64url.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registration {
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    #[serde(rename = "attestationObject")]
    pub attestation: String,
}

impl PasskeyPairing {
    /// Returns the challenge for the new key.
    #[must_use]
    pub fn challenge(&self, rp_id: &str) -> [u8; 32] {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.secret) else {
            unreachable!("HMAC takes keys of any length");
        };
        mac.update(self.name.as_bytes());
        let mac = mac.finalize().into_bytes();
        Sha256::digest([b"guard passkey 1\n", rp_id.as_bytes(), b"\n", mac.as_slice()].concat()).into()
    }

    /// Returns the passkey that was created on a page at `origin` with the host name `rp_id`.
    ///
    /// # Errors
    /// The part that is invalid.
    pub fn passkey(&self, rp_id: &str, origin: &str, made: &Registration) -> Result<Passkey, BadPasskey> {
        let origins = vec![origin.to_owned()];
        let client_data = part(&made.client_data, MAX_CLIENT_DATA)?;
        ClientData::check(&client_data, "webauthn.create", &self.challenge(rp_id), &origins)?;
        let attestation = part(&made.attestation, MAX_AUTHENTICATOR_DATA)?;
        let rest = attestation.strip_prefix(NOTHING_ATTESTED).ok_or(BadPasskey::Attested)?;
        let (length, data) = match rest {
            [0x58, length, data @ ..] => (usize::from(*length), data),
            [0x59, high, low, data @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), data),
            _ => return Err(BadPasskey::Form),
        };
        if data.len() != length {
            return Err(BadPasskey::Form);
        }
        let flags = flags(data, rp_id)?;
        if flags & HAS_KEY == 0 {
            return Err(BadPasskey::Flags);
        }
        let [high, low] = data.get(53..55).and_then(|length| length.try_into().ok()).ok_or(BadPasskey::Form)?;
        let end = 55 + usize::from(u16::from_be_bytes([high, low]));
        let (id, key) = (data.get(55..end).ok_or(BadPasskey::Form)?, data.get(end..).unwrap_or_default());
        if id.is_empty() {
            return Err(BadPasskey::Form);
        }
        let (_, behind) = PublicKey::read(key)?;
        if (flags & HAS_EXTENSIONS == 0) != behind.is_empty() {
            return Err(BadPasskey::Flags);
        }
        let public = key.get(..key.len() - behind.len()).unwrap_or_default();
        Ok(Passkey {
            rp_id: rp_id.to_owned(),
            origins,
            credential: Base64UrlUnpadded::encode_string(id),
            public: Base64::encode_string(public),
            shared: flags & MAY_BE_COPIED != 0,
        })
    }
}

/// Returns six digits of a key for comparison by the person who pairs it. They prevent mix-ups, but do not protect
/// against a malicious page.
#[must_use]
pub fn digits(passkey: &Passkey) -> String {
    let digest = Sha256::digest([passkey.credential.as_bytes(), b"\0", passkey.public.as_bytes()].concat());
    let mut four = [0; 4];
    four.copy_from_slice(&digest[..4]);
    format!("{:06}", u32::from_be_bytes(four) % 1_000_000)
}

#[cfg(test)]
mod tests;
