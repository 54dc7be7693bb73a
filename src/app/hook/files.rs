//! Resolves the files that a tool changes: expands `~` and follows symbolic links.

use std::path::{Component, Path, PathBuf};

use crate::app::engine::Engine;
use crate::judge::invocation::{ChangeKind, FileChange};
use crate::world::paths::physical;

/// Returns the changes as the tool names them, and for each that goes through a link also the target.
pub(super) fn followed(changes: &[FileChange], engine: &Engine, cwd: Option<&Path>) -> Vec<FileChange> {
    let cwd = engine.caller.cwd.join(cwd.unwrap_or(Path::new("")));
    let home = engine.caller.account.home.as_deref();
    let mut all = Vec::new();
    for change in changes {
        let mut change = change.clone();
        if let (Some(rest), Some(home)) = (change.path.strip_prefix("~/"), home.and_then(Path::to_str)) {
            change.path = format!("{home}/{rest}");
        }
        let behind = behind(&cwd, home, &change);
        let kind = change.kind;
        all.push(change);
        all.extend(behind.map(|path| FileChange { kind, path }));
    }
    all
}

/// Returns the target if the path goes through a link. Returns `None` if it does not, or if only the path to the
/// working or home directory does.
fn behind(cwd: &Path, home: Option<&Path>, change: &FileChange) -> Option<String> {
    let named = lexical(&cwd.join(&change.path));
    let base = [Some(cwd), home].into_iter().flatten().find(|base| named.starts_with(base));
    let expected = match base {
        Some(base) => physical(base).join(named.strip_prefix(base).ok()?),
        None => named.clone(),
    };
    let of_parent = || Some(physical(named.parent()?).join(named.file_name()?));
    let real = match change.kind {
        // Deleting or moving a link affects the link and not its target.
        ChangeKind::Delete | ChangeKind::Move => of_parent()?,
        // A file that does not exist may be in a linked directory, and a link may have no target yet.
        ChangeKind::Write | ChangeKind::Edit => match (named.canonicalize(), named.read_link()) {
            (Ok(real), _) => real,
            (Err(_), Ok(target)) => lexical(&physical(named.parent()?).join(target)),
            (Err(_), Err(_)) => of_parent()?,
        },
    };
    if real == expected { None } else { real.to_str().map(ToOwned::to_owned) }
}

/// Removes `.` and `..` lexically.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}
