//! Tests many requests that many approvers answer concurrently: each is decided once, and none is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use guard_gateway::backend::local::LocalBackend;
use guard_gateway::backend::{AnswerInput, Backend as _};
use guard_gateway::judge::answer_scope::AnswerScope;
use guard_gateway::store::Paths;
use guard_gateway::store::queue::{AnswerOutcome, FilingResult, Queue, RequestState};
use jiff::Timestamp;

use crate::waiting;

const REQUESTS: usize = 1000;
const APPROVERS: usize = 8;

#[test]
fn a_thousand_requests_are_decided_once_each_by_eight_approvers_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let paths = Paths::new(directory.path().join("guard"));
    drop(LocalBackend::open(&paths).unwrap());
    let queue = Queue::open(&paths).unwrap();
    for at in 0..REQUESTS {
        assert!(matches!(waiting::file(&queue, at, at % 7), FilingResult::Waits { .. }));
    }
    let won: Arc<Mutex<BTreeMap<String, Vec<String>>>> = Arc::default();
    let threads: Vec<_> = (0..APPROVERS)
        .map(|number| {
            let (paths, won) = (paths.clone(), won.clone());
            std::thread::spawn(move || {
                let mut backend = LocalBackend::open(&paths).unwrap();
                let mut all = backend.list(Timestamp::now()).unwrap();
                assert_eq!(all.len(), REQUESTS);
                // Each approver starts elsewhere, and every second one goes backwards.
                all.rotate_left(number * REQUESTS / APPROVERS);
                if number % 2 == 1 {
                    all.reverse();
                }
                for shown in all {
                    let by = format!("a{number}");
                    let given = AnswerInput {
                        yes: number % 3 != 0,
                        by: by.clone(),
                        words: None,
                        signed: None,
                        reach: AnswerScope::Once,
                    };
                    loop {
                        match backend.answer(&shown, &given, Timestamp::now()) {
                            Ok(AnswerOutcome::Done { late: false }) => {
                                won.lock().unwrap().entry(shown.id.clone()).or_default().push(by);
                            }
                            Ok(AnswerOutcome::Settled(_)) => {}
                            Ok(other) => panic!("{other:?}"),
                            // Another process is writing, so the answer did not count and is repeated.
                            Err(why) if ["locked", "busy"].iter().any(|word| why.to_string().contains(word)) => {
                                continue;
                            }
                            Err(why) => panic!("{why}"),
                        }
                        break;
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let won = won.lock().unwrap();
    assert_eq!(won.len(), REQUESTS, "none is lost");
    assert!(won.values().all(|by| by.len() == 1), "each is decided once");
    let queue = Queue::open(&paths).unwrap();
    for one in queue.list(Timestamp::now()).unwrap() {
        assert!(matches!(one.state, RequestState::Approved | RequestState::Denied), "{one:?}");
        assert_eq!(one.decided_by.as_ref(), won[&one.id].first(), "the one who won is the one who is named");
    }
    let record = rusqlite::Connection::open(paths.database()).unwrap();
    let rows: i64 =
        record.query_row("SELECT count(*) FROM record WHERE kind = 'answered'", [], |row| row.get(0)).unwrap();
    assert_eq!(usize::try_from(rows), Ok(REQUESTS));
}
