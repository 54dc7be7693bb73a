use crate::judge::analysis::act::Source;
use crate::judge::analysis::inquiry::Answers;
use crate::judge::analysis::question::{FileFacts, ProgramFacts, Question, WorldAnswer};
use crate::judge::invocation::Origin;
use crate::judge::policy::Policy;
use crate::judge::risk::Tier;
use crate::judge::rules::catalog::Catalog;
use crate::judge::testing::line;
use crate::judge::{Judgment, judge};

fn judged(text: &str) -> Judgment {
    judge(&line(Origin::Agent, text), &Catalog::builtin(), &Policy::default(), &Answers::none())
}

#[test]
fn a_shape_is_programs_subcommands_and_flags_without_operands() {
    for (text, shape) in [
        ("git push --force origin main", "git push -f"),
        ("git push origin main", "git push"),
        ("chmod -R 777 a b", "chmod -R"),
        ("rm -r -f x; git push --force", "rm -f -r ; git push -f"),
    ] {
        assert_eq!(judged(text).shape.as_deref(), Some(shape), "{text}");
    }
}

#[test]
fn no_grant_covers_a_shell_an_interpreter_a_wrapper_or_what_cannot_be_read() {
    for text in [
        "sh -c 'git push --force'",
        "bash x.sh",
        "python3 -c 'print(1)'",
        "sudo git push --force",
        "env A=b git push --force",
        "xargs rm",
        "find . -exec rm {} +",
        "$x push",
        "git push --force $(cat x",
        "rm -rf /",
    ] {
        let judged = judged(text);
        assert_eq!((judged.shape, judged.may_grant), (None, false), "{text}");
    }
    // Nothing to run stands in these, and what runs others is covered by no grant all the same: by its operands, by an
    // option, and in a subcommand.
    for text in ["env", "python3", "docker exec box"] {
        assert!(!judged(text).may_grant, "{text}");
    }
    assert!(judged("git push --force").may_grant);
}

/// The same where `tools/git`, in front of the system's, says this.
fn judged_with(text: &str, script: &str) -> Judgment {
    const PLANTED: &str = "/home/ada/project/tools/git";
    let (invocation, catalog) = (line(Origin::Agent, text), Catalog::builtin());
    let mut digest = [0; 32];
    script.bytes().zip(0..).for_each(|(byte, at): (u8, usize)| digest[at % 32] ^= byte);
    let source = |question: &Question| match question {
        Question::Resolve { name, .. } if name == "git" => WorldAnswer::Resolve(Some(ProgramFacts {
            path: PLANTED.to_owned(),
            canonical: PLANTED.to_owned(),
            device: 1,
            inode: 1,
            bytes: 1,
            changed: 1,
            digest: Some(digest),
            since_session: true,
        })),
        Question::File(path) if path == PLANTED => WorldAnswer::File(FileFacts::Text { bytes: script.into(), digest }),
        Question::File(_) => WorldAnswer::File(FileFacts::Missing),
        _ => WorldAnswer::Unavailable,
    };
    judge(&invocation, &catalog, &Policy::default(), &Answers::of(&source))
}

#[test]
fn what_a_script_does_is_no_part_of_the_shape_and_its_bytes_are_what_a_grant_is_bound_to() {
    let line = "PATH=$PWD/tools:$PATH git push --force";
    let quiet = judged_with(line, "#!/bin/sh\nexit 0\n");
    let other = judged_with(line, "#!/bin/sh\ntrue\n");
    let grave = judged_with(line, "#!/bin/sh\nrm -rf /\n");
    assert_eq!((quiet.shape.as_deref(), other.shape.as_deref()), (Some("git push -f"), Some("git push -f")));
    let (one, two) = (quiet.shape_to_grant().unwrap(), other.shape_to_grant().unwrap());
    assert!(one.starts_with("git push -f [") && one.contains("/home/ada/project/tools/git="), "{one}");
    assert_ne!(one, two);
    assert_eq!((grave.risk.tier, grave.may_grant), (Tier::Critical, false));
    let finding = grave.risk.findings.iter().find(|finding| finding.tier == Tier::Critical).unwrap();
    let act = &grave.facts.acts[finding.act.unwrap()];
    assert!(matches!(&act.source, Source::Script(path) if path.ends_with("tools/git")), "{act:?}");
}
