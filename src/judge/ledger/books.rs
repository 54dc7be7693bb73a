//! Adds up the changes of a session: the owner of each path, and the times at which the session may have made and
//! changed it.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{
    CopiedContent, FileKind, FileSnapshot, Ledger, LedgerEntry, Ownership, PAUSE_MS, PathChange, PathChangeKind,
    PriorState, Stat, TimeWindow, holds, is_within,
};

/// The owner of a path, according to the changes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathOwner {
    /// No change determines the owner.
    Untold,
    /// The session made it.
    Own,
    /// The session changed a file that git tracks.
    Edited,
    /// It existed before.
    Theirs,
}

/// The totals of a ledger.
pub(super) struct LedgerTotals<'a> {
    paths: HashMap<Cow<'a, str>, PathHistory>,
    /// The times at which any file may have been made.
    ran: Vec<TimeWindow>,
    /// The times at which any command with changes ran.
    all: Vec<TimeWindow>,
    /// The longest times for which the commands may have run.
    reach: Vec<TimeWindow>,
    /// The times at which something may have been made at or below a path, by path.
    made: HashMap<Cow<'a, str>, Vec<TimeWindow>>,
    /// The copies of what was not the session's own.
    pub copied: Vec<&'a CopiedContent>,
}

#[derive(Clone)]
struct PathHistory {
    whose: PathOwner,
    windows: Vec<TimeWindow>,
    /// The times at which it was made where nothing existed: what is born below it then came with it.
    anew: Vec<TimeWindow>,
}

impl<'a> LedgerTotals<'a> {
    /// Adds up all commands of a session.
    pub(super) fn of(ledger: &'a Ledger) -> Self {
        let ran = ledger.entries.iter().filter(|entry| entry.changes.ran).map(LedgerEntry::window).collect();
        let all = ledger.entries.iter().map(LedgerEntry::window).collect();
        let reach = ledger.entries.iter().map(LedgerEntry::reach).collect();
        let (paths, made, copied) = Default::default();
        let mut books = Self { paths, ran, all, reach, made, copied };
        for entry in &ledger.entries {
            for copied in &entry.changes.copied {
                let CopiedContent { from, was, .. } = copied;
                if !books.directory(from, was) && books.file(from, was) != Some(Ownership::Made) {
                    books.copied.push(copied);
                }
            }
            // A moved path is looked up at its source before the change removes it there.
            let (moved, others): (Vec<_>, Vec<_>) =
                entry.changes.done.iter().partition(|change| matches!(change.done, PathChangeKind::Moved { .. }));
            for change in moved.into_iter().chain(others) {
                books.add(change, entry);
            }
        }
        books
    }

    fn add(&mut self, change: &'a PathChange, entry: &LedgerEntry) {
        let before = self.whose(&change.path);
        let whose = match &change.done {
            PathChangeKind::Gone => PathOwner::Untold,
            PathChangeKind::Made(PriorState::Nothing) => PathOwner::Own,
            PathChangeKind::Made(PriorState::Clean) => PathOwner::Edited,
            PathChangeKind::Made(PriorState::Kept(stat)) => match (before, self.is_in_time(&change.path, stat.changed))
            {
                (PathOwner::Own | PathOwner::Edited, true) => before,
                (PathOwner::Untold, true) if is_born_in(&self.ran, stat) || self.is_born_above(&change.path, stat) => {
                    PathOwner::Own
                }
                _ => PathOwner::Theirs,
            },
            PathChangeKind::Moved { from, was } => match self.file(from, was) {
                Some(Ownership::Made) => PathOwner::Own,
                _ => PathOwner::Theirs,
            },
        };
        if let PathChangeKind::Moved { from, was } = &change.done
            && whose == PathOwner::Own
            && was.kind == FileKind::Directory
        {
            self.carry(from, &change.path);
        }
        // The content that was made before is gone or overwritten, so that its time is not evidence of the current
        // content.
        let page = self.paths.entry(Cow::Borrowed(&change.path)).or_insert_with(|| PathHistory::new(whose));
        page.whose = whose;
        page.windows.push(entry.named());
        if change.done == PathChangeKind::Made(PriorState::Nothing) {
            page.anew.push(entry.named());
            let mut above = change.path.as_str();
            loop {
                self.made.entry(Cow::Borrowed(above)).or_default().push(entry.reach());
                match above.rfind('/') {
                    Some(at) if at > 0 => above = &above[..at],
                    _ => break,
                }
            }
        }
    }

    /// Copies the records of a directory of the session, and of everything below it, to the path to which it is moved.
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

