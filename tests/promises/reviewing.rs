//! Tests the second factor as a person at a terminal sees it: the reviewer is a separate program, which guard queries
//! while the card is shown.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;

use crate::harness::home::Home;
use crate::harness::pty::Terminal;
use crate::queue::stage::apart;

/// An unknown package, of tier 2, whose installation can be undone.
const MIDDLE: [&str; 5] = ["--", "npm", "install", "--no-save", "some-unknown-pkg"];

/// Creates a home whose reviewer runs this script.
fn home(script: &str) -> Home {
    home_with(script, "")
}

fn home_with(script: &str, more: &str) -> Home {
    let home = Home::new();
    home.stand_in("npm", &format!("echo ran >> '{}'", home.path("ran").display()));
    home.stand_in("reviewer", script);
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    let program: PathBuf = home.path("bin/reviewer");
    let config = format!(
        "mode = \"smart\"\n{more}\n[thresholds]\ncli = 2.0\n[reviewer]\nprovider = \"program\"\nmodel = \"mill\"\nprogram = [{:?}]\n",
        program.display().to_string()
    );
    std::fs::write(home.path("home/.config/guard/config.toml"), config).unwrap();
    home
}

/// Starts guard with these arguments on a person's terminal.
fn seen(home: &Home, words: &[&str]) -> Terminal {
    let mut command = home.guard(words);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("XDG_RUNTIME_DIR", home.path("home"));
    Terminal::spawn(command)
}

fn says(verdict: &str) -> String {
    format!("cat > \"${{0%/*}}/told\"; echo '{{\"verdict\":\"{verdict}\",\"reason\":\"as the mill has it\"}}'")
}

fn row(home: &Home) -> serde_json::Value {
    let text = home.prints(&["log", "--json", "-n", "3"], 0);
    let mut rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.rfind(|row| row["kind"] == "intent").unwrap()
}

#[test]
fn an_approval_comes_before_the_card_and_nobody_is_asked() {
    let home = home(&says("approve"));
    let mut terminal = seen(&home, &MIDDLE);
    assert_eq!(terminal.wait_exit().code(), Some(0));
    assert!(!terminal.screen().contains("no answer means no"), "{}", terminal.screen());
    assert_eq!(home.ran(), 1);
    let row = row(&home);
    assert_eq!((row["settled_by"].as_str(), row["provenance"].as_str()), (Some("reviewer"), Some("llm")), "{row}");
    assert_eq!(row["exit"], 0, "{row}");
    let told = std::fs::read_to_string(home.path("bin/told")).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!((&told["tier"], &told["settles"]), (&serde_json::json!(2), &serde_json::json!(true)), "{told}");
}

#[test]
fn a_slow_reviewer_is_shown_to_be_asked_and_settles_the_card() {
    let home = home(&format!("sleep 2; {}", says("approve")));
    let mut terminal = seen(&home, &MIDDLE);
    terminal.wait_for("asking the reviewer · 1.");
    assert!(terminal.screen().contains("npm install"), "{}", terminal.screen());
    assert_eq!(terminal.wait_exit().code(), Some(0));
    assert!(terminal.screen().contains("allowed once by the reviewer"), "{}", terminal.screen());
    assert_eq!(home.ran(), 1);
}

#[test]
fn a_person_answers_without_waiting_for_it() {
    for (key, code, ran) in [("y", 0, 1), ("\x1b", 126, 0)] {
        let home = home(&format!("sleep 30; {}", says("approve")));
        let mut terminal = seen(&home, &MIDDLE);
        terminal.wait_for("asking the reviewer");
        terminal.read_question();
        terminal.send(key);
        assert_eq!((terminal.wait_exit().code(), home.ran()), (Some(code), ran), "{}", terminal.screen());
        assert_eq!(row(&home)["settled_by"], "person");
    }
}

