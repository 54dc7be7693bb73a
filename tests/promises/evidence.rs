//! Tests the evidence that guard shows a person about a command's cost.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

use guard::judge::analysis::act::{Act, Flag, Operand, Piece, Taint, Unknown, UnknownReason, Value, Verb};
use guard::judge::analysis::place::Place;
use guard::judge::effect::Effect;
use guard::judge::risk::{Finding, Reversibility, Tier, Weight};
use guard::judge::syntax::tree::Span;
use guard::world::evidence::{self, Evidence};

use crate::fixture::Fixture;

/// A time limit long enough that it never decides a test.
const PATIENCE: Duration = Duration::from_secs(3600);

fn act(fixture: &Fixture, verb: Verb) -> Act {
    Act { recursive: true, span: Span::new(0, 10), ..Act::plain(verb, Some(Place::of(fixture.text("")))) }
}

fn operand(value: Value) -> Operand {
    Operand { value, span: Span::new(0, 10) }
}

fn effect(fixture: &Fixture, effect: Effect, operands: Vec<Value>) -> Act {
    Act { operands: operands.into_iter().map(operand).collect(), ..act(fixture, Verb::Effect(effect)) }
}

/// Returns the act of `git SUB FLAGS OPERANDS`, written as on a command line.
fn git(fixture: &Fixture, line: &str) -> Act {
    let words: Vec<&str> = line.split(' ').collect();
    let subs = if words[0] == "stash" { 2 } else { 1 };
    let flags = words[subs..].iter().filter(|word| word.starts_with('-') && **word != "--");
    let operands = words[subs..].iter().filter(|word| !word.starts_with('-'));
    Act {
        sub: words[..subs].iter().map(|word| (*word).to_owned()).collect(),
        flags: flags.map(|name| Flag { name: (*name).to_owned(), value: None, span: Span::new(0, 10) }).collect(),
        operands: operands.map(|text| operand(Value::text(*text))).collect(),
        args: words.iter().map(|text| Value::text(*text)).collect(),
        ..act(fixture, Verb::Program { name: "git".into(), path: None })
    }
}

fn finding(act: usize) -> Finding {
    Finding {
        rule: "test".into(),
        tier: Tier::High,
        weight: Weight::of_tier(Tier::High),
        reversibility: Reversibility::Irreversible,
        reason: String::new(),
        instead: None,
        span: Span::new(0, 10),
        touches: Vec::new(),
        deny: false,
        yolo: false,
        reversible: false,
        approvals: 1,
        notes: Vec::new(),
        lowered: None,
        act: Some(act),
    }
}

fn gather(fixture: &Fixture, act: Act) -> Evidence {
    evidence::gather(&fixture.world(), &[act], &[finding(0)], PATIENCE)
}

fn lines(fixture: &Fixture, act: Act) -> Vec<String> {
    let evidence = gather(fixture, act);
    assert!(!evidence.truncated, "{evidence:?}");
    evidence.lines
}

fn deleted(fixture: &Fixture, names: &[&str]) -> Vec<String> {
    lines(fixture, effect(fixture, Effect::Delete, names.iter().map(|name| Value::text(*name)).collect()))
}

#[test]
fn a_deleted_directory_is_counted_with_what_git_knows_of_it() {
    let fixture = Fixture::repository();
    fixture.write("src/changed.rs", "one");
    fixture.commit("second");
    fixture.write("src/changed.rs", "two!");
    fixture.write("src/new.rs", "x");
    fixture.write("src/noise.log", "yy");
    let expected = "deletes src: 4 files, 20 B; 2 in git, 1 of them with changes that are in no commit; 1 not in git; 1 ignored by git";
    assert_eq!(deleted(&fixture, &["src"]), [expected]);
    fixture.write("target/debug/a", "xxx");
    assert_eq!(deleted(&fixture, &["./target"]), ["deletes target: 1 file, 3 B; ignored by git"]);
}

