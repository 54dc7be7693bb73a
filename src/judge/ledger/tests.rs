//! Tests of the ledger: what a session made is its own only while nobody else changed it.

use proptest::prelude::*;

use super::*;

const NOON: i64 = 1_800_000_000_000;

fn at(seconds: i64, done: Vec<(&str, PathChangeKind)>) -> LedgerEntry {
    let done = done.into_iter().map(|(path, done)| PathChange { path: path.to_owned(), done }).collect();
    LedgerEntry {
        at: NOON + seconds * 1000,
        until: None,
        next: None,
        changes: CommandChanges { done, ..CommandChanges::default() },
    }
}

fn ran(seconds: i64) -> LedgerEntry {
    LedgerEntry { changes: CommandChanges { ran: true, ..CommandChanges::default() }, ..at(seconds, Vec::new()) }
}

const MADE: PathChangeKind = PathChangeKind::Made(PriorState::Nothing);

/// Returns a file with its birth and last change in seconds after noon.
fn stat(born: i64, changed: i64) -> Stat {
    Stat { kind: FileKind::File, born: Some(NOON + born * 1000), changed: NOON + changed * 1000 }
}

fn kept(born: i64, changed: i64) -> PathChangeKind {
    PathChangeKind::Made(PriorState::Kept(stat(born, changed)))
}

fn directory(born: i64) -> Stat {
    Stat { kind: FileKind::Directory, ..stat(born, 500) }
}

fn ledger(entries: Vec<LedgerEntry>) -> Ledger {
    Ledger { entries, ..Ledger::default() }
}

fn owns(entries: Vec<LedgerEntry>, path: &str, stat: Stat) -> Option<Ownership> {
    ledger(entries).owns(path, &FileSnapshot { stat, below: Some(Vec::new()) })
}

#[test]
fn what_it_made_is_its_own_until_somebody_changes_it() {
    let made = || vec![at(0, vec![("/p/a", MADE)])];
    assert_eq!(owns(made(), "/p/a", stat(0, 0)), Some(Ownership::Made));
    assert_eq!(owns(made(), "/p/a", stat(0, 2)), Some(Ownership::Made));
    assert_eq!(owns(made(), "/p/a", stat(0, 3)), None);
    assert_eq!(owns(made(), "/p/a", stat(0, -1)), None);
    assert_eq!(owns(made(), "/p/b", stat(0, 0)), None);
    assert_eq!(owns(made(), "/p", stat(0, 0)), None);
}

#[test]
fn a_command_whose_end_is_known_may_take_longer_but_not_for_ever() {
    let until = |seconds: i64| LedgerEntry { until: Some(NOON + seconds * 1000), ..at(0, vec![("/p/a", MADE)]) };
    assert_eq!(owns(vec![until(60)], "/p/a", stat(0, 50)), Some(Ownership::Made));
    assert_eq!(owns(vec![until(60)], "/p/a", stat(0, 61)), None);
    assert_eq!(owns(vec![until(1)], "/p/a", stat(0, 2)), None);
    assert_eq!(owns(vec![until(100_000)], "/p/a", stat(0, 600)), Some(Ownership::Made));
    assert_eq!(owns(vec![until(100_000)], "/p/a", stat(0, 601)), None);
}

#[test]
fn another_name_for_an_older_file_is_not_its_own() {
    assert_eq!(owns(vec![at(0, vec![("/p/a", MADE)])], "/p/a", stat(-500, 0)), None);
    let unknown = Stat { born: None, ..stat(0, 0) };
    assert_eq!(owns(vec![at(0, vec![("/p/a", MADE)])], "/p/a", unknown), Some(Ownership::Made));
}

#[test]
fn what_was_there_before_stays_a_persons() {
    let over = |before: PathChangeKind| vec![at(0, vec![("/p/a", before)])];
    assert_eq!(owns(over(kept(-900, -900)), "/p/a", stat(-900, 0)), None);
    // Some tools write a new file and put it in the place of the old one.
    assert_eq!(owns(over(kept(-900, -900)), "/p/a", stat(0, 0)), None);
    assert_eq!(owns(over(kept(-900, -900)), "/p/a", stat(0, 1)), None);
}

