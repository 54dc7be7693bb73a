//! Every message says in the end how its request ended.
//!
//! Out of scope: how a messenger speaks, and who is asked.

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

/// The least time before a messenger that wanted to be left alone, or was away, is spoken to again.
const AGAIN: Duration = Duration::from_secs(1);

/// The most time before one that is away is spoken to again.
const SELDOM: Duration = Duration::from_secs(600);

/// How long a message is tried to be changed.
const LONG: Duration = Duration::from_secs(3600);

/// Closes what ended whenever it is told that something did, for ever. It does so beside what sends cards out, and on each
/// channel one message after the other: a messenger that is slow keeps none from going out, and no other from closing its own.
pub async fn close(app: Arc<App>, connections: Arc<ConnectedChannels>, ended: Arc<Notify>) {
    let mut away = PausedChannels::default();
    loop {
        match away.next(Instant::now()) {
            None => ended.notified().await,
            // What a messenger did not want to hear yet, or could not, is said when it can.
            Some(wait) => {
                let _ = tokio::time::timeout(wait, ended.notified()).await;
            }
        }
        close_ended(&app, &connections, &mut away).await;
    }
}

/// A channel to which nothing is said for now.
#[derive(Clone, Copy, Debug)]
struct Pause {
    until: Instant,
    /// How long the next one is, where it does not get better.
    next: Duration,
}

/// Channels to which nothing is said for now, and since when messages wait for them.
#[derive(Debug, Default)]
struct PausedChannels {
    pauses: HashMap<String, Pause>,
    since: HashMap<(String, String), Instant>,
}

impl PausedChannels {
    /// How long until one of them is spoken to again.
    fn next(&self, now: Instant) -> Option<Duration> {
        self.pauses.values().map(|pause| pause.until.saturating_duration_since(now)).min()
    }

    fn is_away(&self, channel: &str, now: Instant) -> bool {
        self.pauses.get(channel).is_some_and(|pause| pause.until > now)
    }

    /// A channel took a message.
    fn is_back(&mut self, channel: &str) {
        self.pauses.remove(channel);
    }

    /// A channel wants to be left alone for so long.
    fn pause(&mut self, channel: &str, wait: Duration, now: Instant) {
        self.pauses.insert(channel.to_owned(), Pause { until: now + wait.max(AGAIN), next: AGAIN });
    }

    /// A channel is away. False where a message has waited for it for so long that it is given up.
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

/// Closes each message whose request ended, on all channels that are not away.
async fn close_ended(app: &App, connections: &ConnectedChannels, away: &mut PausedChannels) {
    let Ok(Ok(open)) = app.backend.run(|backend| backend.memory().offers(None)).await else { return };
    let now = Instant::now();
    let mut by_channel: HashMap<String, Vec<Offer>> = HashMap::new();
    for offer in open.into_iter().filter(|offer| !away.is_away(&offer.channel, now)) {
        by_channel.entry(offer.channel.clone()).or_default().push(offer);
    }
    // One that has nothing to close any more is not waited for.
    away.pauses.retain(|channel, pause| pause.until > now || by_channel.contains_key(channel));
    for offers in by_channel.values_mut() {
        // One that a messenger fails at each time keeps none behind it.
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

/// Closes messages of one channel until it wants to be left alone or is away: which were closed, and which one was not, and why.
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

/// Nothing more is said in the place of a message.
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
        // Another message has its own hour, and what is taken ends the pause.
        assert!(away.failed(&offer("b", "tg"), now));
        away.is_back("tg");
        assert_eq!(away.next(now), None);
        assert!(away.failed(&offer("b", "tg"), now));
        assert_eq!(away.next(now), Some(AGAIN));
        away.pause("tg", Duration::from_secs(30), now);
        assert_eq!(away.next(now), Some(Duration::from_secs(30)));
    }
}
