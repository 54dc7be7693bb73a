//! `guard install mcp`: changes the configurations of MCP clients so that `guard mcp` starts their servers, and undoes
//! this.
//!
//! The locations of the clients' configurations are data (`patterns/clients/mcp.toml`); `wrap` changes the text. Out of
//! scope: hooks.

mod remote;
mod wrap;
mod yaml;

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use self::remote::Shape;
use self::wrap::{ConfigStyle, WrapError, Wrapped};
use super::file::{self, Backups};
use super::places::Places;
use super::{InstallArgs, InstallError};
use crate::app::{exit, screen};
use crate::prompt::confirm::confirm;
use crate::ui::diff::diff;
use crate::ui::style::{self, Look};

const CLIENTS: &str = include_str!("../../../patterns/clients/mcp.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clients {
    client: Vec<Client>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    name: String,
    title: String,
    file: Vec<ServersFile>,
}

/// A file that lists servers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServersFile {
    path: String,
    mac: Option<String>,
    #[serde(default)]
    project: bool,
    #[serde(default)]
    form: ServersFormat,
    /// The form of servers that are reached over HTTP.
    #[serde(default)]
    http: Shape,
    keys: Vec<Vec<String>>,
    /// For a YAML file: the keys that mark an entry as a server, because they contain its program or its address.
    #[serde(default)]
    starts: Vec<String>,
}

/// The form of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ServersFormat {
    /// `"command"` is the program, `"args"` its arguments.
    #[default]
    Split,
    /// `"command"` is an array of the program and its arguments.
    Array,
}

impl ServersFile {
    fn path(&self, places: &Places<'_>) -> PathBuf {
        if self.project {
            return places.project().join(&self.path);
        }
        let mac = self.mac.as_ref().filter(|_| guard_system::IS_MACOS);
        places.home().join(mac.unwrap_or(&self.path))
    }

    /// Returns the text of this file with guard in front of its servers, or without guard: the backup if only guard
    /// changed the file since.
    fn changed(
        &self,
        path: &Path,
        old: &str,
        guard: &str,
        backups: &Backups,
        takes_out: bool,
    ) -> Result<Wrapped, WrapError> {
        let mut done = if path.extension().is_some_and(|extension| extension == "toml") {
            wrap::toml(old, &self.keys, guard, takes_out)?
        } else {
            wrap::json(old, &self.keys, ConfigStyle { form: self.form, http: &self.http }, guard, takes_out)?
        };
        if takes_out && let Some(kept) = backups.kept(path, old).filter(|kept| kept.untouched) {
            done.text = kept.before.unwrap_or(done.text);
        }
        Ok(done)
    }
}

fn clients() -> Result<Clients, InstallError> {
    toml::from_str(CLIENTS).map_err(|error| InstallError::Wrong(error.to_string()))
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Returns the backups of the clients' files, which are below the directory of the record.
#[must_use]
pub fn backups(data: &Path) -> Backups {
    Backups::new(&data.join("mcp"))
}

/// The clients' configurations without guard.
#[derive(Debug, Default)]
pub struct TakenOut {
    /// The files that change, each with its current text and its text without guard.
    pub files: Vec<(PathBuf, String, String)>,
    /// A sentence for each file that guard changed earlier and can no longer parse.
    pub problems: Vec<String>,
}

/// Returns the account's files without guard in front of their servers.
///
/// # Errors
/// guard's own list of clients, or guard itself, cannot be found.
pub fn taken_out(places: &Places<'_>, backups: &Backups) -> Result<TakenOut, InstallError> {
    let mut all = TakenOut::default();
    let (clients, guard) = (clients()?, places.guard()?);
    for place in clients.client.iter().flat_map(|client| &client.file).filter(|place| !place.project) {
        let path = place.path(places);
        if is_yaml(&path) {
            continue;
        }
        let Ok(Some(old)) = file::read(&path) else { continue };
        match place.changed(&path, &old, &guard, backups, true) {
            Ok(done) if done.text == old => {}
            Ok(done) => all.files.push((path, old, done.text)),
            // Ignore the error if guard never changed the file.
            Err(why) if backups.kept(&path, &old).is_some() => {
                all.problems.push(format!("{}: {why}; not changed", path.display()));
            }
            Err(_) => {}
        }
    }
    Ok(all)
}

pub(super) struct Install<'a> {
    pub args: &'a InstallArgs,
    pub places: &'a Places<'a>,
    pub backups: Backups,
    pub look: Look,
}

