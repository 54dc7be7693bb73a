//! A directory of links that bear a shell's name and lead to guard, for agents that look for `bash` and the like.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use super::change::shell_word;
use crate::app::exit;
use crate::judge::agents;
use crate::judge::agents::model::Agent;
use crate::judge::syntax::tree::Dialect;
use crate::world::identity::Caller;
use crate::world::shell;

/// The shells that guard stands in for.
const SHELLS: [(&str, Dialect); 3] = [("bash", Dialect::Bash), ("sh", Dialect::Sh), ("zsh", Dialect::Zsh)];

/// The links in one directory.
#[derive(Debug)]
pub struct Shims<'a> {
    pub caller: &'a Caller,
    pub folder: &'a Path,
    pub guard: &'a Path,
}

/// What became of the links.
#[derive(Debug)]
pub struct Made {
    /// The shells that they stand for.
    pub names: Vec<&'static str>,
    /// What was changed, a line each.
    pub changed: Vec<String>,
}

impl Shims<'_> {
    /// Makes the links, or removes them, and says which lines open which door.
    ///
    /// # Errors
    /// Something else stands in a link's place, or the directory cannot be written.
    pub fn run(&self, uninstall: bool, dry_run: bool) -> Result<u8, String> {
        let mut out = io::stdout().lock();
        let mut say = |line: &str| writeln!(out, "{line}").map_err(|error| error.to_string());
        if uninstall {
            let links: Vec<PathBuf> =
                SHELLS.iter().map(|(name, _)| self.folder.join(name)).filter(|link| self.is_ours(link)).collect();
            if links.is_empty() {
                say(&format!("{}: no link of guard's is there", self.folder.display()))?;
                return Ok(exit::ALLOW);
            }
            for link in links {
                if !dry_run {
                    fs::remove_file(&link)
                        .map_err(|error| format!("{}: cannot be removed: {error}", link.display()))?;
                }
                say(&format!("{} {}", if dry_run { "would remove" } else { "removed" }, link.display()))?;
            }
            // Only an empty one goes.
            let _ = fs::remove_dir(self.folder);
            say(
                "Take the lines that name this directory out of your shell's start-up file and of the agents' settings.",
            )?;
            return Ok(exit::ALLOW);
        }
        let made = self.make(dry_run)?;
        for line in if dry_run { made.changed } else { self.doors(&made.names) } {
            say(&line)?;
        }
        Ok(exit::ALLOW)
    }

    /// Makes the links that are not there yet.
    ///
    /// # Errors
    /// Something else stands in a link's place, or the directory cannot be written.
    pub fn make(&self, dry_run: bool) -> Result<Made, String> {
        let names: Vec<&str> = self.wanted().into_iter().map(|(name, _)| name).collect();
        for name in &names {
            let link = self.folder.join(name);
            if fs::symlink_metadata(&link).is_ok() && !self.is_ours(&link) {
                return Err(format!(
                    "{}: something else is there: choose another directory with --dir",
                    link.display()
                ));
            }
        }
        let mut changed = Vec::new();
        for name in &names {
            let link = self.folder.join(name);
            if fs::read_link(&link).is_ok_and(|target| target == self.guard) {
                continue;
            }
            let would = if dry_run { "would link" } else { "linked" };
            changed.push(format!("{would} {} to {}", link.display(), self.guard.display()));
            if dry_run {
                continue;
            }
            fs::create_dir_all(self.folder)
                .map_err(|error| format!("{}: cannot be made: {error}", self.folder.display()))?;
            let cannot = |error: io::Error| format!("{}: cannot be made: {error}", link.display());
            // A link of guard's that leads elsewhere is replaced in one step: a shell may start at any moment.
            let new = self.folder.join(format!(".{name}.{}", std::process::id()));
            symlink(self.guard, &new).and_then(|()| fs::rename(&new, &link)).map_err(cannot)?;
        }
        Ok(Made { names, changed })
    }

    /// The shells of which the machine has a real one: a link to nothing would only get in the way.
    fn wanted(&self) -> Vec<(&'static str, PathBuf)> {
        let found = SHELLS.iter().filter_map(|(name, dialect)| {
            let shell = shell::named(*dialect, &self.caller.account, &self.caller.env, &self.caller.cwd).ok()?;
            Some((*name, shell.path))
        });
        found.collect()
    }

    /// A link that leads to guard: to this program, or by its name to one that is gone.
    fn is_ours(&self, link: &Path) -> bool {
        let Ok(target) = fs::read_link(link) else { return false };
        let file = |path: &Path| path.metadata().ok().map(|about| (about.dev(), about.ino()));
        let same = file(link).is_some() && file(link) == file(self.guard);
        same || target.file_name().is_some_and(|name| name == "guard")
    }

    /// The lines that open each door.
    fn doors(&self, names: &[&str]) -> Vec<String> {
        let mut lines = vec![
            format!("{}: {} stand for guard. Each line opens one door:", self.folder.display(), names.join(", ")),
            String::new(),
        ];
        // Agents that are opened alike share a line.
        let mut doors: Vec<(String, Vec<&str>)> = Vec::new();
        for agent in agents::all() {
            let Some(line) = self.line(agent, names) else { continue };
            match doors.iter_mut().find(|(known, _)| *known == line) {
                Some((_, titles)) => titles.push(&agent.title),
                None => doors.push((line, vec![&agent.title])),
            }
        }
        lines.extend(doors.into_iter().map(|(line, titles)| format!("  {line}    for {}", titles.join(", "))));
        lines.extend([String::new(), "guard doctor shows which of them are open.".to_owned()]);
        lines
    }

    /// The line that opens an agent's door, and for whom.
    #[must_use]
    pub fn door(&self, agent: &Agent, names: &[&str]) -> Option<String> {
        Some(format!("{}    for {}", self.line(agent, names)?, agent.title))
    }

    /// What to write where so that an agent finds guard in its shell's place: a setting, or a variable.
    fn line(&self, agent: &Agent, names: &[&str]) -> Option<String> {
        let shell = self.folder.join(names.first().copied().unwrap_or("sh"));
        let shell = shell.display().to_string();
        if let (Some((file, keys)), Some(config)) = (&agent.shell.settings, &agent.config) {
            let nested = keys.iter().rev().enumerate().fold(super::json::quoted(&shell), |inner, (depth, key)| {
                let member = format!("{}: {inner}", super::json::quoted(key));
                if depth + 1 == keys.len() { member } else { format!("{{{member}}}") }
            });
            let above = if config.below_config { "~/.config" } else { "~" };
            return Some(format!("{nested}    in {above}/{}/{file}", config.folder));
        }
        let (name, value) = agent.shell.how.split_once('=')?;
        let value = match value {
            "DIR:$PATH" => format!("{}:\"$PATH\"", shell_word(&self.folder.display().to_string())),
            _ => shell_word(&shell),
        };
        Some(format!("export {name}={value}"))
    }
}
