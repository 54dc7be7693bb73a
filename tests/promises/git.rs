//! What git says of a path: tracked, clean, ignored.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use crate::scene::{Scene, fifo};

mod tracked {
    use super::*;

    #[test]
    fn a_committed_unchanged_file_is_tracked_and_clean() {
        let scene = Scene::repository();
        for name in ["src/main.rs", "tool.sh", ".gitignore"] {
            let facts = scene.facts(name);
            assert!(facts.tracked && facts.clean && !facts.ignored, "{name}: {facts:?}");
            assert_eq!(facts.root, Some(scene.text("")));
        }
        let dir = scene.facts("src");
        assert!(!dir.tracked && !dir.clean && dir.holds_tracked && !dir.holds_repository, "{dir:?}");
        assert!(!scene.facts("sr").holds_tracked);
    }

    #[test]
    fn a_change_of_content_mode_or_kind_is_not_clean() {
        let scene = Scene::repository();
        scene.write("src/main.rs", "fn main() { }");
        assert!(!scene.facts("src/main.rs").clean);
        std::fs::set_permissions(scene.path("tool.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!scene.facts("tool.sh").clean);
        std::fs::remove_file(scene.path("tool.sh")).unwrap();
        let gone = scene.facts("tool.sh");
        assert!(gone.tracked && !gone.clean);
        symlink(".gitignore", scene.path("tool.sh")).unwrap();
        assert!(!scene.facts("tool.sh").clean);
    }

    #[test]
    fn a_change_that_keeps_size_and_times_is_seen() {
        let scene = Scene::repository();
        let path = scene.path("src/main.rs");
        let times = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "fn niam() {}\n").unwrap();
        std::fs::File::open(&path).unwrap().set_modified(times).unwrap();
        assert!(!scene.facts("src/main.rs").clean);
    }

    #[test]
    fn what_is_staged_but_not_committed_is_not_clean() {
        let scene = Scene::repository();
        scene.write("src/main.rs", "fn main() { 1; }\n");
        scene.write("new.rs", "");
        scene.git(&["add", "-A"]);
        for name in ["src/main.rs", "new.rs"] {
            let facts = scene.facts(name);
            assert!(facts.tracked && !facts.clean, "{name}: {facts:?}");
        }
        // Staged, then put back as it was: the index differs from HEAD, and its content would be lost.
        scene.write("src/main.rs", "fn main() {}\n");
        assert!(!scene.facts("src/main.rs").clean);
    }

    #[test]
    fn before_the_first_commit_nothing_is_clean() {
        let scene = Scene::new();
        scene.git(&["init", "-q"]);
        scene.write("file", "x");
        assert!(!scene.facts("file").tracked);
        scene.git(&["add", "file"]);
        let facts = scene.facts("file");
        assert!(facts.tracked && !facts.clean);
    }

    #[test]
    fn a_committed_link_is_clean_while_it_leads_to_the_same_place() {
        let scene = Scene::repository();
        symlink("src/main.rs", scene.path("link")).unwrap();
        scene.commit("link");
        assert!(scene.facts("link").clean);
        std::fs::remove_file(scene.path("link")).unwrap();
        symlink("src/main.rS", scene.path("link")).unwrap();
        assert!(!scene.facts("link").clean);
    }

    #[test]
    fn a_path_through_a_link_is_the_path_that_it_leads_to() {
        let scene = Scene::repository();
        symlink("src", scene.path("alias")).unwrap();
        assert!(scene.facts("alias/main.rs").clean);
        assert!(!scene.facts("alias").tracked);
    }

    #[test]
    fn a_conflict_is_tracked_and_never_clean() {
        let scene = Scene::repository();
        scene.git(&["checkout", "-q", "-b", "other"]);
        scene.write("src/main.rs", "other\n");
        scene.commit("other");
        scene.git(&["checkout", "-q", "main"]);
        scene.write("src/main.rs", "mine\n");
        scene.commit("mine");
        let merge = Command::new("git").args(["merge", "other"]).current_dir(scene.path("")).output().unwrap();
        assert!(!merge.status.success());
        let facts = scene.facts("src/main.rs");
        assert!(facts.tracked && !facts.clean, "{facts:?}");
    }

    #[test]
    fn packed_objects_packed_references_and_every_index_version_are_read() {
        for version in ["2", "3", "4"] {
            let scene = Scene::repository();
            scene.write("src/many/lib.rs", "pub fn f() {}\n");
            scene.commit("second");
            scene.git(&["gc", "-q", "--aggressive", "--prune=now"]);
            scene.git(&["pack-refs", "--all"]);
            scene.git(&["update-index", "--index-version", version]);
            assert!(scene.facts("src/main.rs").clean, "version {version}");
            assert!(scene.facts("src/many/lib.rs").clean, "version {version}");
            assert_eq!(scene.about("src").and_then(|facts| facts.branch).as_deref(), Some("main"));
        }
    }

    #[test]
    fn a_split_index_is_read_whole() {
        let scene = Scene::repository();
        scene.git(&["update-index", "--split-index"]);
        scene.write("later", "x");
        scene.commit("later");
        assert!(scene.facts("src/main.rs").clean);
        assert!(scene.facts("later").clean);
    }

    #[test]
    fn a_directory_left_out_by_a_sparse_index_still_holds_tracked_files() {
        let scene = Scene::repository();
        scene.write("far/away/file", "x");
        scene.commit("far");
        scene.git(&["sparse-checkout", "init", "--cone", "--sparse-index"]);
        scene.git(&["sparse-checkout", "set", "src"]);
        assert!(scene.facts("src/main.rs").clean);
        let far = scene.facts("far/away");
        assert!(far.holds_tracked && !far.ignored, "{far:?}");
    }

    #[test]
    fn an_object_that_was_lost_makes_no_file_clean() {
        let scene = Scene::repository();
        let hash =
            Command::new("git").args(["rev-parse", "HEAD:tool.sh"]).current_dir(scene.path("")).output().unwrap();
        let hash = String::from_utf8(hash.stdout).unwrap();
        std::fs::remove_file(scene.path(&format!(".git/objects/{}/{}", &hash[..2], hash[2..].trim()))).unwrap();
        let facts = scene.facts("tool.sh");
        assert!(facts.tracked && !facts.clean, "{facts:?}");
    }
}

mod ignored {
    use super::*;

