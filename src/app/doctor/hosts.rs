//! Checks of the installed agents: whether each asks guard, and whether guard answers it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::answers::{AgentReaction, agent_reaction};
use super::{CANARY, CheckContext, CheckStatus, Finding, HARMLESS};
use crate::app::install::change::{HookCommand, WiredState, Wiring, first_line};
use crate::app::install::consent;
use crate::app::install::file;
use crate::app::install::hosts::{Form, HOSTS, HookFile, Host, LaunchMethod, WriteCondition, numbers};
use crate::app::install::json::quoted;
use crate::exec::probe::ProbeOutput;

/// Checks every installed agent.
pub fn check(context: &CheckContext) -> Vec<Finding> {
    let there: Vec<&Host> = HOSTS.iter().filter(|host| context.places.is_there(host)).collect();
    let there: Vec<&Host> = there.into_iter().filter(|host| context.wants(&format!("agent.{}", host.name))).collect();
    if there.is_empty() && context.wants("agents") {
        return vec![Finding::ok("agents", "no known agent is installed")];
    }
    there.into_iter().flat_map(|host| one(context, host)).collect()
}

/// Checks one agent: its file for the account, and the project's if guard is in it.
fn one(context: &CheckContext, host: &'static Host) -> Vec<Finding> {
    let check = format!("agent.{}", host.name);
    let version = context.places.version(host);
    let guard = context.places.guard().unwrap_or_default();
    let wiring = Wiring::of(host, &guard, version.as_deref());
    let mut findings = Vec::new();
    let mut wired = Vec::new();
    let mut missing = Vec::new();
    for (project, (path, wire)) in [false, true]
        .into_iter()
        .flat_map(|project| context.places.files(host, project).into_iter().map(move |place| (project, place)))
    {
        if project && context.places.is_the_accounts(host, &path) {
            continue;
        }
        let text = match file::read(&path) {
            Ok(text) => text,
            Err(why) => {
                let remedy = "make it a readable file, or remove it";
                findings.push(Finding::fail(&check, format!("its configuration {why}"), remedy).about(&path));
                continue;
            }
        };
        match wiring.state(wire, text.as_deref()) {
            Ok(WiredState::Absent) if project => {}
            Ok(WiredState::Absent) => missing.push((path, wire)),
            Ok(state) => wired.push((path, wire, text.unwrap_or_default(), state)),
            Err(_) if project && !text.as_deref().is_some_and(|text| text.contains("guard")) => {}
            Err(trouble) => {
                let line = file::line_of(text.as_deref().unwrap_or_default(), trouble.at);
                let says = format!("cannot parse its configuration, line {line}: {}", trouble.what);
                let remedy = format!("fix it, then run guard install {}", host.name);
                findings.push(Finding::fail(&check, says, remedy).about(&path));
            }
        }
    }
    let remedy = format!("guard install {}", host.name);
    if wired.is_empty() && findings.is_empty() {
        let says = format!("{} is installed but does not ask guard", host.title);
        findings.push(Finding::warn(&check, says, &remedy));
    }
    // An existing file can override the one that has guard in it.
    let counts = |wire: &HookFile| {
        wire.when != WriteCondition::Always || matches!(wire.form, Form::Own { executable: false, .. })
    };
    for (path, _) in missing.iter().filter(|(_, wire)| !wired.is_empty() && counts(wire)) {
        let says = format!("{} also reads this file, and guard is not in it", host.title);
        findings.push(Finding::fail(&check, says, &remedy).about(path));
    }
    for (path, wire, text, state) in &wired {
        if matches!(wire.form, Form::Own { executable: false, .. }) {
            continue;
        }
        findings.push(wire_works(context, &wiring, path, wire, text, *state));
    }
    let in_project = |wire: &HookFile| host.project.iter().any(|known| std::ptr::eq(*known, wire));
    let project = wired.iter().find(|(_, wire, ..)| in_project(wire));
    if let Some((path, ..)) = project.filter(|_| wired.iter().any(|(_, wire, ..)| !in_project(wire))) {
        let says = "guard is in the files of the account and of the project, so it is called twice";
        let remedy = format!("guard install {} --project --uninstall", host.name);
        findings.push(Finding::warn(&check, says, remedy).about(path));
    }
    if !wired.is_empty() {
        let off = consent::off_in_project(&context.places, host).into_iter();
        findings.extend(off.map(|(path, obstacle)| Finding::fail(&check, obstacle.says, obstacle.remedy).about(path)));
    }
    for finding in &mut findings {
        finding.version.clone_from(&version);
    }
    if let (Some(old), Some(from)) = (version.as_deref(), &host.config.blocks_from)
        && !host.blocks(Some(old))
        && !wired.is_empty()
    {
        let title = host.title;
        if host.config.holds_from.is_none() {
            let says = format!("{title} {old} runs commands when its hook fails or times out; {from} and later do not");
            findings.push(Finding::warn(&check, says, format!("update {title}")));
        } else if wired.iter().any(|(_, wire, _, state)| interrupts(wire) && *state != WiredState::Present) {
            let says = format!("{title} {old} runs commands that its hook refuses; {from} and later do not");
            findings.push(Finding::fail(&check, says, &remedy));
        } else {
            findings.push(interrupted(context, host, old, from, &check));
        }
    }
    if let Some(version) = version.as_deref().filter(|_| !wired.is_empty())
        && let Some(finding) = never_tried(host, version, &check)
    {
        findings.push(finding);
    }
    findings
}

