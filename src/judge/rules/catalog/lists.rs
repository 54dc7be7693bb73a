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
    /// The classes that the lists give to an absolute, lexically normal path. `~/…` globs hold below each of `homes`,
    /// below `/home/NAME`, `/Users/NAME` and `/root`, and in a path that itself begins with `~`.
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

    /// Classes and globs of all lists where being named by a live glob is enough: not those that make a place worth less.
    pub fn of_worth(&self) -> impl Iterator<Item = (PathClass, &str)> {
        const LESSER: [PathClass; 3] = [PathClass::Generated, PathClass::Backup, PathClass::Log];
        let all = self.catalog.open().flat_map(|(_, file)| file.blob.all_paths());
        all.filter(|stored| !LESSER.contains(&stored.class)).map(|stored| (stored.class, stored.glob))
    }
}

/// Whether a path glob of a pattern file covers `path`.
pub fn covers(pattern: &str, path: &str, homes: &[&str]) -> bool {
    if let Some(pattern) = pattern.strip_prefix("~/") {
        return below_home(path, homes).any(|rest| glob::path(pattern, rest));
    }
    if pattern.contains('/') {
        return glob::path(pattern, path);
    }
    glob::text(pattern, path.rsplit('/').next().unwrap_or(path))
}

/// What follows the home directory in a path, for every home that it may lie in.
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
    /// The class that the lists give to a host name; a later layer's first. `None` when no list names it or a domain
    /// above it.
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
    /// The index, and what a requirement (`requests[socks]>=2`) names there, as the index compares names. None of what
    /// is no requirement. Behind a colon the index may say what the client puts before the name (`npm:create-`).
    #[must_use]
    pub fn named<'i>(&self, index: &'i str, requirement: &str) -> Option<(&'i str, String)> {
        let (index, prefix) = index.split_once(':').unwrap_or((index, ""));
        let marked = requirement.split_inclusive(':').next().unwrap_or_default();
        let is_marked = self.catalog.open().any(|(_, file)| file.blob.has_mark(index, marked));
        let requirement = if is_marked { requirement.get(marked.len()..)? } else { requirement };
        let name = packages::named(requirement, index)?;
        Some((index, packages::folded(&format!("{prefix}{name}"), &self.alike(index))))
    }

    /// Whether a list of the index has exactly this name, or all of its scope.
    #[must_use]
    pub fn has(&self, index: &str, name: &str) -> bool {
        self.catalog.open().any(|(_, file)| file.blob.has_package(index, name))
    }

    /// The well-known name that this one could be taken for. Looks at all of them.
    #[must_use]
    pub fn like(&self, index: &str, name: &str) -> Option<String> {
        let all = self.catalog.open().flat_map(|(_, file)| file.blob.packages(index));
        let near = all.filter_map(|known| Some((packages::distance(name, known)?, known)));
        near.min().map(|(_, known)| known.to_owned())
    }

    fn alike(&self, index: &str) -> String {
        self.catalog.open().map(|(_, file)| file.blob.alike(index)).collect()
    }
}
