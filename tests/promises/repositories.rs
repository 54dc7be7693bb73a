//! Tests the facts about repositories, and that guard runs nothing from them.

use std::os::unix::fs::PermissionsExt;

use guard::judge::analysis::question::{GitFacts, Question, WorldAnswer};

use crate::fixture::{Fixture, fifo};

#[test]
fn a_directory_with_a_repository_somewhere_in_it_is_known_as_such() {
    let fixture = Fixture::repository();
    fixture.write("target/deep/er/x", "");
    assert!(!fixture.facts("target").holds_repository);
    std::fs::create_dir_all(fixture.path("target/deep/er/clone")).unwrap();
    fixture.git_in("target/deep/er/clone", &["init", "-q"]);
    let facts = fixture.facts("target");
    assert!(facts.ignored && facts.holds_repository, "{facts:?}");
    assert!(fixture.facts("").holds_repository);
    assert!(fixture.facts(".git").holds_repository);
    assert!(fixture.facts(".git/refs").holds_repository);
}

#[test]
fn a_bare_repository_and_a_work_tree_count_as_repositories() {
    let fixture = Fixture::repository();
    std::fs::create_dir_all(fixture.path("target/backup")).unwrap();
    fixture.git_in("target/backup", &["init", "-q", "--bare"]);
    assert!(fixture.facts("target").holds_repository);
    std::fs::remove_dir_all(fixture.path("target")).unwrap();
    fixture.git(&["worktree", "add", "-q", "target/tree", "-b", "side"]);
    assert!(fixture.facts("target").holds_repository);
}

#[test]
fn a_directory_too_large_to_look_through_counts_as_holding_one() {
    let fixture = Fixture::repository();
    for number in 0..5_100 {
        fixture.write(&format!("many/{}/{number}", number % 10), "");
    }
    assert!(fixture.facts("many").holds_repository);
    std::fs::rename(fixture.path("many"), fixture.path("target")).unwrap();
    assert!(!fixture.facts("target").holds_repository, "what is ignored is looked through further");
}