#[test]
fn what_it_does_not_approve_comes_to_the_card_with_its_opinion_marked() {
    for (script, line) in [
        (says("warn"), "reviewer's opinion (mill): a person should decide: warn: as the mill has it"),
        ("echo nonsense".to_owned(), "no reviewer's opinion (mill): it printed no JSON"),
        (format!("{}; exit 1", says("approve")), "no reviewer's opinion (mill): it approved but failed"),
    ] {
        let home = home(&script);
        let mut terminal = seen(&home, &MIDDLE);
        terminal.wait_for("reviewer's opinion");
        let flat: String = terminal.screen().replace('┃', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(line), "{}", terminal.screen());
        assert!(flat.find("score").unwrap() < flat.find("reviewer's opinion").unwrap(), "after the facts: {flat}");
        terminal.read_question();
        terminal.send("y");
        assert_eq!((terminal.wait_exit().code(), home.ran()), (Some(0), 1));
    }
}

#[test]
fn what_is_high_is_a_persons_whatever_it_says() {
    let home = home(&says("approve"));
    let mut terminal = seen(&home, &["--", "git", "push", "--force", "origin", "main"]);
    terminal.wait_for("allow");
    terminal.read_question();
    terminal.send("\r");
    assert_eq!((terminal.wait_exit().code(), home.ran()), (Some(126), 0), "Enter is no");
}

#[test]
fn what_it_may_do_is_told_before_anything_runs() {
    let home = home(&says("approve"));
    let middle = "npm install --no-save some-unknown-pkg";
    for (command, role, words, sentence) in [
        (middle, "settles", "(the reviewer is asked first)", "Guard asks the reviewer first: if it approves"),
        (
            "git push --force",
            "advises",
            "(with the reviewer's opinion)",
            "opinion is shown on the card and does not decide",
        ),
    ] {
        let told: serde_json::Value = serde_json::from_str(&home.prints(&["check", "--json", command], 1)).unwrap();
        assert_eq!((&told["decision"], &told["reviewer"]), (&"ask".into(), &role.into()), "{told}");
        assert!(home.prints(&["check", command], 1).contains(words));
        let explained = home.prints(&["explain", command], 1).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(explained.contains(sentence), "{explained}");
    }
    for (command, code) in [("true", 0), ("mkfs.ext4 /dev/sda", 1)] {
        let told: serde_json::Value = serde_json::from_str(&home.prints(&["check", "--json", command], code)).unwrap();
        assert!(told["reviewer"].is_null(), "{told}");
        assert!(!home.prints(&["explain", command], code).contains("eviewer is asked"), "{command}");
    }
    assert!(!home.path("bin/told").exists(), "nobody was asked");
}

#[test]
fn a_program_that_nothing_is_known_of_is_a_persons_wherever_it_runs() {
    use crate::harness::program::write;
    let home = home(&says("approve"));
    write(&home.path("work/read"), "#!/bin/sh\nls\n");
    write(&home.path("work/runs"), "#!/bin/sh\nls\n./unknown\n");
    let middle = "npm install --no-save some-unknown-pkg";
    let role = |words: &[&str]| {
        let words: Vec<&str> = ["check", "--json"].iter().chain(words).copied().collect();
        let told: serde_json::Value = serde_json::from_str(&home.prints(&words, 1)).unwrap();
        assert_eq!(told["tier"], 2, "{told}");
        told["reviewer"].as_str().unwrap().to_owned()
    };
    for (with, wanted) in [
        ("./read", "settles"),
        ("./unknown", "advises"),
        ("./runs", "advises"),
        ("bash runs", "advises"),
        ("bash -c './unknown; ./read'", "advises"),
        ("python3 -c 'import os; os.system(\"./unknown\")'", "advises"),
        ("eval \"./unknown; python3 -c 'import os; os.remove(\\\"x\\\")'\"", "advises"),
    ] {
        assert_eq!(role(&[&format!("{with}; {middle}")]), wanted, "{with}");
    }
    // Each part of a tool's input is considered separately.
    for (with, wanted) in [("./read", "settles"), ("./unknown", "advises")] {
        let input = serde_json::json!({ "command": format!("{with}; git branch -f x y"), "python_code": "import os\nos.getcwd()" });
        assert_eq!(role(&["--tool", "run_it", "--input", &input.to_string()]), wanted, "{with}");
    }
}

