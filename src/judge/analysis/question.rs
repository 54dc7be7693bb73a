//! Questions that judgment may put to the world, and their answers as plain values.
//!
//! Judging does no I/O. It says what it would need to know, the caller answers what it can, and
//! judges again. A question without an answer gets the stricter reading.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::fuel::{Fuel, cost};
use super::paths::Placer;
use crate::judge::invocation::Invocation;

use crate::judge::ledger::{Brought, Ledger, Look};
use crate::judge::reserved;

/// One thing to know of the world. Paths are absolute and lexically normal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// What is at this path?
    Path(String),
    /// What does git say of this path?
    Git(String),
    /// Which repository holds this directory?
    Repository(String),
    /// The first [`MAX_FILE`] bytes of this file: a script, a manifest, a makefile.
    File(String),
    /// Where does this program name lead on the `PATH` of the invocation?
    Program(String),
    /// Which file does this name run, looked for in these directories in this order? A name that is a path is looked for
    /// in none.
    Resolve { name: String, dirs: Vec<String> },
    /// When was what lies at this path made and last changed, with all that a directory holds?
    Look(String),
    /// What has this session done to files, and what was brought where?
    Ledger,
}

impl Question {
    /// What its text adds to the cost of an answer, in units of fuel: each directory on the way is looked at.
    fn size(&self) -> u64 {
        let text = match self {
            Self::Path(text) | Self::Git(text) | Self::Repository(text) | Self::File(text) => text,
            Self::Program(text) | Self::Look(text) => text,
            Self::Ledger => return 64,
            Self::Resolve { name, dirs } => return (name.len() + dirs.len() * 64) as u64,
        };
        let depth = text.bytes().filter(|byte| *byte == b'/').count();
        (depth * text.len()) as u64 / 32
    }
}

/// The most bytes of a file that an answer carries; a longer file is answered as [`FileFacts::TooLarge`].
pub const MAX_FILE: usize = 4 * 1024 * 1024;

/// Answers by question. What is not here was not asked yet, or could not be answered.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    known: HashMap<Question, Answer>,
    /// As they were given, where they hold characters that the judge keeps for itself.
    given: HashMap<Question, Answer>,
    /// What judging took in the rounds that came to these answers.
    spent: u64,
}

/// The answer to a [`Question`] of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Path(PathFacts),
    Git(GitFacts),
    Repository(Option<RepositoryFacts>),
    File(FileFacts),
    Program(Option<String>),
    Resolve(Option<ProgramFacts>),
    Look(Option<Look>),
    Ledger(Ledger),
    /// It was asked and could not be answered (no permission, a limit).
    Unavailable,
}

/// A program: the file that a name runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFacts {
    /// The directory in which it was found and the name, or the path as it was given.
    pub path: String,
    /// With every symbolic link followed.
    pub canonical: String,
    pub device: u64,
    pub inode: u64,
    pub bytes: u64,
    /// When its content was last changed, in nanoseconds since 1970.
    pub changed: i128,
    /// The digest of its bytes, where it is a script of at most [`MAX_FILE`].
    pub digest: Option<[u8; 32]>,
    /// It was made since the agent began whose session this is. `false` where that cannot be told.
    pub since_session: bool,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFacts {
    pub kind: PathKind,
    /// With every symbolic link on the way followed. Of what is missing, the part that exists is followed and the rest
    /// appended as written, so it says where the path would come to lie.
    pub canonical: String,
    /// The path itself is a symbolic link.
    pub symlink: bool,
    pub bytes: u64,
}

/// Kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    Missing,
    File,
    Directory,
    Device,
    /// A socket, a FIFO, or a symbolic link that leads nowhere.
    Other,
}

/// What git says of a path, read in process: nothing that a repository configures is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// The top level of the repository that holds it.
    pub root: Option<String>,
    /// In the index.
    pub tracked: bool,
    /// Tracked, in HEAD, and the bytes on disk are those of HEAD.
    pub clean: bool,
    /// Ignored by an ignore file that is itself committed and unchanged, with no other ignore file taking it back.
    /// Never for what is tracked or holds tracked files.
    pub ignored: bool,
    /// A directory that holds tracked files.
    pub holds_tracked: bool,
    /// A directory that is, or holds, a repository, a worktree or a repository's data. Also when that could not be
    /// looked at to the end.
    pub holds_repository: bool,
}

/// What is known of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryFacts {
    pub root: String,
    /// The current branch; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// The branch that the first remote's HEAD names.
    pub default_branch: Option<String>,
    /// Names and URLs of the remotes, rewritten as the configuration says; a remote has a row for each place that it
    /// is fetched from or pushed to.
    pub remotes: Vec<(String, String)>,
    /// `alias.*` of the repository's, the user's and the machine's configuration, one row for each name, in lower case
    /// (git compares them so).
    pub aliases: Vec<(String, String)>,
    /// Whether HEAD is an ancestor of, or equal to, its upstream: what HEAD holds was pushed. `None`: no upstream.
    /// A history too long to compare says yes.
    pub pushed: Option<bool>,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFacts {
    Missing,
    Text {
        bytes: Vec<u8>,
        digest: [u8; 32],
    },
    TooLarge,
    /// A directory, device, or no permission.
    Unreadable,
}

