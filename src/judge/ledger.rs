//! What a session has done to files: which paths its commands and file tools made, changed, moved and took away, when,
//! and what was there before. From it judgment tells the session's own work from a person's.
//!
//! A change is what a command was about to do; whether it did is told by the file. The kernel keeps two times that no
//! program sets: of birth, and of the last change of anything about the file, its name and its mode included. A file is
//! the session's own while it was born and last changed within the windows in which the session's commands ran, so a
//! file that a person edits, or puts in its place, is theirs again, whatever its other times say.
//!
//! Of a command whose end nobody saw it is known only that the session's next call came after it. A directory that it
//! names, and that was born in between, is its own, with all that came into it without a pause. A file that it names is its
//! own where it runs programs and the next call came soon. `books` adds that up.
//!
//! Out of scope: I/O, the clock, and how changes are worked out of a command.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

mod books;

use self::books::{LedgerTotals, PathOwner};

/// For how long after it was let go a command is taken to have run where nothing tells when it ended: as long as it
/// takes to write a file, and shorter than a person needs to open one.
pub const UNSEEN_MS: i64 = 2_000;

/// How soon after a command that runs programs the session's next call comes where all that the command names, and that
/// changed until then, is taken for its work: in less time than a person needs to see a file, edit it and go on.
pub const SOON_MS: i64 = 60_000;

/// The longest time that a command's end, or the session's next call, makes of a window.
pub const LONGEST_MS: i64 = 600_000;

/// The kernel's clock for files lags behind the one that guard reads, by no more than this.
const LAG_MS: i64 = 20;

/// The most changes that are kept of one command.
pub const MAX_CHANGES: usize = 64;

/// The most entries of a directory that are looked at.
pub const MAX_BELOW: usize = 4096;

/// What the kernel says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    #[serde(rename = "k")]
    pub kind: FileKind,
    /// Its birth, in milliseconds since 1970; `None` where the file system does not keep it.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub born: Option<i64>,
    /// The last change of its content, name, links, owner or mode, in milliseconds since 1970.
    #[serde(rename = "c")]
    pub changed: i64,
}

/// Kinds of what lies at a path, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    File,
    Directory,
    Link,
    Other,
}

/// What lies at a path now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSnapshot {
    pub stat: Stat,
    /// What a directory holds, all the way down, by absolute path; `None` when it holds more than [`MAX_BELOW`] or could
    /// not be read.
    pub below: Option<Vec<(String, Stat)>>,
}

/// What was at a path before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PriorState {
    Nothing,
    /// A file that git tracks, as it is in HEAD.
    Clean,
    /// Something else.
    Kept(Stat),
}

/// One thing that a command was about to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// Absolute, every link followed.
    #[serde(rename = "p")]
    pub path: String,
    #[serde(rename = "d")]
    pub done: PathChangeKind,
}

/// The kinds of [`PathChange`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathChangeKind {
    /// Made anew, written or edited.
    Made(PriorState),
    /// Deleted or moved away.
    Gone,
    /// Moved here from another path, where this lay.
    Moved { from: String, was: Stat },
}

/// What was brought to a place where things are made again or thrown away, or made of what lay elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtContent {
    pub to: String,
    pub from: String,
    /// It is no longer where it was. Of a copy, a link or an archive nothing is lost while the first is there.
    pub moved: bool,
}

impl BroughtContent {
    /// Where it lies when what is at one path is brought to another, if it lay there, in it or around it.
    #[must_use]
    pub fn on(&self, from: &str, to: &str, moved: bool) -> Option<Self> {
        let to = match self.to.strip_prefix(from).filter(|_| is_within(&self.to, from)) {
            Some(rest) => format!("{to}{rest}"),
            // It may be in what is brought on.
            None if is_within(from, &self.to) => to.to_owned(),
            None => return None,
        };
        let from = if moved { self.from.clone() } else { self.to.clone() };
        Some(Self { to, from, moved: moved && self.moved })
    }
}

/// What a command made or began that is known by its name alone: a container, a branch, a terminal; or what it typed
/// into such a terminal. As the command was given, in canonical names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedObject {
    #[serde(rename = "p")]
    pub program: String,
    #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty")]
    pub sub: Vec<String>,
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<(String, Option<String>)>,
    #[serde(rename = "o", default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<String>,
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

impl NamedObject {
    /// Everything in it that a person wrote.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let values = self.flags.iter().filter_map(|(_, value)| value.as_deref());
        values.chain(self.operands.iter().map(String::as_str))
    }
}

/// What one command of a session did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandChanges {
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<PathChange>,
    /// It ran code or programs that may have made and changed any file.
    #[serde(rename = "r", default, skip_serializing_if = "std::ops::Not::not")]
    pub ran: bool,
    #[serde(rename = "b", default, skip_serializing_if = "Vec::is_empty")]
    pub brought: Vec<BroughtContent>,
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<NamedObject>,
}

