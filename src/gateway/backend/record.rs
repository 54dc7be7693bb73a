//! Reads the record for clients of the gateway: statistics, sessions and single rows.
//!
//! Out of scope: the queue, and who may see what.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::judge::approved::{GrantExpiry, GrantPlace, GrantSubject};
use crate::judge::risk::Tier;
use crate::store::queue::Pending;
use crate::store::{Entry, Filter, NewGrant, RowKind, Stats, Store, StoreError};

/// The maximum number of listed sessions: those with the latest activity.
const SESSIONS: usize = 50;

/// The number of rows that a search reads at a time.
const LOOKED_AT: u32 = 500;

/// The description of a grant that trusts a session.
const TRUSTED: &str = "all commands of tier 2 and below, in every directory, until this session ends";

/// A session and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// The root process, by which the requests of the session are counted.
    #[serde(skip)]
    pub root: String,
    pub id: String,
    pub last: Timestamp,
    pub prompts_last_hour: u32,
    pub denials_in_a_row: u32,
    /// Whether every command that needs approval is denied, until a person resumes the session.
    pub stopped: bool,
    /// A row of the record that was edited, inserted or deleted by hand.
    pub edited_row: Option<i64>,
    /// The grant that lets commands of tier 2 and below run without a question.
    pub trusted_by: Option<String>,
}

/// The end of a page of rows, at which the next page starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub row: i64,
    pub at: Timestamp,
}

impl Cursor {
    /// Parses the format of `Display`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (row, at) = text.split_once('.')?;
        Some(Self { row: row.parse().ok()?, at: Timestamp::from_millisecond(at.parse().ok()?).ok()? })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.row, self.at.as_millisecond())
    }
}

/// Returns the statistics since a time.
///
/// # Errors
/// The record cannot be read.
pub fn stats(store: &Store, since: Timestamp) -> Result<Stats, StoreError> {
    store.stats(since, &TimeZone::system())
}

/// Returns the sessions with questions or denials. A session is stopped by `breaker` denials in a row.
///
/// # Errors
/// The record cannot be read.
pub fn sessions(store: &Store, breaker: u32, now: Timestamp) -> Result<Vec<SessionView>, StoreError> {
    let grants = store.grants(now)?;
    let trusted_by = |id: &str| {
        let found = grants.iter().filter(|listed| listed.ended.is_none()).map(|listed| &listed.grant);
        let mut found = found.filter(|grant| matches!(grant.what, GrantSubject::UpTo { .. }));
        let of = |until: &GrantExpiry| matches!(until, GrantExpiry::Session { id: session } if session == id);
        found.find(|grant| of(&grant.until)).map(|grant| grant.id.to_string())
    };
    let view = |(root, id, last): (String, String, Timestamp)| {
        let standing = store.standing(&root, now)?;
        let edited_row = store.edited(&root)?;
        let denied = standing.denials_in_a_row >= breaker && !standing.resumed;
        Ok(SessionView {
            last,
            prompts_last_hour: standing.prompts_last_hour,
            denials_in_a_row: standing.denials_in_a_row,
            stopped: denied || edited_row.is_some(),
            edited_row,
            trusted_by: trusted_by(&id),
            root,
            id,
        })
    };
    store.sessions()?.into_iter().take(SESSIONS).map(view).collect()
}

/// Resumes a session, and returns the number of the row that records it.
///
/// # Errors
/// The row is not written, and the session stays stopped.
pub fn resume(store: &Store, session: &SessionView, by: &str, why: &str, now: Timestamp) -> Result<i64, StoreError> {
    store.resume(&session.root, &session.id, by, why, now)
}

/// Lets commands of tier 2 and below run in a session without a question until it ends, and returns the number of the
/// grant.
///
/// # Errors
/// The grant is not written, and nothing is granted.
pub fn trust(store: &Store, session: &SessionView, user: &str, by: &str, now: Timestamp) -> Result<i64, StoreError> {
    let grant = NewGrant {
        what: &GrantSubject::UpTo { tier: Tier::Medium },
        place: &GrantPlace::Anywhere,
        until: &GrantExpiry::Session { id: session.id.clone() },
        words: &format!("{TRUSTED} (given by {by} at the page)"),
        user,
        session: &session.id,
    };
    store.grant(&grant, now)
}

/// Returns the rows that contain every word, newest first, and the position of the next page if there is one.
///
/// # Errors
/// The record cannot be read.
pub fn search(
    store: &Store,
    words: &str,
    from: Option<Cursor>,
    most: usize,
) -> Result<(Vec<Entry>, Option<Cursor>), StoreError> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<Entry> = Vec::new();
    let mut from = from;
    loop {
        let until = from.and_then(|cursor| Timestamp::from_millisecond(cursor.at.as_millisecond() + 1).ok());
        // The longest word usually matches the fewest rows.
        let text = words.iter().max_by_key(|word| word.len()).cloned();
        let filter = Filter { until, text, limit: Some(LOOKED_AT), ..Filter::default() };
        let ids = store.find(&filter)?;
        let whole = ids.len() == LOOKED_AT as usize;
        let before = |id: &i64| from.is_none_or(|cursor| *id < cursor.row);
        let ids: Vec<i64> = ids.into_iter().filter(before).rev().collect();
        let mut last = None;
        for entry in store.entries(&ids) {
            let entry = entry?;
            last = Some(Cursor { row: entry.id, at: entry.time });
            let text = serde_json::to_string(&entry).unwrap_or_default().to_lowercase();
            if words.iter().all(|word| text.contains(word)) {
                found.push(entry);
            }
            if found.len() > most {
                found.truncate(most);
                let next = found.last().map(|entry| Cursor { row: entry.id, at: entry.time });
                return Ok((found, next));
            }
        }
        match last {
            Some(last) if whole => from = Some(last),
            _ => return Ok((found, None)),
        }
    }
}

