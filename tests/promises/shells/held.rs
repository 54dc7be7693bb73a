//! Tests that a refused command does not run, and nothing after it does.

use super::alike::{Shims, fed, from_file, run};
use crate::harness::home::Home;
use crate::harness::tools;

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_flagged_command_runs_in_none_of_the_ways_that_a_shell_takes_one() {
    let shims = Shims::new(Home::new());
    let flagged = "echo before\ngit push --force origin main\necho after\n";
    let script = shims.home.path("work/push.sh");
    std::fs::write(&script, flagged).unwrap();
    for name in ["bash", "sh", "zsh", "guard-sh", "-bash"] {
        if name == "zsh" && !tools::is_installed(name) {
            continue;
        }
        for call in [
            &["-c", flagged][..],
            &["-ec", flagged, "zero"],
            &["push.sh"],
            &["-x", "./push.sh", "a"],
            &["--", "push.sh"],
        ] {
            let mut command = shims.guard(name);
            command.args(call);
            let output = run(command);
            assert_eq!(output.status.code(), Some(126), "{name} {call:?}: {}", said(&output));
            assert_eq!(output.stdout, b"", "{name} {call:?}");
        }
        for output in [fed(shims.guard(name), flagged.as_bytes()), from_file(shims.guard(name), &script)] {
            assert_eq!(output.status.code(), Some(126), "{name}: {}", said(&output));
            assert_eq!(output.stdout, b"before\n", "{name}");
            assert!(said(&output).contains("git.push-force"), "{}", said(&output));
        }
    }
    assert_eq!(shims.home.ran(), 0);
}

#[test]
fn what_an_earlier_line_defined_is_seen_in_a_later_one() {
    let shims = Shims::new(Home::new());
    for script in [
        "p() { git push \"$@\"; }\nf=--force\np $f origin main\n",
        "shopt -s expand_aliases 2>/dev/null\nalias p='git push'\np --force origin main\n",
        "x='git push --force'\nset -- $x origin main\n\"$@\"\n",
        "eval 'q() {\ngit push --force origin main\n}'\nq\n",
    ] {
        let output = fed(shims.guard("bash"), script.as_bytes());
        assert_eq!(output.status.code(), Some(126), "{script}: {}", said(&output));
    }
    assert_eq!(shims.home.ran(), 0);
}

#[test]
fn a_refused_script_ends_with_its_trap_run_and_its_input_unread() {
    let shims = Shims::new(Home::new());
    let output = fed(shims.guard("bash"), b"trap 'echo cleaned up' EXIT\ngit push --force origin main\necho no\n");
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(126), &b"cleaned up\n"[..]),
        "{}",
        said(&output)
    );
}

#[test]
fn data_that_looks_like_a_command_is_data() {
    let shims = Shims::new(Home::new());
    for name in tools::installed(&["bash", "zsh", "sh"]) {
        let output =
            fed(shims.guard(name), b"read -r line\ngit push --force origin main\necho \"$line\"\ncat\nrm -rf /\n");
        assert_eq!(output.stdout, b"git push --force origin main\nrm -rf /\n", "{name}: {}", said(&output));
        assert!(output.status.success());
    }
    assert_eq!(shims.home.ran(), 0);
}

#[test]
fn a_command_that_would_change_where_commands_come_from_is_refused() {
    let shims = Shims::new(Home::that_asks_nobody());
    let other = shims.home.path("work/other");
    std::fs::write(&other, "echo smuggled\n").unwrap();
    for script in
        ["exec < other\n", "exec 0< other\n", "if true; then exec <other; fi\n", "exec 5< other <&5\n", "exec 0<&-\n"]
    {
        let output = fed(shims.guard("bash"), script.as_bytes());
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(126), &b""[..]), "{script}");
        assert!(said(&output).contains("exec would replace standard input"), "{}", said(&output));
    }
    for script in ["echo x >&97\n", "exec 97<other\n", "cat <&97-\n"] {
        let output = fed(shims.guard("bash"), script.as_bytes());
        assert_eq!(output.status.code(), Some(126), "{script}");
        assert!(said(&output).contains("descriptor 97"), "{}", said(&output));
    }
}

