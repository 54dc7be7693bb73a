//! The current list of requests, and the stream of their events, shared by all clients.
//!
//! The list is updated whenever the queue's file changes. Out of scope: the queue itself, and access control.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::secrets::GatewayKey;
use crate::store::queue::{Pending, RequestState};

/// The maximum number of events kept for clients that reconnect.
const KEPT: usize = 10_000;

/// The maximum size of the kept events, in bytes.
const KEPT_BYTES: usize = 8 << 20;

/// The maximum number of events that a receiver may lag behind.
const BEHIND: usize = 1024;

/// The maximum length of the text about a command in an event, in characters.
const REASONING: usize = 2000;

/// A request of the queue, with its public ID.
#[derive(Clone, Debug)]
pub struct TrackedRequest {
    pub action: String,
    pub pending: Pending,
}

/// An event about a request or a channel.
#[derive(Clone, Debug)]
pub struct FeedEvent {
    pub seq: u64,
    pub kind: String,
    pub action_id: String,
    /// The whole event as sent to clients, in JSON.
    pub text: String,
}

/// The JSON text of an event.
#[derive(Serialize)]
struct EventBody<'a> {
    seq: u64,
    at: Timestamp,
    #[serde(rename = "type")]
    kind: &'a str,
    action_id: &'a str,
    #[serde(flatten)]
    more: Value,
}

#[derive(Default)]
struct Inner {
    seq: u64,
    ring: VecDeque<Arc<FeedEvent>>,
    /// The total length of the texts in the ring, in bytes.
    bytes: usize,
    requests: BTreeMap<String, Arc<TrackedRequest>>,
    /// The public IDs of requests, by the queue's ID and the time of filing.
    actions: HashMap<(String, Timestamp), String>,
    loaded: bool,
}

/// The list of requests and the stream of their events.
pub struct RequestFeed {
    key: GatewayKey,
    inner: Mutex<Inner>,
    stream: broadcast::Sender<Arc<FeedEvent>>,
}

/// A subscription to the events: the missed ones, or `None` if some are no longer kept, and the receiver of new ones.
pub type Subscription = (Option<Vec<Arc<FeedEvent>>>, broadcast::Receiver<Arc<FeedEvent>>);

