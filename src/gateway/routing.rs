//! Sends each request to the channels of its route.
//!
//! Out of scope: the protocols of messengers, and the processing of answers ([`crate::interactions`]).

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Zoned};
use serde_json::json;
use tokio::sync::{Notify, mpsc};

use crate::answer::{self, Answerer, ApprovalBar};
use crate::api::lists::usual;
use crate::api::{App, locked};
use crate::backend::{BackendError, Offer};
use crate::channel::buttons::ApproverNonce;
use crate::channel::{self, BoxFuture, Card, Channel, ChannelStatus, Health};
use crate::connected_channels::{ConnectedChannel, ConnectedChannels};
use crate::escalation::EscalationTasks;
use crate::interactions::handle_interactions;
use crate::judge::answer_scope::AnswerScope;
use crate::request_feed::{TrackedRequest, seconds_left};
use crate::route::{is_urgent, route};
use crate::secrets::hash;
use crate::store::queue::{Pending, RequestState};

/// The number of interactions that can be queued.
const INTERACTIONS: usize = 256;

/// The number of waiting requests of one session from which a single notice replaces the cards.
const FLOOD: usize = 4;

/// Returns a request as messengers show it.
#[must_use]
pub fn card(app: &App, shown: &TrackedRequest) -> Card {
    let (pending, config) = (&shown.pending, app.config());
    let visible = |text: &str| guard_ui::ui::visible::text(text).into_owned();
    let anybody = Answerer { by: String::new(), token: None, max_tier: 3 };
    let enrolled = app.account.approvers().is_any();
    let bar = answer::may_say_yes(pending, &anybody, enrolled, config.unsigned_tier, AnswerScope::Once).err();
    let by = pending.agent.as_deref().unwrap_or(&pending.origin);
    let who = format!("{by} · {}", pending.session);
    // The gateway of a machine receives requests of several accounts.
    let who = if app.account.service.is_some() { format!("{who} · {}", pending.user) } else { who };
    Card {
        action_id: shown.action.clone(),
        request: pending.id.clone(),
        command: visible(&pending.command),
        cwd: visible(&pending.cwd),
        why: visible(&why(pending)),
        tier: pending.tier.number(),
        tier_name: pending.tier.name().to_owned(),
        score: pending.score.to_string(),
        who: visible(&who),
        timeout_secs: seconds_left(pending, Timestamp::now()),
        decision: pending.decision,
        crisis: pending.crisis,
        said: pending.said.as_deref().map(visible),
        digest: pending.short_digest(),
        sign: bar == Some(ApprovalBar::Signature),
        bar: bar.map(|bar| bar.to_string()),
        replies: usual(app),
        link: config.page.as_ref().map(|page| format!("{}/#{}", page.trim_end_matches('/'), shown.action)),
    }
}

/// Updates the health of a channel, and publishes an event if its status changes.
pub fn note(app: &App, channel: &str, change: impl FnOnce(&mut Health)) {
    let (before, now) = {
        let mut all = locked(&app.channels);
        let health = all.entry(channel.to_owned()).or_default();
        let before = health.combined();
        change(health);
        (before, health.combined())
    };
    if let Some(status) = now
        && before.as_ref() != Some(&status)
    {
        let kind = if status == ChannelStatus::Up { "channel.up" } else { "channel.down" };
        app.feed.publish(kind, "", json!({ "channel": channel, "how": status }), Timestamp::now());
    }
}

/// Sends a notice that needs no answer, within this time. Returns `true` if it was accepted.
pub async fn tell(app: &App, name: &str, connection: &dyn Channel, text: &str, within: Duration) -> bool {
    let why = match tokio::time::timeout(within, connection.send_notice(text)).await {
        Ok(Ok(())) => {
            note(app, name, |health| health.sends = Some(ChannelStatus::Up));
            return true;
        }
        Ok(Err(failed)) => failed.to_string(),
        Err(_) => format!("no answer within {} s", within.as_secs()),
    };
    tracing::warn!("channel {name}: {why}");
    note(app, name, |health| health.sends = Some(ChannelStatus::Down { why }));
    false
}

struct ChannelStatusSink(Arc<App>);

impl channel::ChannelState for ChannelStatusSink {
    fn status(&self, channel: &str, status: ChannelStatus) {
        note(&self.0, channel, |health| health.receives = Some(status));
    }

    fn position<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Option<String>> {
        let name = channel.to_owned();
        Box::pin(async move { self.0.backend.run(move |backend| backend.memory().position(&name)).await.ok()?.ok()? })
    }

    fn set_position<'a>(&'a self, channel: &'a str, position: String) -> BoxFuture<'a, ()> {
        let name = channel.to_owned();
        Box::pin(async move {
            let _ = self.0.backend.run(move |backend| backend.memory().set_position(&name, &position)).await;
        })
    }
}