/// Returns the rows of the record about a request: the decision, the answer, and the result of the command.
///
/// # Errors
/// The record cannot be read.
pub fn story(store: &Store, request: &Pending) -> Result<Vec<Entry>, StoreError> {
    let filter = Filter { since: Some(request.filed), session: Some(request.root.clone()), ..Filter::default() };
    let ids = store.find(&filter)?;
    let about = |entry: &Entry| {
        matches!(entry.kind, RowKind::Intent | RowKind::Advised | RowKind::Answered)
            && entry.command.as_deref() == Some(&request.command)
            && entry.cwd.as_deref() == Some(&request.cwd)
    };
    store.entries(&ids).into_iter().filter(|entry| entry.as_ref().map_or(true, about)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::judge::invocation::{Environment, Invocation, Origin, Request, Session};
    use crate::judge::policy::{ApprovalReason, Refusal};
    use crate::judge::risk::Risk;
    use crate::store::{IntentRow, Paths, RecordedDecision};

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&Paths::new(directory.path().join("guard"))).unwrap();
        (directory, store)
    }

    fn decide(store: &Store, command: &str, settled: RecordedDecision<'_>, at: i64) {
        let invocation = Invocation {
            request: Request::Argv(command.split(' ').map(Into::into).collect()),
            cwd: "/work".into(),
            env: Environment::default(),
            home: None,
            uid: 1000,
            user: "ada".to_owned(),
            origin: Origin::Agent,
            session: Session { id: "s".to_owned(), root: "r".to_owned(), agent: None },
        };
        let risk = Risk { tier: Tier::Medium, ..Risk::default() };
        let digest = invocation.digest(&std::collections::BTreeSet::new());
        let now = Timestamp::from_millisecond(at).unwrap();
        let _ = store.intent(&IntentRow::plain(now, &invocation, digest, &risk, settled)).unwrap();
    }

    #[test]
    fn a_search_finds_rows_that_hold_every_word_and_goes_on_where_it_ended() {
        let (_directory, store) = store();
        for at in 0..5 {
            // Two rows with the same time are on both sides of the end of a page.
            decide(
                &store,
                &format!("npm install p{at}"),
                RecordedDecision::Allowed(&ApprovalReason::Person),
                1000 + at / 2,
            );
        }
        decide(&store, "git push", RecordedDecision::Refused(&Refusal::Person { words: None }), 2000);
        let commands = |entries: &[Entry]| -> Vec<String> {
            entries.iter().map(|entry| entry.command.clone().unwrap().replace("npm install ", "")).collect()
        };
        let (first, next) = search(&store, "NPM install", None, 2).unwrap();
        assert_eq!(commands(&first), ["p4", "p3"]);
        let next = Cursor::parse(&next.unwrap().to_string());
        let (second, next) = search(&store, "install npm", next, 2).unwrap();
        assert_eq!(commands(&second), ["p2", "p1"]);
        let (last, next) = search(&store, "npm", next, 2).unwrap();
        assert_eq!((commands(&last), next), (vec!["p0".to_owned()], None));
        assert_eq!(search(&store, "npm push", None, 9).unwrap().0, []);
        assert_eq!(search(&store, "", None, 9).unwrap().0.len(), 6);
        for odd in ["", "1", "x.1", "1.x", "1."] {
            assert_eq!(Cursor::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_session_is_stopped_by_denials_and_goes_on_when_a_person_says_so() {
        let (_directory, store) = store();
        let now = Timestamp::from_millisecond(9000).unwrap();
        for at in 0..3 {
            decide(&store, "git push", RecordedDecision::Refused(&Refusal::Person { words: None }), 1000 + at);
        }
        let one = |breaker| sessions(&store, breaker, now).unwrap().remove(0);
        assert_eq!((one(4).denials_in_a_row, one(4).stopped, one(3).stopped), (3, false, true));
        assert_eq!((one(3).id.as_str(), one(3).trusted_by), ("s", None));
        resume(&store, &one(3), "ada", "looked at it", now).unwrap();
        assert!(!one(3).stopped);
        let grant = trust(&store, &one(3), "ada", "ada", now).unwrap();
        assert_eq!(one(3).trusted_by, Some(grant.to_string()));
    }

    proptest! {
        #[test]
        fn the_end_of_a_page_is_read_as_it_was_written_and_anything_else_without_a_panic(
            row in any::<i64>(), ms in -377_705_023_201_000_i64..253_402_207_200_999, odd in "\\PC{0,30}"
        ) {
            let cursor = Cursor { row, at: Timestamp::from_millisecond(ms).unwrap() };
            prop_assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
            if let Some(read) = Cursor::parse(&odd) {
                prop_assert_eq!(Cursor::parse(&read.to_string()), Some(read));
            }
        }
    }
}