#[test]
fn its_own_file_stays_its_own_when_it_writes_it_again() {
    let again = |changed| vec![at(0, vec![("/p/a", MADE)]), at(100, vec![("/p/a", kept(0, changed))])];
    assert_eq!(owns(again(0), "/p/a", stat(0, 100)), Some(Ownership::Made));
    // A person changed it in between.
    assert_eq!(owns(again(50), "/p/a", stat(0, 100)), None);
}

#[test]
fn its_edits_of_a_clean_file_may_be_taken_back_until_somebody_else_edits_it() {
    let clean = PathChangeKind::Made(PriorState::Clean);
    assert_eq!(owns(vec![at(0, vec![("/p/a", clean.clone())])], "/p/a", stat(-900, 0)), Some(Ownership::Edited));
    assert_eq!(owns(vec![at(0, vec![("/p/a", clean.clone())])], "/p/a", stat(-900, 30)), None);
    let again = |changed| vec![at(0, vec![("/p/a", clean.clone())]), at(9, vec![("/p/a", kept(-900, changed))])];
    assert_eq!(owns(again(1), "/p/a", stat(-900, 9)), Some(Ownership::Edited));
    assert_eq!(owns(again(5), "/p/a", stat(-900, 9)), None);
}

#[test]
fn what_its_programs_made_is_its_own_by_its_birth() {
    assert_eq!(owns(vec![ran(0)], "/p/a", stat(0, 1)), Some(Ownership::Made));
    assert_eq!(owns(vec![ran(0)], "/p/a", stat(-5, 1)), None);
    assert_eq!(owns(vec![ran(0)], "/p/a", stat(0, 5)), None);
    assert_eq!(owns(vec![ran(0)], "/p/a", Stat { born: None, ..stat(0, 1) }), None);
    // A command that made one file made no other.
    assert_eq!(owns(vec![at(0, vec![("/p/b", MADE)])], "/p/a", stat(0, 0)), None);
    let edited = vec![ran(0), at(10, vec![("/p/a", kept(0, 1))])];
    assert_eq!(owns(edited, "/p/a", stat(0, 10)), Some(Ownership::Made));
    let theirs = vec![ran(0), at(10, vec![("/p/a", kept(-5, 1))])];
    assert_eq!(owns(theirs, "/p/a", stat(-5, 10)), None);
}

#[test]
fn what_a_program_of_its_own_changed_in_its_file_is_no_persons_change() {
    let formatted = vec![at(0, vec![("/p/a", MADE)]), ran(30)];
    assert_eq!(owns(formatted, "/p/a", stat(0, 31)), Some(Ownership::Made));
}

#[test]
fn what_it_took_away_and_is_there_again_is_another_file() {
    let gone = vec![at(0, vec![("/p/a", MADE)]), at(5, vec![("/p/a", PathChangeKind::Gone)])];
    assert_eq!(owns(gone, "/p/a", stat(1, 1)), None);
}

#[test]
fn what_is_moved_is_whose_it_was() {
    let moved = |was| PathChangeKind::Moved { from: "/p/a".to_owned(), was };
    let own =
        vec![at(0, vec![("/p/a", MADE)]), at(10, vec![("/p/a", PathChangeKind::Gone), ("/p/b", moved(stat(0, 0)))])];
    assert_eq!(owns(own, "/p/b", stat(0, 10)), Some(Ownership::Made));
    let changed = vec![at(0, vec![("/p/a", MADE)]), at(10, vec![("/p/b", moved(stat(0, 7)))])];
    assert_eq!(owns(changed, "/p/b", stat(0, 10)), None);
    let theirs = vec![at(10, vec![("/p/b", moved(stat(-9, -9)))])];
    assert_eq!(owns(theirs, "/p/b", stat(-9, 10)), None);
}

