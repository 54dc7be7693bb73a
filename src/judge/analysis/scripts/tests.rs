use super::super::act::OpaqueReason;
use super::super::testing::{dump, facts, removes};
use super::is_of_installation;
use crate::judge::analysis::act::{Piece, Taint, Unknown, UnknownReason, Value};

#[test]
fn what_the_line_wrote_is_read_where_its_path_is_known_in_part() {
    for dir in ["$(mktemp -d)", "$D", "/tmp/x$$", "$(mktemp -d)/sub", "/opt/$RANDOM.d"] {
        for run in ["$d/x", "\"$d/x\"", "bash $d/x", ". $d/x", "chmod +x $d/x; $d/x", "cd $d && ./x"] {
            let line = format!("d={dir}; echo 'rm -r /srv/x' > $d/x; {run}");
            let found = dump(&facts(&line));
            // If only a variable names the directory, files in it are not followed after `cd`.
            assert!(run.starts_with("cd ") && dir == "$D" || found.contains("rm -r /srv/x"), "{line}\n{found}");
        }
    }
    removes("d=$(mktemp -d); echo 'rm x' > $d/a; $d/b", &[]);
}

#[test]
fn what_an_archive_brings_below_a_made_directory_is_not_known() {
    for line in [
        "d=$(mktemp -d); unzip a.zip -d $d; $d/x",
        "d=$(mktemp -d); unzip a.zip -d $d; bash $d/x",
        "unzip a.zip -d /tmp/x$$; /tmp/x$$/run",
    ] {
        let facts = facts(line);
        assert!(facts.opaque.iter().any(|opaque| opaque.why == OpaqueReason::Script), "{line}\n{}", dump(&facts));
    }
}

#[test]
fn a_script_in_a_directory_of_installed_programs_is_theirs() {
    let of = |why, taint, below: &str| {
        is_of_installation(&Value::of(vec![Piece::Unknown(Unknown { why, taint }), Piece::Text(below.into())]))
    };
    let plain = Taint::default();
    assert!(of(UnknownReason::Installation, plain, "/etc/profile.d/x.sh"));
    assert!(!of(UnknownReason::Installation, plain, "/../x.sh") && !of(UnknownReason::Installation, plain, "x.sh"));
    assert!(!of(UnknownReason::Installation, Taint::FETCHED, "/x.sh"));
    assert!(!of(UnknownReason::CommandOutput, plain, "/x.sh") && !is_of_installation(&Value::text("/x.sh")));
}