impl Question {
    /// The same question in the world's spelling; `None` where what it is about was no text, so that it cannot be asked.
    fn given_out(self) -> Option<Self> {
        let (about, make): (&str, fn(String) -> Self) = match &self {
            Self::Path(path) => (path, Self::Path),
            Self::Git(path) => (path, Self::Git),
            Self::Repository(path) => (path, Self::Repository),
            Self::File(path) => (path, Self::File),
            Self::Program(name) => (name, Self::Program),
            Self::Resolve { name, dirs } => {
                let out = |text: &String| reserved::given_out(text).map(Cow::into_owned);
                let dirs = dirs.iter().map(out).collect::<Option<_>>()?;
                return Some(Self::Resolve { name: out(name)?, dirs });
            }
            Self::Look(path) => (path, Self::Look),
            Self::Ledger => return Some(self),
        };
        match reserved::given_out(about)? {
            Cow::Borrowed(_) => Some(self),
            Cow::Owned(about) => Some(make(about)),
        }
    }
}

impl Answer {
    /// Whether it may hold characters that the judge keeps for itself: told of those answers that are long or many.
    fn may_hold(&self) -> bool {
        match self {
            Self::File(FileFacts::Text { bytes, .. }) => reserved::may_hold(bytes),
            Self::Path(facts) => reserved::may_hold(facts.canonical.as_bytes()),
            _ => true,
        }
    }

    /// Whether it says that the path which it was asked about leads to another place.
    #[must_use]
    pub fn leads_elsewhere(&self, question: &Question) -> bool {
        matches!((self, question), (Self::Path(facts), Question::Path(path)) if facts.canonical != *path)
    }

    /// Without characters that the judge keeps for itself.
    fn taken_in(&self) -> Self {
        let plain = |text: &String| reserved::taken_in(text).into_owned();
        let pairs = |pairs: &[(String, String)]| pairs.iter().map(|(a, b)| (plain(a), plain(b))).collect();
        match self {
            Self::Path(facts) => Self::Path(PathFacts { canonical: plain(&facts.canonical), ..facts.clone() }),
            Self::Git(facts) => Self::Git(GitFacts { root: facts.root.as_ref().map(plain), ..facts.clone() }),
            Self::Repository(facts) => Self::Repository(facts.as_ref().map(|facts| RepositoryFacts {
                root: plain(&facts.root),
                branch: facts.branch.as_ref().map(plain),
                default_branch: facts.default_branch.as_ref().map(plain),
                remotes: pairs(&facts.remotes),
                aliases: pairs(&facts.aliases),
                pushed: facts.pushed,
            })),
            Self::File(FileFacts::Text { bytes, digest }) => {
                Self::File(FileFacts::Text { bytes: reserved::taken_in_bytes(bytes).into_owned(), digest: *digest })
            }
            Self::Program(path) => Self::Program(path.as_ref().map(plain)),
            Self::Resolve(facts) => Self::Resolve(facts.as_ref().map(|facts| ProgramFacts {
                path: plain(&facts.path),
                canonical: plain(&facts.canonical),
                ..facts.clone()
            })),
            // Of deeds a name that is spelled otherwise is no reason to lower anything; what was brought is found by it.
            Self::Ledger(ledger) => {
                let plainly = |brought: &Brought| Brought { to: plain(&brought.to), ..brought.clone() };
                Self::Ledger(Ledger { brought: ledger.brought.iter().map(plainly).collect(), ..ledger.clone() })
            }
            Self::File(_) | Self::Look(_) | Self::Unavailable => self.clone(),
        }
    }
}

impl Answers {
    /// No answers: every question gets the stricter reading.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds an answer.
    pub fn insert(&mut self, question: Question, answer: Answer) {
        let plain = answer.may_hold().then(|| answer.taken_in()).filter(|plain| *plain != answer);
        match plain {
            Some(plain) => {
                self.given.insert(question.clone(), answer);
                self.known.insert(question, plain);
            }
            None => {
                self.known.insert(question, answer);
            }
        }
    }

    /// The answer, when there is one.
    #[must_use]
    pub fn get(&self, question: &Question) -> Option<&Answer> {
        self.known.get(question)
    }

    /// Counts what a round took, so that the next one has as much less.
    pub const fn spend(&mut self, units: u64) {
        self.spent = self.spent.saturating_add(units);
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&Question, &Answer)> {
        self.known.iter().map(|(question, plain)| (question, self.given.get(question).unwrap_or(plain)))
    }
}

/// Collects questions while judging and looks answers up. Asking twice is asking once.
#[derive(Debug)]
pub struct Inquiry<'a> {
    answers: &'a Answers,
    open: std::cell::RefCell<Vec<Question>>,
    /// Paths of which it matters only that they may lead elsewhere.
    checks: std::cell::RefCell<BTreeSet<Question>>,
    asked: std::cell::RefCell<HashSet<Question>>,
    /// Where the paths of an invocation lie, with what was worked out of them, by the place in memory of that invocation.
    placers: std::cell::RefCell<Vec<(*const Invocation, Rc<Placer>)>>,
    /// What all work of this round is paid from.
    pub fuel: Fuel,
}

