//! What a command that is let go will have done to files, with what is there before it does: for the ledger.
//!
//! What may not enter: judging, and reading the ledger.

use std::path::Path;

use crate::judge::Judgment;
use crate::judge::analysis::question::{PathFacts, PathKind, Question, WorldAnswer};
use crate::judge::invocation::Invocation;
use crate::judge::ledger::{Before, Brought, Deed, Deeds, Done, FileKind, FileSnapshot, Stat};
use crate::judge::rules::matcher::{Aim, Aims, aims};
use crate::world::World;

use super::engine::Engine;

/// The deeds of a judged command. Of a person's own commands only what they bring somewhere is remembered: what a person
/// makes is theirs.
#[must_use]
pub fn of(engine: &Engine, invocation: &Invocation, judgment: &Judgment) -> Deeds {
    let Aims { named, ran } = aims(invocation, &judgment.facts, &engine.catalog, engine.policy());
    let is_guarded = invocation.origin != crate::judge::invocation::Origin::Cli;
    if !is_guarded && !named.iter().any(|aim| matches!(aim, Aim::Bring { thrown_away: true, .. })) {
        return Deeds::default();
    }
    let world = World::new(invocation);
    let mut deeds = Deeds { ran: ran && is_guarded, ..Deeds::default() };
    for aim in named {
        match aim {
            Aim::Make { path } if is_guarded => deeds.done.extend(made(&world, &path)),
            Aim::Take { path } if is_guarded => deeds.done.extend(gone(&world, &path)),
            Aim::Name(named) if is_guarded => deeds.named.push(named),
            Aim::Put { from, to } if is_guarded => deeds.done.extend(put(&world, &from, &to)),
            Aim::Make { .. } | Aim::Take { .. } | Aim::Name(_) | Aim::Put { .. } => {}
            Aim::Bring { from, to, moved, thrown_away } => {
                let Some((from, to)) = ends(&world, &from, &to) else { continue };
                let was = look(&world, &from).map(|look| look.stat);
                if thrown_away && was.is_some() {
                    deeds.brought.push(Brought { to: to.clone(), from: from.clone(), moved });
                }
                if let Some(was) = was.filter(|_| moved && is_guarded) {
                    deeds.done.retain(|deed| deed.path != to);
                    deeds.done.push(Deed { path: to, done: Done::Moved { from, was } });
                }
            }
        }
    }
    deeds
}

fn path(world: &World, path: &str) -> Option<PathFacts> {
    match world.answer(&Question::Path(path.to_owned())) {
        WorldAnswer::Path(facts) => Some(facts),
        _ => None,
    }
}

fn look(world: &World, path: &str) -> Option<FileSnapshot> {
    match world.answer(&Question::FileSnapshot(path.to_owned())) {
        WorldAnswer::FileSnapshot(look) => look,
        _ => None,
    }
}

fn made(world: &World, named: &str) -> Option<Deed> {
    let facts = path(world, named)?;
    let before = match facts.kind {
        PathKind::Missing => Before::Nothing,
        // A directory that is there is not made.
        PathKind::Directory | PathKind::Device => return None,
        PathKind::File | PathKind::Other => before(world, &facts)?,
    };
    Some(Deed { path: facts.canonical, done: Done::Made(before) })
}

fn before(world: &World, facts: &PathFacts) -> Option<Before> {
    let stat = look(world, &facts.canonical)?.stat;
    if stat.kind != FileKind::File {
        return Some(Before::Kept(stat));
    }
    Some(match world.answer(&Question::Git(facts.canonical.clone())) {
        WorldAnswer::Git(git) if git.tracked && git.clean => Before::Clean,
        _ => Before::Kept(Stat { ..stat }),
    })
}

/// What is copied into a directory that is there. A copy to a path that is none is made there like any other file.
fn put(world: &World, from: &str, to: &str) -> Option<Deed> {
    let target = path(world, to).filter(|facts| facts.kind == PathKind::Directory)?;
    let name = Path::new(from).file_name()?.to_str()?;
    made(world, &format!("{}/{name}", target.canonical.trim_end_matches('/')))
}

fn gone(world: &World, named: &str) -> Option<Deed> {
    let facts = path(world, named).filter(|facts| !facts.symlink)?;
    Some(Deed { path: facts.canonical, done: Done::Gone })
}

/// Where something comes from and where it comes to lie: in a directory, under its own name.
fn ends(world: &World, from: &str, to: &str) -> Option<(String, String)> {
    let (source, target) = (path(world, from)?, path(world, to)?);
    let name = Path::new(from).file_name()?.to_str()?;
    // What a glob stands for has names that are not known.
    let to = match target.kind {
        PathKind::Directory if source.kind != PathKind::Directory => {
            format!("{}/{name}", target.canonical.trim_end_matches('/'))
        }
        _ => target.canonical,
    };
    Some((source.canonical, to))
}
