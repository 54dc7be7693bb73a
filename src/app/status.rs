//! `guard status`: the current state on one screen: the policy, who asks guard, waiting requests, grants, refusals.
//!
//! Nothing is tested here: `guard doctor` tests whether agents and shells really ask. Out of scope: changes.

use std::io::{self, IsTerminal as _, Write as _};

use clap::Args;
use jiff::{Timestamp, Zoned};
use serde::Serialize;

use super::engine::Engine;
use super::failure::{Failure, unless_unread};
use super::init::Interactive;
use super::init::{loads, start_up};
use super::install::consent;
use super::install::hook_installer::asks;
use super::install::hosts::{HOSTS, Host};
use super::install::places::Places;
use super::pending::{collapsed, is_open};
use super::{exit, screen, time, update};
use crate::config::Layer;
use crate::judge::invocation::Origin;
use crate::judge::policy::{Mode, Policy, Preset};
use crate::store::{Filter, Store, is_probe};
use crate::ui::pending::cut;
use crate::ui::style::{self, Line, Look, Style};
use crate::ui::visible;
use crate::ui::wrap;

/// The arguments of `guard status`.
#[derive(Debug, Default, Args)]
#[command(after_help = "\
To show the number of waiting requests in a prompt:
  bash      PS1='$(guard status --prompt) '$PS1
  zsh       setopt prompt_subst; PS1='$(guard status --prompt) '$PS1
  fish      function fish_right_prompt; guard status --prompt; end
  starship  in ~/.config/starship.toml:
            [custom.guard]
            command = 'guard status --prompt'
            when = true")]
pub struct StatusArgs {
    /// Print one JSON object
    #[arg(long, conflicts_with = "prompt")]
    json: bool,
    /// Print the number of waiting requests for a shell prompt, or nothing if there are none
    #[arg(long)]
    prompt: bool,
}

/// The current state.
#[derive(Debug, Serialize)]
struct Status {
    mode: &'static str,
    preset: &'static str,
    threshold_cli: f64,
    threshold_agent: f64,
    /// The configuration files that were read.
    files: Vec<String>,
    /// The time at which the newest of these files was changed, or `None` if there are only defaults.
    since: Option<Timestamp>,
    /// The problems of the configuration. Until they are fixed, guard is stricter.
    problems: Vec<String>,
    /// The agents whose configuration contains guard.
    agents: Vec<&'static str>,
    /// Those of them that do not run guard's hook.
    inactive: Vec<Inactive>,
    /// The installed agents that do not ask guard.
    without: Vec<&'static str>,
    /// The shells whose startup file loads guard, with that file.
    shells: Vec<(&'static str, String)>,
    /// Whether the shell in which this was typed asks guard, or `None` if it was not typed in a shell.
    this_shell: Option<bool>,
    waiting: usize,
    grants: usize,
    /// Descriptions of the newest grants.
    granted: Vec<String>,
    trusted_directories: Vec<String>,
    /// A newer version of guard, if the configured program names one.
    newer: Option<String>,
    /// The number of the last row of the record, or `None` if it is empty.
    last_row: Option<i64>,
    refused: Vec<Refused>,
}

/// An agent whose configuration contains guard, but which does not ask it.
#[derive(Debug, Serialize)]
struct Inactive {
    agent: &'static str,
    /// The reason.
    why: String,
    /// The remedy for a person to apply.
    remedy: String,
}

/// A command that was refused recently.
#[derive(Debug, Serialize)]
struct Refused {
    row: i64,
    time: Timestamp,
    command: String,
}

/// The largest number of refusals and of grants that are listed.
const MOST: u32 = 3;

/// Shows the current state, and returns the exit code.
///
/// # Errors
/// The engine cannot start, the record cannot be read, or standard output cannot be written.
pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    unless_unread(show(args))
}

fn show(args: &StatusArgs) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    if args.prompt {
        match waiting()? {
            0 => {}
            1 => writeln!(out, "1 waiting")?,
            many => writeln!(out, "{many} waiting")?,
        }
        return Ok(exit::ALLOW);
    }
    let status = status(&Engine::open()?)?;
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&status).map_err(io::Error::from)?)?;
    } else {
        let look = Look::from_environment(|name| std::env::var(name).ok(), out.is_terminal());
        out.write_all(style::render(&lines(&status, &Zoned::now(), screen::columns()), &look).as_bytes())?;
    }
    out.flush()?;
    Ok(exit::ALLOW)
}

