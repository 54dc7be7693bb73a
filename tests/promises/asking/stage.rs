//! Provides the stage: a process that asks on its own terminal, and the answer that it received.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use guard::judge::invocation::Origin;
use guard::judge::policy::Prompt;
use guard::judge::risk::{Finding, Reversibility, Risk, Tier, Weight};
use guard::judge::syntax::tree::Span;
use guard::prompt::answer::{PromptAnswer, PromptClosed};
use guard::prompt::terminal;
use guard::ui::card_view::CardView;
use guard::ui::explain::{ExplainView, PartView};
use guard::ui::style::Look;
use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, raise, signal, sigprocmask};
use nix::sys::termios::Termios;
use nix::unistd::{Pid, alarm, execv, tcsetpgrp};

use crate::harness::pty::{OnTerminal, Terminal};

/// The names of the environment variables that configure the process that asks.
pub const COMMAND: &str = "ASKING_COMMAND";
pub const TIER: &str = "ASKING_TIER";
pub const SECONDS: &str = "ASKING_SECONDS";
pub const FINISH: &str = "ASKING_FINISH";
pub const ANSWER: &str = "ASKING_ANSWER";
pub const ALARM: &str = "ASKING_ALARM";
pub const PANIC: &str = "ASKING_PANIC";
pub const AWAY: &str = "ASKING_AWAY";
pub const IGNORE: &str = "ASKING_IGNORE";
pub const BLOCK: &str = "ASKING_BLOCK";

/// Returns the card of the process that asks.
fn view(command: &[u8], tier: Tier) -> CardView {
    let length = u32::try_from(command.len()).unwrap();
    let finding = Finding {
        rule: "filesystem.recursive-delete".to_owned(),
        tier,
        weight: Weight::of_tier(tier),
        reversibility: Reversibility::Irreversible,
        reason: "Deletes a directory and everything in it.".to_owned(),
        instead: Some("move it to the trash".to_owned()),
        span: Span::new(0, length),
        touches: vec!["build".to_owned()],
        deny: false,
        yolo: false,
        reversible: false,
        approvals: 1,
        notes: Vec::new(),
        lowered: None,
        act: None,
    };
    CardView {
        command: command.to_vec(),
        words: Vec::new(),
        cwd: b"/home/ada/project".to_vec(),
        home: Some(b"/home/ada".to_vec()),
        user: "ada".to_owned(),
        root: false,
        host: None,
        origin: Origin::Agent,
        agent: Some("claude".to_owned()),
        risk: Risk {
            tier,
            score: Weight::of_tier(tier),
            reversibility: Reversibility::Irreversible,
            findings: vec![finding],
            ..Risk::default()
        },
        threshold: Weight(200),
        evidence: vec!["build holds 214 files, 3 of them not in git".to_owned()],
        opinion: None,
        session_grant: Some("this exact command, in this directory, until the session ends".to_owned()),
        standing_grant: Some("this exact command, in /home/ada/project, until you revoke it".to_owned()),
        lasts: false,
        queued: false,
        first: false,
    }
}

