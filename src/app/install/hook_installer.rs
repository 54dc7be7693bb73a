//! Changes the files of one agent: plans the changes, shows them, then writes them.
//!
//! Out of scope: confirmation by a person, and how a text is changed ([`super::change`]).

use std::path::{Path, PathBuf};

use super::InstallError;
use super::change::{WiredState, Wiring};
use super::file::{self, Backup, Backups, FileError};
use super::hosts::{self, HookFile, Host};
use super::json::SyntaxError;
use super::places::Places;
use crate::app::screen;
use crate::ui::diff::diff;
use crate::ui::style::{self, Look};

/// Reports whether an agent's configuration calls guard.
#[must_use]
pub fn asks(places: &Places<'_>, host: &'static Host) -> bool {
    let guard = places.guard().unwrap_or_default();
    let wiring = Wiring::of(host, &guard, None);
    [false, true].into_iter().flat_map(|project| places.files(host, project)).any(|(path, wire)| {
        let text = file::read(&path).ok().flatten();
        wiring.state(wire, text.as_deref()).is_ok_and(|state| state != WiredState::Absent)
    })
}

/// The change of one file.
#[derive(Debug)]
pub struct FileEdit {
    pub path: PathBuf,
    wire: &'static HookFile,
    pub old: Option<String>,
    /// The new text, or `None` if the file is deleted.
    pub new: Option<String>,
    kept: Option<Backup>,
}

/// The changes of one agent's files.
#[derive(Debug)]
pub struct PlannedChanges {
    pub host: &'static Host,
    pub changes: Vec<FileEdit>,
    guard: String,
    version: Option<String>,
}

impl PlannedChanges {
    /// Formats the changes for a person.
    #[must_use]
    pub fn render(&self, look: &Look) -> String {
        let mut text = String::new();
        for change in &self.changes {
            let what = match (&change.old, &change.new) {
                (None, _) => " (new)",
                (_, None) => " (removed)",
                _ => "",
            };
            text.push_str(&screen::fitted(&format!("{}: {}{what}\n", self.host.title, change.path.display())));
            let (old, new) = (change.old.as_deref().unwrap_or_default(), change.new.as_deref().unwrap_or_default());
            text.push_str(&style::render(&diff(old, new), look));
        }
        text
    }

    fn wiring(&self) -> Wiring<'_> {
        Wiring::of(self.host, &self.guard, self.version.as_deref())
    }
}

/// Installs guard in agents, or removes it.
#[derive(Debug)]
pub struct HookInstaller<'a> {
    pub places: Places<'a>,
    pub backups: Backups,
    pub uninstall: bool,
    pub project: bool,
}

