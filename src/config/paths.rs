//! Finds and reads configuration files safely: a missing file costs one `open`, a pipe or a device never blocks, and
//! files that others can write are detected.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::errors::ConfigProblem;
use super::layer::Layer;
use crate::judge::invocation::Environment;
use crate::judge::sort;

/// The directory of the machine. It is not configurable, because a process that sets a variable must not select it.
pub const MACHINE: &str = "/etc/guard";
/// The file of a project.
pub const PROJECT_FILE: &str = ".guard.toml";
/// The directory of a project's patterns.
pub const PROJECT_PATTERNS: &str = ".guard/patterns";

/// Maximum size of a configuration file, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum number of pattern files in a directory.
const MAX_PATTERN_FILES: usize = 1000;

/// The directories from which configuration is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// The directory of the machine's layer, `/etc/guard`.
    pub machine: PathBuf,
    /// The account that must own it: root.
    pub machine_owner: u32,
    /// The home directory in the account database.
    pub home: Option<PathBuf>,
    /// The directory that `XDG_CONFIG_HOME` or `HOME` names.
    pub named: Option<PathBuf>,
    /// The value of `~` in a file there: `HOME`.
    pub named_home: Option<PathBuf>,
    /// The directory in which the search for a project begins.
    pub cwd: PathBuf,
    /// The account that runs guard.
    pub uid: u32,
}

impl Roots {
    /// Returns the directories of a process. `home` is from the account database and not from the environment; under
    /// sudo only it is used.
    #[must_use]
    pub fn of(environment: &Environment, home: Option<&Path>, uid: u32, cwd: &Path) -> Self {
        let under_sudo = uid == 0 && environment.get("SUDO_UID").is_some();
        let directory = |name: &str| {
            let value = environment.variables.get(std::ffi::OsStr::new(name))?;
            // The XDG specification requires that a relative path is ignored; guard treats HOME alike.
            Some(PathBuf::from(value)).filter(|path| path.is_absolute())
        };
        let named = directory("XDG_CONFIG_HOME").or_else(|| directory("HOME").map(|home| home.join(".config")));
        Self {
            machine: PathBuf::from(MACHINE),
            machine_owner: 0,
            home: home.map(Path::to_owned),
            named: named.filter(|_| !under_sudo).map(|directory| directory.join("guard")),
            named_home: directory("HOME").filter(|_| !under_sudo),
            cwd: cwd.to_owned(),
            uid,
        }
    }

    /// Returns the account's own directory, `~/.config/guard`.
    #[must_use]
    pub fn account(&self) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(".config/guard"))
    }

    /// Returns the directories of the project, the outermost first: from the git top level to the working directory.
    /// Without a repository, those below the home directory, or only the working directory elsewhere. Never a home
    /// directory or `/`.
    #[must_use]
    pub fn project(&self) -> Vec<PathBuf> {
        let is_outer_end = |path: &Path| path.parent().is_none() || self.home.as_deref() == Some(path);
        let mut directories = Vec::new();
        let mut in_home = false;
        for directory in self.cwd.ancestors() {
            if is_outer_end(directory) {
                in_home = directory.parent().is_some();
                break;
            }
            directories.push(directory.to_owned());
            if fs::symlink_metadata(directory.join(".git")).is_ok() {
                in_home = true;
                break;
            }
        }
        if !in_home {
            directories.truncate(1);
        }
        directories.reverse();
        directories
    }
}

/// The files of a layer.
#[derive(Clone, Debug, Default)]
pub(super) struct LayerContents {
    /// The path and the text of the configuration file.
    pub config: Option<(PathBuf, String)>,
    /// The pattern files in the order of their names.
    pub patterns: Vec<PathBuf>,
}

impl LayerContents {
    /// Reports whether there is a file.
    pub const fn is_some(&self) -> bool {
        self.config.is_some() || !self.patterns.is_empty()
    }
}

/// Reads the files of a layer.
pub(super) struct Finder<'a> {
    pub layer: Layer,
    pub roots: &'a Roots,
    pub problems: Vec<ConfigProblem>,
    pub warnings: Vec<ConfigProblem>,
}

impl<'a> Finder<'a> {
    pub const fn new(layer: Layer, roots: &'a Roots) -> Self {
        Self { layer, roots, problems: Vec::new(), warnings: Vec::new() }
    }

    /// Reads the configuration file and the directory of patterns of a layer.
    pub fn find(&mut self, file: &Path, patterns: &Path) -> LayerContents {
        let config = match self.read(file) {
            Ok(text) => text.map(|text| (file.to_owned(), text)),
            Err(problem) => {
                self.problems.push(*problem);
                None
            }
        };
        LayerContents { config, patterns: self.list(patterns) }
    }

