//! Approver keys: the enrolled approvers, the messages that they sign for an approval, and the verification of
//! signatures.
//!
//! An approval that is signed over the request is proof, unlike a row in a database: a user who can write the database
//! cannot sign. Out of scope: files, terminals, and the selection of approvers.

use base64ct::{Base64, Encoding as _};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::answer_scope::AnswerScope;
use super::bindings::Bindings;
use super::invocation::{Digest, Invocation};
use super::risk::Risk;
use super::sort;

mod confirm;
pub mod passkey;
mod sshsig;

pub use confirm::ConfirmCode;
pub use passkey::{BadPasskey, Passkey};
pub use sshsig::{NAMESPACE, PublicKey, UnreadableKey};

/// The minimum length of a passphrase, in characters. A user who can read the file can try to guess it offline.
pub const MIN_PASSPHRASE: usize = 12;

/// The validity of a TOTP code, in seconds (RFC 6238).
pub const TOTP_STEP: u64 = 30;

/// A person who may approve, with the part of their key that guard stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approver {
    /// The name in the record.
    pub name: String,
    #[serde(flatten)]
    pub key: ApproverKey,
}

/// The key of an approver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ApproverKey {
    /// An Ed25519 key that is derived from a passphrase with Argon2id (RFC 9106).
    Passphrase {
        /// The public key, in base64.
        public: String,
        /// The salt, in base64.
        salt: String,
        /// The cost of the derivation.
        cost: Cost,
    },
    /// An SSH key, `ssh-ed25519` or `sk-ssh-ed25519@openssh.com`, as a line of a `.pub` file.
    Ssh { public: String },
    /// A secret that this machine shares with an authenticator (RFC 6238), in base64. Anyone who can read it can
    /// sign.
    Totp { secret: String },
    /// A passkey, on a phone, a security key or a computer.
    Passkey(Passkey),
}

impl ApproverKey {
    /// Returns the kind: `passphrase`, `ssh`, `totp`, `passkey`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Passphrase { .. } => "passphrase",
            Self::Ssh { .. } => "ssh",
            Self::Totp { .. } => "totp",
            Self::Passkey(_) => "passkey",
        }
    }

    /// Reports whether two keys are the same, regardless of their encoding: the owner of one can sign as the other.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let decoded = |text: &str| Base64::decode_vec(text).ok();
        match (self, other) {
            (Self::Passphrase { public: one, .. }, Self::Passphrase { public: other, .. })
            | (Self::Totp { secret: one }, Self::Totp { secret: other }) => {
                one == other || decoded(one) == decoded(other)
            }
            (Self::Ssh { public: one }, Self::Ssh { public: other }) => {
                one == other || PublicKey::read(one).ok().is_some_and(|one| PublicKey::read(other).ok() == Some(one))
            }
            (Self::Passkey(one), Self::Passkey(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// Reports whether the key signs in a browser and never at a terminal.
    #[must_use]
    pub const fn is_of_the_page(&self) -> bool {
        matches!(self, Self::Passkey(_))
    }
}

/// The cost of deriving a key from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// The memory in KiB.
    pub memory: u32,
    pub passes: u32,
}

impl Default for Cost {
    /// Returns the second recommended option of RFC 9106, for memory-constrained environments: 64 MiB, three passes.
    fn default() -> Self {
        Self { memory: 64 * 1024, passes: 3 }
    }
}

/// A signature and its approver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    pub approver: String,
    pub signature: String,
}

/// The reason why there is no signature, or why it is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadSignature {
    #[error("no approver {0} is enrolled")]
    Unknown(String),
    #[error("the signature of {0} is not valid for this command")]
    Wrong(String),
    #[error("cannot read the key of {name}: {why}")]
    Key { name: String, why: String },
    #[error("wrong passphrase for {0}")]
    Passphrase(String),
    #[error("wrong or expired code for {0}")]
    Code(String),
    #[error("invalid signature by the passkey of {name}: {why}")]
    Passkey { name: String, why: BadPasskey },
}

