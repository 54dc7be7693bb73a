//! What a person is shown of what a command would cost.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::Duration;

use guard::judge::analysis::act::{
    Act, Flag, Input, Operand, Output, Piece, Source, Taint, Unknown, UnknownReason, Value, Verb,
};
use guard::judge::analysis::effect::Effect;
use guard::judge::risk::{Finding, Reversibility, Tier, Weight};
use guard::judge::syntax::tree::Span;
use guard::world::evidence::{self, Evidence};

use crate::scene::Scene;

/// Long enough that no clock decides a test.
const PATIENCE: Duration = Duration::from_secs(3600);

fn act(scene: &Scene, verb: Verb) -> Act {
    Act {
        verb,
        tier: Tier::Low,
        sub: Vec::new(),
        flags: Vec::new(),
        operands: Vec::new(),
        args: Vec::new(),
        env: Vec::new().into(),
        code: None,
        dry_run: false,
        recursive: true,
        input: Input::default(),
        feeds: Vec::new(),
        output: Output::default(),
        taint: Taint::default(),
        root: false,
        remote: None,
        cwd: Some(scene.text("")),
        targets: Vec::new(),
        wrappers: Vec::new().into(),
        disguise: None,
        parent: None,
        conditional: false,
        source: Source::default(),
        span: Span::new(0, 10),
    }
}

fn operand(value: Value) -> Operand {
    Operand { value, span: Span::new(0, 10) }
}

fn effect(scene: &Scene, effect: Effect, operands: Vec<Value>) -> Act {
    Act { operands: operands.into_iter().map(operand).collect(), ..act(scene, Verb::Effect(effect)) }
}