impl HookInstaller<'_> {
    /// Plans the changes of the files of an agent of this version.
    ///
    /// # Errors
    /// A file cannot be parsed, or the agent has none there.
    pub fn planned(&self, host: &'static Host, version: Option<&str>) -> Result<PlannedChanges, InstallError> {
        let guard = self.places.guard()?;
        let mut planned = PlannedChanges { host, changes: Vec::new(), guard, version: version.map(str::to_owned) };
        let wiring = planned.wiring();
        let files = self.places.files(host, self.project);
        if files.is_empty() {
            let what = format!("{} has no project configuration; omit --project", host.title);
            return Err(InstallError::Wrong(what));
        }
        if self.project && files.iter().any(|(path, _)| self.places.is_the_accounts(host, path)) {
            let what = format!("{}: the file of this directory is the account's own; omit --project", host.title);
            return Err(InstallError::Wrong(what));
        }
        let mut changes = Vec::new();
        for (path, wire) in files {
            let old = file::read(&path).map_err(|why| InstallError::Wrong(format!("{}: {why}", path.display())))?;
            let kept = old.as_deref().and_then(|text| self.backups.kept(&path, text));
            let change = if self.uninstall {
                self.taken_out(&wiring, path, wire, old, kept)?
            } else {
                let new = wiring.installed(wire, old.as_deref());
                let new = new.map_err(|error| broken(&path, old.as_deref(), &error, &wiring, wire))?;
                (old.as_deref() != Some(new.as_str())).then_some(FileEdit { path, wire, old, new: Some(new), kept })
            };
            changes.extend(change);
        }
        planned.changes = changes;
        Ok(planned)
    }

    /// Writes the planned changes.
    ///
    /// # Errors
    /// A file cannot be written, or was changed meanwhile.
    pub fn carry_out(&self, planned: &PlannedChanges) -> Result<(), InstallError> {
        let wiring = planned.wiring();
        let write = |change: &FileEdit| {
            self.write(&wiring, change).map_err(|why| InstallError::Wrong(format!("{}: {why}", change.path.display())))
        };
        if self.uninstall {
            // Undo in reverse order, so that directories are empty when they are removed.
            planned.changes.iter().rev().try_for_each(write)
        } else {
            planned.changes.iter().try_for_each(write)
        }
    }

    /// Plans the removal of guard from a file. Returns `None` if guard is not in it.
    fn taken_out(
        &self,
        wiring: &Wiring<'_>,
        path: PathBuf,
        wire: &'static HookFile,
        old: Option<String>,
        kept: Option<Backup>,
    ) -> Result<Option<FileEdit>, InstallError> {
        let Some(text) = old else { return Ok(None) };
        if let Some(kept) = kept.as_ref().filter(|kept| kept.untouched) {
            let new = kept.before.clone();
            let same = new.as_ref() == Some(&text);
            return Ok((!same).then_some(FileEdit { path, wire, new, old: Some(text), kept: None }));
        }
        let error = |error: SyntaxError| broken(&path, Some(&text), &error, wiring, wire);
        if let hosts::Form::Own { .. } | hosts::Form::Plugin(_) = wire.form {
            if wiring.installed(wire, Some(&text)).is_err() {
                return Ok(None);
            }
        } else if wiring.state(wire, Some(&text)).map_err(error)? == WiredState::Absent {
            return Ok(None);
        }
        let before = kept.as_ref().map(|kept| kept.before.as_deref());
        let new = wiring.uninstalled(wire, &text, before).map_err(error)?;
        let same = new.as_ref() == Some(&text);
        Ok((!same).then_some(FileEdit { path, wire, old: Some(text), new, kept: None }))
    }

    fn write(&self, wiring: &Wiring<'_>, change: &FileEdit) -> Result<(), FileError> {
        let FileEdit { path, wire, old, new, kept } = change;
        let Some(new) = new else {
            std::fs::remove_file(path).map_err(FileError::Remove)?;
            self.forget(path, old.as_deref());
            return Ok(());
        };
        if self.uninstall {
            file::replace(path, old.as_deref(), new, false)?;
            self.forget(path, old.as_deref());
            return Ok(());
        }
        let directories = file::make_directories(path)?;
        // The text before guard: the backup if only guard changed the file since, or else the current text without
        // guard.
        let (before, directories) = match (kept, old) {
            (Some(kept), _) if kept.untouched => (kept.before.clone(), kept.directories.clone()),
            (_, Some(text)) => {
                let before = kept.as_ref().map(|kept| kept.before.as_deref());
                let own = matches!(wire.form, hosts::Form::Own { .. } | hosts::Form::Plugin(_));
                let without = match wiring.state(wire, Some(text)) {
                    Ok(WiredState::Outdated) if !own => wiring.uninstalled(wire, text, before).ok().flatten(),
                    Ok(WiredState::Outdated) => None,
                    _ => Some(text.clone()),
                };
                (without, directories)
            }
            (_, None) => (None, directories),
        };
        self.backups.keep(path, before.as_deref(), new, &directories)?;
        let executable = matches!(wire.form, hosts::Form::Own { executable: true, .. });
        file::replace(path, old.as_deref(), new, executable)
    }

    /// Deletes the backup of a file without guard, and the directories that were created for it.
    fn forget(&self, path: &Path, old: Option<&str>) {
        if !path.exists() {
            let directories =
                self.backups.kept(path, old.unwrap_or_default()).map(|kept| kept.directories).unwrap_or_default();
            for directory in directories.iter().rev() {
                // This removes only an empty directory.
                let _ = std::fs::remove_dir(directory);
            }
        }
        self.backups.forget(path);
    }
}

/// Returns the error for a file that guard cannot parse: the position of the problem, and how to make the change by
/// hand.
fn broken(path: &Path, text: Option<&str>, error: &SyntaxError, wiring: &Wiring<'_>, wire: &HookFile) -> InstallError {
    let line = file::line_of(text.unwrap_or_default(), error.at);
    let by_hand = wiring.by_hand(wire);
    InstallError::Wrong(format!(
        "{}:{line}: {}; not changed. Fix it, or add this by hand:\n{by_hand}",
        path.display(),
        error.what
    ))
}
