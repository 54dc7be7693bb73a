//! The end of `guard setup`: enrols an approver, tests the setup and describes the result.
//!
//! Out of scope: changing any file but the approver's.

use std::io::{self, Write as _};

use serde_json::json;

use super::choices::{NotifyChoice, SetupChoices};
use super::{Plan, SetupArgs};
use crate::app::doctor::DoctorReport;
use crate::app::engine::Engine;
use crate::app::failure::Failure;
use crate::app::install::hosts::Host;
use crate::app::{approver, exit, gateway, screen};
use crate::prompt::line;
use crate::ui::wrap;

/// Tests the setup, and describes the result in a few lines. `code` is the exit code so far.
///
/// # Errors
/// A check cannot be made, or standard output cannot be written.
pub fn after(args: &SetupArgs, engine: &Engine, choices: &SetupChoices, plan: &Plan, code: u8) -> Result<u8, Failure> {
    let enrolled = choices.approver.then(|| enrol(engine)).transpose()?;
    // Open the engine again, so that it reads the new configuration.
    let report = DoctorReport::make(&Engine::open()?)?;
    let code = code.max(u8::from(!report.is_well())).max(u8::from(enrolled == Some(false)));
    if args.json {
        let done =
            json!({ "made": true, "changes": plan.changes(), "problems": plan.problems, "doctor": report.json() });
        writeln!(io::stdout(), "{done}")?;
        return Ok(code);
    }
    writeln!(io::stdout(), "\nTesting with guard doctor:")?;
    report.print(false)?;
    let gateway = (choices.notify == Some(NotifyChoice::Away)).then(gateway::find);
    let mut text = String::from("\n");
    for line in lines(choices, &report, enrolled, gateway.as_ref()) {
        for line in wrap::prose(&line, screen::columns()) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    io::stdout().write_all(text.as_bytes())?;
    match gateway {
        Some(Ok(_)) => messenger(code),
        _ => Ok(code),
    }
}

/// Enrols the first approver, and reports whether that succeeded. Errors are printed.
fn enrol(engine: &Engine) -> Result<bool, Failure> {
    match approver::enrol(engine, &engine.caller.account.name) {
        Ok(code) => Ok(code == exit::ALLOW),
        Err(error) => {
            writeln!(io::stderr(), "guard: {error}")?;
            Ok(false)
        }
    }
}

/// Describes the result, in one or two sentences per part.
fn lines(
    choices: &SetupChoices,
    report: &DoctorReport,
    enrolled: Option<bool>,
    gateway: Option<&Result<std::path::PathBuf, gateway::GatewayError>>,
) -> Vec<String> {
    let mut lines = Vec::new();
    let has_failed = |host: &Host| report.has_failed(&format!("agent.{}", host.name));
    let titles = |failed: bool| -> Vec<&str> {
        choices.agents.iter().filter(|host| has_failed(host) == failed).map(|host| host.title).collect()
    };
    let (well, broken) = (titles(false), titles(true));
    if let Some(agents) = names(&well) {
        lines
            .push(format!("{agents}: guard judges commands before they run; risky ones wait for you in guard review."));
    }
    if let Some(agents) = names(&broken) {
        lines.push(format!("{agents}: guard does NOT judge commands yet. See the findings of guard doctor above."));
    }
    if choices.agents.is_empty() {
        lines.push("No agents were set up. Run guard setup again after you install one.".to_owned());
    }
    lines.push(match names(&choices.shells.iter().map(|shell| shell.name()).collect::<Vec<_>>()) {
        Some(shells) => format!("{shells}: guard judges each line in new windows, and prints nothing for safe ones."),
        None => "Your own shell was not changed. Use guard -- COMMAND to run one command through guard.".to_owned(),
    });
    if enrolled == Some(false) {
        lines.push(
            "No approvers are enrolled, so approvals are not signed. To enrol one: guard approver add NAME".to_owned(),
        );
    }
    match gateway {
        Some(Err(_)) => lines.push(
            "The page and messengers need guard-gateway, which is not installed. Run cargo install --locked --path \
             src/gateway, then guard channel add and guard serve."
                .to_owned(),
        ),
        Some(Ok(_)) => lines.push("You can answer from a page or a messenger while guard serve runs.".to_owned()),
        None => {}
    }
    lines.push("guard status shows the current state. To undo the setup: guard setup --remove".to_owned());
    lines
}

/// Joins names for a sentence. Returns `None` if there are none.
fn names(names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some((*one).to_owned()),
        [most @ .., last] => Some(format!("{} and {last}", most.join(", "))),
    }
}

/// Asks for a messenger, and replaces this process by the gateway's setup of it. A child process would be refused for
/// having a guard above it.
fn messenger(code: u8) -> Result<u8, Failure> {
    let question = "Which messenger? telegram, discord, slack, ntfy, … (see guard channel add --help; Enter for none)";
    let kind = line::ask("\n", question)?;
    let kind = kind.trim();
    if kind.is_empty() {
        return Ok(code);
    }
    let words = gateway::Words { words: vec!["add".into(), kind.into()] };
    Ok(gateway::run("channel", &words)?)
}
