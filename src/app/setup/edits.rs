//! The account's files that `guard setup` writes besides those of agents: the configuration, the shells' startup files,
//! completions and manual pages. The previous content is kept, so that it can be restored.
//!
//! Out of scope: confirmation by a person, and agents' files.

use std::path::{Path, PathBuf};

use super::choices::{NotifyChoice, SetupChoices};
use super::error::SetupError;
use crate::app::completions::Shell;
use crate::app::config::edit::{self, EditError};
use crate::app::engine::Engine;
use crate::app::init::{Interactive, loads, start_up};
use crate::app::install::file::{self, Backups, FileError};
use crate::app::install::places::Places;
use crate::app::man::PAGES;
use crate::app::screen;
use crate::config::values::place;
use crate::judge::invocation::quote;
use crate::ui::diff::diff;
use crate::ui::style::{self, Look};

/// The program that shows a notification, and its configuration in `queue.notify`.
pub const NOTIFIER: &str = "notify-send";
const NOTIFY: &str = r#"["notify-send", "guard", "{summary}"]"#;

/// The lines before and after guard's lines in a startup file.
const BEGIN: &str = "# >>> guard >>> (guard setup --remove removes these lines)\n";
const END: &str = "# <<< guard <<<\n";

/// The largest number of lines of a new or removed file that is shown in full.
const SHOWN: usize = 40;

/// The change of one file.
#[derive(Debug)]
pub struct Edit {
    /// A label of the file's purpose.
    pub about: &'static str,
    pub path: PathBuf,
    pub old: Option<String>,
    /// The new text, or `None` if the file is deleted.
    pub new: Option<String>,
    /// The text before guard, if it differs from the current text.
    before: Option<Option<String>>,
}

impl Edit {
    /// Creates the change that removes guard from a configuration of an MCP client.
    #[must_use]
    pub const fn of_servers(path: PathBuf, old: String, new: String) -> Self {
        Self { about: SERVERS, path, old: Some(old), new: Some(new), before: None }
    }

    /// Formats the change for a person.
    #[must_use]
    pub fn render(&self, look: &Look) -> String {
        let (old, new) = (self.old.as_deref().unwrap_or_default(), self.new.as_deref().unwrap_or_default());
        let what = match (&self.old, &self.new) {
            (None, _) => " (new)",
            (_, None) => " (removed)",
            _ => "",
        };
        let lines = old.lines().count().max(new.lines().count());
        let generated = self.about == COMPLETIONS || self.about == PAGE;
        if generated || (lines > SHOWN && (old.is_empty() || new.is_empty())) {
            return screen::fitted(&format!("{}: {}{what}, {lines} lines\n", self.about, self.path.display()));
        }
        let head = screen::fitted(&format!("{}: {}{what}\n", self.about, self.path.display()));
        head + &style::render(&diff(old, new), look)
    }

    /// Writes the change and stores a backup. If guard is removed (`out`), deletes the backup.
    ///
    /// # Errors
    /// The message does not contain the name of the file.
    pub fn carry_out(&self, backups: &Backups, out: bool) -> Result<(), FileError> {
        let kept = self.old.as_deref().and_then(|text| backups.kept(&self.path, text));
        match &self.new {
            None => std::fs::remove_file(&self.path).map_err(FileError::Remove)?,
            Some(new) => {
                let directories = file::make_directories(&self.path)?;
                if !out {
                    let before = self.before.clone().unwrap_or_else(|| self.old.clone());
                    let directories = kept.as_ref().map_or(directories, |kept| kept.directories.clone());
                    backups.keep(&self.path, before.as_deref(), new, &directories)?;
                }
                file::replace(&self.path, self.old.as_deref(), new, false)?;
            }
        }
        if out || self.new.is_none() {
            if !self.path.exists() {
                for directory in kept.iter().flat_map(|kept| kept.directories.iter().rev()) {
                    // This removes only an empty directory.
                    let _ = std::fs::remove_dir(directory);
                }
            }
            backups.forget(&self.path);
        }
        Ok(())
    }
}

const CONFIG: &str = "configuration";
const COMPLETIONS: &str = "completions";
const SERVERS: &str = "MCP servers";
const PAGE: &str = "manual page";

/// Plans the changes of guard's own files.
pub struct Planner<'a> {
    pub engine: &'a Engine,
    pub places: &'a Places<'a>,
    pub backups: &'a Backups,
}