/// Returns the number of waiting commands. The same command of the same caller counts once.
fn waiting() -> Result<usize, Failure> {
    // Do not create the queue only to read it.
    let Some(queue) = super::engine::requests()? else { return Ok(0) };
    let now = Timestamp::now();
    let mut all = queue.list(now)?;
    all.retain(|pending| is_open(pending, now));
    Ok(collapsed(&all).len())
}

fn status(engine: &Engine) -> Result<Status, Failure> {
    let problems = engine.problems();
    let Policy { mode, preset, thresholds, trusted_directories, .. } = engine.policy();
    let places = Places::of(&engine.caller)?;
    let (agents, without): (Vec<&Host>, Vec<&Host>) =
        HOSTS.iter().filter(|host| places.is_there(host)).partition(|host| asks(&places, host));
    let inactive = agents.iter().filter_map(|host| {
        let found = consent::of_agent(&places, host)?;
        Some(Inactive { agent: host.name, why: found.says, remedy: found.remedy })
    });
    let inactive = inactive.collect();
    let names = |hosts: Vec<&Host>| hosts.into_iter().map(|host| host.name).collect();
    let shells = Interactive::ALL.into_iter().filter_map(|shell| {
        let path = start_up(shell, places.home(), &engine.caller.env);
        let text = std::fs::read_to_string(&path).ok()?;
        loads(shell, &text).then(|| (shell.name(), path.display().to_string()))
    });
    let store = engine.existing()?;
    let all_granted = granted(engine, store.as_ref())?;
    let read = |place: &&crate::config::LayerFiles| place.found && place.layer != Layer::BuiltIn;
    let files: Vec<&std::path::Path> =
        engine.config().places.iter().filter(read).map(|place| place.file.as_path()).collect();
    let changed = |file: &&std::path::Path| Timestamp::try_from(file.metadata().ok()?.modified().ok()?).ok();
    Ok(Status {
        mode: match mode {
            Mode::Manual => "manual",
            Mode::Smart => "smart",
            Mode::Off => "off",
        },
        preset: match preset {
            Preset::Relaxed => "relaxed",
            Preset::Balanced => "balanced",
            Preset::Strict => "strict",
            Preset::Paranoid => "paranoid",
        },
        threshold_cli: thresholds.of(Origin::Cli).as_f64(),
        threshold_agent: thresholds.of(Origin::Agent).as_f64(),
        since: files.iter().filter_map(changed).max(),
        files: files.into_iter().map(|file| file.display().to_string()).collect(),
        problems,
        agents: names(agents),
        inactive,
        without: names(without),
        shells: shells.collect(),
        this_shell: engine.caller.is_shell_guarded(&Interactive::ALL.map(Interactive::name)),
        waiting: waiting()?,
        grants: all_granted.len(),
        granted: all_granted.into_iter().rev().take(MOST as usize).collect(),
        trusted_directories: trusted_directories.clone(),
        newer: update::newest(engine).and_then(|said| said.newer().map(str::to_owned)),
        last_row: store.as_ref().map(|store| store.head()).transpose()?.flatten().map(|head| head.row),
        refused: store.as_ref().map_or_else(|| Ok(Vec::new()), refused)?,
    })
}

/// Returns descriptions of the active grants, those of the configuration first, then the others, newest last.
fn granted(engine: &Engine, store: Option<&Store>) -> Result<Vec<String>, Failure> {
    let stored = store.map_or_else(|| Ok(Vec::new()), |store| store.grants(Timestamp::now()))?;
    let stored = stored.into_iter().filter(|listed| listed.ended.is_none()).map(|listed| listed.grant.words);
    Ok(engine.config().grants.iter().map(|grant| grant.words.clone()).chain(stored).collect())
}

