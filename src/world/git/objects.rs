//! Reads commits and trees from a repository's database, loose or packed.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::hash::Kind;
use gix::objs::tree::EntryMode;
use gix::objs::{Exists, Find, FindHeader};

use crate::world::paths::{self, Content};
use crate::world::{FactResult, UnknownFact};

/// Maximum size of an object that is unpacked, in bytes.
const MAX_OBJECT: u64 = 32 * 1024 * 1024;

/// Maximum length of a chain of tags.
const MAX_TAGS: usize = 10;

/// Maximum number of databases that are connected by alternates.
const MAX_ALTERNATES: usize = 16;

/// Maximum number of files in the directory of packs.
const MAX_PACK_FILES: usize = 10_000;

/// The objects of one repository and of its alternates.
pub struct Objects {
    handle: gix::odb::Handle,
    /// The directories that are searched for loose objects.
    directories: Vec<PathBuf>,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Objects").field("directories", &self.directories).finish_non_exhaustive()
    }
}

/// The required parts of a commit.
#[derive(Clone, Debug)]
pub struct Commit {
    pub tree: ObjectId,
    pub parents: Vec<ObjectId>,
    /// The time of the commit, in seconds since 1970.
    pub seconds: i64,
}

/// The entries of one tree, by name.
pub type Entries = HashMap<OsString, (EntryMode, ObjectId)>;

impl Objects {
    /// Opens the database in `directory`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or the directory of packs contains something other than regular files.
    pub fn open(directory: &Path) -> FactResult<Self> {
        let mut directories = vec![directory.to_owned()];
        let mut next = 0;
        while let Some(directory) = directories.get(next) {
            let borrowed = alternates(directory)?;
            only_regular_files(&directory.join("pack"))?;
            directories
                .extend(borrowed.into_iter().filter(|directory| !directories.contains(directory)).collect::<Vec<_>>());
            if directories.len() > MAX_ALTERNATES {
                return Err(UnknownFact);
            }
            next += 1;
        }
        let options = gix::odb::store::init::Options {
            alloc_limit_bytes: Some(2 * MAX_OBJECT as usize),
            current_dir: Some(PathBuf::from("/")),
            ..Default::default()
        };
        let handle = gix::odb::at_opts(directory, Kind::Sha1, None, options)?;
        Ok(Self { handle, directories })
    }

    /// Reports whether an object is in the database.
    pub fn has(&self, id: ObjectId) -> FactResult<bool> {
        self.only_regular(id)?;
        Ok(self.handle.exists(&id))
    }

    /// Returns a commit; `None` if it is not in the database (at the end of a shallow clone).
    pub fn commit(&self, id: ObjectId) -> FactResult<Option<Commit>> {
        let mut buffer = Vec::new();
        let Some(data) = self.find(id, gix::objs::Kind::Commit, &mut buffer)? else { return Ok(None) };
        let commit = gix::objs::CommitRef::from_bytes(data, Kind::Sha1).map_err(|_| UnknownFact)?;
        let seconds = commit.time().map_err(|_| UnknownFact)?.seconds;
        Ok(Some(Commit { tree: commit.tree(), parents: commit.parents().collect(), seconds }))
    }

    /// Returns all entries of one tree.
    pub fn tree(&self, id: ObjectId) -> FactResult<Entries> {
        let mut buffer = Vec::new();
        let data = self.find(id, gix::objs::Kind::Tree, &mut buffer)?.ok_or(UnknownFact)?;
        let entries = gix::objs::TreeRefIter::from_bytes(data, Kind::Sha1);
        entries
            .map(|entry| {
                let entry = entry.map_err(|_| UnknownFact)?;
                Ok((OsStr::from_bytes(entry.filename).to_owned(), (entry.mode, entry.oid.to_owned())))
            })
            .collect()
    }

