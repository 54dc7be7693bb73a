//! The changes that a session has made to files: the paths that its commands and file tools created, changed, moved and
//! deleted, the times, and the previous states. From these, the judge distinguishes the session's own files from those
//! of people.
//!
//! A change is recorded before the command runs; the file itself shows whether it happened. The kernel maintains two
//! times that programs cannot set: the birth time, and the time of the last change of the file, including its name and
//! mode. A file belongs to the session if it was created and last changed within the windows in which the session's
//! commands ran. A file that a person edits or replaces therefore belongs to the person again, whatever its other times
//! are.
//!
//! If the end of a command was not observed, only the time of the session's next call limits its window. A directory
//! that the command names, and that was created in between, belongs to the session, with everything that was created in
//! it without a pause. A file that the command names belongs to the session if the command runs programs and the next
//! call came soon. The module `books` combines these facts.
//!
//! Out of scope: I/O, the clock, and deriving the changes from a command.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

mod books;

use self::books::{LedgerTotals, PathOwner};

/// The assumed running time of a command whose end was not observed, from its release: enough to write a file, and less
/// than a person needs to open one.
pub const UNSEEN_MS: i64 = 2_000;

/// The maximum time between a command that runs programs and the session's next call for which all changes to the paths
/// that the command names are attributed to it: less than a person needs to see a file, edit it and continue.
pub const SOON_MS: i64 = 8_000;

/// The maximum pause between two files that one command puts into a directory.
const PAUSE_MS: i64 = 1_000;

/// The maximum length of a window that ends with a command's end or with the session's next call.
pub const LONGEST_MS: i64 = 600_000;

/// The maximum lag of the kernel's clock for file times behind the clock that guard reads.
const LAG_MS: i64 = 20;

/// The maximum number of changes that are stored for a command.
pub const MAX_CHANGES: usize = 64;

/// The maximum number of entries of a directory that are examined.
pub const MAX_BELOW: usize = 4096;

/// The metadata of a file from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    #[serde(rename = "k")]
    pub kind: FileKind,
    /// The birth time, in milliseconds since 1970; `None` if the file system does not store it.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub born: Option<i64>,
    /// The time of the last change of its content, name, links, owner or mode, in milliseconds since 1970.
    #[serde(rename = "c")]
    pub changed: i64,
}

/// The kinds of files; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    File,
    Directory,
    Link,
    Other,
}

/// The current state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSnapshot {
    pub stat: Stat,
    /// The entries of a directory, recursively, by absolute path; `None` if there are more than [`MAX_BELOW`] or it
    /// could not be read.
    pub below: Option<Vec<(String, Stat)>>,
}

/// The state of a path before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PriorState {
    Nothing,
    /// A file that git tracks, unchanged since HEAD.
    Clean,
    /// Any other file.
    Kept(Stat),
}

/// A change that a command was about to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathChange {
    /// The absolute path, with all links resolved.
    #[serde(rename = "p")]
    pub path: String,
    #[serde(rename = "d")]
    pub done: PathChangeKind,
}

/// The kinds of [`PathChange`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathChangeKind {
    /// Created, written or edited.
    Made(PriorState),
    /// Deleted or moved away.
    Gone,
    /// Moved here from another path, where it had this metadata.
    Moved { from: String, was: Stat },
}

/// Content that a command brought to a path at which files are regenerated or discarded, or a file that was made of
/// content from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtContent {
    pub to: String,
    pub from: String,
    /// Whether it is no longer at its previous path. A copy, a link or an archive can be lost without harm as long as
    /// the original exists.
    pub moved: bool,
}

impl BroughtContent {
    /// Returns where the content is after `from` is brought to `to`, if it was at `from`, below it or above it.
    #[must_use]
    pub fn on(&self, from: &str, to: &str, moved: bool) -> Option<Self> {
        let to = match self.to.strip_prefix(from).filter(|_| is_within(&self.to, from)) {
            Some(rest) => format!("{to}{rest}"),
            // The content may be a part of what is brought to `to`.
            None if is_within(from, &self.to) => to.to_owned(),
            None => return None,
        };
        let from = if moved { self.from.clone() } else { self.to.clone() };
        Some(Self { to, from, moved: moved && self.moved })
    }
}

