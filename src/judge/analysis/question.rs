//! Questions about the system, and their answers, as values. Out of scope: finding the answers.

use std::borrow::Cow;

use crate::judge::ledger::{BroughtContent, FileSnapshot, Ledger};
use crate::judge::reserved::{self, UnaskableReason};

/// A question about the system. Paths are absolute and lexically normalised.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Question {
    /// The file at this path.
    Path(String),
    /// The state of this path in git.
    Git(String),
    /// The repository of this directory.
    Repository(String),
    /// The content of this file (a script, a manifest, a makefile), up to [`MAX_FILE`] bytes.
    File(String),
    /// The path of this program in the `PATH` of the invocation.
    Program(String),
    /// The file that this name runs, searched in these directories in this order. A name that is a path has no
    /// directories.
    Resolve { name: String, dirs: Vec<String> },
    /// The times at which the file at this path was created and last changed, including the content of a directory.
    FileSnapshot(String),
    /// The tracked files of the repository of this directory that exist and differ from HEAD.
    Changed(String),
    /// The commits to which these names (`refs/heads/x`) lead in the repository of this directory.
    Refs { dir: String, names: Vec<String> },
    /// The paths that this absolute glob matches. The judge does not ask it: an approval is bound to the answer.
    Matches(String),
    /// The changes of this session to files, and the files that were moved with their destinations.
    Ledger,
}

impl Question {
    /// Returns the cost of its text, in units of fuel: each directory in the path is visited.
    pub(super) fn size(&self) -> u64 {
        let text = match self {
            Self::Path(text) | Self::Git(text) | Self::Repository(text) | Self::File(text) => text,
            Self::Program(text) | Self::FileSnapshot(text) | Self::Changed(text) | Self::Matches(text) => text,
            Self::Ledger => return 64,
            Self::Resolve { name, dirs } => return (name.len() + dirs.len() * 64) as u64,
            Self::Refs { dir, names } => return (dir.len() + names.len() * 256) as u64,
        };
        let depth = text.bytes().filter(|byte| *byte == b'/').count();
        (depth * text.len()) as u64 / 32
    }
}

/// Maximum size of a file in an answer, in bytes; a larger file is [`FileFacts::TooLarge`].
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
    Refs(RefFacts),
    /// Absolute paths, sorted.
    Matches(Vec<String>),
    Ledger(Ledger),
    /// The question could not be answered (no permission, a limit).
    Unavailable,
}

/// A program: the file that a name runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFacts {
    /// The directory in which it was found and the name, or the path as it was given.
    pub path: String,
    /// Its path with all symbolic links resolved.
    pub canonical: String,
    pub device: u64,
    pub inode: u64,
    pub bytes: u64,
    /// The time of the last change of its content, in nanoseconds since 1970.
    pub changed: i128,
    /// The digest of its bytes, if it is a script of at most [`MAX_FILE`] bytes.
    pub digest: Option<[u8; 32]>,
    /// Whether it was created since the agent of this session started. `false` if that is unknown.
    pub since_session: bool,
}

/// The facts about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFacts {
    pub kind: PathKind,
    /// The path with all symbolic links resolved. If it does not exist, the existing part is resolved and the rest
    /// appended, so that it is the path at which the file would be created.
    pub canonical: String,
    /// Whether the path itself is a symbolic link.
    pub symlink: bool,
    pub bytes: u64,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    Missing,
    File,
    Directory,
    Device,
    /// A socket, a FIFO, or a dangling symbolic link.
    Other,
}

/// The state of a path in git. It is read in process: nothing that a repository configures is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitFacts {
    /// The top level of its repository.
    pub root: Option<String>,
    /// Whether it is in the index.
    pub tracked: bool,
    /// Whether it is tracked, in HEAD, and its bytes on the disk are those of HEAD.
    pub clean: bool,
    /// Whether a committed and unchanged ignore file ignores it, and no other ignore file overrides that. Tracked
    /// files, and directories with tracked files, are never ignored.
    pub ignored: bool,
    /// Whether it is a directory with tracked files.
    pub holds_tracked: bool,
    /// Whether it is or contains a repository, a worktree or the data of a repository, or could not be searched
    /// completely.
    pub holds_repository: bool,
}

