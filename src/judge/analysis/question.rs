//! Questions that judgment may put to the world, and their answers as plain values. Out of scope: looking them up.

use std::borrow::Cow;

use crate::judge::ledger::{BroughtContent, FileSnapshot, Ledger};
use crate::judge::reserved::{self, UnaskableReason};

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
    FileSnapshot(String),
    /// Which files of the repository that holds this directory are tracked and not as in HEAD, and lie on the disk?
    Changed(String),
    /// What has this session done to files, and what was brought where?
    Ledger,
}

impl Question {
    /// What its text adds to the cost of an answer, in units of fuel: each directory on the way is looked at.
    pub(super) fn size(&self) -> u64 {
        let text = match self {
            Self::Path(text) | Self::Git(text) | Self::Repository(text) | Self::File(text) => text,
            Self::Program(text) | Self::FileSnapshot(text) | Self::Changed(text) => text,
            Self::Ledger => return 64,
            Self::Resolve { name, dirs } => return (name.len() + dirs.len() * 64) as u64,
        };
        let depth = text.bytes().filter(|byte| *byte == b'/').count();
        (depth * text.len()) as u64 / 32
    }
}

/// The most bytes of a file that an answer carries; a longer file is answered as [`FileFacts::TooLarge`].
pub const MAX_FILE: usize = 4 * 1024 * 1024;

/// The answer to a [`Question`] of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldAnswer {
    Path(PathFacts),
    Git(GitFacts),
    Repository(Option<RepositoryFacts>),
    File(FileFacts),
    Program(Option<String>),
    Resolve(Option<ProgramFacts>),
    FileSnapshot(Option<FileSnapshot>),
    /// Absolute paths.
    Changed(Vec<String>),
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
    /// Whether it is about a name that no path holds.
    pub(super) fn is_of_nothing(&self) -> bool {
        let is_no_name = |name: &str| name.contains('\0');
        match self {
            Self::Path(about)
            | Self::Git(about)
            | Self::Repository(about)
            | Self::File(about)
            | Self::Program(about)
            | Self::FileSnapshot(about)
            | Self::Changed(about) => is_no_name(about),
            Self::Resolve { name, dirs } => is_no_name(name) || dirs.iter().any(|dir| is_no_name(dir)),
            Self::Ledger => false,
        }
    }

    /// The same question in the world's spelling.
    ///
    /// # Errors
    ///
    /// Where the world has no name for what it is about, so that it cannot be asked.
    pub(super) fn given_out(self) -> Result<Self, UnaskableReason> {
        let (about, make): (&str, fn(String) -> Self) = match &self {
            Self::Path(path) => (path, Self::Path),
            Self::Git(path) => (path, Self::Git),
            Self::Repository(path) => (path, Self::Repository),
            Self::File(path) => (path, Self::File),
            Self::Program(name) => (name, Self::Program),
            Self::Resolve { name, dirs } => {
                let out = |text: &String| reserved::given_out(text).map(Cow::into_owned);
                let dirs = dirs.iter().map(out).collect::<Result<_, _>>()?;
                return Ok(Self::Resolve { name: out(name)?, dirs });
            }
            Self::FileSnapshot(path) => (path, Self::FileSnapshot),
            Self::Changed(path) => (path, Self::Changed),
            Self::Ledger => return Ok(self),
        };
        match reserved::given_out(about)? {
            Cow::Borrowed(_) => Ok(self),
            Cow::Owned(about) => Ok(make(about)),
        }
    }
}

impl WorldAnswer {
    /// Whether it may hold characters that the judge keeps for itself: told of those answers that are long or many.
    pub(super) fn may_hold(&self) -> bool {
        match self {
            Self::File(FileFacts::Text { bytes, .. }) => reserved::may_hold(bytes),
            Self::Path(facts) => reserved::may_hold(facts.canonical.as_bytes()),
            _ => true,
        }
    }

    /// Without characters that the judge keeps for itself.
    pub(super) fn taken_in(&self) -> Self {
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
            // Of changes a name that is spelled otherwise is no reason to lower anything; what was brought is found by it.
            Self::Ledger(ledger) => {
                let plainly = |brought: &BroughtContent| BroughtContent { to: plain(&brought.to), ..brought.clone() };
                Self::Ledger(Ledger { brought: ledger.brought.iter().map(plainly).collect(), ..ledger.clone() })
            }
            Self::File(_) | Self::FileSnapshot(_) | Self::Changed(_) | Self::Unavailable => self.clone(),
        }
    }
}