impl Planner<'_> {
    /// Returns the changes for these choices.
    ///
    /// # Errors
    /// A file cannot be read or parsed.
    pub fn changes(&self, choices: &SetupChoices) -> Result<Vec<Edit>, SetupError> {
        let mut all = Vec::new();
        all.extend(self.config(choices)?);
        for shell in Interactive::ALL {
            all.extend(self.shell(shell, choices.shells.contains(&shell))?);
        }
        for (about, path, text) in self.brought(&choices.shells) {
            all.extend(self.edit(about, path, |_| Ok(text))?);
        }
        Ok(all)
    }

    /// Returns the changes that undo everything, and messages about what the person must do.
    #[must_use]
    pub fn taken_back(&self) -> (Vec<Edit>, Vec<String>) {
        let (mut all, mut left) = (Vec::new(), Vec::new());
        let own = config_file(self.engine).map(|path| (CONFIG, path));
        let shells =
            Interactive::ALL.map(|shell| (shell.name(), start_up(shell, self.places.home(), &self.engine.caller.env)));
        let brought = self.brought(&Interactive::ALL).into_iter().map(|(about, path, _)| (about, path));
        for (about, path) in own.into_iter().chain(shells).chain(brought) {
            let shown = path.display().to_string();
            let Ok(Some(now)) = file::read(&path) else { continue };
            let kept = self.backups.kept(&path, &now);
            let is_shell = about != CONFIG && about != COMPLETIONS && about != PAGE;
            let new = match &kept {
                Some(kept) if kept.untouched => kept.before.clone(),
                _ if is_shell && now.contains(BEGIN) => Some(without(&now)),
                Some(_) => {
                    left.push(format!("kept {shown}, which was changed after guard wrote it"));
                    continue;
                }
                None => continue,
            };
            all.push(Edit { about, path, old: Some(now), new, before: None });
        }
        for shell in Interactive::ALL {
            let path = start_up(shell, self.places.home(), &self.engine.caller.env);
            let text = file::read(&path).ok().flatten().unwrap_or_default();
            if loads(shell, &without(&text)) {
                left.push(format!(
                    "{} loads guard by a line that you wrote; remove that line yourself",
                    path.display()
                ));
            }
        }
        (all, left)
    }

    /// Returns the change of one file, or `None` if its text stays the same.
    fn edit(
        &self,
        about: &'static str,
        path: PathBuf,
        change: impl FnOnce(Option<&str>) -> Result<String, EditError>,
    ) -> Result<Option<Edit>, SetupError> {
        let old = file::read(&path).map_err(|error| SetupError::File { path: path.clone(), error })?;
        let new = change(old.as_deref()).map_err(|error| SetupError::Config { path: path.clone(), error })?;
        if old.as_deref() == Some(new.as_str()) || (old.is_none() && new.is_empty()) {
            return Ok(None);
        }
        let kept = old.as_deref().and_then(|text| self.backups.kept(&path, text));
        let before = match (kept, &old) {
            (Some(kept), _) if kept.untouched => Some(kept.before),
            (_, Some(text)) => Some(Some(without(text))),
            (_, None) => None,
        };
        Ok(Some(Edit { about, path, old, new: Some(new), before }))
    }

    fn config(&self, choices: &SetupChoices) -> Result<Option<Edit>, SetupError> {
        let Some(path) = config_file(self.engine) else { return Ok(None) };
        let notify = choices.notify == Some(NotifyChoice::Desktop);
        if choices.preset.is_none() && !notify {
            return Ok(None);
        }
        self.edit(CONFIG, path, |old| {
            let mut text = old.filter(|text| !text.trim().is_empty()).unwrap_or(edit::TEMPLATE).to_owned();
            if let Some(preset) = choices.preset {
                const WORDS: [&str; 4] = ["relaxed", "balanced", "strict", "paranoid"];
                let word = usize::try_from(place(preset)).ok().and_then(|at| WORDS.get(at)).unwrap_or(&"balanced");
                text = edit::set_in(&text, "preset", word)?;
            }
            if notify {
                text = edit::set_in(&text, "queue.notify", NOTIFY)?;
            }
            Ok(text)
        })
    }

    /// Adds guard's lines to the end of a shell's startup file, or removes them.
    fn shell(&self, shell: Interactive, wanted: bool) -> Result<Option<Edit>, SetupError> {
        let path = start_up(shell, self.places.home(), &self.engine.caller.env);
        let guard = self.places.guard()?;
        let completions = self.completions(shell);
        self.edit(shell.name(), path, |old| {
            let old = old.unwrap_or_default();
            let bare = without(old);
            // If the user wrote a line that loads guard, no other is needed.
            if !wanted || loads(shell, &bare) {
                return Ok(bare);
            }
            let mut text = bare;
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            Ok(format!("{text}{BEGIN}{}{END}", lines(shell, &guard, &completions)))
        })
    }

    /// Returns the files that are written unchanged: completions and manual pages.
    fn brought(&self, shells: &[Interactive]) -> Vec<(&'static str, PathBuf, String)> {
        let mut all: Vec<_> = shells
            .iter()
            .map(|shell| (COMPLETIONS, self.completions(*shell), Shell::of(*shell).script().to_owned()))
            .collect();
        let manuals = self.data().join("man");
        all.extend(PAGES.iter().map(|(name, _, source)| {
            let section = name.rsplit('.').next().unwrap_or("1");
            (PAGE, manuals.join(format!("man{section}")).join(name), source.text())
        }));
        all
    }

    /// Returns the path at which a shell loads completions of the account. zsh has no such directory, so guard's lines
    /// in the startup file load it.
    fn completions(&self, shell: Interactive) -> PathBuf {
        match shell {
            Interactive::Bash => self.data().join("bash-completion/completions/guard"),
            Interactive::Zsh => self.data().join("zsh/site-functions/_guard"),
            Interactive::Fish => start_up(shell, self.places.home(), &self.engine.caller.env)
                .with_file_name("completions")
                .join("guard.fish"),
        }
    }

    /// Returns `XDG_DATA_HOME`, or its default.
    fn data(&self) -> PathBuf {
        let named = self.engine.caller.env.get("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        named.unwrap_or_else(|| self.places.home().join(".local/share"))
    }
}

