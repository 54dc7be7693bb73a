//! Closes cards: replaces the message of each request that has ended with its outcome.
//!
//! Out of scope: the protocols of messengers, and the routing of requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::answer::settled;
use crate::api::App;
use crate::backend::Offer;
use crate::channel::{Card, SendError};
use crate::connected_channels::ConnectedChannels;
use crate::routing::card;
use crate::store::queue::RequestState;

/// The shortest pause of a channel that limited the rate or failed.
const AGAIN: Duration = Duration::from_secs(1);

/// The longest pause of a channel that keeps failing.
const SELDOM: Duration = Duration::from_secs(600);

/// The time for which failed attempts to close a message are repeated.
const LONG: Duration = Duration::from_secs(3600);

/// Closes the messages of ended requests whenever `ended` is notified; never returns. It runs beside the task that
/// sends cards, and closes one message at a time on each channel: a slow messenger delays neither new cards nor the
/// closing of messages on other channels.
pub async fn close(app: Arc<App>, connections: Arc<ConnectedChannels>, ended: Arc<Notify>) {
    let mut away = PausedChannels::default();
    loop {
        match away.next(Instant::now()) {
            None => ended.notified().await,
            // Messages that a messenger did not accept are retried after its pause.
            Some(wait) => {
                let _ = tokio::time::timeout(wait, ended.notified()).await;
            }
        }
        close_ended(&app, &connections, &mut away).await;
    }
}

/// A pause of a channel, during which no message is closed on it.
#[derive(Clone, Copy, Debug)]
struct Pause {
    until: Instant,
    /// The length of the next pause if the channel fails again.
    next: Duration,
}

/// The paused channels, and for each failed message the time of its first failure.
#[derive(Debug, Default)]
struct PausedChannels {
    pauses: HashMap<String, Pause>,
    since: HashMap<(String, String), Instant>,
}

impl PausedChannels {
    /// Returns the time until the first pause ends.
    fn next(&self, now: Instant) -> Option<Duration> {
        self.pauses.values().map(|pause| pause.until.saturating_duration_since(now)).min()
    }

    fn is_away(&self, channel: &str, now: Instant) -> bool {
        self.pauses.get(channel).is_some_and(|pause| pause.until > now)
    }

    /// Ends the pause of a channel that accepted a message.
    fn is_back(&mut self, channel: &str) {
        self.pauses.remove(channel);
    }

    /// Pauses a channel that limited the rate, for the time that it requested.
    fn pause(&mut self, channel: &str, wait: Duration, now: Instant) {
        self.pauses.insert(channel.to_owned(), Pause { until: now + wait.max(AGAIN), next: AGAIN });
    }

    /// Pauses a channel that failed. Returns `false` if the message has failed for so long that it is given up.
    fn failed(&mut self, offer: &Offer, now: Instant) -> bool {
        let next = self.pauses.get(&offer.channel).map_or(AGAIN, |pause| pause.next);
        let pause = Pause { until: now + next, next: (next * 2).min(SELDOM) };
        self.pauses.insert(offer.channel.clone(), pause);
        let name = (offer.action.clone(), offer.channel.clone());
        let since = *self.since.entry(name.clone()).or_insert(now);
        let waits = now.duration_since(since) < LONG;
        if !waits {
            self.since.remove(&name);
        }
        waits
    }
}

/// Closes each message whose request has ended, on all channels that are not paused.
async fn close_ended(app: &App, connections: &ConnectedChannels, away: &mut PausedChannels) {
    let Ok(Ok(open)) = app.backend.run(|backend| backend.memory().offers(None)).await else { return };
    let now = Instant::now();
    let mut by_channel: HashMap<String, Vec<Offer>> = HashMap::new();
    for offer in open.into_iter().filter(|offer| !away.is_away(&offer.channel, now)) {
        by_channel.entry(offer.channel.clone()).or_default().push(offer);
    }
    // A channel without open messages needs no retry.
    away.pauses.retain(|channel, pause| pause.until > now || by_channel.contains_key(channel));
    for offers in by_channel.values_mut() {
        // Messages that failed before come last, so that they do not block the others.
        offers.sort_by_key(|offer| away.since.contains_key(&(offer.action.clone(), offer.channel.clone())));
    }
    let each = by_channel.into_values().map(|offers| close_channel(app, connections, offers));
    for (ended, failed) in futures_util::future::join_all(each).await {
        for offer in ended {
            away.is_back(&offer.channel);
            away.since.remove(&(offer.action, offer.channel));
        }
        match failed {
            Some((offer, SendError::RateLimited(wait))) => away.pause(&offer.channel, wait, Instant::now()),
            Some((offer, _)) if !away.failed(&offer, Instant::now()) => forget(app, &offer).await,
            _ => {}
        }
    }
}

/// Closes messages of one channel until it limits the rate or fails. Returns the closed messages, and the message that
/// failed with the error.
async fn close_channel(
    app: &App,
    connections: &ConnectedChannels,
    offers: Vec<Offer>,
) -> (Vec<Offer>, Option<(Offer, SendError)>) {
    let mut done = Vec::new();
    for offer in offers {
        let Some(message) = &offer.message else { continue };
        let shown = app.feed.find(&offer.action);
        if shown.as_ref().is_some_and(|shown| shown.pending.state == RequestState::Waiting) {
            continue;
        }
        let ended = shown.as_ref().map_or_else(|| "it was requested again".to_owned(), |shown| settled(&shown.pending));
        if let Some(connection) = connections.get(&offer.channel) {
            let card = shown.map_or_else(Card::default, |shown| card(app, &shown));
            if let Err(failed) = connection.close(message, &card, &ended).await {
                tracing::warn!("channel {}: {failed}", offer.channel);
                if !matches!(failed, SendError::Rejected(_)) {
                    return (done, Some((offer, failed)));
                }
            }
        }
        forget(app, &offer).await;
        done.push(offer);
    }
    (done, None)
}

/// Marks a message as closed, so that it is not updated again.
async fn forget(app: &App, offer: &Offer) {
    let (action, channel) = (offer.action.clone(), offer.channel.clone());
    let _ = app.backend.run(move |backend| backend.memory().close(&action, &channel)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(action: &str, channel: &str) -> Offer {
        let message = Some("m".to_owned());
        Offer { action: action.to_owned(), channel: channel.to_owned(), message, closed: false, offers_yes: true }
    }

    #[test]
    fn a_channel_that_is_away_is_tried_ever_more_seldom_and_a_message_given_up_after_an_hour() {
        let (mut away, begun) = (PausedChannels::default(), Instant::now());
        let (mut now, mut tries) = (begun, 0);
        assert_eq!(away.next(now), None);
        while away.failed(&offer("a", "tg"), now) {
            tries += 1;
            let wait = away.next(now).unwrap();
            assert!(away.is_away("tg", now) && !away.is_away("other", now));
            assert!((AGAIN..=SELDOM).contains(&wait), "{wait:?}");
            now += wait;
            assert!(!away.is_away("tg", now));
        }
        assert!(now.duration_since(begun) >= LONG && now.duration_since(begun) < LONG + SELDOM);
        assert!((10..20).contains(&tries), "{tries}");
        // The time limit applies to each message separately, and an accepted message ends the pause.
        assert!(away.failed(&offer("b", "tg"), now));
        away.is_back("tg");
        assert_eq!(away.next(now), None);
        assert!(away.failed(&offer("b", "tg"), now));
        assert_eq!(away.next(now), Some(AGAIN));
        away.pause("tg", Duration::from_secs(30), now);
        assert_eq!(away.next(now), Some(Duration::from_secs(30)));
    }
}
