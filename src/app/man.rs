//! `guard man [PAGE]`: the manual pages, for where guard was installed without its files. On a terminal a page is read by
//! `man`, or as plain text where there is none; elsewhere its source is printed.
//!
//! What may not enter: how a page becomes text (`plain`).

mod plain;

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;

use super::failure::Failure;
use super::pager::Output;
use super::scratch::Scratch;
use super::{exit, screen};
use crate::config::keys::nearest;
use crate::exec::tool::Tool;

/// The arguments of `guard man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page, with or without its section (guard-record, guard-record.7); by default the pages are listed
    page: Option<String>,
    /// Print the roff source
    #[arg(long, requires = "page")]
    roff: bool,
}

/// A manual page: its file name, what it is about, its source.
pub const PAGES: &[(&str, &str, &str)] = &[
    ("guard.1", "all commands, options, configuration keys and exit codes", include_str!("../../man/guard.1")),
    ("guard-agents.7", "the agents, and what each does when guard fails", include_str!("../../man/guard-agents.7")),
    ("guard-approvals.7", "the queue, who can answer, approver keys", include_str!("../../man/guard-approvals.7")),
    (
        "guard-gateway.8",
        "answering from elsewhere: the API, the page, messengers",
        include_str!("../../man/guard-gateway.8"),
    ),
    ("guard-record.7", "the record: its contents and retention", include_str!("../../man/guard-record.7")),
    ("guard-reviewer.7", "asking another model before a person", include_str!("../../man/guard-reviewer.7")),
    ("guard-patterns.5", "rules of your own", include_str!("../../man/guard-patterns.5")),
];

/// Prints a page or the list of them, and returns the exit code.
///
/// # Errors
/// There is no such page, or standard output cannot be written.
pub fn run(args: &ManArgs) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    let Some(wanted) = &args.page else {
        for (name, about, _) in PAGES {
            writeln!(out, "{name:18}{about}")?;
        }
        return Ok(exit::ALLOW);
    };
    let is_wanted = |name: &str| name == wanted || name.rsplit_once('.').is_some_and(|(stem, _)| stem == wanted);
    let Some((name, _, source)) = PAGES.iter().find(|(name, _, _)| is_wanted(name)) else {
        let names = PAGES.iter().map(|(name, _, _)| name.split('.').next().unwrap_or(name));
        let near = nearest(wanted, names).map_or_else(String::new, |name| format!(" (did you mean {name}?)"));
        return Err(Failure::Said(format!("no manual page {wanted}{near}; guard man lists the pages")));
    };
    if args.roff || !out.is_terminal() {
        out.write_all(source.as_bytes())?;
        return Ok(exit::ALLOW);
    }
    drop(out);
    if read(name, source).is_some_and(|shown| shown) {
        return Ok(exit::ALLOW);
    }
    let text = plain::page(source, screen::columns());
    Output::new(true).write_all(text.as_bytes())?;
    Ok(exit::ALLOW)
}

/// Whether `man` showed the page; `None` where there is none.
fn read(name: &str, source: &str) -> Option<bool> {
    let directory = Scratch::new("man").ok()?;
    let path = directory.path().join(name);
    std::fs::write(&path, source).ok()?;
    let status = Tool::named("man").ok()?.arg("-l").arg(&path).status().ok()?;
    Some(status.success())
}
