//! Notifies a person that a request waits: runs the program of `queue.notify` once for each filed request.
//!
//! The program gets what the list of requests shows, redacted. The request waits even if the program fails, is slow or
//! is missing. Out of scope: the exact command, and any answer.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use super::engine::Engine;
use crate::exec::notice::{self, MAX_INPUT, Notice, PLACES};
use crate::judge::approver::ConfirmCode;
use crate::store::queue::Pending;
use crate::ui::pending::{approvals, cut};
use crate::ui::visible;

/// The time limit of the program.
const LIMIT: Duration = Duration::from_secs(10);

/// The longest command in a notification, in characters. The card has the rest.
const MOST: usize = 4000;

/// The variables that the program may need to reach a person's screen.
const HANDED: [&str; 8] =
    ["DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "LANG", "LC_ALL", "TZ", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"];

/// Returns the reason why the configured program cannot be started, or `None` if it can or none is configured.
#[must_use]
pub fn lacking(engine: &Engine) -> Option<String> {
    let program = engine.policy().queue_notify.first()?;
    let found = notice::find(program, engine.caller.account.home.as_deref());
    found.is_none().then(|| match program.contains('/') {
        true => format!("{program} not found"),
        false => format!("{program} not found in {}", PLACES.join(", ")),
    })
}

/// Notifies about a request, with the code that an approval by passkey must contain.
pub fn tell(engine: &Engine, request: &Pending, code: Option<ConfirmCode>) {
    let account = &engine.caller.account;
    let home = account.home.as_deref();
    let argv = &engine.policy().queue_notify;
    let Some(program) = argv.first().and_then(|program| notice::find(program, home)) else { return };
    let summary = summary(request, code);
    let argv: Vec<String> = argv.iter().map(|word| word.replace("{summary}", &summary)).collect();
    let env = &engine.caller.env;
    let mut env: Vec<(OsString, OsString)> = HANDED
        .iter()
        .filter_map(|name| Some((OsString::from(name), env.variables.get(OsStr::new(name))?.clone())))
        .collect();
    env.push(("PATH".into(), PLACES.join(":").into()));
    env.push(("USER".into(), account.name.clone().into()));
    env.extend(home.map(|home| ("HOME".into(), home.into())));
    let input = told(request, code);
    // The request waits even if this fails.
    let _ = Notice { program: &program, argv: &argv, env: &env, input: input.as_bytes(), limit: LIMIT }.send();
}

/// Formats the request as one line of JSON, as `guard pending --json` does.
fn told(request: &Pending, code: Option<ConfirmCode>) -> String {
    let mut request = request.clone();
    request.command = cut(&request.command, MOST);
    let written = |request: &Pending| {
        let mut value = serde_json::to_value(request).unwrap_or_default();
        if let (Some(code), Some(fields)) = (code, value.as_object_mut()) {
            fields.insert("code".to_owned(), code.to_string().into());
        }
        format!("{value}\n")
    };
    let text = written(&request);
    if text.len() <= MAX_INPUT {
        return text;
    }
    // Characters that are long when escaped: keep enough of the command to recognise the request.
    request.command = cut(&request.command, 200);
    request.cwd = cut(&request.cwd, 200);
    written(&request)
}

/// Describes a request in one short line.
fn summary(request: &Pending, code: Option<ConfirmCode>) -> String {
    let by = request.agent.as_deref().unwrap_or(&request.origin);
    let so_far =
        approvals(request.approvals, &request.approved_by).map_or(String::new(), |so_far| format!(" ({so_far})"));
    let line = format!("request {} of {by}, tier {}: {}", request.id, request.tier.number(), request.command);
    let code = code.map_or(String::new(), |code| format!(" (code {code})"));
    cut(&visible::line(line.as_bytes(), false).to_string(), 200) + &so_far + &code
}
