//! Finds the paths that a glob matches, as a shell expands it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{FactResult, UnknownFact, paths};
use crate::judge::rules::glob;

/// Maximum number of directory entries that are examined for one glob.
const MAX_ENTRIES: usize = 50_000;

/// Returns the existing paths that an absolute glob matches, sorted. A `**` component matches directories of any depth,
/// without links.
///
/// # Errors
/// There are too many entries, or the glob is not UTF-8.
pub(super) fn find(pattern: &Path) -> FactResult<Vec<String>> {
    let names: Vec<&str> = pattern.to_str().ok_or(UnknownFact)?.split('/').filter(|name| !name.is_empty()).collect();
    let mut search = Search { left: MAX_ENTRIES, found: BTreeSet::new() };
    search.below(PathBuf::from("/"), &names)?;
    Ok(search.found.into_iter().collect())
}

/// A search, with the number of entries that may still be examined.
struct Search {
    left: usize,
    found: BTreeSet<String>,
}

impl Search {
    /// Adds the paths below a directory that match these components.
    fn below(&mut self, directory: PathBuf, names: &[&str]) -> FactResult<()> {
        if directory.as_os_str().len() > paths::MAX_PATH {
            return Ok(());
        }
        let Some((name, rest)) = names.split_first() else {
            // The name of a file that is not UTF-8 still counts as a match.
            self.found.insert(directory.to_string_lossy().into_owned());
            return Ok(());
        };
        if !glob::is_glob(name) && !name.contains('\\') {
            let path = directory.join(name);
            return if path.symlink_metadata().is_ok() { self.below(path, rest) } else { Ok(()) };
        }
        let is_deep = *name == "**";
        if is_deep && !rest.is_empty() {
            self.below(directory.clone(), rest)?;
        }
        // A directory that cannot be read has no matches for the command either.
        let Ok(entries) = directory.read_dir() else { return Ok(()) };
        for entry in entries.flatten() {
            self.left = self.left.checked_sub(1).ok_or(UnknownFact)?;
            let file = entry.file_name();
            let text = file.to_string_lossy();
            if !glob::text(name, &text) || text.starts_with('.') && !name.starts_with('.') {
                continue;
            }
            if is_deep && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.below(entry.path(), names)?;
            }
            if !is_deep || rest.is_empty() {
                self.below(entry.path(), rest)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_what_a_shell_would_name() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for name in ["no1", "no*", ".no", "d/no2", "d/e/no3"] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let shown = root.display();
        for (pattern, matched) in [
            ("no*", "no* no1"),
            ("no\\*", "no*"),
            ("no[0-9]", "no1"),
            (".n*", ".no"),
            ("*/no?", "d/no2"),
            ("d/*/no3", "d/e/no3"),
            ("**/no?", "d/e/no3 d/no2 no* no1"),
            ("x*", ""),
        ] {
            let found = find(Path::new(&format!("{shown}/{pattern}"))).unwrap();
            let found: Vec<&str> = found.iter().filter_map(|path| path.strip_prefix(&format!("{shown}/"))).collect();
            assert_eq!(found.join(" "), matched, "{pattern}");
        }
    }
}
