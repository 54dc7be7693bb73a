//! `guard replay`: judges commands of the past, and reports how often guard would have asked.
//!
//! It reads the transcripts and databases of agents ([`transcripts`], [`database`]) or a file of commands
//! ([`history`]), judges each command up to the decision, and counts the results ([`tally`]). Out of scope: writing
//! anything, including the record.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use jiff::{Timestamp, Zoned};
use thiserror::Error;

pub mod database;
pub mod history;
pub mod lines;
pub mod report;
pub mod tally;
pub mod transcripts;

use super::engine::{self, Engine, EngineError};
use super::hook::call::ToolAction;
use super::time::TimeError;
use super::{exit, screen, time};
use crate::judge::invocation::{FileChange, Invocation, Origin, Request, quote};
use crate::judge::policy::{Decision, SessionState, decide};
use crate::judge::tools::ToolCall;
use crate::store::redact;
use tally::{DryVerdict, Tally};

/// The arguments of `guard replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A shell history (bash, zsh or fish), an agent's transcript or database, or one command per line; `-` is
    /// standard input. By default, the past sessions of all agents of guard-agents(7)
    file: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Only commands since this time: 2h, 3d, 1w, today, 2026-11-21
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Judge as if an agent or a person ran it [default: agent for transcripts, cli otherwise]
    #[arg(long, value_name = "WHO")]
    origin: Option<OriginArg>,
}

/// The origin that commands are judged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OriginArg {
    Agent,
    Cli,
}

/// A past tool call or command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastCall {
    pub action: ToolAction,
    /// The working directory, if known.
    pub cwd: Option<PathBuf>,
    pub at: Option<Timestamp>,
    /// The name of the agent, or `history`.
    pub by: &'static str,
}

/// A receiver of calls and of errors while files are read.
pub trait CallSink {
    fn add(&mut self, call: PastCall);
    /// Counts a line that is not JSON, or too long.
    fn skipped_line(&mut self);
    /// Notes a file that cannot be read.
    fn skipped_file(&mut self, path: &Path, why: &str);
}

/// The reason why nothing is replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Since(#[from] TimeError),
    #[error("there is no home directory")]
    NoHome,
    /// A transcript cannot be read.
    #[error("{}: {why}", file.display())]
    Transcript { file: PathBuf, why: String },
    #[error("{}: {error}", file.display())]
    History { file: PathBuf, error: io::Error },
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Print(#[from] io::Error),
}

/// Reads past calls, judges them and prints the report.
///
/// # Errors
/// An argument is invalid, the file cannot be read, or standard output failed.
pub fn run(args: &ReplayArgs) -> Result<u8, ReplayError> {
    let engine = Engine::open()?;
    let now = Zoned::now();
    let since = args.since.as_deref().map(|text| time::past(text, &now)).transpose()?;
    for problem in engine.problems() {
        // Ignore an error: the warning cannot be shown elsewhere.
        let _ = writeln!(io::stderr(), "guard: {problem}");
    }
    let mut replay = Replay::new(&engine, since, &now);
    match &args.file {
        Some(file) => {
            replay.origin = args.origin.map_or(Origin::Cli, OriginArg::origin);
            let transcript = transcripts::may_be(file);
            if transcript && args.origin.is_none() {
                replay.origin = Origin::Agent;
            }
            if transcript {
                transcripts::read_any(file, &mut replay);
                if let Some((_, why)) = replay.tally.unreadable.first() {
                    return Err(ReplayError::Transcript { file: file.clone(), why: why.clone() });
                }
            } else {
                history::read(file, &mut replay).map_err(|error| ReplayError::History { file: file.clone(), error })?;
            }
        }
        None => {
            replay.origin = args.origin.map_or(Origin::Agent, OriginArg::origin);
            let home = engine.caller.env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
            let home = home.or_else(|| engine.caller.account.home.clone()).ok_or(ReplayError::NoHome)?;
            let files = transcripts::find(&home, &engine.caller.env);
            let all = files.len();
            let mut seen = transcripts::SeenCalls::default();
            for (number, (source, file)) in files.iter().enumerate() {
                replay.place = format!("file {} of {all}", number + 1);
                transcripts::read(*source, file, &mut seen, &mut replay);
            }
            replay.tally.files = all;
        }
    }
    replay.progress.clear();
    let tally = replay.tally;
    let text = if args.json {
        let mut text = serde_json::to_string(&tally.json())?;
        text.push('\n');
        text
    } else {
        let mut text = report::text(&tally);
        if args.file.is_none() && tally.files == 0 {
            text.push_str(NO_SESSIONS);
        }
        screen::fitted(&text)
    };
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    Ok(exit::after(printed, exit::ALLOW)?)
}

/// The message if no sessions were found.
const NO_SESSIONS: &str = "No sessions of agents were found in your home directory. To judge a shell history: guard \
                           replay ~/.bash_history\n";

impl OriginArg {
    const fn origin(self) -> Origin {
        match self {
            Self::Agent => Origin::Agent,
            Self::Cli => Origin::Cli,
        }
    }
}

/// Judges and counts calls while they are read.
struct Replay<'a> {
    engine: &'a Engine,
    origin: Origin,
    since: Option<Timestamp>,
    zone: jiff::tz::TimeZone,
    tally: Tally,
    /// The verdicts by directory and command, because most commands are repeated.
    known: HashMap<(Option<PathBuf>, ToolAction), DryVerdict>,
    /// Whether each directory exists.
    there: HashMap<PathBuf, bool>,
    /// The number of the current file and of all files, for the progress line.
    place: String,
    progress: Progress,
}