impl<'a> Inquiry<'a> {
    /// Judging with these answers.
    #[must_use]
    pub fn new(answers: &'a Answers) -> Self {
        Self {
            answers,
            open: std::cell::RefCell::default(),
            checks: std::cell::RefCell::default(),
            asked: std::cell::RefCell::default(),
            placers: std::cell::RefCell::default(),
            fuel: Fuel::new(answers.spent),
        }
    }

    /// Where the paths of an invocation lie. Whoever asks for the same one shares what was worked out.
    pub fn placer(&self, invocation: &Invocation) -> Rc<Placer> {
        let place = std::ptr::from_ref(invocation);
        let mut placers = self.placers.borrow_mut();
        if let Some((_, placer)) = placers.iter().find(|(other, _)| *other == place) {
            return Rc::clone(placer);
        }
        let placer = Rc::new(Placer::new(invocation));
        placers.push((place, Rc::clone(&placer)));
        placer
    }

    fn ask(&self, question: Question) -> Option<&'a Answer> {
        let question = question.given_out()?;
        let answer = self.answers.get(&question);
        self.fuel.spend_reserve(1);
        if answer.is_none() && self.asked.borrow_mut().insert(question.clone()) {
            self.fuel.spend_reserve(cost::QUESTION + question.size());
            self.open.borrow_mut().push(question);
        }
        answer
    }

    /// What is at `path`?
    pub fn path(&self, path: &str) -> Option<&'a PathFacts> {
        match self.ask(Question::Path(path.into())) {
            Some(Answer::Path(facts)) => Some(facts),
            _ => None,
        }
    }

    /// What is at `path`, where that matters only if it leads elsewhere: whoever judges reads no answer as one that says
    /// it does not, so that nothing need be judged again for it.
    pub fn elsewhere(&self, path: &str) -> Option<&'a PathFacts> {
        let question = Question::Path(path.into()).given_out()?;
        self.fuel.spend_reserve(1);
        match self.answers.get(&question) {
            Some(Answer::Path(facts)) => return Some(facts),
            Some(_) => return None,
            None => {}
        }
        let size = question.size();
        if self.checks.borrow_mut().insert(question) {
            self.fuel.spend_reserve(cost::QUESTION + size);
        }
        None
    }

    /// What was answered of `path`. Nothing is asked.
    pub fn known_path(&self, path: &str) -> Option<&'a PathFacts> {
        self.fuel.spend_reserve(1);
        match self.answers.get(&Question::Path(path.into()).given_out()?) {
            Some(Answer::Path(facts)) => Some(facts),
            _ => None,
        }
    }

    /// What does git say of `path`?
    pub fn git(&self, path: &str) -> Option<&'a GitFacts> {
        match self.ask(Question::Git(path.into())) {
            Some(Answer::Git(facts)) => Some(facts),
            _ => None,
        }
    }

    /// Which repository holds `dir`? `None` also when there is none.
    pub fn repository(&self, dir: &str) -> Option<&'a RepositoryFacts> {
        match self.ask(Question::Repository(dir.into())) {
            Some(Answer::Repository(facts)) => facts.as_ref(),
            _ => None,
        }
    }

    /// What does the file at `path` say?
    pub fn file(&self, path: &str) -> Option<&'a FileFacts> {
        match self.ask(Question::File(path.into())) {
            Some(Answer::File(facts)) => Some(facts),
            _ => None,
        }
    }

    /// Where does the program name lead?
    pub fn program(&self, name: &str) -> Option<&'a str> {
        match self.ask(Question::Program(name.into())) {
            Some(Answer::Program(path)) => path.as_deref(),
            _ => None,
        }
    }

    /// Which file does the name run, looked for in these directories? `None` also when there is none.
    pub fn resolve(&self, name: &str, dirs: &[String]) -> Option<&'a ProgramFacts> {
        match self.ask(Question::Resolve { name: name.into(), dirs: dirs.to_vec() }) {
            Some(Answer::Resolve(facts)) => facts.as_ref(),
            _ => None,
        }
    }

    /// When was what lies at `path` made and last changed? `None` also when nothing is there.
    pub fn look(&self, path: &str) -> Option<&'a Look> {
        match self.ask(Question::Look(path.into())) {
            Some(Answer::Look(look)) => look.as_ref(),
            _ => None,
        }
    }

    /// What has this session done to files?
    pub fn ledger(&self) -> Option<&'a Ledger> {
        match self.ask(Question::Ledger) {
            Some(Answer::Ledger(ledger)) => Some(ledger),
            _ => None,
        }
    }

    /// The questions that had no answer.
    #[must_use]
    pub fn open(self) -> Vec<Question> {
        self.open.into_inner()
    }

    /// The paths of which it matters only whether they lead elsewhere, and that nothing is known of.
    #[must_use]
    pub fn checks(&self) -> Vec<Question> {
        self.checks.borrow().iter().cloned().collect()
    }
}
