//! Finds and opens the repository that contains a directory.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::config::{Config, IncludeContext};
use super::objects::Objects;
use super::refs::{Refs, Target};
use crate::world::git::ignore::IgnoreFiles;
use crate::world::paths::{self, Content};
use crate::world::{FactResult, UnknownFact};

/// Maximum number of parent directories that are searched.
const MAX_ANCESTORS: usize = 512;

/// Maximum length of a `.git` or `commondir` file.
const MAX_POINTER: usize = 8 * 1024;

/// Maximum size of the index, in bytes.
const MAX_INDEX: u64 = 256 * 1024 * 1024;

/// The paths of a repository: its work tree and its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepositoryPaths {
    /// The directory that contains `.git`; `None` inside the data of a repository.
    pub top: Option<PathBuf>,
    pub git_dir: PathBuf,
}

/// A repository, read on demand.
#[derive(Debug)]
pub struct Repository {
    /// The root of the work tree; `None` for a bare repository.
    pub root: Option<PathBuf>,
    pub git_dir: PathBuf,
    pub common_dir: PathBuf,
    pub refs: Refs,
    /// The repository's own configuration.
    pub config: Config,
    pub include_context: IncludeContext,
    pub ignore_files: IgnoreFiles,
    objects: OnceCell<FactResult<Objects>>,
    index: OnceCell<FactResult<gix::index::State>>,
    head_tree: OnceCell<FactResult<Option<ObjectId>>>,
}

/// Finds the repository that contains `dir`, which must not contain symbolic links.
///
/// # Errors
///
/// A `.git` in a parent directory cannot be read.
pub fn find(dir: &Path) -> FactResult<Option<RepositoryPaths>> {
    for (steps, dir) in dir.ancestors().enumerate() {
        if steps > MAX_ANCESTORS {
            return Err(UnknownFact);
        }
        let dot_git = dir.join(".git");
        match dot_git.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                if is_git_dir(&dot_git)? {
                    return Ok(Some(RepositoryPaths { top: Some(dir.to_owned()), git_dir: dot_git }));
                }
            }
            Ok(_) => {
                let git_dir = pointer(&dot_git, b"gitdir:")?.ok_or(UnknownFact)?;
                return Ok(Some(RepositoryPaths { top: Some(dir.to_owned()), git_dir }));
            }
            Err(error) if paths::is_absent(&error) => {}
            Err(error) => return Err(error.into()),
        }
        if is_git_dir(dir)? {
            return Ok(Some(RepositoryPaths { top: None, git_dir: dir.to_owned() }));
        }
    }
    Ok(None)
}

/// Reports whether `dir` contains a repository's data, by git's own test.
pub fn is_git_dir(dir: &Path) -> FactResult<bool> {
    let there = |name: &str| match dir.join(name).symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if paths::is_absent(&error) => Ok(false),
        Err(error) => Err(UnknownFact::from(error)),
    };
    Ok(there("HEAD")? && (there("commondir")? || (there("objects")? && there("refs")?)))
}

/// Returns the path in a file, which is relative to that file. `None` if the file does not exist.
fn pointer(file: &Path, prefix: &[u8]) -> FactResult<Option<PathBuf>> {
    let bytes = match paths::read(file, MAX_POINTER) {
        Content::Missing => return Ok(None),
        Content::Bytes(bytes) => bytes,
        Content::TooLarge | Content::Unreadable => return Err(UnknownFact),
    };
    let text = bytes.strip_prefix(prefix).and_then(|rest| std::str::from_utf8(rest).ok()).ok_or(UnknownFact)?.trim();
    let target = file.parent().unwrap_or(Path::new("/")).join(text);
    Ok(Some(paths::resolve(&target)?.canonical))
}

impl Repository {
    /// Opens the repository. `home` replaces `~/` in its configuration.
    ///
    /// # Errors
    ///
    /// A part of it cannot be read, or it has an unknown format.
    pub fn open(place: &RepositoryPaths, home: Option<PathBuf>) -> FactResult<Self> {
        let git_dir = paths::resolve(&place.git_dir)?.canonical;
        let common_dir = pointer(&git_dir.join("commondir"), b"")?.unwrap_or_else(|| git_dir.clone());
        let refs = Refs::new(git_dir.clone(), common_dir.clone());
        let branch = match refs.read("HEAD")? {
            Some(Target::Symbolic(name)) => name.strip_prefix("refs/heads/").map(str::to_owned),
            _ => None,
        };
        let include_context = IncludeContext { home, git_dir: Some(git_dir.clone()), branch };
        let mut config = Config::default();
        config.add_file(&common_dir.join("config"), &include_context)?;
        if config.get("extensions", "worktreeconfig").is_some_and(|setting| setting.truth().unwrap_or(true)) {
            config.add_file(&git_dir.join("config.worktree"), &include_context)?;
        }
        is_known_format(&config)?;
        let linked = git_dir != common_dir;
        let root = root(place, &git_dir, linked, &config)?;
        let (ignore_files, objects, index, head_tree) = Default::default();
        Ok(Self { root, git_dir, common_dir, refs, config, include_context, ignore_files, objects, index, head_tree })
    }