impl RequestFeed {
    /// Creates an empty feed.
    #[must_use]
    pub fn new(key: GatewayKey) -> Self {
        Self { key, inner: Mutex::default(), stream: broadcast::Sender::new(BEHIND) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every statement leaves the state consistent, so a panic elsewhere does not invalidate it.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the list with the current state of the queue, and publishes the changes. `handed_in` returns the ID
    /// under which a client submitted a request.
    pub fn update(&self, all: Vec<Pending>, handed_in: impl Fn(&Pending) -> Option<String>, now: Timestamp) {
        let mut inner = self.inner();
        let mut next = BTreeMap::new();
        let mut told = Vec::new();
        let (named, mut actions) = (std::mem::take(&mut inner.actions), HashMap::with_capacity(all.len()));
        for pending in all {
            let name = (pending.id.clone(), pending.filed);
            let known = || named.get(&name).cloned();
            let action = handed_in(&pending).or_else(known);
            let action = action.unwrap_or_else(|| self.key.action(&pending.id, pending.filed));
            actions.insert(name, action.clone());
            let known = inner.requests.get(&action);
            let before = known.map(|shown| &shown.pending);
            let changed = before.is_none_or(|before| before.state != pending.state);
            let partly = before.is_some_and(|before| before.approved_by.len() != pending.approved_by.len());
            let shown = match known {
                Some(known) if known.pending == pending => known.clone(),
                _ => Arc::new(TrackedRequest { action: action.clone(), pending }),
            };
            // Requests that ended before this process started are not news.
            if changed && (inner.loaded || shown.pending.state == RequestState::Waiting) {
                told.push((kind(before.is_none(), shown.pending.state), shown.clone()));
                if before.is_none() && shown.pending.state != RequestState::Waiting {
                    // The request was filed and ended between two updates.
                    told.insert(told.len() - 1, ("request.filed", shown.clone()));
                }
            } else if partly {
                told.push(("request.partly", shown.clone()));
            }
            next.insert(action, shown);
        }
        inner.requests = next;
        inner.actions = actions;
        inner.loaded = true;
        for (kind, shown) in told {
            if kind == "request.filed" {
                let compatible = approval_required(&shown, now);
                self.push(&mut inner, "tier3_approval_required", &shown.action, compatible, now);
            }
            let more = json!({ "request": view(&shown, now) });
            self.push(&mut inner, kind, &shown.action, more, now);
        }
    }

    /// Reports whether this filing of a request is known.
    #[must_use]
    pub fn contains(&self, pending: &Pending) -> bool {
        self.inner().actions.contains_key(&(pending.id.clone(), pending.filed))
    }

    /// Publishes an event about something that is not in the queue.
    pub fn publish(&self, kind: &str, action: &str, more: Value, now: Timestamp) {
        self.push(&mut self.inner(), kind, action, more, now);
    }

    fn push(&self, inner: &mut Inner, kind: &str, action: &str, more: Value, now: Timestamp) {
        inner.seq += 1;
        let seq = inner.seq;
        let told = EventBody { seq, at: now, kind, action_id: action, more };
        // Maps with string keys always serialize.
        let text = serde_json::to_string(&told).unwrap_or_default();
        let event = Arc::new(FeedEvent { seq, kind: kind.to_owned(), action_id: action.to_owned(), text });
        inner.bytes += event.text.len();
        inner.ring.push_back(event.clone());
        while inner.ring.len() > KEPT || inner.bytes > KEPT_BYTES {
            let Some(oldest) = inner.ring.pop_front() else { break };
            inner.bytes -= oldest.text.len();
        }
        // It is not an error if there are no receivers.
        let _ = self.stream.send(event);
    }

    /// Returns all requests: first those that need a person's decision, then the others, each by age, oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<TrackedRequest>> {
        let mut all: Vec<Arc<TrackedRequest>> = self.inner().requests.values().cloned().collect();
        all.sort_by(|one, other| (one.pending.filed, &one.pending.id).cmp(&(other.pending.filed, &other.pending.id)));
        all.sort_by_key(|shown| shown.pending.rank());
        all
    }

    /// Returns the request with this public ID.
    #[must_use]
    pub fn find(&self, action: &str) -> Option<Arc<TrackedRequest>> {
        self.inner().requests.get(action).cloned()
    }

    /// Returns the request with this ID in the queue.
    #[must_use]
    pub fn find_request(&self, id: &str) -> Option<Arc<TrackedRequest>> {
        self.inner().requests.values().find(|shown| shown.pending.id == id).cloned()
    }

    /// Returns the kept events of a request.
    #[must_use]
    pub fn events_of(&self, action: &str) -> Vec<Arc<FeedEvent>> {
        self.inner().ring.iter().filter(|event| event.action_id == action).cloned().collect()
    }

    /// Subscribes to the events after this sequence number, or only to new ones.
    #[must_use]
    pub fn subscribe(&self, after: Option<u64>) -> Subscription {
        let inner = self.inner();
        let missed = match after {
            None => Some(Vec::new()),
            // Sequence numbers restart with the process, so a higher one is from an earlier process.
            Some(after) if after > inner.seq => None,
            Some(after) => {
                let first = inner.ring.front().map_or(inner.seq + 1, |event| event.seq);
                let whole = after + 1 >= first;
                whole.then(|| inner.ring.iter().filter(|event| event.seq > after).cloned().collect())
            }
        };
        (missed, self.stream.subscribe())
    }
}

fn kind(is_new: bool, state: RequestState) -> &'static str {
    match state {
        RequestState::Waiting if is_new => "request.filed",
        RequestState::Waiting => "request.waits",
        RequestState::Late => "request.late",
        RequestState::Approved | RequestState::Denied => "request.answered",
        RequestState::Used => "request.used",
        RequestState::Void => "request.void",
        RequestState::Lapsed => "request.lapsed",
    }
}

