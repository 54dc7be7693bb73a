//! A folder of links that bear a shell's name and lead to guard, for agents that look for `bash` and the like.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use super::change::shell_word;
use crate::app::exit;
use crate::judge::syntax::tree::Dialect;
use crate::world::identity::Caller;
use crate::world::shell;

/// The shells that guard stands in for.
const SHELLS: [(&str, Dialect); 3] = [("bash", Dialect::Bash), ("sh", Dialect::Sh), ("zsh", Dialect::Zsh)];

/// The links in one folder.
#[derive(Debug)]
pub struct Shims<'a> {
    pub caller: &'a Caller,
    pub folder: &'a Path,
    pub guard: &'a Path,
}

impl Shims<'_> {
    /// Makes the links, or removes them, and says which lines open which door.
    ///
    /// # Errors
    /// Something else stands in a link's place, or the folder cannot be written.
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
            say("Take the lines that name this folder out of your shell's start-up file and of the agents' settings.")?;
            return Ok(exit::ALLOW);
        }
        let wanted = self.wanted();
        for (name, _) in &wanted {
            let link = self.folder.join(name);
            if fs::symlink_metadata(&link).is_ok() && !self.is_ours(&link) {
                return Err(format!("{}: something else is there: choose another folder with --dir", link.display()));
            }
        }
        if dry_run {
            for (name, _) in &wanted {
                say(&format!("would link {} to {}", self.folder.join(name).display(), self.guard.display()))?;
            }
            return Ok(exit::ALLOW);
        }
        fs::create_dir_all(self.folder)
            .map_err(|error| format!("{}: cannot be made: {error}", self.folder.display()))?;
        for (name, _) in &wanted {
            let link = self.folder.join(name);
            let cannot = |error: io::Error| format!("{}: cannot be made: {error}", link.display());
            if fs::read_link(&link).is_ok_and(|target| target == self.guard) {
                continue;
            }
            // A link of guard's that leads elsewhere is replaced in one step: a shell may start at any moment.
            let new = self.folder.join(format!(".{name}.{}", std::process::id()));
            symlink(self.guard, &new).and_then(|()| fs::rename(&new, &link)).map_err(cannot)?;
        }
        for line in self.doors(&wanted) {
            say(&line)?;
        }
        Ok(exit::ALLOW)
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
    fn doors(&self, wanted: &[(&'static str, PathBuf)]) -> Vec<String> {
        let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
        let folder = shell_word(&self.folder.display().to_string());
        let shell = self.folder.join(names.first().copied().unwrap_or("sh"));
        let word = shell_word(&shell.display().to_string());
        let quoted = super::json::quoted(&shell.display().to_string());
        [
            format!("{}: {} stand for guard. Each line opens one door:", self.folder.display(), names.join(", ")),
            String::new(),
            format!("  \"env\": {{\"CLAUDE_CODE_SHELL\": {quoted}}}    in ~/.claude/settings.json, for Claude Code"),
            format!("  export GOOSE_SHELL={word}    for Goose"),
            format!("  \"shell\": {quoted}    in ~/.config/opencode/opencode.json, for OpenCode"),
            format!("  export SHELL={word}    for Aider, and whatever else starts $SHELL"),
            format!("  export PATH={folder}:\"$PATH\"    for Gemini CLI, Hermes, and whatever else looks for bash on the PATH"),
            String::new(),
            "guard doctor shows which of them are open.".to_owned(),
        ]
        .to_vec()
    }
}