#[test]
fn an_option_that_is_not_known_runs_nothing() {
    let shims = Shims::new(Home::that_asks_nobody());
    for call in [&["--nonsense", "-c", "echo ran"][..], &["-Zc", "echo ran"]] {
        let mut command = shims.guard("bash");
        command.args(call);
        let output = run(command);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(125), &b""[..]));
        assert!(said(&output).contains("unknown option"));
    }
}

#[test]
fn under_a_shells_name_there_are_no_verbs() {
    let shims = Shims::new(Home::that_asks_nobody());
    let mut command = shims.guard("bash");
    command.args(["check", "ls"]);
    let output = run(command);
    assert_eq!(output.status.code(), Some(127));
    assert!(said(&output).contains("check: No such file"), "{}", said(&output));
}

#[test]
fn the_real_shell_is_never_guard() {
    let shims = Shims::new(Home::that_asks_nobody());
    let path = format!("{}:/usr/bin:/bin", shims.home.path("shims").display());
    let mut command = shims.guard("bash");
    command.env("PATH", path).args(["-c", "bash -c 'sh -c \"echo deep\"; echo $BASH'"]);
    let output = run(command);
    assert!(
        output.status.success()
            && output.stdout == format!("deep\n{}\n", shims.home.path("shims/bash").display()).into_bytes(),
        "{}",
        said(&output)
    );
}

#[test]
fn every_command_of_a_piped_script_is_in_the_record() {
    let shims = Shims::new(Home::new());
    assert!(fed(shims.guard("bash"), b"echo one\n\n# nothing\necho two; echo three\n").status.success());
    let log = shims.home.prints(&["log", "--json"], 0);
    assert!(log.contains("echo one") && log.contains("echo two; echo three"), "{log}");
    assert_eq!(shims.home.store().verify().unwrap().faults, []);
}

/// Returns a command as Claude Code passes it to its shell, with names that change with each call.
fn claude(shims: &Shims, number: u32, command: &str) -> String {
    let snapshot = shims.home.path("home/.claude/shell-snapshots/snapshot-bash-1780808411821-wo7zkg.sh");
    let quoted = command.replace('\'', "'\"'\"'");
    format!(
        "source {} 2>/dev/null || true && shopt -u extglob 2>/dev/null || true && eval '{quoted}' < /dev/null && pwd -P >| \
         /tmp/claude-{number:04x}guard-cwd",
        snapshot.display()
    )
}

#[test]
fn a_command_in_an_agents_envelope_is_judged_and_the_whole_of_it_runs() {
    let shims = Shims::new(Home::new());
    std::fs::create_dir_all(shims.home.path("home/.claude/shell-snapshots")).unwrap();
    let snapshot = shims.home.path("home/.claude/shell-snapshots/snapshot-bash-1780808411821-wo7zkg.sh");
    std::fs::write(&snapshot, "shopt -s expand_aliases\nhello() { echo \"hello $1\"; }\n").unwrap();
    let run_it = |number: u32, command: &str| {
        let text = claude(&shims, number, command);
        let mut shell = shims.guard("bash");
        shell.args(["-c", &text]);
        run(shell)
    };
    let number = std::process::id() % 0x10000;
    let directory = format!("/tmp/claude-{number:04x}guard-cwd");
    let output = run_it(number, "hello 'it'; cd /usr");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"hello it\n"[..]), "{}", said(&output));
    assert_eq!(std::fs::read_to_string(&directory).unwrap(), "/usr\n");
    std::fs::remove_file(directory).unwrap();
    assert!(shims.home.prints(&["log"], 0).contains("hello 'it'; cd /usr"));
    let output = run_it(number, "git push --force origin main");
    assert_eq!(output.status.code(), Some(126));
    assert!(said(&output).contains("git.push-force"), "{}", said(&output));
    // A snapshot is judged as any other script.
    std::fs::write(&snapshot, "git push --force origin main\n").unwrap();
    assert_eq!(run_it(number, "echo hi").status.code(), Some(126));
    assert_eq!(shims.home.ran(), 0);
}

