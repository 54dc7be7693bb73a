//! `guard check`: judges a command without running it.

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Deserialize;
use serde_json::Value;

use super::engine::Engine;
use super::failure::{Failure, unless_unread};
use super::tool::{Servers, ToolArgs, ToolDetails};
use super::{exit, screen};
use crate::judge::invocation::{Invocation, Origin, Request};
use crate::judge::policy::Decision;
use crate::ui::json::VerdictView;
use crate::ui::style::{self, Look, Style};
use crate::ui::{verdict, wrap};

/// The arguments of `guard check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The command string to judge; `-` reads it from standard input
    #[arg(required_unless_present_any = ["batch", "argv", "tool"], conflicts_with = "batch")]
    command: Option<OsString>,
    #[command(flatten)]
    tool: ToolArgs,
    /// Print the verdict as one JSON object
    #[arg(long)]
    json: bool,
    /// Read JSON Lines ({"command": …}, {"argv": […]} or {"tool": …, "input": {…}}, optional "cwd") and print a verdict
    /// for each, in order. A "cwd" that is relative or is no directory counts as unknown: the command is judged strictly,
    /// without looking at files
    #[arg(long, conflicts_with = "tool")]
    batch: bool,
    /// Judge as if the command came from this origin, with its thresholds
    #[arg(long, value_name = "ORIGIN", value_parser = origins())]
    origin: Option<Origin>,
    /// A program and its arguments, judged as they are
    #[arg(last = true, conflicts_with_all = ["command", "batch", "tool"])]
    argv: Vec<OsString>,
}

/// One line of a batch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckRow {
    command: Option<String>,
    argv: Option<Vec<String>>,
    tool: Option<String>,
    #[serde(default)]
    input: Value,
    #[serde(default)]
    server: Servers,
    description: Option<String>,
    #[serde(alias = "inputSchema")]
    schema: Option<Value>,
    annotations: Option<Value>,
    cwd: Option<PathBuf>,
}

/// Judges, prints the verdict, and returns the exit code.
///
/// # Errors
/// The engine could not start, or standard input or output failed.
pub fn run(args: &CheckArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    if args.batch {
        return batch(&engine, args.origin);
    }
    let request = match &args.command {
        Some(command) if command == "-" => {
            let mut text = Vec::new();
            io::Read::read_to_end(&mut io::stdin().lock(), &mut text)?;
            engine.plain_line(OsString::from_vec(text))?
        }
        Some(command) => engine.plain_line(command.clone())?,
        None => match args.tool.request(&engine)? {
            Some(request) => request,
            None => Request::Argv(args.argv.clone()),
        },
    };
    let mut invocation = engine.caller.invocation(request);
    invocation.origin = args.origin.unwrap_or(invocation.origin);
    let judged = engine.judge(&invocation);
    let command = invocation.display();
    let verdict = VerdictView::new(&command, invocation.origin, engine.policy(), &judged.judgment, &judged.decision);
    let text = if args.json {
        let mut text = serde_json::to_string(&verdict).map_err(io::Error::from)?;
        text.push('\n');
        text
    } else {
        let look = Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal());
        let line = verdict::verdict(&judged.decision, &judged.judgment.risk);
        let line = match verdict.reviewer {
            Some("settles") => line.with(Style::Dim, "  (the reviewer is asked first)"),
            Some(_) => line.with(Style::Dim, "  (with the reviewer's opinion)"),
            None => line,
        };
        style::render(&wrap::styled(&line, screen::columns()), &look)
    };
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(exit::after(printed, code(&judged.decision))?)
}

/// Returns the exit code for a decision.
pub(super) const fn code(decision: &Decision) -> u8 {
    match decision {
        Decision::Run(_) => exit::ALLOW,
        Decision::Ask(_) => exit::ASK,
        Decision::Refuse(_) => exit::DENY,
    }
}

/// Judges every line. The exit code depends on whether all lines could be parsed, not on the verdicts.
fn batch(engine: &Engine, origin: Option<Origin>) -> Result<u8, Failure> {
    unless_unread(judge_lines(engine, origin))
}

/// Returns the parser of the names of origins.
fn origins() -> impl TypedValueParser<Value = Origin> {
    let names = [Origin::Cli, Origin::Agent, Origin::Api, Origin::Discord, Origin::Telegram].map(Origin::name);
    PossibleValuesParser::new(names).try_map(|name| Origin::named(&name).ok_or("unknown origin"))
}

fn judge_lines(engine: &Engine, origin: Option<Origin>) -> Result<u8, Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut failed = false;
    // Reading all pattern files now keeps the policy from changing between two lines.
    let _ = engine.broken();
    let mut base = engine.caller.invocation(Request::Argv(Vec::new()));
    base.origin = origin.unwrap_or(base.origin);
    for (number, line) in io::stdin().lock().split(b'\n').enumerate() {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let row = serde_json::from_slice::<CheckRow>(&line).map_err(|error| error.to_string()).and_then(|row| {
            let request = match (row.command, row.argv, row.tool) {
                (Some(command), None, None) => engine.plain_line(command.into()).map_err(|error| error.to_string()),
                (None, Some(argv), None) => Ok(Request::Argv(argv.into_iter().map(OsString::from).collect())),
                (None, None, Some(tool)) => {
                    let CheckRow { input, server, description, schema, annotations, .. } = row;
                    Ok(ToolDetails { input, server, description, schema, annotations }.request(engine, tool))
                }
                _ => Err("expected one of \"command\", \"argv\" and \"tool\"".to_owned()),
            }?;
            Ok((request, row.cwd))
        });
        match row {
            Ok((request, directory)) => {
                let mut invocation = Invocation { request, ..base.clone() };
                let judged = match directory {
                    Some(directory) => engine.judge_in(&directory, &mut invocation),
                    None => engine.judge(&invocation),
                };
                let (command, origin) = (invocation.display(), invocation.origin);
                let verdict = VerdictView::new(&command, origin, engine.policy(), &judged.judgment, &judged.decision);
                serde_json::to_writer(&mut out, &verdict).map_err(io::Error::from)?;
            }
            Err(error) => {
                failed = true;
                let place = number + 1;
                let error = format!("line {place}: {error}");
                serde_json::to_writer(&mut out, &serde_json::json!({ "error": error, "decision": "deny" }))
                    .map_err(io::Error::from)?;
            }
        }
        out.write_all(b"\n")?;
        // The caller may wait for each verdict before it writes the next line.
        out.flush()?;
    }
    Ok(if failed { exit::FAILED } else { exit::ALLOW })
}
