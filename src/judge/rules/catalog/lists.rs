//! The lists of paths, hosts and packages, over all layers.

use super::Catalog;
use crate::judge::path_class::{PathClass, PathClasses};
use crate::judge::rules::model::HostClass;
use crate::judge::rules::{glob, packages};

/// The path lists of all layers.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    pub(super) catalog: &'a Catalog,
}

impl Paths<'_> {
    /// Returns the classes that the lists assign to an absolute, lexically normalised path. `~/…` globs apply below
    /// each of `homes`, below `/home/NAME`, `/Users/NAME` and `/root`, and to a path that begins with `~`.
    #[must_use]
    pub fn classes(&self, path: &str, homes: &[&str]) -> PathClasses {
        let covers = |pattern: &str| covers(pattern, path, homes);
        self.catalog
            .open()
            .flat_map(|(_, file)| file.blob.path_candidates(path).map(move |stored| (file, stored)))
            .filter(|(_, stored)| covers(stored.glob))
            .filter(|(file, stored)| !file.blob.excepted(stored).into_iter().any(covers))
            .map(|(_, stored)| stored)
            .fold(PathClasses::NONE, |classes, stored| classes.with(stored.class))
    }

    /// Returns the classes and globs of the lists for which a possible match of an unquoted glob suffices: all except
    /// those of less valuable paths (generated files, backups, logs).
    pub fn of_worth(&self) -> impl Iterator<Item = (PathClass, &str)> {
        const LESSER: [PathClass; 3] = [PathClass::Generated, PathClass::Backup, PathClass::Log];
        let all = self.catalog.open().flat_map(|(_, file)| file.blob.all_paths());
        all.filter(|stored| !LESSER.contains(&stored.class)).map(|stored| (stored.class, stored.glob))
    }
}

/// Reports whether a path glob of a pattern file matches `path`.
pub fn covers(pattern: &str, path: &str, homes: &[&str]) -> bool {
    if let Some(pattern) = pattern.strip_prefix("~/") {
        return below_home(path, homes).any(|rest| glob::path(pattern, rest));
    }
    if pattern.contains('/') {
        return glob::path(pattern, path);
    }
    glob::text(pattern, path.rsplit('/').next().unwrap_or(path))
}

/// Returns the rest of a path after the home directory, for each home directory that may contain it.
fn below_home<'a>(path: &'a str, homes: &'a [&str]) -> impl Iterator<Item = &'a str> + 'a {
    let named = ["/home/", "/Users/", "~"]
        .into_iter()
        .filter_map(move |above| path.strip_prefix(above)?.split_once('/').map(|(_, rest)| rest));
    let given =
        homes.iter().copied().chain(["/root"]).filter_map(move |home| path.strip_prefix(home)?.strip_prefix('/'));
    named.chain(given)
}

/// The host lists of all layers.
#[derive(Clone, Copy, Debug)]
pub struct Hosts<'a> {
    pub(super) catalog: &'a Catalog,
}

impl Hosts<'_> {
    /// Returns the class that the lists assign to a host name; that of the latest layer first. `None` if no list
    /// contains it or one of its parent domains.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<HostClass> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        self.catalog.open().rev().find_map(|(_, file)| file.blob.host(&name))
    }
}

/// The lists of well-known packages of all layers.
#[derive(Clone, Copy, Debug)]
pub struct Packages<'a> {
    pub(super) catalog: &'a Catalog,
}

impl Packages<'_> {
    /// Returns the index, and the package name of a requirement (`requests[socks]>=2`) in the form in which the index
    /// compares names; `None` if the text is not a requirement. After a colon, `index` can contain the prefix that the
    /// client adds to the name (`npm:create-`).
    #[must_use]
    pub fn named<'i>(&self, index: &'i str, requirement: &str) -> Option<(&'i str, String)> {
        let (index, prefix) = index.split_once(':').unwrap_or((index, ""));
        let marked = requirement.split_inclusive(':').next().unwrap_or_default();
        let is_marked = self.catalog.open().any(|(_, file)| file.blob.has_mark(index, marked));
        let requirement = if is_marked { requirement.get(marked.len()..)? } else { requirement };
        let name = packages::named(requirement, index)?;
        Some((index, packages::folded(&format!("{prefix}{name}"), &self.alike(index))))
    }

    /// Reports whether a list of the index contains exactly this name, or all packages of its scope.
    #[must_use]
    pub fn has(&self, index: &str, name: &str) -> bool {
        self.catalog.open().any(|(_, file)| file.blob.has_package(index, name))
    }

    /// Returns the most similar well-known name, if one is similar enough. This compares all names.
    #[must_use]
    pub fn like(&self, index: &str, name: &str) -> Option<String> {
        let all = self.catalog.open().flat_map(|(_, file)| file.blob.packages(index));
        let near = all.filter_map(|known| Some((packages::distance(name, &known)?, known)));
        near.min().map(|(_, known)| known)
    }

    fn alike(&self, index: &str) -> String {
        self.catalog.open().map(|(_, file)| file.blob.alike(index)).collect()
    }
}
