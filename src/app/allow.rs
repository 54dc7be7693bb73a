//! `guard allow`: adds, lists and revokes standing grants.
//!
//! A person gives a grant at a terminal of their own, after reading what it covers. Out of scope: what a grant may
//! cover, which the judge decides.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::{Timestamp, Zoned};
use thiserror::Error;

use super::approver::sign;
use super::engine::Engine;
use super::failure::{Failure, unless_unread};
use super::log::named;
use super::log::table::{end_of, place};
use super::shape_grant::{GrantError, ShapeGrant, shaped};
use super::tool::ToolArgs;
use super::{exit, time};
use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::approver;
use crate::judge::invocation::Invocation;
use crate::judge::policy::Refusal;
use crate::judge::risk::Tier;
use crate::judge::rules::model::SessionNote;
use crate::judge::tools;
use crate::prompt::confirm::confirm_prose;
use crate::store::{GrantEnd, GrantListing, NewGrant, StoreError};
use crate::ui::style::{self, Line, Look, Style};
use crate::ui::visible;

/// The arguments of `guard allow`.
#[derive(Debug, Args)]
pub struct AllowArgs {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the active grants
    List {
        /// Include grants that have ended
        #[arg(long)]
        all: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a grant: for exactly this command, in this directory, until this session ends
    Add(AddArgs),
    /// Revoke a grant
    Remove {
        /// The number of the grant, as `guard allow list` shows it
        #[arg(value_parser = number)]
        id: i64,
    },
}

/// An argument that is not the number of a grant.
#[derive(Clone, Copy, Debug, Error)]
#[error(
    "expected the number of a grant, as guard allow list shows it; a grant of the configuration is removed in its file"
)]
struct NumberError;

/// Parses the number of a grant.
fn number(text: &str) -> Result<i64, NumberError> {
    text.parse().map_err(|_| NumberError)
}

#[derive(Debug, Args)]
struct AddArgs {
    /// The command string
    #[arg(required_unless_present_any = ["rule", "tool"], allow_hyphen_values = true)]
    command: Option<OsString>,
    #[command(flatten)]
    tool: ToolArgs,
    /// Cover the same command with other files inside the directory
    #[arg(long, conflicts_with = "rule")]
    shape: bool,
    /// Cover every command that only this rule matches, instead of one command
    #[arg(long, value_name = "RULE", conflicts_with_all = ["command", "tool"])]
    rule: Option<String>,
    /// Apply in this directory and below
    #[arg(long, alias = "folder", value_name = "DIR", conflicts_with = "anywhere")]
    directory: Option<PathBuf>,
    /// Apply in every directory
    #[arg(long)]
    anywhere: bool,
    /// Apply in every session until this time: 2h, 3d, 2026-11-21
    #[arg(long, value_name = "TIME", conflicts_with = "always")]
    until: Option<String>,
    /// Apply in every session until revoked
    #[arg(long)]
    always: bool,
}

/// Lists, adds or revokes grants. Returns the exit code: 126 if a grant is refused or the person declines.
///
/// # Errors
/// The engine cannot start, the record cannot be used, or an argument is invalid.
pub fn run(args: &AllowArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let now = Zoned::now();
    match &args.what {
        Action::List { all, json } => unless_unread(list(&engine, *all, *json, &now)),
        Action::Add(args) => add(&engine, args, &now),
        Action::Remove { id } => {
            let store = engine.existing()?.ok_or_else(|| StoreError::Refused {
                why: format!("no grant {id}; guard allow list shows all grants"),
            })?;
            store.revoke(*id, &engine.caller.account.name, now.timestamp())?;
            writeln!(io::stdout(), "Revoked grant {id}.")?;
            Ok(exit::ALLOW)
        }
    }
}