/// Reports whether the request still waits for an answer.
#[must_use]
pub fn is_waiting(shown: &TrackedRequest) -> bool {
    shown.pending.state == RequestState::Waiting
}

/// Returns the seconds left for an answer.
#[must_use]
pub fn seconds_left(pending: &Pending, now: Timestamp) -> i64 {
    if pending.state == RequestState::Waiting { pending.expires.duration_since(now).as_secs().max(0) } else { 0 }
}

/// Returns the status for clients: `pending`, `approved`, `denied`, `expired` or `void`.
#[must_use]
pub const fn status(state: RequestState) -> &'static str {
    match state {
        RequestState::Waiting => "pending",
        RequestState::Approved | RequestState::Used => "approved",
        RequestState::Denied => "denied",
        RequestState::Late | RequestState::Lapsed => "expired",
        RequestState::Void => "void",
    }
}

/// Returns a request as clients see it: redacted, with invisible and unusual characters of the command made visible.
#[must_use]
pub fn view(shown: &TrackedRequest, now: Timestamp) -> Value {
    let pending = &shown.pending;
    let mut value = serde_json::to_value(pending).unwrap_or_default();
    value["action_id"] = json!(shown.action);
    value["status"] = json!(status(pending.state));
    value["timeout_secs"] = json!(seconds_left(pending, now));
    value["command_shown"] = json!(guard_ui::ui::visible::text(&pending.command));
    value["cwd"] = json!(guard_ui::ui::visible::text(&pending.cwd));
    value["why"] = json!(guard_ui::ui::visible::text(&pending.why));
    value["tier_name"] = json!(pending.tier.name());
    value["parts"] = json!(crate::reasons_view::parts(pending));
    if let Some(reasons) = &pending.reasons {
        value["grounds"] = crate::reasons_view::shown(reasons);
    }
    if let Some(opinion) = &pending.review {
        value["review"]["by"] = json!(guard_ui::ui::visible::text(&opinion.by));
        value["review"]["reason"] = json!(guard_ui::ui::visible::text(&opinion.reason));
    }
    value["short_digest"] = json!(pending.short_digest());
    value["offers"] = json!(crate::answer::offers(pending));
    if let Some(said) = &pending.said {
        value["said"] = json!(guard_ui::ui::visible::text(said));
    }
    value
}

