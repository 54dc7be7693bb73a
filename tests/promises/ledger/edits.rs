//! Tests that a session may revert all changes in a work tree only if they are all its own work.

use super::{Fixture, later};

const TAKES_BACK: [&str; 5] =
    ["git checkout .", "git restore .", "git reset --hard", "git checkout -- tests/", "git restore tests"];

fn project() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("tests/a.py", "a\n");
    fixture.write("tests/b.py", "b\n");
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-qm", "second"]);
    fixture
}

#[test]
fn a_session_takes_back_its_own_edits_together() {
    let fixture = project();
    fixture.does("s", "echo 2 >> tests/a.py; echo 2 >> kept.py");
    for line in TAKES_BACK {
        assert!(fixture.runs("s", line), "{line}");
        assert!(!fixture.runs("t", line), "{line}: another session");
    }
    assert!(!fixture.runs("s", "git reset --hard HEAD~1"));
    // A person's change, also in the session's files, ends this.
    later();
    fixture.write("tests/b.py", "a person's\n");
    for line in TAKES_BACK {
        assert!(!fixture.runs("s", line), "{line}");
    }
    fixture.git(&["checkout", "-q", "tests/b.py"]);
    assert!(fixture.runs("s", "git checkout ."));
    later();
    fixture.write("kept.py", "a person's\n");
    assert!(!fixture.runs("s", "git checkout ."));
}

#[test]
fn what_was_changed_before_or_comes_back_from_a_stash_is_a_persons() {
    let fixture = project();
    fixture.write("tests/b.py", "a person's\n");
    fixture.git(&["stash", "-q"]);
    fixture.does("s", "echo 2 >> tests/a.py");
    assert!(fixture.runs("s", "git checkout ."));
    assert!(!fixture.runs("s", "git stash pop && git checkout ."));
    fixture.really("git stash pop -q");
    assert!(!fixture.runs("s", "git checkout ."));
    assert!(!fixture.runs("s", "git reset --hard"));
}

#[test]
fn a_clean_of_its_own_directory_asks_nobody() {
    let fixture = project();
    fixture.does("s", "mkdir out && echo 1 > out/a.txt");
    assert!(fixture.runs("s", "git clean -fd out"));
    assert!(!fixture.runs("t", "git clean -fd out"));
    fixture.write("tests/notes.txt", "a person's\n");
    assert!(!fixture.runs("s", "git clean -fd tests"));
    later();
    fixture.write("out/notes.txt", "a person's\n");
    assert!(!fixture.runs("s", "git clean -fd out"));
}