#[test]
fn a_directory_that_may_not_be_read_counts_as_holding_one() {
    if nix::unistd::geteuid().is_root() {
        return;
    }
    let fixture = Fixture::repository();
    std::fs::create_dir_all(fixture.path("target/closed")).unwrap();
    std::fs::set_permissions(fixture.path("target/closed"), std::fs::Permissions::from_mode(0o000)).unwrap();
    assert!(fixture.facts("target").holds_repository);
    std::fs::set_permissions(fixture.path("target/closed"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_path_in_no_repository_has_no_root() {
    let fixture = Fixture::new();
    fixture.write("file", "");
    assert_eq!(fixture.facts("file"), GitFacts::default());
    assert_eq!(fixture.about(""), None);
}

#[test]
fn work_trees_and_submodules_have_their_own_root_index_and_branch() {
    let fixture = Fixture::repository();
    fixture.git(&["worktree", "add", "-q", "../tree", "-b", "side"]);
    fixture.write("../tree/extra", "x");
    let tree = fixture.top().join("tree");
    assert_eq!(fixture.facts("../tree/src/main.rs").root.as_deref(), tree.to_str());
    assert!(fixture.facts("../tree/src/main.rs").clean);
    assert!(!fixture.facts("../tree/extra").tracked);
    let about = fixture.about("../tree").unwrap();
    assert_eq!((about.root.as_str(), about.branch.as_deref()), (tree.to_str().unwrap(), Some("side")));

    let url = fixture.text("");
    fixture.git_in("../tree", &["submodule", "--quiet", "add", &url, "lib"]);
    let inside = fixture.facts("../tree/lib/src/main.rs");
    assert_eq!(inside.root.as_deref(), tree.join("lib").to_str());
    assert!(inside.clean, "{inside:?}");
    assert!(fixture.facts("../tree/lib").holds_repository);
}

#[test]
fn objects_borrowed_from_another_repository_are_found() {
    let fixture = Fixture::repository();
    fixture.git(&["clone", "-q", "--shared", ".", "../borrower"]);
    let borrowed = fixture.facts("../borrower/src/main.rs");
    assert!(borrowed.clean, "{borrowed:?}");
    let alternates = fixture.path("../borrower/.git/objects/info/alternates");
    std::fs::write(&alternates, format!("{}\n", fixture.top().join("gone").display())).unwrap();
    assert_ne!(fixture.try_facts("../borrower/src/main.rs").map(|facts| facts.clean), Some(true));
}

#[test]
fn the_end_of_a_shallow_clone_is_no_end_of_answers() {
    let fixture = Fixture::repository();
    fixture.write("two", "x");
    fixture.commit("second");
    let url = format!("file://{}", fixture.text(""));
    fixture.git(&["clone", "-q", "--depth", "1", &url, "../shallow"]);
    assert!(fixture.facts("../shallow/two").clean);
    fixture.write("../shallow/three", "x");
    fixture.git_in("../shallow", &["add", "-A"]);
    fixture.git_in("../shallow", &["commit", "-q", "-m", "third"]);
    assert_eq!(fixture.about("../shallow").unwrap().pushed, Some(false));
}

#[test]
fn a_repository_of_somebody_else_is_read() {
    let fixture = Fixture::repository();
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    let mut todo = vec![fixture.path("")];
    while let Some(path) = todo.pop() {
        std::os::unix::fs::lchown(&path, Some(12_345), Some(12_345)).unwrap();
        if path.symlink_metadata().unwrap().is_dir() {
            todo.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert!(fixture.facts("src/main.rs").clean);
    assert_eq!(fixture.about("").unwrap().branch.as_deref(), Some("main"));
}

#[test]
fn a_sha256_repository_and_an_unknown_format_are_not_answered() {
    let fixture = Fixture::new();
    fixture.git(&["init", "-q", "--object-format=sha256"]);
    fixture.write("file", "x");
    fixture.commit("first");
    assert_eq!(fixture.try_facts("file"), None);

    let fixture = Fixture::repository();
    fixture.git(&["config", "core.repositoryFormatVersion", "1"]);
    fixture.git(&["config", "extensions.fromTheFuture", "true"]);
    assert_eq!(fixture.try_facts("src/main.rs"), None);
}

#[test]
fn a_repository_made_of_fifos_is_not_waited_for() {
    for name in ["HEAD", "config", "index", "packed-refs", "objects/info/alternates", "objects/pack/pack-1.idx"] {
        let fixture = Fixture::repository();
        if name == "packed-refs" {
            std::fs::remove_file(fixture.path(".git/refs/heads/main")).unwrap();
        }
        let path = fixture.path(".git").join(name);
        let _ = std::fs::remove_file(&path);
        fifo(&path);
        assert_eq!(fixture.try_facts("src/main.rs"), None, "{name}");
    }
}

#[test]
fn a_damaged_repository_is_answered_or_not_but_breaks_nothing() {
    let fixture = Fixture::repository();
    fixture.write("src/lib.rs", &"pub fn f() {}\n".repeat(50));
    fixture.commit("second");
    fixture.git(&["gc", "-q"]);
    fixture.write("src/lib.rs", &"pub fn g() {}\n".repeat(50));
    fixture.commit("third");
    fixture.git(&["config", "alias.x", "log"]);
    for version in ["2", "4"] {
        fixture.git(&["update-index", "--index-version", version]);
        damage(&fixture);
    }
}

/// Damages each file of the fixture's repository in turn, queries the facts, and restores the file.
fn damage(fixture: &Fixture) {
    let mut files = Vec::new();
    let mut todo = vec![fixture.path(".git")];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let skipped = path.ends_with("hooks") || path.ends_with("logs") || path.ends_with("info");
            if path.is_dir() && !skipped {
                todo.push(path);
            } else if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    let rounds: u32 = std::env::var("TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let mut random = 1_u64;
    let mut next = |bound: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).unwrap() % bound.max(1)
    };
    for path in &files {
        let whole = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        for round in 0..rounds {
            let mut bytes = whole.clone();
            match round % 4 {
                0 => bytes.truncate(next(whole.len())),
                1 => bytes.extend_from_slice(&whole[next(whole.len())..]),
                _ => {
                    for _ in 0..=next(4) {
                        let at = next(bytes.len());
                        bytes[at] = [0, 0xff, u8::try_from(next(256)).unwrap()][next(3)];
                    }
                }
            }
            std::fs::write(path, &bytes).unwrap();
            for name in ["src/main.rs", "src/lib.rs", "src", "target", "a.log"] {
                fixture.try_facts(name);
            }
            let _ = fixture.world().answer(&Question::Repository(fixture.text("")));
        }
        let _ = std::fs::remove_file(path);
        std::fs::write(path, &whole).unwrap();
    }
    assert!(fixture.facts("src/lib.rs").clean);
}

#[test]
fn nothing_that_a_repository_configures_is_run() {
    let fixture = Fixture::repository();
    let marker = fixture.top().join("marker");
    let touch = format!("touch {}", marker.display());
    let hook = fixture.path("hooks/any");
    fixture.write("hooks/any", &format!("#!/bin/sh\n{touch}\n"));
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"] {
        std::fs::copy(&hook, fixture.path(".git/hooks").join(name)).unwrap();
    }
    fixture.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    fixture.git(&["add", ".gitattributes"]);
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "core.askPass",
        "credential.helper",
        "uploadpack.packObjectsHook",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "gpg.program",
    ] {
        fixture.git(&["config", key, &touch]);
    }
    fixture.git(&["config", "alias.nuke", &format!("!{touch}")]);
    fixture.git(&["config", "remote.evil.url", &format!("ext::sh -c {touch}")]);
    fixture.git(&["config", "remote.evil.promisor", "true"]);
    fixture.git(&["config", "extensions.partialClone", "evil"]);
    let _ = std::fs::remove_file(&marker);

    for name in ["src/main.rs", "src", "target", "", "gone.log"] {
        fixture.facts(name);
    }
    let about = fixture.about("").unwrap();
    assert_eq!(about.aliases, [("nuke".to_owned(), format!("!{touch}"))]);
    assert!(!marker.exists());
}
mod settings {
    use super::*;

    #[test]
    fn branches_and_remotes_are_known() {
        let fixture = Fixture::clone();
        fixture.git(&["remote", "add", "backup", "https://example.org/backup.git"]);
        fixture.git(&["checkout", "-q", "-b", "topic/one"]);
        let about = fixture.about("src").unwrap();
        assert_eq!(about.root, fixture.text(""));
        assert_eq!(about.branch.as_deref(), Some("topic/one"));
        assert_eq!(about.default_branch.as_deref(), Some("main"));
        let names: Vec<&str> = about.remotes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["origin", "backup"]);
        assert_eq!(about.pushed, None);
        fixture.git(&["checkout", "-q", "--detach"]);
        assert_eq!(fixture.about("").unwrap().branch, None);
    }

    #[test]
    fn where_pushes_go_is_told_as_git_would_rewrite_it() {
        let fixture = Fixture::clone();
        fixture.git(&["remote", "set-url", "origin", "gh:ada/tool"]);
        fixture.git(&["config", "url.https://github.com/.insteadOf", "gh:"]);
        fixture.git(&["config", "remote.origin.pushurl", "https://drop.example/x"]);
        let remotes = fixture.about("").unwrap().remotes;
        let urls: Vec<&str> = remotes.iter().map(|(_, url)| url.as_str()).collect();
        assert_eq!(urls, ["https://github.com/ada/tool", "https://drop.example/x"]);
    }

    #[test]
    fn pushed_says_whether_the_upstream_has_all_of_head() {
        let fixture = Fixture::clone();
        assert_eq!(fixture.about("").unwrap().pushed, Some(true));
        fixture.write("new", "x");
        fixture.commit("not pushed");
        assert_eq!(fixture.about("").unwrap().pushed, Some(false));
        fixture.git(&["push", "-q", "origin", "main:other"]);
        assert_eq!(fixture.about("").unwrap().pushed, Some(false), "pushed, but not to the upstream");
        fixture.git_in("../upstream", &["checkout", "-q", "other"]);
        fixture.git(&["push", "-q", "origin", "main"]);
        assert_eq!(fixture.about("").unwrap().pushed, Some(true));
        fixture.git(&["reset", "-q", "--hard", "HEAD~1"]);
        assert_eq!(fixture.about("").unwrap().pushed, Some(true), "behind the upstream");
    }

    #[test]
    fn aliases_come_from_all_configuration_and_its_includes_and_the_last_one_counts() {
        let fixture = Fixture::clone();
        let home = fixture.top().join("home");
        std::fs::write(
            home.join(".gitconfig"),
            "[alias]\n\tst = status\n\tx = log\n[INCLUDE]\n\tpath = more\n[includeIf \"onbranch:main\"]\n\tpath = ~/branch\n\
             [includeIf \"gitdir:/elsewhere/\"]\n\tpath = elsewhere\n[includeIf \"gitdir:**/project/.git\"]\n\tpath = here\n",
        )
        .unwrap();
        std::fs::write(home.join("more"), "[alias]\n\tmore = push --force\n[include]\n\tpath = .gitconfig-none\n")
            .unwrap();
        std::fs::write(home.join("branch"), "[alias]\n\tbr = branch -D\n").unwrap();
        std::fs::write(home.join("elsewhere"), "[alias]\n\tst = reset --hard\n").unwrap();
        std::fs::write(home.join("here"), "[alias]\n\there = gc\n").unwrap();
        fixture.git(&["config", "alias.X", "!sh -c 'echo $1' -"]);
        let variables =
            [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "alias.env"), ("GIT_CONFIG_VALUE_0", "clean -fdx")];
        let mut aliases = fixture.about_with("", &variables).unwrap().aliases;
        aliases.sort();
        let expected = [
            ("br", "branch -D"),
            ("env", "clean -fdx"),
            ("here", "gc"),
            ("more", "push --force"),
            ("st", "status"),
            ("x", "!sh -c 'echo $1' -"),
        ];
        assert_eq!(aliases, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn configuration_that_includes_itself_is_not_answered() {
        let fixture = Fixture::repository();
        std::fs::write(fixture.top().join("home/.gitconfig"), "[include]\n\tpath = .gitconfig\n".repeat(50)).unwrap();
        let answer = fixture.world().answer(&Question::Repository(fixture.text("")));
        assert_eq!(answer, WorldAnswer::Unavailable);
    }

    #[test]
    fn what_git_hands_to_its_children_is_not_passed_over() {
        let fixture = Fixture::repository();
        let question = Question::Repository(fixture.text(""));
        let harmless = fixture.world_with(&[("GIT_CONFIG_PARAMETERS", "'core.pager'='cat'")]);
        assert!(matches!(harmless.answer(&question), WorldAnswer::Repository(Some(_))));
        for told in ["'alias.st'='reset --hard'", "'Alias.st=reset --hard'"] {
            let world = fixture.world_with(&[("GIT_CONFIG_PARAMETERS", told)]);
            assert_eq!(world.answer(&question), WorldAnswer::Unavailable, "{told}");
        }
        let global = fixture.top().join("global");
        std::fs::write(&global, "[alias]\n\tg = gc\n").unwrap();
        let aliases = fixture.about_with("", &[("GIT_CONFIG_GLOBAL", global.to_str().unwrap())]).unwrap().aliases;
        assert_eq!(aliases, [("g".to_owned(), "gc".to_owned())]);
    }

    #[test]
    fn a_configuration_that_is_switched_off_says_nothing_and_hides_nothing() {
        let fixture = Fixture::repository();
        fixture.git(&["config", "alias.st", "status"]);
        for nothing in ["/dev/null", ""] {
            let settings = [("GIT_CONFIG_GLOBAL", nothing), ("GIT_CONFIG_SYSTEM", nothing)];
            let aliases = fixture.about_with("", &settings).unwrap().aliases;
            assert_eq!(aliases, [("st".to_owned(), "status".to_owned())], "{nothing:?}");
        }
    }

    #[test]
    fn an_environment_that_leads_git_elsewhere_is_not_answered() {
        let fixture = Fixture::repository();
        let elsewhere = fixture.top().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        fixture.git_in("../elsewhere", &["init", "-q"]);
        let question = Question::Repository(fixture.text(""));
        let led = fixture.world_with(&[("GIT_DIR", elsewhere.join(".git").to_str().unwrap())]);
        assert_eq!(led.answer(&question), WorldAnswer::Unavailable);
        let hook = fixture.world_with(&[("GIT_DIR", ".git")]);
        assert!(matches!(hook.answer(&question), WorldAnswer::Repository(Some(_))));
    }
}
