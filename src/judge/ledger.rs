//! What a session has done to files: which paths its commands and file tools made, changed, moved and took away, when,
//! and what was there before. From it judgment tells the session's own work from a person's.
//!
//! A change is what a command was about to do; whether it did is told by the file. The kernel keeps two times that no
//! program sets: of birth, and of the last change of anything about the file, its name and its mode included. A file is
//! the session's own while it was born and last changed within the windows in which the session's commands ran, so a
//! file that a person edits, or puts in its place, is theirs again, whatever its other times say.
//!
//! What may not enter: I/O, the clock, and how changes are worked out of a command.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// For how long after it was let go a command is taken to have run where nothing tells when it ended: as long as it
/// takes to write a file, and shorter than a person needs to open one.
pub const UNSEEN_MS: i64 = 2_000;

/// The longest time that a command's end makes of a window.
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
pub enum Before {
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
    pub done: Done,
}

/// The kinds of [`PathChange`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Done {
    /// Made anew, written or edited.
    Made(Before),
    /// Deleted or moved away.
    Gone,
    /// Moved here from another path, where this lay.
    Moved { from: String, was: Stat },
}

/// What was brought to a place where things are made again or thrown away, or made of what lay elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brought {
    pub to: String,
    pub from: String,
    /// It is no longer where it was. Of a copy, a link or an archive nothing is lost while the first is there.
    pub moved: bool,
}

/// What a command made or began that is known by its name alone: a container, a branch, a terminal; or what it typed
/// into such a terminal. As the command was given, in canonical names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
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

impl Named {
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
    pub brought: Vec<Brought>,
    #[serde(rename = "n", default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<Named>,
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
    #[serde(rename = "deeds")]
    pub changes: CommandChanges,
}

impl LedgerEntry {
    const fn window(&self) -> Window {
        let until = match self.until {
            Some(until) if until - self.at > LONGEST_MS => self.at + LONGEST_MS,
            Some(until) => until,
            None => self.at + UNSEEN_MS,
        };
        Window { from: self.at - LAG_MS, until }
    }
}

/// A time in which a command of the session ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    from: i64,
    until: i64,
}

/// Whether a time lies in one of these windows.
fn holds(windows: &[Window], time: i64) -> bool {
    windows.iter().any(|window| (window.from..=window.until).contains(&time))
}

/// Whose a path is, by the changes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// No change tells.
    Untold,
    /// The session made it.
    Own,
    /// The session changed what git has.
    Edited,
    /// It was there before.
    Theirs,
}

/// How the session stands to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
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
    pub brought: Vec<Brought>,
    /// What was brought is not known to its end: it may be anywhere.
    pub unknown: bool,
}

impl Ledger {
    /// What this session made by name and typed into it, in the order of time.
    pub fn named(&self) -> impl Iterator<Item = &Named> {
        self.entries.iter().flat_map(|entry| &entry.changes.named)
    }

    /// Whether this session made a file at the path where nothing was, whatever lies there now.
    #[must_use]
    pub fn has_made(&self, path: &str) -> bool {
        Books::of(self).whose(path) == Whose::Own
    }

    /// Whether this session wrote the file at the path, or moved one there, whatever lay there before.
    #[must_use]
    pub fn has_written(&self, path: &str) -> bool {
        let wrote = |change: &PathChange| change.path == path && !matches!(change.done, Done::Gone);
        self.entries.iter().any(|entry| entry.changes.done.iter().any(wrote))
    }

    /// The paths at which this session wrote something and took nothing away later, the latest first, each once.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let changes = self.entries.iter().rev().flat_map(|entry| entry.changes.done.iter().rev());
        let latest = changes.filter(move |change| seen.insert(change.path.as_str()));
        latest.filter(|change| !matches!(change.done, Done::Gone)).map(|change| &*change.path)
    }

    /// Whether what lies at a path is still what this session made of it: of a directory, with all that it holds.
    #[must_use]
    pub fn owns(&self, path: &str, look: &FileSnapshot) -> Option<Own> {
        let books = Books::of(self);
        match look.stat.kind {
            FileKind::File | FileKind::Link => books.file(path, &look.stat),
            FileKind::Directory => {
                let below = look.below.as_ref()?;
                let own = |(path, stat): &(String, Stat)| match stat.kind {
                    FileKind::Directory => books.directory(path, stat),
                    FileKind::File | FileKind::Link => books.file(path, stat) == Some(Own::Made),
                    FileKind::Other => false,
                };
                (books.directory(path, &look.stat) && below.iter().all(own)).then_some(Own::Made)
            }
            FileKind::Other => None,
        }
    }

    /// Whether something that may be a person's only copy was brought to the path, above it or below it.
    #[must_use]
    pub fn holds_what_was_brought(&self, path: &str) -> bool {
        let books = std::cell::OnceCell::new();
        let own =
            |brought: &Brought| brought.moved && books.get_or_init(|| Books::of(self)).whose(&brought.to) == Whose::Own;
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

/// A ledger, added up.
struct Books<'a> {
    paths: HashMap<Cow<'a, str>, Page>,
    /// When anything may have been made.
    ran: Vec<Window>,
    /// When any command ran that did anything.
    all: Vec<Window>,
    /// When something was made at or below a path, by path.
    made: HashMap<Cow<'a, str>, Vec<Window>>,
}