#[test]
fn a_directory_is_its_own_with_all_that_it_holds_or_not_at_all() {
    let entries = || vec![at(0, vec![("/p/d/e/a", MADE)]), ran(50)];
    let look = |below: Vec<(&str, Stat)>| FileSnapshot {
        stat: directory(0),
        below: Some(below.into_iter().map(|(path, stat)| (path.to_owned(), stat)).collect()),
    };
    let own = |below| ledger(entries()).owns("/p/d", &look(below));
    let base = || vec![("/p/d/e", directory(0)), ("/p/d/e/a", stat(0, 0))];
    assert_eq!(own(base()), Some(Ownership::Made));
    let with = |path: &'static str, stat| base().into_iter().chain([(path, stat)]).collect::<Vec<_>>();
    assert_eq!(own(with("/p/d/built", stat(50, 51))), Some(Ownership::Made));
    assert_eq!(own(with("/p/d/notes", stat(20, 20))), None);
    assert_eq!(own(with("/p/d/old", stat(-90, 51))), None);
    assert_eq!(own(with("/p/d/folder", directory(20))), None);
    assert_eq!(own(with("/p/d/link", Stat { kind: FileKind::Link, ..stat(50, 50) })), Some(Ownership::Made));
    assert_eq!(own(with("/p/d/socket", Stat { kind: FileKind::Other, ..stat(50, 50) })), None);
    assert_eq!(ledger(entries()).owns("/p/d", &FileSnapshot { stat: directory(-90), below: Some(Vec::new()) }), None);
    assert_eq!(ledger(entries()).owns("/p/d", &FileSnapshot { stat: directory(0), below: None }), None);
    // No command made the directory beside it.
    assert_eq!(ledger(entries()).owns("/p/other", &FileSnapshot { stat: directory(0), below: Some(Vec::new()) }), None);
}

#[test]
fn what_was_born_below_what_it_made_anew_came_with_it() {
    // Such as a copy of a directory, an unpacked archive, or a clone.
    let entries = || vec![at(0, vec![("/p/d", MADE)])];
    let own = |below: Vec<(&str, Stat)>| {
        let below = Some(below.into_iter().map(|(path, stat)| (path.to_owned(), stat)).collect());
        ledger(entries()).owns("/p/d", &FileSnapshot { stat: directory(0), below })
    };
    assert_eq!(own(vec![("/p/d/e", directory(1)), ("/p/d/e/a", stat(1, 1))]), Some(Ownership::Made));
    assert_eq!(owns(entries(), "/p/d/e/a", stat(1, 2)), Some(Ownership::Made));
    // Files that came later, that are older, or that were changed since.
    assert_eq!(own(vec![("/p/d/a", stat(5, 5))]), None);
    assert_eq!(own(vec![("/p/d/a", stat(-5, 1))]), None);
    assert_eq!(own(vec![("/p/d/a", stat(1, 5))]), None);
    assert_eq!(own(vec![("/p/d/e", directory(5))]), None);
    assert_eq!(owns(entries(), "/p/dd/a", stat(1, 1)), None);
    // It may be edited later.
    let edited = |born| vec![at(0, vec![("/p/d", MADE)]), at(30, vec![("/p/d/a", kept(born, 1))])];
    assert_eq!(owns(edited(1), "/p/d/a", stat(1, 31)), Some(Ownership::Made));
    assert_eq!(owns(edited(-9), "/p/d/a", stat(-9, 31)), None);
    // Below a file of its own that existed before, nothing came with it.
    let over = vec![at(0, vec![("/p/d", kept(-9, -9))])];
    assert_eq!(owns(over, "/p/d/a", stat(1, 1)), None);
}

