//! Evidence for a person who is asked: the files that would be deleted, the changes that would be lost, the commits
//! that would be dropped.
//!
//! Out of scope: anything on which a verdict depends. The search has a time limit, so that it may find less than there
//! is (which it then says), and a part that cannot be read is omitted.

mod changes;
mod files;
mod history;
mod words;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::git::open::Repository;
use super::git::status::{FileState, Status};
use super::{FactResult, World, paths};
use crate::judge::analysis::act::{Act, ActId, Flag, Operand, Verb};
use crate::judge::analysis::question::Question;
use crate::judge::effect::Effect;
use crate::judge::risk::Finding;
use crate::judge::rules::glob;

/// Maximum number of files and index entries that are examined.
const MAX_ENTRIES: usize = 5_000;

/// Maximum time that the search may take before a card is shown.
pub const MAX_TIME: Duration = Duration::from_millis(50);

/// Maximum number of sentences.
const MAX_LINES: usize = 8;

/// Sentences for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub lines: Vec<String>,
    /// Whether parts were not examined.
    pub truncated: bool,
}

/// Gathers evidence about the acts that have findings, for at most `time` ([`MAX_TIME`] for a card).
#[must_use]
pub fn gather(world: &World, acts: &[Act], findings: &[Finding], time: Duration) -> Evidence {
    let mut look = EvidenceWalk::new(world, time);
    for (id, act) in acts.iter().enumerate() {
        let flagged = findings.iter().any(|finding| falls_on(finding, id, act, acts));
        if !flagged || act.remote.is_some() || act.dry_run || look.is_over() {
            continue;
        }
        // An unreadable part must not suppress the evidence about the others.
        let _ = match &act.verb {
            Verb::Effect(Effect::Delete) => files::lost(&mut look, act, "deletes"),
            Verb::Effect(Effect::Write) => files::lost(&mut look, act, "replaces"),
            Verb::Program { name, .. } if name == "git" => on_git(&mut look, act),
            _ => Ok(()),
        };
    }
    Evidence { lines: look.lines, truncated: look.truncated }
}

/// Returns the globs in the operands of the acts that have findings. The paths that they match are part of what a person
/// approves.
pub fn globs<'a>(acts: &'a [Act], findings: &'a [Finding]) -> impl Iterator<Item = Question> + 'a {
    let is_flagged = |id: ActId, act: &Act| findings.iter().any(|finding| falls_on(finding, id, act, acts));
    let flagged = acts.iter().enumerate().filter(move |(id, act)| act.remote.is_none() && is_flagged(*id, act));
    flagged.flat_map(|(_, act)| {
        let absolute = |operand: &Operand| {
            let pattern = operand.value.glob()?;
            if pattern.starts_with('/') {
                return Some(Question::Matches(pattern));
            }
            let mut all = String::new();
            glob::escape(act.cwd.as_ref()?.text()?, &mut all);
            Some(Question::Matches(format!("{all}/{pattern}")))
        };
        act.operands.iter().filter_map(absolute)
    })
}

/// Reports whether a finding is about an act, about its program if it is an effect, or about one of its effects.
fn falls_on(finding: &Finding, id: ActId, act: &Act, acts: &[Act]) -> bool {
    match finding.act {
        Some(found) => {
            found == id || act.parent == Some(found) || acts.get(found).is_some_and(|found| found.parent == Some(id))
        }
        None => finding.span.start < act.span.end && act.span.start < finding.span.end,
    }
}

