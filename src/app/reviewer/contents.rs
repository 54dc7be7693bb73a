//! Contents of files for the reviewer: only of files that the command names and the policy lets it see.
//!
//! A file is opened component by component below the working directory, without following links. A file in a secret
//! place or with a second hard link is not read. Out of scope: which files a command names.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use serde::Serialize;

use crate::app::engine::Engine;
use crate::config::Reviewer;
use crate::judge::Judgment;
use crate::judge::analysis::act::{Input, Source, Value};
use crate::judge::analysis::inquiry::{Answers, Inquiry};
use crate::judge::analysis::paths::{NormalPath, PathClass, Placer};
use crate::judge::analysis::place::Place;
use crate::judge::invocation::Invocation;
use crate::judge::rules::glob;
use crate::store::redact;

/// The largest number of files that the reviewer gets.
const MOST: usize = 8;

/// Classes of paths that are never read, whatever the policy. An unknown path may be in one of them.
const NEVER: &[PathClass] =
    &[PathClass::Secret, PathClass::Guard, PathClass::Device, PathClass::Kernel, PathClass::Dynamic];

/// A file that the policy lets the reviewer see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    /// The path, relative to the working directory.
    pub path: String,
    /// The redacted content. Empty if it is withheld.
    pub text: String,
    /// Whether part of it was redacted.
    pub redacted: bool,
    /// The reason why the content is withheld.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
}

/// Returns the contents of the files that a command names, as far as the policy permits.
pub fn of(engine: &Engine, reviewer: &Reviewer, invocation: &Invocation, judgment: &Judgment) -> Vec<Content> {
    if reviewer.contents.is_empty() {
        return Vec::new();
    }
    let (answers, placer) = (Answers::none(), Placer::new(invocation));
    let inquiry = Inquiry::new(&answers);
    let Ok(real) = invocation.cwd.canonicalize() else { return Vec::new() };
    let (cwd, real) = (placer.cwd().to_owned(), real.to_string_lossy().into_owned());
    let is_kept = |path: &str| match NormalPath::absolute(path) {
        Some(place) => placer.of(&place, &engine.catalog, &inquiry).has_any(NEVER),
        None => true,
    };
    let mut left = u64::from(reviewer.contents_kib) << 10;
    let mut found = Vec::new();
    for path in named(&placer, judgment) {
        let Some(below) = path.strip_prefix(&cwd).and_then(|rest| rest.strip_prefix('/')) else { continue };
        if found.len() == MOST || !reviewer.contents.iter().any(|pattern| glob::path(pattern, below)) {
            continue;
        }
        let text = if is_kept(&path) || is_kept(&format!("{real}/{below}")) {
            Err("it is in a directory of secrets".to_owned())
        } else {
            match read(&invocation.cwd, below, left) {
                // The file will be created later, or the word is not a file name.
                Err(UnreadReason::Missing) => continue,
                Err(UnreadReason::Withheld(why)) => Err(why),
                Ok(text) => Ok(text),
            }
        };
        let (path, _) = redact(below);
        found.push(match text {
            Ok(text) => {
                left = left.saturating_sub(text.len() as u64);
                let (text, redacted) = redact(&text);
                Content { path, text, redacted, withheld: None }
            }
            Err(why) => Content { path, text: String::new(), redacted: false, withheld: Some(why) },
        });
    }
    found
}

/// Returns the absolute paths of the files that a command names.
fn named(placer: &Placer, judgment: &Judgment) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut add = |value: &Value, cwd: Option<&Place>| {
        paths.extend(placer.path(value, cwd).and_then(|path| path.exact()));
        // `-d @file`, `-F name=@file`
        let leading = value.leading();
        if let Some(mark) = leading.find('@').filter(|mark| *mark == 0 || leading[..*mark].ends_with('=')) {
            paths.extend(placer.path(&value.without_leading(mark + 1), cwd).and_then(|path| path.exact()));
        }
    };
    for act in &judgment.facts.acts {
        let cwd = act.cwd.as_ref();
        let values = act.operands.iter().map(|operand| &operand.value);
        for value in
            values.chain(&act.targets).chain(&act.args).chain(act.flags.iter().filter_map(|flag| flag.value.as_ref()))
        {
            add(value, cwd);
        }
        if let Input::File(operand) = &act.input {
            add(&operand.value, cwd);
        }
        if let Source::Script(path) = &act.source {
            add(&Value::text(path), cwd);
        }
    }
    for path in judgment.facts.scripts.keys() {
        add(&Value::text(path), None);
    }
    paths
}