#[test]
fn a_refusal_where_nobody_sits_says_why_the_reviewer_gave_no_opinion() {
    let home = home("echo nonsense");
    let refused = home.guard(&MIDDLE).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("guard: no reviewer's opinion (mill): it printed no JSON"), "{said}");
}

#[test]
fn what_is_wrong_with_the_table_of_the_reviewer_is_said_and_no_more() {
    let home = home(&says("approve"));
    let path = home.path("home/.config/guard/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}timeout = 120\n")).unwrap();
    let out = home.guard(&["reviewer", "test"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("reviewer.timeout: expected 1 to 60, found 120"), "{said}");
    let told = home.prints(&["check", &MIDDLE[1..].join(" ")], 1);
    assert!(!told.contains("no table [reviewer]"), "{told}");
}

#[test]
fn of_the_shipped_set_a_model_that_approves_all_could_settle_only_the_middle() {
    let home = home(&says("approve"));
    let text = include_str!("../../patterns/reviewer/evaluation.toml");
    let set: std::collections::BTreeMap<String, Vec<String>> = toml::from_str(text).unwrap();
    let commands: Vec<&String> = set.values().flatten().collect();
    let mut child = home.guard(&["check", "--batch", "--origin", "agent"]);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines: String =
        commands.iter().map(|command| format!("{}\n", serde_json::json!({ "command": command }))).collect();
    let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<serde_json::Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), commands.len());
    let settled: Vec<_> = rows.iter().filter(|row| row["reviewer"] == "settles").collect();
    assert!(!settled.is_empty());
    for row in settled {
        let is_middle = row["tier"].as_u64().unwrap() <= 2 && row["score"].as_f64().unwrap() < 3.0;
        assert!(is_middle && row["reversibility"] != "irreversible", "{row}");
    }
    assert!(rows.iter().filter(|row| row["tier"] == 4).all(|row| row["reviewer"].is_null()));
}

#[test]
fn a_call_for_somebody_is_a_persons_decision_and_help_waits_for_no_machine() {
    let home = home_with(&says("approve"), "review = [\"*\"]");
    for name in ["curl", "xdg-open"] {
        home.stand_in(name, &format!("echo ran >> '{}'", home.path("ran").display()));
    }
    let mut terminal = seen(&home, &["--", "xdg-open", "tel:988"]);
    terminal.wait_for("no answer means no");
    assert!(!terminal.screen().contains("machine"), "{}", terminal.screen());
    terminal.read_question();
    terminal.send("\x1b");
    assert_eq!((terminal.wait_exit().code(), home.ran()), (Some(126), 0), "{}", terminal.screen());
    let row = row(&home);
    assert!(row["review"].is_null() && row["settled_by"] == "person", "{row}");
    let nobody = home.guard(&["--", "xdg-open", "tel:988"]).output().unwrap();
    assert_eq!((nobody.status.code(), home.ran()), (Some(126), 0));
    assert!(home.run(&["curl", "https://988lifeline.org/"]).status.success());
    assert_eq!(home.ran(), 1);
    assert!(!home.path("bin/told").exists(), "nothing of it goes to the reviewer");
}

#[test]
fn what_a_client_files_as_a_crisis_waits_for_no_machine() {
    let home = home(&says("approve"));
    let submit = |crisis: bool| {
        let wanted = serde_json::json!({
            "argv": MIDDLE[1..], "cwd": home.path("work"), "client": "ci", "timeout_secs": 1, "crisis": crisis,
        });
        let mut command = home.guard(&["submit"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // The request exists as long as its client.
        let mut client = child.stdin.take().unwrap();
        writeln!(client, "{wanted}").unwrap();
        let output = child.wait_with_output().unwrap();
        drop(client);
        let text = String::from_utf8(output.stdout).unwrap();
        let told: serde_json::Value = serde_json::from_str(text.lines().next_back().unwrap()).unwrap();
        (told["status"].clone(), told["settled_by"].clone())
    };
    assert_eq!(submit(true), ("deny".into(), "timeout".into()), "nobody is there");
    assert!(!home.path("bin/told").exists());
    assert_eq!(submit(false), ("allow".into(), "reviewer".into()));
    assert!(home.path("bin/told").exists());
}

#[test]
fn a_command_that_needs_no_review_asks_nobody() {
    let home = home("echo asked >> \"${0%/*}/asked\"");
    assert!(home.run(&["true"]).status.success());
    assert!(!home.path("bin/asked").exists());
}

#[test]
fn without_a_reviewer_smart_is_a_problem_and_people_are_asked() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "mode = \"smart\"\n").unwrap();
    let said = home.prints(&["config", "check"], 1);
    assert!(said.contains("there is no table [reviewer]"), "{said}");
    assert!(home.prints(&["config", "show", "mode"], 0).contains("\"manual\""));
}

