//! `guard install mcp`: the servers in the configuration of MCP clients are started by `guard mcp`, and as before again.
//!
//! Which client keeps its servers where is data (`patterns/clients/mcp.toml`), and how a text is changed is in [`wrap`].
//! What may not enter: the wiring of hooks.

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

/// A file with servers in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ServersFile {
    path: String,
    mac: Option<String>,
    #[serde(default)]
    project: bool,
    #[serde(default)]
    form: ServersFormat,
    /// How servers are written that are reached over HTTP.
    #[serde(default)]
    http: Shape,
    keys: Vec<Vec<String>>,
    /// In a file of YAML, the keys one of which an entry has that is a server: its program or its address.
    #[serde(default)]
    starts: Vec<String>,
}

/// How a server is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ServersFormat {
    /// `"command"` is the program, `"args"` its arguments.
    #[default]
    Split,
    /// `"command"` is both.
    Array,
}

pub(super) struct Install<'a> {
    pub args: &'a InstallArgs,
    pub places: &'a Places<'a>,
    pub backups: Backups,
    pub look: Look,
}

impl Install<'_> {
    /// Every client, or the one that is named; the exit code is 126 where a person says no.
    ///
    /// # Errors
    /// A configuration is broken or cannot be written; nothing of that client is changed then.
    pub fn run(&self) -> Result<u8, InstallError> {
        let clients: Clients = toml::from_str(CLIENTS).map_err(|error| InstallError::Wrong(error.to_string()))?;
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

    /// Says which servers stand in a file that guard does not change; `None` where there are none.
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

    fn path(&self, place: &ServersFile) -> PathBuf {
        if place.project {
            return self.places.project().join(&place.path);
        }
        let mac = place.mac.as_ref().filter(|_| guard_system::IS_MACOS);
        self.places.home().join(mac.unwrap_or(&place.path))
    }

    /// One file; `None` where it is not there or holds no servers.
    fn file(&self, client: &Client, place: &ServersFile) -> Result<Option<u8>, InstallError> {
        let path = self.path(place);
        let wrong = |why: &dyn Display| InstallError::Wrong(format!("{}: {why}; not changed", path.display()));
        let Some(old) = file::read(&path).map_err(|why| wrong(&why))? else { return Ok(None) };
        if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            return self.left_out(client, place, &path, &old);
        }
        let guard = self.places.guard()?;
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        let change = |text: &str| -> Result<Wrapped, WrapError> {
            match (is_toml, self.args.uninstall) {
                (true, takes_out) => wrap::toml(text, &place.keys, &guard, takes_out),
                (false, takes_out) => wrap::json(
                    text,
                    &place.keys,
                    ConfigStyle { form: place.form, http: &place.http },
                    &guard,
                    takes_out,
                ),
            }
        };
        let mut done = change(&old).map_err(|why| wrong(&why))?;
        let kept = self.backups.kept(&path, &old);
        if self.args.uninstall
            && let Some(before) = kept.as_ref().filter(|kept| kept.untouched).and_then(|kept| kept.before.clone())
        {
            done.text = before;
        }
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
            // What the file was before guard: the copy where only guard changed it since, else what it is now.
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