fn on_git(look: &mut EvidenceWalk<'_>, act: &Act) -> FactResult<()> {
    let Some(dir) = git_dir(act) else { return Ok(()) };
    let Some(status) = look.status(&paths::resolve(&dir)?.canonical)? else { return Ok(()) };
    let sub: Vec<&str> = act.sub.iter().map(String::as_str).collect();
    match sub.as_slice() {
        ["push", ..] => history::push(look, &status.repository, act),
        ["reset", ..] if has(act, &["--hard", "--merge", "--keep"]) => {
            changes::lost(look, &status, &dir, &[])?;
            history::reset(look, &status.repository, act)
        }
        ["checkout" | "switch", ..] if has(act, &["-f", "--force", "--discard-changes"]) => {
            changes::lost(look, &status, &dir, &[])
        }
        ["checkout", ..] => changes::checkout(look, &status, &dir, act),
        ["restore", ..] if !has(act, &["--staged", "-S"]) || has(act, &["--worktree", "-W"]) => {
            changes::lost(look, &status, &dir, &texts(act))
        }
        ["clean", ..] => changes::clean(look, &status, &dir, act),
        ["branch", ..] if has(act, &["-D", "-d", "--delete"]) => history::branches(look, &status.repository, act),
        ["stash", "drop" | "clear"] => history::stashes(look, &status.repository, sub.last() == Some(&"clear")),
        _ => Ok(()),
    }
}

/// Returns the directory in which git works: the working directory, or the one of `-C`.
fn git_dir(act: &Act) -> Option<PathBuf> {
    let mut dir = PathBuf::from(act.cwd.as_ref()?.text()?);
    for flag in act.flags.iter().filter(|flag| flag.name == "-C") {
        dir.push(flag.value.as_ref()?.known()?.as_ref());
    }
    Some(dir)
}

/// Reports whether one of these options is given, by its canonical spelling.
fn has(act: &Act, names: &[&str]) -> bool {
    act.flags.iter().any(|Flag { name, .. }| names.contains(&name.as_str()))
}

/// Returns the operands that are completely known.
fn texts(act: &Act) -> Vec<String> {
    act.operands.iter().filter_map(|operand| operand.value.known().map(Into::into)).collect()
}

/// A search for evidence, with the remaining limits.
struct EvidenceWalk<'a> {
    world: &'a World,
    entries: usize,
    until: Instant,
    lines: Vec<String>,
    truncated: bool,
    statuses: HashMap<PathBuf, Rc<Status>>,
}

impl<'a> EvidenceWalk<'a> {
    fn new(world: &'a World, time: Duration) -> Self {
        Self {
            world,
            entries: MAX_ENTRIES,
            until: Instant::now() + time,
            lines: Vec::new(),
            truncated: false,
            statuses: HashMap::new(),
        }
    }

    /// Reports whether a limit is reached. The sentences until then remain.
    fn is_over(&mut self) -> bool {
        if self.entries == 0 || self.lines.len() >= MAX_LINES || Instant::now() >= self.until {
            self.truncated = true;
            return true;
        }
        false
    }

    /// Counts one examined entry, and reports whether it may be examined.
    fn spend(&mut self) -> bool {
        if self.is_over() {
            return false;
        }
        self.entries -= 1;
        true
    }

    fn say(&mut self, line: String) {
        if self.lines.len() < MAX_LINES {
            if !self.lines.contains(&line) {
                self.lines.push(line);
            }
        } else {
            self.truncated = true;
        }
    }

    /// Returns the status of the repository that contains `dir`, which must not contain symbolic links.
    fn status(&mut self, dir: &Path) -> FactResult<Option<Rc<Status>>> {
        let Some(repository) = self.world.git.holding(dir)? else { return Ok(None) };
        let key = repository.git_dir.clone();
        Ok(Some(self.statuses.entry(key).or_insert_with(|| Rc::new(Status::new(repository))).clone()))
    }

    /// Returns the root of the repository in which the command is started.
    fn project(&self) -> Option<PathBuf> {
        let cwd = paths::resolve(self.world.git.cwd()).ok()?.canonical;
        let repository: Rc<Repository> = self.world.git.holding(&cwd).ok()??;
        repository.root.clone()
    }
}

/// The numbers of files by state.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    committed: usize,
    changed: usize,
    untracked: usize,
    ignored: usize,
}

impl Tally {
    fn add(&mut self, state: FileState) {
        let count = match state {
            FileState::Committed => &mut self.committed,
            FileState::Changed => &mut self.changed,
            FileState::Untracked => &mut self.untracked,
            FileState::Ignored => &mut self.ignored,
        };
        *count += 1;
    }
}
