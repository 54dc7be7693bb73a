//! The assumed system in which examples are judged, so that the verdict is the same on every machine. Nothing real is
//! queried.
//!
//! A developer works at `/home/me/code/project`, a repository on branch `main` with a remote. Everything that an
//! example names exists, unless its name begins with `does-not-exist` or `missing`. `src`, `docs`, `tests` and a few
//! files at the top are committed and unchanged, except names that begin with `new`; build output is ignored;
//! everything else is untracked. Scripts contain `true`. `~/.bashrc` and `~/.claude/settings.json` call guard.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::judge::analysis::inquiry::Answers;

use crate::judge::analysis::question::{
    FileFacts, GitFacts, PathFacts, PathKind, Question, RefFacts, RepositoryFacts, WorldAnswer,
};
use crate::judge::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use crate::judge::ledger::Ledger;
use crate::judge::policy::Policy;
use crate::judge::rules::catalog::Catalog;
use crate::judge::{Judgment, judge};

/// The project's directory.
const PROJECT: &str = "/home/me/code/project";

/// The committed names at the top of the project.
const TRACKED: [&str; 12] = [
    "src",
    "docs",
    "tests",
    "README.md",
    "Makefile",
    "LICENSE",
    "Cargo.toml",
    "package.json",
    ".gitignore",
    ".env.example",
    "package-lock.json",
    "Cargo.lock",
];

/// The names that the project ignores.
const IGNORED: [&str; 16] = [
    "build",
    "dist",
    "out",
    "target",
    "node_modules",
    ".venv",
    "venv",
    "coverage",
    "tmp",
    ".next",
    ".cache",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".terraform",
    "bin",
];

/// The files that call guard.
const WIRED: [&str; 2] = ["/home/me/.bashrc", "/home/me/.claude/settings.json"];

/// The file name endings that the project ignores.
const IGNORED_ENDINGS: [&str; 7] = [".log", ".tmp", ".pyc", ".o", ".class", ".egg-info", ".swp"];

/// Judges a command string in the assumed system.
pub fn judged(command: &str, catalog: &Catalog, policy: &Policy) -> Judgment {
    let invocation = invocation(command);
    judge(&invocation, catalog, policy, &Answers::of(&answer))
}

fn invocation(command: &str) -> Invocation {
    let variables = [
        ("HOME", "/home/me"),
        ("USER", "me"),
        ("PWD", PROJECT),
        ("SHELL", "/bin/bash"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
        ("LANG", "C.UTF-8"),
    ];
    Invocation {
        request: Request::Line(Line::of_bash(command)),
        cwd: PathBuf::from(PROJECT),
        env: variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect::<Environment>(),
        home: Some(PathBuf::from("/home/me")),
        uid: 1000,
        user: "me".to_owned(),
        origin: Origin::Agent,
        session: Session::default(),
    }
}

fn answer(question: &Question) -> WorldAnswer {
    match question {
        Question::Path(path) => WorldAnswer::Path(path_facts(path)),
        Question::Git(path) => WorldAnswer::Git(git_facts(path)),
        Question::Repository(directory) => WorldAnswer::Repository(in_project(directory).map(|_| repository())),
        Question::File(path) => WorldAnswer::File(file_facts(path)),
        Question::Program(name) => WorldAnswer::Program(Some(format!("/usr/bin/{name}"))),
        Question::Resolve { .. } => WorldAnswer::Resolve(None),
        Question::FileSnapshot(_) => WorldAnswer::FileSnapshot(None),
        Question::Changed(_) | Question::Matches(_) => WorldAnswer::Unavailable,
        Question::Refs { names, .. } => WorldAnswer::Refs(ref_facts(names)),
        Question::Ledger => WorldAnswer::Ledger(Ledger::default()),
    }
}

/// Returns the part of a path below the project, or an empty text for the project itself.
fn in_project(path: &str) -> Option<&str> {
    let rest = path.strip_prefix(PROJECT)?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

fn is_missing(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with("does-not-exist") || name.starts_with("missing"))
}

fn path_facts(path: &str) -> PathFacts {
    let name = path.rsplit('/').next().unwrap_or_default();
    let kind = if is_missing(path) {
        PathKind::Missing
    } else if path.starts_with("/dev/") {
        PathKind::Device
    } else if name.trim_start_matches('.').contains('.')
        || matches!(name, "Makefile" | "LICENSE" | "id_rsa" | "id_ed25519")
    {
        PathKind::File
    } else {
        PathKind::Directory
    };
    let bytes = if name.starts_with("notes") { 100 } else { 0 };
    PathFacts { kind, canonical: path.to_owned(), symlink: false, bytes }
}

fn git_facts(path: &str) -> GitFacts {
    let Some(below) = in_project(path) else { return GitFacts::default() };
    let mut names = below.split('/');
    let (first, last) = (names.clone().next().unwrap_or_default(), names.next_back().unwrap_or_default());
    let ignored = below.split('/').any(|name| IGNORED.contains(&name))
        || IGNORED_ENDINGS.iter().any(|ending| last.ends_with(ending));
    let tracked = !ignored && TRACKED.contains(&first) && !last.starts_with("new");
    GitFacts {
        root: Some(PROJECT.to_owned()),
        tracked,
        clean: tracked,
        ignored,
        holds_tracked: below.is_empty() || tracked && !last.contains('.'),
        holds_repository: below.is_empty(),
    }
}

/// The branches `main` and `unpushed` exist; only `unpushed` contains a commit that no other one contains.
fn ref_facts(names: &[String]) -> RefFacts {
    let is_of = |name: &String, known: &str| name.rsplit('/').next() == Some(known);
    let existing = names.iter().filter(|name| is_of(name, "main") || is_of(name, "unpushed")).cloned().collect();
    let alone = names.iter().filter(|name| is_of(name, "unpushed")).map(|_| 0).collect();
    RefFacts { existing, alone: Some(alone) }
}

fn repository() -> RepositoryFacts {
    RepositoryFacts {
        root: PROJECT.to_owned(),
        branch: Some("main".to_owned()),
        default_branch: Some("main".to_owned()),
        remotes: vec![("origin".to_owned(), "https://github.com/me/project.git".to_owned())],
        aliases: Vec::new(),
        pushed: Some(true),
    }
}

fn file_facts(path: &str) -> FileFacts {
    let script = [".sh", ".bash", ".zsh", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".php", ".lua", ".awk", ".sed"]
        .iter()
        .any(|ending| path.ends_with(ending));
    if is_missing(path) {
        FileFacts::Missing
    } else if WIRED.contains(&path) {
        FileFacts::Text { bytes: b"guard init; guard hook\n".to_vec(), digest: [0; 32] }
    } else if path.starts_with("/proc/") || path.starts_with("/dev/") {
        FileFacts::Unreadable
    } else if script {
        let shell = path.ends_with("sh");
        FileFacts::Text { bytes: if shell { b"true\n".to_vec() } else { b"\n".to_vec() }, digest: [0; 32] }
    } else {
        FileFacts::Missing
    }
}
