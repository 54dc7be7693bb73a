//! Tests files that are moved into directories of build output or temporary files: guard remembers them there, however
//! often and by whichever session they are moved on.

use std::fs;

use super::Fixture;

/// Creates a project with files that exist nowhere else, and with build output.
fn project() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "build/\ndist/\n");
    fixture.git(&["commit", "-qam", "second"]);
    fixture.write("build/made.o", "x");
    fixture.write("dist/made.js", "x");
    fixture.write("draft.txt", "a person's\n");
    fixture.write("notes/n.txt", "a person's\n");
    fixture
}

#[test]
fn it_is_followed_over_several_places() {
    let after = |moves: &[&str]| {
        let fixture = project();
        moves.iter().for_each(|line| fixture.does("s", line));
        fixture
    };
    for (moves, asked) in [
        (&["mkdir own", "mv draft.txt own/", "mv own build/"][..], "rm -rf build"),
        (&["mkdir -p own/sub", "mv draft.txt own/sub/", "mv own build/"], "rm -rf build"),
        (&["mv notes build/n", "mv build/n dist/b"], "rm -rf dist"),
        (&["mv notes build/n", "mv build dist/b"], "rm -rf dist"),
        (&["mv notes build/n", "mv build dist/b", "mv dist/b build"], "rm -rf build"),
        (&["mv notes build/n", "rm -r dist/*; mv build dist"], "rm -rf dist"),
        (&["mv draft.txt build/", "mv build/* dist/"], "rm -rf dist"),
    ] {
        let fixture = after(moves);
        assert!(!fixture.runs("s", asked), "{moves:?}");
        assert!(!fixture.runs("t", asked), "{moves:?}: another session");
    }
    for (moves, runs) in [
        (&["mkdir own", "mv own build/"][..], "rm -rf build"),
        (&["mv build/made.o build/other.o", "mv build dist/b"], "rm -rf dist"),
        (&["mv notes build/n", "mv build dist/b", "mv dist/b/n notes"], "rm -rf dist"),
    ] {
        assert!(after(moves).runs("s", runs), "{moves:?}");
    }
}

#[test]
fn it_is_followed_through_the_temp_directory() {
    let fixture = project();
    let away = tempfile::tempdir().unwrap();
    let away = away.path().to_str().unwrap();
    fixture.does("s", &format!("mkdir {away}/d"));
    fixture.does("s", &format!("mv notes {away}/d/"));
    fixture.does("s", &format!("mv {away}/d {away}/e"));
    for session in ["s", "t"] {
        assert!(!fixture.runs(session, &format!("rm -rf {away}/e")), "{session}");
    }
    fixture.does("s", &format!("mv {away}/e/notes notes"));
    assert!(fixture.runs("s", &format!("rm -rf {away}/e")));
    // The same within one line.
    assert!(!fixture.runs("s", "mv notes /tmp/guard-q1 && mv /tmp/guard-q1 /tmp/guard-q2 && rm -rf /tmp/guard-q2"));
    assert!(fixture.runs("s", "mkdir /tmp/guard-q1 && mv /tmp/guard-q1 /tmp/guard-q2 && rm -rf /tmp/guard-q2"));
    assert!(fixture.runs("s", "d=$(mktemp -d); mkdir $d/a; mv $d/a $d/b; mv $d/b $d/c; rm -rf $d"));
}

#[test]
fn a_search_and_a_loop_over_names_that_nobody_knows_bring_it_too() {
    for line in [
        "find . -maxdepth 1 -name 'draft*' -exec mv {} build/ \\;",
        "find notes -type f -exec mv -t build {} +",
        "find . -maxdepth 1 -name 'draft*' | while read f; do mv \"$f\" build/; done",
    ] {
        let fixture = project();
        fixture.does("s", line);
        assert!(!fixture.runs("s", "rm -rf build"), "{line}");
        assert!(fixture.runs("s", "rm -rf dist"), "{line}");
    }
    let fixture = project();
    fixture.does("s", "find build -name '*.o' -exec mv {} dist/ \\;");
    assert!(fixture.runs("s", "rm -rf dist"));
}

#[test]
fn it_is_not_written_over_as_what_is_made_again_is() {
    let fixture = project();
    assert!(fixture.runs("s", "echo x > build/made.o"));
    fixture.does("s", "mv draft.txt build/d");
    assert!(!fixture.runs("s", "echo x > build/d"));
    assert!(!fixture.runs("s", "cp kept.py build/d"));
    assert!(fixture.runs("s", "echo x > build/made.o"));
    fs::rename(fixture.home.path("work/build/d"), fixture.home.path("work/draft.txt")).unwrap();
    assert!(fixture.runs("s", "echo x > build/d"));
}

#[test]
fn it_is_followed_through_links_and_out_of_directories_of_its_own() {
    let link = |fixture: &Fixture| fixture.does("s", "ln -s build b2");
    for bring in ["mv draft.txt b2/", "mv draft.txt b2/d.txt", "cd b2 && mv ../draft.txt ."] {
        let fixture = project();
        link(&fixture);
        fixture.does("s", bring);
        assert!(!fixture.runs("s", "rm -rf build"), "{bring}");
        assert!(fixture.runs("s", "rm -rf dist"), "{bring}");
    }
    for (bring, remove) in [
        ("cp draft.txt b2/", "rm -rf build"),
        ("cat draft.txt > b2/all.txt", "rm -rf build"),
        ("install draft.txt build/", "rm -rf build"),
        ("mkdir w && cp draft.txt w/", "rm -rf w"),
        ("mkdir -p w && cat draft.txt notes/* > w/all.txt", "rm -rf w"),
        ("tar czf nb.tgz draft.txt", "rm nb.tgz"),
    ] {
        let fixture = project();
        link(&fixture);
        fixture.does("s", bring);
        assert!(fixture.runs("s", remove), "{bring}");
        fs::remove_file(fixture.home.path("work/draft.txt")).unwrap();
        assert!(!fixture.runs("s", remove), "{bring}");
    }
    // What the session itself made, or git has, is not lost with a copy.
    let fixture = project();
    fixture.does("s", "echo 1 > own.txt");
    fixture.does("s", "cp own.txt own2.txt && cp kept.py k2.py");
    fixture.does("s", "rm own.txt kept.py");
    assert!(fixture.runs("s", "rm own2.txt k2.py"));
}