/// The tasks that connect the configured messengers and pass on requests and answers, until this is dropped.
pub struct ChannelTasks {
    tasks: tokio::task::JoinSet<()>,
}

impl ChannelTasks {
    /// Starts the tasks.
    #[must_use]
    pub fn begin(app: &Arc<App>) -> Self {
        let mut tasks = tokio::task::JoinSet::new();
        let connections = Arc::new(ConnectedChannels::default());
        let (inbox, interactions) = mpsc::channel(INTERACTIONS);
        for one in &app.config().channel {
            let open = match channel::open(one) {
                Ok(open) => open,
                Err(why) => {
                    tracing::warn!("{why}");
                    channel::ChannelState::status(
                        &ChannelStatusSink(app.clone()),
                        &one.name,
                        ChannelStatus::Down { why: why.to_string() },
                    );
                    continue;
                }
            };
            connections.add(one.name.clone(), open.clone());
            if let Some(listening) = open.receive(inbox.clone(), Arc::new(ChannelStatusSink(app.clone()))) {
                tasks.spawn(listening);
            }
        }
        *app.connections.write().unwrap_or_else(std::sync::PoisonError::into_inner) = connections.clone();
        tasks.spawn(handle_interactions(app.clone(), interactions));
        let ended = Arc::new(Notify::new());
        tasks.spawn(crate::card_closing::close(app.clone(), connections.clone(), ended.clone()));
        tasks.spawn(carry(app.clone(), connections, ended));
        Self { tasks }
    }

