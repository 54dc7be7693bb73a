//! `guard doctor`: tests whether agents and shells ask guard before they run a command, and whether guard itself works.
//!
//! A check does not judge by the configuration: it sends each entry point a command that must be refused
//! (`guard-canary deny`; no program has that name) and one that must pass. Each finding states its remedy. With `--live`
//! the agents themselves are started (`live`). Out of scope: changes.

mod answers;
mod approval;
mod gateway;
mod hosts;
mod live;
mod self_checks;
mod shells;

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::engine::Engine;
use super::failure::Failure;
use super::init::{self, Interactive};
use super::install::hook_installer::asks;
use super::install::hosts::HOSTS;
use super::install::places::Places;
use super::install::shims::started_by;
use super::{exit, screen};
use crate::config::keys::nearest;
use crate::exec::probe::{Probe, ProbeOutput};
use crate::judge::risk::Tier;
use crate::ui::style::{self, Line, Look, Style};
use crate::ui::wrap;

/// The command that must be refused.
pub const CANARY: &str = "guard-canary deny";

/// The command that must pass.
pub const HARMLESS: &str = "true";

/// The time limit of one probe.
const LIMIT: Duration = Duration::from_secs(20);

/// The arguments of `guard doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Only these checks: agent, agent.claude, shell, record, export, config, clock, person, terminal, update,
    /// approval, gateway, channel, channel.NAME, page. Every channel of the gateway gets a test message
    #[arg(value_name = "CHECK")]
    only: Vec<String>,
    /// Run each AGENT, or all installed ones, in a temporary home against a stand-in for its model, and check that it
    /// asks guard. Needs no account and no network, does not read or change your files, and takes at most 60 seconds each
    #[arg(long, value_name = "AGENT", num_args = 0.., conflicts_with = "only", value_parser = live::names())]
    live: Option<Vec<String>>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CheckStatus {
    Ok,
    /// It works with limits, or guard cannot see whether it works.
    Warn,
    /// Something that is set up does not work.
    Fail,
}

impl CheckStatus {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// A result of a check.
#[derive(Clone, Debug)]
struct Finding {
    status: CheckStatus,
    /// The name of the check, for programs: `agent.claude`, `record`.
    check: String,
    /// The result, as a sentence.
    says: String,
    /// The remedy for a person to apply.
    remedy: Option<String>,
    /// The file that the finding is about.
    file: Option<PathBuf>,
    /// The agent's version.
    version: Option<String>,
}

impl Finding {
    fn new(status: CheckStatus, check: impl Into<String>, says: impl Into<String>) -> Self {
        Self { status, check: check.into(), says: says.into(), remedy: None, file: None, version: None }
    }

    fn ok(check: impl Into<String>, says: impl Into<String>) -> Self {
        Self::new(CheckStatus::Ok, check, says)
    }

    fn warn(check: impl Into<String>, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(CheckStatus::Warn, check, says) }
    }

    fn fail(check: impl Into<String>, says: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..Self::new(CheckStatus::Fail, check, says) }
    }

    fn about(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }
}

/// The input of all checks.
struct CheckContext<'a> {
    engine: &'a Engine,
    places: Places<'a>,
    /// The path of guard.
    guard: PathBuf,
    only: &'a [String],
}