/// A file that a command copied, or into which it put the content of another one, outside the places at which files are
/// regenerated or discarded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedContent {
    pub to: String,
    pub from: String,
    /// The metadata of the other file.
    pub was: Stat,
}

/// An object that a command created or started and that is known only by its name (a container, a branch, a terminal),
/// or input that it typed into such a terminal: the command as it was given, with canonical names.
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
    /// The branches and tags (`refs/heads/x`) that it creates and that did not exist before.
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    /// Whether the command expects that it may exist already.
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
}

impl NamedObject {
    /// Returns all texts in it that the author of the command wrote.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let values = self.flags.iter().filter_map(|(_, value)| value.as_deref());
        values.chain(self.operands.iter().map(String::as_str))
    }
}

/// The changes of one command of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandChanges {
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<PathChange>,
    /// Whether it ran code or programs that may have created or changed any file.
    #[serde(rename = "r", default, skip_serializing_if = "std::ops::Not::not")]
    pub ran: bool,
    #[serde(rename = "b", default, skip_serializing_if = "Vec::is_empty")]
    pub brought: Vec<BroughtContent>,
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<NamedObject>,
    #[serde(rename = "k", default, skip_serializing_if = "Vec::is_empty")]
    pub copied: Vec<CopiedContent>,
    /// The files that it downloaded, with a slash at the end for a directory in which the names are unknown.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub fetched: Vec<String>,
}

impl CommandChanges {
    /// Reports whether there is nothing to record.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        let Self { done, ran, brought, named, copied, fetched } = self;
        done.is_empty() && !*ran && brought.is_empty() && named.is_empty() && copied.is_empty() && fetched.is_empty()
    }
}

/// A recorded command of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The time at which it was released, in milliseconds since 1970.
    pub at: i64,
    /// The time at which it ended, if that is known.
    pub until: Option<i64>,
    /// The time of the session's next call of a command or tool, in milliseconds since 1970, if that is known; the
    /// current time if there was none yet.
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

    /// Returns the longest window in which it may have run.
    fn reach(&self) -> TimeWindow {
        match (self.until, self.next) {
            (None, Some(next)) => self.window_to(next.max(self.at + UNSEEN_MS)),
            _ => self.window(),
        }
    }

    /// Returns the window in which changes to the paths that it names are attributed to it.
    fn named(&self) -> TimeWindow {
        let is_soon = self.next.is_some_and(|next| next - self.at <= SOON_MS);
        if self.changes.ran && is_soon { self.reach() } else { self.window() }
    }

    const fn window_to(&self, until: i64) -> TimeWindow {
        let last = self.at + LONGEST_MS;
        TimeWindow { from: self.at - LAG_MS, until: if until < last { until } else { last } }
    }
}

/// A period in which a command of the session ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeWindow {
    from: i64,
    until: i64,
}

/// Reports whether a time is in one of these windows.
fn holds(windows: &[TimeWindow], time: i64) -> bool {
    windows.iter().any(|window| (window.from..=window.until).contains(&time))
}

/// The way in which a file belongs to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// The session created it.
    Made,
    /// It was unchanged since the last commit, and only the session has changed it since then.
    Edited,
}

/// The changes of a session, and the content that any session of the account brought elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The commands of this session, in chronological order.
    pub entries: Vec<LedgerEntry>,
    /// The content that sessions of the account brought elsewhere, as far as it still exists.
    pub brought: Vec<BroughtContent>,
    /// Whether the list of that content is incomplete. Such content may then be at any path.
    pub unknown: bool,
}

impl Ledger {
    /// Returns the named objects that this session created and the input that it typed into them, in chronological
    /// order.
    pub fn named(&self) -> impl Iterator<Item = &NamedObject> {
        self.entries.iter().flat_map(|entry| &entry.changes.named)
    }

    /// Reports whether a command of this session ran in that second since 1970 and may have made a commit.
    #[must_use]
    pub fn may_have_committed(&self, second: i64) -> bool {
        let (from, until) = (second.saturating_mul(1000), second.saturating_mul(1000).saturating_add(999));
        self.entries.iter().map(LedgerEntry::window).any(|window| window.from <= until && from <= window.until)
    }

    /// Reports whether this session created a file at a path where there was none, whatever is there now.
    #[must_use]
    pub fn has_made(&self, path: &str) -> bool {
        LedgerTotals::of(self).whose(path) == PathOwner::Own
    }