/// The part that makes one prompt different from all earlier ones: a nonce that only the asking guard generates, and
/// the digest of its card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalNonce {
    pub nonce: [u8; 16],
    /// The SHA-256 digest of the card that a person sees.
    pub card: [u8; 32],
}

impl ApprovalNonce {
    /// Creates the nonce of a command with a random number from the caller.
    #[must_use]
    pub fn of(nonce: [u8; 16], invocation: &Invocation, risk: &Risk) -> Self {
        let mut card = Sha256::new();
        let mut field = |bytes: &[u8]| {
            card.update((bytes.len() as u64).to_le_bytes());
            card.update(bytes);
        };
        field(invocation.display().as_bytes());
        field(invocation.cwd.as_os_str().as_encoded_bytes());
        field(invocation.user.as_bytes());
        field(&[risk.tier.number()]);
        let mut findings: Vec<(&str, u8)> =
            risk.findings.iter().map(|finding| (finding.rule.as_str(), finding.tier.number())).collect();
        sort::sort(&mut findings);
        for (rule, tier) in findings {
            field(rule.as_bytes());
            field(&[tier]);
        }
        Self { nonce, card: card.finalize().into() }
    }
}

/// The content of the message that is signed to approve a request.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'a> {
    pub request: &'a str,
    /// The time at which the request was queued, in milliseconds since 1970.
    pub filed: i64,
    pub fresh: &'a ApprovalNonce,
    pub digest: &'a Digest,
    pub bindings: &'a Bindings,
    /// The required number of different approvers, as of when the request was queued.
    pub approvals: u8,
    /// The scope of the approval.
    pub scope: AnswerScope,
}

impl Approval<'_> {
    /// Returns the bytes that are signed. No other signed message has the same prefix.
    #[must_use]
    pub fn message(&self) -> Vec<u8> {
        format!("guard approval 3\n{}scope {}\n", self.of_this_asking(), self.scope).into_bytes()
    }

    /// Returns the lines that bind the approval to one prompt.
    fn of_this_asking(&self) -> String {
        let Self { request, filed, digest, approvals, .. } = self;
        let bindings = Digest(self.bindings.digest());
        let nonce: String = self.fresh.nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let card = Digest(self.fresh.card);
        format!(
            "request {request}\nfiled {filed}\nnonce {nonce}\ncommand {digest}\nbindings {bindings}\n\
             card {card}\napprovals {approvals}\n"
        )
    }

    /// Returns the messages that earlier versions signed for an approval. They lack the prompt or the scope; they are
    /// recognised so that the error can name the cause.
    #[must_use]
    pub fn earlier_messages(&self) -> [Vec<u8>; 2] {
        let Self { request, digest, .. } = self;
        let bindings = Digest(self.bindings.digest());
        [
            format!("guard approval 1\nrequest {request}\ncommand {digest}\nbindings {bindings}\n").into_bytes(),
            format!("guard approval 2\n{}", self.of_this_asking()).into_bytes(),
        ]
    }
}

/// Returns the message that is signed to enrol or remove an approver. `change` is `add` or `remove`.
#[must_use]
pub fn enrolment(change: &str, approver: &Approver) -> Vec<u8> {
    let key = serde_json::to_string(approver).unwrap_or_default();
    format!("guard approver 1\n{change}\n{key}\n").into_bytes()
}

/// Returns the message that is signed to give a standing grant. `words` describes what it covers, where, and until
/// when.
#[must_use]
pub fn grant(words: &str) -> Vec<u8> {
    format!("guard grant 1\n{words}\n").into_bytes()
}