/// Facts about a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryFacts {
    pub root: String,
    /// The current branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The branch that HEAD of the first remote names.
    pub default_branch: Option<String>,
    /// The names and URLs of the remotes, after rewriting by the configuration. A remote has an entry for each URL from
    /// which it is fetched or to which it is pushed.
    pub remotes: Vec<(String, String)>,
    /// `alias.*` in the configuration of the repository, the user and the machine, one entry per name. Names are in
    /// lower case, because git ignores case.
    pub aliases: Vec<(String, String)>,
    /// Whether HEAD is its upstream or an ancestor of it, so that its commits were pushed. `None`: no upstream. `true`
    /// if the history is too long.
    pub pushed: Option<bool>,
}

/// Facts about branches and tags of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefFacts {
    /// Those of the names that exist.
    pub existing: Vec<String>,
    /// The times, in seconds since 1970, at which the commits were made that no other branch or tag contains. `None` if
    /// that is unknown, or takes too long to determine.
    pub alone: Option<Vec<i64>>,
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
    /// It is a directory or a device, or permission is denied.
    Unreadable,
}

impl Question {
    /// Reports whether it is about a name that cannot be a path.
    pub(super) fn is_of_nothing(&self) -> bool {
        let is_no_name = |name: &str| name.contains('\0');
        match self {
            Self::Path(about)
            | Self::Git(about)
            | Self::Repository(about)
            | Self::File(about)
            | Self::Program(about)
            | Self::FileSnapshot(about)
            | Self::Changed(about)
            | Self::Matches(about) => is_no_name(about),
            Self::Resolve { name, dirs } => is_no_name(name) || dirs.iter().any(|dir| is_no_name(dir)),
            Self::Refs { dir, names } => is_no_name(dir) || names.iter().any(|name| is_no_name(name)),
            Self::Ledger => false,
        }
    }

    /// Converts paths to those of the system.
    ///
    /// # Errors
    ///
    /// A path does not exist on a system, so that the question cannot be asked.
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
            Self::Refs { dir, names } => {
                let out = |text: &String| reserved::given_out(text).map(Cow::into_owned);
                let names = names.iter().map(out).collect::<Result<_, _>>()?;
                return Ok(Self::Refs { dir: out(dir)?, names });
            }
            Self::Matches(path) => (path, Self::Matches),
            Self::Ledger => return Ok(self),
        };
        match reserved::given_out(about)? {
            Cow::Borrowed(_) => Ok(self),
            Cow::Owned(about) => Ok(make(about)),
        }
    }
}

impl WorldAnswer {
    /// Reports whether it may contain characters that the judge reserves. This is computed only for long answers.
    pub(super) fn may_hold(&self) -> bool {
        match self {
            Self::File(FileFacts::Text { bytes, .. }) => reserved::may_hold(bytes),
            Self::Path(facts) => reserved::may_hold(facts.canonical.as_bytes()),
            _ => true,
        }
    }

    /// Replaces characters that the judge reserves.
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
            // A replaced name in the changes lowers no finding; the moved files are found by it.
            Self::Ledger(ledger) => {
                let plainly = |brought: &BroughtContent| BroughtContent { to: plain(&brought.to), ..brought.clone() };
                Self::Ledger(Ledger { brought: ledger.brought.iter().map(plainly).collect(), ..ledger.clone() })
            }
            Self::File(_)
            | Self::FileSnapshot(_)
            | Self::Changed(_)
            | Self::Matches(_)
            | Self::Refs(_)
            | Self::Unavailable => self.clone(),
        }
    }
}
