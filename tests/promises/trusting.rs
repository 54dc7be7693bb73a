//! Tests trust in a directory or a session, which reduces questions, and its limits.

use std::time::Duration;

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::Terminal;
use crate::queue::stage::{self, apart, person, shell};

/// Runs a verb on a person's terminal and answers its one question.
#[track_caller]
fn says(home: &Home, arguments: &[&str], answer: &str) -> String {
    let mut terminal = person(home, arguments);
    terminal.wait_for("[y/N]");
    terminal.settle(Duration::from_millis(100));
    terminal.send(answer);
    terminal.wait_exit();
    terminal.screen()
}

/// Reports whether a program without a person at its terminal may run this command in the working directory.
fn runs(home: &Home, words: &[&str]) -> bool {
    let mut command = shell(home, &[&["--"], words].concat());
    command.env("GUARD_WAIT", "0");
    command.output().unwrap().status.success()
}

#[test]
fn in_a_trusted_directory_tier_2_runs_and_tier_3_is_asked_about() {
    let home = stage::home();
    let medium = ["npm", "install", "some-pkg"];
    // root's additional half a point would hide the effect.
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    let config = home.path("home/.config/guard/config.toml");
    std::fs::write(&config, "# mine\n[weights]\nroot = 0.0\n").unwrap();
    assert!(!runs(&home, &medium));
    let screen = says(&home, &["trust"], "\r");
    // Lines break between words only.
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("would score 0.5 lower for every requester, and many would"), "{screen}");
    assert!(screen.contains("not trusted"), "{screen}");
    assert!(!runs(&home, &medium));
    let screen = says(&home, &["trust", "."], "y\r");
    assert!(screen.contains("is now trusted"), "{screen}");
    let work = home.path("work");
    let text = std::fs::read_to_string(&config).unwrap();
    assert_eq!(text, format!("trusted_directories = [\"{}\"]\n# mine\n[weights]\nroot = 0.0\n", work.display()));
    assert_eq!(home.prints(&["trust", "--list"], 0), format!("{}\n", work.display()));
    assert!(runs(&home, &medium));
    assert!(!runs(&home, &FLAGGED));
    let mut elsewhere = shell(&home, &[&["--"], &medium[..]].concat());
    elsewhere.env("GUARD_WAIT", "0").current_dir(home.path("bin"));
    assert!(!elsewhere.output().unwrap().status.success());
    let mut terminal = person(&home, &["trust", "--remove", work.to_str().unwrap()]);
    terminal.wait_exit();
    assert!(!runs(&home, &medium));
    assert!(std::fs::read_to_string(&config).unwrap().starts_with("trusted_directories = []\n# mine\n"));
}