#[test]
fn a_directory_of_its_own_is_its_own_where_it_is_moved_to() {
    let moved = |was| PathChangeKind::Moved { from: "/p/d".to_owned(), was };
    let was = |changed: i64| Stat { kind: FileKind::Directory, ..stat(0, changed) };
    let entries = |changed: i64| {
        vec![
            at(0, vec![("/p/d", MADE), ("/p/d/a", MADE)]),
            at(9, vec![("/p/d", PathChangeKind::Gone), ("/p/e", moved(was(changed)))]),
        ]
    };
    let own = |changed: i64, below: Vec<(&str, Stat)>| {
        let below = Some(below.into_iter().map(|(path, stat)| (path.to_owned(), stat)).collect());
        ledger(entries(changed)).owns("/p/e", &FileSnapshot { stat: directory(0), below })
    };
    assert_eq!(own(1, vec![("/p/e/a", stat(0, 1))]), Some(Ownership::Made));
    assert_eq!(own(1, vec![("/p/e/notes", stat(5, 5))]), None);
    assert_eq!(own(1, vec![("/p/e/a", stat(0, 5))]), None);
    // Another program added something before it was moved.
    assert_eq!(own(5, vec![("/p/e/a", stat(0, 1))]), None);
}

#[test]
fn edits_of_what_git_has_are_no_reason_to_delete_the_directory() {
    let entries = vec![at(0, vec![("/p/d", MADE), ("/p/d/a", PathChangeKind::Made(PriorState::Clean))])];
    let look = FileSnapshot { stat: directory(0), below: Some(vec![("/p/d/a".to_owned(), stat(0, 0))]) };
    assert_eq!(ledger(entries).owns("/p/d", &look), None);
}

#[test]
fn what_was_brought_counts_where_it_lies_above_and_below() {
    let one = |moved| BroughtContent { to: "/p/build/n".to_owned(), from: "/p/n".to_owned(), moved };
    let with = |moved| Ledger { brought: vec![one(moved)], ..Ledger::default() };
    for path in ["/p/build", "/p/build/n", "/p/build/n/deep", "/p", "/p/build/"] {
        assert!(with(true).holds_what_was_brought(path, |_| None), "{path}");
        assert!(with(false).holds_what_was_brought(path, |_| None), "{path}");
    }
    for path in ["/p/build/m", "/p/bui", "/q", "/p/buildings"] {
        assert!(!with(true).holds_what_was_brought(path, |_| None), "{path}");
    }
    assert!(!Ledger::default().holds_what_was_brought("/p", |_| None));
    assert!(Ledger { unknown: true, ..Ledger::default() }.holds_what_was_brought("/p", |_| None));
    // The session may move and lose its own file.
    let moved = PathChangeKind::Moved { from: "/p/n".to_owned(), was: stat(0, 0) };
    let entries = vec![at(0, vec![("/p/n", MADE)]), at(3, vec![("/p/build/n", moved)])];
    let lies = |changed| FileSnapshot { stat: stat(0, changed), below: Some(Vec::new()) };
    let holds = |moved, look: &FileSnapshot| {
        let ledger = Ledger { entries: entries.clone(), ..with(moved) };
        ledger.holds_what_was_brought("/p/build", |path| (path == "/p/build/n").then_some(look))
    };
    assert!(!holds(true, &lies(3)));
    assert!(holds(false, &lies(3)));
    // It may no longer after somebody else changed the file there.
    assert!(holds(true, &lies(30)));
}

#[test]
fn a_persons_work_in_a_directory_of_its_own_stays_that_where_the_directory_is_brought() {
    let moved = |from: &str, was| PathChangeKind::Moved { from: from.to_owned(), was };
    let entries = vec![
        at(0, vec![("/p/own", MADE), ("/p/own/sub", MADE)]),
        at(9, vec![("/p/own/sub/n", moved("/p/n", stat(-90, -90)))]),
        at(18, vec![("/p/build/own", moved("/p/own", Stat { kind: FileKind::Directory, ..stat(0, 0) }))]),
    ];
    let brought = BroughtContent { to: "/p/build/own".to_owned(), from: "/p/own".to_owned(), moved: true };
    let ledger = Ledger { entries, brought: vec![brought], unknown: false };
    let holds = |below: Vec<(&str, Stat)>| {
        let below = below.into_iter().map(|(path, stat)| (path.to_owned(), stat)).collect();
        let look = FileSnapshot { stat: directory(0), below: Some(below) };
        ledger.holds_what_was_brought("/p/build", |_| Some(&look))
    };
    assert!(!holds(vec![("/p/build/own/sub", directory(0))]));
    assert!(holds(vec![("/p/build/own/sub", directory(0)), ("/p/build/own/sub/n", stat(-90, 9))]));
}

