//! What becomes of a request that nobody answers, on the channels.

use std::process::{Command, Output};

use crate::house::{House, guard, until};

/// Two channels, of which the second is told of what nobody answered.
fn house() -> House {
    let mut house = House::new("");
    let channel = |name: &str| {
        let out = house.path(name).display().to_string();
        format!(
            "[[channel]]\nname = \"{name}\"\nkind = \"program\"\n\
             command = [\"/bin/sh\", \"-c\", \"cat >> '{out}'\"]\n"
        )
    };
    let text =
        format!("{}{}[[route]]\nchannels = [\"first\"]\nadmin = [\"second\"]\n", channel("first"), channel("second"));
    house.write_config(&text);
    assert!(house.end("-TERM").success());
    house.start();
    house
}

/// What a channel got of this type.
fn got(house: &House, name: &str, kind: &str) -> Vec<String> {
    let all = std::fs::read_to_string(house.path(name)).unwrap_or_default();
    let wanted = format!("\"type\":\"{kind}\"");
    all.lines().filter(|line| line.contains(&wanted)).map(str::to_owned).collect()
}

/// An agent whose command nobody answers.
fn unanswered(house: &House, command: &str) -> Output {
    use std::os::unix::process::CommandExt as _;
    let mut agent = house.program(guard());
    agent.args(["-c", command]).env("GUARD_WAIT", "3").process_group(0);
    let output = agent.output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(house.ran(), 0);
    output
}

#[test]
fn what_nobody_answered_is_refused_and_told_to_whom_its_tier_wants() {
    let house = house();
    // Tier 2: whoever asked is told, and nobody else.
    let output = unanswered(&house, "npm install left-pad-of-somebody");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("nobody answered") || said.contains("no answer"), "{said}");
    until(|| got(&house, "first", "request.ended").len() == 1);
    assert_eq!(got(&house, "first", "request.filed").len(), 1);
    // Tier 3: the route's admin too.
    unanswered(&house, "git push --force origin main");
    until(|| got(&house, "second", "notice").len() == 1);
    let notice = got(&house, "second", "notice").remove(0);
    assert!(notice.contains("(tier 3)") && notice.contains("git push --force") && notice.contains("guard approve"));
    assert_eq!(got(&house, "second", "request.filed").len(), 0, "it was asked on the route's channels");
    assert_eq!(got(&house, "first", "notice").len(), 0);
    // A decision: everybody is asked, and everybody is told.
    house.stand_in("xdg-open", "echo ran >> \"$HOME/ran\"");
    unanswered(&house, "xdg-open tel:988");
    for name in ["first", "second"] {
        until(|| {
            got(&house, name, "notice")
                .iter()
                .any(|line| line.contains("A request that needs a person's decision timed out"))
        });
        assert!(got(&house, name, "request.filed").iter().any(|line| line.contains("tel:988")), "{name}");
    }
}

#[test]
fn what_is_of_tier_4_is_told_everywhere_when_nobody_answered() {
    let house = house();
    house.stand_in("mkfs.ext4", "echo ran >> \"$HOME/ran\"");
    unanswered(&house, "mkfs.ext4 /dev/no-such-disk-of-guards-tests");
    for name in ["first", "second"] {
        until(|| got(&house, name, "notice").iter().any(|line| line.contains("(tier 4)")));
        assert_eq!(got(&house, name, "request.filed").len(), 1, "{name}");
    }
}

/// Tier 4, which nobody runs here.
const CRITICAL: &str = "mkfs.ext4 /dev/no-such-disk-of-guards-tests";

#[test]
fn what_ran_out_while_no_gateway_ran_is_told_at_the_next_start_and_once() {
    let mut house = house();
    house.stand_in("mkfs.ext4", "echo ran >> \"$HOME/ran\"");
    house.stand_in("xdg-open", "echo ran >> \"$HOME/ran\"");
    let notices = |house: &House, name: &str, word: &str| {
        got(house, name, "notice").iter().filter(|line| line.contains(word)).count()
    };
    // One is filed before the gateway is killed, one while it is away; one is of no interest.
    let decision = std::thread::scope(|scope| {
        let waits = scope.spawn(|| unanswered(&house, "xdg-open tel:988"));
        house.waiting();
        Command::new("kill").args(["-9", &house.pid().to_string()]).status().unwrap();
        waits.join().unwrap()
    });
    assert_eq!(decision.status.code(), Some(126));
    house.kill();
    unanswered(&house, CRITICAL);
    unanswered(&house, "npm install left-pad-of-somebody");
    house.start();
    for name in ["first", "second"] {
        until(|| notices(&house, name, "tel:988") == 1 && notices(&house, name, "mkfs.ext4") == 1);
    }
    // Whoever starts next has nothing more to tell.
    assert!(house.end("-TERM").success());
    house.start();
    unanswered(&house, "git push --force origin main");
    until(|| notices(&house, "second", "git push") == 1);
    for name in ["first", "second"] {
        assert_eq!((notices(&house, name, "tel:988"), notices(&house, name, "mkfs.ext4")), (1, 1), "{name}");
        assert_eq!(notices(&house, name, "npm"), 0, "{name}");
    }
}

#[test]
fn all_are_told_at_once_and_one_that_fails_is_told_again() {
    let mut house = house();
    house.stand_in("mkfs.ext4", "echo ran >> \"$HOME/ran\"");
    // The first takes a notice only when the second has it, and fails the first time that it is given one.
    let script = "line=$(cat); case $line in *'\"type\":\"notice\"'*) i=0; \
        while ! grep -q '\"type\":\"notice\"' second; do sleep 0.1; i=$((i+1)); [ $i -lt 80 ] || exit 1; done; \
        [ -e failed ] || { touch failed; exit 1; };; esac; echo \"$line\" >> first";
    let channel = |name: &str, script: &str| {
        format!(
            "[[channel]]\nname = \"{name}\"\nkind = \"program\"\ncommand = [\"/bin/sh\", \"-c\", \"\"\"cd '{}'; {script}\"\"\"]\n",
            house.path("").display()
        )
    };
    let text = format!("{}{}", channel("first", script), channel("second", "cat >> second"));
    house.write_config(&text);
    assert!(house.end("-TERM").success());
    house.start();
    unanswered(&house, CRITICAL);
    until(|| got(&house, "second", "notice").len() == 1);
    until(|| got(&house, "first", "notice").len() == 1);
    assert!(house.path("failed").exists());
    assert_eq!(got(&house, "second", "notice").len(), 1);
}
