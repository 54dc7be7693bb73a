//! Evidence about files that would be deleted or replaced.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::{EvidenceWalk, Tally, words};
use crate::judge::analysis::act::{Act, Value};
use crate::judge::analysis::place::Place;
use crate::judge::rules::glob;
use crate::judge::sort;
use crate::world::git::status::{FileState, Status};
use crate::world::{FactResult, paths};

/// Maximum number of operands that are described individually.
const MAX_OPERANDS: usize = 4;

/// Describes the files at each operand. `does` is the verb.
pub(super) fn lost(look: &mut EvidenceWalk<'_>, act: &Act, does: &str) -> FactResult<()> {
    let Some(cwd) = act.cwd.as_ref().and_then(Place::text).map(Path::new) else { return Ok(()) };
    let mut targets: Vec<PathBuf> = Vec::new();
    for operand in &act.operands {
        targets.extend(expand(look, cwd, &operand.value)?);
    }
    targets.dedup();
    if targets.len() > MAX_OPERANDS {
        return many(look, &targets, does);
    }
    for target in targets {
        one(look, cwd, &target, does)?;
    }
    Ok(())
}

/// Describes one target.
fn one(look: &mut EvidenceWalk<'_>, cwd: &Path, target: &Path, does: &str) -> FactResult<()> {
    let metadata = match target.symlink_metadata() {
        Ok(metadata) => metadata,
        // No file is there, so nothing is lost.
        Err(error) if paths::is_absent(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let shown = words::name(target.strip_prefix(cwd).ok().filter(|name| *name != Path::new("")).unwrap_or(target));
    let real = paths::resolve(target)?.canonical;
    if metadata.file_type().is_symlink() && does == "deletes" {
        look.say(format!("{does} {shown}, a link to {}", words::name(&real)));
        return Ok(());
    }
    let found = walk(look, &real)?;
    let what = if metadata.is_dir() || real.is_dir() {
        let more = if found.more { "more than " } else { "" };
        format!("{shown}: {more}{}, {}", words::count(found.files, "file", "files"), words::size(found.bytes))
    } else {
        format!("{shown} ({})", words::size(found.bytes))
    };
    let mut line = format!("{does} {what}");
    for part in parts(&found) {
        line.push_str(&format!("; {part}"));
    }
    if let Some(project) = look.project().filter(|project| !real.starts_with(project) && !is_temporary(&real)) {
        line.push_str(&format!("; outside the project {}", words::name(&project)));
    }
    look.say(line);
    Ok(())
}

/// Describes many targets in one sentence.
fn many(look: &mut EvidenceWalk<'_>, targets: &[PathBuf], does: &str) -> FactResult<()> {
    let mut all = WalkTotals::default();
    for target in targets {
        let metadata = match target.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(_) => continue,
        };
        if metadata.file_type().is_symlink() {
            all.files += 1;
            continue;
        }
        let found = walk(look, &paths::resolve(target)?.canonical)?;
        all.files += found.files;
        all.bytes += found.bytes;
        all.repositories += found.repositories;
        all.more |= found.more;
        all.tally.committed += found.tally.committed;
        all.tally.changed += found.tally.changed;
        all.tally.untracked += found.tally.untracked;
        all.tally.ignored += found.tally.ignored;
        all.in_repository |= found.in_repository;
    }
    let more = if all.more { "more than " } else { "" };
    let mut line = format!(
        "{does} {}: {more}{}, {}",
        words::names(targets.iter().map(|target| target.file_name().map_or(target.as_path(), Path::new))),
        words::count(all.files, "file", "files"),
        words::size(all.bytes),
    );
    for part in parts(&all) {
        line.push_str(&format!("; {part}"));
    }
    look.say(line);
    Ok(())
}

/// Returns sentences about the state in git of the files that were found.
fn parts(found: &WalkTotals) -> Vec<String> {
    let Tally { committed, changed, untracked, ignored } = found.tally;
    let mut parts = Vec::new();
    if found.in_repository && found.files == 1 && found.repositories == 0 {
        let state = match (committed, changed, untracked, ignored) {
            (1, ..) => "in git, unchanged since the last commit",
            (_, 1, ..) => "in git, with changes that are in no commit",
            (_, _, 1, _) => "not in git",
            _ => "ignored by git",
        };
        parts.push(state.to_owned());
        return parts;
    }
    if committed + changed > 0 {
        let mut part = format!("{} in git", words::grouped(committed + changed));
        if changed > 0 {
            part.push_str(&format!(", {} of them with changes that are in no commit", words::grouped(changed)));
        }
        parts.push(part);
    }
    if untracked > 0 {
        parts.push(format!("{} not in git", words::grouped(untracked)));
    }
    if ignored > 0 {
        parts.push(format!("{} ignored by git", words::grouped(ignored)));
    }
    if found.repositories > 0 {
        parts.push(format!("holds {}", words::count(found.repositories, "git repository", "git repositories")));
    }
    parts
}

/// The result of a walk.
#[derive(Debug, Default)]
struct WalkTotals {
    files: usize,
    bytes: u64,
    repositories: usize,
    tally: Tally,
    in_repository: bool,
    /// Whether the walk was stopped early.
    more: bool,
}

/// Counts the files at `path` and below, without following links.
fn walk(look: &mut EvidenceWalk<'_>, path: &Path) -> FactResult<WalkTotals> {
    let mut found = WalkTotals::default();
    let holder = look.status(path.parent().unwrap_or(path)).unwrap_or_default();
    found.in_repository = holder.is_some();
    let mut todo: Vec<(PathBuf, Option<Rc<Status>>)> = vec![(path.to_owned(), holder)];
    while let Some((path, status)) = todo.pop() {
        if !look.spend() {
            found.more = true;
            break;
        }
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if !metadata.is_dir() {
            found.files += 1;
            found.bytes += metadata.len();
            if let Some(state) = status.and_then(|status| state(&status, &path)) {
                found.tally.add(state);
            }
            continue;
        }
        let status = if path.join(".git").symlink_metadata().is_ok() {
            found.repositories += 1;
            look.status(&path).unwrap_or_default()
        } else {
            status
        };
        let Ok(entries) = path.read_dir() else {
            found.more = true;
            continue;
        };
        // The stack is bounded too, because its entries are added before they are counted.
        for entry in entries.flatten() {
            if todo.len() >= super::MAX_ENTRIES {
                found.more = true;
                break;
            }
            todo.push((entry.path(), status.clone()));
        }
    }
    look.truncated |= found.more;
    Ok(found)
}

fn state(status: &Status, path: &Path) -> Option<FileState> {
    let root = status.repository.root.as_deref()?;
    let relative = path.strip_prefix(root).ok()?;
    let data = path.starts_with(&status.repository.git_dir) || path.starts_with(&status.repository.common_dir);
    if data { None } else { status.of(relative).ok() }
}

fn is_temporary(path: &Path) -> bool {
    ["/tmp", "/var/tmp", "/private/tmp", "/private/var/folders"].iter().any(|dir| path.starts_with(dir))
}

/// Returns the paths that an operand currently matches. Only a glob in the last component is expanded; a glob in
/// another component, or an unknown part, yields no path.
fn expand(look: &mut EvidenceWalk<'_>, cwd: &Path, value: &Value) -> FactResult<Vec<PathBuf>> {
    if let Some(text) = value.known() {
        return Ok(if text.is_empty() { Vec::new() } else { vec![cwd.join(text.as_ref())] });
    }
    let Some(pattern) = value.glob() else { return Ok(Vec::new()) };
    let (dir, last) = pattern
        .rsplit_once('/')
        .map_or((".", pattern.as_str()), |(dir, last)| (if dir.is_empty() { "/" } else { dir }, last));
    if glob::is_glob(dir) || dir.contains('\\') {
        return Ok(Vec::new());
    }
    let dir = if dir == "." { cwd.to_owned() } else { cwd.join(dir) };
    let mut found = Vec::new();
    for entry in dir.read_dir()? {
        if !look.spend() {
            break;
        }
        let name = entry?.file_name();
        let Ok(text) = std::str::from_utf8(name.as_bytes()) else { continue };
        if glob::text(last, text) && (!text.starts_with('.') || last.starts_with('.')) {
            found.push(dir.join(&name));
        }
    }
    sort::sort(&mut found);
    Ok(found)
}
