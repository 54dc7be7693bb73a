//! `guard doctor --live`: runs the agent itself in a temporary home, with guard installed as `guard install` does it
//! and a stand-in for its model (`guard-gateway model`).
//!
//! It uses nothing of the user but the agent's program: no configuration, no account, no key. Out of scope: how an
//! agent is started, which is data (`patterns/agents/`, `live`).

mod cases;
mod environment;
mod evaluation;
mod killer;
mod model;

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clap::builder::PossibleValuesParser;

use self::cases::{LiveTestCase, LiveTestOutcome};
use self::environment::TestEnvironment;
use super::{CheckContext, Finding};
use crate::app::gateway;
use crate::judge::agents;
use crate::judge::agents::model::{Agent, LiveSetup};

/// A run that takes no longer than this is not announced.
const SOON: Duration = Duration::from_secs(10);

/// Returns the agents that can be tested.
pub fn names() -> PossibleValuesParser {
    let known = agents::all().filter(|agent| agent.live.is_some());
    PossibleValuesParser::new(known.map(|agent| agent.name.as_str()).collect::<Vec<_>>())
}

/// Tests these agents, or all that are installed.
pub fn check(context: &CheckContext, named: &[String]) -> Vec<Finding> {
    let gateway = match gateway::find() {
        Ok(gateway) => gateway,
        Err(why) => {
            return vec![Finding::fail(
                "live",
                why.to_string(),
                "the stand-in for a model is part of the gateway, which is not installed",
            )];
        }
    };
    let wanted = |agent: &&Agent| match named {
        [] => context.places.program_of(agent).is_some(),
        named => named.contains(&agent.name),
    };
    let mut findings = Vec::new();
    for agent in agents::all().filter(wanted) {
        let check = format!("live.{}", agent.name);
        let version = context.places.version_of(agent);
        let mut found = match &agent.live {
            _ if context.places.program_of(agent).is_none() => {
                let says = format!("{} is not on the PATH", agent.title);
                vec![Finding::fail(
                    check,
                    says,
                    format!("install it, or add {} to the PATH", agent.programs.join(", ")),
                )]
            }
            None => {
                let says = format!("cannot test {}: no known way to run it without an account", agent.title);
                vec![Finding::warn(check, says, format!("have it run {} by hand; it must be refused", super::CANARY))]
            }
            Some(live) => {
                announce(&agent.title);
                let tried = TestEnvironment::new(context, agent, version.as_deref()).and_then(|mut environment| {
                    let outcome = evaluation::run(&mut environment, live, &gateway, &progress)?;
                    Ok(findings_of(agent, live, &environment, &outcome))
                });
                tried.unwrap_or_else(|why| {
                    let says = format!("cannot test {}: {why}", agent.title);
                    vec![Finding::warn(check, says, "fix that and try again")]
                })
            }
        };
        for finding in &mut found {
            finding.version.clone_from(&version);
        }
        findings.append(&mut found);
    }
    if findings.is_empty() {
        findings.push(Finding::ok("live", "no known agent is on the PATH"));
    }
    findings
}

/// Announces on a terminal what is tested, and how long it may take.
fn announce(title: &str) {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "testing {title}, for at most {} s", evaluation::LIMIT.as_secs());
    }
}

/// Shows on a terminal the current case.
fn progress(at: Duration, case: LiveTestCase) {
    if io::stderr().is_terminal() {
        let _ = writeln!(io::stderr(), "  {:>4.1} s  {}", at.as_secs_f64(), case.name());
    }
}

/// Returns the findings of a run.
fn findings_of(
    agent: &Agent,
    live: &LiveSetup,
    environment: &TestEnvironment,
    outcome: &LiveTestOutcome,
) -> Vec<Finding> {
    let check = format!("live.{}", agent.name);
    let title = &agent.title;
    let again = format!("run guard doctor agent.{} and guard install {}", agent.name, agent.name);
    if !outcome.was_asked() {
        let says = format!("cannot test {title}: it sent no request to its model{}", said(&outcome.end));
        return vec![Finding::warn(check, says, format!("start it by hand: {}", live.argv.join(" ")))];
    }
    let mut findings = Vec::new();
    let mut fail = |says: String, remedy: &str| findings.push(Finding::fail(&check, says, remedy));
    if outcome.tried(LiveTestCase::Harmless) && !outcome.happened(LiveTestCase::Harmless) {
        fail(format!("a harmless command did not run{}", said(&outcome.told(LiveTestCase::Harmless))), &again);
    }
    if outcome.happened(LiveTestCase::Refused) {
        fail(format!("{title} ran a command that guard must refuse: it does not ask guard"), &again);
    } else if outcome.tried(LiveTestCase::Refused) && !outcome.knows_why() {
        fail(
            format!(
                "the dangerous test command did not run, but the model was not told that guard refused it{}",
                said(&outcome.told(LiveTestCase::Refused))
            ),
            &again,
        );
    }
    if outcome.happened(LiveTestCase::File) {
        fail(format!("{title} wrote a startup file with its own tool without asking guard"), &again);
    }
    for tool in outcome.unasked() {
        let did = if tool.runs { "ran a command" } else { "wrote a startup file" };
        fail(format!("{title} {did} with its tool {} without asking guard", tool.name), &again);
    }
    if outcome.happened(LiveTestCase::Killed) {
        fail(format!("{title} ran a command when guard was killed while it waited"), &again);
    }
    if outcome.happened(LiveTestCase::Gone) {
        fail(format!("{title} ran a command after guard was removed"), "do not move or delete guard");
    }
    let untried = outcome.untried();
    let beside = if untried.is_empty() { String::new() } else { format!("; not tested: {}", untried.join(", ")) };
    if findings.is_empty() {
        let held = |case: LiveTestCase| match case {
            LiveTestCase::Refused if environment.is_interrupted() => {
                "a dangerous command was refused, and the reason shown"
            }
            case => case.held(),
        };
        let seen: Vec<&str> = LiveTestCase::ALL.into_iter().filter(|case| outcome.tried(*case)).map(held).collect();
        findings.push(Finding::ok(
            check,
            format!(
                "{title}{} passed against a stand-in for its model: {}{beside}{}",
                environment.by(),
                seen.join(", "),
                time(outcome)
            ),
        ));
    } else if !untried.is_empty() {
        findings.push(Finding::warn(check, format!("not tested: {}", untried.join(", ")), "see the other findings"));
    }
    findings
}

/// Returns the duration if it is long. Most of it is the agent's own startup.
fn time(outcome: &LiveTestOutcome) -> String {
    let seconds = |time: Duration| time.as_secs_f64().round();
    if outcome.took <= SOON {
        return String::new();
    }
    let ended = if outcome.late { ", when it was ended" } else { "" };
    let start = outcome.until_asked.map(|time| format!(", {} s of it its own start", seconds(time)));
    format!(" ({} s{ended}{})", seconds(outcome.took), start.unwrap_or_default())
}

/// Returns the end of the agent's output, for the end of a sentence.
fn said(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = crate::ui::visible::text(lines.next_back().unwrap_or_default()).chars().take(200).collect::<String>();
    if last.is_empty() { String::new() } else { format!(" ({last})") }
}
