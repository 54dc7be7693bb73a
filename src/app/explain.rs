//! `guard explain`: draws how a command is judged.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::Args;

use super::check::code;
use super::engine::Engine;
use super::evidence;
use super::exit;
use super::failure::Failure;
use super::tool::ToolArgs;
use crate::judge::invocation::Request;
use crate::judge::policy::Decision;
use crate::judge::review;
use crate::ui::card_view::CardView;
use crate::ui::explain::{self, ExplainView};
use crate::ui::parts::parts;
use crate::ui::style::{self, Look};

/// The arguments of `guard explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The command string to explain
    #[arg(required_unless_present_any = ["argv", "tool"])]
    command: Option<OsString>,
    #[command(flatten)]
    tool: ToolArgs,
    /// A program and its arguments, explained as they are
    #[arg(last = true, conflicts_with_all = ["command", "tool"])]
    argv: Vec<OsString>,
}

/// Draws the explanation. The exit code is that of `guard check`.
///
/// # Errors
/// The engine cannot start, or standard output cannot be written.
pub fn run(args: &ExplainArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let request = match &args.command {
        Some(command) => engine.plain_line(command.clone())?,
        None => match args.tool.request(&engine)? {
            Some(request) => request,
            None => Request::Argv(args.argv.clone()),
        },
    };
    let invocation = engine.caller.invocation(request);
    let judged = engine.judge(&invocation);
    let threshold = engine.policy().thresholds.of(invocation.origin);
    let card = CardView {
        evidence: evidence::evidence(&engine, &invocation, &judged.judgment),
        ..CardView::new(&invocation, judged.judgment.risk.clone(), threshold)
    };
    let role = review::role(&judged.judgment, engine.policy());
    let reviewer = if matches!(judged.decision, Decision::Ask(_)) { explain::reviewer(&role) } else { None };
    let view = ExplainView {
        parts: parts(&card.command, &judged.judgment),
        outcome: reviewer.into_iter().chain(explain::outcome(&judged.decision)).collect(),
        card,
    };
    let terminal = io::stdout().is_terminal();
    let look = Look::from_environment(|name| std::env::var(name).ok(), terminal);
    let columns = if terminal { crossterm::terminal::size().map_or(80, |(columns, _)| columns.into()) } else { 80 };
    let text = style::render(&explain::explain(&view, columns, &look), &look);
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(exit::after(printed, code(&judged.decision))?)
}
