//! `guard man [PAGE]`: shows the manual pages, for installations without the files. On a terminal a page is shown by
//! `man`, or as plain text if `man` is missing; elsewhere its source is printed.
//!
//! Out of scope: converting a page to text (`plain`).

mod plain;

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;

use super::failure::Failure;
use super::packed_text::{PackedText, packed_text};
use super::pager::Output;
use super::scratch::Scratch;
use super::{exit, screen};
use crate::config::keys::nearest;
use crate::exec::tool::Tool;

/// The arguments of `guard man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The page, with or without its section (guard-record, guard-record.7); without a page, lists all pages
    page: Option<String>,
    /// Print the roff source
    #[arg(long, requires = "page")]
    roff: bool,
}

/// The manual pages: the file name, the subject (with the same words as in README.md and docs/start.md), and the
/// source.
pub const PAGES: &[(&str, &str, PackedText)] = &[
    ("guard.1", "commands, options, configuration keys, exit codes", packed_text!("guard.1")),
    (
        "guard-agents.7",
        "each agent, and what it does when guard fails, is late or is missing",
        packed_text!("guard-agents.7"),
    ),
    (
        "guard-approvals.7",
        "the queue, approvers and their keys, two-person approval, the system service",
        packed_text!("guard-approvals.7"),
    ),
    ("guard-gateway.8", "remote approval: API, web page, messengers", packed_text!("guard-gateway.8")),
    ("guard-record.7", "the audit record: contents, limits, retention, export", packed_text!("guard-record.7")),
    ("guard-reviewer.7", "a second model that reviews commands", packed_text!("guard-reviewer.7")),
    ("guard-patterns.5", "writing your own rules", packed_text!("guard-patterns.5")),
];

/// Prints a page or the list of them, and returns the exit code.
///
/// # Errors
/// There is no such page, or standard output cannot be written.
pub fn run(args: &ManArgs) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    let Some(wanted) = &args.page else {
        for (name, about, _) in PAGES {
            out.write_all(screen::fitted(&format!("{name:18}  {about}\n")).as_bytes())?;
        }
        return Ok(exit::ALLOW);
    };
    let is_wanted = |name: &str| name == wanted || name.rsplit_once('.').is_some_and(|(stem, _)| stem == wanted);
    let Some((name, _, source)) = PAGES.iter().find(|(name, _, _)| is_wanted(name)) else {
        let names = PAGES.iter().map(|(name, _, _)| name.split('.').next().unwrap_or(name));
        let near = nearest(wanted, names).map_or_else(String::new, |name| format!(" (did you mean {name}?)"));
        return Err(Failure::Message(format!("no manual page {wanted}{near}; guard man lists the pages")));
    };
    let source = source.text();
    if args.roff || !out.is_terminal() {
        out.write_all(source.as_bytes())?;
        return Ok(exit::ALLOW);
    }
    drop(out);
    if read(name, &source).is_some_and(|shown| shown) {
        return Ok(exit::ALLOW);
    }
    let text = plain::page(&source, screen::columns());
    Output::new(true).write_all(text.as_bytes())?;
    Ok(exit::ALLOW)
}

/// Shows a page with `man`. Returns whether that worked, or `None` if `man` is missing.
fn read(name: &str, source: &str) -> Option<bool> {
    let directory = Scratch::new("man").ok()?;
    let path = directory.path().join(name);
    std::fs::write(&path, source).ok()?;
    let status = Tool::named("man").ok()?.arg("-l").arg(&path).status().ok()?;
    Some(status.success())
}
