//! Facts about git repositories and the paths in them.
//!
//! Everything is read in process. No program is started, and no setting has an effect: not `core.fsmonitor`, not
//! filters, hooks, `textconv`, pagers or aliases. The owner of a repository does not matter, because nothing in it is
//! run.

pub mod config;
pub mod facts;
pub mod history;
pub mod ignore;
pub mod objects;
pub mod open;
pub mod refs;
pub mod revision;
pub mod settings;
pub mod status;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::paths;
use super::{FactResult, UnknownFact};
use crate::judge::analysis::question::{GitFacts, RefFacts, RepositoryFacts};
use crate::judge::invocation::Environment;
use open::{Repository, RepositoryPaths};

/// A source of facts about git for one environment, with a cache of the repositories that it read.
#[derive(Debug)]
pub struct Git {
    env: Environment,
    cwd: PathBuf,
    opened: RefCell<HashMap<RepositoryPaths, FactResult<Rc<Repository>>>>,
}

impl Git {
    /// Creates the source for a command with this environment, started in `cwd`. Only variables that git reads are
    /// kept.
    #[must_use]
    pub fn new(env: &Environment, cwd: &Path) -> Self {
        let kept = |name: &str| name == "HOME" || name == "XDG_CONFIG_HOME" || name.starts_with("GIT_");
        let variables = env.variables.iter().filter(|(name, _)| name.to_str().is_some_and(kept));
        let env = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { env, cwd: cwd.to_owned(), opened: RefCell::default() }
    }

    /// Returns the facts about `path`; empty facts if it is in no repository.
    ///
    /// # Errors
    ///
    /// The repository cannot be read, or has an unknown format.
    pub fn facts(&self, path: &Path) -> FactResult<GitFacts> {
        let subject = facts::Subject::new(path)?;
        let Some(repository) = self.holding(subject.start())? else { return subject.outside() };
        subject.inside(&repository)
    }

    /// Returns the facts about the repository that contains `dir`, if there is one.
    ///
    /// # Errors
    ///
    /// As for [`Git::facts`]; or the environment makes git use another repository.
    pub fn repository(&self, dir: &Path) -> FactResult<Option<RepositoryFacts>> {
        let dir = paths::resolve(dir)?.canonical;
        let repository = self.holding(&dir)?;
        self.is_not_led_elsewhere(repository.as_deref())?;
        repository.map(|repository| settings::describe(&repository, &self.env)).transpose()
    }

    /// Returns the existing files that are tracked in the repository that contains `dir` and that differ from HEAD.
    ///
    /// # Errors
    ///
    /// As for [`Git::repository`]; or there is no repository, its index is too long, or too many files are changed.
    pub fn changed(&self, dir: &Path) -> FactResult<Vec<String>> {
        let repository = self.holding(&paths::resolve(dir)?.canonical)?.ok_or(UnknownFact)?;
        self.is_not_led_elsewhere(Some(&repository))?;
        status::Status::new(repository).changed()
    }

    /// Returns the facts about these branches and tags of the repository that contains `dir`.
    ///
    /// # Errors
    ///
    /// As for [`Git::repository`]; or there is no repository, or a name is not that of a reference.
    pub fn refs(&self, dir: &Path, names: &[String]) -> FactResult<RefFacts> {
        let repository = self.holding(&paths::resolve(dir)?.canonical)?.ok_or(UnknownFact)?;
        self.is_not_led_elsewhere(Some(&repository))?;
        let (mut existing, mut own) = (Vec::new(), Vec::new());
        for name in names {
            if repository.refs.read(name)?.is_some() {
                existing.push(name.clone());
                own.extend(repository.refs.resolve(name)?);
            }
        }
        let alone = if own.is_empty() { Some(Vec::new()) } else { alone(&repository, names, &own).unwrap_or(None) };
        Ok(RefFacts { existing, alone })
    }

    /// Returns the directory in which the command is started.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns all configuration that git would read in a repository.
    ///
    /// # Errors
    ///
    /// A part of it cannot be read.
    pub fn config(&self, repository: &Repository) -> FactResult<config::Config> {
        settings::all(repository, &self.env)
    }

    /// Finds and opens the repository that contains `dir`, which must not contain symbolic links.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn holding(&self, dir: &Path) -> FactResult<Option<Rc<Repository>>> {
        let Some(place) = open::find(dir)? else { return Ok(None) };
        if let Some(known) = self.opened.borrow().get(&place) {
            return known.clone().map(Some);
        }
        let opened = Repository::open(&place, self.env.get("HOME").map(PathBuf::from)).map(Rc::new);
        self.opened.borrow_mut().insert(place, opened.clone());
        opened.map(Some)
    }

    /// Fails if `GIT_DIR` makes git use another repository. If it names the same one (as in a hook), it has no effect.
    fn is_not_led_elsewhere(&self, repository: Option<&Repository>) -> FactResult<()> {
        let Some(git_dir) = self.env.variables.get(std::ffi::OsStr::new("GIT_DIR")) else { return Ok(()) };
        let git_dir = paths::resolve(&self.cwd.join(git_dir))?.canonical;
        if repository.is_some_and(|repository| repository.git_dir == git_dir) { Ok(()) } else { Err(UnknownFact) }
    }
}

/// Returns the times of the commits that only references with these names reach, in seconds since 1970; `None` if there
/// are too many commits.
fn alone(repository: &Repository, names: &[String], own: &[gix::ObjectId]) -> FactResult<Option<Vec<i64>>> {
    let objects = repository.objects()?;
    let commits = |ids: &mut dyn Iterator<Item = gix::ObjectId>| -> FactResult<Vec<_>> {
        ids.filter_map(|id| objects.peel(id).transpose()).collect()
    };
    let mut others = Vec::new();
    for (name, id) in repository.refs.all()? {
        if !names.contains(&name) {
            others.push(id);
        }
    }
    // A detached HEAD contains commits like a branch.
    if let Some(refs::Target::Object(id)) = repository.refs.read("HEAD")? {
        others.push(id);
    }
    let (own, others) = (commits(&mut own.iter().copied())?, commits(&mut others.into_iter())?);
    history::alone(objects, &own, &others, history::MAX_COMMITS)
}
