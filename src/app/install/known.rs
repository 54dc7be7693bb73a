//! The output of `guard install` without an agent: the known agents, which of them are installed, and what to type
//! next.

use std::io::{self, Write as _};

use super::InstallError;
use super::hook_installer::asks;
use super::hosts::HOSTS;
use super::places::Places;
use crate::app::{exit, screen};

/// Lists the agents. The exit code is that of a missing argument, because nothing was installed.
pub(super) fn list(places: &Places<'_>) -> Result<u8, InstallError> {
    let mut out = io::stdout().lock();
    writeln!(out, "Which agent should ask guard before each command?\n")?;
    let width = HOSTS.iter().map(|host| host.name.len()).max().unwrap_or(0);
    let title_width = HOSTS.iter().map(|host| host.title.chars().count()).max().unwrap_or(0);
    let mut first = None;
    for host in HOSTS.iter() {
        let mark = match (asks(places, host), places.is_there(host)) {
            (true, _) => "asks guard already",
            (false, true) => {
                first = first.or(Some(host.name));
                "found here"
            }
            (false, false) => "",
        };
        let line = format!("  {:width$}  {:title_width$}  {mark}", host.name, host.title);
        writeln!(out, "{}", line.trim_end())?;
    }
    writeln!(out, "  {:width$}  the servers of MCP clients (guard install mcp CLIENT)", "mcp")?;
    writeln!(out, "  {:width$}  links that replace the shells, for any other agent\n", "shims")?;
    let next = match first {
        Some(name) => format!(
            "Next: guard install {name}, or guard install --all for every agent found here. Both ask before they change \
             anything; --dry-run only shows the changes.\n"
        ),
        None => "Next: guard install AGENT, with a name of this list. It asks before it changes anything; --dry-run only shows \
                 the changes.\n"
            .to_owned(),
    };
    out.write_all(screen::fitted(&next).as_bytes())?;
    Ok(exit::FAILED)
}
