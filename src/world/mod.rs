//! Facts about the system for the judge: answers to its questions, and who is asking.
//!
//! In scope: reading. Out of scope: running anything, including programs that a repository configures, and
//! opinions. What cannot be read in a bounded number of steps is answered with [`WorldAnswer::Unavailable`], for which
//! the judge assumes the strictest answer.

pub mod account;
pub mod agents;
pub mod evidence;
pub mod git;
pub mod identity;
pub mod paths;
pub mod peer;
pub mod programs;
pub mod scripts;
pub mod shell;
mod snapshot;
pub mod terminal;

use guard_system::processes as system;

use std::cell::OnceCell;
use std::path::Path;
use std::time::SystemTime;

use self::identity::Caller;
use crate::judge::analysis::question::{Question, WorldAnswer};
use crate::judge::invocation::{Invocation, Session};
use crate::judge::ledger::Ledger;

/// A fact that could not be determined: no permission, a limit, something that is no ordinary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFact;

/// A fact, or that it could not be determined.
pub type FactResult<T> = Result<T, UnknownFact>;

impl From<std::io::Error> for UnknownFact {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

/// Answers questions for one invocation.
///
/// A repository that was read once is kept: a `World` is one look at the world. For fresh answers make a new one.
#[derive(Debug)]
pub struct World {
    search: programs::ProgramSearch,
    git: git::Git,
    session: Session,
    /// When the agent began whose session this is, once that was looked up.
    began: OnceCell<Option<SystemTime>>,
}

impl World {
    /// Takes from the invocation what answers depend on: its `PATH`, its working directory, and the environment that
    /// git reads. Costs no I/O.
    #[must_use]
    pub fn new(invocation: &Invocation) -> Self {
        Self {
            search: programs::ProgramSearch::new(&invocation.env, &invocation.cwd),
            git: git::Git::new(&invocation.env, &invocation.cwd),
            session: invocation.session.clone(),
            began: OnceCell::new(),
        }
    }

    /// Answers one question.
    #[must_use]
    pub fn answer(&self, question: &Question) -> WorldAnswer {
        let answered = match question {
            Question::Path(path) => absolute(path).and_then(paths::facts).map(WorldAnswer::Path),
            Question::FileSnapshot(path) => absolute(path).and_then(snapshot::take).map(WorldAnswer::FileSnapshot),
            Question::Changed(dir) => absolute(dir).and_then(|dir| self.git.changed(dir)).map(WorldAnswer::Changed),
            // The record tells, where there is one.
            Question::Ledger => Ok(WorldAnswer::Ledger(Ledger::default())),
            Question::Git(path) => absolute(path).and_then(|path| self.git.facts(path)).map(WorldAnswer::Git),
            Question::Repository(dir) => {
                absolute(dir).and_then(|dir| self.git.repository(dir)).map(WorldAnswer::Repository)
            }
            Question::File(path) => absolute(path).map(scripts::read).map(WorldAnswer::File),
            Question::Program(name) => self.search.find(name).map(WorldAnswer::Program),
            Question::Resolve { name, dirs } => {
                programs::resolve(name, dirs, || self.began()).map(WorldAnswer::Resolve)
            }
        };
        answered.unwrap_or(WorldAnswer::Unavailable)
    }

    /// Of no other session: a terminal is older than most of what its owner does there.
    fn began(&self) -> Option<SystemTime> {
        let of_agent = || self.session.agent.is_some().then(|| Caller::began(&self.session.root)).flatten();
        *self.began.get_or_init(of_agent)
    }
}

/// A path that a question may name: absolute, and no longer than the kernel takes.
fn absolute(path: &str) -> FactResult<&Path> {
    let path = Path::new(path);
    if path.is_absolute() && path.as_os_str().len() <= paths::MAX_PATH { Ok(path) } else { Err(UnknownFact) }
}
