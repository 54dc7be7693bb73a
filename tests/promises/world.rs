//! Tests the world's facts about paths, files and programs.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use guard::judge::analysis::question::{FileFacts, MAX_FILE, PathFacts, PathKind, Question, WorldAnswer};

use crate::fixture::{Fixture, fifo};

mod paths {
    use super::*;

    #[test]
    fn a_link_is_described_by_what_it_leads_to() {
        let fixture = Fixture::new();
        fixture.write("real/file", "12345");
        symlink("real", fixture.path("link")).unwrap();
        let facts = fixture.at("link/file");
        let canonical = fixture.text("real/file");
        let expected = PathFacts { kind: PathKind::File, canonical, symlink: false, bytes: 5 };
        assert_eq!(facts, expected);
        let link = fixture.at("link");
        assert_eq!((link.kind, link.symlink, link.canonical), (PathKind::Directory, true, fixture.text("real")));
    }

    #[test]
    fn what_is_missing_is_named_where_it_would_come_to_lie() {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("real")).unwrap();
        symlink("real", fixture.path("link")).unwrap();
        let facts = fixture.at("link/new/file");
        assert_eq!((facts.kind, facts.canonical), (PathKind::Missing, fixture.text("real/new/file")));
        fixture.write("file", "");
        assert_eq!(fixture.at("file/below").kind, PathKind::Missing);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_not_called_missing() {
        let fixture = Fixture::new();
        symlink("../project/./gone/x", fixture.path("link")).unwrap();
        let facts = fixture.at("link");
        assert_eq!((facts.kind, facts.symlink, facts.canonical), (PathKind::Other, true, fixture.text("gone/x")));
    }

    #[test]
    fn links_in_a_circle_are_not_answered() {
        let fixture = Fixture::new();
        symlink("b", fixture.path("a")).unwrap();
        symlink("a", fixture.path("b")).unwrap();
        assert_eq!(fixture.world().answer(&Question::Path(fixture.text("a"))), WorldAnswer::Unavailable);
        assert_eq!(fixture.world().answer(&Question::Path("relative".into())), WorldAnswer::Unavailable);
    }

    #[test]
    fn kinds_are_told_apart() {
        let fixture = Fixture::new();
        fifo(&fixture.path("fifo"));
        assert_eq!(fixture.at("fifo").kind, PathKind::Other);
        assert_eq!(fixture.at("").kind, PathKind::Directory);
        let null = fixture.world().answer(&Question::Path("/dev/null".into()));
        assert!(matches!(null, WorldAnswer::Path(PathFacts { kind: PathKind::Device, .. })));
        let root = fixture.world().answer(&Question::Path("/".into()));
        assert!(matches!(root, WorldAnswer::Path(PathFacts { kind: PathKind::Directory, .. })));
    }
}

mod files {
    use super::*;

    #[test]
    fn a_script_is_read_with_its_digest() {
        let fixture = Fixture::new();
        fixture.write("script", "abc");
        let FileFacts::Text { bytes, digest } = fixture.file("script") else { panic!("not read") };
        assert_eq!(bytes, b"abc");
        assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(fixture.file("gone"), FileFacts::Missing);
        assert_eq!(fixture.file(""), FileFacts::Unreadable);
    }

    #[test]
    fn a_file_at_the_limit_is_read_and_one_beyond_it_is_not() {
        let fixture = Fixture::new();
        fixture.write("fits", &"x".repeat(MAX_FILE));
        fixture.write("too-large", &"x".repeat(MAX_FILE + 1));
        assert!(matches!(fixture.file("fits"), FileFacts::Text { bytes, .. } if bytes.len() == MAX_FILE));
        assert_eq!(fixture.file("too-large"), FileFacts::TooLarge);
    }

    #[test]
    fn a_fifo_named_as_a_script_is_not_waited_for() {
        let fixture = Fixture::new();
        fifo(&fixture.path("script.sh"));
        symlink("script.sh", fixture.path("link.sh")).unwrap();
        assert_eq!(fixture.file("script.sh"), FileFacts::Unreadable);
        assert_eq!(fixture.file("link.sh"), FileFacts::Unreadable);
        let zero = fixture.world().answer(&Question::File("/dev/zero".into()));
        assert_eq!(zero, WorldAnswer::File(FileFacts::Unreadable));
    }
}

mod programs {
    use super::*;

    fn executable(fixture: &Fixture, name: &str) {
        fixture.write(name, "#!/bin/sh\n");
        std::fs::set_permissions(fixture.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn find(fixture: &Fixture, path: &str, name: &str) -> Option<String> {
        match fixture.world_with(&[("PATH", path)]).answer(&Question::Program(name.into())) {
            WorldAnswer::Program(found) => found,
            other => panic!("{other:?} is no answer about a program"),
        }
    }

    #[test]
    fn the_path_of_the_command_decides_not_the_path_of_guard() {
        let fixture = Fixture::new();
        executable(&fixture, "one/tool");
        executable(&fixture, "two/tool");
        fixture.write("zero/tool", "not executable");
        std::fs::create_dir(fixture.path("dir")).unwrap();
        std::fs::create_dir(fixture.path("dir/tool")).unwrap();
        let path = ["zero", "dir", "two", "one"].map(|dir| fixture.text(dir)).join(":");
        assert_eq!(find(&fixture, &path, "tool"), Some(fixture.text("two/tool")));
        assert_eq!(find(&fixture, &path, "git"), None);
    }

    #[test]
    fn a_name_with_a_slash_and_an_empty_part_of_the_path_start_at_the_working_directory() {
        let fixture = Fixture::new();
        executable(&fixture, "tool");
        assert_eq!(find(&fixture, "/nonexistent", "./tool").map(PathBuf::from), Some(fixture.path("./tool")));
        assert_eq!(find(&fixture, "/nonexistent:", "tool"), Some(fixture.text("tool")));
        assert_eq!(find(&fixture, "/nonexistent", "tool"), None);
    }
}