#[test]
fn a_single_file_is_told_apart() {
    let fixture = Fixture::repository();
    fixture.write("new", "x");
    assert_eq!(
        deleted(&fixture, &["tool.sh", "new", "gone"]),
        ["deletes tool.sh (10 B); in git, unchanged since the last commit", "deletes new (1 B); not in git"],
    );
    fixture.write("tool.sh", "#!/bin/bash\n");
    let written = effect(&fixture, Effect::Write, vec![Value::text("tool.sh"), Value::text("brand-new")]);
    assert_eq!(lines(&fixture, written), ["replaces tool.sh (12 B); in git, with changes that are in no commit"]);
}

#[test]
fn many_targets_are_told_together_and_a_live_glob_is_matched_against_what_is_there() {
    let fixture = Fixture::repository();
    for name in ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt", ".hidden.txt", "star*.txt", "other"] {
        fixture.write(name, "12");
    }
    let glob = Value::of(vec![Piece::Glob("*".into()), Piece::Text(".txt".into())]);
    let expected = "deletes a.txt, b.txt, c.txt, d.txt, e.txt and 2 more: 7 files, 14 B; 7 not in git";
    assert_eq!(lines(&fixture, effect(&fixture, Effect::Delete, vec![glob])), [expected]);
    let literal = Value::of(vec![Piece::Text("star*".into()), Piece::Glob("*".into())]);
    assert_eq!(
        lines(&fixture, effect(&fixture, Effect::Delete, vec![literal])),
        ["deletes star*.txt (2 B); not in git"]
    );
}

#[test]
fn what_is_unknown_missing_remote_or_not_flagged_is_not_guessed_at() {
    let fixture = Fixture::repository();
    let unknown = Unknown { why: UnknownReason::CommandOutput, taint: Taint::default() };
    let unknown = Value::of(vec![Piece::Unknown(unknown)]);
    let delete = |value: Value| effect(&fixture, Effect::Delete, vec![value]);
    assert_eq!(lines(&fixture, delete(unknown)), [""; 0]);
    assert_eq!(lines(&fixture, delete(Value::text("gone"))), [""; 0]);
    assert_eq!(lines(&fixture, Act { cwd: None, ..delete(Value::text("src")) }), [""; 0]);
    let none = evidence::gather(&fixture.world(), &[delete(Value::text("src"))], &[], PATIENCE);
    assert_eq!(none, Evidence::default());
}

#[test]
fn a_link_is_deleted_as_a_link_and_written_through() {
    let fixture = Fixture::repository();
    symlink("src/main.rs", fixture.path("link")).unwrap();
    let target = fixture.text("src/main.rs");
    assert_eq!(deleted(&fixture, &["link"]), [format!("deletes link, a link to {target}")]);
    let written = lines(&fixture, effect(&fixture, Effect::Write, vec![Value::text("link")]));
    assert_eq!(written, ["replaces link (13 B); in git, unchanged since the last commit"]);
}

#[test]
fn repositories_inside_are_named_and_their_files_are_asked_of_them() {
    let fixture = Fixture::repository();
    std::fs::create_dir_all(fixture.path("target/clone")).unwrap();
    fixture.git_in("target/clone", &["init", "-q"]);
    let evidence = gather(&fixture, effect(&fixture, Effect::Delete, vec![Value::text("target")]));
    assert!(evidence.lines[0].ends_with("holds 1 git repository"), "{evidence:?}");
}

#[test]
fn a_directory_too_large_to_count_says_so() {
    let fixture = Fixture::repository();
    for number in 0..5_100 {
        fixture.write(&format!("many/{number}"), "");
    }
    let evidence = gather(&fixture, effect(&fixture, Effect::Delete, vec![Value::text("many")]));
    assert!(evidence.truncated);
    assert!(evidence.lines[0].starts_with("deletes many: more than "), "{evidence:?}");
}

