//! The content of a card, as a value.

use std::os::unix::ffi::OsStrExt as _;

use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::policy::Prompt;
use crate::judge::review::{Opinion, OpinionVerdict};
use crate::judge::risk::{Risk, Weight};
use crate::judge::syntax::tree::Span;

/// The content of a card. Equal views draw equal cards.
#[derive(Clone, Debug, PartialEq)]
pub struct CardView {
    /// The bytes of the command; arguments are quoted for a shell.
    pub command: Vec<u8>,
    /// The positions of its parts. The first word of each is a command word, in which homoglyphs are marked.
    pub words: Vec<Span>,
    pub cwd: Vec<u8>,
    /// The home directory of the account, displayed as `~`.
    pub home: Option<Vec<u8>>,
    pub user: String,
    /// Whether the command runs as root.
    pub root: bool,
    /// The name of this machine, if the session is a remote one.
    pub host: Option<String>,
    pub origin: Origin,
    /// The name of the requesting agent.
    pub agent: Option<String>,
    pub risk: Risk,
    /// The threshold of the origin.
    pub threshold: Weight,
    /// Facts about what it would touch, one sentence each.
    pub evidence: Vec<String>,
    /// The opinion of the reviewer.
    pub opinion: Option<OpinionLine>,
    /// The description of the session grant of `s`; `None`: not offered.
    pub session_grant: Option<String>,
    /// The description of the standing grant of `a`; `None`: not offered.
    pub standing_grant: Option<String>,
    /// Whether a plain approval is also a grant, which the evidence describes.
    pub lasts: bool,
    /// Whether it is a request in the queue, which remains there without an answer.
    pub queued: bool,
    /// Whether it is the first card of this account, which contains an explanation.
    pub first: bool,
}

impl CardView {
    /// Returns the label of the key for a plain approval.
    #[must_use]
    pub const fn yes(&self) -> &'static str {
        if self.lasts { "yes" } else { "once" }
    }

    /// Returns the label of Esc if no key is a denial.
    #[must_use]
    pub const fn escape(&self) -> &'static str {
        if self.queued { "Esc leaves it" } else { "Esc denies" }
    }

    /// Creates the view of an invocation and its risk, without evidence and grants.
    #[must_use]
    pub fn new(invocation: &Invocation, risk: Risk, threshold: Weight) -> Self {
        Self {
            command: command_bytes(&invocation.request),
            words: Vec::new(),
            cwd: invocation.cwd.as_os_str().as_bytes().to_vec(),
            home: invocation.home.as_ref().map(|home| home.as_os_str().as_bytes().to_vec()),
            user: invocation.user.clone(),
            root: invocation.uid == 0,
            host: None,
            origin: invocation.origin,
            agent: invocation.session.agent.clone(),
            risk,
            threshold,
            evidence: Vec::new(),
            opinion: None,
            session_grant: None,
            standing_grant: None,
            lasts: false,
            queued: false,
            first: false,
        }
    }
}

/// The opinion of a reviewer on the card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpinionLine {
    /// The reviewer, the verdict and the reason, in one sentence.
    pub line: String,
    /// Whether it is a denial, which a person may override with a reason.
    pub denies: bool,
}

impl OpinionLine {
    /// Creates it from an opinion.
    #[must_use]
    pub fn of(opinion: &Opinion) -> Self {
        let Opinion { by, reason, .. } = opinion;
        let line = match opinion.says {
            OpinionVerdict::Approve => format!("reviewer's opinion ({by}): allow: {reason}"),
            OpinionVerdict::Deny => format!("reviewer's opinion ({by}): deny: {reason}"),
            OpinionVerdict::Escalate => format!("reviewer's opinion ({by}): a person should decide: {reason}"),
            OpinionVerdict::Nothing => format!("no reviewer's opinion ({by}): {reason}"),
        };
        Self { line, denies: false }
    }
}

/// The parts of the card that change while it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardState<'a> {
    pub prompt: &'a Prompt,
    /// The remaining time, in seconds.
    pub left: u32,
    /// The timeout, in seconds.
    pub total: u32,
    pub entry: CardInput<'a>,
    /// A hint after a key without a meaning.
    pub hint: Option<&'a str>,
    /// The time since the reviewer was consulted, in tenths of a second.
    pub asking: Option<u64>,
}

/// The input for which the card waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardInput<'a> {
    /// One of the keys.
    Key,
    /// A second `y` for the standing grant.
    Confirm,
    /// The message of a denial.
    Words(&'a str),
    /// The reason that overrides a reviewer's denial.
    Overrule(&'a str),
    /// A random word.
    Word { word: &'a str, typed: &'a str, started: bool },
}

/// Returns the bytes of a command for display: the command string, or the arguments quoted for a shell. Unlike
/// [`crate::judge::invocation::Invocation::display`] it keeps invalid UTF-8.
#[must_use]
pub fn command_bytes(request: &Request) -> Vec<u8> {
    match request {
        Request::Line(line) => line.text.clone(),
        Request::Argv(argv) => {
            let mut all = Vec::new();
            for (number, word) in argv.iter().enumerate() {
                if number > 0 {
                    all.push(b' ');
                }
                quote(word.as_bytes(), &mut all);
            }
            all
        }
        Request::Files(changes) => {
            let mut all = Vec::new();
            for (number, change) in changes.iter().enumerate() {
                if number > 0 {
                    all.extend_from_slice(b"; ");
                }
                all.extend_from_slice(change.kind.word().as_bytes());
                all.push(b' ');
                quote(change.path.as_bytes(), &mut all);
            }
            all
        }
        Request::Tool(call) => call.display().into_bytes(),
    }
}

/// Appends a word, quoted for a shell if necessary.
fn quote(word: &[u8], out: &mut Vec<u8>) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(byte);
    if !word.is_empty() && word.iter().all(plain) {
        out.extend_from_slice(word);
        return;
    }
    out.push(b'\'');
    for byte in word {
        match byte {
            b'\'' => out.extend_from_slice(br"'\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
}