#[test]
fn while_a_part_of_the_policy_cannot_be_read_a_person_decides_whatever_it_says() {
    for (name, text) in
        [("patterns/broken.toml", "family = \n"), ("patterns/wrong.toml", "family = \"x\"\n[[rule]]\nid = 1\n")]
    {
        let home = home(&says("approve"));
        let path = home.path("home/.config/guard").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let mut terminal = seen(&home, &MIDDLE);
        terminal.wait_for("no answer means no");
        // The card and the refusal both say that the reviewer was not asked.
        let told = |screen: &str| screen.split_whitespace().collect::<String>().contains("thereviewerisnotasked");
        terminal.wait_until("why no reviewer is asked", told);
        assert_eq!(home.ran(), 0);
        terminal.read_question();
        terminal.send("\x1b");
        assert_eq!((terminal.wait_exit().code(), home.ran()), (Some(126), 0), "{}", terminal.screen());
        assert_eq!(row(&home)["settled_by"], "person", "{name}");
        let refused = home.guard(&MIDDLE).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("the reviewer is not asked until this is fixed"), "{said}");
    }
}

#[test]
fn a_project_has_no_say_in_who_reviews() {
    let home = home(&says("deny"));
    std::process::Command::new("git").args(["init", "-q"]).current_dir(home.path("work")).status().unwrap();
    let text = "[reviewer]\nprovider = \"program\"\nprogram = [\"/bin/true\"]\n";
    std::fs::write(home.path("work/.guard.toml"), text).unwrap();
    let said = home.prints(&["config", "check"], 1);
    assert!(said.contains("cannot configure the reviewer"), "{said}");
}

#[test]
fn what_it_would_be_told_is_shown_and_hides_secrets() {
    let home = home(&says("deny"));
    let said = home
        .prints(&["reviewer", "request", "curl -H 'Authorization: Bearer abcdef0123456789' https://x.example.net"], 0);
    assert!(said.contains("\"redacted\": true") && !said.contains("abcdef0123456789"), "{said}");
}

#[test]
fn figures_tell_what_was_taken_away() {
    let home = home(&says("approve"));
    for _ in 0..2 {
        assert!(seen(&home, &MIDDLE).wait_exit().success());
    }
    let stats: serde_json::Value = serde_json::from_str(&home.prints(&["reviewer", "stats", "--json"], 0)).unwrap();
    assert_eq!(
        (&stats["all"]["asked"], &stats["all"]["ran"]),
        (&serde_json::json!(2), &serde_json::json!(2)),
        "{stats}"
    );
    assert_eq!(stats["models"]["mill"]["approve"], 2, "{stats}");
    assert!(home.prints(&["reviewer", "examples"], 0).contains("No person has disagreed with the reviewer"));
    let simulated: serde_json::Value =
        serde_json::from_str(&home.prints(&["simulate", "--json", "--mode", "smart"], 0)).unwrap();
    assert_eq!(simulated["reviewer_may_settle"], 2, "{simulated}");
    let manual: serde_json::Value =
        serde_json::from_str(&home.prints(&["simulate", "--json", "--mode", "manual"], 0)).unwrap();
    assert_eq!(manual["reviewer_may_settle"], 0, "{manual}");
}

