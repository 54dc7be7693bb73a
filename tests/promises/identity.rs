//! Tests how guard recognizes who is asking, from within real processes on real terminals.
//!
//! Each test starts this test program once more below something: its own terminal, an agent's process, or nothing.
//! There it runs only [`tells_who_is_asking`], which writes its result to a file.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guard::judge::invocation::Environment;
use guard::judge::syntax::tree::Dialect;
use guard::world::identity::{Account, Caller};
use guard::world::shell;

use crate::harness::home::Home;

const TO: &str = "TEST_WHO_IS_ASKING";

#[test]
#[ignore = "started by the other tests of this file"]
fn tells_who_is_asking() {
    let Some(file) = std::env::var_os(TO) else { return };
    let caller = Caller::of_this_process().unwrap();
    let seen = format!(
        "{:?}\n{:?}\n{}\n{}\n{:?}\n{}\n",
        caller.terminal,
        caller.origin,
        caller.session.id,
        caller.session.root,
        caller.session.agent,
        caller.guard_above().map_or(0, |process| process.pid),
    );
    std::fs::write(file, seen).unwrap();
}

#[derive(Debug)]
struct Seen {
    terminal: String,
    origin: String,
    id: String,
    root: String,
    agent: String,
    guard: String,
}

/// The environment in which the probe is started.
struct Stage {
    directory: tempfile::TempDir,
    variables: Vec<(&'static str, &'static str)>,
}

