use super::super::sample::Sample;
use super::*;
use crate::judge::approved::ShapeScope;

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn give(sample: &Sample, what: &GrantSubject, until: &GrantExpiry) -> Result<i64, StoreError> {
    let place = GrantPlace::Directory { path: "/home/ada".to_owned() };
    let grant = NewGrant { what, place: &place, until, words: "these words", user: "ada", session: "one" };
    sample.store.grant(&grant, now())
}

fn exact(command: &str) -> GrantSubject {
    GrantSubject::Exact { command: command.to_owned() }
}

fn in_force(sample: &Sample, session: &str, command: &str) -> Vec<i64> {
    let grants = sample.store.grants_in_force(session, command, now()).unwrap();
    grants.iter().filter_map(|grant| if let GrantId::Stored(id) = grant.id { Some(id) } else { None }).collect()
}

#[test]
fn a_grant_comes_back_as_it_was_given() {
    let sample = Sample::new();
    let id = give(&sample, &exact("make x"), &GrantExpiry::Revoked).unwrap();
    let wanted = Grant {
        id: GrantId::Stored(id),
        what: exact("make x"),
        place: GrantPlace::Directory { path: "/home/ada".to_owned() },
        until: GrantExpiry::Revoked,
        given: now().as_second(),
        words: "these words".to_owned(),
    };
    assert_eq!(sample.store.grants_in_force("any", "make x", now()).unwrap(), [wanted]);
}

#[test]
fn an_exact_grant_is_of_one_command_to_the_byte() {
    let sample = Sample::new();
    let id = give(&sample, &exact("make x"), &GrantExpiry::Revoked).unwrap();
    assert_eq!(in_force(&sample, "one", "make x"), [id]);
    for other in ["make x ", "make  x", "make X", "make"] {
        assert!(in_force(&sample, "one", other).is_empty(), "{other}");
    }
}

#[test]
fn a_grant_of_a_command_with_a_secret_holds_and_keeps_no_secret() {
    let sample = Sample::new();
    let command = "mysql --password=Hunter2xYz shop";
    let id = give(&sample, &exact(command), &GrantExpiry::Revoked).unwrap();
    assert_eq!(in_force(&sample, "one", command), [id]);
    assert_eq!(sample.store.grants_in_force("one", command, now()).unwrap()[0].what, exact(command));
    assert!(in_force(&sample, "one", "mysql --password=*** shop").is_empty());
    assert_eq!(sample.store.grants(now()).unwrap()[0].grant.what, exact("mysql --password=*** shop"));
    let log = std::fs::read(sample.directory.path().join("guard.db-wal")).unwrap();
    assert!(!log.windows(7).any(|window| window == b"Hunter2"));
}

#[test]
fn a_grant_dies_with_its_session_its_date_or_its_revocation() {
    let sample = Sample::new();
    let shape = GrantSubject::Shape(ShapeScope::plain("make"));
    let session = give(&sample, &shape, &GrantExpiry::Session { id: "one".to_owned() }).unwrap();
    let date = give(&sample, &shape, &GrantExpiry::Date { at: now().as_second() + 1 }).unwrap();
    let always = give(&sample, &shape, &GrantExpiry::Revoked).unwrap();
    assert_eq!(in_force(&sample, "one", "x"), [always, date, session]);
    assert_eq!(in_force(&sample, "one ", "x"), [always, date]);
    assert_eq!(in_force(&sample, "", "x"), [always, date]);
    let later = Timestamp::from_second(now().as_second() + 1).unwrap();
    assert_eq!(sample.store.grants_in_force("one", "x", later).unwrap().len(), 2);
    sample.store.revoke(always, "ada", now()).unwrap();
    assert_eq!(in_force(&sample, "one", "x"), [date, session]);
    let ended: Vec<_> = sample.store.grants(later).unwrap().iter().map(|listed| listed.ended).collect();
    assert_eq!(ended, [None, Some(GrantEnd::Past), Some(GrantEnd::Revoked { at: now().as_millisecond() })]);
}