    /// Reports whether a time is one at which a directory above the path was made where nothing existed.
    fn came_with(&self, path: &str, time: i64) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let mut above = ends.filter_map(|at| self.paths.get(path.get(..at)?));
        above.any(|page| page.whose == PathOwner::Own && holds(&page.anew, time))
    }

    /// Returns the owner of a path according to the changes alone.
    pub(super) fn whose(&self, path: &str) -> PathOwner {
        self.paths.get(path).map_or(PathOwner::Untold, |page| page.whose)
    }

    /// Reports whether a command of the session made the change at that time.
    fn is_in_time(&self, path: &str, changed: i64) -> bool {
        self.paths.get(path).is_some_and(|page| holds(&page.windows, changed))
            || holds(&self.ran, changed)
            || self.came_with(path, changed)
    }

    /// Returns the ownership if what is at a path is unchanged since the session made or edited it.
    pub(super) fn owns(&self, path: &str, look: &FileSnapshot) -> Option<Ownership> {
        match look.stat.kind {
            FileKind::File | FileKind::Link => self.file(path, &look.stat),
            FileKind::Directory => {
                let below = look.below.as_ref()?;
                if !self.directory(path, &look.stat) {
                    return None;
                }
                let spell = self.spell(&look.stat, below);
                let own = |(path, stat): &(String, Stat)| match stat.kind {
                    FileKind::Directory => self.directory(path, stat) || self.came_in(&spell, path, stat),
                    FileKind::File | FileKind::Link => {
                        self.file(path, stat) == Some(Ownership::Made)
                            || self.came_in(&spell, path, stat) && holds(&spell, stat.changed)
                    }
                    FileKind::Other => false,
                };
                below.iter().all(own).then_some(Ownership::Made)
            }
            FileKind::Other => None,
        }
    }

    /// Returns the time from the birth of a directory of the session to the first pause of [`PAUSE_MS`] in which
    /// nothing in it was born or changed, limited to the time for which the command that made it may have run.
    fn spell(&self, stat: &Stat, below: &[(String, Stat)]) -> Vec<TimeWindow> {
        let reach = |born: i64| {
            let of = self.reach.iter().filter(|reach| (reach.from..=reach.until).contains(&born));
            of.map(|reach| reach.until).max()
        };
        let Some((born, last)) = stat.born.and_then(|born| Some((born, reach(born)?))) else { return Vec::new() };
        let mut times: Vec<i64> =
            below.iter().flat_map(|(_, stat)| [Some(stat.changed), stat.born]).flatten().collect();
        times.retain(|time| (born..=last).contains(time));
        times.sort_unstable();
        let until = times.iter().try_fold(born, |until, time| match time - until <= PAUSE_MS {
            true => Ok(*time),
            false => Err(until),
        });
        let until = match until {
            Ok(until) | Err(until) => until,
        };
        vec![TimeWindow { from: born, until }]
    }

    /// Reports whether something was born in a directory of the session together with what the session put there.
    fn came_in(&self, spell: &[TimeWindow], path: &str, stat: &Stat) -> bool {
        is_born_in(spell, stat) && matches!(self.whose(path), PathOwner::Own | PathOwner::Untold)
    }

    fn file(&self, path: &str, stat: &Stat) -> Option<Ownership> {
        if !self.is_in_time(path, stat.changed) {
            return None;
        }
        match self.whose(path) {
            // A hard link to an older file has the birth of that file.
            PathOwner::Own => (stat.born.is_none() || is_born_in(&self.all, stat) || self.is_born_at(path, stat))
                .then_some(Ownership::Made),
            PathOwner::Edited => Some(Ownership::Edited),
            PathOwner::Untold => {
                (is_born_in(&self.ran, stat) || self.is_born_above(path, stat)).then_some(Ownership::Made)
            }
            PathOwner::Theirs => None,
        }
    }

    /// Reports whether a directory is the session's. Each entry that is added changes a directory, so that only its
    /// birth counts.
    fn directory(&self, path: &str, stat: &Stat) -> bool {
        let made = self.made.get(path).map_or(&[][..], Vec::as_slice);
        stat.kind == FileKind::Directory
            && self.whose(path) != PathOwner::Theirs
            && (is_born_in(made, stat) || is_born_in(&self.ran, stat) || self.is_born_above(path, stat))
    }

    /// Reports whether it was born while a command that names it made it.
    fn is_born_at(&self, path: &str, stat: &Stat) -> bool {
        self.paths.get(path).is_some_and(|page| is_born_in(&page.anew, stat))
    }

    fn is_born_above(&self, path: &str, stat: &Stat) -> bool {
        stat.born.is_some_and(|born| self.came_with(path, born))
    }
}

impl PathHistory {
    const fn new(whose: PathOwner) -> Self {
        Self { whose, windows: Vec::new(), anew: Vec::new() }
    }
}

fn is_born_in(windows: &[TimeWindow], stat: &Stat) -> bool {
    stat.born.is_some_and(|born| holds(windows, born))
}
