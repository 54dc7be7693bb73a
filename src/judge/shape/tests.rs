use crate::judge::facts::question::Answers;
use crate::judge::invocation::Origin;
use crate::judge::policy::Policy;
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
    assert!(judged("git push --force").may_grant);
}
