//! `guard man [PAGE]`: the manual pages, for where guard was installed without its files.
//!
//! What may not enter: a pager or a program that formats. A page is printed as its source, which `man` reads.

use std::io::{self, Write as _};

use clap::Args;

use super::exit;
use super::failure::Failure;

/// The arguments of `guard man`.
#[derive(Debug, Args)]
#[command(after_help = "To read one: guard man guard-record > /tmp/page && man /tmp/page")]
pub struct ManArgs {
    /// The page, with or without its section (guard-record, guard-record.7); without one, the pages are listed
    page: Option<String>,
}

/// A manual page: its file name, what it is about, its source.
pub const PAGES: &[(&str, &str, &str)] = &[
    ("guard.1", "every verb and option, every key of the configuration, exit codes", include_str!("../../man/guard.1")),
    ("guard-agents.7", "each agent, and what it does when guard fails", include_str!("../../man/guard-agents.7")),
    ("guard-approvals.7", "the queue, who may answer, approver keys", include_str!("../../man/guard-approvals.7")),
    ("guard-gateway.8", "answers from afar: the API, the page, messengers", include_str!("../../man/guard-gateway.8")),
    ("guard-record.7", "the record: what it shows, how long it is kept", include_str!("../../man/guard-record.7")),
    ("guard-reviewer.7", "another model's opinion before a person's", include_str!("../../man/guard-reviewer.7")),
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
    let Some((_, _, source)) = PAGES.iter().find(|(name, _, _)| is_wanted(name)) else {
        return Err(Failure::Said(format!("there is no page {wanted}: guard man lists them")));
    };
    out.write_all(source.as_bytes())?;
    Ok(exit::ALLOW)
}