impl CheckContext<'_> {
    /// Reports whether a path leads to guard.
    fn is_guard(&self, path: &Path) -> bool {
        let file = |path: &Path| path.metadata().ok().map(|about| (about.dev(), about.ino()));
        let link = if path.is_file() { started_by(path) } else { None };
        let path = link.as_deref().unwrap_or(path);
        file(path).is_some() && file(path) == file(&self.guard)
    }

    /// Reports whether a check was selected by its name or by a prefix of its name.
    fn wants(&self, check: &str) -> bool {
        let named = |only: &String| {
            check.strip_prefix(only.as_str()).is_some_and(|rest| matches!(rest, "" | "s") || rest.starts_with('.'))
        };
        self.only.is_empty() || self.only.iter().any(named)
    }

    /// Returns this process's environment with these variables set.
    fn env(&self, over: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let mut env: Vec<(OsString, OsString)> =
            self.engine.caller.env.variables.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        env.retain(|(name, _)| over.iter().all(|(known, _)| name != known));
        env.extend(over.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
        env
    }

    /// Runs a program as its host would, with this standard input.
    fn tried(&self, argv: &[OsString], input: &str) -> io::Result<ProbeOutput> {
        self.tried_with(&[], argv, input)
    }

    /// Like [`Self::tried`], with these variables set.
    fn tried_with(&self, over: &[(&str, &str)], argv: &[OsString], input: &str) -> io::Result<ProbeOutput> {
        let env = self.env(over);
        Probe { argv, env: &env, cwd: &self.engine.caller.cwd, limit: LIMIT }.with_input(input)
    }
}

/// Something that is set up does not work.
const SICK: u8 = 1;

/// Makes all checks and prints the findings. The exit code is 0 only if everything that is set up works.
///
/// # Errors
/// The path of guard cannot be determined, or standard output cannot be written.
pub fn run(args: &DoctorArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    let places = Places::of(&engine.caller)?;
    let guard = std::env::current_exe()?;
    let context = CheckContext { engine: &engine, places, guard, only: &args.only };
    let findings = match &args.live {
        Some(named) => live::check(&context, named),
        None => looked(&context),
    };
    if findings.is_empty() {
        return Err(Failure::Message(nothing(&args.only)));
    }
    let whole = args.only.is_empty() && args.live.is_none();
    let report = DoctorReport::of(&context, findings, whole);
    let printed = if args.json { report.print_json() } else { report.print(args.live.is_some()) };
    Ok(exit::after(printed, report.code)?)
}

/// The names that `--only` accepts, in addition to those of each agent and channel.
#[rustfmt::skip]
pub const CHECKS: [&str; 19] = [
    "agent", "approval", "approval.agents-terminal", "approval.approvers", "approval.environment", "approval.files",
    "approval.hidden-terminal", "approval.pipe", "channel", "clock", "config", "export", "gateway", "page", "person",
    "record", "shell", "terminal", "update",
];

/// Returns the reason why no check was made.
fn nothing(only: &[String]) -> String {
    let agents = || HOSTS.iter().map(|host| format!("agent.{}", host.name));
    let all: Vec<String> = CHECKS.iter().map(ToString::to_string).chain(agents()).collect();
    let names = only.join(", ");
    if only.iter().all(|name| all.contains(name)) {
        return format!("no check {names}: it is not set up here");
    }
    let near = only.iter().find_map(|name| nearest(name, all.iter().map(String::as_str)));
    let near = near.map_or_else(String::new, |name| format!("; did you mean: guard doctor {name}"));
    format!("no check {names}; guard doctor lists the checks by name{near}")
}

/// Returns the findings of all checks.
fn looked(context: &CheckContext) -> Vec<Finding> {
    let sides = [hosts::check, shells::check, self_checks::check, approval::check, gateway::check];
    sides.into_iter().flat_map(|look: fn(&CheckContext) -> Vec<Finding>| look(context)).collect()
}

/// All findings.
#[derive(Debug)]
pub struct DoctorReport {
    findings: Vec<Finding>,
    /// The exit code.
    code: u8,
    /// Whether nothing asks guard.
    bare: bool,
}

impl DoctorReport {
    /// Makes every check.
    ///
    /// # Errors
    /// The path of guard cannot be determined.
    pub fn make(engine: &Engine) -> Result<Self, Failure> {
        let places = Places::of(&engine.caller)?;
        let context = CheckContext { engine, places, guard: std::env::current_exe()?, only: &[] };
        let findings = looked(&context);
        Ok(Self::of(&context, findings, true))
    }