#[derive(Clone)]
struct Page {
    whose: Whose,
    windows: Vec<Window>,
    /// When it was made where nothing was: what is born below it then came with it.
    anew: Vec<Window>,
}

impl<'a> Books<'a> {
    fn of(ledger: &'a Ledger) -> Self {
        let ran = ledger.entries.iter().filter(|entry| entry.changes.ran).map(LedgerEntry::window).collect();
        let all = ledger.entries.iter().map(LedgerEntry::window).collect();
        let mut books = Self { paths: HashMap::new(), ran, all, made: HashMap::new() };
        for entry in &ledger.entries {
            // What is moved is looked up where it was before it is gone there.
            let (moved, others): (Vec<_>, Vec<_>) =
                entry.changes.done.iter().partition(|change| matches!(change.done, Done::Moved { .. }));
            for change in moved.into_iter().chain(others) {
                books.add(change, entry.window());
            }
        }
        books
    }

    fn add(&mut self, change: &'a PathChange, window: Window) {
        let before = self.whose(&change.path);
        let whose = match &change.done {
            Done::Gone => Whose::Untold,
            Done::Made(Before::Nothing) => Whose::Own,
            Done::Made(Before::Clean) => Whose::Edited,
            Done::Made(Before::Kept(stat)) => match (before, self.is_in_time(&change.path, stat.changed)) {
                (Whose::Own | Whose::Edited, true) => before,
                (Whose::Untold, true) if is_born_in(&self.ran, stat) || self.is_born_above(&change.path, stat) => {
                    Whose::Own
                }
                _ => Whose::Theirs,
            },
            Done::Moved { from, was } => match self.file(from, was) {
                Some(Own::Made) => Whose::Own,
                _ => Whose::Theirs,
            },
        };
        if let Done::Moved { from, was } = &change.done
            && whose == Whose::Own
            && was.kind == FileKind::Directory
        {
            self.carry(from, &change.path);
        }
        // What was made before is gone, or is written over: its time tells nothing of what is there now.
        let page = self.paths.entry(Cow::Borrowed(&change.path)).or_insert_with(|| Page::new(whose));
        page.whose = whose;
        page.windows.push(window);
        if change.done == Done::Made(Before::Nothing) {
            page.anew.push(window);
            let mut above = change.path.as_str();
            loop {
                self.made.entry(Cow::Borrowed(above)).or_default().push(window);
                match above.rfind('/') {
                    Some(at) if at > 0 => above = &above[..at],
                    _ => break,
                }
            }
        }
    }

    /// What is known of a directory of its own and of all below goes with it to where it is moved.
    fn carry(&mut self, from: &str, to: &str) {
        let there = |path: &str| {
            let rest = path.strip_prefix(from).filter(|_| is_within(path, from))?;
            Some(Cow::Owned(format!("{to}{rest}")))
        };
        let pages: Vec<_> = self.paths.iter().filter_map(|(path, page)| Some((there(path)?, page.clone()))).collect();
        let made: Vec<_> = self.made.iter().filter_map(|(path, made)| Some((there(path)?, made.clone()))).collect();
        self.paths.extend(pages);
        self.made.extend(made);
    }

    /// Whether what bears this time came with a directory above the path that was made where nothing was.
    fn came_with(&self, path: &str, time: i64) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let mut above = ends.filter_map(|at| self.paths.get(path.get(..at)?));
        above.any(|page| page.whose == Whose::Own && holds(&page.anew, time))
    }

    fn whose(&self, path: &str) -> Whose {
        self.paths.get(path).map_or(Whose::Untold, |page| page.whose)
    }

    /// Whether a change at that time was a command of the session.
    fn is_in_time(&self, path: &str, changed: i64) -> bool {
        self.paths.get(path).is_some_and(|page| holds(&page.windows, changed))
            || holds(&self.ran, changed)
            || self.came_with(path, changed)
    }

    fn file(&self, path: &str, stat: &Stat) -> Option<Own> {
        if !self.is_in_time(path, stat.changed) {
            return None;
        }
        match self.whose(path) {
            // Another name for a file that was there before is as old as that.
            Whose::Own => (stat.born.is_none() || is_born_in(&self.all, stat)).then_some(Own::Made),
            Whose::Edited => Some(Own::Edited),
            Whose::Untold => (is_born_in(&self.ran, stat) || self.is_born_above(path, stat)).then_some(Own::Made),
            Whose::Theirs => None,
        }
    }

    /// A directory changes with each name in it, so only its birth tells.
    fn directory(&self, path: &str, stat: &Stat) -> bool {
        let made = self.made.get(path).map_or(&[][..], Vec::as_slice);
        stat.kind == FileKind::Directory
            && self.whose(path) != Whose::Theirs
            && (is_born_in(made, stat) || is_born_in(&self.ran, stat) || self.is_born_above(path, stat))
    }

    fn is_born_above(&self, path: &str, stat: &Stat) -> bool {
        stat.born.is_some_and(|born| self.came_with(path, born))
    }
}

impl Page {
    const fn new(whose: Whose) -> Self {
        Self { whose, windows: Vec::new(), anew: Vec::new() }
    }
}

fn is_born_in(windows: &[Window], stat: &Stat) -> bool {
    stat.born.is_some_and(|born| holds(windows, born))
}

#[cfg(test)]
mod tests;
