//! The files that an approved command will change, and their state before it runs, for the ledger.
//!
//! Out of scope: judging. This module reads the ledger only to find what was moved to the source of a move.

use std::path::Path;

use crate::judge::Judgment;
use crate::judge::analysis::question::{PathFacts, PathKind, Question, WorldAnswer};
use crate::judge::invocation::Invocation;
use crate::judge::ledger::{
    BroughtContent, CommandChanges, CopiedContent, FileKind, FileSnapshot, MAX_CHANGES, NamedObject, PathChange,
    PathChangeKind, PriorState, Stat,
};
use crate::judge::matcher::{PlannedChange, PlannedChanges, is_thrown_away, planned_changes};
use crate::world::World;

use super::engine::Engine;

/// Returns the changes of a judged command. Of a user's own commands, only moves and copies into other directories are
/// recorded: the files that a user creates are not a session's own work.
#[must_use]
pub fn of(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> CommandChanges {
    let PlannedChanges { named, ran } = planned_changes(invocation, &judgment.facts, &engine.catalog, engine.policy());
    let is_guarded = invocation.origin != crate::judge::invocation::Origin::Cli;
    if !is_guarded && !named.iter().any(|change| matches!(change, PlannedChange::Bring { .. })) {
        return CommandChanges::default();
    }
    let world = World::new(invocation);
    let goes_on = |change: &PlannedChange| matches!(change, PlannedChange::Bring { on: true, thrown_away: true, .. });
    let earlier = if named.iter().any(goes_on) {
        engine.ledger(invocation).map_or_else(Vec::new, |ledger| ledger.brought)
    } else {
        Vec::new()
    };
    let is_thrown_away = |path: &str| is_thrown_away(invocation, path, &engine.catalog, engine.policy());
    let mut changes = CommandChanges { ran: ran && is_guarded, ..CommandChanges::default() };
    if is_guarded {
        changes.fetched =
            judgment.facts.fetched.iter().filter_map(|path| led(&world, path)).take(MAX_CHANGES).collect();
    }
    for change in named {
        match change {
            PlannedChange::Make { path } if is_guarded => changes.done.extend(made(&world, &path)),
            PlannedChange::Take { path } if is_guarded => changes.done.extend(gone(&world, &path)),
            PlannedChange::Name(named) if is_guarded => changes.named.push(with_new_refs(&world, named)),
            PlannedChange::Put { from, to } if is_guarded => changes.done.extend(put(&world, &from, &to)),
            PlannedChange::Make { .. }
            | PlannedChange::Take { .. }
            | PlannedChange::Name(_)
            | PlannedChange::Put { .. } => {}
            PlannedChange::Bring { from, to, moved, thrown_away, on, found, replaces } => {
                let Some((from, places)) = ends(&world, &from, &to, found, replaces) else { continue };
                let Some(was) = snapshot(&world, &from).map(|look| look.stat) else { continue };
                for to in places {
                    let thrown_away = thrown_away || is_thrown_away(&to);
                    if on && thrown_away {
                        // The content can be generated again, except what was moved there before.
                        changes.brought.extend(brought_on(&earlier, &from, &to, moved));
                    } else if thrown_away {
                        changes.brought.push(BroughtContent { to: to.clone(), from: from.clone(), moved });
                    } else if !moved && is_guarded && !is_in_git(&world, &from, was.kind) {
                        changes.copied.push(CopiedContent { to: to.clone(), from: from.clone(), was });
                    }
                    if moved && is_guarded {
                        changes.done.retain(|change| change.path != to);
                        changes
                            .done
                            .push(PathChange { path: to, done: PathChangeKind::Moved { from: from.clone(), was } });
                    }
                }
            }
        }
    }
    changes.copied.truncate(MAX_CHANGES);
    changes
}

fn path(world: &World, path: &str) -> Option<PathFacts> {
    match world.answer(&Question::Path(path.to_owned())) {
        WorldAnswer::Path(facts) => Some(facts),
        _ => None,
    }
}

fn snapshot(world: &World, path: &str) -> Option<FileSnapshot> {
    match world.answer(&Question::FileSnapshot(path.to_owned())) {
        WorldAnswer::FileSnapshot(look) => look,
        _ => None,
    }
}

/// Returns the path to which the path of a download leads, with a slash at the end for a directory.
fn led(world: &World, named: &str) -> Option<String> {
    let facts = path(world, named.strip_suffix('/').unwrap_or(named))?;
    let is_directory = facts.kind == PathKind::Directory || named.ends_with('/');
    Some(facts.canonical + if is_directory { "/" } else { "" })
}

/// Reports whether a file is committed and unchanged.
fn is_in_git(world: &World, path: &str, kind: FileKind) -> bool {
    kind == FileKind::File
        && matches!(world.answer(&Question::Git(path.to_owned())), WorldAnswer::Git(git) if git.tracked && git.clean)
}

/// Removes the branches and tags that exist already, or of which that is unknown.
fn with_new_refs(world: &World, mut named: NamedObject) -> NamedObject {
    let names = std::mem::take(&mut named.refs);
    if names.is_empty() {
        return named;
    }
    let dir = named.cwd.clone().unwrap_or_default();
    if let WorldAnswer::Refs(facts) = world.answer(&Question::Refs { dir, names: names.clone() }) {
        named.refs = names.into_iter().filter(|name| !facts.existing.contains(name)).collect();
    }
    named
}

fn made(world: &World, named: &str) -> Option<PathChange> {
    let facts = path(world, named)?;
    let before = match facts.kind {
        PathKind::Missing => PriorState::Nothing,
        // An existing directory is not created.
        PathKind::Directory | PathKind::Device => return None,
        PathKind::File | PathKind::Other => before(world, &facts)?,
    };
    Some(PathChange { path: facts.canonical, done: PathChangeKind::Made(before) })
}

fn before(world: &World, facts: &PathFacts) -> Option<PriorState> {
    let stat = snapshot(world, &facts.canonical)?.stat;
    if stat.kind != FileKind::File {
        return Some(PriorState::Kept(stat));
    }
    Some(match world.answer(&Question::Git(facts.canonical.clone())) {
        WorldAnswer::Git(git) if git.tracked && git.clean => PriorState::Clean,
        _ => PriorState::Kept(Stat { ..stat }),
    })
}

/// Returns the change of a copy into an existing directory. A copy to another path creates a file like any other
/// command.
fn put(world: &World, from: &str, to: &str) -> Option<PathChange> {
    let target = path(world, to).filter(|facts| facts.kind == PathKind::Directory)?;
    let name = Path::new(from).file_name()?.to_str()?;
    made(world, &format!("{}/{name}", target.canonical.trim_end_matches('/')))
}

fn gone(world: &World, named: &str) -> Option<PathChange> {
    let facts = path(world, named).filter(|facts| !facts.symlink)?;
    Some(PathChange { path: facts.canonical, done: PathChangeKind::Gone })
}

/// Returns the new paths of files that were moved to a directory, after that directory is moved on.
fn brought_on(earlier: &[BroughtContent], from: &str, to: &str, moved: bool) -> Vec<BroughtContent> {
    earlier.iter().filter_map(|brought| brought.on(from, to, moved)).take(MAX_CHANGES).collect()
}

/// Returns the source and the target of a move. The target is in a directory under the name of the source, or at one of
/// two paths if only the command decides which.
fn ends(world: &World, from: &str, to: &str, found: bool, replaces: bool) -> Option<(String, Vec<String>)> {
    let (source, target) = (path(world, from)?, path(world, to)?);
    let name = Path::new(from).file_name()?.to_str()?;
    // The files of a search or a glob have unknown names.
    if found || target.kind != PathKind::Directory {
        return Some((source.canonical, vec![target.canonical]));
    }
    let into = format!("{}/{name}", target.canonical.trim_end_matches('/'));
    // A directory can replace an empty one.
    let is_empty =
        || snapshot(world, &target.canonical).and_then(|look| look.below).is_some_and(|below| below.is_empty());
    let both = replaces && source.kind == PathKind::Directory && is_empty();
    Some((source.canonical, if both { vec![target.canonical, into] } else { vec![into] }))
}
