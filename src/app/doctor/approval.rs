//! Checks whether a program can approve its own command. It tries through a pipe, on a terminal that it creates itself
//! and through the environment. For guard's own files it only checks who may write to them.
//!
//! The command is `guard-canary ask`, about which guard asks a person. No program has this name.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::AccessFlags;

use super::{CheckContext, Finding};
use crate::app::approver::sign;
use crate::app::install::file;
use crate::app::install::hosts::HOSTS;
use crate::app::scratch::Scratch;
use crate::config::Layer;
use crate::exec::probe::{Probe, ProbeOutput};

/// The time limit of one attempt.
const LIMIT: Duration = Duration::from_secs(15);

/// The exit code if the command was approved: its program is not found.
const APPROVED: Option<i32> = Some(127);

const ANOTHER_ACCOUNT: &str = "run agents under a separate account, and keep the policy in /etc/guard";

type ApprovalCheck = fn(&CheckContext, &Scratch) -> Finding;

/// Tries every way.
pub fn check(context: &CheckContext) -> Vec<Finding> {
    let ways: [(&str, ApprovalCheck); 5] = [
        ("approval.pipe", through_a_pipe),
        ("approval.agents-terminal", on_a_terminal_below_an_agent),
        ("approval.hidden-terminal", on_a_terminal_of_its_own),
        ("approval.environment", through_the_environment),
        ("approval.files", through_the_files),
    ];
    let wanted: Vec<ApprovalCheck> =
        ways.into_iter().filter(|(name, _)| context.wants(name)).map(|(_, way)| way).collect();
    let mut findings = Vec::new();
    if !wanted.is_empty() {
        let Ok(directory) = Scratch::new("doctor") else {
            return vec![Finding::warn(
                "approval",
                "not tested: there is no directory for temporary files",
                "set TMPDIR",
            )];
        };
        findings.extend(wanted.into_iter().map(|way| way(context, &directory)));
    }
    if context.wants("approval.approvers") {
        findings.extend(approvers(context));
    }
    findings
}

impl CheckContext<'_> {
    /// Runs guard with these arguments and a `PATH` without programs.
    fn guard(
        &self,
        directory: &Scratch,
        arguments: &[&str],
        over: &[(&str, &str)],
        how: impl FnOnce(&Probe) -> io::Result<ProbeOutput>,
    ) -> io::Result<ProbeOutput> {
        let nowhere = directory.path().to_string_lossy().into_owned();
        // No request should wait for a person elsewhere.
        let mut env = self.env(over);
        env.retain(|(name, _)| name != "GUARD_WAIT" && name != "TERM");
        env.extend([("GUARD_WAIT".into(), "0".into()), ("TERM".into(), "xterm".into())]);
        env.retain(|(name, _)| name != "PATH");
        env.push(("PATH".into(), nowhere.into()));
        let program = self.guard.clone().into_os_string();
        let argv: Vec<OsString> = [program].into_iter().chain(arguments.iter().map(OsString::from)).collect();
        how(&Probe { argv: &argv, env: &env, cwd: directory.path(), limit: LIMIT })
    }
}

const ASK: &[&str] = &["--", "guard-canary", "ask"];
const GRANT: &[&str] = &["allow", "add", "guard-canary ask", "--always", "--anywhere"];

fn finding(check: &str, seen: io::Result<ProbeOutput>, stopped: &str, passed: &str, remedy: &str) -> Finding {
    let check = format!("approval.{check}");
    match seen {
        Ok(seen) if seen.code == APPROVED || seen.code == Some(0) => Finding::warn(check, passed, remedy),
        Ok(seen) if seen.late => Finding::ok(check, format!("{stopped} (the request waited, and nobody answered)")),
        Ok(_) => Finding::ok(check, stopped),
        Err(error) => Finding::warn(check, format!("not tested: {error}"), "see the other findings"),
    }
}

fn through_a_pipe(context: &CheckContext, directory: &Scratch) -> Finding {
    let seen = context.guard(directory, GRANT, &[], |probe| probe.with_input("y\ny\nyes\n"));
    finding(
        "pipe",
        seen,
        "an answer through a pipe is ignored: guard reads only the terminal",
        "a grant was added through a pipe",
        "remove it with guard allow list and guard allow remove; then report it as described in SECURITY.md",
    )
}

fn on_a_terminal_below_an_agent(context: &CheckContext, directory: &Scratch) -> Finding {
    let seen = context.guard(directory, ASK, &[("CLAUDECODE", "1")], |probe| probe.on_a_terminal("y"));
    finding(
        "agents-terminal",
        seen,
        "guard does not ask on a terminal that an agent created: it recognises the parent agent",
        "a command of an agent was approved on a terminal that the agent created",
        ANOTHER_ACCOUNT,
    )
}

