//! Resolves names of programs on the `PATH` of the invocation, not on guard's own.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::unistd::AccessFlags;

use super::{FactResult, UnknownFact, paths, scripts};
use crate::judge::analysis::question::{FileFacts, ProgramFacts};
use crate::judge::invocation::Environment;

/// Maximum number of directories of a `PATH` that are searched.
const MAX_DIRECTORIES: usize = 1000;

/// The directories that bash searches if `PATH` is not set.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the processes that run this file; none if the system does not report them.
#[must_use]
pub fn running(program: &Path) -> Vec<i32> {
    let about = program.metadata().ok();
    about.map(|about| super::system::running((about.dev(), about.ino()))).unwrap_or_default()
}

/// A search for programs in one environment and working directory.
#[derive(Debug)]
pub struct ProgramSearch {
    path: OsString,
    cwd: PathBuf,
}

impl ProgramSearch {
    /// Creates the search for a command with this environment, started in `cwd`.
    #[must_use]
    pub fn new(env: &Environment, cwd: &Path) -> Self {
        let path = env.variables.get(std::ffi::OsStr::new("PATH")).cloned();
        Self { path: path.unwrap_or_else(|| DEFAULT_PATH.into()), cwd: cwd.to_owned() }
    }

    /// Returns the file that `name` runs: absolute, with symbolic links unresolved. `None` if there is none. A name
    /// with a slash is relative to the working directory.
    ///
    /// # Errors
    ///
    /// The `PATH` has too many directories, or the result is not UTF-8.
    pub fn find(&self, name: &str) -> FactResult<Option<String>> {
        if name.is_empty() {
            return Ok(None);
        }
        let found = if name.contains('/') {
            Some(self.cwd.join(name)).filter(|path| is_program(path))
        } else {
            self.directories()?.map(|dir| dir.join(name)).find(|path| is_program(path))
        };
        found.map(|path| path.into_os_string().into_string().map_err(|_| UnknownFact)).transpose()
    }

    /// Returns every file that a name without a slash could run, in the order of `PATH`.
    pub(super) fn find_all(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.directories().into_iter().flatten().map(move |dir| dir.join(name)).filter(|path| is_program(path))
    }

    /// Returns the directories of `PATH`, in order; an empty or relative one is relative to the working directory.
    fn directories(&self) -> FactResult<impl Iterator<Item = PathBuf>> {
        let directories: Vec<_> = std::env::split_paths(&self.path).take(MAX_DIRECTORIES + 1).collect();
        if directories.len() > MAX_DIRECTORIES {
            return Err(UnknownFact);
        }
        Ok(directories.into_iter().map(|dir| self.cwd.join(dir)))
    }
}

/// Returns facts about the program of this name in the first of these directories that contains one. A name with a
/// slash is a path, and is used as such if no directory contains it.
///
/// # Errors
///
/// The path cannot be resolved, or is not UTF-8.
pub(super) fn resolve(
    name: &str,
    dirs: &[String],
    began: impl FnOnce() -> Option<SystemTime>,
) -> FactResult<Option<ProgramFacts>> {
    let own = name.contains('/').then(|| PathBuf::from(name));
    let mut paths = dirs.iter().map(|dir| Path::new(dir).join(name)).chain(own);
    let Some(path) = paths.find(|path| path.is_absolute() && is_program(path)) else { return Ok(None) };
    let found = paths::resolve(&path)?;
    let metadata = found.metadata.ok_or(UnknownFact)?;
    let born = metadata.created().ok();
    let digest = match is_script(&found.canonical) {
        true => match scripts::read(&found.canonical) {
            FileFacts::Text { digest, .. } => Some(digest),
            _ => None,
        },
        false => None,
    };
    let text = |path: PathBuf| path.into_os_string().into_string().map_err(|_| UnknownFact);
    Ok(Some(ProgramFacts {
        path: text(path)?,
        canonical: text(found.canonical)?,
        device: metadata.dev(),
        inode: metadata.ino(),
        bytes: metadata.len(),
        changed: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        digest,
        since_session: born.is_some_and(|born| began().is_some_and(|began| born > began)),
    }))
}

/// Reports whether a file begins with `#!`.
fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

/// Reports whether the path is a regular file that may be executed.
pub(super) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file()) && nix::unistd::access(path, AccessFlags::X_OK).is_ok()
}
