//! Tests that guard acts on a person's answer: the prompt, through the real program.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::harness::pty::{OnTerminal, Terminal, ended};

/// A project with files to lose, and a guard with its own record and configuration.
struct Project {
    directory: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let project = Self { directory };
        for name in ["project/precious", "home", "runtime"] {
            std::fs::create_dir_all(project.path(name)).unwrap();
        }
        std::fs::write(project.path("project/precious/work.txt"), "unsaved").unwrap();
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Reports whether the file that could be lost still exists.
    fn is_whole(&self) -> bool {
        self.path("project/precious/work.txt").exists()
    }

    /// Returns a command that runs this program in the project.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("PS1", "$ ")
            .env("GUARD", env!("CARGO_BIN_EXE_guard"))
            .env("GUARD_WAIT", "0")
            .env("HOME", self.path("home"))
            .env("XDG_RUNTIME_DIR", self.path("runtime"));
        command
    }

    /// Runs `guard` with these arguments on its own terminal.
    fn guard(&self, arguments: &[&str]) -> Terminal {
        Terminal::spawn(self.command(env!("CARGO_BIN_EXE_guard"), arguments))
    }

    /// Runs a shell script on its own terminal.
    fn script(&self, script: &str) -> Terminal {
        Terminal::spawn(self.command("bash", &["-c", script]))
    }
}

/// Waits for the card, then for as long as a person needs to read it.
#[track_caller]
fn read(terminal: &mut Terminal) {
    terminal.wait_for("no answer means no");
    terminal.read_question();
}