    fn of(context: &CheckContext, findings: Vec<Finding>, whole: bool) -> Self {
        let worst = findings.iter().map(|finding| finding.status).max().unwrap_or(CheckStatus::Ok);
        let code = if worst == CheckStatus::Fail { SICK } else { exit::ALLOW };
        let bare = whole && code == exit::ALLOW && !is_asked(context, &findings);
        Self { findings, code, bare }
    }

    /// Reports whether everything that is set up works.
    #[must_use]
    pub const fn is_well(&self) -> bool {
        self.code == exit::ALLOW
    }

    /// Reports whether the check of this name failed.
    #[must_use]
    pub fn has_failed(&self, check: &str) -> bool {
        self.findings.iter().any(|finding| finding.check == check && finding.status == CheckStatus::Fail)
    }

    /// Returns the report as one JSON object.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        let all: Vec<_> = self
            .findings
            .iter()
            .map(|finding| {
                serde_json::json!({
                    "check": finding.check, "status": finding.status.name(), "says": finding.says,
                    "remedy": finding.remedy, "version": finding.version,
                    "file": finding.file.as_ref().map(|file| file.display().to_string()),
                })
            })
            .collect();
        serde_json::json!({ "ok": self.is_well(), "set_up": !self.bare, "findings": all })
    }

    fn print_json(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", self.json())?;
        out.flush()
    }

    /// Prints the report for a person. `live` is set if agents were run.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn print(&self, live: bool) -> io::Result<()> {
        let Self { findings, code, bare } = self;
        let look = Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal());
        // The column where the name of a check begins.
        const INDENT: usize = 6;
        let columns = screen::columns();
        let mut lines = Vec::new();
        for finding in findings {
            let style = match finding.status {
                CheckStatus::Ok => Style::Safe,
                CheckStatus::Warn => Style::Tier(Tier::Medium),
                CheckStatus::Fail => Style::Danger,
            };
            let file = finding.file.as_ref().map_or_else(String::new, |file| format!(" ({})", file.display()));
            let version = finding.version.as_ref().map_or_else(String::new, |version| format!(" {version}"));
            let line = Line::of(style, format!("{:4}", finding.status.name()))
                .with(Style::Strong, format!("  {}{version}: ", finding.check))
                .with(Style::Plain, &finding.says)
                .with(Style::Dim, file);
            lines.extend(wrap::hanging(&line, columns, INDENT));
            if let Some(remedy) = &finding.remedy {
                lines.extend(wrap::labelled(&Line::of(Style::Plain, "      → "), Style::Plain, remedy, columns));
            }
        }
        let count = |status: CheckStatus| findings.iter().filter(|finding| finding.status == status).count();
        lines.push(Line::new());
        let summary = match (*code, count(CheckStatus::Warn)) {
            (exit::ALLOW, _) if *bare => {
                "guard is not set up: no agent and no shell asks it. Run guard setup.".to_owned()
            }
            (exit::ALLOW, 0) if live => "All tests passed.".to_owned(),
            (exit::ALLOW, warnings) if live => format!("All tests passed; {warnings} to look at."),
            (exit::ALLOW, 0) => "Everything that is set up works.".to_owned(),
            (exit::ALLOW, warnings) => format!("Everything that is set up works; {warnings} to look at."),
            (_, warnings) => format!("{} broken, {warnings} to look at.", count(CheckStatus::Fail)),
        };
        lines.extend(wrap::labelled(&Line::new(), Style::Strong, &summary, columns));
        let mut out = io::stdout().lock();
        out.write_all(style::render(&lines, &look).as_bytes())?;
        out.flush()
    }
}

/// Reports whether anything asks guard: an agent, a shell that loads it, or a shell that it replaces.
fn is_asked(context: &CheckContext, findings: &[Finding]) -> bool {
    let loads = |shell: &Interactive| {
        let path = init::start_up(*shell, context.places.home(), &context.engine.caller.env);
        std::fs::read_to_string(path).is_ok_and(|text| init::loads(*shell, &text))
    };
    HOSTS.iter().any(|host| asks(&context.places, host))
        || Interactive::ALL.iter().any(loads)
        || findings.iter().any(|finding| finding.check.starts_with("shell."))
}