/// Returns the account's own configuration file.
#[must_use]
pub fn config_file(engine: &Engine) -> Option<PathBuf> {
    engine.config().own_file().map(Path::to_owned)
}

/// Returns the lines that load guard.
fn lines(shell: Interactive, guard: &str, completions: &Path) -> String {
    let guard = quote(guard);
    let completions = completions.display().to_string();
    let completions = quote(&completions);
    match shell {
        Interactive::Bash => format!(
            "[ ! -x {guard} ] || eval \"$({guard} init bash)\"\n\
             [ -n \"${{BASH_COMPLETION_VERSINFO-}}\" ] || [ ! -r {completions} ] || . {completions}\n"
        ),
        Interactive::Zsh => {
            format!(
                "[[ ! -x {guard} ]] || eval \"$({guard} init zsh)\"\n\
                 (( ! ${{+functions[compdef]}} )) || [[ ! -r {completions} ]] || source {completions}\n"
            )
        }
        Interactive::Fish => format!("test -x {guard}; and {guard} init fish | source\n"),
    }
}

/// Returns a startup file without guard's lines.
fn without(text: &str) -> String {
    let Some((before, rest)) = text.split_once(BEGIN) else { return text.to_owned() };
    match rest.split_once(END) {
        Some((_, after)) => format!("{before}{after}"),
        // The end marker is missing, so the extent of guard's lines is unknown.
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, Interactive, lines, loads, without};
    use std::path::Path;

    #[test]
    fn guards_lines_are_found_again_and_nothing_else_is_taken_for_them() {
        let own = "PS1='$ '\nalias ll='ls -l'\n";
        for shell in Interactive::ALL {
            let text = lines(shell, "/opt/guard", Path::new("/data/_guard"));
            assert!(loads(shell, &text), "{text}");
            let with = format!("{own}{BEGIN}{text}{END}after\n");
            assert_eq!(without(&with), format!("{own}after\n"));
            assert!(!loads(shell, &format!("# {}", text.lines().next().unwrap())));
        }
        assert!(!loads(Interactive::Bash, "starship init bash\n"));
        for text in [own, "", BEGIN, &format!("{BEGIN}mine\n")] {
            assert_eq!(without(text), text);
        }
    }
}