#[test]
fn what_is_brought_on_takes_along_what_was_brought() {
    let there = |moved| BroughtContent { to: "/p/build/n".to_owned(), from: "/p/n".to_owned(), moved };
    let on = |moved, from: &str, to: &str, next| there(moved).on(from, to, next).map(|on| (on.to, on.from, on.moved));
    let is = |to: &str, from: &str, moved| Some((to.to_owned(), from.to_owned(), moved));
    assert_eq!(on(true, "/p/build", "/p/dist/b", true), is("/p/dist/b/n", "/p/n", true));
    assert_eq!(on(true, "/p/build/n", "/tmp/q", true), is("/tmp/q", "/p/n", true));
    assert_eq!(on(true, "/p/build/n/deep", "/tmp/q", true), is("/tmp/q", "/p/n", true));
    // A copy has no weight while the original exists, wherever that is.
    assert_eq!(on(true, "/p/build", "/tmp/q", false), is("/tmp/q/n", "/p/build/n", false));
    assert_eq!(on(false, "/p/build", "/tmp/q", true), is("/tmp/q/n", "/p/n", false));
    for elsewhere in ["/p/bui", "/p/build/m", "/p/other"] {
        assert_eq!(on(true, elsewhere, "/tmp/q", true), None, "{elsewhere}");
    }
}

fn next(seconds: i64, entry: LedgerEntry) -> LedgerEntry {
    LedgerEntry { next: Some(NOON + seconds * 1000), ..entry }
}

#[test]
fn a_directory_that_a_slow_command_names_is_its_own_with_what_came_into_it_without_a_pause() {
    let entries = || vec![next(90, at(0, vec![("/p/d", MADE)]))];
    let own = |born: i64, below: Vec<(&str, Stat)>| {
        let below = Some(below.into_iter().map(|(path, stat)| (path.to_owned(), stat)).collect());
        ledger(entries()).owns("/p/d", &FileSnapshot { stat: directory(born), below })
    };
    assert_eq!(own(40, Vec::new()), Some(Ownership::Made));
    let built = || vec![("/p/d/a", stat(40, 41)), ("/p/d/e", directory(42)), ("/p/d/e/b", stat(42, 43))];
    assert_eq!(own(40, built()), Some(Ownership::Made));
    let with = |path: &'static str, stat| built().into_iter().chain([(path, stat)]).collect::<Vec<_>>();
    // Files of a person after a pause: added, added to a subdirectory, or changed; and older files.
    assert_eq!(own(40, with("/p/d/notes", stat(47, 47))), None);
    assert_eq!(own(40, with("/p/d/e/notes", stat(60, 60))), None);
    assert_eq!(own(40, with("/p/d/c", stat(41, 60))), None);
    assert_eq!(own(40, with("/p/d/old", stat(-9, 41))), None);
    // After the session's next call the command made nothing.
    assert_eq!(own(91, Vec::new()), None);
    assert_eq!(own(89, vec![("/p/d/a", stat(90, 91))]), None);
    // The same command makes no other directory. A command without a known next call makes none later.
    assert_eq!(
        ledger(entries()).owns("/p/other", &FileSnapshot { stat: directory(40), below: Some(Vec::new()) }),
        None
    );
    let unknown = ledger(vec![at(0, vec![("/p/d", MADE)])]);
    assert_eq!(unknown.owns("/p/d", &FileSnapshot { stat: directory(40), below: Some(Vec::new()) }), None);
    // A person's work that was moved into it in the meantime is not the session's.
    let theirs = PathChangeKind::Moved { from: "/p/n".to_owned(), was: stat(41, 41) };
    let entries = vec![next(41, at(0, vec![("/p/d", MADE)])), next(90, at(41, vec![("/p/d/n", theirs)]))];
    let look = FileSnapshot { stat: directory(40), below: Some(vec![("/p/d/n".to_owned(), stat(41, 41))]) };
    assert_eq!(ledger(entries).owns("/p/d", &look), None);
}

