//! Tests filing requests and waiting for them.

use std::time::Duration;

use guard::store::queue::RequestState;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::pty::{OnTerminal, Terminal};

use super::stage::{
    Asker, FLAGGED, MEDIUM, all, answer_card, approve, home, in_session, person, request, shell, state,
};

#[test]
fn a_command_waits_until_a_person_elsewhere_says_yes_and_runs_once() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let id = asker.id.clone();
    assert_eq!((home.ran(), state(&home, &id)), (0, RequestState::Waiting));
    let pending = home.prints(&["pending"], 0);
    assert!(pending.contains(&id) && pending.contains("git push --force origin main"), "{pending}");
    let screen = approve(&home, &id);
    assert!(screen.contains(&format!("{id}  approved: git push")), "{screen}");
    asker.ran();
    assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
    let log = home.prints(&["log", "--json"], 0);
    assert!(log.contains(r#""kind":"answered""#) && log.contains(&format!("request {id}, approved by ")), "{log}");
    assert_eq!(home.store().verify().unwrap().faults, []);
    assert_eq!(home.prints(&["pending"], 0), "No requests are waiting.\n");
}

#[test]
fn the_same_digest_is_shown_wherever_a_request_is() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let (id, line) = (asker.id.clone(), asker.line.clone());
    let digest = line.trim().split("; digest ").nth(1).unwrap_or_else(|| panic!("{line}")).to_owned();
    assert!(digest.len() == 8 && digest.chars().all(|c| c.is_ascii_hexdigit()), "{digest}");
    let pending = home.prints(&["pending"], 0);
    assert!(pending.contains(&format!("; digest {digest}; ")), "{pending}");
    let pending = home.prints(&["pending", "--json"], 0);
    assert!(pending.contains(&format!("\"short_digest\":\"{digest}\"")), "{pending}");
    let mut terminal = person(&home, &["approve", &id]);
    terminal.wait_for(&digest);
    answer_card(&mut terminal, "y");
    terminal.wait_exit();
    asker.ran();
    let shown = home.prints(&["log", "show"], 0);
    assert!(shown.contains(&format!("{id}, digest {digest}\n")), "{shown}");
}

#[test]
fn a_no_reaches_the_one_who_asked_with_its_words() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let mut terminal = person(&home, &["deny", &asker.id, "--reason", "use a branch of your own"]);
    terminal.wait_exit();
    let id = asker.id.clone();
    asker.refused("denied by a person: use a branch of your own");
    assert_eq!((home.ran(), state(&home, &id)), (0, RequestState::Denied));
}

#[test]
fn on_a_narrow_terminal_the_directory_and_the_reason_of_a_request_are_read_whole() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let mut command = home.guard(&["pending"]);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    let mut terminal = Terminal::spawn_with(command, 40, 60, OnTerminal::ALL);
    terminal.wait_exit();
    let screen = terminal.screen();
    assert!(screen.lines().all(|line| line.chars().count() <= 40), "{screen}");
    let whole: String = screen.split_whitespace().collect();
    let directory = home.path("work").display().to_string();
    assert!(whole.contains(&format!("in{directory};digest")), "{screen}");
    assert!(whole.contains("whichothersmayhavebuilton."), "{screen}");
    assert!(screen.contains("s left"), "{screen}");
    kill(Pid::from_raw(-asker.child.id().cast_signed()), Signal::SIGKILL).unwrap();
}