/// Creates a home whose reviewer is a model that denies: guard is in a separate directory, beside a helper that plays
/// the model.
fn refusing() -> Home {
    let home = home_with("true", "");
    let own = home.path("bin/guard");
    if std::fs::hard_link(env!("CARGO_BIN_EXE_guard"), &own).is_err() {
        crate::harness::program::copy(env!("CARGO_BIN_EXE_guard"), &own);
    }
    let digest = r#"digest=$(sed 's/.*"digest":"\([0-9a-f]\{8\}\).*/\1/')"#;
    let opinion = r#"{"v":1,"opinion":{"says":"DENY","reason":"a name like another","by":"mill","about":"'$digest'"}}"#;
    home.stand_in("guard-gateway", &format!("{digest}\necho '{opinion}'"));
    let config = "mode = \"smart\"\n[thresholds]\ncli = 2.0\n[reviewer]\nprovider = \"ollama\"\nmodel = \"mill\"\n";
    std::fs::write(home.path("home/.config/guard/config.toml"), config).unwrap();
    home
}

/// Starts the guard of [`refusing`] on a terminal.
fn seen_beside(home: &Home, words: &[&str]) -> Terminal {
    let mut command = home.program(home.path("bin/guard").to_str().unwrap());
    command.args(words).env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("XDG_RUNTIME_DIR", home.path("home"));
    Terminal::spawn(command)
}

#[test]
fn a_no_is_overruled_by_a_person_with_words_alone() {
    for (typed, runs) in [("y", false), ("I know this package", true)] {
        let home = refusing();
        let mut terminal = seen_beside(&home, &MIDDLE);
        terminal.wait_for("The reviewer denied it");
        terminal.read_question();
        terminal.type_slowly(typed);
        terminal.send("\r");
        let code = if runs { 0 } else { 126 };
        assert_eq!((terminal.wait_exit().code(), home.ran()), (Some(code), usize::from(runs)), "{}", terminal.screen());
        let row = row(&home);
        assert_eq!(
            (row["settled_by"].as_str(), row["review"]["says"].as_str()),
            (Some("person"), Some("DENY")),
            "{row}"
        );
        if runs {
            assert!(row["words"].as_str().unwrap().contains("I know this package"), "{row}");
        }
    }
}

#[test]
fn a_no_where_nobody_sits_is_overruled_once_from_elsewhere_and_then_used_up() {
    let home = refusing();
    let run = || {
        let mut command = home.program("sh");
        command.args(["-c", "\"$0\" \"$@\"; exit $?"]).arg(home.path("bin/guard")).args(MIDDLE);
        apart(command).env("GUARD_WAIT", "20").output().unwrap()
    };
    let refused = run();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), home.ran()), (Some(126), 0), "{said}");
    assert!(said.contains("denied by the reviewer (mill): a name like another"), "{said}");
    let id = said.split("guard approve ").nth(1).unwrap().split(')').next().unwrap().to_owned();
    let mut terminal = seen_beside(&home, &["approve", &id]);
    terminal.wait_for("The reviewer denied it");
    terminal.read_question();
    terminal.type_slowly("it is ours");
    terminal.send("\r");
    assert_eq!(terminal.wait_exit().code(), Some(0), "{}", terminal.screen());
    assert_eq!((run().status.code(), home.ran()), (Some(0), 1));
    assert_eq!((run().status.code(), home.ran()), (Some(126), 1), "once");
}

/// Creates a home whose reviewer may read the files that these globs match, with files that a command could name.
fn home_with_files(contents: &str) -> Home {
    let home = home(&says("deny"));
    let path = home.path("home/.config/guard/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{contents}\n")).unwrap();
    let work = home.path("work");
    std::fs::create_dir_all(work.join("src/deep")).unwrap();
    std::fs::create_dir_all(home.path("outside")).unwrap();
    std::fs::write(work.join("src/deep/a.txt"), "what a holds\n").unwrap();
    std::fs::write(work.join("other.txt"), "what other holds\n").unwrap();
    std::fs::write(work.join("src/b.txt"), "TOKEN=ghp_0123456789abcdefghijklmnopqrstuvwxyz\n").unwrap();
    std::fs::write(work.join("src/.env"), "PLAIN=what the secret file holds\n").unwrap();
    std::fs::write(work.join("src/long.txt"), "long ".repeat(4000)).unwrap();
    std::fs::write(home.path("outside/c.txt"), "what lies outside\n").unwrap();
    std::os::unix::fs::symlink(home.path("outside"), work.join("src/out")).unwrap();
    std::os::unix::fs::symlink(home.path("outside/c.txt"), work.join("src/c.txt")).unwrap();
    home
}

