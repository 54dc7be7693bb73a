//! A directory of links to guard named after shells, for agents that search for `bash` and other shells.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::change::shell_word;
use crate::app::exit;
use crate::judge::agents;
use crate::judge::agents::model::{Agent, PluginFile};
use crate::judge::syntax::tree::Dialect;
use crate::world::identity::Caller;
use crate::world::shell;

/// The shells that guard can replace.
const SHELLS: [(&str, Dialect); 3] = [("bash", Dialect::Bash), ("sh", Dialect::Sh), ("zsh", Dialect::Zsh)];

/// The value of an entry point that needs the directory of the links first in `PATH`.
const BEFORE_PATH: &str = "DIR:$PATH";

/// The directory of scripts below that of the links, for agents that run a command without a shell if their shell is
/// missing. A script remains when guard is removed, and then it runs nothing.
const SCRIPTS: &str = "script";

/// The reason why the links were not created or not removed.
#[derive(Debug, thiserror::Error)]
pub enum ShimsError {
    #[error("{}: already exists and is not a link of guard; choose another directory with --dir", .0.display())]
    Exists(PathBuf),
    #[error("cannot create {}: {error}", path.display())]
    Create { path: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot remove {}: {error}", path.display())]
    Remove { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Print(#[from] io::Error),
}

/// Returns the directory of the links, which is below that of the record.
#[must_use]
pub fn directory(data: &Path) -> PathBuf {
    data.join("shims")
}

/// Removes a file.
fn remove(path: &Path) -> Result<(), ShimsError> {
    fs::remove_file(path).map_err(|error| ShimsError::Remove { path: path.to_owned(), error })
}

/// The links in one directory.
#[derive(Debug)]
pub struct Shims<'a> {
    pub caller: &'a Caller,
    pub directory: &'a Path,
    pub guard: &'a Path,
}

/// Describes what does not go through an agent's entry point.
#[must_use]
pub fn note(agent: &Agent) -> Option<String> {
    (!agent.shell.note.is_empty()).then(|| format!("{}: {}", agent.title, agent.shell.note))
}

/// Returns the plugins that make agents start guard instead of their shell.
fn loaded() -> impl Iterator<Item = &'static PluginFile> {
    agents::all().flat_map(|agent| &agent.shell.files)
}

/// The beginning of a script that starts a link.
const HEAD: &str = "#!/bin/sh\n# Starts guard instead of this shell; if guard is missing, nothing runs.\n";

/// Returns the link that a script of guard starts, or `None` if the file is not such a script.
#[must_use]
pub fn started_by(script: &Path) -> Option<PathBuf> {
    let name = script.file_name()?;
    let text = fs::read_to_string(script).ok()?;
    let link = script.parent()?.parent()?.join(name);
    let word = shell_word(&link.display().to_string());
    (text == format!("{HEAD}exec {word} \"$@\"\n")).then_some(link)
}

/// The changes of the links.
#[derive(Debug)]
pub struct ShimChanges {
    /// The shells that they replace.
    pub names: Vec<&'static str>,
    /// The changes, one line each.
    pub changed: Vec<String>,
}

impl Shims<'_> {
    /// Creates or removes the links, and prints the settings for each entry point.
    ///
    /// # Errors
    /// A path of a link is in use, or the directory cannot be written.
    pub fn run(&self, uninstall: bool, dry_run: bool) -> Result<u8, ShimsError> {
        let mut out = io::stdout().lock();
        let mut say = |line: &str| writeln!(out, "{line}");
        if uninstall {
            let links = self.links();
            if links.is_empty() {
                say(&format!("{}: no links of guard", self.directory.display()))?;
                return Ok(exit::ALLOW);
            }
            if !dry_run {
                self.remove(&links)?;
            }
            for link in links {
                say(&format!("{} {}", if dry_run { "would remove" } else { "removed" }, link.display()))?;
            }
            say(&self.lines_stay())?;
            return Ok(exit::ALLOW);
        }
        let made = self.make(dry_run)?;
        for line in if dry_run { made.changed } else { self.entry_points(&made.names) } {
            say(&line)?;
        }
        Ok(exit::ALLOW)
    }