/// Joins the wrapped lines of the screen into one.
fn flowing(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_yes_runs_the_command_and_its_exit_code_is_guards() {
    let project = Project::new();
    let mut terminal = project.guard(&["-c", "rm -r precious; exit 7"]);
    read(&mut terminal);
    assert!(project.is_whole());
    terminal.send("y");
    assert_eq!(ended(terminal.wait_exit()), "exit 7");
    assert!(!project.is_whole());
}

#[test]
fn a_no_and_its_words_reach_the_caller() {
    let project = Project::new();
    let mut terminal = project.guard(&["--", "rm", "-r", "precious"]);
    read(&mut terminal);
    terminal.send("n");
    terminal.wait_for("Why not?");
    terminal.read_question();
    terminal.send("that is all my work\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    assert!(project.is_whole());
    let screen = flowing(&terminal.screen());
    assert!(screen.contains("guard: refused: denied by a person: that is all my work"), "{screen}");
}

#[test]
fn enter_escape_and_end_of_file_refuse() {
    for key in ["\r", "\x1b", "\x04"] {
        let project = Project::new();
        let mut terminal = project.guard(&["--", "rm", "-r", "precious"]);
        read(&mut terminal);
        terminal.send(key);
        assert_eq!(ended(terminal.wait_exit()), "exit 126", "{key:?}");
        assert!(project.is_whole());
        assert!(terminal.screen().contains("guard: refused: denied by a person"));
    }
}

#[test]
fn an_interrupt_ends_guard_and_the_script_around_it() {
    let project = Project::new();
    let mut terminal = project.script("\"$GUARD\" -- rm -r precious; echo went on");
    read(&mut terminal);
    terminal.send("\x03");
    assert_eq!(ended(terminal.wait_exit()), "signal SIGINT");
    assert!(project.is_whole());
    let screen = terminal.screen();
    assert!(screen.contains("denied by a person") && !screen.contains("went on"), "{screen}");
}

#[test]
fn a_signal_to_guard_ends_it_and_nothing_runs() {
    let project = Project::new();
    let mut terminal = project.guard(&["--", "rm", "-r", "precious"]);
    read(&mut terminal);
    terminal.signal(Signal::SIGTERM);
    assert_eq!(ended(terminal.wait_exit()), "signal SIGTERM");
    assert!(project.is_whole());
}

#[test]
fn a_closed_terminal_runs_nothing() {
    let project = Project::new();
    let mut terminal = project.guard(&["--", "rm", "-r", "precious"]);
    read(&mut terminal);
    terminal.hang_up();
    assert_eq!(ended(terminal.wait_exit()), "signal SIGHUP");
    assert!(project.is_whole());
}

#[test]
fn a_yes_for_the_session_is_not_asked_for_again_in_it() {
    let project = Project::new();
    let mut terminal = project.script("ask() { \"$GUARD\" -- rm -r precious; }; ask; mkdir precious; ask; echo done");
    read(&mut terminal);
    terminal.send("s");
    terminal.wait_for("done");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    assert!(!project.path("project/precious").exists());
}

#[test]
fn what_the_command_reads_and_prints_is_its_own() {
    let project = Project::new();
    let mut terminal = project.script("echo through | \"$GUARD\" -c 'rm -r precious; cat' | tr a-z A-Z");
    read(&mut terminal);
    terminal.send("y");
    terminal.wait_for("THROUGH");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
}

#[test]
fn a_command_that_takes_the_terminal_gets_it_as_it_was() {
    let project = Project::new();
    let mut terminal = project.guard(&["-c", "rm -r precious; stty -a; read -r line; echo \"got $line\""]);
    read(&mut terminal);
    terminal.send("y");
    terminal.wait_for("icanon");
    terminal.send("hello\n");
    terminal.wait_for("got hello");
    assert_eq!(ended(terminal.wait_exit()), "exit 0");
    let screen = flowing(&terminal.screen());
    assert!(screen.contains(" icanon") && screen.contains(" echo "), "{screen}");
}

#[test]
fn many_guards_on_one_terminal_ask_one_after_the_other() {
    let project = Project::new();
    let script = "for n in 1 2 3 4 5 6 7 8; do mkdir -p tree-$n/sub
        \"$GUARD\" -- rm -r tree-$n >/dev/null 2>/dev/tty & done; wait; echo done";
    let mut terminal = project.script(script);
    for _ in 0..8 {
        terminal.wait_for(" 30 s · no answer means no");
        terminal.read_question();
        let screen = terminal.screen();
        assert_eq!(screen.matches("no answer means no").count(), 1, "{screen}");
        terminal.wait_for(" 29 s · no answer means no");
        terminal.send("y");
        terminal.wait_gone(" 29 s · no answer means no");
    }
    terminal.wait_for("done");
    for number in 1..=8 {
        assert!(!project.path(&format!("project/tree-{number}")).exists());
    }
}

#[test]
fn a_critical_command_needs_its_word() {
    let project = Project::new();
    // This is the record of the test's own guard, not the machine's.
    let data = project.path("home/.local/share/guard");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("extra"), "").unwrap();
    let mut terminal = project.guard(&["--", "rm", "-r", data.join("extra").to_str().unwrap()]);
    terminal.wait_for("To run it, type ");
    terminal.read_question();
    terminal.send("y");
    terminal.settle(Duration::from_millis(100));
    terminal.send("\r");
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    assert!(data.join("extra").exists());
}

#[test]
fn nobody_is_asked_where_nobody_sits_and_the_refusal_says_so() {
    let project = Project::new();
    let command = project.command(env!("CARGO_BIN_EXE_guard"), &["--", "rm", "-r", "precious"]);
    let mut terminal = Terminal::spawn_with(command, 80, 24, OnTerminal::NONE);
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    assert!(project.is_whole());
    assert!(terminal.raw.is_empty(), "{}", terminal.screen());
}

#[test]
fn silence_refuses_and_says_that_nobody_answered() {
    let project = Project::new();
    std::fs::create_dir_all(project.path("home/.config/guard")).unwrap();
    std::fs::write(project.path("home/.config/guard/config.toml"), "[timeouts]\nhigh = 1\n").unwrap();
    let mut terminal = project.guard(&["--", "rm", "-r", "precious"]);
    terminal.wait_for("no answer means no");
    assert_eq!(ended(terminal.wait_exit()), "exit 126");
    assert!(project.is_whole());
    let screen = flowing(&terminal.screen());
    assert!(screen.contains("guard: refused: timed out: nobody answered within 1 s"), "{screen}");
}