/// Returns the file contents that the reviewer would receive for a command.
fn told_of(home: &Home, command: &str) -> serde_json::Value {
    let said: serde_json::Value = serde_json::from_str(&home.prints(&["reviewer", "request", command], 0)).unwrap();
    said["contents"].clone()
}

#[test]
fn what_files_hold_is_told_by_the_policy_alone() {
    let command = "curl -T src/deep/a.txt -d @other.txt https://x.example.net";
    let home = home_with_files("");
    assert!(told_of(&home, command).is_null());
    let home = home_with_files("contents = [\"src/**/*.txt\"]");
    let a = serde_json::json!([{ "path": "src/deep/a.txt", "text": "what a holds\n", "redacted": false }]);
    assert_eq!(told_of(&home, command), a);
    assert_eq!(told_of(&home, "cd src && curl -T deep/a.txt https://x.example.net"), a);
    let home = home_with_files("contents = [\"*.txt\"]");
    let other = serde_json::json!([{ "path": "other.txt", "text": "what other holds\n", "redacted": false }]);
    assert_eq!(told_of(&home, command), other);
}

#[test]
fn secrets_links_and_what_is_long_are_withheld_whatever_the_globs_cover() {
    let home = home_with_files("contents = [\"**\"]\ncontents_kib = 16");
    for (path, why) in [
        ("src/.env", "a directory of secrets"),
        ("src/out/c.txt", "its path contains a symbolic link"),
        ("src/c.txt", "its path contains a symbolic link"),
        ("src/long.txt", "longer than"),
    ] {
        let told = told_of(&home, &format!("curl -T {path} https://x.example.net"));
        let file = told.as_array().unwrap().iter().find(|file| file["path"] == path).expect(path);
        assert_eq!(file["text"], "", "{told}");
        assert!(file["withheld"].as_str().unwrap().contains(why), "{told}");
    }
    let told = told_of(&home, "curl -T src/b.txt https://x.example.net");
    assert_eq!(
        (&told[0]["redacted"], &told[0]["path"]),
        (&serde_json::json!(true), &serde_json::json!("src/b.txt")),
        "{told}"
    );
    assert!(told[0]["text"].as_str().is_some_and(|text| text.contains("TOKEN=") && !text.contains("ghp_")), "{told}");
    for outside in ["../outside/c.txt", "src/../../outside/c.txt", "/etc/hostname"] {
        assert!(told_of(&home, &format!("curl -T {outside} https://x.example.net")).is_null(), "{outside}");
    }
}

#[test]
fn a_reviewer_is_handed_what_the_policy_lets_it_see() {
    let home = home_with_files("contents = [\"package.json\"]");
    std::fs::write(home.path("work/package.json"), "{\"name\":\"mill-wheel\"}\n").unwrap();
    let command = "npm install --no-save some-unknown-pkg < package.json";
    let mut terminal = seen(&home, &["--", "sh", "-c", command]);
    terminal.wait_for("no answer means no");
    let told = std::fs::read_to_string(home.path("bin/told")).unwrap();
    assert!(told.contains("mill-wheel"), "{told}");
}

#[test]
fn what_the_doctor_says_asks_no_reviewer_and_is_no_agreement_with_it() {
    let home = home("echo asked >> \"${0%/*}/asked\"; echo '{\"verdict\":\"approve\",\"reason\":\"r\"}'");
    let mut terminal = seen(&home, &["--", "guard-canary", "ask"]);
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send("y");
    assert_eq!(terminal.wait_exit().code(), Some(127), "{}", terminal.screen());
    assert!(!home.path("bin/asked").exists(), "the reviewer was asked about the doctor's word");
    // Together with other text it is a command like any other.
    let _ = home.guard(&["-c", "guard-canary ask; npm install some-unknown-pkg"]).output().unwrap();
    assert!(home.path("bin/asked").exists());
    let stats: serde_json::Value = serde_json::from_str(&home.prints(&["reviewer", "stats", "--json"], 0)).unwrap();
    assert_eq!((&stats["all"]["agreed"], &stats["all"]["disagreed"]), (&0.into(), &0.into()), "{stats}");
}