/// Returns the event in the format that clients of other approval gates expect.
fn approval_required(shown: &TrackedRequest, now: Timestamp) -> Value {
    let pending = &shown.pending;
    let text = format!(
        "{}\nin {}\n{}\ntier {}, score {}",
        guard_ui::ui::visible::text(&pending.command),
        guard_ui::ui::visible::text(&pending.cwd),
        guard_ui::ui::visible::text(&pending.why),
        pending.tier.number(),
        pending.score
    );
    json!({
        "tool_name": pending.agent.as_deref().unwrap_or("shell"),
        "reasoning": guard_ui::ui::pending::cut(&text, REASONING),
        "timeout_secs": seconds_left(pending, now),
        "tier": pending.tier,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{changed, pending};

    impl RequestFeed {
        fn see(&self, all: Vec<Pending>, now: Timestamp) {
            self.update(all, |_| None, now);
        }
    }

    fn kinds(heard: &[Arc<FeedEvent>]) -> Vec<&str> {
        heard.iter().map(|event| event.kind.as_str()).collect()
    }

    #[test]
    fn each_change_is_told_once_and_can_be_heard_again() {
        let feed = RequestFeed::new(GatewayKey([1; 32]));
        let now = Timestamp::UNIX_EPOCH;
        feed.see(vec![pending()], now);
        feed.see(vec![pending()], now);
        let denied = changed(pending(), |one| {
            one.state = RequestState::Denied;
        });
        feed.see(vec![denied.clone()], now);
        let (heard, _) = feed.subscribe(Some(0));
        assert_eq!(kinds(&heard.unwrap()), ["tier3_approval_required", "request.filed", "request.answered"]);
        let (heard, _) = feed.subscribe(Some(2));
        assert_eq!(kinds(&heard.unwrap()), ["request.answered"]);
        assert!(feed.subscribe(Some(9)).0.is_none(), "numbers of another run");
        // The request was filed and answered between two updates.
        let other = changed(denied, |one| {
            one.id = "d4f5".to_owned();
        });
        feed.see(vec![other], now);
        let (heard, _) = feed.subscribe(Some(3));
        assert_eq!(kinds(&heard.unwrap()), ["tier3_approval_required", "request.filed", "request.answered"]);
    }

    #[test]
    fn what_ended_before_the_start_is_no_news() {
        let feed = RequestFeed::new(GatewayKey([1; 32]));
        feed.see(
            vec![changed(pending(), |one| {
                one.state = RequestState::Used;
            })],
            Timestamp::UNIX_EPOCH,
        );
        assert!(feed.subscribe(Some(0)).0.unwrap().is_empty());
        assert_eq!(feed.all().len(), 1);
    }

    #[test]
    fn what_is_kept_has_an_end_and_whoever_missed_more_is_told() {
        let feed = RequestFeed::new(GatewayKey([1; 32]));
        for _ in 0..=KEPT {
            feed.publish("x", "a", json!({}), Timestamp::UNIX_EPOCH);
        }
        assert!(feed.subscribe(Some(0)).0.is_none());
        assert_eq!(feed.subscribe(Some(1)).0.unwrap().len(), KEPT);
    }

    #[test]
    fn long_events_are_kept_up_to_a_size() {
        let feed = RequestFeed::new(GatewayKey([1; 32]));
        let long = "x".repeat(KEPT_BYTES / 10);
        for _ in 0..12 {
            feed.publish("x", "a", json!({ "why": long }), Timestamp::UNIX_EPOCH);
        }
        let kept = feed.subscribe(Some(3)).0.unwrap();
        assert_eq!(kept.len(), 9);
        assert!(feed.subscribe(Some(2)).0.is_none());
        let told: Value = serde_json::from_str(&kept[0].text).unwrap();
        assert_eq!((&told["seq"], &told["type"], &told["action_id"]), (&json!(4), &json!("x"), &json!("a")));
        assert_eq!((told["why"].as_str(), told["at"].as_str()), (Some(long.as_str()), Some("1970-01-01T00:00:00Z")));
    }

    #[test]
    fn what_did_not_change_is_the_same_value() {
        let feed = RequestFeed::new(GatewayKey([1; 32]));
        feed.see(vec![pending()], Timestamp::UNIX_EPOCH);
        let before = feed.all();
        feed.see(vec![pending()], Timestamp::UNIX_EPOCH);
        assert!(Arc::ptr_eq(&before[0], &feed.all()[0]));
        feed.see(vec![changed(pending(), |one| one.words = Some("no".to_owned()))], Timestamp::UNIX_EPOCH);
        assert_eq!(feed.all()[0].pending.words.as_deref(), Some("no"));
    }

    #[test]
    fn what_does_not_show_is_made_visible() {
        let feed = RequestFeed::new(GatewayKey([1; 32]));
        let odd = changed(pending(), |one| {
            one.command = "echo \u{202e}x\u{1b}[2J".to_owned();
        });
        feed.see(vec![odd], Timestamp::UNIX_EPOCH);
        let seen = view(&feed.all()[0], Timestamp::UNIX_EPOCH);
        assert_eq!(seen["command_shown"], "echo ⟨U+202E⟩x⟨ESC⟩[2J");
    }
}
