//! Escalations of requests that nobody answered: notifies the admin channels of the route, or all channels if the request
//! is urgent, all at once. Requests that timed out while no gateway was running are included.
//!
//! Out of scope: the protocols of messengers.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use serde_json::json;
use tokio::task::JoinSet;

use crate::api::App;
use crate::backend::BackendError;
use crate::connected_channels::ConnectedChannels;
use crate::request_feed::TrackedRequest;
use crate::route::{is_urgent, route};
use crate::routing::tell;
use crate::store::queue::RequestState;

/// The time limit for a channel to accept an escalation.
const ACCEPT: Duration = Duration::from_secs(10);

/// The waits before an escalation is retried on a channel that did not accept it.
const AGAIN: [Duration; 4] =
    [Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120), Duration::from_secs(600)];

/// The escalations of a running gateway, at most one for each request.
#[derive(Default)]
pub struct EscalationTasks {
    begun: HashSet<String>,
    tasks: JoinSet<()>,
}

impl EscalationTasks {
    /// Begins the escalation of all unanswered requests that were not escalated yet, by this gateway or an earlier one.
    pub async fn begin_overdue(&mut self, app: &Arc<App>, connections: &Arc<ConnectedChannels>) {
        let now = Timestamp::now();
        let known = app.backend.run(move |backend| -> Result<_, BackendError> {
            let memory = backend.memory();
            Ok((memory.escalates_since(now)?, memory.escalated()?))
        });
        let (since, told) = match known.await {
            Ok(Ok(known)) => known,
            // Without the list of earlier escalations, none is begun.
            Ok(Err(why)) | Err(why) => {
                tracing::warn!("{why}");
                return;
            }
        };
        for shown in app.feed.all() {
            if shown.pending.state == RequestState::Late
                && shown.pending.filed >= since
                && !told.contains(&shown.action)
            {
                self.begin(app, connections, shown);
            }
        }
    }

    /// Begins the escalation of an unanswered request, if its tier is above 2 or it is urgent.
    pub fn begin(&mut self, app: &Arc<App>, connections: &Arc<ConnectedChannels>, shown: Arc<TrackedRequest>) {
        while self.tasks.try_join_next().is_some() {}
        let is_told = shown.pending.tier.number() > 2 || is_urgent(&shown.pending);
        if is_told && self.begun.insert(shown.action.clone()) {
            self.tasks.spawn(escalate(app.clone(), connections.clone(), shown));
        }
    }
}

/// Sends an escalation to its channels concurrently, and retries on each channel that does not accept it.
async fn escalate(app: Arc<App>, connections: Arc<ConnectedChannels>, shown: Arc<TrackedRequest>) {
    let config = app.config();
    let names: Vec<String> = if is_urgent(&shown.pending) {
        config.channel.iter().map(|channel| channel.name.clone()).collect()
    } else {
        route(&config, &shown.pending, &Zoned::now()).admin
    };
    let text = text(&shown, Timestamp::now());
    let taken = AtomicBool::new(false);
    let took = async || {
        if taken.swap(true, Ordering::Relaxed) {
            return;
        }
        let (action, now) = (shown.action.clone(), Timestamp::now());
        let _ = app.backend.run(move |backend| backend.memory().set_escalated(&action, now)).await;
        app.feed.publish("request.escalated", &shown.action, json!({ "tier": shown.pending.tier.number() }), now);
    };
    if names.is_empty() {
        took().await;
    }
    let each = async |name: &String| {
        let Some(connection) = connections.get(name) else { return };
        for again in AGAIN.into_iter().map(Some).chain([None]) {
            if tell(&app, name, &*connection, &text, ACCEPT).await {
                took().await;
                return;
            }
            let Some(wait) = again else { return };
            tokio::time::sleep(wait).await;
            // Meanwhile the request was answered late, or was requested again.
            if app.feed.find(&shown.action).is_none_or(|now| now.pending.state != RequestState::Late) {
                return;
            }
        }
    };
    futures_util::future::join_all(names.iter().map(each)).await;
}

/// Returns the text of an escalation.
fn text(shown: &TrackedRequest, now: Timestamp) -> String {
    let (pending, tier) = (&shown.pending, shown.pending.tier.number());
    let late = if tier == 3 { format!("; guard approve {} lets it run once", pending.id) } else { String::new() };
    let front = if pending.decision { "A request that needs a person's decision timed out. " } else { "" };
    let ago = now.duration_since(pending.expires).as_secs();
    let when = if ago >= 60 { format!(" until {}", pending.expires.strftime("%F %R UTC")) } else { String::new() };
    format!(
        "{front}Nobody answered request {} (tier {tier}){when}, so it was refused{late}: {}",
        pending.id,
        guard_ui::ui::visible::text(&pending.command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{changed, pending};
    use crate::judge::risk::Tier;

    #[test]
    fn what_ran_out_a_while_ago_says_when() {
        let shown =
            |tier| TrackedRequest { action: "a".to_owned(), pending: changed(pending(), |one| one.tier = tier) };
        let now = Timestamp::UNIX_EPOCH;
        let soon = text(&shown(Tier::High), now);
        assert!(soon.starts_with("Nobody answered request b2c3 (tier 3), so it was refused; guard approve b2c3"));
        let later = text(&shown(Tier::Critical), Timestamp::from_second(3600).unwrap());
        assert!(later.contains("(tier 4) until 1970-01-01 00:00 UTC, so it was refused: npm"), "{later}");
    }
}