#[test]
fn a_grant_that_another_hand_changed_or_wrote_does_not_hold() {
    let sample = Sample::new();
    let id = give(&sample, &GrantSubject::Shape(ShapeScope::plain("make")), &GrantExpiry::Revoked).unwrap();
    sample.tamper(&format!(r#"UPDATE record SET what = '{{"kind":"shape","shape":"rm"}}' WHERE id = {id}"#));
    sample.tamper(
        r#"INSERT INTO record(id, hash, kind, at, scope, what, place, until) VALUES(2, zeroblob(32), 'grant', 1, '',
           '{"kind":"shape","shape":"rm"}', '{"kind":"anywhere"}', '{"kind":"revoked"}')"#,
    );
    assert!(in_force(&sample, "one", "x").is_empty());
    let ended: Vec<_> = sample.store.grants(now()).unwrap().iter().map(|listed| listed.ended).collect();
    assert_eq!(ended, [Some(GrantEnd::Altered), Some(GrantEnd::Altered)]);
}

#[test]
fn what_cannot_be_bounded_is_not_granted() {
    let sample = Sample::new();
    let refused = |what: &GrantSubject, until: &GrantExpiry| {
        matches!(give(&sample, what, until), Err(StoreError::Refused { .. }))
    };
    assert!(refused(&exact("  "), &GrantExpiry::Revoked));
    assert!(refused(&exact("x"), &GrantExpiry::Session { id: String::new() }));
    assert!(refused(&exact("x"), &GrantExpiry::Date { at: now().as_second() }));
    assert!(sample.store.revoke(1, "ada", now()).is_err());
    assert_eq!(sample.store.head().unwrap(), None);
}

#[test]
fn a_grant_is_of_an_absolute_directory() {
    let sample = Sample::new();
    let place = |path: &str| {
        let place = GrantPlace::Directory { path: path.to_owned() };
        let what = exact("x");
        let until = GrantExpiry::Revoked;
        let grant = NewGrant { what: &what, place: &place, until: &until, words: "", user: "ada", session: "one" };
        sample.store.grant(&grant, now())
    };
    assert!(matches!(place("project"), Err(StoreError::Refused { .. })));
    assert!(place("/project").is_ok());
}

#[test]
fn the_grants_of_an_account_are_those_that_it_was_given() {
    let sample = Sample::new();
    let id = give(&sample, &GrantSubject::Rule { rule: "a.rule".to_owned() }, &GrantExpiry::Revoked).unwrap();
    let of = |user| {
        let grants = sample.store.grants_of(user, "one", "x", now()).unwrap();
        grants.iter().map(|grant| grant.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of(Some("ada")), [GrantId::Stored(id)]);
    assert_eq!(of(None), [GrantId::Stored(id)]);
    assert_eq!(of(Some("eve")), []);
}

#[test]
fn a_grant_that_is_carried_on_keeps_its_number_and_covers_the_same() {
    let sample = Sample::new();
    let id = give(&sample, &exact("make x"), &GrantExpiry::Revoked).unwrap();
    let past = give(&sample, &exact("make y"), &GrantExpiry::Date { at: now().as_second() + 1 }).unwrap();
    let last = give(&sample, &exact("make z"), &GrantExpiry::Revoked).unwrap();
    let later = Timestamp::from_second(now().as_second() + 2).unwrap();
    let held = |last| sample.store.persist(|connection| still_held(connection, last, later)).unwrap();
    assert_eq!(
        (held(0), held(id), held(past), held(last)),
        (vec![], vec![(id, id)], vec![(id, id)], vec![(id, id), (last, last)])
    );
    sample.store.write(|connection| carry(connection, id, later)).unwrap();
    assert_eq!(held(last), [(id, id), (last, last)], "the new row is behind the last one");
    assert_eq!(held(last + 1).iter().filter(|(_, number)| *number == id).count(), 2);
    let grants = sample.store.grants_in_force("one", "make x", later).unwrap();
    assert!(grants.iter().all(|grant| grant.id == GrantId::Stored(id) && grant.given == now().as_second()));
    assert_eq!(grants.len(), 2);
    sample.store.write(|connection| carry(connection, 99, later)).unwrap();
    assert_eq!(held(99).len(), 3, "a row that is not there is not carried on");
}