#[test]
fn n_on_the_card_refuses_it_with_and_without_words_and_leaving_the_card_keeps_it_waiting() {
    let home = home();
    let asker = Asker::new(&home, &FLAGGED);
    let mut terminal = person(&home, &["approve", &asker.id]);
    answer_card(&mut terminal, "\x1b");
    terminal.wait_exit();
    assert!(terminal.screen().contains("not approved"), "{}", terminal.screen());
    assert_eq!(state(&home, &asker.id), RequestState::Waiting);
    let mut terminal = person(&home, &["approve", &asker.id]);
    answer_card(&mut terminal, "n");
    terminal.wait_for("Why not?");
    terminal.read_question();
    terminal.type_slowly("not today\r");
    terminal.wait_exit();
    asker.refused("denied by a person: not today");
    let asker = Asker::new(&home, &FLAGGED);
    let mut terminal = person(&home, &["approve", &asker.id]);
    answer_card(&mut terminal, "n");
    terminal.wait_for("Why not?");
    terminal.read_question();
    terminal.send("\r");
    terminal.wait_exit();
    assert!(terminal.screen().contains("denied"), "{}", terminal.screen());
    asker.refused("denied by a person [");
    assert_eq!(home.ran(), 0);
}

#[test]
fn silence_is_a_no_that_names_the_request_and_a_late_yes_lets_the_same_command_run_once() {
    let home = home();
    let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
    command.env("GUARD_WAIT", "1");
    let asker = Asker::start(command);
    let id = asker.id.clone();
    asker.refused(&format!("timed out: nobody answered request {id} within 1 s"));
    assert_eq!((home.ran(), state(&home, &id)), (0, RequestState::Late));
    assert!(home.prints(&["pending"], 0).contains("timed out"));
    assert!(home.prints(&["log"], 0).contains(&format!("(timed out: {id})")));
    let screen = approve(&home, &id);
    assert!(screen.contains("approved, can run once"), "{screen}");
    // Another command, and the same one in another directory, cannot use it.
    let other = Asker::new(&home, &["git", "push", "--force", "origin", "other"]);
    let mut elsewhere = shell(&home, &[&["--"], &FLAGGED[..]].concat());
    elsewhere.current_dir(home.path("bin"));
    let elsewhere = Asker::start(elsewhere);
    assert_ne!(other.id, id);
    assert_ne!(elsewhere.id, id);
    // The same command can, without waiting, and only once.
    assert!(shell(&home, &[&["--"], &FLAGGED[..]].concat()).status().unwrap().success());
    assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
    let again = Asker::new(&home, &FLAGGED);
    assert_ne!(again.id, id);
    assert_eq!(home.ran(), 1);
    for mut asker in [other, elsewhere, again] {
        asker.child.kill().unwrap();
        asker.child.wait().unwrap();
    }
}

#[test]
fn filing_without_waiting_says_so_and_the_answer_is_used_by_the_next_run() {
    let home = home();
    let output = shell(&home, &[&["--no-wait", "--"], &MEDIUM[..]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(75), "{said}");
    let id = said.split("request ").nth(1).unwrap().chars().take_while(char::is_ascii_alphanumeric).collect::<String>();
    // Asked again, it is the same request.
    let again = shell(&home, &[&["--no-wait", "--"], &MEDIUM[..]].concat()).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains(&id));
    assert_eq!(home.guard(&["wait", &id, "--timeout", "0"]).output().unwrap().status.code(), Some(75));
    let waiter = home.guard(&["wait", &id]).spawn().unwrap();
    approve(&home, &id);
    assert!(waiter.wait_with_output().unwrap().status.success());
    assert_eq!(home.ran(), 0);
    assert!(shell(&home, &[&["--"], &MEDIUM[..]].concat()).status().unwrap().success());
    assert_eq!((home.ran(), state(&home, &id)), (1, RequestState::Used));
    assert!(home.guard(&["wait", &id]).output().unwrap().status.success());
    assert_eq!(home.guard(&["wait", "zzzz"]).output().unwrap().status.code(), Some(125));
    let critical = shell(&home, &["--no-wait", "--", "mkfs.ext4", "/dev/sda"]).output().unwrap();
    assert_eq!(critical.status.code(), Some(126));
}

