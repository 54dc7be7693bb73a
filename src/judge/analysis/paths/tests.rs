use std::path::PathBuf;

use super::super::inquiry::Answers;

use super::super::question::{Question, RepositoryFacts, WorldAnswer};
use super::*;
use crate::judge::analysis::act::{Taint, Unknown, UnknownReason};
use crate::judge::invocation::{Environment, Origin, Request, Session};
use crate::judge::testing::asked;

fn invocation(cwd: &str) -> Invocation {
    Invocation {
        request: Request::Argv(Vec::new()),
        cwd: PathBuf::from(cwd),
        env: Environment::from_iter([("HOME".into(), "/home/me".into()), ("TMPDIR".into(), "/scratch/tmp".into())]),
        home: Some("/home/me".into()),
        uid: 1000,
        user: "me".into(),
        origin: Origin::Cli,
        session: Session::default(),
    }
}

fn variable(name: &str) -> Piece {
    Piece::Unknown(Unknown { why: UnknownReason::Variable(name.into()), taint: Taint::default() })
}

fn found(start: &str) -> Value {
    let why = UnknownReason::Found(Some(start.into()));
    Value::of(vec![Piece::Unknown(Unknown { why, taint: Taint::default() })])
}

/// Creates a value in which `*` and `?` are live globs, and `$` is an unknown variable.
fn live(text: &str) -> Value {
    let mut value = Value::default();
    for c in text.chars() {
        value.push(match c {
            '*' | '?' => Piece::Glob(c.to_string()),
            '$' => variable("X"),
            c => Piece::Text(c.to_string()),
        });
    }
    value
}

fn in_repository(root: &str) -> Answers<'static> {
    let answers = Answers::none();
    let facts = RepositoryFacts { root: root.into(), ..RepositoryFacts::default() };
    answers.insert(Question::Repository("/home/me/project/src".into()), WorldAnswer::Repository(Some(facts)));
    answers
}

fn classes(value: &Value) -> PathClasses {
    let answers = in_repository("/home/me/project");
    let inquiry = Inquiry::new(&answers);
    Placer::new(&invocation("/home/me/project/src")).classes(
        value,
        Some(&Place::of("/home/me/project/src")),
        &Catalog::builtin(),
        &inquiry,
    )
}

#[track_caller]
fn has(text: &str, expected: &[PathClass]) {
    let classes = classes(&live(text));
    for class in expected {
        assert!(classes.has(*class), "{text} is {class:?}");
    }
}

#[track_caller]
fn lacks(text: &str, unexpected: &[PathClass]) {
    let classes = classes(&live(text));
    for class in unexpected {
        assert!(!classes.has(*class), "{text} is not {class:?}");
    }
}

#[test]
fn every_spelling_of_the_root_is_the_root() {
    for text in ["/", "//", "/.", "/..", "/*", "/.*", "/*/", "/./*", "/usr/..", "/proc/self/root", "/?*"] {
        has(text, &[PathClass::Root]);
    }
    for text in ["/a", "/a*", "x", "."] {
        lacks(text, &[PathClass::Root]);
    }
}

#[test]
fn system_directories_are_known_through_globs() {
    has("/etc", &[PathClass::System, PathClass::SystemTop]);
    has("/e*c", &[PathClass::SystemTop]);
    has("/etc/*", &[PathClass::SystemTop, PathClass::Glob]);
    has("/usr/lib/x", &[PathClass::System]);
    has("/$", &[PathClass::SystemTop, PathClass::Dynamic]);
    has("/mnt/c/Windows/System32", &[PathClass::System]);
    lacks("/usr/lib/x", &[PathClass::SystemTop]);
    lacks("/var/tmp/x", &[PathClass::System]);
    lacks("/data/x", &[PathClass::System]);
}

#[test]
fn homes_are_homes_whoever_owns_them() {
    for text in
        ["~", "~/", "~/*", "/home/me", "/home/you", "/home", "/home/*", "/root", "/Users/you", "/mnt/c/Users/x", "~you"]
    {
        has(text, &[PathClass::Home]);
    }
    has("~/x", &[PathClass::InHome]);
    lacks("~/x", &[PathClass::Home]);
    lacks("/Users/Shared", &[PathClass::Home]);
}

