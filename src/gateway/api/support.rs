//! Runs exact support commands: commands that give help at once are judged before anything that could delay them, and
//! are neither rate-limited nor stored first.
//!
//! Out of scope: whether such a command may run, which guard decides.

use std::sync::Arc;

use guard_config::config;
use serde_json::{Value, json};

use super::App;
use super::submit::{self, SubmitBody};
use crate::backend::Submission;
use crate::judge::policy::{is_support_argv, is_support_line};
use crate::judge::rules::catalog::Catalog;
use crate::submission::SubmitProcess;

/// Reports whether a submission has the form of a support command of this account.
pub(super) fn is_meant(app: &App, new: &SubmitBody) -> bool {
    let mut policy = config::load(&app.account.roots()).policy;
    policy.support.extend(Catalog::builtin().support());
    match (&new.command, &new.argv, &new.tool) {
        (Some(line), None, None) => is_support_line(line, &policy),
        (None, Some(argv), None) => is_support_argv(argv, &policy),
        _ => false,
    }
}

/// The result for a command that has the form of a support command.
pub(super) enum SupportResult {
    /// The command may run, with this response.
    Runs(Value),
    /// The command is treated like any other.
    Else,
}

/// Judges a command, and allows it if guard recognizes it as a support command. The gateway's own data is stored in the
/// background.
pub(super) async fn judge(app: &Arc<App>, submission: &Submission) -> SupportResult {
    let Ok(mut judge) = SubmitProcess::start(&app.guard, &submission.body).await else { return SupportResult::Else };
    let Ok(told) = judge.next().await else { return SupportResult::Else };
    if told["status"] != "allow" || told["settled_by"] != "support" {
        // The judge ends, and nobody waits for the request that it may have filed. The command is submitted again like
        // any other.
        return SupportResult::Else;
    }
    let Ok((mut value, kept, once)) = submit::allowed(app, &submission.action, &told) else {
        return SupportResult::Else;
    };
    value["action_id"] = json!(submission.action);
    let (app, submission) = (app.clone(), submission.clone());
    tokio::spawn(async move {
        let action = submission.action.clone();
        // If a submission with the same key is already stored, it is kept; this one was answered nevertheless.
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
