//! Tests that only a person at a terminal of their own can change the approvers: an agent cannot make itself one.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::test_gateway::{TestGateway, guard};

/// Runs a verb of guard on a terminal that `script` creates.
fn on_a_terminal(gateway: &TestGateway, line: &str, env: &[(&str, &str)]) -> Output {
    let mut script = gateway.program(Path::new("script"));
    let guard = guard().display();
    script.args(["-qec", &format!("{guard} {line}"), "/dev/null"]).env("TERM", "xterm").env("SHELL", "/bin/sh");
    script.envs(env.iter().copied()).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn tokens(gateway: &TestGateway) -> String {
    said(&gateway.command(&["token", "list"]).output().unwrap())
}

#[test]
fn an_agent_makes_itself_no_token_and_no_channel() {
    let gateway = TestGateway::new("");
    let config = std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    let verbs = [
        "token add me --scope decide",
        "channel add ntfy --url https://example.org/x --no-test",
        "channel remove ntfy",
    ];
    for verb in verbs {
        let words: Vec<&str> = verb.split(' ').collect();
        // Through pipes, with either program.
        let piped = gateway.command(&words).output().unwrap();
        assert_eq!(piped.status.code(), Some(126), "{}", said(&piped));
        let by_guard = gateway.program(guard()).args(&words).output().unwrap();
        assert_eq!(by_guard.status.code(), Some(126), "{}", said(&by_guard));
        // On a terminal that an agent created.
        let below = on_a_terminal(&gateway, verb, &[("CLAUDECODE", "1")]);
        assert_eq!(below.status.code(), Some(126), "{}", said(&below));
        assert!(said(&below).contains("refused"), "{}", said(&below));
        // With the agent's marker removed from the environment.
        let wiped = on_a_terminal(&gateway, &format!("{verb}; true"), &[("CLAUDECODE", "1")]);
        assert!(said(&wiped).contains("refused"), "{}", said(&wiped));
        let unmarked = format!("true; env -u CLAUDECODE {} {verb}", guard().display());
        let unmarked = on_a_terminal(&gateway, &format!("--version; {unmarked}"), &[("CLAUDECODE", "1")]);
        assert!(said(&unmarked).contains("refused"), "{}", said(&unmarked));
    }
    assert!(!tokens(&gateway).contains("me "), "{}", tokens(&gateway));
    assert_eq!(std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap(), config);
    let log = gateway.program(guard()).args(["log"]).output().unwrap();
    assert!(said(&log).contains("guard token add"), "{}", said(&log));
}

#[test]
fn a_person_makes_a_token_which_works() {
    let gateway = TestGateway::new("");
    let output = on_a_terminal(&gateway, "token add phone --scope read,decide", &[]);
    let text = said(&output);
    let token = text.split_whitespace().find(|word| word.starts_with("gt_")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(gateway.get("/v1/requests", token).status, 200);
    assert!(tokens(&gateway).contains("phone"));
}

#[test]
fn a_program_is_added_once_it_has_taken_the_test_card() {
    let gateway = TestGateway::new("");
    let config = || std::fs::read_to_string(gateway.path("home/.config/guard/gateway.toml")).unwrap();
    let before = config();
    let (card, program) = (gateway.path("card"), gateway.path("tell"));
    let write = |text: String| {
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    };
    let add = format!("channel add program --name mine -- {} --to team", program.display());
    write("#!/bin/sh\necho 'no such team' >&2; exit 3\n".to_owned());
    let failed = said(&on_a_terminal(&gateway, &add, &[]));
    assert!(failed.contains("no such team"), "{failed}");
    assert_eq!(config(), before, "what failed is not written");
    write(format!("#!/bin/sh\n{{ echo \"$@\"; cat; }} >{}\n", card.display()));
    let added = said(&on_a_terminal(&gateway, &add, &[]));
    assert!(added.contains("test card was sent") && added.contains("Added mine to"), "{added}");
    let taken = std::fs::read_to_string(&card).unwrap();
    assert!(taken.starts_with("--to team\n{") && taken.contains("guard channel test"), "{taken}");
    assert!(config().starts_with(before.trim_end()) && config().contains("\"--to\", \"team\""), "{}", config());
    let list = said(&gateway.command(&["channel", "list"]).output().unwrap());
    assert!(list.lines().any(|line| line.split_whitespace().eq(["mine", "program"])), "{list}");
}

/// Checks that `script` is installed to create a terminal.
#[test]
fn there_is_a_terminal_to_try_it_on() {
    assert!(Command::new("script").arg("--version").output().is_ok_and(|output| output.status.success()));
}
