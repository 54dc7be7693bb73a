//! Tests which lines are support commands.

use super::*;

#[test]
fn what_a_shell_would_read_otherwise_is_no_support_command_unless_it_is_quoted() {
    let argv = ["say", "a;b", "$x"];
    let support = Support { argv: argv.map(str::to_owned).to_vec(), why: "help".to_owned() };
    let policy = Policy { support: vec![support], ..Policy::default() };
    assert!(is_support_line("say 'a;b' '$x'", &policy));
    assert!(is_support_line("say \"a;b\" '$x'", &policy));
    for line in ["say a;b '$x'", "say 'a;b' \"$x\"", "say 'a;b' $x", "say 'a;b'", ""] {
        assert!(!is_support_line(line, &policy), "{line}");
    }
    assert!(!is_support_line("say 'a;b' '$x'", &Policy { support: Vec::new(), ..Policy::default() }));
}

#[test]
fn a_line_is_a_support_command_as_that_one_simple_command_alone() {
    let exhausted = SessionState { denials_in_a_row: 99, prompts_last_hour: 99, ..SessionState::default() };
    let policy = supporting();
    let runs = |request: &Invocation| {
        ran(&decide(request, &judgment(Tier::Medium), &policy, &exhausted, &[])) == Some(&ApprovalReason::Support)
    };
    for origin in ALL {
        for text in ["git push --force", " git  push\t--force\n", "git 'push' \"--force\"", "g'i't push --force"] {
            assert!(runs(&line(origin, text)), "{text}");
        }
    }
    for text in [
        "git push --force; true",
        "git push --force &",
        "git push --force\ntrue",
        "git push --force > x",
        "git push --force #",
        "git push $X",
        "git push \"$(x)\" --force",
        "git push `x`",
        "git push --forc\\e",
        "X=1 git push --force",
        "(git push --force)",
        "git push --force x",
        "git push",
        "git push --forc?",
        "git push '--force",
        "",
    ] {
        assert!(!runs(&line(Origin::Agent, text)), "{text}");
    }
    // The name was redefined, or the line has additional arguments.
    let with = |change: &dyn Fn(&mut Line)| {
        let mut request = line(Origin::Agent, "git push --force");
        let Request::Line(inner) = &mut request.request else { panic!("no line") };
        change(inner);
        request
    };
    assert!(!runs(&with(&|line| line.before = b"git() { rm -rf /; }".to_vec())));
    assert!(runs(&with(&|line| line.before = b"cd /work".to_vec())));
    assert!(!runs(&with(&|line| line.positional = vec!["x".into()])));
    let decision = decide(&line(Origin::Agent, "git push --force"), &judgment(Tier::High), &policy, &exhausted, &[]);
    assert_ne!(ran(&decision), Some(&ApprovalReason::Support), "of tier 2 at most");
}