    /// Returns the current branch; `None` if HEAD is detached.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.include_context.branch.as_deref()
    }

    /// Returns its objects.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub fn objects(&self) -> FactResult<&Objects> {
        self.objects.get_or_init(|| Objects::open(&self.common_dir.join("objects"))).as_ref().map_err(|_| UnknownFact)
    }

    /// Returns the tree of HEAD; `None` before the first commit.
    ///
    /// # Errors
    ///
    /// HEAD or its commit cannot be read.
    pub fn head_tree(&self) -> FactResult<Option<ObjectId>> {
        *self.head_tree.get_or_init(|| match self.refs.resolve("HEAD")? {
            None => Ok(None),
            Some(id) => Ok(Some(self.objects()?.commit(id)?.ok_or(UnknownFact)?.tree)),
        })
    }

    /// Returns the index; an empty one if there is no file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is too large.
    pub fn index(&self) -> FactResult<&gix::index::State> {
        self.index.get_or_init(|| read_index(&self.git_dir)).as_ref().map_err(|_| UnknownFact)
    }
}

fn read_index(git_dir: &Path) -> FactResult<gix::index::State> {
    let path = git_dir.join("index");
    match path.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_INDEX => {}
        Err(error) if paths::is_absent(&error) => return Ok(gix::index::State::new(gix::hash::Kind::Sha1)),
        _ => return Err(UnknownFact),
    }
    // A split index names a second file beside it, which must be a regular file, so that reading it cannot block.
    for entry in git_dir.read_dir()? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b"sharedindex.") {
            let metadata = entry.metadata()?;
            if !metadata.is_file() || metadata.len() > MAX_INDEX {
                return Err(UnknownFact);
            }
        }
    }
    let options = gix::index::decode::Options {
        thread_limit: Some(1),
        alloc_limit_bytes: Some(4 * MAX_INDEX as usize),
        ..Default::default()
    };
    let index = gix::index::File::at(path, gix::hash::Kind::Sha1, true, options).map_err(|_| UnknownFact)?;
    Ok(index.into())
}

/// Extensions that do not change the layout of the parts that are read here.
const HARMLESS_EXTENSIONS: &[&str] =
    &["noop", "preciousobjects", "partialclone", "worktreeconfig", "relativeworktrees", "compatobjectformat"];

fn is_known_format(config: &Config) -> FactResult<()> {
    let version = config.get("core", "repositoryformatversion").and_then(|setting| setting.value.as_deref());
    if !matches!(version.unwrap_or("0"), "0" | "1") {
        return Err(UnknownFact);
    }
    for extension in config.section("extensions") {
        let value = extension.value.as_deref().unwrap_or_default();
        let known = match extension.key.as_str() {
            "objectformat" => value.eq_ignore_ascii_case("sha1"),
            "refstorage" => value.eq_ignore_ascii_case("files"),
            // git ignores other extensions unless the format version allows extensions.
            key => version != Some("1") || HARMLESS_EXTENSIONS.contains(&key),
        };
        if !known {
            return Err(UnknownFact);
        }
    }
    Ok(())
}

/// Returns the root of the work tree by git's rules: for a linked work tree the directory of its `.git` file, else the
/// configured directory, else the directory that contains `.git`.
fn root(place: &RepositoryPaths, git_dir: &Path, linked: bool, config: &Config) -> FactResult<Option<PathBuf>> {
    if linked {
        return Ok(place.top.clone());
    }
    if let Some(setting) = config.get("core", "worktree") {
        let value = setting.value.as_deref().ok_or(UnknownFact)?;
        return paths::resolve(&git_dir.join(value)).map(|resolved| Some(resolved.canonical));
    }
    if config.get("core", "bare").map_or(Ok(false), super::config::Setting::truth)? {
        return Ok(None);
    }
    let beside = git_dir.parent().filter(|_| git_dir.file_name().is_some_and(|name| name == ".git"));
    Ok(place.top.clone().or_else(|| beside.map(Path::to_owned)))
}