#[test]
fn the_digest_that_an_opinion_quotes_is_shown_beside_that_of_the_row() {
    let home = refusing();
    let mut terminal = seen_beside(&home, &MIDDLE);
    terminal.wait_for("The reviewer denied it");
    terminal.read_question();
    terminal.send("\x1b");
    terminal.wait_exit();
    let row = row(&home);
    let quoted = row["review"]["about"].as_str().unwrap();
    let shown = home.prints(&["log", "show", &row["id"].to_string()], 0);
    assert!(!quoted.is_empty() && shown.contains(&format!("{quoted} (told and quoted)")), "{shown}");
}

#[test]
fn examples_lie_beside_the_configuration_that_holds() {
    let home = refusing();
    let mut terminal = seen_beside(&home, &MIDDLE);
    terminal.wait_for("The reviewer denied it");
    terminal.read_question();
    terminal.type_slowly("it is ours");
    terminal.send("\r");
    assert_eq!(terminal.wait_exit().code(), Some(0), "{}", terminal.screen());
    let row = row(&home)["id"].to_string();
    let listed = home.prints(&["reviewer", "examples"], 0);
    assert!(
        listed.contains("reviewer DENY: ")
            && listed.contains("person allow: against the reviewer's denial: it is ours\n"),
        "{listed}"
    );
    let mut terminal = seen(&home, &["reviewer", "examples", "accept", &row]);
    terminal.wait_for("What should the reviewer learn");
    assert!(terminal.screen().contains("it is ours"), "{}", terminal.screen());
    terminal.send("ours is fine\n");
    terminal.wait_for("is now an example");
    assert!(home.path("home/.config/guard/reviewer-examples.toml").exists());
}

#[test]
fn a_session_in_which_nobody_sits_hears_once_of_a_rule_that_lends_the_reviewer_its_leave() {
    const RULES: &str = "family = \"own\"\nabout = \"Ours.\"\n[[rule]]\nid = \"own.ship\"\ntier = 2\nyolo = true\n\
                         reversibility = \"irreversible\"\nreason = \"It is shipped.\"\nprogram = \"ship\"\n\
                         bad = [\"ship\"]\ngood = [\"ls ship\"]\n";
    let with_rule = || {
        let home = home(&says("approve"));
        home.stand_in("ship", "true");
        let patterns = home.path("home/.config/guard/patterns");
        std::fs::create_dir_all(&patterns).unwrap();
        std::fs::write(patterns.join("own.toml"), RULES).unwrap();
        home
    };
    let warning = "yolo of own.ship lets the reviewer decide commands that cannot be undone";
    let home = with_rule();
    let push = "\"$0\" -c 'git push --force origin main'";
    let script = format!("\"$0\" -c 'ship now' && echo shipped; {push}; {push}; exit 0");
    let output = crate::queue::stage::in_session(&home, &script).env("GUARD_WAIT", "0").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "shipped\n", "{said}");
    assert_eq!(said.matches(warning).count(), 1, "{said}");
    assert_eq!(said.matches("refused").count(), 2, "{said}");

    // The same through a hook.
    let home = with_rule();
    let told = |command: &str| {
        let call = serde_json::json!({ "session_id": "s1", "cwd": home.path("work"), "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": { "command": command } });
        let mut hook = apart(home.guard(&["hook", "--agent", "claude"]));
        hook.env("GUARD_WAIT", "0").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = hook.spawn().unwrap();
        child.stdin.take().unwrap().write_all(call.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    assert!(!told("ship now").contains("deny"));
    let first = told("git push --force origin main");
    assert!(first.contains(warning), "{first}");
    let second = told("git push --force origin main");
    assert!(second.contains("refused") && !second.contains("yolo"), "{second}");
}