#[test]
fn a_hard_reset_names_the_changes_and_counts_the_commits_that_it_drops() {
    let fixture = Fixture::repository();
    fixture.write("two", "x");
    fixture.commit("second");
    fixture.write("src/main.rs", "changed");
    fixture.write("staged", "x");
    fixture.git(&["add", "staged"]);
    fixture.write("untracked", "x");
    assert_eq!(
        lines(&fixture, git(&fixture, "reset --hard HEAD~1")),
        ["loses the uncommitted changes of 2 files: src/main.rs, staged", "HEAD has 1 commit that HEAD~1 has not"],
    );
    fixture.git(&["reset", "-q", "--hard"]);
    assert_eq!(lines(&fixture, git(&fixture, "reset --hard")), ["no tracked file has uncommitted changes there"]);
    assert_eq!(lines(&fixture, git(&fixture, "reset --soft HEAD~1")), [""; 0]);
}

#[test]
fn checkout_and_restore_speak_of_the_named_paths_only() {
    let fixture = Fixture::repository();
    fixture.write("src/main.rs", "changed");
    fixture.write("tool.sh", "changed");
    let one = ["loses the uncommitted changes of 1 file: src/main.rs"];
    for line in ["checkout -- src", "checkout src/main.rs", "restore src", "restore --staged --worktree src/main.rs"] {
        assert_eq!(lines(&fixture, git(&fixture, line)), one, "{line}");
    }
    let both = ["loses the uncommitted changes of 2 files: src/main.rs, tool.sh"];
    for line in ["checkout .", "checkout --force main", "restore ."] {
        assert_eq!(lines(&fixture, git(&fixture, line)), both, "{line}");
    }
    for line in ["checkout main", "restore --staged ."] {
        assert_eq!(lines(&fixture, git(&fixture, line)), [""; 0], "{line}");
    }
}

#[test]
fn clean_names_what_it_would_delete() {
    let fixture = Fixture::repository();
    fixture.write("new", "12");
    fixture.write("made/new", "345");
    fixture.write("x.log", "6");
    fixture.write("target/o", "78");
    let says = |line: &str| lines(&fixture, git(&fixture, line));
    assert_eq!(says("clean -f"), ["deletes 1 file that no commit has, 2 B: new"]);
    assert_eq!(says("clean -f -d"), ["deletes 2 files that no commit has, 5 B: made/new, new"]);
    assert_eq!(says("clean -f -d -x"), ["deletes 4 files that no commit has, 8 B: made/new, new, target/o, x.log"]);
    assert_eq!(says("clean -f -d -X"), ["deletes 2 files that no commit has, 3 B: target/o, x.log"]);
    assert_eq!(says("clean -f src"), [""; 0]);
    let dry = Act { dry_run: true, ..git(&fixture, "clean -n") };
    assert_eq!(lines(&fixture, dry), [""; 0]);
}

#[test]
fn a_forced_push_counts_what_the_other_side_has() {
    let fixture = Fixture::clone();
    fixture.git_in("../upstream", &["checkout", "-q", "-b", "elsewhere"]);
    fixture.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    fixture.write("one", "x");
    fixture.commit("one");
    fixture.write("two", "x");
    fixture.commit("two");
    fixture.git(&["push", "-q"]);
    fixture.git(&["reset", "-q", "--hard", "HEAD~2"]);
    fixture.write("mine", "x");
    fixture.commit("mine");
    let expected = ["origin/main has 2 commits that main has not, as of the last fetch"];
    for line in ["push --force", "push -f origin main", "push origin +main", "push --force-with-lease origin main:main"]
    {
        assert_eq!(lines(&fixture, git(&fixture, line)), expected, "{line}");
    }
    assert_eq!(
        lines(&fixture, git(&fixture, "push origin :main")),
        ["origin/main has 2 commits that HEAD has not, as of the last fetch"],
    );
    assert_eq!(lines(&fixture, git(&fixture, "push origin main")), [""; 0]);
}

#[test]
fn commits_of_a_clock_that_is_late_are_counted_right() {
    let fixture = Fixture::clone();
    for commit in ["one", "two"] {
        fixture.git(&["commit", "-q", "--allow-empty", "-m", commit]);
    }
    fixture.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
    fixture.git(&["commit", "-q", "--allow-empty", "--date", "2001-01-01T00:00:00Z", "-m", "late"]);
    fixture.git(&["rebase", "-q", "--force-rebase", "--keep-empty", "--committer-date-is-author-date", "HEAD~1"]);
    let expected = ["origin/main has 1 commit that main has not, as of the last fetch"];
    assert_eq!(lines(&fixture, git(&fixture, "push --force origin main")), expected);
}