    /// Reports whether this session wrote the file at the path or moved one there, whatever was there before.
    #[must_use]
    pub fn has_written(&self, path: &str) -> bool {
        let wrote = |change: &PathChange| change.path == path && !matches!(change.done, PathChangeKind::Gone);
        self.entries.iter().any(|entry| entry.changes.done.iter().any(wrote))
    }

    /// Returns the paths that this session wrote and did not delete or move away later, the latest first, each once.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let changes = self.entries.iter().rev().flat_map(|entry| entry.changes.done.iter().rev());
        let latest = changes.filter(move |change| seen.insert(change.path.as_str()));
        latest.filter(|change| !matches!(change.done, PathChangeKind::Gone)).map(|change| &*change.path)
    }

    /// Reports whether this session downloaded anything.
    #[must_use]
    pub fn has_fetched_any(&self) -> bool {
        self.entries.iter().any(|entry| !entry.changes.fetched.is_empty())
    }

    /// Reports whether what is at a path was downloaded by this session, under this name or one from which it was moved
    /// or copied since. `born` returns the birth time of the file.
    #[must_use]
    pub fn has_fetched(&self, path: &str, born: impl Fn() -> Option<i64>) -> bool {
        let mut fetched: Vec<(String, TimeWindow)> = Vec::new();
        for entry in &self.entries {
            for change in &entry.changes.done {
                match &change.done {
                    PathChangeKind::Moved { from, .. } => carry(&mut fetched, from, &change.path),
                    // A command that downloads a file also makes it.
                    PathChangeKind::Made(_) => fetched.retain(|(to, _)| *to != change.path),
                    PathChangeKind::Gone => {}
                }
            }
            for copied in &entry.changes.copied {
                carry(&mut fetched, &copied.from, &copied.to);
            }
            fetched.extend(entry.changes.fetched.iter().map(|to| (to.clone(), entry.reach())));
        }
        fetched.iter().any(|(to, window)| match to.strip_suffix('/') {
            Some(dir) => is_within(path, dir) && born().is_none_or(|born| holds(&[*window], born)),
            None => is_within(path, to),
        })
    }

    /// Returns the way in which the path still belongs to this session, if it does. A directory belongs to it only with
    /// all of its entries.
    #[must_use]
    pub fn owns(&self, path: &str, look: &FileSnapshot) -> Option<Ownership> {
        LedgerTotals::of(self).owns(path, look)
    }

    /// Reports whether content that may be a person's only copy was brought to the path, above it or below it. `look`
    /// returns the current state of a path.
    #[must_use]
    pub fn holds_what_was_brought<'s>(&self, path: &str, look: impl Fn(&str) -> Option<&'s FileSnapshot>) -> bool {
        let books = std::cell::OnceCell::new();
        let own = |brought: &BroughtContent| {
            let books = books.get_or_init(|| LedgerTotals::of(self));
            brought.moved
                && books.whose(&brought.to) == PathOwner::Own
                && look(&brought.to).is_some_and(|look| books.owns(&brought.to, look) == Some(Ownership::Made))
        };
        let is_near = |to: &str| is_within(to, path) || is_within(path, to);
        let is_copy = || {
            let mut copied = self.entries.iter().flat_map(|entry| &entry.changes.copied);
            copied.any(|copied| is_near(&copied.to))
                && books.get_or_init(|| LedgerTotals::of(self)).copied.iter().any(|copied| is_near(&copied.to))
        };
        self.unknown || is_copy() || self.brought.iter().any(|brought| is_near(&brought.to) && !own(brought))
    }
}

/// Adds the new paths of downloads, after `from` was moved or copied to `to`.
fn carry(fetched: &mut Vec<(String, TimeWindow)>, from: &str, to: &str) {
    let moved = |(path, window): &(String, TimeWindow)| {
        let rest = path.strip_prefix(from).filter(|_| is_within(path, from))?;
        Some((format!("{to}{rest}"), *window))
    };
    let moved: Vec<_> = fetched.iter().filter_map(moved).take(MAX_CHANGES).collect();
    fetched.extend(moved);
}

/// Reports whether a path is equal to another one or below it.
fn is_within(path: &str, directory: &str) -> bool {
    let directory = directory.trim_end_matches('/');
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