#[test]
fn a_session_may_have_only_so_many_waiting() {
    let home = home();
    std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
    std::fs::write(home.path("home/.config/guard/config.toml"), "[queue]\npending = 2\n").unwrap();
    let script = "for n in 1 2 3; do \"$0\" --no-wait -- npm install \"p$n\"; echo $? >> codes; done";
    let output = in_session(&home, script).output().unwrap();
    assert_eq!(std::fs::read_to_string(home.path("work/codes")).unwrap(), "75\n75\n126\n");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("rate limited: 2 requests of this session are already waiting"), "{said}");
    assert_eq!(all(&home).len(), 2);
}

#[test]
fn what_is_asked_twice_at_once_is_shown_as_one_and_answered_one_by_one() {
    let home = home();
    let script = "\"$0\" -- npm install x & \"$0\" -- npm install x & wait";
    let mut child = in_session(&home, script).spawn().unwrap();
    while all(&home).len() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let shown = home.prints(&["pending"], 0);
    assert!(shown.contains("2 times: npm install x") && shown.lines().count() == 3, "{shown}");
    assert_eq!(home.prints(&["pending", "--json"], 0).lines().count(), 2);
    let ids: Vec<String> = all(&home).into_iter().map(|pending| pending.id).collect();
    approve(&home, &ids[0]);
    while home.ran() < 1 {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(state(&home, &ids[1]), RequestState::Waiting);
    approve(&home, &ids[1]);
    child.wait().unwrap();
    assert_eq!(home.ran(), 2);
}

#[test]
fn a_script_that_changed_while_it_waited_voids_the_request_and_says_what_changed() {
    let home = home();
    let script = home.path("work/clean.sh");
    std::fs::write(&script, "git push --force origin main\n").unwrap();
    let asker = Asker::new(&home, &["bash", "clean.sh"]);
    std::fs::write(&script, "git push --force origin other\n").unwrap();
    let mut terminal = person(&home, &["approve", &asker.id]);
    terminal.wait_exit();
    assert!(terminal.screen().contains("void: the content of "), "{}", terminal.screen());
    asker.refused("changed after it was approved: the content of ");
    assert_eq!(home.ran(), 0);
}

#[test]
fn a_directory_that_was_replaced_voids_a_late_yes() {
    let home = home();
    let directory = home.path("work/inner");
    std::fs::create_dir(&directory).unwrap();
    let inside = || {
        let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
        command.env("GUARD_WAIT", "1").current_dir(&directory);
        command
    };
    let asker = Asker::start(inside());
    let id = asker.id.clone();
    asker.refused("timed out");
    approve(&home, &id);
    assert_eq!(state(&home, &id), RequestState::Approved);
    std::fs::rename(&directory, home.path("work/moved")).unwrap();
    std::fs::create_dir(&directory).unwrap();
    let output = inside().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("changed after it was approved: the working directory"), "{said}");
    assert_eq!((home.ran(), state(&home, &id)), (0, RequestState::Void));
}

