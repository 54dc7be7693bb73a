//! Tests the facts that guard reads from git about a path: tracked, clean, ignored.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::fixture::{Fixture, fifo};

mod tracked {
    use super::*;

    #[test]
    fn a_committed_unchanged_file_is_tracked_and_clean() {
        let fixture = Fixture::repository();
        for name in ["src/main.rs", "tool.sh", ".gitignore"] {
            let facts = fixture.facts(name);
            assert!(facts.tracked && facts.clean && !facts.ignored, "{name}: {facts:?}");
            assert_eq!(facts.root, Some(fixture.text("")));
        }
        let dir = fixture.facts("src");
        assert!(!dir.tracked && !dir.clean && dir.holds_tracked && !dir.holds_repository, "{dir:?}");
        assert!(!fixture.facts("sr").holds_tracked);
    }

    #[test]
    fn a_change_of_content_mode_or_kind_is_not_clean() {
        let fixture = Fixture::repository();
        fixture.write("src/main.rs", "fn main() { }");
        assert!(!fixture.facts("src/main.rs").clean);
        std::fs::set_permissions(fixture.path("tool.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!fixture.facts("tool.sh").clean);
        std::fs::remove_file(fixture.path("tool.sh")).unwrap();
        let gone = fixture.facts("tool.sh");
        assert!(gone.tracked && !gone.clean);
        symlink(".gitignore", fixture.path("tool.sh")).unwrap();
        assert!(!fixture.facts("tool.sh").clean);
    }

    #[test]
    fn a_change_that_keeps_size_and_times_is_seen() {
        let fixture = Fixture::repository();
        let path = fixture.path("src/main.rs");
        let times = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "fn niam() {}\n").unwrap();
        std::fs::File::open(&path).unwrap().set_modified(times).unwrap();
        assert!(!fixture.facts("src/main.rs").clean);
    }

    #[test]
    fn what_is_staged_but_not_committed_is_not_clean() {
        let fixture = Fixture::repository();
        fixture.write("src/main.rs", "fn main() { 1; }\n");
        fixture.write("new.rs", "");
        fixture.git(&["add", "-A"]);
        for name in ["src/main.rs", "new.rs"] {
            let facts = fixture.facts(name);
            assert!(facts.tracked && !facts.clean, "{name}: {facts:?}");
        }
        // The staged change was reverted in the work tree, so the index differs from HEAD and its content would be
        // lost.
        fixture.write("src/main.rs", "fn main() {}\n");
        assert!(!fixture.facts("src/main.rs").clean);
    }

    #[test]
    fn before_the_first_commit_nothing_is_clean() {
        let fixture = Fixture::new();
        fixture.git(&["init", "-q"]);
        fixture.write("file", "x");
        assert!(!fixture.facts("file").tracked);
        fixture.git(&["add", "file"]);
        let facts = fixture.facts("file");
        assert!(facts.tracked && !facts.clean);
    }

    #[test]
    fn a_committed_link_is_clean_while_it_leads_to_the_same_place() {
        let fixture = Fixture::repository();
        symlink("src/main.rs", fixture.path("link")).unwrap();
        fixture.commit("link");
        assert!(fixture.facts("link").clean);
        std::fs::remove_file(fixture.path("link")).unwrap();
        symlink("src/main.rS", fixture.path("link")).unwrap();
        assert!(!fixture.facts("link").clean);
    }

    #[test]
    fn a_path_through_a_link_is_the_path_that_it_leads_to() {
        let fixture = Fixture::repository();
        symlink("src", fixture.path("alias")).unwrap();
        assert!(fixture.facts("alias/main.rs").clean);
        assert!(!fixture.facts("alias").tracked);
    }

    #[test]
    fn a_conflict_is_tracked_and_never_clean() {
        let fixture = Fixture::repository();
        fixture.git(&["checkout", "-q", "-b", "other"]);
        fixture.write("src/main.rs", "other\n");
        fixture.commit("other");
        fixture.git(&["checkout", "-q", "main"]);
        fixture.write("src/main.rs", "mine\n");
        fixture.commit("mine");
        let merge = Command::new("git").args(["merge", "other"]).current_dir(fixture.path("")).output().unwrap();
        assert!(!merge.status.success());
        let facts = fixture.facts("src/main.rs");
        assert!(facts.tracked && !facts.clean, "{facts:?}");
    }

    #[test]
    fn packed_objects_packed_references_and_every_index_version_are_read() {
        for version in ["2", "3", "4"] {
            let fixture = Fixture::repository();
            fixture.write("src/many/lib.rs", "pub fn f() {}\n");
            fixture.commit("second");
            fixture.git(&["gc", "-q", "--aggressive", "--prune=now"]);
            fixture.git(&["pack-refs", "--all"]);
            fixture.git(&["update-index", "--index-version", version]);
            assert!(fixture.facts("src/main.rs").clean, "version {version}");
            assert!(fixture.facts("src/many/lib.rs").clean, "version {version}");
            assert_eq!(fixture.about("src").and_then(|facts| facts.branch).as_deref(), Some("main"));
        }
    }

    #[test]
    fn a_split_index_is_read_whole() {
        let fixture = Fixture::repository();
        fixture.git(&["update-index", "--split-index"]);
        fixture.write("later", "x");
        fixture.commit("later");
        assert!(fixture.facts("src/main.rs").clean);
        assert!(fixture.facts("later").clean);
    }

    #[test]
    fn a_directory_left_out_by_a_sparse_index_still_holds_tracked_files() {
        let fixture = Fixture::repository();
        fixture.write("far/away/file", "x");
        fixture.commit("far");
        fixture.git(&["sparse-checkout", "init", "--cone", "--sparse-index"]);
        fixture.git(&["sparse-checkout", "set", "src"]);
        assert!(fixture.facts("src/main.rs").clean);
        let far = fixture.facts("far/away");
        assert!(far.holds_tracked && !far.ignored, "{far:?}");
    }

    #[test]
    fn an_object_that_was_lost_makes_no_file_clean() {
        let fixture = Fixture::repository();
        let hash =
            Command::new("git").args(["rev-parse", "HEAD:tool.sh"]).current_dir(fixture.path("")).output().unwrap();
        let hash = String::from_utf8(hash.stdout).unwrap();
        std::fs::remove_file(fixture.path(&format!(".git/objects/{}/{}", &hash[..2], hash[2..].trim()))).unwrap();
        let facts = fixture.facts("tool.sh");
        assert!(facts.tracked && !facts.clean, "{facts:?}");
    }
}

mod ignored {
    use super::*;

