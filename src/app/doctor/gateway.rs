//! Checks whether the gateway reaches a person: sends a message through each channel and back, and loads the page as a
//! browser does.
//!
//! The gateway's program makes the checks (`guard-gateway check`), because this program does not use the network. Out
//! of scope: how a channel is tested.

use std::ffi::OsString;
use std::time::Duration;

use serde::Deserialize;

use super::{CheckContext, CheckStatus, Finding};
use crate::app::gateway;
use crate::exec::probe::Probe;

/// The time limit of all checks, which includes waiting for a messenger that does not answer.
const LIMIT: Duration = Duration::from_secs(90);

/// The checks that the gateway's program makes.
const CHECKS: [&str; 3] = ["gateway", "channel", "page"];

/// A finding of the gateway's program.
#[derive(Debug, Deserialize)]
struct CheckResult {
    check: String,
    status: String,
    says: String,
    remedy: Option<String>,
}

/// Runs the checks. Without the gateway's program there are none.
pub fn check(context: &CheckContext) -> Vec<Finding> {
    let wanted: Vec<&String> =
        context.only.iter().filter(|only| CHECKS.iter().any(|check| only.starts_with(check))).collect();
    if wanted.is_empty() && !context.only.is_empty() {
        return Vec::new();
    }
    let program = match gateway::find() {
        Ok(program) => program,
        // Report it only if the check was named: others may not use the gateway.
        Err(why) if !wanted.is_empty() => {
            return vec![Finding::fail("gateway", why.to_string(), "install it in the directory of guard")];
        }
        Err(_) => return Vec::new(),
    };
    let words = ["check".into()].into_iter().chain(wanted.iter().map(OsString::from));
    let argv: Vec<OsString> = [program.into_os_string()].into_iter().chain(words).collect();
    let env = context.env(&[]);
    let seen = Probe { argv: &argv, env: &env, cwd: &context.engine.caller.cwd, limit: LIMIT }.with_input("");
    let seen = match seen {
        Ok(seen) if seen.late => Err(format!("it took longer than {} s", LIMIT.as_secs())),
        Ok(seen) => serde_json::from_str::<Vec<CheckResult>>(&seen.stdout).map_err(|_| last(&seen.stderr)),
        Err(error) => Err(error.to_string()),
    };
    match seen {
        Ok(found) => found.into_iter().map(finding).collect(),
        Err(why) => vec![Finding::warn(
            "gateway",
            format!("its channels and page were not tested: {why}"),
            "run guard serve --status; the gateway may have another version than guard",
        )],
    }
}

fn finding(found: CheckResult) -> Finding {
    let status = match found.status.as_str() {
        "ok" => CheckStatus::Ok,
        "warn" => CheckStatus::Warn,
        // Treat an unknown status as a failure.
        _ => CheckStatus::Fail,
    };
    Finding { remedy: found.remedy, ..Finding::new(status, found.check, found.says) }
}

/// Returns the last line of an error message.
fn last(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    crate::ui::visible::text(line.trim()).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_is_not_known_is_broken() {
        let of = |status: &str| {
            let text = format!("{{\"check\":\"page\",\"status\":\"{status}\",\"says\":\"x\",\"remedy\":null}}");
            finding(serde_json::from_str(&text).unwrap()).status
        };
        assert_eq!(
            [of("ok"), of("warn"), of("fail"), of("fine")],
            [CheckStatus::Ok, CheckStatus::Warn, CheckStatus::Fail, CheckStatus::Fail]
        );
    }

    #[test]
    fn of_a_complaint_the_last_line_is_told() {
        assert_eq!(last("one\ntwo\n\n"), "two");
        assert_eq!(last(""), "it printed nothing");
        assert!(!last("a\u{1b}[2Jb").contains('\u{1b}'));
    }
}
