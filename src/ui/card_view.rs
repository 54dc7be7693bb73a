//! What a card shows of one command, as a value.

use std::os::unix::ffi::OsStrExt as _;

use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::policy::Prompt;
use crate::judge::review::{Opinion, OpinionVerdict};
use crate::judge::risk::{Risk, Weight};
use crate::judge::syntax::tree::Span;

/// Everything that the card shows of one command. A value: the same view draws the same card.
#[derive(Clone, Debug, PartialEq)]
pub struct CardView {
    /// The bytes that will run; arguments are quoted as a shell would need them.
    pub command: Vec<u8>,
    /// Where its parts stand. The first word of each is a command word: look-alike letters are marked in it.
    pub words: Vec<Span>,
    pub cwd: Vec<u8>,
    /// The account's home, shown as `~`.
    pub home: Option<Vec<u8>>,
    pub user: String,
    /// It runs as root.
    pub root: bool,
    /// The machine, when the session comes from elsewhere.
    pub host: Option<String>,
    pub origin: Origin,
    /// The agent that asks, by name.
    pub agent: Option<String>,
    pub risk: Risk,
    /// The score from which this origin is asked.
    pub threshold: Weight,
    /// What is known of what it would touch, a sentence each.
    pub evidence: Vec<String>,
    /// What another model thinks of it.
    pub opinion: Option<OpinionLine>,
    /// What `s` would cover, in words; `None`: not offered.
    pub session_grant: Option<String>,
    /// What `a` would cover, in words; `None`: not offered.
    pub standing_grant: Option<String>,
    /// A plain yes is a grant as well, and the evidence says which.
    pub lasts: bool,
    /// It is a request in the queue: without an answer it goes on waiting there.
    pub queued: bool,
    /// It is the first of its kind that this account sees: the card says what it is.
    pub first: bool,
}

impl CardView {
    /// What a plain yes is, beside the key for it.
    #[must_use]
    pub const fn yes(&self) -> &'static str {
        if self.lasts { "yes" } else { "once" }
    }

    /// What Esc does where no key is a no.
    #[must_use]
    pub const fn escape(&self) -> &'static str {
        if self.queued { "Esc leaves it" } else { "Esc denies" }
    }

    /// The view of an invocation and its risk, with no evidence and no grants on offer.
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

/// A reviewer's opinion, as the card shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpinionLine {
    /// Whose it is, what it says and why, in one sentence.
    pub line: String,
    /// It is a no, which a person may overrule with words.
    pub denies: bool,
}

impl OpinionLine {
    /// An opinion in a sentence that says whose it is.
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

/// What changes on the card while it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardState<'a> {
    pub prompt: &'a Prompt,
    /// Seconds left to answer.
    pub left: u32,
    /// Seconds there were.
    pub total: u32,
    pub entry: CardInput<'a>,
    /// A word to whoever pressed a key that means nothing here.
    pub hint: Option<&'a str>,
    /// A reviewer is being asked, for so many tenths of a second.
    pub asking: Option<u64>,
}

/// What the card waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardInput<'a> {
    /// One of the keys.
    Key,
    /// A second `y` for the standing grant.
    Confirm,
    /// The words that go with a no.
    Words(&'a str),
    /// The words that overrule a reviewer's no.
    Overrule(&'a str),
    /// A random word.
    Word { word: &'a str, typed: &'a str, started: bool },
}

/// The bytes of a command as a person reads them: the string itself, or the arguments quoted where a shell would need
/// it. Unlike [`crate::judge::invocation::Invocation::display`] it keeps bytes that are no UTF-8.
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

/// A word as a shell needs it written, quoted only where it must be.
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