/// Tries as a program that hides its origin: no agent's variable in its environment, and no agent above it.
fn on_a_terminal_of_its_own(context: &CheckContext, directory: &Scratch) -> Finding {
    let signed = context.engine.approvers().is_any();
    // If there are approvers, the answer is accepted, and then guard waits for a signature that no program can make.
    let limit = if signed { LIMIT / 3 } else { LIMIT };
    let seen = context.guard(directory, ASK, &[], |probe| Probe { limit, ..*probe }.on_a_terminal("y"));
    let stopped = if signed {
        "an approval on a terminal that a program created is rejected: an approver must sign"
    } else {
        "a program cannot pass for a person by creating a terminal"
    };
    finding(
        "hidden-terminal",
        seen,
        stopped,
        "a program of this account that hides its parent agent and creates a terminal can approve as you; under the \
         same account nothing prevents that",
        "run guard approver add NAME, so that tier 3 and above needs a signature that no program can produce; or run \
         agents under a separate account, and keep the policy in /etc/guard",
    )
}

fn through_the_environment(context: &CheckContext, directory: &Scratch) -> Finding {
    let home = directory.path().join("home");
    let config = home.join(".config/guard");
    let made =
        std::fs::create_dir_all(&config).and_then(|()| std::fs::write(config.join("config.toml"), "mode = \"off\"\n"));
    if let Err(error) = made {
        return finding("environment", Err(error), "", "", "");
    }
    let home = home.to_string_lossy();
    let under = config.parent().map(Path::to_string_lossy).unwrap_or_default();
    let over = [("HOME", &*home), ("XDG_CONFIG_HOME", &*under), ("XDG_DATA_HOME", &*home), ("GUARD_MODE", "off")];
    let seen = context.guard(directory, ASK, &over, |probe| probe.with_input(""));
    finding(
        "environment",
        seen,
        "another HOME, XDG_* or GUARD_* cannot loosen the policy",
        "with another HOME guard uses another configuration, because your own home has none",
        "create ~/.config/guard/config.toml (it may be empty); then another HOME can only tighten the policy",
    )
}

/// Reports the enrolled approvers, if any.
fn approvers(context: &CheckContext) -> Option<Finding> {
    let enrolled = context.engine.approvers();
    let check = "approval.approvers";
    if let Some(problem) = enrolled.problems.first() {
        return Some(Finding::fail(check, problem.to_string(), "fix it; until then nobody can sign"));
    }
    if let Some(why) = sign::lacking(&enrolled, sign::most(context.engine)) {
        return Some(Finding::fail(
            check,
            format!("{why}; until then guard refuses commands that need several approvers"),
            "guard approver add NAME",
        ));
    }
    let names: Vec<&str> = enrolled.approvers.iter().map(|approver| approver.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let says = format!("approvals of tier 3 and above need the signature of {}", names.join(" or "));
    let finding = if enrolled.changeable {
        let says = format!("{says}; but a program of this account can change the approvers");
        Finding::warn(check, says, "as root, move the directory to /etc/guard/approvers")
    } else {
        Finding::ok(check, format!("{says}, and this account cannot change the approvers"))
    };
    Some(finding.about(enrolled.directory))
}

/// Checks which of guard's files a program of this account could write to directly. Changes nothing.
fn through_the_files(context: &CheckContext, _: &Scratch) -> Finding {
    let own = context.engine.config().places.iter().filter(|place| place.layer == Layer::User);
    let mut files: Vec<PathBuf> = own.flat_map(|place| [place.file.clone(), place.patterns.clone()]).collect();
    files.push(context.guard.clone());
    files.extend(context.engine.paths().ok().map(|paths| paths.database()));
    // The agents' hook files: whoever can write to these decides whether the agent asks guard.
    for host in HOSTS.iter() {
        let wired = context.places.files(host, false).into_iter().map(|(path, _)| path);
        let asks = |path: &PathBuf| file::read(path).ok().flatten().is_some_and(|text| text.contains("guard"));
        files.extend(wired.filter(asks));
    }
    let writable: Vec<String> = files
        .iter()
        .filter(|file| {
            // A file that does not exist can be created if its directory is writable.
            let there = file.ancestors().find(|path| path.exists());
            there.is_some_and(|path| nix::unistd::access(path, AccessFlags::W_OK).is_ok())
        })
        .map(|file| file.display().to_string())
        .collect();
    if writable.is_empty() {
        return Finding::ok("approval.files", "this account cannot write guard's files or the agents' configuration");
    }
    let says = format!(
        "guard asks before an agent writes them, but a program of this account that bypasses guard can write {}",
        writable.join(", ")
    );
    Finding::warn("approval.files", says, ANOTHER_ACCOUNT)
}