fn list(engine: &Engine, all: bool, as_json: bool, now: &Zoned) -> Result<u8, Failure> {
    let mut grants = match engine.existing()? {
        Some(store) => store.grants(now.timestamp())?,
        None => Vec::new(),
    };
    // Grants of the configuration come first: they are the oldest, and no row ends them.
    let configured =
        engine.config().grants.iter().map(|grant| GrantListing { grant: grant.clone(), user: None, ended: None });
    grants.splice(0..0, configured);
    grants.retain(|listed| all || listed.ended.is_none());
    let mut out = io::BufWriter::new(io::stdout().lock());
    if as_json {
        for listed in &grants {
            serde_json::to_writer(&mut out, &json(listed)).map_err(io::Error::from)?;
            out.write_all(b"\n")?;
        }
    } else if grants.is_empty() {
        writeln!(out, "No active grants.")?;
    } else {
        let look = Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal());
        let lines: Vec<Line> = grants.iter().flat_map(|listed| drawn(listed, &engine.caller.session.id, now)).collect();
        out.write_all(style::render(&lines, &look).as_bytes())?;
    }
    out.flush()?;
    Ok(exit::ALLOW)
}

fn json(listed: &GrantListing) -> serde_json::Value {
    let grant = &listed.grant;
    let ended = match listed.ended {
        None => None,
        Some(GrantEnd::Revoked { .. }) => Some("revoked"),
        Some(GrantEnd::Past) => Some("past"),
        Some(GrantEnd::Altered) => Some("altered"),
    };
    serde_json::json!({
        "id": grant.id.to_string(), "what": grant.what, "place": grant.place, "until": grant.until,
        "given": Timestamp::from_second(grant.given).ok().map(|time| time.to_string()),
        "words": grant.words, "user": listed.user, "ended": ended,
    })
}

fn drawn(listed: &GrantListing, session: &str, now: &Zoned) -> [Line; 2] {
    let grant = &listed.grant;
    let (shown, upto);
    let (kind, what) = match &grant.what {
        GrantSubject::Exact { command } => ("exactly", command),
        GrantSubject::Shape(scope) => {
            shown = match &scope.within {
                Some(within) => format!("{} inside {within}", scope.shape),
                None => scope.shape.clone(),
            };
            ("shape", &shown)
        }
        GrantSubject::Rule { rule } => ("rule", rule),
        GrantSubject::UpTo { tier } => {
            upto = tier.number().to_string();
            ("up to tier", &upto)
        }
    };
    let until = match &grant.until {
        GrantExpiry::Session { id } if id == session => "until this session ends".to_owned(),
        GrantExpiry::Session { id } => format!("until session {id} ends"),
        GrantExpiry::Date { .. } => format!("until {}", end_of(&grant.until, now.time_zone())),
        GrantExpiry::Revoked => "until revoked".to_owned(),
    };
    let ended = match listed.ended {
        None => String::new(),
        Some(GrantEnd::Revoked { at }) => Timestamp::from_millisecond(at)
            .map_or_else(|_| "; revoked".to_owned(), |at| format!("; revoked {}", time::format(at, now.time_zone()))),
        Some(GrantEnd::Past) => "; expired".to_owned(),
        Some(GrantEnd::Altered) => "; invalid: its row was changed after it was written".to_owned(),
    };
    let by = listed.user.as_ref().map_or(String::new(), |user| format!("; given by {user}"));
    [
        Line::of(Style::Strong, format!("{:>6}", grant.id.to_string())).with(Style::Plain, format!("  {kind}: {what}")),
        Line::of(Style::Dim, format!("        in {}, {until}{by}{ended}", place(&grant.place))),
    ]
}

/// Adds a grant after a person has read what it covers.
fn add(engine: &Engine, args: &AddArgs, now: &Zoned) -> Result<u8, Failure> {
    let caller = &engine.caller;
    if caller.origin.is_guarded() || !caller.terminal.is_person_here() {
        return refuse("only a person at their own terminal can add a grant, not a guarded session");
    }
    let place = match (&args.directory, args.anywhere) {
        (_, true) => GrantPlace::Anywhere,
        (Some(directory), false) => GrantPlace::Directory { path: named(&caller.cwd.join(directory)) },
        (None, false) => GrantPlace::Directory { path: caller.cwd.to_string_lossy().into_owned() },
    };
    let (what, examples) = match what(engine, args, &place)? {
        Ok(what) => what,
        Err(why) => return refuse(&why.to_string()),
    };
    let until = match (&args.until, args.always) {
        (Some(time), _) => {
            let at = time::future(time, now).map_err(|why| Failure::Message(format!("--until: {why}")))?;
            GrantExpiry::Date { at: at.as_second() }
        }
        (None, true) => GrantExpiry::Revoked,
        (None, false) => GrantExpiry::Session { id: caller.session.id.clone() },
    };
    let words = words(&what, &place, &until, now);
    let shown = format!("Guard would run without asking: {}.\n{examples}", visible::text(&words));
    if !confirm_prose(&shown, "Add this grant?")? {
        return refuse("grant not added");
    }
    // A grant can let a command of tier 3 run repeatedly.
    let enrolled = engine.approvers();
    if sign::is_wanted(&enrolled, Tier::High, 1)
        && let Err(why) = sign::sign(&enrolled, "To add this grant", &approver::grant(&words), &[])
    {
        return refuse(&Refusal::Unsigned { why: why.to_string() }.to_string());
    }
    let grant = NewGrant {
        what: &what,
        place: &place,
        until: &until,
        words: &words,
        user: &caller.account.name,
        session: &caller.session.id,
    };
    let id = engine.store().map_err(|error| Failure::Message(error.to_string()))?.grant(&grant, now.timestamp())?;
    writeln!(io::stdout(), "Added grant {id}. To revoke it: guard allow remove {id}")?;
    Ok(exit::ALLOW)
}

