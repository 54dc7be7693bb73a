//! Resolves references in the storage of plain files.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use gix::ObjectId;

use crate::world::paths::{self, Content};
use crate::world::{FactResult, UnknownFact};

/// Maximum length of the file of one reference.
const MAX_LOOSE: usize = 8 * 1024;

/// Maximum length of the list of packed references.
const MAX_PACKED: usize = 64 * 1024 * 1024;

/// Maximum length of a chain of symbolic references, as in git.
const MAX_SYMBOLIC: usize = 5;

/// Maximum number of references that are listed.
const MAX_REFS: usize = 10_000;

/// The directories of the references that keep commits.
const SHARED: [&str; 3] = ["refs/heads", "refs/remotes", "refs/tags"];

/// The references of one repository.
#[derive(Debug)]
pub struct Refs {
    git_dir: PathBuf,
    common_dir: PathBuf,
    packed: OnceCell<FactResult<Vec<u8>>>,
}

/// The content of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The name of another reference.
    Symbolic(String),
    Object(ObjectId),
}

impl Refs {
    /// Creates the references of a work tree with its own data in `git_dir` and shared data in `common_dir`.
    #[must_use]
    pub fn new(git_dir: PathBuf, common_dir: PathBuf) -> Self {
        Self { git_dir, common_dir, packed: OnceCell::new() }
    }

    /// Reads the reference `name` without following it. `None` if there is no such reference.
    ///
    /// # Errors
    ///
    /// The name is not the name of a reference, or its content is invalid.
    pub fn read(&self, name: &str) -> FactResult<Option<Target>> {
        if !is_name(name) {
            return Err(UnknownFact);
        }
        let own = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];
        let of_work_tree = !name.starts_with("refs/") || own.iter().any(|prefix| name.starts_with(prefix));
        let file = if of_work_tree { self.git_dir.join(name) } else { self.common_dir.join(name) };
        match paths::read(&file, MAX_LOOSE) {
            Content::Bytes(bytes) => parse(&bytes).map(Some),
            Content::TooLarge => Err(UnknownFact),
            // A directory of that name remains when longer names were packed.
            Content::Unreadable if !file.is_dir() => Err(UnknownFact),
            Content::Missing | Content::Unreadable => Ok(self.packed(name)?.map(Target::Object)),
        }
    }

    /// Returns the object to which `name` leads. `None` if there is no such reference, or it leads to none.
    ///
    /// # Errors
    ///
    /// As for [`Refs::read`]; or symbolic references form a cycle.
    pub fn resolve(&self, name: &str) -> FactResult<Option<ObjectId>> {
        let mut name = name.to_owned();
        for _ in 0..=MAX_SYMBOLIC {
            match self.read(&name)? {
                None => return Ok(None),
                Some(Target::Object(id)) => return Ok(Some(id)),
                Some(Target::Symbolic(next)) => name = next,
            }
        }
        Err(UnknownFact)
    }

    /// Returns all branches, remote-tracking branches and tags that are not symbolic, with their objects.
    ///
    /// # Errors
    ///
    /// One of them cannot be read, or there are too many.
    pub fn all(&self) -> FactResult<Vec<(String, ObjectId)>> {
        let mut found = Vec::new();
        let mut open: Vec<String> = SHARED.iter().map(|below| (*below).to_owned()).collect();
        while let Some(directory) = open.pop() {
            let entries = match fs::read_dir(self.common_dir.join(&directory)) {
                Ok(entries) => entries,
                Err(error) if paths::is_absent(&error) => continue,
                Err(error) => return Err(error.into()),
            };
            for entry in entries {
                let entry = entry?;
                let name = format!("{directory}/{}", entry.file_name().to_str().ok_or(UnknownFact)?);
                if found.len() + open.len() >= MAX_REFS {
                    return Err(UnknownFact);
                }
                if entry.file_type()?.is_dir() {
                    open.push(name);
                } else if let Ok(Some(Target::Object(id))) = self.read(&name) {
                    found.push((name, id));
                }
            }
        }
        let loose: HashSet<String> = found.iter().map(|(name, _)| name.clone()).collect();
        for line in self.packed_lines()?.split(|byte| *byte == b'\n') {
            let Some((hex, name)) = line.split_at_checked(40) else { continue };
            let Some(name) = name.strip_prefix(b" ").and_then(|name| std::str::from_utf8(name).ok()) else { continue };
            let is_shared =
                SHARED.iter().any(|below| name.strip_prefix(below).is_some_and(|rest| rest.starts_with('/')));
            if is_shared && !loose.contains(name) {
                found.push((name.to_owned(), ObjectId::from_hex(hex).map_err(|_| UnknownFact)?));
            }
        }
        if found.len() > MAX_REFS { Err(UnknownFact) } else { Ok(found) }
    }

    /// Returns the list of packed references.
    fn packed_lines(&self) -> FactResult<&[u8]> {
        let packed = self.packed.get_or_init(|| match paths::read(&self.common_dir.join("packed-refs"), MAX_PACKED) {
            Content::Missing => Ok(Vec::new()),
            Content::Bytes(bytes) => Ok(bytes),
            Content::TooLarge | Content::Unreadable => Err(UnknownFact),
        });
        packed.as_deref().map_err(|_| UnknownFact)
    }

    fn packed(&self, name: &str) -> FactResult<Option<ObjectId>> {
        for line in self.packed_lines()?.split(|byte| *byte == b'\n') {
            if let Some(hex) = line.strip_suffix(name.as_bytes()).and_then(|rest| rest.strip_suffix(b" ")) {
                return ObjectId::from_hex(hex).map(Some).map_err(|_| UnknownFact);
            }
        }
        Ok(None)
    }
}

/// Reports whether a name is inside the storage: `HEAD` and similar names, or one below `refs/` without `..`.
fn is_name(name: &str) -> bool {
    let top = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let below = name.starts_with("refs/")
        && name.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !name.contains(['\0', '\n', ' ']);
    top || below
}

fn parse(bytes: &[u8]) -> FactResult<Target> {
    let text = std::str::from_utf8(bytes).map_err(|_| UnknownFact)?.trim_end();
    match text.strip_prefix("ref:") {
        Some(name) => Ok(Target::Symbolic(name.trim_start().to_owned())),
        None => ObjectId::from_hex(text.as_bytes()).map(Target::Object).map_err(|_| UnknownFact),
    }
}