impl Install<'_> {
    /// Handles every client, or the named one. The exit code is 126 if the person declines.
    ///
    /// # Errors
    /// A configuration cannot be parsed or written. Nothing of that client is changed then.
    pub fn run(&self) -> Result<u8, InstallError> {
        let clients = clients()?;
        let names = || clients.client.iter().map(|client| client.name.as_str()).collect::<Vec<_>>().join(", ");
        let wanted: Vec<&Client> = match &self.args.client {
            Some(name) => clients.client.iter().filter(|client| client.name == *name).collect(),
            None if self.args.all => clients.client.iter().collect(),
            None => return Err(InstallError::Wrong(format!("give a client or --all; clients: {}", names()))),
        };
        if wanted.is_empty() {
            let name = self.args.client.as_deref().unwrap_or_default();
            return Err(InstallError::Wrong(format!("unknown MCP client {name}; known clients: {}", names())));
        }
        let (mut code, mut found) = (exit::ALLOW, false);
        for client in wanted {
            for place in client.file.iter().filter(|place| place.project == self.args.project) {
                match self.file(client, place) {
                    Ok(None) => {}
                    Ok(Some(one)) => {
                        found = true;
                        code = code.max(one);
                    }
                    Err(why) => {
                        found = true;
                        writeln!(io::stderr(), "guard: {why}")?;
                        code = exit::FAILED;
                    }
                }
            }
        }
        if !found {
            let what = if self.args.uninstall {
                "No MCP server of a configuration is behind guard"
            } else {
                "No configuration with MCP servers found"
            };
            let said = screen::fitted(&format!("{what}; known clients: {}.\n", names()));
            io::stdout().write_all(said.as_bytes())?;
        }
        Ok(code)
    }

    /// Returns a message about the servers in a file that guard does not change, or `None` if there are none.
    fn left_out(
        &self,
        client: &Client,
        place: &ServersFile,
        path: &Path,
        text: &str,
    ) -> Result<Option<u8>, InstallError> {
        let key = place.keys.iter().flatten().next().map_or("", String::as_str);
        let what = match yaml::servers(text, key, &place.starts) {
            Some(servers) if servers.is_empty() => return Ok(None),
            Some(servers) => servers.join(", "),
            None => format!("the entries below {key}"),
        };
        let how = match self.args.uninstall {
            true => "remove guard from its servers by hand",
            false => {
                "by hand, put guard mcp --name NAME -- before the command of each, or replace it by guard mcp --http \
                 ADDRESS"
            }
        };
        let (title, path) = (&client.title, path.display());
        writeln!(io::stdout(), "{title}: {path}: {what}: not changed, because guard does not edit YAML; {how}")?;
        Ok(Some(exit::ALLOW))
    }

    /// Handles one file. Returns `None` if it does not exist or has no servers.
    fn file(&self, client: &Client, place: &ServersFile) -> Result<Option<u8>, InstallError> {
        let path = place.path(self.places);
        let wrong = |why: &dyn Display| InstallError::Wrong(format!("{}: {why}; not changed", path.display()));
        let Some(old) = file::read(&path).map_err(|why| wrong(&why))? else { return Ok(None) };
        if is_yaml(&path) {
            return self.left_out(client, place, &path, &old);
        }
        let guard = self.places.guard()?;
        let done = place.changed(&path, &old, &guard, &self.backups, self.args.uninstall).map_err(|why| wrong(&why))?;
        let kept = self.backups.kept(&path, &old);
        let mut out = io::stdout().lock();
        for (server, why) in &done.left {
            let said = screen::fitted(&format!("{}: {server}: not changed: {why}\n", client.title));
            out.write_all(said.as_bytes())?;
        }
        if done.text == old {
            if done.servers == 0 && done.left.is_empty() {
                return Ok(None);
            }
            let what = if self.args.uninstall { "not behind guard" } else { "already behind guard" };
            writeln!(out, "{}: {}: {what}", client.title, path.display())?;
            return Ok(Some(exit::ALLOW));
        }
        let shown =
            format!("{}: {}\n{}", client.title, path.display(), style::render(&diff(&old, &done.text), &self.look));
        if self.args.dry_run {
            write!(out, "{shown}")?;
            writeln!(out, "{}: not changed (--dry-run)", client.title)?;
            return Ok(Some(exit::ALLOW));
        }
        if self.args.yes {
            write!(out, "{shown}")?;
        } else if !confirm(&shown, if self.args.uninstall { "Remove guard?" } else { "Make this change?" })? {
            writeln!(out, "{}: not changed", client.title)?;
            return Ok(Some(exit::REFUSED));
        }
        if self.args.uninstall {
            file::replace(&path, Some(&old), &done.text, false).map_err(|why| wrong(&why))?;
            self.backups.forget(&path);
            writeln!(out, "{}: guard removed", client.title)?;
        } else {
            // The text before guard: the backup if only guard changed the file since, or else the current text.
            let before = kept.filter(|kept| kept.untouched).and_then(|kept| kept.before).unwrap_or_else(|| old.clone());
            self.backups.keep(&path, Some(&before), &done.text, &[]).map_err(|why| wrong(&why))?;
            file::replace(&path, Some(&old), &done.text, false).map_err(|why| wrong(&why))?;
            writeln!(out, "{}: {} now behind guard. Restart it.", client.title, servers(done.servers))?;
            writeln!(out, "  {} before the change: {}", path.display(), self.backups.copy(&path).display())?;
        }
        Ok(Some(exit::ALLOW))
    }
}

fn servers(count: usize) -> String {
    format!("{count} {}", if count == 1 { "server is" } else { "servers are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clients_can_be_read_and_no_path_is_absolute() {
        let clients: Clients = toml::from_str(CLIENTS).unwrap();
        for client in &clients.client {
            assert!(
                !client.file.is_empty()
                    && client.file.iter().all(|place| !place.path.starts_with('/') && !place.keys.is_empty())
            );
        }
        let mut names: Vec<&str> = clients.client.iter().map(|client| client.name.as_str()).collect();
        names.dedup();
        assert_eq!(names.len(), clients.client.len());
    }
}