#[test]
fn the_project_is_the_top_of_the_repository() {
    has("..", &[PathClass::ProjectRoot, PathClass::Project]);
    has("../*", &[PathClass::ProjectRoot]);
    has("../..", &[PathClass::ProjectParent, PathClass::Outside, PathClass::Home]);
    has("*", &[PathClass::Project, PathClass::Glob]);
    has("../docs", &[PathClass::Project]);
    lacks("*", &[PathClass::ProjectRoot, PathClass::Outside]);
    has("/home/me/other", &[PathClass::Outside]);
    lacks("/tmp/x", &[PathClass::Outside]);
    lacks("/dev/null", &[PathClass::Outside]);
}

#[test]
fn a_home_or_the_root_is_never_the_project() {
    for cwd in ["/home/me", "/", "/tmp", "/home"] {
        let answers = Answers::none();
        let inquiry = Inquiry::new(&answers);
        assert_eq!(Placer::new(&invocation(cwd)).project(&inquiry), None, "{cwd}");
    }
    let answers = Answers::none();
    let facts = RepositoryFacts { root: "/home/me".into(), ..RepositoryFacts::default() };
    answers.insert(Question::Repository("/home/me/x".into()), WorldAnswer::Repository(Some(facts)));
    let inquiry = Inquiry::new(&answers);
    assert_eq!(Placer::new(&invocation("/home/me/x")).project(&inquiry).as_deref(), Some("/home/me/x"));
}

#[test]
fn what_lies_below_the_working_directory_is_classed_without_a_question() {
    let placer = Placer::new(&invocation("/home/me/project"));
    let asked = asked(|inquiry| {
        for text in ["x", "./a/b", "*.o", "build"] {
            let classes =
                placer.classes(&live(text), Some(&Place::of("/home/me/project")), &Catalog::builtin(), inquiry);
            assert!(classes.has(PathClass::Project) && !classes.has(PathClass::Outside));
        }
    });
    assert_eq!(asked, []);
}

#[test]
fn temp_directories_do_not_swallow_a_project_or_a_home_in_them() {
    has("/tmp/x", &[PathClass::Temp]);
    has("/private/tmp/x", &[PathClass::Temp]);
    has("/scratch/tmp/x", &[PathClass::Temp]);
    has("/tmp/*", &[PathClass::Temp, PathClass::Glob]);
    let answers = Answers::none();
    let inquiry = Inquiry::new(&answers);
    let mut inside = invocation("/tmp/work/home/project");
    inside.env = Environment::from_iter([("HOME".into(), "/tmp/work/home".into())]);
    let placer = Placer::new(&inside);
    let temp = |text: &str| {
        let classes =
            placer.classes(&live(text), Some(&Place::of("/tmp/work/home/project")), &Catalog::builtin(), &inquiry);
        classes.has(PathClass::Temp)
    };
    assert!(temp("/tmp/other"));
    for text in ["x", "/tmp", "/tmp/*", "/tmp/work", "/tmp/work/home", "/tmp/work/home/y", "/tmp/work/home/project"] {
        assert!(!temp(text), "{text}");
    }
}

#[test]
fn the_whole_repository_is_the_work_also_in_a_temp_directory() {
    let answers = Answers::none();
    let facts = RepositoryFacts { root: "/tmp/clone".into(), ..RepositoryFacts::default() };
    answers.insert(Question::Repository("/tmp/clone/src".into()), WorldAnswer::Repository(Some(facts)));
    let inquiry = Inquiry::new(&answers);
    let placer = Placer::new(&invocation("/tmp/clone/src"));
    let classes = placer.classes(&live("../docs"), Some(&Place::of("/tmp/clone/src")), &Catalog::builtin(), &inquiry);
    assert!(classes.has(PathClass::Project) && !classes.has(PathClass::Temp));
}

#[test]
fn a_temp_directory_that_holds_the_work_is_none() {
    let mut inside = invocation("/scratch/tmp/project");
    inside.home = None;
    let answers = Answers::none();
    let inquiry = Inquiry::new(&answers);
    let classes = Placer::new(&inside).classes(&live("/scratch/tmp/x"), None, &Catalog::builtin(), &inquiry);
    assert!(!classes.has(PathClass::Temp));
}

