//! Exact support commands: what helps somebody at once is judged before anything that could hold it up, and is neither
//! counted nor kept first.
//!
//! Out of scope: whether it may run, which guard says.

use std::sync::Arc;

use guard_config::config;
use serde_json::{Value, json};

use super::App;
use super::submit::{self, SubmitBody};
use crate::backend::Submission;
use crate::judge::policy::{is_support_argv, is_support_line};
use crate::judge::rules::catalog::Catalog;
use crate::submission::SubmitProcess;

/// Whether what is handed in reads like a support command of this account's.
pub(super) fn is_meant(app: &App, new: &SubmitBody) -> bool {
    let mut policy = config::load(&app.account.roots()).policy;
    policy.support.extend(Catalog::builtin().support());
    match (&new.command, &new.argv, &new.tool) {
        (Some(line), None, None) => is_support_line(line, &policy),
        (None, Some(argv), None) => is_support_argv(argv, &policy),
        _ => false,
    }
}

/// What became of a command that reads like one of support.
pub(super) enum SupportResult {
    /// It may run, and this is said of it.
    Runs(Value),
    /// It is like any other.
    Else,
}

/// Has it judged, and lets it run where it is support. What the gateway itself keeps of it is written beside that.
pub(super) async fn judge(app: &Arc<App>, submission: &Submission) -> SupportResult {
    let Ok(mut judge) = SubmitProcess::start(&app.guard, &submission.body).await else { return SupportResult::Else };
    let Ok(told) = judge.next().await else { return SupportResult::Else };
    if told["status"] != "allow" || told["settled_by"] != "support" {
        // The judge goes, and what it filed waits for nobody: it is handed in again as any other command is.
        return SupportResult::Else;
    }
    let Ok((mut value, kept, once)) = submit::allowed(app, &submission.action, &told) else {
        return SupportResult::Else;
    };
    value["action_id"] = json!(submission.action);
    let (app, submission) = (app.clone(), submission.clone());
    tokio::spawn(async move {
        let action = submission.action.clone();
        // Of two with one key the first is kept; this one is answered all the same.
        let begun = app.backend.run(move |backend| backend.memory().begin(&submission)).await;
        let done = match begun {
            Ok(Ok(None)) => submit::end(&app, &action, kept, once).await,
            Ok(Ok(Some(_))) => Ok(()),
            Ok(Err(why)) | Err(why) => Err(why),
        };
        if let Err(why) = done {
            tracing::warn!("{why}");
        }
    });
    SupportResult::Runs(value)
}