#[test]
fn a_yes_that_was_typed_before_the_question_does_not_answer_it() {
    let home = stage::home();
    let typed = home.path("typed");
    let mut command = home.program("sh");
    command
        .args(["-c", r#"until [ -e "$1" ]; do sleep 0.02; done; exec "$0" trust ."#, env!("CARGO_BIN_EXE_guard")])
        .arg(&typed);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn(command);
    // The keys are in the terminal's input queue before guard starts.
    terminal.send("y\ryes\r");
    terminal.wait_for("yes");
    std::fs::write(&typed, "").unwrap();
    terminal.wait_for("[y/N]");
    terminal.settle(Duration::from_millis(300));
    assert_eq!(home.prints(&["trust", "--list"], 0), "No trusted directories.\n");
    terminal.send("\r");
    terminal.wait_exit();
    assert!(terminal.screen().contains("not trusted"), "{}", terminal.screen());
}

#[test]
fn a_home_is_not_trusted_as_a_whole_nor_by_who_is_no_person() {
    let home = stage::home();
    for directory in ["/", home.path("home").to_str().unwrap(), home.path("").to_str().unwrap(), "/nowhere"] {
        let mut terminal = person(&home, &["trust", directory]);
        terminal.wait_exit();
        assert!(terminal.screen().contains("refused"), "{}", terminal.screen());
    }
    assert_eq!(apart(home.guard(&["trust", "."])).output().unwrap().status.code(), Some(126));
    let slip = home.guard(&["trust", "list"]).output().unwrap();
    let told = String::from_utf8(slip.stderr).unwrap();
    assert_eq!(told, "guard: refused: no directory list; did you mean guard trust --list?\n");
    let mut marked = home.guard(&["trust", "."]);
    marked.env("TERM", "xterm").env("CLAUDECODE", "1");
    let mut terminal = Terminal::spawn(marked);
    assert_eq!(crate::harness::pty::ended(terminal.wait_exit()), "exit 126");
    assert!(!home.path("home/.config/guard/config.toml").exists());
    assert_eq!(home.prints(&["trust", "--list"], 0), "No trusted directories.\n");
}

#[test]
fn in_a_trusted_session_tier_2_runs_unasked_until_it_is_taken_back() {
    let home = stage::home();
    // One session that asks repeatedly: each line of its input is a command.
    let script = "while read -r line; do \"$0\" -- $line </dev/null; echo $? >>codes; done";
    let mut command = home.program("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_guard")]).env("GUARD_WAIT", "60");
    command.stdin(std::process::Stdio::piped());
    let mut command = apart(command);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut asks = |line: &str| std::io::Write::write_all(&mut stdin, format!("{line}\n").as_bytes()).unwrap();
    let codes = |count: usize| loop {
        let text = std::fs::read_to_string(home.path("work/codes")).unwrap_or_default();
        if text.lines().count() >= count {
            break text.lines().last().unwrap().to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let waiting = || loop {
        let waiting = stage::all(&home).into_iter().find(|one| one.state.name() == "waiting");
        match waiting {
            Some(waiting) => break waiting,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    asks("npm install one");
    let first = waiting();
    let screen = says(&home, &["session", "trust", &first.session], "y\r");
    assert!(screen.contains("Added grant "), "{screen}");
    stage::approve(&home, &first.id);
    assert_eq!(codes(1), "0");
    asks("npm install two");
    assert_eq!(codes(2), "0");
    assert_eq!(home.ran(), 2);
    // Tier 3 still waits, and another session is not trusted.
    asks("git push --force origin main");
    let high = waiting();
    person(&home, &["deny", &high.id]).wait_exit();
    assert_eq!(codes(3), "126");
    assert!(!runs(&home, &["npm", "install", "three-unheard-of"]));
    // After a denial similar commands are asked about, and after the trust is revoked every command is.
    let grants = home.prints(&["allow", "list", "--json"], 0);
    let id = grants.split(r#""id":""#).nth(1).unwrap().split('"').next().unwrap();
    assert!(grants.contains(r#"{"kind":"upto","tier":2}"#), "{grants}");
    assert!(home.prints(&["allow", "list"], 0).contains("up to tier: 2"));
    home.prints(&["allow", "remove", id], 0);
    asks("npm install four");
    let last = waiting();
    person(&home, &["deny", &last.id]).wait_exit();
    assert_eq!(codes(4), "126");
    drop(stdin);
    child.wait().unwrap();
    assert_eq!(home.ran(), 2);
}

/// Allows a command at a terminal.
fn allow(home: &Home, words: &[&str]) {
    let mut terminal = person(home, &[&["--"], words].concat());
    crate::queue::stage::answer_card(&mut terminal, "y");
    terminal.wait_exit();
}

/// A home in which a person at a terminal is asked about tier 2, with files in `d1` and beside it.
fn home_with_files() -> Home {
    let home = stage::home();
    // A grant is bound to what a script does, which must stay in the directory too.
    ["chmod", "curl", "scp"].iter().for_each(|name| home.stand_in(name, "exit 0"));
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "thresholds.cli = 2.0\n").unwrap();
    std::fs::create_dir_all(home.path("work/d1")).unwrap();
    for name in ["d1/f0", "d1/f1", "d1/f2", "d1/f3", "f4", "../f5"] {
        std::fs::write(home.path("work").join(name), "").unwrap();
    }
    home
}

#[test]
fn what_was_allowed_ten_times_is_offered_as_a_grant_and_runs_unasked_once_it_is_given() {
    let home = home_with_files();
    let nothing = "No command was allowed 10 times in 30 days without a denial.\n";
    for number in 0..9 {
        allow(&home, &["chmod", "o+w", &format!("d1/f{number}")]);
    }
    assert_eq!(home.prints(&["learn"], 0), nothing);
    allow(&home, &["chmod", "o+w", "d1/last"]);
    let directory = home.path("work/d1").display().to_string();
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let offers = flat(&home.prints(&["learn"], 0));
    assert!(offers.contains("1. You allowed it 10 times in 30 days"), "{offers}");
    let offered =
        format!("Guard would run without asking: `chmod o+w <path>` with any <path> inside {directory}, if only");
    assert!(offers.contains(&offered), "{offers}");
    assert!(!runs(&home, &["chmod", "o+w", "d1/next"]));
    assert_eq!(apart(home.guard(&["learn", "accept", "1"])).output().unwrap().status.code(), Some(126));
    let screen = says(&home, &["learn", "accept", "1"], "\r");
    assert!(screen.contains("grant not added"), "{screen}");
    let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| line.starts_with("chmod o+w ")).collect();
    let [inside @ .., outside] = &lines[..] else { panic!("{screen}") };
    assert_eq!(inside.len(), 3, "{screen}");
    assert!(inside.iter().all(|line| line.starts_with("chmod o+w d1/f")), "{screen}");
    assert!(screen.contains("still ask about"), "{screen}");
    for line in &lines {
        assert!(!runs(&home, &line.split(' ').collect::<Vec<_>>()), "{line}");
    }
    let screen = says(&home, &["learn", "accept", "1"], "y\r");
    assert!(screen.contains("Added grant "), "{screen}");
    for line in inside {
        assert!(runs(&home, &line.split(' ').collect::<Vec<_>>()), "{line}");
    }
    assert!(!runs(&home, &outside.split(' ').collect::<Vec<_>>()), "{outside}");
    assert!(runs(&home, &["chmod", "o+w", "d1/next"]));
    for other in [["chmod", "o+w", "f4"], ["chmod", "o+w", "d1/../../f5"], ["chmod", "777", "d1/f1"]] {
        assert!(!runs(&home, &other), "{other:?}");
    }
    assert_eq!(home.prints(&["learn"], 0), nothing);
    assert!(home.prints(&["allow", "list"], 0).contains(&format!("inside {directory}")));
}

#[test]
fn what_differs_in_a_host_is_not_offered_as_a_shape_and_a_repeated_command_stays_one_beside_a_shape() {
    let home = home_with_files();
    for number in 0..10 {
        allow(&home, &["curl", "-sm1", &format!("http://h{number}.invalid/")]);
        allow(&home, &["chmod", "777", "f4"]);
        allow(&home, &["chmod", "777", &format!("d1/f{number}")]);
    }
    let offers = home.prints(&["learn"], 0);
    assert!(!offers.contains("curl"), "{offers}");
    assert!(offers.contains("exactly `chmod 777 f4`"), "{offers}");
    assert!(offers.contains("`chmod 777 <path>`") && offers.contains("work/d1"), "{offers}");
}

#[test]
fn a_grant_of_a_shape_says_what_it_covers_or_why_there_is_none() {
    let home = home_with_files();
    let add = ["allow", "add", "--always", "--shape"];
    for (command, why) in [
        ("pip install foolib", "it names no file that may be another"),
        ("git push --force-with-lease origin feature", "it names no file that may be another"),
        ("mv f4 f6", "guard asks about no such command"),
        ("chmod o+w ../f5", "the command names a path outside the directory of the grant"),
    ] {
        let mut terminal = person(&home, &[&add[..], &[command]].concat());
        terminal.wait_exit();
        let screen = terminal.screen().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(screen.contains(why), "{command}: {screen}");
    }
    let screen = says(&home, &[&add[..], &["scp d1/f1 host1:/tmp/"]].concat(), "y\r");
    assert!(screen.contains("Added grant "), "{screen}");
    assert!(screen.contains("`scp <path> host1:/tmp/`") && screen.contains(" scp d1/f2 host1:/tmp/"), "{screen}");
    assert!(runs(&home, &["scp", "f4", "host1:/tmp/"]));
    for other in [["scp", "f4", "evil:/tmp/"], ["scp", "../f5", "host1:/tmp/"], ["scp", "f4", "host1:/etc/passwd"]] {
        assert!(!runs(&home, &other), "{other:?}");
    }
}

#[test]
fn one_command_that_was_repeated_is_offered_as_that_command() {
    let home = stage::home();
    home.stand_in("git", "exit 0");
    for _ in 0..10 {
        allow(&home, &["git", "push", "--force", "origin"]);
    }
    let offers = home.prints(&["learn"], 0);
    assert!(offers.contains("Guard would run without asking: exactly `git push --force origin`"), "{offers}");
    says(&home, &["learn", "accept", "1"], "y\r");
    assert!(runs(&home, &["git", "push", "--force", "origin"]));
    assert!(!runs(&home, &["git", "push", "--force", "other"]));
}
