//! Tests the record's reports: searched by content, followed as it grows, counted, and exported in other formats.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::harness::home::{FLAGGED, Home};
use crate::queue::stage::{self, Asker, answer_card, person};

/// Creates a record with every kind of decision: unasked, refused, approved and denied in the queue, approved at a
/// terminal.
fn told() -> Home {
    let home = stage::home();
    home.run(&["true"]);
    home.run(&FLAGGED);
    let asker = Asker::new(&home, &["npm", "install", "some-pkg"]);
    stage::approve(&home, &asker.id);
    asker.ran();
    let asker = Asker::new(&home, &["npm", "install", "a,b\n\"c\"", "x=y|z"]);
    person(&home, &["deny", &asker.id, "--reason", "not = this | one"]).wait_exit();
    asker.refused("denied by a person");
    let mut terminal = person(&home, &[&["--"], &FLAGGED[..]].concat());
    answer_card(&mut terminal, "y");
    terminal.wait_exit();
    home
}

fn lines(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let printed = home.prints(arguments, 0);
    printed.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect()
}

#[test]
fn rows_are_found_by_any_words_in_them_by_session_and_by_what_nobody_confirmed() {
    let home = told();
    let commands = |arguments: &[&str]| -> Vec<String> {
        lines(&home, &[&["log", "--json"], arguments].concat())
            .iter()
            .map(|row| row["command"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert!(commands(&["--search", "PACKAGES.ADD"]).iter().all(|command| command.starts_with("npm install")));
    assert_eq!(commands(&["--search", "packages.add"]).len(), 2);
    assert_eq!(commands(&["--search", "not = this"]).len(), 2);
    assert_eq!(commands(&["--search", "no such words"]).len(), 0);
    let all = lines(&home, &["log", "--json"]);
    let of = all.iter().find(|row| row["command"] == "npm install some-pkg").unwrap();
    let session = of["session"].as_str().unwrap();
    assert_eq!(commands(&["--session", session]), ["npm install some-pkg", "npm install some-pkg"]);
    assert_eq!(commands(&["--session", of["root"].as_str().unwrap()]).len(), 2);
    // A command that a person approved is confirmed; one that ran by itself and is hard to undo is not.
    assert_eq!(commands(&["--unconfirmed"]).len(), 0);
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "mode = \"off\"\n").unwrap();
    home.run(&FLAGGED);
    home.run(&["true"]);
    assert_eq!(commands(&["--unconfirmed"]), ["git push --force origin main"]);
}

#[test]
fn the_log_is_followed_as_it_grows_and_keeps_nobody_from_writing() {
    let home = told();
    let before = lines(&home, &["log", "--json"]).len();
    let mut follower = home.guard(&["log", "--json", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(follower.stdout.take().unwrap()).lines();
    for _ in 0..before {
        shown.next().unwrap().unwrap();
    }
    for number in 0..5 {
        assert!(home.run(&["echo", &number.to_string()]).status.success());
    }
    for number in 0..5 {
        let row: Value = serde_json::from_str(&shown.next().unwrap().unwrap()).unwrap();
        assert_eq!(row["command"], format!("echo {number}"));
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert_eq!(home.store().verify().unwrap().faults, []);
}

#[test]
fn the_figures_say_how_much_was_asked_and_how_it_was_answered() {
    let home = told();
    let stats = &lines(&home, &["stats", "--json"])[0];
    let of = |name: &str| stats[name].as_u64().unwrap();
    assert_eq!((of("commands"), of("unasked"), of("refused"), of("asked")), (5, 1, 1, 3));
    assert_eq!((of("allowed"), of("denied"), of("unanswered"), of("at_terminal")), (2, 1, 0, 1));
    assert_eq!(stats["rules"]["packages.add"], serde_json::json!([2, 1]));
    let words = home.prints(&["stats"], 0);
    assert!(
        words.contains("5 commands. 1 ran without asking, 3 were asked about, 1 were refused without asking."),
        "{words}"
    );
    assert!(words.contains("Answers: 2 allowed, 1 denied, 0 unanswered."), "{words}");
    assert!(words.contains("of 1 at a terminal"), "{words}");
    assert!(Home::new().prints(&["stats"], 0).contains("0 commands"));
}

#[test]
fn a_day_is_told_in_sentences_and_ends_with_the_head_of_the_record() {
    let home = told();
    let day = home.prints(&["log", "day"], 0);
    let says = |words: &str| assert!(day.contains(words), "{words}: {day}");
    says(": 5 commands in ");
    says("`npm install some-pkg` (tier 2) ran (request ");
    says("A person denied `npm install 'a,b");
    says(": not = this | one.");
    says(" allowed `git push --force origin main` (tier 3) after ");
    says("`git push --force origin main` (tier 3) was refused because nobody could be asked: there is no terminal.");
    let kept = day.lines().last().unwrap().split(' ').nth(5).unwrap().to_owned();
    assert!(home.prints(&["verify", "--head", &kept], 0).contains("is part of this chain"));
    assert!(
        home.prints(&["log", "day", "2020-01-02"], 0).starts_with("Thursday 2020-01-02: 0 commands in 0 sessions.")
    );
}

#[test]
fn rows_of_one_session_are_shown_together_under_its_name() {
    let home = told();
    let log = home.prints(&["log", "--by-session"], 0);
    let heads: Vec<&str> = log.lines().filter(|line| line.starts_with("session ")).collect();
    let all = lines(&home, &["log", "--json"]);
    let sessions: std::collections::BTreeSet<&str> = all.iter().filter_map(|row| row["session"].as_str()).collect();
    assert_eq!(heads.len(), sessions.len(), "{log}");
    for session in sessions {
        let rows = all.iter().filter(|row| row["session"] == session).count();
        let count = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
        let of =
            |head: &&&str| head.contains(&format!("({session}), ")) || head.contains(&format!("session {session}, "));
        assert!(heads.iter().find(of).is_some_and(|head| head.ends_with(&count)), "{session} {count}: {log}");
    }
    assert_eq!(log.matches("npm install some-pkg").count(), 2);
}

#[test]
fn heads_in_whatever_was_printed_or_sent_are_held_against_the_chain() {
    let home = told();
    let count = lines(&home, &["export"]).len();
    let keep = |name: &str, text: &str| {
        let path = home.path(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let mut files = vec![
        keep("day", &home.prints(&["log", "day"], 0)),
        keep("verify", &home.prints(&["verify"], 0)),
        keep("verify.json", &home.prints(&["verify", "--json"], 0)),
    ];
    for file in &files {
        assert!(home.prints(&["verify", "--head", file], 0).contains("is part of this chain"), "{file}");
    }
    for form in ["jsonl", "csv", "ecs", "ocsf", "cef", "otlp"] {
        let file = keep(form, &home.prints(&["export", "--format", form], 0));
        let told = home.prints(&["verify", "--head", &file], 0);
        assert!(told.contains(&format!("All {count} heads that you kept are part of this chain.")), "{form}: {told}");
        files.push(file);
    }
    let none = home.guard(&["verify", "--head", &keep("none", "no heads here\n")]).output().unwrap();
    assert!(String::from_utf8_lossy(&none.stderr).contains("it contains no head"));
    // Another, equally intact record replaces the first.
    std::fs::remove_dir_all(home.data()).unwrap();
    for _ in 0..20 {
        home.run(&["true"]);
    }
    for file in &files {
        let told = home.prints(&["verify", "--head", file], 1);
        assert!(told.contains("is not part of this chain"), "{file}: {told}");
    }
}

#[test]
fn json_lines_are_the_rows_and_go_on_after_the_last_one() {
    let home = told();
    let all = lines(&home, &["export"]);
    assert_eq!(all, lines(&home, &["log", "--json", "-n", "0"]));
    let last = all[2]["id"].to_string();
    assert_eq!(lines(&home, &["export", "--after", &last]), all[3..]);
    assert_eq!(Home::new().prints(&["export"], 0), "");
}

#[test]
fn an_export_that_follows_tells_each_row_once_as_it_is_written() {
    let home = told();
    let before = home.prints(&["export", "--format", "cef"], 0).lines().count();
    let mut follower = home.guard(&["export", "--format", "cef", "--follow"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut shown = BufReader::new(follower.stdout.take().unwrap()).lines();
    for _ in 0..before {
        shown.next().unwrap().unwrap();
    }
    for number in 0..3 {
        assert!(home.run(&["echo", &number.to_string()]).status.success());
        assert!(shown.next().unwrap().unwrap().contains(&format!("cs1=echo {number} ")));
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn the_common_schema_of_elastic_says_what_was_decided() {
    let home = told();
    let rows = lines(&home, &["export", "--format", "ecs"]);
    let denied = rows.iter().find(|row| row["event"]["type"] == serde_json::json!(["start", "denied"])).unwrap();
    assert_eq!(denied["process"]["command_line"], "git push --force origin main");
    assert_eq!(denied["event"]["action"], "command-approval");
    assert_eq!(denied["event"]["outcome"], "failure");
    assert_eq!(denied["rule"]["id"], serde_json::json!(["git.push-force"]));
    let ran = rows.iter().find(|row| row["process"]["exit_code"] == 0).unwrap();
    // The unit is nanoseconds, but the record stores milliseconds, so that a quick command may take 0.
    assert_eq!(ran["event"]["duration"].as_u64().unwrap() % 1_000_000, 0);
    assert!(ran["@timestamp"].is_string());
    assert!(rows.iter().any(|row| row["event"]["action"] == "request-approved"));
    assert!(!home.prints(&["export", "--format", "ecs"], 0).contains("null"));
}

#[test]
fn the_open_schema_says_who_allowed_it() {
    let home = told();
    let rows = lines(&home, &["export", "--format", "ocsf"]);
    let dispositions: Vec<u64> =
        rows.iter().filter(|row| row["class_uid"] == 1007).map(|row| row["disposition_id"].as_u64().unwrap()).collect();
    // Allowed by rule, blocked, approved by a person, rejected by a person, approved by a person.
    assert_eq!(dispositions, [1, 2, 8, 25, 8]);
    for row in rows.iter().filter(|row| row["class_uid"] == 1007) {
        assert_eq!(row["type_uid"], 100_701);
        assert!((1..=5).contains(&row["severity_id"].as_u64().unwrap()) && row["time"].is_i64());
    }
}

#[test]
fn the_logs_of_opentelemetry_carry_the_decision_as_attributes() {
    let home = told();
    let rows = lines(&home, &["export", "--format", "otlp"]);
    assert_eq!(rows.len(), lines(&home, &["export"]).len());
    let record = |row: &Value| row["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0].clone();
    let of = |record: &Value, name: &str| {
        let all = record["attributes"].as_array().unwrap();
        all.iter().find(|one| one["key"] == name).map(|one| one["value"].clone()).unwrap_or_default()
    };
    let denied = rows.iter().map(record).find(|one| of(one, "guard.decision")["stringValue"] == "deny").unwrap();
    assert_eq!((denied["severityText"].as_str(), denied["eventName"].as_str()), (Some("WARN"), Some("guard.decision")));
    assert_eq!(denied["body"]["stringValue"], "git push --force origin main");
    assert_eq!(of(&denied, "guard.tier")["intValue"], "3");
    assert_eq!(of(&denied, "guard.rules")["stringValue"], "git.push-force");
    assert!(denied["timeUnixNano"].as_str().unwrap().parse::<u64>().unwrap() > 1_700_000_000_000_000_000);
    assert_eq!(rows[0]["resourceLogs"][0]["resource"]["attributes"][0]["value"]["stringValue"], "guard");
}

#[test]
fn lines_and_cells_keep_what_would_end_them() {
    let home = told();
    let cef = home.prints(&["export", "--format", "cef"], 0);
    assert_eq!(cef.lines().count(), lines(&home, &["export"]).len());
    assert!(cef.lines().all(|line| line.starts_with("CEF:0|guard|guard|")));
    let denied = cef.lines().find(|line| line.contains("request-denied")).unwrap();
    assert!(denied.contains(r"x\=y|z") && denied.contains(r"not \= this | one"), "{denied}");
    assert!(denied.contains(r"\n"), "{denied}");

    let csv = home.prints(&["export", "--format", "csv"], 0);
    let rows = records(&csv);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    let command = rows[0].iter().position(|name| name == "command").unwrap();
    assert!(rows.iter().any(|row| row[command].contains("a,b\\n\"c\"")), "{rows:?}");
    assert_eq!(rows.len(), lines(&home, &["export"]).len() + 1);
}

/// Parses CSV according to RFC 4180.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let row = rows.last_mut().unwrap();
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                row.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            letter => row.last_mut().unwrap().push(letter),
        }
    }
    rows.pop();
    rows
}