/// Reports whether a file has a separate entry for versions that ignore a refusal.
fn interrupts(wire: &HookFile) -> bool {
    matches!(&wire.form, Form::Json { entries, .. } if entries.iter().any(|entry| entry.older.is_some()))
}

/// Checks an agent that the hook interrupts instead of refusing: whether guard also replaces its shell, which tells the
/// model the reason.
fn interrupted(context: &CheckContext, host: &Host, version: &str, from: &str, check: &str) -> Finding {
    let title = host.title;
    let says = format!("{title} {version} does not act on a refusal of its hook, so guard interrupts it");
    let update = format!("update {title} to {from} or later, then run guard install {}", host.name);
    let named =
        |name: &&String| context.engine.caller.env.get(name).is_some_and(|path| context.is_guard(Path::new(path)));
    match host.agent.shell.from.iter().find(named) {
        Some(name) => Finding::warn(
            check,
            format!("{says}; only what its shell ({name}) refuses is explained to the model"),
            update,
        ),
        None => Finding::warn(
            check,
            format!("{says}, and the model is not told why"),
            format!("{update}; until then, set what it prints ({})", host.agent.shell.how),
        ),
    }
}

/// Reports a version that guard was not tested with, because its reaction to an answer may have changed. Ignores the
/// last number of the version, which changes often.
fn never_tried(host: &Host, version: &str, check: &str) -> Option<Finding> {
    let like = |version: &str| numbers(version).into_iter().take(2).collect::<Vec<_>>();
    let tried = &host.agent.tried;
    if tried.iter().any(|tried| like(&tried.version) == like(version)) {
        return None;
    }
    let says = match tried.last() {
        Some(last) => format!(
            "guard was tested with {} {}, not with {version}, which may treat answers differently",
            host.title, last.version
        ),
        None => return None,
    };
    let remedy = if host.agent.live.is_some() {
        format!("test it: guard doctor --live {}", host.name)
    } else {
        format!("have {} run {CANARY}; it must be refused", host.title)
    };
    Some(Finding::warn(check, says, remedy))
}

