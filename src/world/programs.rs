//! Programs: where a name leads on the `PATH` of the invocation, not on guard's own.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::unistd::AccessFlags;

use super::{FactResult, UnknownFact, paths, scripts};
use crate::judge::analysis::question::{FileFacts, ProgramFacts};
use crate::judge::invocation::Environment;

/// How many directories of a `PATH` are looked in.
const MAX_DIRECTORIES: usize = 1000;

/// What bash looks in where `PATH` is not set.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The processes that run this file; none where the system does not tell.
#[must_use]
pub fn running(program: &Path) -> Vec<i32> {
    let about = program.metadata().ok();
    about.map(|about| super::system::running((about.dev(), about.ino()))).unwrap_or_default()
}

/// Looks programs up for one environment and working directory.
#[derive(Debug)]
pub struct ProgramSearch {
    path: OsString,
    cwd: PathBuf,
}

impl ProgramSearch {
    /// For a command with this environment, started in `cwd`.
    #[must_use]
    pub fn new(env: &Environment, cwd: &Path) -> Self {
        let path = env.variables.get(std::ffi::OsStr::new("PATH")).cloned();
        Self { path: path.unwrap_or_else(|| DEFAULT_PATH.into()), cwd: cwd.to_owned() }
    }

    /// The file that `name` runs: absolute, symbolic links kept. `None` when there is none. A name with a slash is
    /// taken from the working directory.
    ///
    /// # Errors
    ///
    /// The `PATH` has too many directories, or the result is no UTF-8.
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

    /// Every file that a name without a slash could run, in the order of `PATH`.
    pub(super) fn find_all(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.directories().into_iter().flatten().map(move |dir| dir.join(name)).filter(|path| is_program(path))
    }

    /// The directories of `PATH`, in order; an empty or relative one starts at the working directory.
    fn directories(&self) -> FactResult<impl Iterator<Item = PathBuf>> {
        let directories: Vec<_> = std::env::split_paths(&self.path).take(MAX_DIRECTORIES + 1).collect();
        if directories.len() > MAX_DIRECTORIES {
            return Err(UnknownFact);
        }
        Ok(directories.into_iter().map(|dir| self.cwd.join(dir)))
    }
}

/// The first of these directories that holds a program of the name, and what that is; a name that is a path is looked for
/// nowhere else.
///
/// # Errors
///
/// The path cannot be followed to its end, or is no UTF-8.
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

/// Whether a file begins with `#!`.
fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"#!"
}

/// A regular file that may be executed.
pub(super) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file()) && nix::unistd::access(path, AccessFlags::X_OK).is_ok()
}