    /// Returns the commit that an object is, or to which a tag leads. `None` if it is neither.
    pub fn peel(&self, id: ObjectId) -> FactResult<Option<ObjectId>> {
        let mut id = id;
        for _ in 0..MAX_TAGS {
            self.only_regular(id)?;
            match self.handle.try_header(&id).map_err(|_| UnknownFact)?.map(|header| header.kind) {
                Some(gix::objs::Kind::Commit) => return Ok(Some(id)),
                Some(gix::objs::Kind::Tag) => {
                    let mut buffer = Vec::new();
                    let data = self.find(id, gix::objs::Kind::Tag, &mut buffer)?.ok_or(UnknownFact)?;
                    id = gix::objs::TagRef::from_bytes(data, Kind::Sha1).map_err(|_| UnknownFact)?.target();
                }
                _ => return Ok(None),
            }
        }
        Err(UnknownFact)
    }

    /// Returns the entry at a path below a tree; `None` if there is none.
    pub fn entry(&self, tree: ObjectId, path: &Path) -> FactResult<Option<(EntryMode, ObjectId)>> {
        let mut found: Option<(EntryMode, ObjectId)> = None;
        let mut buffer = Vec::new();
        for name in path {
            let tree = match found {
                None => tree,
                Some((mode, id)) if mode.is_tree() => id,
                Some(_) => return Ok(None),
            };
            let data = self.find(tree, gix::objs::Kind::Tree, &mut buffer)?.ok_or(UnknownFact)?;
            found = entry(data, name)?;
            if found.is_none() {
                return Ok(None);
            }
        }
        Ok(found)
    }

    fn find<'a>(&self, id: ObjectId, kind: gix::objs::Kind, buffer: &'a mut Vec<u8>) -> FactResult<Option<&'a [u8]>> {
        self.only_regular(id)?;
        let header = match self.handle.try_header(&id) {
            Ok(Some(header)) => header,
            Ok(None) => return Ok(None),
            Err(_) => return Err(UnknownFact),
        };
        if header.kind != kind || header.size > MAX_OBJECT {
            return Err(UnknownFact);
        }
        match self.handle.try_find(&id, buffer) {
            Ok(Some(data)) if data.kind == kind => Ok(Some(data.data)),
            _ => Err(UnknownFact),
        }
    }

    /// Fails if the loose file of an object is not a regular file, because reading it could block.
    fn only_regular(&self, id: ObjectId) -> FactResult<()> {
        let hex = id.to_string();
        let (first, rest) = hex.split_at(2);
        for directory in &self.directories {
            match directory.join(first).join(rest).metadata() {
                Ok(metadata) if !metadata.is_file() => return Err(UnknownFact),
                Ok(_) => return Ok(()),
                Err(error) if paths::is_absent(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn entry(tree: &[u8], name: &OsStr) -> FactResult<Option<(EntryMode, ObjectId)>> {
    for entry in gix::objs::TreeRefIter::from_bytes(tree, Kind::Sha1) {
        let entry = entry.map_err(|_| UnknownFact)?;
        if entry.filename == name.as_bytes() {
            return Ok(Some((entry.mode, entry.oid.to_owned())));
        }
    }
    Ok(None)
}

/// Returns the alternates of the database in `directory`.
fn alternates(directory: &Path) -> FactResult<Vec<PathBuf>> {
    let bytes = match paths::read(&directory.join("info/alternates"), 64 * 1024) {
        Content::Missing => return Ok(Vec::new()),
        Content::Bytes(bytes) => bytes,
        Content::TooLarge | Content::Unreadable => return Err(UnknownFact),
    };
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    lines
        .map(
            |line| if line.starts_with(b"\"") { Err(UnknownFact) } else { Ok(directory.join(OsStr::from_bytes(line))) },
        )
        .collect()
}

fn only_regular_files(directory: &Path) -> FactResult<()> {
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) if paths::is_absent(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for (count, entry) in entries.enumerate() {
        let entry = entry?;
        let kind = entry.file_type()?;
        let regular = kind.is_file() || kind.is_dir() || entry.path().metadata()?.is_file();
        if !regular || count > MAX_PACK_FILES {
            return Err(UnknownFact);
        }
    }
    Ok(())
}
