//! Tests the notices on the channels about a request that nobody answers.

use std::process::{Command, Output};

use crate::test_gateway::{TestGateway, guard, until};

/// Starts a gateway with two channels; the second one receives the notices about unanswered requests.
fn gateway() -> TestGateway {
    let mut gateway = TestGateway::new("");
    let channel = |name: &str| {
        let out = gateway.path(name).display().to_string();
        format!(
            "[[channel]]\nname = \"{name}\"\nkind = \"program\"\n\
             command = [\"/bin/sh\", \"-c\", \"cat >> '{out}'\"]\n"
        )
    };
    let text =
        format!("{}{}[[route]]\nchannels = [\"first\"]\nadmin = [\"second\"]\n", channel("first"), channel("second"));
    gateway.write_config(&text);
    assert!(gateway.end("-TERM").success());
    gateway.start();
    gateway
}

/// Returns the messages of a type that a channel received.
fn got(gateway: &TestGateway, name: &str, kind: &str) -> Vec<String> {
    let all = std::fs::read_to_string(gateway.path(name)).unwrap_or_default();
    let wanted = format!("\"type\":\"{kind}\"");
    all.lines().filter(|line| line.contains(&wanted)).map(str::to_owned).collect()
}

/// Runs a command whose request nobody answers.
fn unanswered(gateway: &TestGateway, command: &str) -> Output {
    use std::os::unix::process::CommandExt as _;
    let mut agent = gateway.program(guard());
    agent.args(["-c", command]).env("GUARD_WAIT", "3").process_group(0);
    let output = agent.output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(gateway.ran(), 0);
    output
}

#[test]
fn what_nobody_answered_is_refused_and_told_to_whom_its_tier_wants() {
    let gateway = gateway();
    // Tier 2: only the requester is notified.
    let output = unanswered(&gateway, "npm install left-pad-of-somebody");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("nobody answered") || said.contains("no answer"), "{said}");
    until(|| got(&gateway, "first", "request.ended").len() == 1);
    assert_eq!(got(&gateway, "first", "request.filed").len(), 1);
    // Tier 3: the admin of the route is notified too.
    unanswered(&gateway, "git push --force origin main");
    until(|| got(&gateway, "second", "notice").len() == 1);
    let notice = got(&gateway, "second", "notice").remove(0);
    assert!(notice.contains("(tier 3)") && notice.contains("git push --force") && notice.contains("guard approve"));
    assert_eq!(got(&gateway, "second", "request.filed").len(), 0, "it was asked on the route's channels");
    assert_eq!(got(&gateway, "first", "notice").len(), 0);
    // A decision: all channels receive the request and the notice.
    gateway.stand_in("xdg-open", "echo ran >> \"$HOME/ran\"");
    unanswered(&gateway, "xdg-open tel:988");
    for name in ["first", "second"] {
        until(|| {
            got(&gateway, name, "notice")
                .iter()
                .any(|line| line.contains("A request that needs a person's decision timed out"))
        });
        assert!(got(&gateway, name, "request.filed").iter().any(|line| line.contains("tel:988")), "{name}");
    }
}

#[test]
fn what_is_of_tier_4_is_told_everywhere_when_nobody_answered() {
    let gateway = gateway();
    gateway.stand_in("mkfs.ext4", "echo ran >> \"$HOME/ran\"");
    unanswered(&gateway, "mkfs.ext4 /dev/no-such-disk-of-guards-tests");
    for name in ["first", "second"] {
        until(|| got(&gateway, name, "notice").iter().any(|line| line.contains("(tier 4)")));
        assert_eq!(got(&gateway, name, "request.filed").len(), 1, "{name}");
    }
}

/// A command of tier 4 that no test runs.
const CRITICAL: &str = "mkfs.ext4 /dev/no-such-disk-of-guards-tests";

#[test]
fn what_ran_out_while_no_gateway_ran_is_told_at_the_next_start_and_once() {
    let mut gateway = gateway();
    gateway.stand_in("mkfs.ext4", "echo ran >> \"$HOME/ran\"");
    gateway.stand_in("xdg-open", "echo ran >> \"$HOME/ran\"");
    let notices = |gateway: &TestGateway, name: &str, word: &str| {
        got(gateway, name, "notice").iter().filter(|line| line.contains(word)).count()
    };
    // One request is filed before the gateway is killed and one while it is down; another one needs no notice.
    let decision = std::thread::scope(|scope| {
        let waits = scope.spawn(|| unanswered(&gateway, "xdg-open tel:988"));
        gateway.waiting();
        Command::new("kill").args(["-9", &gateway.pid().to_string()]).status().unwrap();
        waits.join().unwrap()
    });
    assert_eq!(decision.status.code(), Some(126));
    gateway.kill();
    unanswered(&gateway, CRITICAL);
    unanswered(&gateway, "npm install left-pad-of-somebody");
    gateway.start();
    for name in ["first", "second"] {
        until(|| notices(&gateway, name, "tel:988") == 1 && notices(&gateway, name, "mkfs.ext4") == 1);
    }
    // After another restart there is nothing left to report.
    assert!(gateway.end("-TERM").success());
    gateway.start();
    unanswered(&gateway, "git push --force origin main");
    until(|| notices(&gateway, "second", "git push") == 1);
    for name in ["first", "second"] {
        assert_eq!((notices(&gateway, name, "tel:988"), notices(&gateway, name, "mkfs.ext4")), (1, 1), "{name}");
        assert_eq!(notices(&gateway, name, "npm"), 0, "{name}");
    }
}

#[test]
fn all_are_told_at_once_and_one_that_fails_is_told_again() {
    let mut gateway = gateway();
    gateway.stand_in("mkfs.ext4", "echo ran >> \"$HOME/ran\"");
    // The first channel accepts a notice only once the second one has it, and fails on its first notice.
    let script = "line=$(cat); case $line in *'\"type\":\"notice\"'*) i=0; \
        while ! grep -q '\"type\":\"notice\"' second; do sleep 0.1; i=$((i+1)); [ $i -lt 80 ] || exit 1; done; \
        [ -e failed ] || { touch failed; exit 1; };; esac; echo \"$line\" >> first";
    let channel = |name: &str, script: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nkind = \"program\"\ncommand = [\"/bin/sh\", \"-c\", \"\"\"cd '{}'; {script}\"\"\"]\n",
            gateway.path("").display()
        )
    };
    let text = format!("{}{}", channel("first", script), channel("second", "cat >> second"));
    gateway.write_config(&text);
    assert!(gateway.end("-TERM").success());
    gateway.start();
    unanswered(&gateway, CRITICAL);
    until(|| got(&gateway, "second", "notice").len() == 1);
    until(|| got(&gateway, "first", "notice").len() == 1);
    assert!(gateway.path("failed").exists());
    assert_eq!(got(&gateway, "second", "notice").len(), 1);
}