/// Returns the commands that were refused most recently.
fn refused(store: &Store) -> Result<Vec<Refused>, Failure> {
    // Read more rows than needed, because test commands of `guard doctor` are skipped.
    let filter = Filter { decision: Some("deny".to_owned()), limit: Some(MOST * 20), ..Filter::default() };
    let mut all = Vec::new();
    for row in store.find(&filter)?.into_iter().rev() {
        if all.len() == MOST as usize {
            break;
        }
        let entry = store.entry(row)?;
        if is_probe(&entry.findings) {
            continue;
        }
        // A call that was not judged has no command; show the reason for its refusal instead.
        let why = || entry.words.map(|words| format!("({words})"));
        if let Some(command) = entry.command.filter(|command| !command.is_empty()).or_else(why) {
            all.push(Refused { row, time: entry.time, command });
        }
    }
    Ok(all)
}

fn lines(status: &Status, now: &Zoned, columns: usize) -> Vec<Line> {
    let mut all = Vec::new();
    let mut say = |what: &str, style: Style, text: String| {
        all.extend(wrap::labelled(&Line::of(Style::Strong, format!("{what:10}")), style, &text, columns));
    };
    let asked = format!(
        "{}, mode {}: asks from score {:.1} at your own terminal, from {:.1} for agents",
        status.preset, status.mode, status.threshold_cli, status.threshold_agent
    );
    say("policy", if status.mode == "off" { Style::Danger } else { Style::Plain }, asked);
    match status.files.as_slice() {
        [] => say("", Style::Dim, "no configuration file; the defaults apply (guard config init)".to_owned()),
        files => say("", Style::Dim, files.join(", ")),
    }
    if let Some(since) = status.since {
        say("", Style::Dim, format!("last changed {}", time::ago(since, now)));
    }
    for problem in &status.problems {
        say("", Style::Danger, problem.clone());
    }
    let none = |names: &[&str], none: &str| if names.is_empty() { none.to_owned() } else { names.join(", ") };
    let is_inactive = |agent: &&str| status.inactive.iter().any(|one| one.agent == *agent);
    let active: Vec<&str> = status.agents.iter().copied().filter(|agent| !is_inactive(agent)).collect();
    let without = if status.agents.is_empty() { "none configured (guard install AGENT)" } else { "none active" };
    say("agents", Style::Plain, none(&active, without));
    for one in &status.inactive {
        say("", Style::Danger, format!("{}: {}; {}", one.agent, one.why, one.remedy));
    }
    if !status.without.is_empty() {
        say("", Style::Dim, format!("found, but not configured: {}", status.without.join(", ")));
    }
    let shells: Vec<&str> = status.shells.iter().map(|(shell, _)| *shell).collect();
    say("shells", Style::Plain, none(&shells, "none configured (guard init bash)"));
    match status.this_shell {
        Some(true) => say("", Style::Safe, "this shell asks guard before each line".to_owned()),
        Some(false) if !shells.is_empty() => {
            say("", Style::Danger, "this shell does not ask guard; open a new one".to_owned());
        }
        _ => {}
    }
    match status.waiting {
        0 => say("waiting", Style::Plain, "nothing".to_owned()),
        1 => say("waiting", Style::Danger, "1 request: guard review".to_owned()),
        many => say("waiting", Style::Danger, format!("{many} requests: guard review")),
    }
    match status.grants {
        0 => say("grants", Style::Plain, "none".to_owned()),
        many => say("grants", Style::Plain, format!("{many} active: guard allow list")),
    }
    for words in &status.granted {
        say("", Style::Dim, visible::line(words.as_bytes(), false));
    }
    if !status.trusted_directories.is_empty() {
        say("trusted", Style::Plain, status.trusted_directories.join(", "));
    }
    match status.last_row {
        None => say("record", Style::Plain, "empty".to_owned()),
        Some(row) => say("record", Style::Plain, format!("up to row {row}: guard log")),
    }
    if let Some(newer) = &status.newer {
        say("update", Style::Safe, format!("guard {newer} is available; this is {}", update::OWN));
    }
    for (at, one) in status.refused.iter().enumerate() {
        let what = if at == 0 { "refused" } else { "" };
        let command = one.command.lines().next().unwrap_or_default();
        let when = format!("{:10}  ", time::ago(one.time, now));
        // Show one line for each, however long the command is.
        let room = columns.saturating_sub(10 + when.len()).clamp(8, 60);
        let command = cut(&visible::line(command.as_bytes(), false), room);
        all.push(Line::of(Style::Strong, format!("{what:10}")).with(Style::Plain, when + &command));
    }
    all
}
