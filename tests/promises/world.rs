//! What the world answers of paths, files and programs.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use guard::judge::analysis::question::{FileFacts, MAX_FILE, PathFacts, PathKind, Question, WorldAnswer};

use crate::scene::{Scene, fifo};

mod paths {
    use super::*;

    #[test]
    fn a_link_is_described_by_what_it_leads_to() {
        let scene = Scene::new();
        scene.write("real/file", "12345");
        symlink("real", scene.path("link")).unwrap();
        let facts = scene.at("link/file");
        let canonical = scene.text("real/file");
        let expected = PathFacts { kind: PathKind::File, canonical, symlink: false, bytes: 5 };
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
        assert_eq!(scene.world().answer(&Question::Path(scene.text("a"))), WorldAnswer::Unavailable);
        assert_eq!(scene.world().answer(&Question::Path("relative".into())), WorldAnswer::Unavailable);
    }

    #[test]
    fn kinds_are_told_apart() {
        let scene = Scene::new();
        fifo(&scene.path("fifo"));
        assert_eq!(scene.at("fifo").kind, PathKind::Other);
        assert_eq!(scene.at("").kind, PathKind::Directory);
        let null = scene.world().answer(&Question::Path("/dev/null".into()));
        assert!(matches!(null, WorldAnswer::Path(PathFacts { kind: PathKind::Device, .. })));
        let root = scene.world().answer(&Question::Path("/".into()));
        assert!(matches!(root, WorldAnswer::Path(PathFacts { kind: PathKind::Directory, .. })));
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
        assert_eq!(zero, WorldAnswer::File(FileFacts::Unreadable));
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
            WorldAnswer::Program(found) => found,
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