/// What a grant covers, and for a shape the examples that explain it.
type Explained = (GrantSubject, String);

/// Returns what the grant covers, or the reason why no grant can cover it.
fn what(engine: &Engine, args: &AddArgs, place: &GrantPlace) -> Result<Result<Explained, GrantError>, Failure> {
    if let Some(id) = &args.rule {
        let Some(rule) = engine.catalog.rule(id) else {
            return Err(Failure::Message(format!("no rule {id}; guard patterns list shows all rules")));
        };
        return Ok(match rule.tier {
            Tier::Critical => Err(GrantError::RuleCritical(id.clone())),
            _ if rule.approvals > 1 => Err(GrantError::RuleApprovers(id.clone())),
            _ if rule.notes.contains(&SessionNote::Decision) => Err(GrantError::RuleDecision(id.clone())),
            _ if rule.deny => Err(GrantError::RuleDenies(id.clone())),
            _ => Ok((GrantSubject::Rule { rule: id.clone() }, String::new())),
        });
    }
    let request = match args.tool.request(engine)? {
        Some(request) => request,
        None => engine.plain_line(args.command.clone().unwrap_or_default())?,
    };
    let invocation: Invocation = engine.caller.invocation(request);
    let judgment = engine.judge(&invocation).judgment;
    if judgment.risk.tier == Tier::Critical {
        return Ok(Err(GrantError::Critical));
    }
    if engine.policy().approvals.wanted(&judgment.risk) > 1 {
        return Ok(Err(GrantError::Approvers));
    }
    if !judgment.may_grant {
        return Ok(Err(match invocation.tool() {
            Some(_) if tools::pays(&judgment.risk.findings) => GrantError::Payment,
            Some(call) if !call.hidden.is_empty() => GrantError::Hidden,
            Some(_) => GrantError::CallOfShell,
            None => GrantError::Shell,
        }));
    }
    if !args.shape {
        return Ok(Ok((GrantSubject::Exact { command: invocation.display() }, String::new())));
    }
    Ok(ShapeGrant::of(engine, &invocation, place).map(|grant| (grant.subject(), grant.examples())))
}

/// Describes what a grant covers, as part of a sentence.
fn words(what: &GrantSubject, where_: &GrantPlace, until: &GrantExpiry, now: &Zoned) -> String {
    let what = match what {
        GrantSubject::Exact { command } => format!("exactly `{command}`"),
        GrantSubject::Shape(scope) => shaped(scope),
        GrantSubject::UpTo { tier } => format!("all commands of tier {} and below", tier.number()),
        GrantSubject::Rule { rule } => format!("any command that only the rule {rule} matches"),
    };
    let until = match until {
        GrantExpiry::Session { .. } => "until this session ends".to_owned(),
        GrantExpiry::Date { .. } => format!("until {}", end_of(until, now.time_zone())),
        GrantExpiry::Revoked => "in every session, until revoked".to_owned(),
    };
    let where_ = match where_ {
        GrantPlace::Directory { .. } => format!("in {}", place(where_)),
        GrantPlace::Anywhere => "in every directory".to_owned(),
    };
    format!("{what}, {where_}, {until}")
}

fn refuse(why: &str) -> Result<u8, Failure> {
    writeln!(io::stderr(), "guard: refused: {why}")?;
    Ok(exit::REFUSED)
}
