//! Public IDs of submitted requests: a client receives an ID at once, and lists, events and messages use the same one.
//!
//! Out of scope: IDs of requests that were not submitted over the API, which the request feed creates.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::store::queue::{Pending, RequestState};

/// A submission that is a request of the queue.
#[derive(Clone, Debug)]
struct SubmittedRequest {
    action: String,
    client: String,
    /// The start of the submission. A request that was filed earlier belongs to another submission.
    since: Timestamp,
    /// The time of filing, once it is known.
    filed: Option<Timestamp>,
    /// The time of the filing by an earlier gateway.
    before: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The submissions by the queue's ID.
    known: HashMap<String, SubmittedRequest>,
    /// The number of commands of each client that are being judged. Each may be filed at any moment, with an ID in the
    /// queue that is not known yet.
    judged: HashMap<String, usize>,
}

/// The public IDs of submitted requests.
#[derive(Clone, Debug, Default)]
pub struct RequestNames(Arc<Mutex<Inner>>);

/// A command of a client that is being judged, until this is dropped.
#[derive(Debug)]
pub struct PendingSubmission {
    names: RequestNames,
    client: String,
}

impl Drop for PendingSubmission {
    fn drop(&mut self) {
        let mut inner = self.names.inner();
        if let Some(count) = inner.judged.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                inner.judged.remove(&self.client);
            }
        }
    }
}

/// Returns the client that submitted a request, if one did.
fn client(pending: &Pending) -> Option<&str> {
    pending.root.split_once("@api:").map(|(_, client)| client)
}

impl RequestNames {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every statement leaves the state consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers that a command of this client is being judged.
    #[must_use]
    pub fn judged(&self, client: &str) -> PendingSubmission {
        *self.inner().judged.entry(client.to_owned()).or_default() += 1;
        PendingSubmission { names: self.clone(), client: client.to_owned() }
    }

    /// Registers the ID in the queue of the submission that has this public ID and began at this time.
    pub fn set(&self, request: &str, action: &str, client: &str, since: Timestamp) {
        // The queue stores milliseconds.
        let since = Timestamp::from_millisecond(since.as_millisecond()).unwrap_or(since);
        let mut inner = self.inner();
        let before = inner.known.get(request).filter(|known| known.action == action).and_then(|known| known.filed);
        inner.known.retain(|_, known| known.action != action);
        let (action, client) = (action.to_owned(), client.to_owned());
        inner.known.insert(request.to_owned(), SubmittedRequest { action, client, since, filed: None, before });
    }

    /// Returns the public ID under which a request was submitted.
    #[must_use]
    pub fn of(&self, pending: &Pending) -> Option<String> {
        let client = client(pending)?;
        let mut inner = self.inner();
        let known = inner.known.get_mut(&pending.id).filter(|known| known.client == client)?;
        let same = if pending.filed < known.since {
            known.before == Some(pending.filed)
        } else {
            *known.filed.get_or_insert(pending.filed) == pending.filed
        };
        same.then(|| known.action.clone())
    }

    /// Reports whether the public ID of a request may become known soon. The request is hidden until then, so that it
    /// does not appear under two IDs.
    #[must_use]
    pub fn comes(&self, pending: &Pending) -> bool {
        let Some(client) = client(pending).filter(|_| pending.state == RequestState::Waiting) else { return false };
        self.inner().judged.contains_key(client) && self.of(pending).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::{changed, pending};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// Returns a request of the client `ci`, filed at this second.
    fn filed(second: i64) -> Pending {
        changed(pending(), |one| (one.root, one.filed) = ("1000@api:ci".to_owned(), at(second)))
    }

    #[test]
    fn a_request_has_the_name_under_which_it_was_handed_in() {
        let names = RequestNames::default();
        assert!(!names.comes(&filed(5)) && names.of(&filed(5)).is_none());
        let judged = names.judged("ci");
        assert!(names.comes(&filed(5)), "its name is not known yet");
        assert!(!names.comes(&pending()), "nobody handed this in");
        names.set("b2c3", "first", "ci", at(4));
        drop(judged);
        assert_eq!(names.of(&filed(5)).as_deref(), Some("first"));
        assert!(!names.comes(&filed(5)));
        // Requests of another client, of an agent, and with an earlier filing do not match.
        assert_eq!(names.of(&changed(filed(5), |one| one.root = "1000@api:other".to_owned())), None);
        assert_eq!(names.of(&changed(filed(5), |one| one.root = "r".to_owned())), None);
        assert_eq!(names.of(&filed(3)), None);
        // The queue reuses its ID if the same command is submitted again.
        assert_eq!(names.of(&filed(9)), None);
        let judged = names.judged("ci");
        assert!(names.comes(&filed(9)));
        names.set("b2c3", "second", "ci", at(8));
        drop(judged);
        assert_eq!(names.of(&filed(9)).as_deref(), Some("second"));
        assert_eq!(names.of(&filed(5)), None);
    }

    #[test]
    fn what_is_asked_anew_after_a_restart_keeps_its_name() {
        let names = RequestNames::default();
        names.set("b2c3", "a", "ci", at(1));
        assert_eq!(names.of(&filed(5)).as_deref(), Some("a"));
        names.set("b2c3", "a", "ci", at(20));
        assert_eq!(names.of(&filed(5)).as_deref(), Some("a"), "it is not filed anew yet");
        assert_eq!(names.of(&filed(21)).as_deref(), Some("a"));
        // The queue has assigned another ID.
        names.set("d4f5", "a", "ci", at(30));
        assert_eq!(names.of(&filed(21)), None);
        assert_eq!(names.of(&changed(filed(31), |one| one.id = "d4f5".to_owned())).as_deref(), Some("a"));
    }
}