#[test]
fn unknown_places_are_dynamic() {
    for text in ["$", "$/x", "$/*", "/tmp/$", "x$", "/etc/$.conf"] {
        has(text, &[PathClass::Dynamic]);
    }
    has("$/*", &[PathClass::Glob]);
    has("/etc/$.conf", &[PathClass::System]);
    lacks("$/*", &[PathClass::Root]);
    let answers = Answers::none();
    let inquiry = Inquiry::new(&answers);
    let unknown_cwd = Placer::new(&invocation("/w")).classes(&live("x"), None, &Catalog::builtin(), &inquiry);
    assert!(unknown_cwd.has(PathClass::Dynamic));
}

#[test]
fn a_number_in_a_name_stays_in_its_directory_and_alone_it_may_be_no_name() {
    let numbered = |before: &str, after: &str| {
        let number = Unknown {
            why: UnknownReason::Number(crate::judge::analysis::act::NumberId::default()),
            taint: Taint::default(),
        };
        let pieces = vec![Piece::Text(before.into()), Piece::Unknown(number), Piece::Text(after.into())];
        classes(&Value::of(pieces))
    };
    let name = numbered("/tmp/x-", ".md");
    assert!(name.has(PathClass::Temp) && !name.has(PathClass::Dynamic));
    assert!(numbered("/tmp/", "").has(PathClass::Dynamic));
    assert!(numbered("/tmp/", "/../..").has(PathClass::Dynamic));
}

#[test]
fn what_is_found_below_a_place_is_all_of_that_place() {
    assert!(classes(&found("/")).has(PathClass::Root));
    assert!(classes(&found("/home/me")).has(PathClass::Home));
    let project = classes(&found(".."));
    assert!(project.has(PathClass::Project) && project.has(PathClass::Glob) && !project.has(PathClass::ProjectRoot));
}

#[test]
fn devices_and_sinks_are_told_apart() {
    for text in ["/dev/sda", "/dev/nvme0n1p1", "/dev/disk2", "/dev/mapper/root", "/dev/sd?", "/dev/mem"] {
        has(text, &[PathClass::Device]);
    }
    for text in ["/dev/null", "/dev/stdout", "/dev/fd/3", "/dev/tty", "/dev/zero"] {
        has(text, &[PathClass::Sink]);
        lacks(text, &[PathClass::Device]);
    }
    lacks("/dev/ttyUSB0", &[PathClass::Device]);
    lacks("/dev/shm/x", &[PathClass::Device, PathClass::Outside]);
    has("/proc/sysrq-trigger", &[PathClass::Kernel]);
}

#[test]
fn guards_own_files_are_known() {
    for text in [
        "~/.config/guard/config.toml",
        "/home/you/.config/guard",
        "~/.local/share/guard/guard.db",
        "/etc/guard/patterns/a.toml",
        ".guard.toml",
        "../.guard/patterns/x.toml",
        "/usr/local/bin/guard",
        "~/.config/gu*/config.toml",
        "/run/user/1000/guard.sock",
    ] {
        has(text, &[PathClass::Guard]);
    }
    for text in ["bin/guard", "~/src/guard/src/main.rs", "guard.toml"] {
        lacks(text, &[PathClass::Guard]);
    }
}

#[test]
fn a_url_is_no_path_and_a_file_url_is_one() {
    assert_eq!(classes(&live("https://example.org/etc/passwd")), PathClasses::NONE);
    has("file:///etc/passwd", &[PathClass::System]);
    assert!(classes(&Value::text("file:/etc/passwd?mode=ro")).has(PathClass::System));
    has("@/etc/passwd", &[PathClass::System]);
    has("data=@/etc/passwd", &[PathClass::System]);
    has("me@host:/x", &[PathClass::Remote]);
    assert_eq!(classes(&live("-")), PathClasses::NONE);
}

#[test]
fn what_is_hosted_in_a_system_directory_is_not_the_systems() {
    for text in ["/opt/app", "/srv/site/x", "/usr/src/app", "/var/www/html"] {
        lacks(text, &[PathClass::System, PathClass::SystemTop]);
    }
    for text in ["/opt", "/srv/*"] {
        has(text, &[PathClass::System, PathClass::SystemTop]);
    }
}