    /// Stops the tasks. Unfinished work is abandoned, and repeated when the tasks are started next.
    pub async fn end(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Sends out filed requests, begins escalations, and notifies `ended` when a message may have to be closed.
async fn carry(app: Arc<App>, connections: Arc<ConnectedChannels>, ended: Arc<Notify>) {
    let waits = |action: &str| app.feed.find(action).is_some_and(|shown| shown.pending.state == RequestState::Waiting);
    let (_, mut stream) = app.feed.subscribe(None);
    let mut all = app.feed.all();
    let mut sending: tokio::task::JoinSet<()> = tokio::task::JoinSet::new();
    let mut escalating = EscalationTasks::default();
    loop {
        escalating.begin_overdue(&app, &connections).await;
        for shown in all.drain(..) {
            if shown.pending.state == RequestState::Waiting {
                sending.spawn(ask(app.clone(), connections.clone(), shown));
            }
        }
        ended.notify_one();
        loop {
            match stream.recv().await {
                Ok(event) if event.kind == "request.filed" => {
                    if let Some(shown) = app.feed.find(&event.action_id) {
                        sending.spawn(ask(app.clone(), connections.clone(), shown));
                    }
                }
                Ok(event) if event.kind == "request.late" => {
                    if let Some(shown) = app.feed.find(&event.action_id) {
                        escalating.begin(&app, &connections, shown);
                    }
                    ended.notify_one();
                }
                // The request may have ended while a messenger was still accepting its card; only then is there
                // something to close.
                Ok(event) if event.kind == "request.offered" && waits(&event.action_id) => {}
                Ok(event) if event.kind.starts_with("request.") => ended.notify_one(),
                Ok(_) => {}
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => break,
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            }
            while sending.try_join_next().is_some() {}
        }
        // Events were missed, so all requests are checked again. `offer` skips those that were sent before.
        all = app.feed.all();
    }
}

/// Sends a request to its channels: one after the other until one accepts the card, or all at once.
async fn ask(app: Arc<App>, connections: Arc<ConnectedChannels>, shown: Arc<TrackedRequest>) {
    let config = app.config();
    let route = route(&config, &shown.pending, &Zoned::now());
    let session: Vec<Arc<TrackedRequest>> = app
        .feed
        .all()
        .into_iter()
        .filter(|other| other.pending.state == RequestState::Waiting && other.pending.root == shown.pending.root)
        .collect();
    let flooded = session.len() >= FLOOD && !is_urgent(&shown.pending);
    let accept = config.accept();
    let send = async |name: &str| {
        let ConnectedChannel { channel: connection, turns } = connections.connection(name)?;
        // The semaphore is never closed.
        let _turn = turns.acquire().await.ok()?;
        if app.feed.find(&shown.action).is_none_or(|now| now.pending.state != RequestState::Waiting) {
            // The request was answered while the previous channel was failing.
            return Some(true);
        }
        Some(if flooded {
            digest(&app, name, &*connection, &session, &shown, accept).await
        } else {
            offer(&app, name, &*connection, &shown, accept).await
        })
    };
    let mut rest = route.channels.iter();
    if !route.broadcast {
        let mut failures = 0;
        // From tier 3 on, two failures are enough; then all remaining channels receive it at once.
        while failures < 2 || shown.pending.tier.number() < 3 {
            let Some(name) = rest.next() else { return };
            match send(name).await {
                Some(true) => return,
                Some(false) => failures += 1,
                None => {}
            }
        }
    }
    futures_util::future::join_all(rest.map(|name| send(name))).await;
}

/// Sends a card to a channel. Returns `true` if it was accepted, now or before.
async fn offer(app: &App, name: &str, connection: &dyn Channel, shown: &TrackedRequest, accept: Duration) -> bool {
    let Ok(own) = ApproverNonce::of_all(connection.approvers()) else { return false };
    let buttons: Vec<(String, [u8; 32])> = own.iter().map(|one| (one.approver.clone(), hash(&one.nonce))).collect();
    let (action, now) = (shown.action.clone(), Timestamp::now());
    let card = card(app, shown);
    let new = Offer {
        action,
        channel: name.to_owned(),
        message: None,
        closed: false,
        offers_yes: connection.offers_yes(&card),
    };
    let kept = app
        .backend
        .run(move |backend| -> Result<Option<bool>, BackendError> {
            if backend.memory().offer(&new, &buttons, now)? {
                return Ok(None);
            }
            let before = backend.memory().offers(Some(&new.action))?.into_iter().find(|one| one.channel == new.channel);
            if before.is_some_and(|before| before.message.is_some()) {
                return Ok(Some(true));
            }
            // The gateway stopped while the card was being sent. It is sent again, with new nonces.
            backend.memory().offered(&new.action, &new.channel, None)?;
            Ok(if backend.memory().offer(&new, &buttons, now)? { None } else { Some(false) })
        })
        .await;
    match kept {
        Ok(Ok(None)) => {}
        Ok(Ok(Some(sent))) => return sent,
        Ok(Err(why)) | Err(why) => {
            tracing::warn!("{why}");
            return false;
        }
    }
    let sent = match tokio::time::timeout(accept, connection.send(&card, &own)).await {
        Ok(Ok(message)) => Ok(message),
        Ok(Err(failed)) => Err(failed.to_string()),
        Err(_) => Err(format!("no answer within {} s", accept.as_secs())),
    };
    let (action, channel) = (shown.action.clone(), name.to_owned());
    let message = sent.as_ref().ok().cloned();
    let _ = app.backend.run(move |backend| backend.memory().offered(&action, &channel, message.as_deref())).await;
    let now = Timestamp::now();
    match sent {
        Ok(_) => {
            note(app, name, |health| health.sends = Some(ChannelStatus::Up));
            app.feed.publish("request.offered", &shown.action, json!({ "channel": name }), now);
            true
        }
        Err(why) => {
            tracing::warn!("channel {name}: {why}");
            note(app, name, |health| health.sends = Some(ChannelStatus::Down { why: why.clone() }));
            app.feed.publish("request.refused", &shown.action, json!({ "channel": name, "why": why }), now);
            false
        }
    }
}

/// Sends one notice instead of many cards, at most once a minute for each session and channel. Returns `true` if a
/// notice was accepted, now or within the last minute.
async fn digest(
    app: &App,
    name: &str,
    connection: &dyn Channel,
    session: &[Arc<TrackedRequest>],
    shown: &TrackedRequest,
    accept: Duration,
) -> bool {
    let position = format!("digest {name} {}", shown.pending.root);
    let (at, key) = (Timestamp::now().as_second(), position.clone());
    let before = app.backend.run(move |backend| backend.memory().position(&key)).await;
    let before = before.ok().and_then(Result::ok).flatten().and_then(|text| text.parse::<i64>().ok());
    if before.is_some_and(|before| at - before < 60) {
        return true;
    }
    let alike = session.iter().filter(|other| other.pending.is_same(&shown.pending)).count();
    let link = app.config().page.as_ref().map_or_else(|| "guard review".to_owned(), Clone::clone);
    let text = format!(
        "{} requests waiting; {alike} similar, the last: {}\nAnswer at {link}",
        session.len(),
        guard_ui::ui::visible::text(&shown.pending.command)
    );
    let sent = tell(app, name, connection, &text, accept).await;
    if sent {
        let _ = app.backend.run(move |backend| backend.memory().set_position(&position, &at.to_string())).await;
    }
    sent
}

/// Returns the reason of the request, followed by the reviewer's opinion.
fn why(pending: &Pending) -> String {
    let said =
        pending.review.as_ref().map(|opinion| format!(" · {}", guard_ui::ui::card_view::OpinionLine::of(opinion).line));
    format!("{}{}", pending.why, said.unwrap_or_default())
}
