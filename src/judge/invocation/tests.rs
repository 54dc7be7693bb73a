use std::collections::BTreeSet;

use super::*;
use crate::judge::testing::{argv, line};

fn digest(invocation: &Invocation) -> Digest {
    invocation.digest(&BTreeSet::new())
}

fn with(name: &str, value: &str) -> Invocation {
    let mut invocation = line(Origin::Cli, "ls");
    invocation.env.variables.insert(name.into(), value.into());
    invocation
}

#[test]
fn a_digest_changes_with_everything_that_the_command_means() {
    let base = line(Origin::Cli, "ls");
    let changed = |change: &dyn Fn(&mut Line)| {
        let mut invocation = base.clone();
        let Request::Line(line) = &mut invocation.request else { unreachable!("it is a line") };
        change(line);
        digest(&invocation)
    };
    let mut elsewhere = base.clone();
    elsewhere.cwd = "/tmp".into();
    let envelope = |lead: &[u8]| Envelope {
        agent: "claude",
        whole: Vec::new(),
        positional: Vec::new(),
        lead: lead.to_vec(),
        is_preparation: false,
        is_known: true,
    };
    let all = [
        digest(&base),
        digest(&elsewhere),
        changed(&|line| line.text.push(b' ')),
        changed(&|line| line.shell = "/bin/dash".into()),
        changed(&|line| line.options.push("-e".into())),
        changed(&|line| line.positional.push("-e".into())),
        changed(&|line| line.before = b"cd /".to_vec()),
        changed(&|line| line.envelope = Some(Box::new(envelope(b"")))),
        changed(&|line| line.envelope = Some(Box::new(envelope(b"source x")))),
        digest(&argv(Origin::Cli, &["ls"])),
        digest(&argv(Origin::Cli, &["ls", ""])),
        digest(&with("PATH", "/tmp")),
        digest(&with("GIT_DIR", "x")),
    ];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
}

#[test]
fn words_cannot_be_cut_elsewhere_for_the_same_digest() {
    assert_ne!(digest(&argv(Origin::Cli, &["a", "bc"])), digest(&argv(Origin::Cli, &["ab", "c"])));
    assert_ne!(digest(&with("GIT_A", "BC")), digest(&with("GIT_AB", "C")));
}

#[test]
fn of_the_environment_only_what_matters_or_was_expanded_counts() {
    let base = digest(&line(Origin::Cli, "ls"));
    for name in
        ["PATH", "LD_PRELOAD", "DYLD_X", "GIT_DIR", "BASH_ENV", "ENV", "IFS", "KUBECONFIG", "AWS_PROFILE", "PGHOST"]
    {
        assert_ne!(digest(&with(name, "x")), base, "{name}");
    }
    for name in ["COLUMNS", "ENVIRONMENT", "MY_PATH", "GIT", "TERM"] {
        assert_eq!(digest(&with(name, "x")), base, "{name}");
    }
    let expanded = BTreeSet::from(["COLUMNS".to_owned()]);
    assert_ne!(with("COLUMNS", "80").digest(&expanded), with("COLUMNS", "81").digest(&expanded));
}

#[test]
fn who_asks_is_no_part_of_the_digest() {
    assert_eq!(digest(&line(Origin::Cli, "ls")), digest(&line(Origin::Api, "ls")));
}

#[test]
fn a_command_is_shown_as_a_shell_would_need_it_written() {
    assert_eq!(argv(Origin::Cli, &["rm", "-rf", "a b", "", "it's", "$x"]).display(), r"rm -rf 'a b' '' 'it'\''s' '$x'");
    let mut files = line(Origin::Agent, "");
    let change = |kind, path: &str| FileChange { kind, path: path.to_owned() };
    files.request = Request::Files(vec![
        change(ChangeKind::Write, "~/notes.txt"),
        change(ChangeKind::Edit, "a b"),
        change(ChangeKind::Delete, "old.txt"),
        change(ChangeKind::Move, "x"),
    ]);
    assert_eq!(files.display(), "write '~/notes.txt'; edit 'a b'; delete old.txt; move x");
}

#[test]
fn an_origin_is_found_by_its_name_and_the_guarded_ones_are_those_that_nobody_typed() {
    for origin in [Origin::Cli, Origin::Agent, Origin::Api, Origin::Discord, Origin::Telegram] {
        assert_eq!(Origin::named(origin.name()), Some(origin));
        assert_eq!(origin.is_guarded(), matches!(origin, Origin::Agent | Origin::Api));
    }
    assert_eq!(Origin::named("CLI"), None);
}

