//! Resolves revisions from a command line to commits.

use gix::ObjectId;

use super::config::Config;
use super::open::Repository;
use super::settings;
use crate::world::{FactResult, UnknownFact};

/// Maximum number of commits that `~` and `^` may go back.
const MAX_STEPS: usize = 1000;

/// The places where a short name is searched, in git's order.
const PLACES: &[(&str, &str)] = &[
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// Returns the commit that `text` names: `HEAD`, `@`, a branch, a tag, a remote branch, `@{u}`, a full hash, each
/// followed by any number of `~N`, `^` and `^N`. `None` if it names nothing, or has another form.
///
/// # Errors
///
/// A part of the repository cannot be read.
pub fn commit(repository: &Repository, config: &Config, text: &str) -> FactResult<Option<ObjectId>> {
    let (base, steps) = text.split_at(text.find(['~', '^']).unwrap_or(text.len()));
    let Some(mut id) = named(repository, config, base)? else { return Ok(None) };
    let mut steps = steps;
    let mut left = MAX_STEPS;
    while let Some(kind) = steps.chars().next() {
        let rest = steps.get(1..).unwrap_or_default();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = rest.split_at(digits);
        let number = if number.is_empty() { 1 } else { number.parse::<usize>().map_err(|_| UnknownFact)? };
        steps = rest;
        // `~N` follows the first parent N times, `^N` the Nth parent once.
        let (times, which) = match kind {
            '~' => (number, 0),
            '^' if number > 0 => (1, number - 1),
            '^' => (0, 0),
            _ => return Ok(None),
        };
        left = left.checked_sub(times).ok_or(UnknownFact)?;
        for _ in 0..times {
            let commit = repository.objects()?.commit(id)?;
            let Some(parent) = commit.and_then(|commit| commit.parents.get(which).copied()) else { return Ok(None) };
            id = parent;
        }
    }
    Ok(Some(id))
}

fn named(repository: &Repository, config: &Config, name: &str) -> FactResult<Option<ObjectId>> {
    if name.len() == 40
        && let Ok(id) = ObjectId::from_hex(name.as_bytes())
    {
        return repository.objects()?.peel(id);
    }
    let upstream;
    let name = match name {
        "@" => "HEAD",
        "@{u}" | "@{upstream}" | "HEAD@{u}" | "HEAD@{upstream}" => {
            let Some(found) = settings::upstream(repository, config) else { return Ok(None) };
            upstream = found;
            &upstream
        }
        name => name,
    };
    for (before, after) in PLACES {
        // A name that is invalid as a reference here may be valid in another place.
        if let Ok(Some(id)) = repository.refs.resolve(&format!("{before}{name}{after}")) {
            return repository.objects()?.peel(id);
        }
    }
    Ok(None)
}
