//! A slip of the hand is told: nothing is judged or run in its place, and what was probably meant is named.

use crate::harness::home::Home;

fn told(home: &Home, arguments: &[&str]) -> String {
    let output = home.guard(arguments).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(125), &b""[..]), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_command_or_a_misspelled_verb_runs_nothing_and_names_what_was_meant() {
    let home = Home::that_asks_nobody();
    for (arguments, meant) in [
        (&["git", "push", "--force"][..], "guard -- git push --force"),
        (&["git push --force && ls"], "guard -c 'git push --force && ls'"),
        (&["chek", "git push --force"], "guard check 'git push --force'"),
        (&["aprove", "k7m2"], "guard approve k7m2"),
    ] {
        let said = told(&home, arguments);
        assert!(said.ends_with(&format!("did you mean: {meant}\n")), "{said}");
    }
    assert_eq!(home.ran(), 0);
}

#[test]
fn a_misspelled_option_is_not_judged_as_a_command() {
    let home = Home::new();
    for arguments in [&["check", "--jsn"][..], &["check", "--jsn", "ls"], &["explain", "--json"]] {
        assert!(told(&home, arguments).contains("unexpected argument"), "{arguments:?}");
    }
    assert!(told(&home, &["check", "--jsn", "ls"]).contains("'--json'"));
    // What really begins with a dash is judged as arguments.
    assert!(home.prints(&["check", "--", "--jsn"], 0).starts_with("allow"));
}

#[test]
fn completions_and_pages_come_with_the_program() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(home.prints(&["completions", shell], 0).contains("approve"), "{shell}");
    }
    for line in home.prints(&["man"], 0).lines() {
        let page = line.split_whitespace().next().unwrap();
        let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(page);
        assert!(home.prints(&["man", page], 0) == std::fs::read_to_string(kept).unwrap(), "{page}");
    }
    assert!(told(&home, &["man", "guard-nothing"]).contains("guard man lists them"));
}