    /// Returns the text of a file; `None` if it does not exist.
    pub fn read(&mut self, path: &Path) -> Result<Option<String>, Box<ConfigProblem>> {
        let cannot = |what: &str, error: &io::Error| {
            let problem = ConfigProblem::of_file(self.layer, path, format!("cannot be {what}: {}", plain(error)));
            Box::new(problem.with_remedy("make it readable, or remove it"))
        };
        // Non-blocking: a pipe instead of a file must not block guard.
        let file = match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path) {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(cannot("opened", &error)),
        };
        let about = file.metadata().map_err(|error| cannot("read", &error))?;
        if !about.is_file() {
            return Err(Box::new(ConfigProblem::of_file(self.layer, path, "is not a regular file")));
        }
        if about.len() > MAX_BYTES {
            let message = format!("has {} bytes; a configuration has at most {MAX_BYTES}", about.len());
            return Err(Box::new(ConfigProblem::of_file(self.layer, path, message)));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0) + 1);
        // The file may have grown.
        (&file).take(MAX_BYTES).read_to_end(&mut bytes).map_err(|error| cannot("read", &error))?;
        self.check_owner(path, &about)?;
        if self.layer == Layer::Machine {
            self.check_directory(path)?;
        }
        String::from_utf8(bytes).map(Some).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(valid).filter(|byte| **byte == b'\n').count() + 1;
            Box::new(ConfigProblem {
                line: u32::try_from(line).ok(),
                ..ConfigProblem::of_file(self.layer, path, "is not UTF-8")
            })
        })
    }

    /// Returns the `*.toml` files of a directory, sorted by name; none if it does not exist.
    pub fn list(&mut self, directory: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return files,
            Err(error) => {
                self.report(directory, format!("cannot be opened: {}", plain(&error)));
                return files;
            }
        };
        for entry in entries {
            let name = match entry {
                Ok(entry) => entry.file_name(),
                Err(error) => {
                    self.report(directory, format!("cannot be listed: {}", plain(&error)));
                    return files;
                }
            };
            let bytes = name.as_bytes();
            if bytes.ends_with(b".toml") && !bytes.starts_with(b".") {
                files.push(directory.join(name));
            }
        }
        if files.len() > MAX_PATTERN_FILES {
            self.report(
                directory,
                format!("holds {} pattern files; at most {MAX_PATTERN_FILES} are read", files.len()),
            );
            files.clear();
        }
        sort::sort(&mut files);
        if self.layer == Layer::Machine {
            files.retain(|path| self.is_trusted(path));
        } else if self.layer != Layer::Project {
            for path in &files {
                if let Ok(about) = fs::metadata(path) {
                    self.warn_of_owner(path, &about);
                }
            }
        }
        files
    }

    /// Reports whether a pattern file of the machine may be used; otherwise a problem is added.
    fn is_trusted(&mut self, path: &Path) -> bool {
        let checked = match fs::metadata(path) {
            Ok(about) => self.check_owner(path, &about).and_then(|()| self.check_directory(path)),
            Err(error) => {
                self.report(path, format!("cannot be read: {}", plain(&error)));
                return false;
            }
        };
        checked.map_err(|problem| self.problems.push(*problem)).is_ok()
    }

    /// Checks the permissions of a file: for the machine, a file that others can write is an error; for a user it is a
    /// warning.
    fn check_owner(&mut self, path: &Path, about: &fs::Metadata) -> Result<(), Box<ConfigProblem>> {
        if self.layer != Layer::Machine {
            self.warn_of_owner(path, about);
            return Ok(());
        }
        let problem = |message: String| ConfigProblem::of_file(self.layer, path, message);
        let path_name = path.display();
        if about.uid() != self.roots.machine_owner {
            let problem = problem(format!("is owned by uid {}, not by root", about.uid()));
            return Err(Box::new(problem.with_remedy(format!("chown root {path_name}"))));
        }
        if about.mode() & 0o022 != 0 {
            let problem = problem(format!("is writable by others (mode {:o})", about.mode() & 0o7777));
            return Err(Box::new(problem.with_remedy(format!("chmod go-w {path_name}"))));
        }
        Ok(())
    }

    /// Checks the permissions of a directory, in which a file could be replaced.
    fn check_directory(&mut self, path: &Path) -> Result<(), Box<ConfigProblem>> {
        let Some(directory) = path.parent() else { return Ok(()) };
        match fs::metadata(directory) {
            Ok(about) => self.check_owner(directory, &about),
            Err(error) => {
                let message = format!("cannot be read: {}", plain(&error));
                Err(Box::new(ConfigProblem::of_file(self.layer, directory, message)))
            }
        }
    }

    fn warn_of_owner(&mut self, path: &Path, about: &fs::Metadata) {
        if !matches!(self.layer, Layer::User | Layer::Redirected) {
            return;
        }
        let warning = if about.uid() != self.roots.uid && about.uid() != 0 {
            let warning = ConfigProblem::of_file(self.layer, path, format!("is owned by uid {}", about.uid()));
            warning.with_remedy("its owner could change the policy")
        } else if about.mode() & 0o002 != 0 {
            let warning = ConfigProblem::of_file(self.layer, path, "is writable by everyone");
            warning.with_remedy(format!("chmod o-w {}", path.display()))
        } else {
            return;
        };
        self.warnings.push(warning);
    }

    fn report(&mut self, path: &Path, message: String) {
        self.problems.push(ConfigProblem::of_file(self.layer, path, message));
    }
}

/// Reports whether an error means that the file does not exist, or a parent is not a directory.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the message of an error without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Reports whether two paths are the same existing directory.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}