    #[test]
    fn a_committed_ignore_file_ignores() {
        let fixture = Fixture::repository();
        fixture.write("target/debug/x.o", "");
        fixture.write("a.log", "");
        fixture.write("keep.log", "");
        fixture.write("src/b.log", "");
        for name in ["target", "target/debug", "target/debug/x.o", "a.log", "src/b.log", "gone.log"] {
            assert!(fixture.facts(name).ignored, "{name}");
        }
        for name in ["keep.log", "src", "src/main.rs", "", "targets"] {
            assert!(!fixture.facts(name).ignored, "{name}");
        }
        assert!(!fixture.facts("target/debug").holds_repository);
    }

    #[test]
    fn an_ignore_file_that_is_not_committed_or_was_changed_does_not_count() {
        let fixture = Fixture::repository();
        fixture.write("work/.gitignore", "*\n");
        fixture.write("work/thesis.tex", "x");
        assert!(!fixture.facts("work/thesis.tex").ignored);
        fixture.git(&["add", "-f", "work/.gitignore"]);
        assert!(!fixture.facts("work/thesis.tex").ignored, "staged only");
        fixture.git(&["commit", "-q", "-m", "ignore"]);
        assert!(fixture.facts("work/thesis.tex").ignored);
        fixture.write(".gitignore", "target/\n*.log\nsrc/\n");
        fixture.write("target/x", "");
        assert!(!fixture.facts("target").ignored, "changed since");
    }

    #[test]
    fn what_only_the_user_or_the_clone_ignores_is_not_ignored() {
        let fixture = Fixture::repository();
        fixture.write(".git/info/exclude", "/mine\n");
        std::fs::write(fixture.top().join("home/ignore"), "/also-mine\n").unwrap();
        fixture.git(&["config", "core.excludesFile", &format!("{}/ignore", fixture.home())]);
        assert!(!fixture.facts("mine").ignored);
        assert!(!fixture.facts("also-mine").ignored);
    }

    #[test]
    fn an_uncommitted_ignore_file_can_take_back_what_a_committed_one_ignores() {
        let fixture = Fixture::repository();
        fixture.write("src/.gitignore", "!*.log\n");
        assert!(!fixture.facts("src/a.log").ignored);
        assert!(fixture.facts("a.log").ignored);
    }

    #[test]
    fn tracked_files_in_an_ignored_place_are_not_ignored() {
        let fixture = Fixture::repository();
        fixture.write("target/kept", "x");
        fixture.git(&["add", "-f", "target/kept"]);
        fixture.git(&["commit", "-q", "-m", "kept"]);
        fixture.write("target/made", "x");
        let (dir, kept) = (fixture.facts("target"), fixture.facts("target/kept"));
        assert!(!dir.ignored && dir.holds_tracked, "{dir:?}");
        assert!(!kept.ignored && kept.clean, "{kept:?}");
        assert!(fixture.facts("target/made").ignored);
    }

    #[test]
    fn answers_agree_with_git_check_ignore() {
        let fixture = Fixture::repository();
        fixture.write(
            ".gitignore",
            "/only-top\n**/deep/*.tmp\nbuild/\n!build/\ndist/*\n!dist/keep\n\\#odd\nfo[ox]\nsp\\ \n",
        );
        fixture.write("sub/.gitignore", "/here\n*.gen\n!special.gen\n");
        fixture.commit("ignore files");
        let names = [
            "only-top",
            "sub/only-top",
            "a/deep/x.tmp",
            "deep/x.tmp",
            "x.tmp",
            "build",
            "build/x",
            "dist/x",
            "dist/keep",
            "#odd",
            "foo",
            "fox",
            "fob",
            "sub/here",
            "here",
            "sub/a/here",
            "sub/a.gen",
            "sub/special.gen",
            "sub/x/y.gen",
            "a.gen",
            "sp ",
            "dist",
        ];
        for name in names {
            let git =
                Command::new("git").args(["check-ignore", "-q", "--", name]).current_dir(fixture.path("")).status();
            assert_eq!(fixture.facts(name).ignored, git.unwrap().success(), "{name:?}");
        }
    }

    #[test]
    fn an_ignore_file_that_is_a_fifo_or_a_link_does_not_count() {
        let fixture = Fixture::repository();
        fifo(&fixture.path("src/.gitignore"));
        assert_eq!(fixture.try_facts("src/x.log"), None);
        std::fs::remove_file(fixture.path("src/.gitignore")).unwrap();
        fixture.write("patterns", "*\n");
        symlink("../patterns", fixture.path("src/.gitignore")).unwrap();
        assert!(!fixture.facts("src/x").ignored);
    }
}