impl Approver {
    /// Reports whether a name is valid. It is used in file names and in the record.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
        !name.is_empty() && name.len() <= 64 && !name.starts_with(['.', '-']) && name.bytes().all(plain)
    }

    /// Creates an approver with a passphrase. `salt` must be random.
    ///
    /// # Errors
    /// Argon2 does not accept the cost.
    pub fn with_passphrase(name: &str, passphrase: &str, salt: [u8; 16], cost: Cost) -> Result<Self, BadSignature> {
        let key = derive(passphrase, &salt, cost)
            .ok_or_else(|| BadSignature::Key { name: name.to_owned(), why: "invalid cost".to_owned() })?;
        let public = Base64::encode_string(key.verifying_key().as_bytes());
        let key = ApproverKey::Passphrase { public, salt: Base64::encode_string(&salt), cost };
        Ok(Self { name: name.to_owned(), key })
    }

    /// Signs with a passphrase.
    ///
    /// # Errors
    /// The passphrase is wrong, or the key is of another kind.
    pub fn sign_with_passphrase(&self, passphrase: &str, message: &[u8]) -> Result<Signed, BadSignature> {
        let ApproverKey::Passphrase { public, salt, cost } = &self.key else {
            return Err(self.bad_key("the key is not a passphrase"));
        };
        let salt = Base64::decode_vec(salt).map_err(|_| self.bad_key("the salt is not base64"))?;
        let key = derive(passphrase, &salt, *cost).ok_or_else(|| self.bad_key("invalid cost"))?;
        if Base64::encode_string(key.verifying_key().as_bytes()) != *public {
            return Err(BadSignature::Passphrase(self.name.clone()));
        }
        let signature = Base64::encode_string(&key.sign(message).to_bytes());
        Ok(Signed { approver: self.name.clone(), signature })
    }

    /// Signs with a code of an authenticator. `now` is in seconds since 1970; the codes of the previous and the
    /// next step are valid too, because clocks differ.
    ///
    /// # Errors
    /// The code is not valid now, or the key is of another kind.
    pub fn sign_with_code(&self, code: &str, message: &[u8], now: u64) -> Result<Signed, BadSignature> {
        let ApproverKey::Totp { secret } = &self.key else {
            return Err(self.bad_key("the key is not an authenticator"));
        };
        let secret = Base64::decode_vec(secret).map_err(|_| self.bad_key("the secret is not base64"))?;
        let step = now / TOTP_STEP;
        let code: String = code.chars().filter(|letter| !letter.is_whitespace()).collect();
        let near = [step, step.saturating_sub(1), step.saturating_add(1)];
        if !near.into_iter().any(|step| totp(&secret, step) == code) {
            return Err(BadSignature::Code(self.name.clone()));
        }
        let signature = Base64::encode_string(&seal(&secret, message).finalize().into_bytes());
        Ok(Signed { approver: self.name.clone(), signature })
    }

    /// Verifies a signature of this approver over a message.
    ///
    /// # Errors
    /// The signature is not valid.
    pub fn verify(&self, message: &[u8], signed: &Signed) -> Result<(), BadSignature> {
        let wrong = || BadSignature::Wrong(self.name.clone());
        match &self.key {
            ApproverKey::Passphrase { public, .. } => {
                let key = Base64::decode_vec(public).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
                let key = key.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
                let key = key.ok_or_else(|| self.bad_key("the key is not an Ed25519 key"))?;
                let signature = Base64::decode_vec(&signed.signature).map_err(|_| wrong())?;
                let signature = Signature::from_slice(&signature).map_err(|_| wrong())?;
                key.verify_strict(message, &signature).map_err(|_| wrong())
            }
            ApproverKey::Ssh { public } => {
                let key = PublicKey::read(public).map_err(|error| self.bad_key(&error.to_string()))?;
                if key.verify(&signed.signature, message) { Ok(()) } else { Err(wrong()) }
            }
            ApproverKey::Totp { secret } => {
                let secret = Base64::decode_vec(secret).map_err(|_| self.bad_key("the secret is not base64"))?;
                let mac = Base64::decode_vec(&signed.signature).map_err(|_| wrong())?;
                seal(&secret, message).verify_slice(&mac).map_err(|_| wrong())
            }
            ApproverKey::Passkey(passkey) => {
                passkey.check().map_err(|why| self.bad_key(&why.to_string()))?;
                let bad = |why| BadSignature::Passkey { name: self.name.clone(), why };
                passkey.verify(message, &signed.signature).map_err(bad)
            }
        }
    }

    /// Checks that the name is valid and the key can be parsed.
    ///
    /// # Errors
    /// The name is not valid, or the key cannot be parsed.
    pub fn check(&self) -> Result<(), BadSignature> {
        if !Self::is_name(&self.name) {
            return Err(self.bad_key("a name may contain only a-z, 0-9, -, _ and ."));
        }
        let nothing = Signed { approver: self.name.clone(), signature: String::new() };
        match self.verify(b"", &nothing) {
            Err(error @ BadSignature::Key { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    fn bad_key(&self, why: &str) -> BadSignature {
        BadSignature::Key { name: self.name.clone(), why: why.to_owned() }
    }
}

/// Returns the number of approvers with different keys: approvers with the same key count as one.
#[must_use]
pub fn people(enrolled: &[Approver]) -> usize {
    let is_first = |at: usize, one: &Approver| !enrolled.iter().take(at).any(|before| before.key.is_same(&one.key));
    enrolled.iter().enumerate().filter(|(at, one)| is_first(*at, one)).count()
}

/// Returns the approvers of all signatures, each once; if several names have one key, the first that signed.
///
/// # Errors
/// A signature is not valid. Then all are rejected.
pub fn signers<'a>(
    enrolled: &'a [Approver],
    message: &[u8],
    signatures: &[Signed],
) -> Result<Vec<&'a str>, BadSignature> {
    let mut found: Vec<&Approver> = Vec::new();
    for signed in signatures {
        let approver = enrolled.iter().find(|approver| approver.name == signed.approver);
        let approver = approver.ok_or_else(|| BadSignature::Unknown(signed.approver.clone()))?;
        approver.verify(message, signed)?;
        if !found.iter().any(|known| known.name == approver.name || known.key.is_same(&approver.key)) {
            found.push(approver);
        }
    }
    Ok(found.into_iter().map(|approver| approver.name.as_str()).collect())
}

/// Derives the key from a passphrase. Whitespace around the passphrase is ignored.
fn derive(passphrase: &str, salt: &[u8], cost: Cost) -> Option<SigningKey> {
    let parameters = argon2::Params::new(cost.memory, cost.passes, 1, Some(32)).ok()?;
    let argon = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, parameters);
    let mut seed = [0; 32];
    argon.hash_password_into(passphrase.trim().as_bytes(), salt, &mut seed).ok()?;
    Some(SigningKey::from_bytes(&seed))
}

/// Returns the six-digit code for a time step (RFC 6238 with RFC 4226 and SHA-1, which every authenticator
/// supports).
#[must_use]
pub fn totp(secret: &[u8], step: u64) -> String {
    let Ok(mut mac) = Hmac::<sha1::Sha1>::new_from_slice(secret) else {
        unreachable!("HMAC takes keys of any length");
    };
    mac.update(&step.to_be_bytes());
    let mac = mac.finalize().into_bytes();
    let offset = usize::from(mac[19] & 0x0f);
    let mut four = [0; 4];
    four.copy_from_slice(&mac[offset..offset + 4]);
    format!("{:06}", (u32::from_be_bytes(four) & 0x7fff_ffff) % 1_000_000)
}

fn seal(secret: &[u8], message: &[u8]) -> Hmac<sha2::Sha256> {
    let Ok(mut mac) = Hmac::<sha2::Sha256>::new_from_slice(secret) else {
        unreachable!("HMAC takes keys of any length");
    };
    mac.update(message);
    mac
}

#[cfg(test)]
mod tests;