#[test]
fn a_commit_is_its_own_in_the_second_in_which_a_command_ran_that_may_make_one() {
    let base = NOON / 1000;
    let commits = |entry: LedgerEntry, second: i64| ledger(vec![entry]).may_have_committed(base + second);
    assert!(commits(ran(10), 10) && commits(ran(10), 12) && !commits(ran(10), 13) && !commits(ran(10), 8));
    assert!(!commits(next(18, ran(10)), 17));
    assert!(!Ledger::default().may_have_committed(base));
}

#[test]
fn a_download_is_followed_to_where_it_is_moved_and_copied_until_it_is_written_again() {
    let fetched = |path: &str| {
        let mut entry = at(0, vec![("/p/z", MADE)]);
        entry.changes.fetched.push(path.to_owned());
        entry
    };
    let is = |entries: Vec<LedgerEntry>, path: &str, born: i64| {
        ledger(entries).has_fetched(path, || Some(NOON + born * 1000))
    };
    assert!(is(vec![fetched("/p/z")], "/p/z", -9) && !is(vec![fetched("/p/z")], "/p/zz", 0));
    // Of a directory, only what came with the download.
    assert!(is(vec![fetched("/p/")], "/p/a", 1) && !is(vec![fetched("/p/")], "/p/a", 5));
    let moved = at(5, vec![("/p/t", PathChangeKind::Moved { from: "/p/z".to_owned(), was: stat(0, 0) })]);
    assert!(is(vec![fetched("/p/z"), moved], "/p/t", 0));
    let mut copy = at(5, Vec::new());
    copy.changes.copied.push(CopiedContent { to: "/p/t".to_owned(), from: "/p/z".to_owned(), was: stat(0, 0) });
    assert!(is(vec![fetched("/p/z"), copy], "/p/t", 5));
    assert!(!is(vec![fetched("/p/z"), at(5, vec![("/p/z", kept(0, 0))])], "/p/z", 0));
    assert!(ledger(vec![fetched("/p/z")]).has_fetched_any() && !ledger(vec![ran(0)]).has_fetched_any());
}

#[test]
fn a_copy_of_what_it_did_not_make_may_be_the_only_one() {
    let copies = |entries: Vec<LedgerEntry>, was: Stat| {
        let mut copy = at(9, vec![("/p/w/n", MADE)]);
        copy.changes.copied.push(CopiedContent { to: "/p/w/n".to_owned(), from: "/p/n".to_owned(), was });
        let ledger = ledger(entries.into_iter().chain([copy]).collect());
        ["/p/w", "/p/w/n", "/p/w/m"].map(|path| ledger.holds_what_was_brought(path, |_| None))
    };
    assert_eq!(copies(Vec::new(), stat(-9, -9)), [true, true, false]);
    assert_eq!(copies(vec![at(0, vec![("/p/n", MADE)])], stat(0, 0)), [false, false, false]);
    // A person changed the original before.
    assert_eq!(copies(vec![at(0, vec![("/p/n", MADE)])], stat(0, 5)), [true, true, false]);
}