#[test]
fn of_tier_4_nothing_is_approved_late_and_a_word_is_typed_for_it() {
    let home = home();
    let mut command = shell(&home, &["--", "mkfs.ext4", "/dev/sda"]);
    command.env("GUARD_WAIT", "1");
    let asker = Asker::start(command);
    let id = asker.id.clone();
    asker.refused("timed out");
    let mut terminal = person(&home, &["approve", &id]);
    assert_eq!(crate::harness::pty::ended(terminal.wait_exit()), "exit 126");
    assert!(terminal.screen().contains("a tier 4 request cannot be approved late"), "{}", terminal.screen());
    assert_eq!(state(&home, &id), RequestState::Late);

    let asker = Asker::new(&home, &["mkfs.ext4", "/dev/sda"]);
    let mut terminal = person(&home, &["approve", &asker.id]);
    terminal.wait_for("to begin");
    terminal.read_question();
    let screen = terminal.screen();
    let word = screen.split("type ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    terminal.type_slowly(&word);
    terminal.send("\r");
    terminal.wait_exit();
    asker.ran();
    assert_eq!(home.ran(), 1);
}

#[test]
fn waiting_costs_no_processor_time() {
    let home = home();
    let mut asker = Asker::new(&home, &FLAGGED);
    std::thread::sleep(Duration::from_secs(3));
    asker.child.kill().unwrap();
    let _ = asker.child.wait();
    // The guard below the killed shell; the queue names it.
    let waiter = request(&home, &asker.id).waiter.unwrap();
    let pid: i32 = waiter.split('.').next().unwrap().parse().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit_once(')').unwrap().1;
    let ticks: Vec<u64> = rest.split_ascii_whitespace().skip(11).take(2).map(|ticks| ticks.parse().unwrap()).collect();
    // A tick is 10 ms. The CPU time covers only starting, judging and filing.
    assert!(ticks.iter().sum::<u64>() <= 20, "{ticks:?}");
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
}

#[test]
fn what_is_exact_is_kept_from_others_and_erased_when_it_is_settled() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = home();
    let asker = Asker::new(&home, &["git", "push", "--force", "https://ada:Hunter2xYz@example.invalid/x", "main"]);
    let file = home.data().join("queue.db");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let holds = || {
        let mut found = false;
        for entry in std::fs::read_dir(home.data()).unwrap().flatten() {
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            found |= bytes.windows(7).any(|window| window == b"Hunter2");
        }
        found
    };
    assert!(holds());
    assert!(!home.prints(&["pending"], 0).contains("Hunter2"));
    assert!(!home.prints(&["pending", "--json"], 0).contains("Hunter2"));
    let id = asker.id.clone();
    person(&home, &["deny", &id]).wait_exit();
    asker.refused("denied by a person");
    assert!(!holds(), "the password is still in the directory");
}

#[test]
fn how_long_it_waits_is_the_least_of_policy_caller_and_agent() {
    let waits = |config: &str, variables: &[(&str, &str)]| {
        let home = home();
        std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
        std::fs::write(home.path("home/.config/guard/config.toml"), config).unwrap();
        let mut command = shell(&home, &[&["--"], &FLAGGED[..]].concat());
        command.env_remove("GUARD_WAIT").envs(variables.iter().copied());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut errors = std::io::BufReader::new(child.stderr.take().unwrap());
        std::io::BufRead::read_line(&mut errors, &mut line).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        for one in all(&home) {
            let pid = one.waiter.unwrap().split('.').next().unwrap().parse().unwrap();
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        line
    };
    assert!(waits("", &[]).contains(", 300 s at most"));
    assert!(waits("[queue]\nwait = 40\n", &[]).contains(", 40 s at most"));
    assert!(waits("[queue]\nwait = 40\n", &[("GUARD_WAIT", "7")]).contains(", 7 s at most"));
    assert!(waits("[queue]\nwait = 40\n", &[("GUARD_WAIT", "70")]).contains(", 40 s at most"));
    // An agent ends its commands itself, so guard ends ten seconds earlier.
    assert!(waits("", &[("CLAUDECODE", "1")]).contains(", 110 s at most"));
    assert!(waits("", &[("CLAUDECODE", "1"), ("BASH_DEFAULT_TIMEOUT_MS", "30000")]).contains(", 20 s at most"));
    let most = [("CLAUDECODE", "1"), ("BASH_DEFAULT_TIMEOUT_MS", "300000"), ("BASH_MAX_TIMEOUT_MS", "60000")];
    assert!(waits("", &most).contains(", 50 s at most"));
    assert!(waits("", &[("GEMINI_CLI", "1")]).contains(", 110 s at most"));
    // With a wait of zero nothing is filed, and the refusal says why nobody could be asked.
    let none = waits("[queue]\nwait = 0\n", &[]);
    assert!(none.contains("refused: no one to ask: there is no terminal"), "{none}");
}

#[test]
fn the_demonstration_waits_for_nobody_where_nobody_sits() {
    let home = home();
    let mut command = super::stage::apart(home.guard(&["demo"]));
    command.env_remove("GUARD_WAIT").env("PATH", "/usr/bin:/bin");
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("End of the demo."), "{told}");
    assert_eq!(all(&home), []);
}
