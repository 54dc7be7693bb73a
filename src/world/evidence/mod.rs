//! Evidence: what a person who is asked would like to know. What would be deleted, which changes would be lost, which
//! commits would be dropped.
//!
//! Out of scope: anything that a verdict rests on. Looking is cut off by a clock, so it may say less than there
//! is (and then says so), and a part that cannot be read is left out.

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
use crate::judge::analysis::act::{Act, ActId, Flag, Verb};
use crate::judge::effect::Effect;
use crate::judge::risk::Finding;

/// How many files and index entries are looked at.
const MAX_ENTRIES: usize = 5_000;

/// How long looking may take before a card is shown.
pub const MAX_TIME: Duration = Duration::from_millis(50);

/// How many sentences are given.
const MAX_LINES: usize = 8;

/// Sentences for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    pub lines: Vec<String>,
    /// There is more than was looked at.
    pub truncated: bool,
}

/// Gathers evidence on the acts that findings fall on, for as long as `time` allows ([`MAX_TIME`] for a card).
#[must_use]
pub fn gather(world: &World, acts: &[Act], findings: &[Finding], time: Duration) -> Evidence {
    let mut look = EvidenceWalk::new(world, time);
    for (id, act) in acts.iter().enumerate() {
        let flagged = findings.iter().any(|finding| falls_on(finding, id, act, acts));
        if !flagged || act.remote.is_some() || act.dry_run || look.is_over() {
            continue;
        }
        // What cannot be read is no reason to say nothing of the rest.
        let _ = match &act.verb {
            Verb::Effect(Effect::Delete) => files::lost(&mut look, act, "deletes"),
            Verb::Effect(Effect::Write) => files::lost(&mut look, act, "replaces"),
            Verb::Program { name, .. } if name == "git" => on_git(&mut look, act),
            _ => Ok(()),
        };
    }
    Evidence { lines: look.lines, truncated: look.truncated }
}

/// Whether a finding falls on an act, on the program that it is an effect of, or on an effect of it.
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

/// Where git looks: the working directory, or what `-C` says.
fn git_dir(act: &Act) -> Option<PathBuf> {
    let mut dir = PathBuf::from(act.cwd.as_ref()?.text()?);
    for flag in act.flags.iter().filter(|flag| flag.name == "-C") {
        dir.push(flag.value.as_ref()?.known()?.as_ref());
    }
    Some(dir)
}

/// Whether one of these options is given, in whichever spelling is the canonical one.
fn has(act: &Act, names: &[&str]) -> bool {
    act.flags.iter().any(|Flag { name, .. }| names.contains(&name.as_str()))
}

/// The operands that are wholly known.
fn texts(act: &Act) -> Vec<String> {
    act.operands.iter().filter_map(|operand| operand.value.known().map(Into::into)).collect()
}

/// One look at the world, with what is left of its bounds.
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

    /// Whether a bound is reached; what was said until then stands.
    fn is_over(&mut self) -> bool {
        if self.entries == 0 || self.lines.len() >= MAX_LINES || Instant::now() >= self.until {
            self.truncated = true;
            return true;
        }
        false
    }

    /// Takes one entry of what may be looked at.
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

    /// The status of the repository that holds `dir`, which has no symbolic links in it.
    fn status(&mut self, dir: &Path) -> FactResult<Option<Rc<Status>>> {
        let Some(repository) = self.world.git.holding(dir)? else { return Ok(None) };
        let key = repository.git_dir.clone();
        Ok(Some(self.statuses.entry(key).or_insert_with(|| Rc::new(Status::new(repository))).clone()))
    }

    /// The top level of the repository that the command is started in.
    fn project(&self) -> Option<PathBuf> {
        let cwd = paths::resolve(self.world.git.cwd()).ok()?.canonical;
        let repository: Rc<Repository> = self.world.git.holding(&cwd).ok()??;
        repository.root.clone()
    }
}

/// How many files are in which state.
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