impl Stage {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    fn with(name: &'static str, value: &'static str) -> Self {
        Self { variables: vec![(name, value)], ..Self::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a program that starts the probe, detached from the ancestors of this test.
    fn run(&self, program: &str, arguments: &[&str]) -> Seen {
        // Waits until the process that started it has ended.
        let wait = r#"above() { grep -x "$1" "/proc/$PPID/status" 2>/dev/null; }
            while [ -n "$(above "PPid:.$0")" ] && [ -z "$(above 'State:.Z.*')" ]; do :; done; exec "$@""#;
        let own = std::process::id().to_string();
        self.start(Command::new("setsid").args(["--fork", "sh", "-c", wait, &own, program]).args(arguments))
    }

    /// Runs a line of bash on its own terminal. `PROBE` in it is the probe.
    fn on_a_terminal(&self, line: &str) -> Seen {
        let probe = format!("'{}' --ignored --exact identity::tells_who_is_asking", own().display());
        let line = line.replace("PROBE", &probe);
        std::fs::write(self.path("line"), line).unwrap();
        let command = format!("bash '{}'", self.path("line").display());
        self.run("script", &["--quiet", "--return", "--command", &command, "/dev/null"])
    }

    fn start(&self, command: &mut Command) -> Seen {
        let mut child = command
            .env_clear()
            .envs([("PATH", std::env::var("PATH").unwrap()), ("SHELL", "/bin/sh".into())])
            .envs(self.variables.iter().copied())
            .env(TO, self.path("seen"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The pipe closes when the last of the processes has ended.
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        child.wait().unwrap();
        let seen = std::fs::read_to_string(self.path("seen")).unwrap_or_else(|_| panic!("not run:\n{output}"));
        let mut lines = seen.lines().map(str::to_owned);
        let mut next = || lines.next().unwrap();
        Seen { terminal: next(), origin: next(), id: next(), root: next(), agent: next(), guard: next() }
    }
}

fn own() -> PathBuf {
    std::env::current_exe().unwrap()
}

const PROBE: [&str; 3] = ["--ignored", "--exact", "identity::tells_who_is_asking"];

#[test]
fn a_person_at_the_foreground_of_a_terminal_can_be_asked() {
    let seen = Stage::new().on_a_terminal("PROBE");
    assert_eq!((seen.terminal.as_str(), seen.origin.as_str()), ("PersonHere", "Cli"));
    assert!(seen.id.starts_with("tty"), "{seen:?}");
    assert_eq!(seen.agent, "None");
    let piped = Stage::new().on_a_terminal("echo | PROBE >/dev/null");
    assert_eq!(piped.terminal, "PersonHere", "standard error still is the terminal");
}

#[test]
fn two_terminals_are_two_sessions() {
    let one = Stage::new().on_a_terminal("PROBE");
    let other = Stage::new().on_a_terminal("PROBE");
    assert_ne!(one.id, other.id);
    assert_ne!(one.root, other.root);
}

#[test]
fn without_a_terminal_there_is_no_one_to_ask() {
    let stage = Stage::new();
    let seen = stage.run(own().to_str().unwrap(), &PROBE);
    assert_eq!((seen.terminal.as_str(), seen.origin.as_str()), ("NoTerminal", "Agent"));
}

#[test]
fn in_the_background_there_is_no_one_to_ask() {
    let seen = Stage::new().on_a_terminal("set -m; PROBE & wait");
    assert_eq!((seen.terminal.as_str(), seen.origin.as_str()), ("Background", "Agent"));
}

#[test]
fn a_terminal_in_raw_mode_belongs_to_somebody_else() {
    let seen = Stage::new().on_a_terminal("stty raw; PROBE");
    assert_eq!((seen.terminal.as_str(), seen.origin.as_str()), ("ForeignRawMode", "Agent"));
}

#[test]
fn a_terminal_that_no_standard_stream_leads_to_is_not_used() {
    let seen = Stage::new().on_a_terminal("PROBE </dev/null 2>/dev/null");
    assert_eq!((seen.terminal.as_str(), seen.origin.as_str()), ("NotOurTerminal", "Agent"));
}

#[test]
fn a_terminal_below_a_known_agent_is_no_person() {
    let stage = Stage::new();
    crate::harness::program::copy("/bin/bash", &stage.path("claude"));
    let seen = stage.on_a_terminal(&format!("'{}' <<< 'PROBE; true'", stage.path("claude").display()));
    assert_eq!((seen.terminal.as_str(), seen.origin.as_str()), ("AgentAbove(\"claude\")", "Agent"));
    assert!(seen.id.starts_with("claude@"), "{seen:?}");
    assert_eq!(seen.agent, "Some(\"claude\")");
}

#[test]
fn the_mark_of_an_agent_makes_its_commands_the_agents() {
    for (name, value, agent) in
        [("CLAUDECODE", "1", "claude"), ("GEMINI_CLI", "1", "gemini"), ("CODEX_SANDBOX", "seatbelt", "codex")]
    {
        let seen = Stage::with(name, value).on_a_terminal("PROBE");
        assert_eq!((seen.terminal, seen.origin.as_str()), (format!("AgentAbove({agent:?})"), "Agent"));
    }
    let seen = Stage::with("CLAUDECODE", "0").on_a_terminal("PROBE");
    assert_eq!(seen.terminal, "PersonHere");
}

#[test]
fn a_guard_above_is_known_by_its_file() {
    let below = Stage::new().start(Command::new(own()).args(PROBE));
    assert_eq!(below.guard, std::process::id().to_string());
    let alone = Stage::new().run(own().to_str().unwrap(), &PROBE);
    assert_eq!(alone.guard, "0");
}

#[test]
fn the_real_shell_is_absolute_and_never_guard() {
    let directory = tempfile::tempdir().unwrap();
    // A link to this program under a shell's name, before every other entry of PATH.
    std::fs::hard_link(own(), directory.path().join("zsh"))
        .or_else(|_| std::os::unix::fs::symlink(own(), directory.path().join("zsh")))
        .unwrap();
    let env: Environment = [("PATH".into(), directory.path().into())].into_iter().collect();
    let account = Account { shell: Some(directory.path().join("zsh")), ..Account::default() };
    let bash = shell::find(&account, &env, Path::new("/")).unwrap();
    assert!(bash.path.is_absolute() && bash.path.ends_with("bash"), "{bash:?}");
    assert_eq!(bash.dialect, Dialect::Bash);
    if let Ok(zsh) = shell::named(Dialect::Zsh, &account, &env, Path::new("/")) {
        assert!(!zsh.path.starts_with(directory.path()), "{zsh:?}");
    }
    std::fs::remove_file(directory.path().join("zsh")).unwrap();
    crate::harness::program::copy("/bin/sh", &directory.path().join("zsh"));
    let zsh = shell::named(Dialect::Zsh, &account, &env, Path::new("/")).unwrap();
    assert_eq!(zsh.dialect, Dialect::Zsh);
}

#[test]
fn an_account_that_nobody_lists_runs_commands_too() {
    let home = Home::new();
    if !nix::unistd::geteuid().is_root() {
        crate::harness::tools::skip("only root can become another account");
        return;
    }
    for unset in ["nothing", "HOME"] {
        let mut command = home.program("setpriv");
        command.args(["--reuid", "3999999", "--regid", "3999999", "--clear-groups"]).arg(env!("CARGO_BIN_EXE_guard"));
        command.env_remove(unset);
        let output = command.args(["-c", "echo ran"]).current_dir("/").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "ran\n", "without {unset}: {output:?}");
    }
}