    /// Returns the existing links to guard.
    #[must_use]
    pub fn links(&self) -> Vec<PathBuf> {
        SHELLS.iter().map(|(name, _)| self.directory.join(name)).filter(|link| self.is_ours(link)).collect()
    }

    /// Describes what a person must do after the links are removed.
    #[must_use]
    pub fn lines_stay(&self) -> String {
        format!(
            "Remove the lines with {} from your shell's startup file and from the agents' settings.",
            self.directory.display()
        )
    }

    /// Removes these links, the scripts beside them, and the directories that this leaves empty.
    ///
    /// # Errors
    /// A link or a script cannot be removed.
    pub fn remove(&self, links: &[PathBuf]) -> Result<(), ShimsError> {
        for link in links {
            remove(link)?;
        }
        for (path, text) in self.scripts(SHELLS.iter().map(|(name, _)| *name)) {
            if fs::read_to_string(&path).is_ok_and(|old| old == text) {
                remove(&path)?;
                self.forget(&path);
            }
        }
        // This removes only an empty directory.
        let _ = fs::remove_dir(self.directory.join(SCRIPTS));
        let _ = fs::remove_dir(self.directory);
        Ok(())
    }

    /// Creates the missing links.
    ///
    /// # Errors
    /// A path of a link is in use, or the directory cannot be written.
    pub fn make(&self, dry_run: bool) -> Result<ShimChanges, ShimsError> {
        let names: Vec<&str> = self.wanted().into_iter().map(|(name, _)| name).collect();
        for name in &names {
            let link = self.directory.join(name);
            if fs::symlink_metadata(&link).is_ok() && !self.is_ours(&link) {
                return Err(ShimsError::Exists(link));
            }
        }
        let mut changed = Vec::new();
        for name in &names {
            let link = self.directory.join(name);
            if fs::read_link(&link).is_ok_and(|target| target == self.guard) {
                continue;
            }
            let would = if dry_run { "would link" } else { "linked" };
            changed.push(format!("{would} {} to {}", link.display(), self.guard.display()));
            if dry_run {
                continue;
            }
            let cannot = |path: &Path, error| ShimsError::Create { path: path.to_owned(), error };
            fs::create_dir_all(self.directory).map_err(|error| cannot(self.directory, error))?;
            // Replace an outdated link of guard atomically, because a shell may start at any moment.
            let new = self.directory.join(format!(".{name}.{}", std::process::id()));
            symlink(self.guard, &new).and_then(|()| fs::rename(&new, &link)).map_err(|error| cannot(&link, error))?;
        }
        for (path, text) in self.scripts(names.iter().copied()) {
            if fs::read_to_string(&path).is_ok_and(|old| old == text) {
                continue;
            }
            changed.push(format!("{} {}", if dry_run { "would write" } else { "wrote" }, path.display()));
            if !dry_run {
                self.write(&path, &text).map_err(|error| ShimsError::Write { path, error })?;
            }
        }
        Ok(ShimChanges { names, changed })
    }

    /// Returns the scripts that start these links, and their contents.
    fn scripts<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<(PathBuf, String)> {
        let text = |name: &str| {
            let link = shell_word(&self.directory.join(name).display().to_string());
            format!("{HEAD}exec {link} \"$@\"\n")
        };
        let scripts = names.map(|name| (self.directory.join(SCRIPTS).join(name), text(name)));
        let loaded = loaded().map(|file| (self.directory.join(SCRIPTS).join(&file.name), file.text.clone()));
        scripts.chain(loaded).collect()
    }

