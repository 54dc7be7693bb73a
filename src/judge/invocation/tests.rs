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
