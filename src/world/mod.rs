//! Provides the judge with facts about the system: the answers to its questions, and the identity of the caller.
//!
//! In scope: reading. Out of scope: running anything, including programs that a repository configures, and judging. A
//! question that cannot be answered in a bounded number of steps is answered with [`WorldAnswer::Unavailable`], for
//! which the judge assumes the strictest answer.

pub mod account;
pub mod agents;
pub mod evidence;
pub mod git;
pub mod identity;
mod matches;
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

/// A fact that could not be determined: no permission, a limit, or not a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFact;

/// A fact, or that it could not be determined.
pub type FactResult<T> = Result<T, UnknownFact>;

impl From<std::io::Error> for UnknownFact {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

/// A source of answers for one invocation.
///
/// A repository is read once, so that a `World` represents one point in time. Create a new one for fresh answers.
#[derive(Debug)]
pub struct World {
    search: programs::ProgramSearch,
    git: git::Git,
    session: Session,
    /// The start time of the agent whose session this is, once it was looked up.
    began: OnceCell<Option<SystemTime>>,
}

impl World {
    /// Creates it from what the answers depend on: the invocation's `PATH`, its working directory, and the environment
    /// that git reads. It performs no I/O.
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
            Question::Refs { dir, names } => {
                absolute(dir).and_then(|dir| self.git.refs(dir, names)).map(WorldAnswer::Refs)
            }
            Question::Matches(pattern) => absolute(pattern).and_then(matches::find).map(WorldAnswer::Matches),
            // The record contains the ledger, if there is one.
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

    /// Returns the start time of the agent of this session. Other sessions have none, because a terminal is older than
    /// most of what its owner does in it.
    fn began(&self) -> Option<SystemTime> {
        let of_agent = || self.session.agent.is_some().then(|| Caller::began(&self.session.root)).flatten();
        *self.began.get_or_init(of_agent)
    }
}

/// Returns a path that a question may contain: absolute, and not longer than the kernel accepts.
fn absolute(path: &str) -> FactResult<&Path> {
    let path = Path::new(path);
    if path.is_absolute() && path.as_os_str().len() <= paths::MAX_PATH { Ok(path) } else { Err(UnknownFact) }
}
