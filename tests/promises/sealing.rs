//! Tests that another process of the account cannot read a person's keys from guard's memory.

use std::fs;
use std::process::{Command, Output, Stdio};

use nix::unistd::{Pid, geteuid};

use crate::harness::home::Home;
use crate::harness::pty::Terminal;
use crate::queue::stage::{answer_card, home};

/// Returns the same program without rights over other accounts' processes: root's are dropped.
fn plain(command: &Command) -> Command {
    let mut other = if geteuid().is_root() {
        let mut setpriv = Command::new("/usr/bin/setpriv");
        setpriv.args(["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--"]);
        setpriv.arg(command.get_program());
        setpriv
    } else {
        Command::new(command.get_program())
    };
    other.args(command.get_args()).env_clear();
    other.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(command.get_current_dir().expect("a directory"));
    other
}

/// Returns the result of another process of the account that reads a file of a process in `/proc`.
fn read(home: &Home, pid: Pid, name: &str) -> Output {
    let mut head = home.program("head");
    head.args(["-c", "1", &format!("/proc/{pid}/{name}")]);
    plain(&head).stdin(Stdio::null()).output().expect("head runs")
}

fn asked(home: &Home, arguments: &[&str]) -> Terminal {
    let mut command = home.guard(arguments);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    Terminal::spawn(plain(&command))
}

#[track_caller]
fn is_closed(home: &Home, pid: Pid) {
    for name in ["mem", "environ", "maps"] {
        let output = read(home, pid, name);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("Permission denied"), "{name}: {said}");
    }
}

#[test]
fn a_program_of_the_account_can_be_read() {
    let home = home();
    let mut sleep = plain(home.program("sleep").arg("60")).spawn().expect("sleep runs");
    let pid = Pid::from_raw(i32::try_from(sleep.id()).expect("a number of a process"));
    // Until it has executed the other program it may have the rights of this one.
    let name = format!("/proc/{pid}/comm");
    while fs::read_to_string(&name).is_ok_and(|name| name.trim() != "sleep") {
        std::thread::yield_now();
    }
    let output = read(&home, pid, "environ");
    sleep.kill().expect("it ends");
    sleep.wait().expect("it has ended");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn who_holds_a_passphrase_cannot_be_read() {
    let home = home();
    let mut terminal = asked(&home, &["approver", "add", "ada"]);
    terminal.wait_for("passphrase of ada:");
    is_closed(&home, terminal.pid());
    terminal.send("correct horse battery\r");
    terminal.wait_for("Repeat the passphrase:");
    is_closed(&home, terminal.pid());
    terminal.hang_up();
}

#[test]
fn who_shows_a_card_cannot_be_read_and_the_command_can() {
    let home = home();
    let mut terminal = asked(&home, &["--", "sh", "-c", "git push --force origin main; echo changed; sleep 60"]);
    terminal.wait_for("no answer means no");
    is_closed(&home, terminal.pid());
    answer_card(&mut terminal, "y");
    terminal.wait_until("run", |screen| screen.lines().any(|line| line.trim() == "changed"));
    let output = read(&home, terminal.pid(), "environ");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    terminal.hang_up();
}
