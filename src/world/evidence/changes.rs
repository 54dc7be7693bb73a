//! Evidence about changes in a work tree that would be lost.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{EvidenceWalk, has, texts, words};
use crate::judge::analysis::act::Act;
use crate::judge::sort;
use crate::world::git::status::{FileState, Status};
use crate::world::{FactResult, UnknownFact, paths};

/// Names the tracked files that differ from HEAD, or those of them that the paths contain.
pub(super) fn lost(look: &mut EvidenceWalk<'_>, status: &Status, dir: &Path, paths: &[String]) -> FactResult<()> {
    let Some(within) = within(status, dir, paths) else { return Ok(()) };
    let index = status.repository.index()?;
    let mut changed: Vec<PathBuf> = Vec::new();
    for entry in index.entries() {
        let relative = Path::new(OsStr::from_bytes(entry.path(index)));
        if !within.iter().any(|path| relative.starts_with(path)) {
            continue;
        }
        if !look.spend() {
            break;
        }
        let known = changed.last().is_some_and(|last| last == relative);
        if !known && status.of(relative) == Ok(FileState::Changed) {
            changed.push(relative.to_owned());
        }
    }
    if changed.is_empty() {
        if !look.truncated {
            look.say("no tracked file has uncommitted changes there".to_owned());
        }
        return Ok(());
    }
    look.say(format!(
        "loses the uncommitted changes of {}: {}",
        words::count(changed.len(), "file", "files"),
        words::names(changed.iter().map(PathBuf::as_path)),
    ));
    Ok(())
}

/// Handles `git checkout` with paths: those after `--`, or operands that name existing files.
pub(super) fn checkout(look: &mut EvidenceWalk<'_>, status: &Status, dir: &Path, act: &Act) -> FactResult<()> {
    let operands = texts(act);
    let after = act.args.iter().position(|value| value.known().as_deref() == Some("--"));
    let named: Vec<String> = match after {
        Some(position) => {
            let rest = act.args.get(position + 1..).unwrap_or_default();
            rest.iter().filter_map(|value| value.known().map(Into::into)).collect()
        }
        None => operands.into_iter().filter(|name| dir.join(name).symlink_metadata().is_ok()).collect(),
    };
    if named.is_empty() { Ok(()) } else { lost(look, status, dir, &named) }
}

/// Handles `git clean`: names the untracked files that it would delete.
pub(super) fn clean(look: &mut EvidenceWalk<'_>, status: &Status, dir: &Path, act: &Act) -> FactResult<()> {
    let (all, only_ignored) = (has(act, &["-x"]), has(act, &["-X"]));
    let directories = has(act, &["-d"]);
    let root = status.repository.root.clone().ok_or(UnknownFact)?;
    let Some(within) = within(status, dir, &texts(act)) else { return Ok(()) };
    let index = status.repository.index()?;
    let mut todo: Vec<PathBuf> = within.iter().map(|path| root.join(path)).collect();
    let (mut doomed, mut bytes): (Vec<PathBuf>, u64) = (Vec::new(), 0);
    while let Some(path) = todo.pop() {
        if !look.spend() {
            break;
        }
        let Ok(metadata) = path.symlink_metadata() else { continue };
        let Ok(relative) = path.strip_prefix(&root) else { continue };
        if metadata.is_dir() {
            let inner = relative != Path::new("") && path.join(".git").symlink_metadata().is_ok();
            let name = [relative.as_os_str().as_bytes(), b"/"].concat();
            let tracked = relative == Path::new("")
                || index.prefixed_entries(name.as_slice().into()).is_some_and(|entries| !entries.is_empty());
            if relative == Path::new(".git") || inner || !tracked && !directories {
                continue;
            }
            todo.extend(path.read_dir()?.flatten().map(|entry| entry.path()));
        } else {
            let goes = match status.of(relative)? {
                FileState::Untracked => !only_ignored,
                FileState::Ignored => all || only_ignored,
                FileState::Committed | FileState::Changed => false,
            };
            if goes {
                bytes += metadata.len();
                doomed.push(relative.to_owned());
            }
        }
    }
    sort::sort(&mut doomed);
    if doomed.is_empty() {
        return Ok(());
    }
    look.say(format!(
        "deletes {} that no commit has, {}: {}",
        words::count(doomed.len(), "file", "files"),
        words::size(bytes),
        words::names(doomed.iter().map(PathBuf::as_path)),
    ));
    Ok(())
}

/// Returns the paths of a command relative to the root, or the whole work tree if there are none. `None` if one of them
/// is a pattern or outside.
fn within(status: &Status, dir: &Path, paths: &[String]) -> Option<Vec<PathBuf>> {
    let root = status.repository.root.as_deref()?;
    if paths.is_empty() {
        return Some(vec![PathBuf::new()]);
    }
    let relative = |path: &String| {
        if path.starts_with(':') || path.contains(['*', '?', '[']) {
            return None;
        }
        let path = dir.join(path);
        let parent = paths::resolve(path.parent()?).ok()?.canonical;
        let full = match path.components().next_back()? {
            std::path::Component::Normal(name) => parent.join(name),
            _ => paths::resolve(&path).ok()?.canonical,
        };
        full.strip_prefix(root).ok().map(Path::to_owned)
    };
    paths.iter().map(relative).collect()
}