/// Not a promise: the process that asks, which the promises below start on its own terminal.
#[test]
#[ignore = "started by the other tests"]
fn process_that_asks() {
    let variable = |name: &str| std::env::var(name).ok();
    let number = |name: &str, otherwise: u32| variable(name).map_or(otherwise, |text| text.parse().unwrap());
    let Some(file) = variable(ANSWER) else { return };
    take_all_signals(&file);
    let tier = Tier::from_number(u8::try_from(number(TIER, 3)).unwrap()).unwrap();
    let view = view(variable(COMMAND).unwrap().as_bytes(), tier);
    let prompt = Prompt {
        tier,
        seconds: number(SECONDS, 60),
        finish_seconds: number(FINISH, 60),
        word: tier == Tier::Critical,
        may_grant: tier != Tier::Critical,
        approvals: 1,
        decision: false,
    };
    let part =
        PartView { depth: 0, text: view.command.clone(), does: vec!["rm deletes build".to_owned()], findings: vec![0] };
    let outcome = (1..60).map(|number| format!("Sentence {number} of the explanation.")).collect();
    let explained = ExplainView { card: view.clone(), parts: vec![part], outcome };
    let look = Look::from_environment(variable, true);
    let named = |name: &str| variable(name).map(|text| text.parse::<Signal>().unwrap());
    if let Some(ignored) = named(IGNORE) {
        // SAFETY: ignoring a signal runs no code.
        unsafe { signal(ignored, SigHandler::SigIgn) }.unwrap();
    }
    if let Some(blocked) = named(BLOCK) {
        SigSet::from(blocked).thread_block().unwrap();
    }
    if let Some(trigger) = variable(PANIC) {
        abort_when(trigger);
    }
    if let Some(trigger) = variable(AWAY) {
        give_away_when(trigger);
    }
    if let Some(seconds) = variable(ALARM) {
        alarm::set(seconds.parse().unwrap());
    }
    write_whole(&format!("{file}.pid"), &std::process::id().to_string());
    let before = Signals::now();
    let answer = terminal::ask(&view, &prompt, &explained, look, variable("XDG_RUNTIME_DIR").map(PathBuf::from));
    assert_eq!(Signals::now(), before);
    let left = alarm::cancel();
    assert_eq!(left.is_some(), variable(ALARM).is_some(), "the alarm that was running is not: {left:?}");
    write_whole(&file, &format!("{answer:?}"));
    if let PromptAnswer::Closed(PromptClosed::Signal(signal) | PromptClosed::Interrupted(signal)) = answer {
        raise(signal).unwrap();
    }
}

/// Makes this thread the only one that receives signals, as in guard, where every other thread blocks them. The main
/// thread of the test harness would otherwise receive some of them: the program executes itself again with all signals
/// blocked, so that the harness's threads inherit that mask.
fn take_all_signals(file: &str) {
    let started = format!("{file}.{}.started", std::process::id());
    if Path::new(&started).exists() {
        SigSet::all().thread_unblock().unwrap();
        return;
    }
    write_whole(&started, "");
    SigSet::all().thread_block().unwrap();
    let arguments: Vec<CString> = std::env::args_os().map(|word| CString::new(word.into_vec()).unwrap()).collect();
    let program = CString::new(std::env::current_exe().unwrap().into_os_string().into_vec()).unwrap();
    let Err(error) = execv(&program, &arguments);
    panic!("the program does not start again: {error}");
}

/// Writes a file atomically, so that it is complete as soon as it exists.
fn write_whole(path: &str, text: &str) {
    std::fs::write(format!("{path}.new"), text).unwrap();
    std::fs::rename(format!("{path}.new"), path).unwrap();
}

/// Ends the process with a panic, as in a release build, once a file exists.
fn abort_when(trigger: String) {
    let then = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        then(panic);
        std::process::abort();
    }));
    std::thread::spawn(move || {
        SigSet::all().thread_block().unwrap();
        while !Path::new(&trigger).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("on purpose");
    });
}

/// Puts another process in the foreground once a file exists.
fn give_away_when(trigger: String) {
    let mut other = Command::new("sleep").arg("100").process_group(0).spawn().unwrap();
    std::thread::spawn(move || {
        SigSet::all().thread_block().unwrap();
        while !Path::new(&trigger).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        tcsetpgrp(std::io::stderr(), Pid::from_raw(other.id().cast_signed())).unwrap();
        // The other process ends with the terminal.
        other.wait().unwrap();
    });
}

/// The signal mask and handlers of a process.
#[derive(Debug, PartialEq)]
struct Signals {
    mask: SigSet,
    handlers: Vec<(Signal, libc::sighandler_t)>,
}

impl Signals {
    fn now() -> Self {
        let mut mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, None, Some(&mut mask)).unwrap();
        let handler = |signal: Signal| {
            // SAFETY: with no new action, `sigaction` only fills the old one, for which all zeros is a valid start.
            let old = unsafe {
                let mut old = std::mem::zeroed::<libc::sigaction>();
                libc::sigaction(signal as i32, std::ptr::null(), &raw mut old);
                old
            };
            (signal, old.sa_sigaction)
        };
        let own = |signal: &Signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP);
        Self { mask, handlers: Signal::iterator().filter(own).map(handler).collect() }
    }
}

/// One question on one terminal.
pub struct Asked {
    pub terminal: Terminal,
    directory: tempfile::TempDir,
}

/// Returns the command of the program that asks. It writes its answer to `answer` in `directory`.
pub fn asker(directory: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ARGUMENTS);
    environment(&mut command, directory, variables);
    command
}