/// `git SUB FLAGS OPERANDS`, written as on a command line.
fn git(scene: &Scene, line: &str) -> Act {
    let words: Vec<&str> = line.split(' ').collect();
    let subs = if words[0] == "stash" { 2 } else { 1 };
    let flags = words[subs..].iter().filter(|word| word.starts_with('-') && **word != "--");
    let operands = words[subs..].iter().filter(|word| !word.starts_with('-'));
    Act {
        sub: words[..subs].iter().map(|word| (*word).to_owned()).collect(),
        flags: flags.map(|name| Flag { name: (*name).to_owned(), value: None, span: Span::new(0, 10) }).collect(),
        operands: operands.map(|text| operand(Value::text(*text))).collect(),
        args: words.iter().map(|text| Value::text(*text)).collect(),
        ..act(scene, Verb::Program { name: "git".into(), path: None })
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

fn gather(scene: &Scene, act: Act) -> Evidence {
    evidence::gather(&scene.world(), &[act], &[finding(0)], PATIENCE)
}

fn lines(scene: &Scene, act: Act) -> Vec<String> {
    let evidence = gather(scene, act);
    assert!(!evidence.truncated, "{evidence:?}");
    evidence.lines
}

fn deleted(scene: &Scene, names: &[&str]) -> Vec<String> {
    lines(scene, effect(scene, Effect::Delete, names.iter().map(|name| Value::text(*name)).collect()))
}

#[test]
fn a_deleted_directory_is_counted_with_what_git_knows_of_it() {
    let scene = Scene::repository();
    scene.write("src/changed.rs", "one");
    scene.commit("second");
    scene.write("src/changed.rs", "two!");
    scene.write("src/new.rs", "x");
    scene.write("src/noise.log", "yy");
    let expected = "deletes src: 4 files, 20 B; 2 in git, 1 of them with changes that are in no commit; 1 not in git; 1 ignored by git";
    assert_eq!(deleted(&scene, &["src"]), [expected]);
    scene.write("target/debug/a", "xxx");
    assert_eq!(deleted(&scene, &["./target"]), ["deletes target: 1 file, 3 B; ignored by git"]);
}

#[test]
fn a_single_file_is_told_apart() {
    let scene = Scene::repository();
    scene.write("new", "x");
    assert_eq!(
        deleted(&scene, &["tool.sh", "new", "gone"]),
        ["deletes tool.sh (10 B); in git, unchanged since the last commit", "deletes new (1 B); not in git"],
    );
    scene.write("tool.sh", "#!/bin/bash\n");
    let written = effect(&scene, Effect::Write, vec![Value::text("tool.sh"), Value::text("brand-new")]);
    assert_eq!(lines(&scene, written), ["replaces tool.sh (12 B); in git, with changes that are in no commit"]);
}

#[test]
fn many_targets_are_told_together_and_a_live_glob_is_matched_against_what_is_there() {
    let scene = Scene::repository();
    for name in ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt", ".hidden.txt", "star*.txt", "other"] {
        scene.write(name, "12");
    }
    let glob = Value::of(vec![Piece::Glob("*".into()), Piece::Text(".txt".into())]);
    let expected = "deletes a.txt, b.txt, c.txt, d.txt, e.txt and 2 more: 7 files, 14 B; 7 not in git";
    assert_eq!(lines(&scene, effect(&scene, Effect::Delete, vec![glob])), [expected]);
    let literal = Value::of(vec![Piece::Text("star*".into()), Piece::Glob("*".into())]);
    assert_eq!(lines(&scene, effect(&scene, Effect::Delete, vec![literal])), ["deletes star*.txt (2 B); not in git"]);
}

#[test]
fn what_is_unknown_missing_remote_or_not_flagged_is_not_guessed_at() {
    let scene = Scene::repository();
    let unknown = Unknown { why: UnknownReason::CommandOutput, taint: Taint::default() };
    let unknown = Value::of(vec![Piece::Unknown(unknown)]);
    let delete = |value: Value| effect(&scene, Effect::Delete, vec![value]);
    assert_eq!(lines(&scene, delete(unknown)), [""; 0]);
    assert_eq!(lines(&scene, delete(Value::text("gone"))), [""; 0]);
    assert_eq!(lines(&scene, Act { cwd: None, ..delete(Value::text("src")) }), [""; 0]);
    let none = evidence::gather(&scene.world(), &[delete(Value::text("src"))], &[], PATIENCE);
    assert_eq!(none, Evidence::default());
}

#[test]
fn a_link_is_deleted_as_a_link_and_written_through() {
    let scene = Scene::repository();
    symlink("src/main.rs", scene.path("link")).unwrap();
    let target = scene.text("src/main.rs");
    assert_eq!(deleted(&scene, &["link"]), [format!("deletes link, a link to {target}")]);
    let written = lines(&scene, effect(&scene, Effect::Write, vec![Value::text("link")]));
    assert_eq!(written, ["replaces link (13 B); in git, unchanged since the last commit"]);
}

#[test]
fn repositories_inside_are_named_and_their_files_are_asked_of_them() {
    let scene = Scene::repository();
    std::fs::create_dir_all(scene.path("target/clone")).unwrap();
    scene.git_in("target/clone", &["init", "-q"]);
    let evidence = gather(&scene, effect(&scene, Effect::Delete, vec![Value::text("target")]));
    assert!(evidence.lines[0].ends_with("holds 1 git repository"), "{evidence:?}");
}

#[test]
fn a_directory_too_large_to_count_says_so() {
    let scene = Scene::repository();
    for number in 0..5_100 {
        scene.write(&format!("many/{number}"), "");
    }
    let evidence = gather(&scene, effect(&scene, Effect::Delete, vec![Value::text("many")]));
    assert!(evidence.truncated);
    assert!(evidence.lines[0].starts_with("deletes many: more than "), "{evidence:?}");
}

#[test]
fn a_hard_reset_names_the_changes_and_counts_the_commits_that_it_drops() {
    let scene = Scene::repository();
    scene.write("two", "x");
    scene.commit("second");
    scene.write("src/main.rs", "changed");
    scene.write("staged", "x");
    scene.git(&["add", "staged"]);
    scene.write("untracked", "x");
    assert_eq!(
        lines(&scene, git(&scene, "reset --hard HEAD~1")),
        ["loses the uncommitted changes of 2 files: src/main.rs, staged", "HEAD has 1 commit that HEAD~1 has not"],
    );
    scene.git(&["reset", "-q", "--hard"]);
    assert_eq!(lines(&scene, git(&scene, "reset --hard")), ["no tracked file has uncommitted changes there"]);
    assert_eq!(lines(&scene, git(&scene, "reset --soft HEAD~1")), [""; 0]);
}

#[test]
fn checkout_and_restore_speak_of_the_named_paths_only() {
    let scene = Scene::repository();
    scene.write("src/main.rs", "changed");
    scene.write("tool.sh", "changed");
    let one = ["loses the uncommitted changes of 1 file: src/main.rs"];
    for line in ["checkout -- src", "checkout src/main.rs", "restore src", "restore --staged --worktree src/main.rs"] {
        assert_eq!(lines(&scene, git(&scene, line)), one, "{line}");
    }
    let both = ["loses the uncommitted changes of 2 files: src/main.rs, tool.sh"];
    for line in ["checkout .", "checkout --force main", "restore ."] {
        assert_eq!(lines(&scene, git(&scene, line)), both, "{line}");
    }
    for line in ["checkout main", "restore --staged ."] {
        assert_eq!(lines(&scene, git(&scene, line)), [""; 0], "{line}");
    }
}

#[test]
fn clean_names_what_it_would_delete() {
    let scene = Scene::repository();
    scene.write("new", "12");
    scene.write("made/new", "345");
    scene.write("x.log", "6");
    scene.write("target/o", "78");
    let says = |line: &str| lines(&scene, git(&scene, line));
    assert_eq!(says("clean -f"), ["deletes 1 file that no commit has, 2 B: new"]);
    assert_eq!(says("clean -f -d"), ["deletes 2 files that no commit has, 5 B: made/new, new"]);
    assert_eq!(says("clean -f -d -x"), ["deletes 4 files that no commit has, 8 B: made/new, new, target/o, x.log"]);
    assert_eq!(says("clean -f -d -X"), ["deletes 2 files that no commit has, 3 B: target/o, x.log"]);
    assert_eq!(says("clean -f src"), [""; 0]);
    let dry = Act { dry_run: true, ..git(&scene, "clean -n") };
    assert_eq!(lines(&scene, dry), [""; 0]);
}

#[test]
fn a_forced_push_counts_what_the_other_side_has() {
    let scene = Scene::clone();
    scene.git_in("../upstream", &["checkout", "-q", "-b", "elsewhere"]);
    scene.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    scene.write("one", "x");
    scene.commit("one");
    scene.write("two", "x");
    scene.commit("two");
    scene.git(&["push", "-q"]);
    scene.git(&["reset", "-q", "--hard", "HEAD~2"]);
    scene.write("mine", "x");
    scene.commit("mine");
    let expected = ["origin/main has 2 commits that main has not, as of the last fetch"];
    for line in ["push --force", "push -f origin main", "push origin +main", "push --force-with-lease origin main:main"]
    {
        assert_eq!(lines(&scene, git(&scene, line)), expected, "{line}");
    }
    assert_eq!(
        lines(&scene, git(&scene, "push origin :main")),
        ["origin/main has 2 commits that HEAD has not, as of the last fetch"],
    );
    assert_eq!(lines(&scene, git(&scene, "push origin main")), [""; 0]);
}

#[test]
fn commits_of_a_clock_that_is_late_are_counted_right() {
    let scene = Scene::clone();
    for commit in ["one", "two"] {
        scene.git(&["commit", "-q", "--allow-empty", "-m", commit]);
    }
    scene.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    scene.git(&["reset", "-q", "--hard", "HEAD~1"]);
    scene.git(&["commit", "-q", "--allow-empty", "--date", "2001-01-01T00:00:00Z", "-m", "late"]);
    scene.git(&["rebase", "-q", "--force-rebase", "--keep-empty", "--committer-date-is-author-date", "HEAD~1"]);
    let expected = ["origin/main has 1 commit that main has not, as of the last fetch"];
    assert_eq!(lines(&scene, git(&scene, "push --force origin main")), expected);
}

#[test]
fn commits_are_counted_right_whatever_their_clocks_said() {
    const COMMITS: usize = 40;
    let scene = Scene::clone();
    // Any history at all: each commit has one or two of those before it, and any time of a day.
    let mut number = 7_u64;
    let mut below = |end: usize| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(number >> 33).unwrap() % end
    };
    let mut history = String::new();
    // What each of them reaches, itself included.
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
    import.args(["fast-import", "--quiet"]).current_dir(scene.path("")).stdin(Stdio::piped());
    let mut import = import.spawn().unwrap();
    import.stdin.take().unwrap().write_all(history.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    for _ in 0..100 {
        let (from, to) = (1 + below(COMMITS), 1 + below(COMMITS));
        let said = lines(&scene, git(&scene, &format!("push --force origin c{to}:c{from}")));
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
    let scene = Scene::repository();
    scene.git(&["checkout", "-q", "-b", "topic"]);
    scene.write("one", "x");
    scene.commit("one");
    scene.git(&["checkout", "-q", "main"]);
    assert_eq!(lines(&scene, git(&scene, "branch -D topic")), ["topic has 1 commit that HEAD has not"]);
    scene.git(&["merge", "-q", "topic"]);
    assert_eq!(lines(&scene, git(&scene, "branch -D topic")), ["topic has no commit that HEAD has not"]);
}

#[test]
fn stashes_are_counted() {
    let scene = Scene::repository();
    for number in ["1", "2"] {
        scene.write("tool.sh", number);
        scene.git(&["stash", "-q"]);
    }
    assert_eq!(lines(&scene, git(&scene, "stash clear")), ["drops 2 stashes"]);
    assert_eq!(lines(&scene, git(&scene, "stash drop")), ["drops one of 2 stashes"]);
}

#[test]
fn names_in_evidence_cannot_steer_a_terminal() {
    let scene = Scene::repository();
    scene.write("new\u{1b}[2J\u{202e}", "");
    let line = gather(&scene, git(&scene, "clean -f")).lines.remove(0);
    assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line:?}");
}

#[test]
fn without_time_nothing_is_looked_at_and_that_is_said() {
    let scene = Scene::repository();
    let delete = effect(&scene, Effect::Delete, vec![Value::text("src")]);
    let evidence = evidence::gather(&scene.world(), &[delete], &[finding(0)], Duration::ZERO);
    assert_eq!((evidence.lines.len(), evidence.truncated), (0, true));
}
