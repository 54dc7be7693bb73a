//! What the world answers, against real repositories made by real git in temporary folders.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use guard::judge::facts::question::{
    Answer, FileFacts, GitFacts, MAX_FILE, PathFacts, PathKind, Question, RepositoryFacts,
};
use guard::judge::invocation::{Environment, Invocation, Origin, Request, Session};
use guard::world::World;

/// A temporary folder with a home of its own, and git in it.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        std::fs::create_dir_all(folder.path().join("project")).unwrap();
        Self { folder }
    }

    /// A scene whose `project` is a repository with one commit: `src/main.rs`, `tool.sh` (executable), `.gitignore`
    /// that ignores `target/`, `*.log` and, taken back, `keep.log`.
    fn repository() -> Self {
        let scene = Self::new();
        scene.git(&["init", "-q", "-b", "main"]);
        scene.write("src/main.rs", "fn main() {}\n");
        scene.write("tool.sh", "#!/bin/sh\n");
        scene.write(".gitignore", "target/\n*.log\n!keep.log\n");
        std::fs::set_permissions(scene.path("tool.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        scene.commit("first");
        scene
    }

    /// The real path of the folder with everything.
    fn top(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top().join("project").join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().trim_end_matches('/').to_owned()
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        self.git_in("", arguments);
    }

    fn git_in(&self, dir: &str, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(self.path(dir))
            .env_clear()
            .envs([("PATH", std::env::var("PATH").unwrap()), ("HOME", self.home())])
            .envs([("GIT_AUTHOR_NAME", "Ada"), ("GIT_AUTHOR_EMAIL", "ada@example.org")])
            .envs([("GIT_COMMITTER_NAME", "Ada"), ("GIT_COMMITTER_EMAIL", "ada@example.org")])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    fn home(&self) -> String {
        self.top().join("home").to_str().unwrap().to_owned()
    }

    fn world(&self) -> World {
        self.world_with(&[])
    }

    fn world_with(&self, variables: &[(&str, &str)]) -> World {
        let home = self.home();
        let fixed = [("HOME", home.as_str()), ("GIT_CONFIG_NOSYSTEM", "1"), ("PATH", "/usr/bin:/bin")];
        let env: Environment = fixed.iter().chain(variables).map(|(name, value)| (name.into(), value.into())).collect();
        World::new(&Invocation {
            request: Request::Argv(Vec::new()),
            cwd: self.path("").components().collect(),
            env,
            home: None,
            uid: 1000,
            user: "ada".into(),
            origin: Origin::Agent,
            session: Session::default(),
        })
    }

    fn facts(&self, name: &str) -> GitFacts {
        self.try_facts(name).unwrap_or_else(|| panic!("no answer for {name}"))
    }

    fn try_facts(&self, name: &str) -> Option<GitFacts> {
        match self.world().answer(&Question::Git(self.text(name))) {
            Answer::Git(facts) => Some(facts),
            Answer::Unavailable => None,
            other => panic!("{other:?} is no answer about git"),
        }
    }

    fn about(&self, name: &str) -> Option<RepositoryFacts> {
        self.about_with(name, &[])
    }

    fn about_with(&self, name: &str, variables: &[(&str, &str)]) -> Option<RepositoryFacts> {
        match self.world_with(variables).answer(&Question::Repository(self.text(name))) {
            Answer::Repository(facts) => facts,
            Answer::Unavailable => panic!("no answer about the repository of {name:?}"),
            other => panic!("{other:?} is no answer about a repository"),
        }
    }

    fn at(&self, name: &str) -> PathFacts {
        match self.world().answer(&Question::Path(self.text(name))) {
            Answer::Path(facts) => facts,
            other => panic!("{other:?} is no answer about a path"),
        }
    }

    fn file(&self, name: &str) -> FileFacts {
        match self.world().answer(&Question::File(self.text(name))) {
            Answer::File(facts) => facts,
            other => panic!("{other:?} is no answer about a file"),
        }
    }
}

fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

mod paths {
    use super::*;

    #[test]
    fn a_link_is_described_by_what_it_leads_to() {
        let scene = Scene::new();
        scene.write("real/file", "12345");
        symlink("real", scene.path("link")).unwrap();
        let facts = scene.at("link/file");
        let expected = PathFacts { kind: PathKind::File, canonical: scene.text("real/file"), symlink: false, bytes: 5 };
        assert_eq!(facts, expected);
        let link = scene.at("link");
        assert_eq!((link.kind, link.symlink, link.canonical), (PathKind::Directory, true, scene.text("real")));
    }

    #[test]
    fn what_is_missing_is_named_where_it_would_come_to_lie() {
        let scene = Scene::new();
        std::fs::create_dir(scene.path("real")).unwrap();
        symlink("real", scene.path("link")).unwrap();
        let facts = scene.at("link/new/file");
        assert_eq!((facts.kind, facts.canonical), (PathKind::Missing, scene.text("real/new/file")));
        scene.write("file", "");
        assert_eq!(scene.at("file/below").kind, PathKind::Missing);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_called_missing() {
        let scene = Scene::new();
        symlink("../project/./gone/x", scene.path("link")).unwrap();
        let facts = scene.at("link");
        assert_eq!((facts.kind, facts.symlink, facts.canonical), (PathKind::Other, true, scene.text("gone/x")));
    }

    #[test]
    fn links_in_a_circle_are_not_answered() {
        let scene = Scene::new();
        symlink("b", scene.path("a")).unwrap();
        symlink("a", scene.path("b")).unwrap();
        assert_eq!(scene.world().answer(&Question::Path(scene.text("a"))), Answer::Unavailable);
        assert_eq!(scene.world().answer(&Question::Path("relative".into())), Answer::Unavailable);
    }

    #[test]
    fn kinds_are_told_apart() {
        let scene = Scene::new();
        fifo(&scene.path("fifo"));
        assert_eq!(scene.at("fifo").kind, PathKind::Other);
        assert_eq!(scene.at("").kind, PathKind::Directory);
        let null = scene.world().answer(&Question::Path("/dev/null".into()));
        assert!(matches!(null, Answer::Path(PathFacts { kind: PathKind::Device, .. })));
        let root = scene.world().answer(&Question::Path("/".into()));
        assert!(matches!(root, Answer::Path(PathFacts { kind: PathKind::Directory, .. })));
    }
}

mod files {
    use super::*;

    #[test]
    fn a_script_is_read_with_its_digest() {
        let scene = Scene::new();
        scene.write("script", "abc");
        let FileFacts::Text { bytes, digest } = scene.file("script") else { panic!("not read") };
        assert_eq!(bytes, b"abc");
        assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(scene.file("gone"), FileFacts::Missing);
        assert_eq!(scene.file(""), FileFacts::Unreadable);
    }

    #[test]
    fn a_file_at_the_limit_is_read_and_one_beyond_it_is_not() {
        let scene = Scene::new();
        scene.write("fits", &"x".repeat(MAX_FILE));
        scene.write("too-large", &"x".repeat(MAX_FILE + 1));
        assert!(matches!(scene.file("fits"), FileFacts::Text { bytes, .. } if bytes.len() == MAX_FILE));
        assert_eq!(scene.file("too-large"), FileFacts::TooLarge);
    }

    #[test]
    fn a_fifo_named_as_a_script_is_not_waited_for() {
        let scene = Scene::new();
        fifo(&scene.path("script.sh"));
        symlink("script.sh", scene.path("link.sh")).unwrap();
        assert_eq!(scene.file("script.sh"), FileFacts::Unreadable);
        assert_eq!(scene.file("link.sh"), FileFacts::Unreadable);
        let zero = scene.world().answer(&Question::File("/dev/zero".into()));
        assert_eq!(zero, Answer::File(FileFacts::Unreadable));
    }
}

mod programs {
    use super::*;

    fn executable(scene: &Scene, name: &str) {
        scene.write(name, "#!/bin/sh\n");
        std::fs::set_permissions(scene.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn find(scene: &Scene, path: &str, name: &str) -> Option<String> {
        match scene.world_with(&[("PATH", path)]).answer(&Question::Program(name.into())) {
            Answer::Program(found) => found,
            other => panic!("{other:?} is no answer about a program"),
        }
    }

    #[test]
    fn the_path_of_the_command_decides_not_the_path_of_guard() {
        let scene = Scene::new();
        executable(&scene, "one/tool");
        executable(&scene, "two/tool");
        scene.write("zero/tool", "not executable");
        std::fs::create_dir(scene.path("dir")).unwrap();
        std::fs::create_dir(scene.path("dir/tool")).unwrap();
        let path = ["zero", "dir", "two", "one"].map(|dir| scene.text(dir)).join(":");
        assert_eq!(find(&scene, &path, "tool"), Some(scene.text("two/tool")));
        assert_eq!(find(&scene, &path, "git"), None);
    }

    #[test]
    fn a_name_with_a_slash_and_an_empty_part_of_the_path_start_at_the_working_directory() {
        let scene = Scene::new();
        executable(&scene, "tool");
        assert_eq!(find(&scene, "/nonexistent", "./tool").map(PathBuf::from), Some(scene.path("./tool")));
        assert_eq!(find(&scene, "/nonexistent:", "tool"), Some(scene.text("tool")));
        assert_eq!(find(&scene, "/nonexistent", "tool"), None);
    }
}

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

mod repositories {
    use super::*;

    #[test]
    fn a_directory_with_a_repository_somewhere_in_it_is_known_as_such() {
        let scene = Scene::repository();
        scene.write("target/deep/er/x", "");
        assert!(!scene.facts("target").holds_repository);
        std::fs::create_dir_all(scene.path("target/deep/er/clone")).unwrap();
        scene.git_in("target/deep/er/clone", &["init", "-q"]);
        let facts = scene.facts("target");
        assert!(facts.ignored && facts.holds_repository, "{facts:?}");
        assert!(scene.facts("").holds_repository);
        assert!(scene.facts(".git").holds_repository);
        assert!(scene.facts(".git/refs").holds_repository);
    }

    #[test]
    fn a_bare_repository_and_a_work_tree_count_as_repositories() {
        let scene = Scene::repository();
        std::fs::create_dir_all(scene.path("target/backup")).unwrap();
        scene.git_in("target/backup", &["init", "-q", "--bare"]);
        assert!(scene.facts("target").holds_repository);
        std::fs::remove_dir_all(scene.path("target")).unwrap();
        scene.git(&["worktree", "add", "-q", "target/tree", "-b", "side"]);
        assert!(scene.facts("target").holds_repository);
    }

    #[test]
    fn a_directory_too_large_to_look_through_counts_as_holding_one() {
        let scene = Scene::repository();
        for number in 0..5_100 {
            scene.write(&format!("many/{}/{number}", number % 10), "");
        }
        assert!(scene.facts("many").holds_repository);
        std::fs::rename(scene.path("many"), scene.path("target")).unwrap();
        assert!(!scene.facts("target").holds_repository, "what is ignored is looked through further");
    }

    #[test]
    fn a_directory_that_may_not_be_read_counts_as_holding_one() {
        if nix::unistd::geteuid().is_root() {
            return;
        }
        let scene = Scene::repository();
        std::fs::create_dir_all(scene.path("target/closed")).unwrap();
        std::fs::set_permissions(scene.path("target/closed"), std::fs::Permissions::from_mode(0o000)).unwrap();
        assert!(scene.facts("target").holds_repository);
        std::fs::set_permissions(scene.path("target/closed"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_path_in_no_repository_has_no_root() {
        let scene = Scene::new();
        scene.write("file", "");
        assert_eq!(scene.facts("file"), GitFacts::default());
        assert_eq!(scene.about(""), None);
    }

    #[test]
    fn work_trees_and_submodules_have_their_own_root_index_and_branch() {
        let scene = Scene::repository();
        scene.git(&["worktree", "add", "-q", "../tree", "-b", "side"]);
        scene.write("../tree/extra", "x");
        let tree = scene.top().join("tree");
        assert_eq!(scene.facts("../tree/src/main.rs").root.as_deref(), tree.to_str());
        assert!(scene.facts("../tree/src/main.rs").clean);
        assert!(!scene.facts("../tree/extra").tracked);
        let about = scene.about("../tree").unwrap();
        assert_eq!((about.root.as_str(), about.branch.as_deref()), (tree.to_str().unwrap(), Some("side")));

        let url = scene.text("");
        scene.git_in("../tree", &["submodule", "--quiet", "add", &url, "lib"]);
        let inside = scene.facts("../tree/lib/src/main.rs");
        assert_eq!(inside.root.as_deref(), tree.join("lib").to_str());
        assert!(inside.clean, "{inside:?}");
        assert!(scene.facts("../tree/lib").holds_repository);
    }

    #[test]
    fn a_sha256_repository_and_an_unknown_format_are_not_answered() {
        let scene = Scene::new();
        scene.git(&["init", "-q", "--object-format=sha256"]);
        scene.write("file", "x");
        scene.commit("first");
        assert_eq!(scene.try_facts("file"), None);

        let scene = Scene::repository();
        scene.git(&["config", "core.repositoryFormatVersion", "1"]);
        scene.git(&["config", "extensions.fromTheFuture", "true"]);
        assert_eq!(scene.try_facts("src/main.rs"), None);
    }

    #[test]
    fn a_repository_made_of_fifos_is_not_waited_for() {
        for name in ["HEAD", "config", "index", "packed-refs", "objects/info/alternates", "objects/pack/pack-1.idx"] {
            let scene = Scene::repository();
            if name == "packed-refs" {
                std::fs::remove_file(scene.path(".git/refs/heads/main")).unwrap();
            }
            let path = scene.path(".git").join(name);
            let _ = std::fs::remove_file(&path);
            fifo(&path);
            assert_eq!(scene.try_facts("src/main.rs"), None, "{name}");
        }
    }

    #[test]
    fn nothing_that_a_repository_configures_is_run() {
        let scene = Scene::repository();
        let marker = scene.top().join("marker");
        let touch = format!("touch {}", marker.display());
        let hook = scene.path("hooks/any");
        scene.write("hooks/any", &format!("#!/bin/sh\n{touch}\n"));
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"] {
            std::fs::copy(&hook, scene.path(".git/hooks").join(name)).unwrap();
        }
        scene.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
        scene.git(&["add", ".gitattributes"]);
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
            scene.git(&["config", key, &touch]);
        }
        scene.git(&["config", "alias.nuke", &format!("!{touch}")]);
        scene.git(&["config", "remote.evil.url", &format!("ext::sh -c {touch}")]);
        scene.git(&["config", "remote.evil.promisor", "true"]);
        scene.git(&["config", "extensions.partialClone", "evil"]);
        let _ = std::fs::remove_file(&marker);

        for name in ["src/main.rs", "src", "target", "", "gone.log"] {
            scene.facts(name);
        }
        let about = scene.about("").unwrap();
        assert_eq!(about.aliases, [("nuke".to_owned(), format!("!{touch}"))]);
        assert!(!marker.exists());
    }
}

mod settings {
    use super::*;

    /// A clone of a repository on `main` that follows `origin/main`.
    fn clone() -> Scene {
        let scene = Scene::repository();
        std::fs::rename(scene.path(""), scene.top().join("upstream")).unwrap();
        std::fs::create_dir(scene.path("")).unwrap();
        scene.git(&["clone", "-q", "../upstream", "."]);
        scene
    }

    #[test]
    fn branches_and_remotes_are_known() {
        let scene = clone();
        scene.git(&["remote", "add", "backup", "https://example.org/backup.git"]);
        scene.git(&["checkout", "-q", "-b", "topic/one"]);
        let about = scene.about("src").unwrap();
        assert_eq!(about.root, scene.text(""));
        assert_eq!(about.branch.as_deref(), Some("topic/one"));
        assert_eq!(about.default_branch.as_deref(), Some("main"));
        let names: Vec<&str> = about.remotes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["origin", "backup"]);
        assert_eq!(about.pushed, None);
        scene.git(&["checkout", "-q", "--detach"]);
        assert_eq!(scene.about("").unwrap().branch, None);
    }

    #[test]
    fn where_pushes_go_is_told_as_git_would_rewrite_it() {
        let scene = clone();
        scene.git(&["remote", "set-url", "origin", "gh:ada/tool"]);
        scene.git(&["config", "url.https://github.com/.insteadOf", "gh:"]);
        scene.git(&["config", "remote.origin.pushurl", "https://drop.example/x"]);
        let remotes = scene.about("").unwrap().remotes;
        let urls: Vec<&str> = remotes.iter().map(|(_, url)| url.as_str()).collect();
        assert_eq!(urls, ["https://github.com/ada/tool", "https://drop.example/x"]);
    }

    #[test]
    fn pushed_says_whether_the_upstream_has_all_of_head() {
        let scene = clone();
        assert_eq!(scene.about("").unwrap().pushed, Some(true));
        scene.write("new", "x");
        scene.commit("not pushed");
        assert_eq!(scene.about("").unwrap().pushed, Some(false));
        scene.git(&["push", "-q", "origin", "main:other"]);
        assert_eq!(scene.about("").unwrap().pushed, Some(false), "pushed, but not to the upstream");
        scene.git_in("../upstream", &["checkout", "-q", "other"]);
        scene.git(&["push", "-q", "origin", "main"]);
        assert_eq!(scene.about("").unwrap().pushed, Some(true));
        scene.git(&["reset", "-q", "--hard", "HEAD~1"]);
        assert_eq!(scene.about("").unwrap().pushed, Some(true), "behind the upstream");
    }

    #[test]
    fn aliases_come_from_all_configuration_and_its_includes_and_the_last_one_counts() {
        let scene = clone();
        let home = scene.top().join("home");
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
        scene.git(&["config", "alias.X", "!sh -c 'echo $1' -"]);
        let variables =
            [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "alias.env"), ("GIT_CONFIG_VALUE_0", "clean -fdx")];
        let mut aliases = scene.about_with("", &variables).unwrap().aliases;
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
        let scene = Scene::repository();
        std::fs::write(scene.top().join("home/.gitconfig"), "[include]\n\tpath = .gitconfig\n".repeat(50)).unwrap();
        let answer = scene.world().answer(&Question::Repository(scene.text("")));
        assert_eq!(answer, Answer::Unavailable);
    }

    #[test]
    fn an_environment_that_leads_git_elsewhere_is_not_answered() {
        let scene = Scene::repository();
        let elsewhere = scene.top().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        scene.git_in("../elsewhere", &["init", "-q"]);
        let question = Question::Repository(scene.text(""));
        let led = scene.world_with(&[("GIT_DIR", elsewhere.join(".git").to_str().unwrap())]);
        assert_eq!(led.answer(&question), Answer::Unavailable);
        let hook = scene.world_with(&[("GIT_DIR", ".git")]);
        assert!(matches!(hook.answer(&question), Answer::Repository(Some(_))));
    }
}