impl CommandChanges {
    /// Whether there is nothing to remember.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.done.is_empty() && !self.ran && self.brought.is_empty() && self.named.is_empty()
    }
}

/// A command of the session, as it was written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// When it was let go, in milliseconds since 1970.
    pub at: i64,
    /// When it had ended, where that is known.
    pub until: Option<i64>,
    /// When the session's next command or tool was called, in milliseconds since 1970, where that is known; now, where there
    /// was none yet.
    #[serde(default)]
    pub next: Option<i64>,
    #[serde(rename = "deeds")]
    pub changes: CommandChanges,
}

impl LedgerEntry {
    const fn window(&self) -> TimeWindow {
        self.window_to(match self.until {
            Some(until) => until,
            None => self.at + UNSEEN_MS,
        })
    }

    /// In which it may have run, as far as is known.
    fn reach(&self) -> TimeWindow {
        match (self.until, self.next) {
            (None, Some(next)) => self.window_to(next.max(self.at + UNSEEN_MS)),
            _ => self.window(),
        }
    }

    /// In which what it names may have been changed by it and hardly by anybody else.
    fn named(&self) -> TimeWindow {
        let is_soon = self.next.is_some_and(|next| next - self.at <= SOON_MS);
        if self.changes.ran && is_soon { self.reach() } else { self.window() }
    }

    const fn window_to(&self, until: i64) -> TimeWindow {
        let last = self.at + LONGEST_MS;
        TimeWindow { from: self.at - LAG_MS, until: if until < last { until } else { last } }
    }
}

/// A time in which a command of the session ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeWindow {
    from: i64,
    until: i64,
}

/// Whether a time lies in one of these windows.
fn holds(windows: &[TimeWindow], time: i64) -> bool {
    windows.iter().any(|window| (window.from..=window.until).contains(&time))
}

/// How the session stands to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It made it.
    Made,
    /// It was in the last commit as it was, and the session alone changed it since.
    Edited,
}

/// The changes of a session, and what was brought anywhere by any session of the account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// Of this session, in the order of time.
    pub entries: Vec<LedgerEntry>,
    /// Of the account, as far as it is there still.
    pub brought: Vec<BroughtContent>,
    /// What was brought is not known to its end: it may be anywhere.
    pub unknown: bool,
}

impl Ledger {
    /// What this session made by name and typed into it, in the order of time.
    pub fn named(&self) -> impl Iterator<Item = &NamedObject> {
        self.entries.iter().flat_map(|entry| &entry.changes.named)
    }

    /// Whether this session made a file at the path where nothing was, whatever lies there now.
    #[must_use]
    pub fn has_made(&self, path: &str) -> bool {
        LedgerTotals::of(self).whose(path) == PathOwner::Own
    }

    /// Whether this session wrote the file at the path, or moved one there, whatever lay there before.
    #[must_use]
    pub fn has_written(&self, path: &str) -> bool {
        let wrote = |change: &PathChange| change.path == path && !matches!(change.done, PathChangeKind::Gone);
        self.entries.iter().any(|entry| entry.changes.done.iter().any(wrote))
    }

    /// The paths at which this session wrote something and took nothing away later, the latest first, each once.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let changes = self.entries.iter().rev().flat_map(|entry| entry.changes.done.iter().rev());
        let latest = changes.filter(move |change| seen.insert(change.path.as_str()));
        latest.filter(|change| !matches!(change.done, PathChangeKind::Gone)).map(|change| &*change.path)
    }

    /// Whether what lies at a path is still what this session made of it: of a directory, with all that it holds.
    #[must_use]
    pub fn owns(&self, path: &str, look: &FileSnapshot) -> Option<Ownership> {
        LedgerTotals::of(self).owns(path, look)
    }

    /// Whether something that may be a person's only copy was brought to the path, above it or below it. `look` says what
    /// lies at a path.
    #[must_use]
    pub fn holds_what_was_brought<'s>(&self, path: &str, look: impl Fn(&str) -> Option<&'s FileSnapshot>) -> bool {
        let books = std::cell::OnceCell::new();
        let own = |brought: &BroughtContent| {
            let books = books.get_or_init(|| LedgerTotals::of(self));
            brought.moved
                && books.whose(&brought.to) == PathOwner::Own
                && look(&brought.to).is_some_and(|look| books.owns(&brought.to, look) == Some(Ownership::Made))
        };
        self.unknown
            || self
                .brought
                .iter()
                .any(|brought| (is_within(&brought.to, path) || is_within(path, &brought.to)) && !own(brought))
    }
}

/// Whether a path is another one or lies below it.
fn is_within(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
