//! Signs an approval, and checks whether the signatures of an approval are sufficient.
//!
//! Out of scope: who may answer ([`super::super::approvals`]), and the content of what is signed ([`approver`]).

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::ssh_keygen;
use crate::app::engine::Engine;
use crate::config::approvers::Enrolled;
use crate::judge::approver::{self, Approver, ApproverKey, BadSignature, NAMESPACE, PublicKey, Signed};
use crate::judge::risk::Tier;
use crate::prompt::line;
use crate::ui::count::counted;

/// The number of attempts to enter a passphrase or a code.
const TRIES: usize = 3;

/// The reason why an approval is not signed, or not by enough approvers.
#[derive(Debug, thiserror::Error)]
pub enum NoSignature {
    /// The files of the approvers cannot be read. Contains the problem.
    #[error("cannot read the enrolled approvers: {0}")]
    Unreadable(String),
    #[error("the enrolled approvers sign with passkeys on the gateway's page; see guard serve")]
    OnlyPasskeys,
    #[error("no approvers are enrolled")]
    NobodyEnrolled,
    #[error("all enrolled approvers have already signed")]
    AllSigned,
    #[error("{0} signs with a passkey on the gateway's page")]
    Passkey(String),
    #[error("{0} has already signed; another approver must sign")]
    Signed(String),
    #[error("no passphrase entered")]
    NoPassphrase,
    #[error("no code entered")]
    NoCode,
    #[error(
        "the approval is not signed, but {}",
        if *.approvals > 1 { format!("{approvals} different approvers are needed") } else { "approvers are enrolled".to_owned() }
    )]
    Unsigned { approvals: u8 },
    #[error("{} of {approvals} approvals, by {}", by.len(), by.join(" and "))]
    TooFew { by: Vec<String>, approvals: u8 },
    #[error(transparent)]
    Wrong(#[from] BadSignature),
    /// An error of the terminal, or of the program that signs.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Reports whether an approval of a command of this tier, which needs this many approvers, must be signed.
#[must_use]
pub fn is_wanted(enrolled: &Enrolled, tier: Tier, approvals: u8) -> bool {
    approvals > 1 || (tier >= Tier::High && enrolled.is_any())
}

/// Returns the reason why there are not enough different approvers to sign, or `None` if there are.
#[must_use]
pub fn lacking(enrolled: &Enrolled, approvals: u8) -> Option<String> {
    if approvals < 2 {
        return None;
    }
    if let Some(problem) = enrolled.problems.first() {
        return Some(format!(
            "{approvals} different approvers are needed, but the enrolled approvers cannot be read: {problem}"
        ));
    }
    let people = approver::people(&enrolled.approvers);
    let enough = people >= usize::from(approvals);
    let same = if people < enrolled.approvers.len() { " (two names with the same key count once)" } else { "" };
    let is = if people == 1 { "is" } else { "are" };
    (!enough).then(|| {
        format!(
            "{approvals} different approvers are needed, but only {people} {is} enrolled{same}; see guard approver add"
        )
    })
}

/// Returns the largest number of approvers that any command needs, by its tier or by a rule.
#[must_use]
pub fn most(engine: &Engine) -> u8 {
    let rules = engine.catalog.all_rules().map(|rule| rule.approvals);
    rules.fold(engine.policy().approvals.most(), u8::max)
}

/// Returns all enrolled names with the same key as this approver, beginning with the approver's own.
#[must_use]
pub fn names(enrolled: &Enrolled, name: &str) -> Vec<String> {
    let Some(own) = enrolled.named(name) else { return vec![name.to_owned()] };
    let others = enrolled.approvers.iter().filter(|other| other.name != name && other.key.is_same(&own.key));
    std::iter::once(own).chain(others).map(|approver| approver.name.clone()).collect()
}

/// Asks an approver at the terminal to sign. `what` describes the subject, and `but` are the names of those who have
/// already signed.
///
/// # Errors
/// The reason why there is no signature.
pub fn sign(enrolled: &Enrolled, what: &str, message: &[u8], but: &[String]) -> Result<Signed, NoSignature> {
    if let Some(problem) = enrolled.problems.first() {
        return Err(NoSignature::Unreadable(problem.to_string()));
    }
    let has_signed = |one: &Approver| names(enrolled, &one.name).iter().any(|name| but.contains(name));
    let at_terminal = |one: &&Approver| !one.key.is_of_the_page();
    let left: Vec<&Approver> = enrolled.approvers.iter().filter(|one| !has_signed(one)).filter(at_terminal).collect();
    let approver = match left.as_slice() {
        [] if !enrolled.approvers.iter().all(has_signed) => {
            return Err(NoSignature::OnlyPasskeys);
        }
        [] if but.is_empty() => return Err(NoSignature::NobodyEnrolled),
        [] => return Err(NoSignature::AllSigned),
        [one] => *one,
        several => {
            let names: Vec<_> = several.iter().map(|approver| approver.name.as_str()).collect();
            let name = line::ask("", &format!("{what}: which approver signs ({})?", names.join(", ")))?;
            let name = name.trim();
            let found = enrolled.named(name).ok_or_else(|| BadSignature::Unknown(name.to_owned()))?;
            if found.key.is_of_the_page() {
                return Err(NoSignature::Passkey(name.to_owned()));
            }
            if has_signed(found) {
                return Err(NoSignature::Signed(name.to_owned()));
            }
            found
        }
    };
    let name = &approver.name;
    let mut tried = 1;
    loop {
        let signed = match &approver.key {
            ApproverKey::Passphrase { .. } => {
                let passphrase = line::ask_hidden("", &format!("{what}, enter the passphrase of {name}:"))?;
                if passphrase.is_empty() {
                    return Err(NoSignature::NoPassphrase);
                }
                approver.sign_with_passphrase(&passphrase, message)
            }
            ApproverKey::Totp { .. } => {
                let code = line::ask("", &format!("{what}, enter the code of {name}:"))?;
                if code.trim().is_empty() {
                    return Err(NoSignature::NoCode);
                }
                approver.sign_with_code(&code, message, u64::try_from(Timestamp::now().as_second()).unwrap_or(0))
            }
            ApproverKey::Ssh { public } => return with_ssh(approver, public, message),
            ApproverKey::Passkey(_) => return Err(NoSignature::Passkey(name.clone())),
        };
        let error = match signed {
            Ok(signed) => return Ok(signed),
            Err(error) => error,
        };
        if tried == TRIES {
            return Err(error.into());
        }
        let left = counted((TRIES - tried) as u64, "attempt", "attempts");
        line::tell(&format!("guard: {error}; {left} left"))?;
        tried += 1;
    }
}

/// Signs with `ssh-keygen` and the private key of the enrolled public key.
fn with_ssh(approver: &Approver, public: &str, message: &[u8]) -> Result<Signed, NoSignature> {
    let directory = std::env::var_os("HOME").map(PathBuf::from).map(|home| home.join(".ssh"));
    let beside = directory.as_deref().and_then(|directory| private_half(directory, public));
    let mut held = None;
    let key = match beside {
        Some(path) => path,
        // An SSH agent has the private key. `ssh-keygen` needs the public key to select it.
        None => held.insert(TempFile::write(public)?).path.clone(),
    };
    let signature = ssh_keygen::sign(&key, NAMESPACE, message)?;
    let signed = Signed { approver: approver.name.clone(), signature };
    approver.verify(message, &signed)?;
    Ok(signed)
}

/// Returns the file of the private key of a public key in a directory.
fn private_half(directory: &Path, public: &str) -> Option<PathBuf> {
    let wanted = PublicKey::read(public).ok()?;
    let files = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let mut public = files.filter(|path| path.extension().is_some_and(|end| end == "pub"));
    public.find_map(|path| {
        let same = PublicKey::read(&fs::read_to_string(&path).ok()?).ok()? == wanted;
        Some(path.with_extension("")).filter(|private| same && private.is_file())
    })
}

/// A temporary file, which is removed when this is dropped.
struct TempFile {
    path: PathBuf,
}

impl TempFile {
    fn write(text: &str) -> std::io::Result<Self> {
        use std::io::Write as _;
        let name = format!("guard-{:016x}.pub", getrandom::u64().map_err(std::io::Error::other)?);
        let held = Self { path: std::env::temp_dir().join(name) };
        fs::OpenOptions::new().write(true).create_new(true).open(&held.path)?.write_all(text.as_bytes())?;
        Ok(held)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the names of those who signed if their signatures are sufficient for the tier and the number of approvers.
/// Empty if no signature is needed.
///
/// # Errors
/// The reason why the signatures are not sufficient.
pub fn are_enough(
    enrolled: &Enrolled,
    (tier, approvals): (Tier, u8),
    message: &[u8],
    signatures: &[Signed],
) -> Result<Vec<String>, NoSignature> {
    if !is_wanted(enrolled, tier, approvals) {
        return Ok(Vec::new());
    }
    if let Some(problem) = enrolled.problems.first() {
        return Err(NoSignature::Unreadable(problem.to_string()));
    }
    let names = approver::signers(&enrolled.approvers, message, signatures)?;
    if names.is_empty() {
        return Err(NoSignature::Unsigned { approvals });
    }
    if names.len() < usize::from(approvals) {
        let by = names.into_iter().map(str::to_owned).collect();
        return Err(NoSignature::TooFew { by, approvals });
    }
    Ok(names.into_iter().map(str::to_owned).collect())
}