#[test]
fn a_variable_is_found_where_it_is_set_and_text() {
    let variables = [("A".into(), "x".into()), ("B".into(), OsString::from_vec(vec![0xff]))];
    let env: Environment = variables.into_iter().collect();
    assert_eq!((env.get("A"), env.get("B"), env.get("C")), (Some("x"), None, None));
}

#[test]
fn a_digest_is_written_in_hexadecimal_digits() {
    assert_eq!(format!("{:?}", Digest([0xab; 32])), format!("Digest({})", "ab".repeat(32)));
    assert_eq!(Digest([0xab; 32]).to_string(), "ab".repeat(32));
}

#[test]
fn what_is_typed_later_is_part_of_the_command_and_is_taken_off_again() {
    let base = line(Origin::Cli, "ls");
    let typed = base.typed_into();
    assert_ne!(digest(&typed), digest(&base));
    assert_eq!(typed.untyped(), Some(base.clone()));
    assert_eq!(base.untyped(), None, "nothing was put in front of it");
    let words = argv(Origin::Cli, &["ls"]);
    assert_eq!((words.typed_into(), words.untyped()), (words.clone(), None));
}

#[test]
fn what_runs_before_a_line_is_part_of_the_digest_whatever_it_is() {
    let before = |text: &[u8]| {
        let mut invocation = line(Origin::Cli, "ls");
        let Request::Line(line) = &mut invocation.request else { unreachable!("it is a line") };
        line.before = text.to_vec();
        digest(&invocation)
    };
    assert_ne!(before(b"cd /"), before(b"cd /tmp"));
}

#[test]
fn a_character_that_the_judge_keeps_is_replaced_wherever_it_stands() {
    const KEPT: char = char::REPLACEMENT_CHARACTER;
    let has = |invocation: &Invocation| format!("{:?}", invocation.taken_in()).contains(KEPT);
    let is_replaced = |invocation: &Invocation| {
        assert!(matches!(invocation.taken_in(), Cow::Owned(_)), "{invocation:?}");
        assert!(!has(invocation), "{invocation:?}");
        let (before, after) = (invocation.display(), invocation.taken_in().display());
        assert_eq!(before.len(), after.len(), "each part is as long as it was");
    };
    let text = format!("ls {KEPT}");
    is_replaced(&argv(Origin::Cli, &["ls", &text]));
    is_replaced(&line(Origin::Cli, &text));
    let of_line = |change: &dyn Fn(&mut Line)| {
        let mut invocation = line(Origin::Cli, "ls");
        let Request::Line(line) = &mut invocation.request else { unreachable!("it is a line") };
        change(line);
        invocation
    };
    is_replaced(&of_line(&|line| line.before = text.clone().into_bytes()));
    is_replaced(&of_line(&|line| line.positional.push(text.clone().into())));
    let mut files = line(Origin::Agent, "");
    files.request = Request::Files(vec![FileChange { kind: ChangeKind::Write, path: text.clone() }]);
    is_replaced(&files);
    let mut directory = line(Origin::Cli, "ls");
    directory.cwd = PathBuf::from(&text);
    is_replaced(&directory);
    // The byte by which such a character is looked for begins others too, and those stay.
    let mut other = line(Origin::Cli, "ls \u{fe0f}");
    assert!(matches!(other.taken_in(), Cow::Borrowed(_)));
    other.cwd = PathBuf::from("/\u{fe0f}");
    assert!(matches!(other.taken_in(), Cow::Borrowed(_)));
    assert!(matches!(line(Origin::Cli, "ls").taken_in(), Cow::Borrowed(_)));
}

#[test]
fn what_is_hidden_of_a_tools_input_is_known_and_so_is_that_it_is_gone() {
    let call = ToolCall {
        input: serde_json::json!({ "password": "x" }),
        hidden: vec!["/password".to_owned()],
        ..ToolCall::default()
    };
    let of = |call: ToolCall| Invocation { request: Request::Tool(Box::new(call)), ..line(Origin::Agent, "") };
    let (whole, gone) = (of(call.clone()), of(call.concealed()));
    assert_eq!(whole.tool(), Some(&call));
    assert!(whole.hides() && !whole.hides_here());
    assert!(gone.hides() && gone.hides_here());
    let open = of(ToolCall { hidden: Vec::new(), ..call });
    assert!(!open.hides() && !open.hides_here());
    let line = line(Origin::Cli, "ls");
    assert!(line.tool().is_none() && !line.hides() && !line.hides_here());
}