#[test]
fn commits_are_counted_right_whatever_their_clocks_said() {
    const COMMITS: usize = 40;
    let fixture = Fixture::clone();
    // A random history: each commit has one or two earlier commits as parents, and a random time of day.
    let mut number = 7_u64;
    let mut below = |end: usize| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(number >> 33).unwrap() % end
    };
    let mut history = String::new();
    // The commits that each commit reaches, including itself.
    let mut reached: Vec<BTreeSet<usize>> = vec![BTreeSet::new()];
    for commit in 1..=COMMITS {
        let mut reaches = BTreeSet::from([commit]);
        let time = 1_700_000_000 + below(80_000);
        let head = format!("commit refs/heads/c{commit}\nmark :{commit}\ncommitter A <a@b> {time} +0000\ndata 0\n");
        history.push_str(&head);
        if commit > 1 {
            let parent = commit - 1 - below(4.min(commit - 1));
            let other = 1 + below(commit - 1);
            let merged = other != parent && below(3) == 0;
            for (word, parent) in [("from", Some(parent)), ("merge", merged.then_some(other))] {
                if let Some(parent) = parent {
                    history.push_str(&format!("{word} :{parent}\n"));
                    reaches.extend(&reached[parent]);
                }
            }
        }
        history.push_str(&format!("\nreset refs/remotes/origin/c{commit}\nfrom :{commit}\n\n"));
        reached.push(reaches);
    }
    let mut import = Command::new("git");
    import.args(["fast-import", "--quiet"]).current_dir(fixture.path("")).stdin(Stdio::piped());
    let mut import = import.spawn().unwrap();
    import.stdin.take().unwrap().write_all(history.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    for _ in 0..100 {
        let (from, to) = (1 + below(COMMITS), 1 + below(COMMITS));
        let said = lines(&fixture, git(&fixture, &format!("push --force origin c{to}:c{from}")));
        let many = match reached[from].difference(&reached[to]).count() {
            0 => "no commit".to_owned(),
            1 => "1 commit".to_owned(),
            count => format!("{count} commits"),
        };
        assert_eq!(said, [format!("origin/c{from} has {many} that c{to} has not, as of the last fetch")]);
    }
}

#[test]
fn deleting_a_branch_says_whether_its_commits_are_elsewhere() {
    let fixture = Fixture::repository();
    fixture.git(&["checkout", "-q", "-b", "topic"]);
    fixture.write("one", "x");
    fixture.commit("one");
    fixture.git(&["checkout", "-q", "main"]);
    assert_eq!(lines(&fixture, git(&fixture, "branch -D topic")), ["topic has 1 commit that HEAD has not"]);
    fixture.git(&["merge", "-q", "topic"]);
    assert_eq!(lines(&fixture, git(&fixture, "branch -D topic")), ["topic has no commit that HEAD has not"]);
}

#[test]
fn stashes_are_counted() {
    let fixture = Fixture::repository();
    for number in ["1", "2"] {
        fixture.write("tool.sh", number);
        fixture.git(&["stash", "-q"]);
    }
    assert_eq!(lines(&fixture, git(&fixture, "stash clear")), ["drops 2 stashes"]);
    assert_eq!(lines(&fixture, git(&fixture, "stash drop")), ["drops one of 2 stashes"]);
}

#[test]
fn names_in_evidence_cannot_steer_a_terminal() {
    let fixture = Fixture::repository();
    fixture.write("new\u{1b}[2J\u{202e}", "");
    let line = gather(&fixture, git(&fixture, "clean -f")).lines.remove(0);
    assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
}

#[test]
fn without_time_nothing_is_looked_at_and_that_is_said() {
    let fixture = Fixture::repository();
    let delete = effect(&fixture, Effect::Delete, vec![Value::text("src")]);
    let evidence = evidence::gather(&fixture.world(), &[delete], &[finding(0)], Duration::ZERO);
    assert_eq!((evidence.lines.len(), evidence.truncated), (0, true));
}
