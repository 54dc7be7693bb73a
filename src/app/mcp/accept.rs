//! `guard mcp pins`: shows the pinned and the current tool descriptions of servers, and lets a person accept the
//! current ones.

use std::io::{self, Write as _};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::pins::{Pin, PinFile, Pins};
use crate::app::engine::{self, Engine};
use crate::app::failure::{Failure, unless_unread};
use crate::app::{exit, screen};
use crate::judge::tools::ToolWarning;
use crate::prompt::confirm::confirm;
use crate::ui::visible;

/// The arguments of `guard mcp pins`.
#[derive(Debug, Args)]
pub struct PinsArgs {
    #[command(subcommand)]
    what: Option<Action>,
    /// Print one JSON object a tool
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the servers, and tools with changed or suspicious descriptions
    List {
        /// Print one JSON object a tool
        #[arg(long)]
        json: bool,
    },
    /// Show a server's current descriptions, and accept them
    Accept(PinSelector),
    /// Forget a server's descriptions; they are pinned again at its next start
    Remove(PinSelector),
}

#[derive(Debug, Args)]
struct PinSelector {
    /// The server, as guard mcp pins lists it
    #[arg(value_name = "SERVER")]
    server: String,
    /// One of its tools (default: all)
    #[arg(value_name = "TOOL")]
    tool: Option<String>,
}

impl Pin {
    /// Pins the current description and marks it as accepted.
    pub(super) fn accept(&mut self) {
        if let Some(now) = self.changed.take() {
            self.told = now;
        }
        self.accepted = true;
    }
}

/// Lists, accepts or removes pins. The exit code is 126 if the person declines.
///
/// # Errors
/// The pins cannot be read or written.
pub fn run(args: &PinsArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let pins = Pins::of(engine::paths()?.directory());
    match &args.what {
        None => unless_unread(list(&engine, &pins, args.json)),
        Some(Action::List { json }) => unless_unread(list(&engine, &pins, *json || args.json)),
        Some(Action::Accept(which)) => accept_or_remove(&engine, &pins, which, true),
        Some(Action::Remove(which)) => accept_or_remove(&engine, &pins, which, false),
    }
}

fn list(engine: &Engine, pins: &Pins, as_json: bool) -> Result<u8, Failure> {
    let book = pins.read().map_err(|error| Failure::Message(error.to_string()))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if book.servers.is_empty() && !as_json {
        let said = "No server is pinned yet; guard mcp -- COMMAND runs one behind guard.\n";
        out.write_all(screen::fitted(said).as_bytes())?;
    }
    for (server, tools) in &book.servers {
        if !as_json {
            let since = tools.values().map(|pin| pin.since).min();
            let since = since.map_or(String::new(), |since| format!(", since {}", since.strftime("%Y-%m-%d %H:%M")));
            let noun = if tools.len() == 1 { "tool" } else { "tools" };
            writeln!(out, "{}: {} {noun}{since}", visible::text(server), tools.len())?;
        }
        for (name, pin) in tools {
            let marks = book.marks(server, name, None, &engine.catalog);
            if as_json {
                let row = json!({ "server": server, "tool": name, "since": pin.since, "accepted": pin.accepted,
                    "marks": marks, "told": pin.told, "now": pin.changed });
                writeln!(out, "{row}")?;
                continue;
            }
            for mark in marks {
                writeln!(out, "  {}: {}", visible::text(name), visible::text(&said(&mark, pin)))?;
            }
        }
    }
    out.flush()?;
    Ok(exit::ALLOW)
}

/// Describes a warning about a tool.
fn said(mark: &ToolWarning, pin: &Pin) -> String {
    match mark {
        ToolWarning::Changed => {
            let parts = pin.changed.as_ref().map(|now| different(&pin.told, now)).unwrap_or_default();
            format!("changed since it was pinned ({})", parts.join(", "))
        }
        ToolWarning::Shadows(other) => format!("{other} has a tool with the same name"),
        ToolWarning::Instructs(what) => format!("its description contains {what}"),
    }
}

/// Returns the names of the members in which two descriptions differ.
fn different(old: &Value, new: &Value) -> Vec<String> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return vec!["all of it".to_owned()] };
    let mut names: Vec<&String> =
        old.keys().chain(new.keys()).filter(|name| old.get(*name) != new.get(*name)).collect();
    names.sort();
    names.dedup();
    names.into_iter().cloned().collect()
}

fn accept_or_remove(engine: &Engine, pins: &Pins, which: &PinSelector, accepts: bool) -> Result<u8, Failure> {
    let refuse = |why: &str| -> Result<u8, Failure> {
        writeln!(io::stderr(), "guard: refused: {why}")?;
        Ok(exit::REFUSED)
    };
    let caller = &engine.caller;
    if caller.origin.is_guarded() || !caller.terminal.is_person_here() {
        return refuse("only a person at their own terminal can accept a server's descriptions, not a guarded session");
    }
    let book = pins.read().map_err(|error| Failure::Message(error.to_string()))?;
    let Some(tools) = book.servers.get(&which.server) else {
        return Err(Failure::Message(format!("no server {}; guard mcp pins lists the servers", which.server)));
    };
    if let Some(tool) = which.tool.as_ref().filter(|tool| !tools.contains_key(*tool)) {
        return Err(Failure::Message(format!(
            "{} has no tool {tool}; guard mcp pins --json lists the tools",
            which.server
        )));
    }
    let is_wanted = |name: &String| which.tool.as_ref().is_none_or(|wanted| wanted == name);
    let mut text = String::new();
    for (name, pin) in tools.iter().filter(|(name, _)| is_wanted(name)) {
        for mark in book.marks(&which.server, name, None, &engine.catalog) {
            text.push_str(&format!("{}: {}\n", visible::text(name), visible::text(&said(&mark, pin))));
        }
        if let Some(now) = &pin.changed {
            let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
            for (sign, value) in [("-", &pin.told), ("+", now)] {
                pretty(value).lines().for_each(|line| text.push_str(&format!("  {sign} {}\n", visible::text(line))));
            }
        }
    }
    if text.is_empty() && accepts {
        writeln!(io::stdout(), "{} has not changed since it was pinned.", visible::text(&which.server))?;
        return Ok(exit::ALLOW);
    }
    let question = if accepts { "Accept this?" } else { "Forget the pinned descriptions?" };
    if !confirm(&text, question)? {
        return refuse("not changed");
    }
    pins.change(|book| change(book, which, accepts)).map_err(|error| Failure::Message(error.to_string()))?;
    writeln!(io::stdout(), "{}", if accepts { "Accepted." } else { "Forgotten." })?;
    Ok(exit::ALLOW)
}

fn change(book: &mut PinFile, which: &PinSelector, accepts: bool) {
    let Some(tools) = book.servers.get_mut(&which.server) else { return };
    let is_wanted = |name: &String| which.tool.as_ref().is_none_or(|wanted| wanted == name);
    if accepts {
        tools.iter_mut().filter(|(name, _)| is_wanted(name)).for_each(|(_, pin)| pin.accept());
    } else {
        tools.retain(|name, _| !is_wanted(name));
    }
    if tools.is_empty() {
        book.servers.remove(&which.server);
    }
}
