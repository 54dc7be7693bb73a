//! git: what a repository says of a path, and what is known of the repository.
//!
//! Everything is read in process. No program is started, and no setting is acted on: not `core.fsmonitor`, not
//! filters, hooks, `textconv`, pagers or aliases. Who owns a repository does not matter, since nothing of it is run.

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
use crate::judge::analysis::question::{GitFacts, RepositoryFacts};
use crate::judge::invocation::Environment;
use open::{Repository, RepositoryPaths};

/// Answers questions about git for one environment, and keeps the repositories that it read.
#[derive(Debug)]
pub struct Git {
    env: Environment,
    cwd: PathBuf,
    opened: RefCell<HashMap<RepositoryPaths, FactResult<Rc<Repository>>>>,
}

impl Git {
    /// For a command with this environment, started in `cwd`. Only variables that git reads are kept.
    #[must_use]
    pub fn new(env: &Environment, cwd: &Path) -> Self {
        let kept = |name: &str| name == "HOME" || name == "XDG_CONFIG_HOME" || name.starts_with("GIT_");
        let variables = env.variables.iter().filter(|(name, _)| name.to_str().is_some_and(kept));
        let env = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { env, cwd: cwd.to_owned(), opened: RefCell::default() }
    }

    /// What git says of `path`; empty facts when no repository holds it.
    ///
    /// # Errors
    ///
    /// The repository cannot be read, or is of a format that is not known here.
    pub fn facts(&self, path: &Path) -> FactResult<GitFacts> {
        let subject = facts::Subject::new(path)?;
        let Some(repository) = self.holding(subject.start())? else { return subject.outside() };
        subject.inside(&repository)
    }

    /// The repository that holds `dir`, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Git::facts`]; or the environment leads git to another repository.
    pub fn repository(&self, dir: &Path) -> FactResult<Option<RepositoryFacts>> {
        let dir = paths::resolve(dir)?.canonical;
        let repository = self.holding(&dir)?;
        self.is_not_led_elsewhere(repository.as_deref())?;
        repository.map(|repository| settings::describe(&repository, &self.env)).transpose()
    }

    /// The files on the disk that the repository tracks which holds `dir`, and that are not as in HEAD.
    ///
    /// # Errors
    ///
    /// As [`Git::repository`]; or there is no repository, its index is too long, or too many files are changed.
    pub fn changed(&self, dir: &Path) -> FactResult<Vec<String>> {
        let repository = self.holding(&paths::resolve(dir)?.canonical)?.ok_or(UnknownFact)?;
        self.is_not_led_elsewhere(Some(&repository))?;
        status::Status::new(repository).changed()
    }

    /// Where the command is started.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// All configuration that git would read in a repository.
    ///
    /// # Errors
    ///
    /// A part of it cannot be read.
    pub fn config(&self, repository: &Repository) -> FactResult<config::Config> {
        settings::all(repository, &self.env)
    }

    /// Finds and opens the repository that holds `dir`, which has no symbolic links in it.
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

    /// With `GIT_DIR` git looks nowhere else; that is fine only where it would have looked anyway (as in a hook).
    fn is_not_led_elsewhere(&self, repository: Option<&Repository>) -> FactResult<()> {
        let Some(git_dir) = self.env.variables.get(std::ffi::OsStr::new("GIT_DIR")) else { return Ok(()) };
        let git_dir = paths::resolve(&self.cwd.join(git_dir))?.canonical;
        if repository.is_some_and(|repository| repository.git_dir == git_dir) { Ok(()) } else { Err(UnknownFact) }
    }
}
