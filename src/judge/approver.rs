//! Approver keys: who is enrolled, what is signed when one of them says yes, and whether a signature holds.
//!
//! A yes that is signed over the request is worth something where a row in a database is not: whoever can write the
//! database cannot sign. Out of scope: files, terminals, and the choice of who is asked.

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

/// The shortest passphrase, in characters. What it protects may be read, and guessed at, by whoever can read the file.
pub const MIN_PASSPHRASE: usize = 12;

/// Seconds that one TOTP code holds (RFC 6238).
pub const TOTP_STEP: u64 = 30;

/// A person who may approve, by the half of their key that may be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approver {
    /// What the record calls them.
    pub name: String,
    #[serde(flatten)]
    pub key: ApproverKey,
}

/// What an approver proves themselves with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ApproverKey {
    /// An Ed25519 key that is worked out of a passphrase by Argon2id (RFC 9106).
    Passphrase {
        /// The public half, in base64.
        public: String,
        /// In base64.
        salt: String,
        /// What working it out costs.
        cost: Cost,
    },
    /// An SSH key, `ssh-ed25519` or `sk-ssh-ed25519@openssh.com`, as a line of a `.pub` file.
    Ssh { public: String },
    /// A secret that this machine shares with an authenticator (RFC 6238), in base64. Whoever can read it can sign.
    Totp { secret: String },
    /// A passkey, on a phone, a key or a computer.
    Passkey(Passkey),
}

impl ApproverKey {
    /// `passphrase`, `ssh`, `totp`, `passkey`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Passphrase { .. } => "passphrase",
            Self::Ssh { .. } => "ssh",
            Self::Totp { .. } => "totp",
            Self::Passkey(_) => "passkey",
        }
    }

    /// Whether two are one key, however they are written down: who has the one can sign as the other.
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

    /// Whether it signs in a browser, and never at a terminal.
    #[must_use]
    pub const fn is_of_the_page(&self) -> bool {
        matches!(self, Self::Passkey(_))
    }
}

/// The cost of working a key out of a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// KiB of memory.
    pub memory: u32,
    pub passes: u32,
}

impl Default for Cost {
    /// The second recommendation of RFC 9106, for memory that is scarce: 64 MiB, three passes.
    fn default() -> Self {
        Self { memory: 64 * 1024, passes: 3 }
    }
}

/// A signature and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    pub approver: String,
    pub signature: String,
}

/// Why there is no signature, or why it does not hold.
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

/// What makes one asking another than all before it: a number that only the guard which asks makes up, and what its
/// card says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalNonce {
    pub nonce: [u8; 16],
    /// SHA-256 of what a person is shown.
    pub card: [u8; 32],
}

impl ApprovalNonce {
    /// Of a command that is asked about, with a number of the caller's.
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

/// What is signed for a yes to a request.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'a> {
    pub request: &'a str,
    /// When it was filed, in milliseconds since 1970.
    pub filed: i64,
    pub fresh: &'a ApprovalNonce,
    pub digest: &'a Digest,
    pub bindings: &'a Bindings,
    /// How many different approvers it wants, as it was filed.
    pub approvals: u8,
    /// How far the yes reaches.
    pub scope: AnswerScope,
}

impl Approval<'_> {
    /// The bytes that are signed. Nothing else that is signed begins alike.
    #[must_use]
    pub fn message(&self) -> Vec<u8> {
        format!("guard approval 3\n{}scope {}\n", self.of_this_asking(), self.scope).into_bytes()
    }

    /// What binds it to one asking.
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

    /// What earlier versions signed for a yes, which does not say which asking it answers, or not how far it reaches:
    /// known so that it is refused by name.
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

/// What is signed to enrol or remove an approver. `change` is `add` or `remove`.
#[must_use]
pub fn enrolment(change: &str, approver: &Approver) -> Vec<u8> {
    let key = serde_json::to_string(approver).unwrap_or_default();
    format!("guard approver 1\n{change}\n{key}\n").into_bytes()
}

/// What is signed to give a standing grant. `words` say what it covers, where and until when.
#[must_use]
pub fn grant(words: &str) -> Vec<u8> {
    format!("guard grant 1\n{words}\n").into_bytes()
}

impl Approver {
    /// Whether a name is one: it stands in file names and in the record.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.');
        !name.is_empty() && name.len() <= 64 && !name.starts_with(['.', '-']) && name.bytes().all(plain)
    }

    /// An approver with a passphrase. `salt` is random.
    ///
    /// # Errors
    /// The cost is none that Argon2 takes.
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
    /// It is not theirs, or they have none.
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

    /// Signs with a code of an authenticator. `now` is in seconds since 1970; a code of the step before and of the next
    /// one counts too, because clocks differ.
    ///
    /// # Errors
    /// It is no code of theirs that holds now.
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

    /// Whether a signature of theirs holds for a message.
    ///
    /// # Errors
    /// It does not.
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

    /// That what the key says of itself can be read.
    ///
    /// # Errors
    /// It cannot.
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

/// How many can sign by themselves: those with the same key are one.
#[must_use]
pub fn people(enrolled: &[Approver]) -> usize {
    let is_first = |at: usize, one: &Approver| !enrolled.iter().take(at).any(|before| before.key.is_same(&one.key));
    enrolled.iter().enumerate().filter(|(at, one)| is_first(*at, one)).count()
}

/// The approvers of all signatures that hold, each once; of several names for one key the first that signed.
///
/// # Errors
/// One does not hold: then something is wrong with all of them.
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

/// The key that a passphrase stands for. Blanks around it do not count.
fn derive(passphrase: &str, salt: &[u8], cost: Cost) -> Option<SigningKey> {
    let parameters = argon2::Params::new(cost.memory, cost.passes, 1, Some(32)).ok()?;
    let argon = argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, parameters);
    let mut seed = [0; 32];
    argon.hash_password_into(passphrase.trim().as_bytes(), salt, &mut seed).ok()?;
    Some(SigningKey::from_bytes(&seed))
}

/// The code of six digits for a step of time (RFC 6238 over RFC 4226, SHA-1, as every authenticator has it).
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