#[test]
fn a_file_that_a_slow_program_writes_is_its_own_where_the_next_call_came_soon() {
    let entry = |changes: Vec<(&str, PathChangeKind)>| {
        let entry = at(0, changes);
        LedgerEntry { changes: CommandChanges { ran: true, ..entry.changes }, ..entry }
    };
    let made = |seconds| vec![next(seconds, entry(vec![("/p/a", MADE)]))];
    assert_eq!(owns(made(8), "/p/a", stat(0, 7)), Some(Ownership::Made));
    assert_eq!(owns(made(8), "/p/a", stat(7, 7)), Some(Ownership::Made));
    assert_eq!(owns(made(8), "/p/a", stat(0, 9)), None);
    assert_eq!(owns(made(8), "/p/a", stat(-9, 7)), None);
    assert_eq!(owns(made(9), "/p/a", stat(0, 7)), None);
    // Files that it does not name may be anybody's by then.
    assert_eq!(owns(made(8), "/p/b", stat(7, 7)), None);
    let edited = vec![next(8, entry(vec![("/p/a", PathChangeKind::Made(PriorState::Clean))]))];
    assert_eq!(owns(edited, "/p/a", stat(-900, 7)), Some(Ownership::Edited));
    // A command that runs no program has ended long before.
    assert_eq!(owns(vec![next(8, at(0, vec![("/p/a", MADE)]))], "/p/a", stat(0, 7)), None);
    assert_eq!(owns(vec![next(8, at(0, vec![("/p/a", MADE)]))], "/p/a", stat(7, 7)), None);
}

#[test]
fn what_is_kept_reads_back_as_it_was() {
    let changes = CommandChanges {
        done: vec![
            PathChange { path: "/a".into(), done: MADE },
            PathChange { path: "/b".into(), done: PathChangeKind::Made(PriorState::Clean) },
            PathChange { path: "/c".into(), done: kept(1, 2) },
            PathChange { path: "/d".into(), done: PathChangeKind::Gone },
            PathChange { path: "/e".into(), done: PathChangeKind::Moved { from: "/a".into(), was: directory(3) } },
        ],
        ran: true,
        brought: vec![BroughtContent { to: "/x".into(), from: "/y".into(), moved: false }],
        named: vec![NamedObject {
            program: "tmux".into(),
            sub: vec!["new-session".into()],
            flags: vec![("-s".into(), Some("w".into())), ("-d".into(), None)],
            operands: vec!["top".into()],
            cwd: Some("/p".into()),
            refs: vec!["refs/heads/x".into()],
            doubtful: true,
        }],
        copied: vec![CopiedContent { to: "/x".into(), from: "/y".into(), was: stat(1, 2) }],
        fetched: vec!["/z/".into()],
    };
    let text = serde_json::to_string(&changes).unwrap();
    assert_eq!(serde_json::from_str::<CommandChanges>(&text).unwrap(), changes);
    assert_eq!(serde_json::to_string(&CommandChanges::default()).unwrap(), "{}");
    assert!(CommandChanges::default().is_empty() && !changes.is_empty());
}

proptest! {
    /// Checks that a file that is older than the session's commands and not named by them stays a person's, and so does
    /// a file that was changed while none of them ran, whatever the session does elsewhere.
    #[test]
    fn nothing_that_it_did_not_make_is_its_own(
        times in prop::collection::vec((0_i64..1000, 0_u8..4), 0..30),
        born in -1000_i64..0,
        changed in -1000_i64..2000,
    ) {
        let mut entries: Vec<LedgerEntry> = times.iter().map(|(time, kind)| match kind {
            0 => ran(*time),
            1 => at(*time, vec![("/p/mine", MADE)]),
            2 => at(*time, vec![("/p/theirs", PathChangeKind::Gone)]),
            _ => at(*time, vec![("/p/mine", kept(born, changed))]),
        }).collect();
        entries.sort_by_key(|entry| entry.at);
        prop_assert_eq!(owns(entries.clone(), "/p/theirs", stat(born - 1, changed)), None);
        let ends: Vec<i64> = entries.iter().map(|entry| entry.at).collect();
        let moment = NOON + changed * 1000;
        if !ends.iter().any(|at| (at - 20..=at + UNSEEN_MS).contains(&moment)) {
            prop_assert_eq!(owns(entries, "/p/mine", stat(0, changed)), None);
        }
    }
}