/// The arguments that make the test binary the process that asks.
const ARGUMENTS: [&str; 6] =
    ["--ignored", "--exact", "asking::stage::process_that_asks", "--test-threads=1", "--nocapture", "--quiet"];

/// Sets the environment of the process that asks.
fn environment(command: &mut Command, directory: &Path, variables: &[(&str, &str)]) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env("PS1", "$ ")
        .env("XDG_RUNTIME_DIR", directory)
        .env(COMMAND, "rm -rf build")
        .env(TIER, "3")
        .env(ANSWER, directory.join("answer"))
        .envs(variables.iter().copied());
}

impl Asked {
    /// Starts asking, without waiting for the card.
    pub fn start(variables: &[(&str, &str)], columns: u16, rows: u16, on: OnTerminal) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let command = asker(directory.path(), variables);
        Self::on(Terminal::spawn_with(command, columns, rows, on), directory)
    }

    /// Starts a script in a shell, in which `ask` is the program that asks.
    pub fn script(shell: &[&str], variables: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ask = directory.path().join("ask");
        let exe = std::env::current_exe().unwrap();
        let text = format!("#!/bin/sh\nexec '{}' {} \"$@\"\n", exe.display(), ARGUMENTS.join(" "));
        crate::harness::program::write(&ask, &text);
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).current_dir(directory.path());
        environment(&mut command, directory.path(), variables);
        Self::on(Terminal::spawn(command), directory)
    }

    fn on(terminal: Terminal, directory: tempfile::TempDir) -> Self {
        Self { terminal, directory }
    }

    /// Starts asking, and waits until the card accepts an answer.
    pub fn new(variables: &[(&str, &str)]) -> Self {
        let mut asked = Self::start(variables, 80, 24, OnTerminal::ALL);
        asked.read();
        asked
    }

    /// Waits for the card, then for as long as a person needs to read it.
    #[track_caller]
    pub fn read(&mut self) {
        self.terminal.wait_for("no answer means no");
        self.pause();
    }

    /// Waits until the question on the screen accepts an answer.
    pub fn pause(&mut self) {
        self.terminal.read_question();
    }

    /// Presses a key that leads to another question, and waits for as long as a person needs to read that.
    #[track_caller]
    pub fn turn(&mut self, key: &str, text: &str) {
        self.terminal.send(key);
        self.terminal.wait_for(text);
        self.pause();
    }

    /// Returns the word that a critical card asks for.
    pub fn word(&mut self) -> String {
        let screen = self.terminal.screen();
        let after = screen.split("type ").nth(1).expect("the card names a word");
        after.split(' ').next().unwrap().to_owned()
    }

    /// Returns the answer, and checks that the terminal was restored.
    #[track_caller]
    pub fn answer(&mut self) -> String {
        self.terminal.wait_exit();
        self.assert_restored();
        self.written("answer")
    }

    /// Checks that the terminal is as it was before the card.
    #[track_caller]
    pub fn assert_restored(&mut self) {
        assert!(same(&self.terminal.before, &self.terminal.modes()), "the modes were not restored");
        let screen = self.terminal.screen();
        assert!(!screen.contains('┃'), "the card is still there:\n{screen}");
        assert!(!self.terminal.emulator().bracketed_paste(), "pastes still come in brackets");
    }

    /// Waits for a file that the process that asks writes, and returns its content.
    #[track_caller]
    pub fn written(&mut self, name: &str) -> String {
        let path = self.directory.path().join(name);
        self.terminal.wait_until(&format!("the file {name}"), |_| path.exists());
        std::fs::read_to_string(path).unwrap()
    }

    /// Returns the process that asks.
    pub fn asking(&mut self) -> Pid {
        Pid::from_raw(self.written("answer.pid").parse().unwrap())
    }
}

/// Reports whether two terminal modes are the same.
pub fn same(one: &Termios, other: &Termios) -> bool {
    one.local_flags == other.local_flags
        && one.input_flags == other.input_flags
        && one.output_flags == other.output_flags
        && one.control_flags == other.control_flags
        && one.control_chars == other.control_chars
}

/// A denial without a reason: given by another key than n, or for lack of an answer.
pub const NO: &str = "No { words: None, typed: false }";

/// A denial by n, without a reason.
pub const TYPED_NO: &str = "No { words: None, typed: true }";