/// The reason why a file is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum UnreadReason {
    Missing,
    Withheld(String),
}

impl From<String> for UnreadReason {
    fn from(why: String) -> Self {
        Self::Withheld(why)
    }
}

/// Reads a regular file of at most this size.
fn read(directory: &Path, below: &str, most: u64) -> Result<String, UnreadReason> {
    let withheld = |why: &str| Err(UnreadReason::Withheld(why.to_owned()));
    let told = |error: nix::Error| match error {
        nix::Error::ENOENT => UnreadReason::Missing,
        nix::Error::ELOOP | nix::Error::ENOTDIR => {
            UnreadReason::Withheld("its path contains a symbolic link".to_owned())
        }
        error => UnreadReason::Withheld(format!("cannot read it: {}", error.desc())),
    };
    let directories = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut at = nix::fcntl::open(directory, directories, Mode::empty()).map_err(told)?;
    let mut steps = below.split('/').peekable();
    while let Some(step) = steps.next() {
        if matches!(step, "" | "." | "..") {
            return withheld("its path is not plain");
        }
        // Opening a pipe could block.
        let last = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let how = if steps.peek().is_some() { directories } else { last };
        at = openat(&at, step, how | OFlag::O_NOFOLLOW, Mode::empty()).map_err(told)?;
    }
    let file = File::from(at);
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return withheld("it is not a regular file");
    }
    if about.nlink() > 1 {
        return withheld("it has several hard links");
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return withheld(&format!("it is longer than the remaining {most} bytes"));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => withheld("it is not text"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_read_below_the_directory_and_over_no_link() {
        let directory = tempfile::tempdir().unwrap();
        let (work, outside) = (directory.path().join("work"), directory.path().join("outside"));
        fs::create_dir_all(work.join("a")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(work.join("a/b"), "inside").unwrap();
        fs::write(outside.join("b"), "outside").unwrap();
        symlink(&outside, work.join("linked")).unwrap();
        symlink(outside.join("b"), work.join("link")).unwrap();
        symlink(work.join("a/b"), work.join("near")).unwrap();
        fs::hard_link(outside.join("b"), work.join("twin")).unwrap();
        fs::write(work.join("bytes"), [0xff, 0xfe]).unwrap();
        fs::write(work.join("nul"), "a\0b").unwrap();
        nix::unistd::mkfifo(&work.join("pipe"), Mode::S_IRWXU).unwrap();
        assert_eq!(read(&work, "a/b", 6), Ok("inside".to_owned()));
        let unread = |below: &str, most| match read(&work, below, most).unwrap_err() {
            UnreadReason::Withheld(why) => why,
            UnreadReason::Missing => "missing".to_owned(),
        };
        let why = |below: &str| unread(below, 100);
        for link in ["linked/b", "link", "near"] {
            assert_eq!(why(link), "its path contains a symbolic link", "{link}");
        }
        assert!(why("twin").contains("several hard links"));
        assert!(why("a").contains("not a regular file") && why("pipe").contains("not a regular file"));
        assert!(why("bytes").contains("not text") && why("nul").contains("not text"));
        assert_eq!((why("none"), why("a/none")), ("missing".to_owned(), "missing".to_owned()));
        assert!(unread("a/b", 5).contains("longer than the remaining 5 bytes"));
        for below in ["../outside/b", "a/../a/b", "/a/b", "a//b", ""] {
            assert!(why(below).contains("not plain"), "{below}");
        }
    }
}