/// Checks one file that has guard in it: runs every call in it, once with a command that must be refused and once with
/// one that must pass.
fn wire_works(
    context: &CheckContext,
    wiring: &Wiring,
    path: &Path,
    wire: &HookFile,
    text: &str,
    state: WiredState,
) -> Finding {
    let host = wiring.host;
    let check = format!("agent.{}", host.name);
    let again = format!("guard install {}", host.name);
    if matches!(wire.form, Form::Own { executable: true, .. })
        && path.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 == 0)
    {
        let says = format!("{} runs this file, but it is not executable", host.title);
        return Finding::fail(check, says, format!("chmod +x {}", path.display())).about(path);
    }
    let calls = wiring.calls(wire, text, path);
    if let Some(obstacle) = consent::in_the_way(&context.places, host, path, text, first_line(&calls)) {
        return Finding::fail(check, obstacle.says, obstacle.remedy).about(path);
    }
    // If guard also replaces the shell, the hook may leave lines to it. This check is of the hook.
    let over: Vec<(&str, &str)> = match &host.agent.hook {
        Some(hook) if !hook.leaves.is_empty() => host.agent.shell.from.iter().map(|name| (name.as_str(), "")).collect(),
        _ => Vec::new(),
    };
    let mut tried = 0;
    for (event, call) in &calls {
        // This event is not about a command; its hook line is the same as that of the other event.
        if event == "pre_write_code" {
            continue;
        }
        tried += 1;
        let told = |command: &str| said(context, host, event, command);
        let argv = argv(context, host.config.runs, call);
        let refused = match context.tried_with(&over, &argv, &told(CANARY)) {
            Ok(seen) => seen,
            Err(error) => {
                let says = format!("cannot start the command of {}: {error}", host.title);
                return Finding::fail(check, says, again).about(path);
            }
        };
        if agent_reaction(&host.config.reads, event, &refused) != AgentReaction::Blocked {
            let says =
                format!("at {event} guard did not refuse a command that it must refuse: {}", described(&refused));
            return Finding::fail(check, says, again).about(path);
        }
        match context.tried_with(&over, &argv, &told(HARMLESS)) {
            Ok(seen) if agent_reaction(&host.config.reads, event, &seen) == AgentReaction::Free => {}
            Ok(seen) => {
                let says = format!("at {event} guard did not allow a command that it must allow: {}", described(&seen));
                return Finding::fail(check, says, "see the other findings, and run guard check true").about(path);
            }
            Err(error) => return Finding::fail(check, error.to_string(), again).about(path),
        }
    }
    if tried == 0 {
        let says = format!("guard is in the configuration of {}, but never called", host.title);
        return Finding::fail(check, says, again).about(path);
    }
    let says = format!("{} asks guard: a dangerous test command was refused, and a harmless one ran", host.title);
    let finding = match state {
        WiredState::Outdated => {
            Finding::warn(check, format!("{says}; but the configuration is from another version of guard"), again)
        }
        _ if host.config.runs == LaunchMethod::Plugin => Finding::warn(
            check,
            format!("guard answers the plugin correctly; whether {} loads the plugin is not known", host.title),
            format!("have {} run {CANARY}; it must be refused", host.title),
        ),
        _ => Finding::new(CheckStatus::Ok, check, says),
    };
    finding.about(path)
}

/// Returns the input that an agent would send.
fn said(context: &CheckContext, host: &Host, event: &str, command: &str) -> String {
    let inside = |text: &str| {
        let quoted = quoted(text);
        quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
    };
    host.config
        .sample
        .replace("@COMMAND@", &inside(command))
        .replace("@CWD@", &inside(&context.engine.caller.cwd.to_string_lossy()))
        .replace("@SESSION@", &format!("guard-doctor-{}", std::process::id()))
        .replace("@EVENT@", event)
}

/// Returns the command that the host would start.
fn argv(context: &CheckContext, runs: LaunchMethod, call: &HookCommand) -> Vec<OsString> {
    match (call, runs) {
        (HookCommand::Line(line), LaunchMethod::Login) => {
            let shell = context.engine.caller.env.get("SHELL").filter(|shell| !shell.is_empty()).unwrap_or("/bin/sh");
            [shell, "-lc", line].map(OsString::from).to_vec()
        }
        (HookCommand::Argv(words), _) => words.iter().map(OsString::from).collect(),
        (HookCommand::Line(line), LaunchMethod::Bash) => ["bash", "-c", line].map(OsString::from).to_vec(),
        // Let a shell split the line and then execute the program.
        (HookCommand::Line(line), LaunchMethod::Words) => {
            ["sh", "-c", &format!("exec {line}")].map(OsString::from).to_vec()
        }
        (HookCommand::Line(line), _) => ["sh", "-c", line].map(OsString::from).to_vec(),
    }
}

fn described(seen: &ProbeOutput) -> String {
    let end = match (seen.late, seen.code) {
        (true, _) => "no answer in time".to_owned(),
        (_, Some(code)) => format!("exit {code}"),
        (_, None) => "killed by a signal".to_owned(),
    };
    let first = |text: &str| text.trim().lines().next().unwrap_or_default().chars().take(200).collect::<String>();
    let said: Vec<String> =
        [first(&seen.stdout), first(&seen.stderr)].into_iter().filter(|text| !text.is_empty()).collect();
    if said.is_empty() { format!("{end}, without any output") } else { format!("{end}, {}", said.join(" / ")) }
}