    /// Removes the file that an agent's language compiled from a removed one.
    fn forget(&self, path: &Path) {
        let Some(file) = loaded().find(|file| path.ends_with(&file.name)) else { return };
        let Some((directory, begins)) = &file.kept else { return };
        let directory = self.directory.join(SCRIPTS).join(directory);
        for made in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if made.file_name().to_string_lossy().starts_with(begins.as_str()) {
                let _ = fs::remove_file(made.path());
            }
        }
        // This removes only an empty directory.
        let _ = fs::remove_dir(directory);
    }

    /// Writes a script atomically, because it may be started at any moment.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let directory = self.directory.join(SCRIPTS);
        fs::create_dir_all(&directory)?;
        let new = directory.join(format!(".{}", std::process::id()));
        fs::write(&new, text)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        fs::rename(&new, path)
    }

    /// Returns the shells that are installed. A link for another would only cause errors.
    fn wanted(&self) -> Vec<(&'static str, PathBuf)> {
        let found = SHELLS.iter().filter_map(|(name, dialect)| {
            let shell = shell::named(*dialect, &self.caller.account, &self.caller.env, &self.caller.cwd).ok()?;
            Some((*name, shell.path))
        });
        found.collect()
    }

    /// Reports whether a link leads to guard: to this program, or by its name to a removed one.
    fn is_ours(&self, link: &Path) -> bool {
        let Ok(target) = fs::read_link(link) else { return false };
        let file = |path: &Path| path.metadata().ok().map(|about| (about.dev(), about.ino()));
        let same = file(link).is_some() && file(link) == file(self.guard);
        same || target.file_name().is_some_and(|name| name == "guard")
    }

    /// Returns the settings for each entry point.
    fn entry_points(&self, names: &[&str]) -> Vec<String> {
        let mut lines = vec![
            format!(
                "{}: {} now start guard. To use them, add one of these lines:",
                self.directory.display(),
                names.join(", ")
            ),
            String::new(),
        ];
        // Agents with the same setting share a line.
        let mut entry_points: Vec<(String, Vec<&str>)> = Vec::new();
        for agent in agents::all() {
            let Some(line) = self.line(agent, names) else { continue };
            match entry_points.iter_mut().find(|(known, _)| *known == line) {
                Some((_, titles)) => titles.push(&agent.title),
                None => entry_points.push((line, vec![&agent.title])),
            }
        }
        lines.extend(entry_points.into_iter().map(|(line, titles)| format!("  {line}    for {}", titles.join(", "))));
        lines.push(String::new());
        lines.extend(agents::all().filter_map(note));
        lines.extend([String::new(), "guard doctor shows which of them are in use.".to_owned()]);
        lines
    }

    /// Returns the setting for an agent's entry point, with the name of the agent.
    #[must_use]
    pub fn entry_point(&self, agent: &Agent, names: &[&str]) -> Option<String> {
        Some(format!("{}    for {}", self.line(agent, names)?, agent.title))
    }

    /// Returns what to write so that an agent uses guard as its shell: a setting or a variable.
    fn line(&self, agent: &Agent, names: &[&str]) -> Option<String> {
        let name = names.first().copied().unwrap_or("sh");
        let below = agent.shell.how.split_once("DIR/").map_or(Path::new(""), |(_, path)| Path::new(path));
        // The file that it loads has one name, whatever shells are installed.
        let below = if agent.shell.files.is_empty() { below.with_file_name(name) } else { below.to_owned() };
        let shell = self.directory.join(below).display().to_string();
        if let (Some((file, keys)), Some(config)) = (&agent.shell.settings, &agent.config) {
            let nested = keys.iter().rev().enumerate().fold(super::json::quoted(&shell), |inner, (depth, key)| {
                let member = format!("{}: {inner}", super::json::quoted(key));
                if depth + 1 == keys.len() { member } else { format!("{{{member}}}") }
            });
            let above = if config.below_config { "~/.config" } else { "~" };
            return Some(format!("{nested}    in {above}/{}/{file}", config.directory));
        }
        let (name, value) = agent.shell.how.split_once('=')?;
        let value = match value {
            BEFORE_PATH => format!("{}:\"$PATH\"", shell_word(&self.directory.display().to_string())),
            _ => shell_word(&shell),
        };
        Some(format!("export {name}={value}"))
    }

    /// Returns the variable that makes an agent use guard as its shell, with its value. `None` if it needs something
    /// else.
    #[must_use]
    pub fn variable<'a>(&self, agent: &'a Agent) -> Option<(&'a str, String)> {
        let (name, value) = agent.shell.how.split_once('=')?;
        let directory = self.directory.display().to_string();
        let value = match value {
            BEFORE_PATH => format!("{directory}:{}", self.caller.env.get("PATH").unwrap_or_default()),
            other => other.replace("DIR", &directory),
        };
        Some((name, value))
    }
}