    #[test]
    fn a_committed_ignore_file_ignores() {
        let scene = Scene::repository();
        scene.write("target/debug/x.o", "");
        scene.write("a.log", "");
        scene.write("keep.log", "");
        scene.write("src/b.log", "");
        for name in ["target", "target/debug", "target/debug/x.o", "a.log", "src/b.log", "gone.log"] {
            assert!(scene.facts(name).ignored, "{name}");
        }
        for name in ["keep.log", "src", "src/main.rs", "", "targets"] {
            assert!(!scene.facts(name).ignored, "{name}");
        }
        assert!(!scene.facts("target/debug").holds_repository);
    }

    #[test]
    fn an_ignore_file_that_is_not_committed_or_was_changed_does_not_count() {
        let scene = Scene::repository();
        scene.write("work/.gitignore", "*\n");
        scene.write("work/thesis.tex", "x");
        assert!(!scene.facts("work/thesis.tex").ignored);
        scene.git(&["add", "-f", "work/.gitignore"]);
        assert!(!scene.facts("work/thesis.tex").ignored, "staged only");
        scene.git(&["commit", "-q", "-m", "ignore"]);
        assert!(scene.facts("work/thesis.tex").ignored);
        scene.write(".gitignore", "target/\n*.log\nsrc/\n");
        scene.write("target/x", "");
        assert!(!scene.facts("target").ignored, "changed since");
    }

    #[test]
    fn what_only_the_user_or_the_clone_ignores_is_not_ignored() {
        let scene = Scene::repository();
        scene.write(".git/info/exclude", "/mine\n");
        std::fs::write(scene.top().join("home/ignore"), "/also-mine\n").unwrap();
        scene.git(&["config", "core.excludesFile", &format!("{}/ignore", scene.home())]);
        assert!(!scene.facts("mine").ignored);
        assert!(!scene.facts("also-mine").ignored);
    }

    #[test]
    fn an_uncommitted_ignore_file_can_take_back_what_a_committed_one_ignores() {
        let scene = Scene::repository();
        scene.write("src/.gitignore", "!*.log\n");
        assert!(!scene.facts("src/a.log").ignored);
        assert!(scene.facts("a.log").ignored);
    }

    #[test]
    fn tracked_files_in_an_ignored_place_are_not_ignored() {
        let scene = Scene::repository();
        scene.write("target/kept", "x");
        scene.git(&["add", "-f", "target/kept"]);
        scene.git(&["commit", "-q", "-m", "kept"]);
        scene.write("target/made", "x");
        let (dir, kept) = (scene.facts("target"), scene.facts("target/kept"));
        assert!(!dir.ignored && dir.holds_tracked, "{dir:?}");
        assert!(!kept.ignored && kept.clean, "{kept:?}");
        assert!(scene.facts("target/made").ignored);
    }

    #[test]
    fn answers_agree_with_git_check_ignore() {
        let scene = Scene::repository();
        scene.write(
            ".gitignore",
            "/only-top\n**/deep/*.tmp\nbuild/\n!build/\ndist/*\n!dist/keep\n\\#odd\nfo[ox]\nsp\\ \n",
        );
        scene.write("sub/.gitignore", "/here\n*.gen\n!special.gen\n");
        scene.commit("ignore files");
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
            let git = Command::new("git").args(["check-ignore", "-q", "--", name]).current_dir(scene.path("")).status();
            assert_eq!(scene.facts(name).ignored, git.unwrap().success(), "{name:?}");
        }
    }

    #[test]
    fn an_ignore_file_that_is_a_fifo_or_a_link_does_not_count() {
        let scene = Scene::repository();
        fifo(&scene.path("src/.gitignore"));
        assert_eq!(scene.try_facts("src/x.log"), None);
        std::fs::remove_file(scene.path("src/.gitignore")).unwrap();
        scene.write("patterns", "*\n");
        symlink("../patterns", scene.path("src/.gitignore")).unwrap();
        assert!(!scene.facts("src/x").ignored);
    }
}
