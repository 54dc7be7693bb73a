//! Compares which commits two commits reach, with a bounded walk.

use std::collections::{BinaryHeap, HashMap};

use gix::ObjectId;

use super::objects::{Commit, Objects};
use crate::world::FactResult;

/// Maximum number of commits that are read for an answer.
pub const MAX_COMMITS: usize = 10_000;

/// Maximum difference between the clocks of committers, in seconds.
const CLOCKS: i64 = 24 * 60 * 60;

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const BOTH: u8 = LEFT | RIGHT;

/// The divergence of two commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The number of commits that only the first reaches.
    pub left: usize,
    /// The number of commits that only the second reaches.
    pub right: usize,
}

/// Compares the commits that `left` and `right` reach. Returns `None` if that requires more than `limit` commits.
///
/// # Errors
///
/// A commit cannot be read. A missing commit (the end of a shallow clone) has no parents.
pub fn compare(objects: &Objects, left: ObjectId, right: ObjectId, limit: usize) -> FactResult<Option<Divergence>> {
    let count = |reached: &ReachedCommits, wanted: u8| reached.values().filter(|(side, _)| *side == wanted).count();
    let reached = reach(objects, &[(left, LEFT), (right, RIGHT)], limit)?;
    Ok(reached.map(|reached| Divergence { left: count(&reached, LEFT), right: count(&reached, RIGHT) }))
}

/// Returns the times of the commits that `own` reach and `others` do not, in seconds since 1970. Returns `None` if that
/// requires more than `limit` commits.
///
/// # Errors
///
/// As for [`compare`].
pub fn alone(objects: &Objects, own: &[ObjectId], others: &[ObjectId], limit: usize) -> FactResult<Option<Vec<i64>>> {
    let starts = own.iter().map(|id| (*id, LEFT)).chain(others.iter().map(|id| (*id, RIGHT)));
    let reached = reach(objects, &starts.collect::<Vec<_>>(), limit)?;
    let of_own = |(side, commit): &(u8, Commit)| (*side == LEFT).then_some(commit.seconds);
    Ok(reached.map(|reached| reached.values().filter_map(of_own).collect()))
}

/// Commits by their identifiers, with the sides that reach them.
type ReachedCommits = HashMap<ObjectId, (u8, Commit)>;

/// Walks from commits of two sides until all commits that only one side reaches are known.
fn reach(objects: &Objects, starts: &[(ObjectId, u8)], limit: usize) -> FactResult<Option<ReachedCommits>> {
    let mut reached = ReachedCommits::new();
    let mut queue = BinaryHeap::new();
    // The number of queue entries that only one side is known to reach: without any, no new commit can be found.
    let mut open = 0_usize;
    // The oldest commit that only one side is known to reach at that point. Both sides may reach it on a path that was
    // not followed yet, because clocks disagree; older commits do not lead to it.
    let mut oldest = None;
    for (id, side) in starts {
        if let Some((already, _)) = reached.get_mut(id) {
            *already |= side;
        } else if reached.len() < limit {
            reached.insert(*id, (*side, read(objects, *id)?));
        } else {
            return Ok(None);
        }
    }
    for (id, (side, commit)) in &reached {
        queue.push((commit.seconds, *id, *side));
        open += usize::from(*side != BOTH);
    }
    while let Some((_, id, known)) = queue.pop() {
        if known != BOTH {
            open -= 1;
        }
        let settling = known == BOTH && open == 0;
        if settling && oldest.is_none() {
            let of_one = reached.values().filter(|(side, _)| *side != BOTH);
            oldest = of_one.map(|(_, commit)| commit.seconds).min();
            if oldest.is_none() {
                break;
            }
        }
        let Some((side, parents)) = reached.get(&id).map(|(side, commit)| (*side, commit.parents.clone())) else {
            continue;
        };
        for parent in parents {
            let full = reached.len() >= limit;
            let seconds = match reached.get_mut(&parent) {
                Some((already, _)) if *already | side == *already => continue,
                Some((already, commit)) => {
                    *already |= side;
                    commit.seconds
                }
                None if settling && full => continue,
                None if full => return Ok(None),
                None => {
                    let commit = read(objects, parent)?;
                    let seconds = commit.seconds;
                    if settling && oldest.is_some_and(|oldest| seconds.saturating_add(CLOCKS) < oldest) {
                        continue;
                    }
                    reached.insert(parent, (side, commit));
                    seconds
                }
            };
            let now = reached.get(&parent).map_or(side, |(side, _)| *side);
            if now != BOTH {
                open += 1;
            }
            queue.push((seconds, parent, now));
        }
    }
    Ok(Some(reached))
}

fn read(objects: &Objects, id: ObjectId) -> FactResult<Commit> {
    let missing = Commit { tree: ObjectId::null(gix::hash::Kind::Sha1), parents: Vec::new(), seconds: 0 };
    Ok(objects.commit(id)?.unwrap_or(missing))
}