/// The largest number of verdicts in the cache.
const MAX_KNOWN: usize = 200_000;

impl<'a> Replay<'a> {
    fn new(engine: &'a Engine, since: Option<Timestamp>, now: &Zoned) -> Self {
        Self {
            engine,
            origin: Origin::Agent,
            since,
            zone: now.time_zone().clone(),
            tally: Tally::default(),
            known: HashMap::new(),
            there: HashMap::new(),
            place: String::new(),
            progress: Progress::new(),
        }
    }

    /// Returns guard's verdict about a call. If the directory is unknown or no longer exists, the file system is not
    /// consulted, because its state now says nothing about its state then.
    fn judge(&self, action: &ToolAction, cwd: Option<&Path>, is_there: bool) -> Result<DryVerdict, EngineError> {
        let request = match action {
            ToolAction::Line(text) => self.engine.plain_line(text.into())?,
            ToolAction::Argv(words) => Request::Argv(words.iter().map(Into::into).collect()),
            ToolAction::PowerShell(code) => {
                Request::Argv(["pwsh", "-NoProfile", "-Command", code].iter().map(Into::into).collect())
            }
            // The program that receives the text is not looked up: it is usually a shell.
            ToolAction::Typed(typed) => self.engine.plain_line(typed.text.trim_end().into())?,
            ToolAction::Files(changes) => Request::Files(changes.clone()),
            ToolAction::Tool { name, input } => self.engine.tool(ToolCall::of_text(name, input)),
            ToolAction::Other => Request::Files(Vec::new()),
        };
        let mut invocation: Invocation = self.engine.caller.invocation(request);
        invocation.origin = self.origin;
        if let Some(cwd) = cwd {
            engine::put_in(cwd, &mut invocation);
        }
        let judgment =
            if is_there { self.engine.work_out(&invocation) } else { self.engine.work_out_unseen(&invocation) };
        let grants = &self.engine.config().grants;
        let decision = decide(&invocation, &judgment, self.engine.policy(), &SessionState::default(), grants);
        let worst = judgment.risk.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
        Ok(DryVerdict {
            asks: matches!(decision, Decision::Ask(_)),
            refuses: matches!(decision, Decision::Refuse(_)),
            tier: judgment.risk.tier,
            rule: worst.map(|finding| (finding.rule.clone(), finding.reason.clone())),
        })
    }
}

impl CallSink for Replay<'_> {
    fn add(&mut self, call: PastCall) {
        if let Some(since) = self.since
            && call.at.is_none_or(|at| at < since)
        {
            return;
        }
        let is_there = match &call.cwd {
            Some(cwd) => {
                let there = self.there.entry(cwd.clone()).or_insert_with(|| engine::is_known(cwd));
                if !*there {
                    self.tally.gone += 1;
                }
                *there
            }
            None => {
                self.tally.placeless += 1;
                false
            }
        };
        let key = (call.cwd, call.action);
        let verdict = match self.known.get(&key) {
            Some(verdict) => verdict.clone(),
            None => match self.judge(&key.1, key.0.as_deref(), is_there) {
                Ok(verdict) => {
                    if self.known.len() < MAX_KNOWN {
                        self.known.insert(key.clone(), verdict.clone());
                    }
                    verdict
                }
                Err(_) => return self.skipped_line(),
            },
        };
        let day = call.at.map(|at| at.to_zoned(self.zone.clone()).date());
        let shown = || shown(&key.1);
        self.tally.changes += u64::from(matches!(key.1, ToolAction::Files(_)));
        self.tally.count(call.by, day, &verdict, shown);
        self.progress.show(self.tally.calls, &self.place);
    }

    fn skipped_line(&mut self) {
        self.tally.skipped_lines += 1;
    }

    fn skipped_file(&mut self, path: &Path, why: &str) {
        self.tally.unreadable.push((path.to_owned(), why.to_owned()));
    }
}

/// Formats a command for display: on one line, without secrets, and shortened.
fn shown(action: &ToolAction) -> String {
    let quoted = |words: &[String]| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    let text = match action {
        ToolAction::Line(text) | ToolAction::PowerShell(text) => text.clone(),
        ToolAction::Typed(typed) => typed.text.clone(),
        ToolAction::Argv(words) => quoted(words),
        ToolAction::Files(changes) => {
            let said = |change: &FileChange| format!("{} {}", change.kind.word(), quote(&change.path));
            changes.iter().map(said).collect::<Vec<_>>().join("; ")
        }
        ToolAction::Tool { name, input } => format!("{} {input}", quote(name)),
        ToolAction::Other => String::new(),
    };
    let (text, _) = redact(&text);
    one_line(&text)
}

/// Formats a text on one line of at most 100 characters.
pub(super) fn one_line(text: &str) -> String {
    const ROOM: usize = 100;
    let mut line = crate::ui::visible::text(text.trim()).into_owned();
    if let Some((end, _)) = line.char_indices().nth(ROOM) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// A progress line on a terminal, which is rewritten at most every 200 ms.
struct Progress {
    terminal: bool,
    last: Option<Instant>,
}

impl Progress {
    fn new() -> Self {
        Self { terminal: io::stderr().is_terminal(), last: None }
    }

    fn show(&mut self, calls: u64, place: &str) {
        let due = |last: Instant| last.elapsed() > Duration::from_millis(200);
        if self.terminal && self.last.is_none_or(due) {
            self.last = Some(Instant::now());
            let _ = write!(io::stderr(), "\r\x1b[K{calls} judged, {place}");
        }
    }

    fn clear(&self) {
        if self.last.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