#[test]
fn a_command_in_an_envelope_that_is_not_known_is_shown_alone_where_that_hides_nothing() {
    let shims = Shims::new(Home::new());
    let run_it = |text: &str| {
        let mut shell = shims.guard("bash");
        shell.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", "s-1").args(["-c", text]);
        run(shell)
    };
    let shown = || {
        let log = shims.home.prints(&["log", "--json", "-n", "1"], 0);
        serde_json::from_str::<serde_json::Value>(log.lines().next_back().unwrap()).unwrap()["command"].clone()
    };
    let around = |inner: &str| format!("set +m; true && eval '{inner}' < /dev/null; code=$?; exit $code");
    // A harmless command runs without a message.
    let output = run_it(&around("echo hi; (exit 3)"));
    assert_eq!((output.status.code(), output.stdout.as_slice(), said(&output).as_str()), (Some(3), &b"hi\n"[..], ""));
    // A refused command is shown without the surrounding text, and the unknown form is reported once.
    let warning = "puts something around its commands that guard does not know";
    for is_first in [true, false] {
        let output = run_it(&around("git push --force origin main"));
        assert_eq!(output.status.code(), Some(126));
        assert_eq!(said(&output).contains(warning), is_first, "{}", said(&output));
        assert_eq!(shown(), "git push --force origin main");
    }
    // The whole line is shown if the command would mean something else on its own, or if the line does more.
    for whole in [
        "true; eval 'git push --force origin main'; git reset --hard HEAD~3".to_owned(),
        "git() { rm -rf ~; }; eval 'git push --force origin main'".to_owned(),
        "true; eval 'git push --force origin main' | cat".to_owned(),
    ] {
        assert_eq!(run_it(&whole).status.code(), Some(126), "{whole}");
        assert_eq!(shown(), whole.as_str());
    }
    assert_eq!(shims.home.ran(), 0);
}

#[test]
fn nobody_writes_an_agents_snapshot_but_the_agent() {
    let shims = Shims::new(Home::new());
    let mut shell = shims.guard("bash");
    shell.args(["-c", "echo 'rm -rf x' >> ~/.claude/shell-snapshots/snapshot-bash-1-a.sh"]);
    let output = run(shell);
    assert_eq!(output.status.code(), Some(126));
    assert!(said(&output).contains("effects.write-agent-snapshot"), "{}", said(&output));
}

#[test]
fn history_makes_no_other_command_of_what_was_judged() {
    for (name, history) in [("bash", "!-2 !-1:$ origin main"), ("zsh", "!-2 !-1:$ origin main")] {
        if !tools::is_installed(name) {
            continue;
        }
        let shims = Shims::new(Home::new());
        let mut shell = shims.guard(name);
        shell.arg("-i");
        let script = format!("git push\n: --force\n{history}\necho end\n");
        let output = fed(shell, script.as_bytes());
        let ran = std::fs::read_to_string(shims.home.path("ran")).unwrap_or_default();
        assert!(ran.lines().count() <= 1 && !ran.contains("force"), "{name}: {ran} {}", said(&output));
    }
}

#[test]
fn keys_of_an_editor_make_no_other_command_of_what_was_judged() {
    let shims = Shims::new(Home::new());
    let mut shell = shims.guard("bash");
    shell.arg("-i");
    // Without a line editor the control characters are ordinary characters: nothing is deleted or recalled from
    // history.
    let output = fed(shell, b"true push --force\n: \x15git \x12true\x01git\x0b push --force\necho end\n");
    assert_eq!(shims.home.ran(), 0, "{}", said(&output));
}

#[test]
fn a_shell_by_its_path_is_one_under_any_name() {
    let shims = Shims::new(Home::new());
    let shell = |argv0: &str, text: &str| {
        let mut command = shims.guard("bash");
        std::os::unix::process::CommandExt::arg0(&mut command, argv0);
        command.args(["-c", text]);
        run(command)
    };
    for argv0 in ["special", "guard", "check", "/x/other", "", "-special"] {
        assert_eq!(shell(argv0, "echo \"$0\"").stdout, format!("{argv0}\n").as_bytes(), "{argv0}");
        assert_eq!(shell(argv0, "git push --force origin main").status.code(), Some(126), "{argv0}");
    }
    assert_eq!(shims.home.ran(), 0);
}
