//! A person is asked, and nothing but a clear yes is a yes.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use guard::channel::terminal::{self, Answer, Closed};
use guard::judge::invocation::Origin;
use guard::judge::policy::Prompt;
use guard::judge::risk::{Finding, Reversibility, Risk, Tier, Weight};
use guard::judge::syntax::tree::Span;
use guard::ui::card::CardView;
use guard::ui::explain::{ExplainView, PartView};
use guard::ui::style::Look;
use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, raise, signal, sigprocmask};
use nix::sys::termios::Termios;
use nix::unistd::{Pid, alarm, tcsetpgrp};

use crate::harness::pty::{OnTerminal, Terminal, ended};

/// The names of what is handed to the process that asks.
const COMMAND: &str = "ASKING_COMMAND";
const TIER: &str = "ASKING_TIER";
const SECONDS: &str = "ASKING_SECONDS";
const FINISH: &str = "ASKING_FINISH";
const ANSWER: &str = "ASKING_ANSWER";
const ALARM: &str = "ASKING_ALARM";
const PANIC: &str = "ASKING_PANIC";
const AWAY: &str = "ASKING_AWAY";
const IGNORE: &str = "ASKING_IGNORE";
const BLOCK: &str = "ASKING_BLOCK";

/// What the process that asks shows.
fn view(command: &[u8], tier: Tier) -> CardView {
    let length = u32::try_from(command.len()).unwrap();
    let finding = Finding {
        rule: "filesystem.recursive-delete".to_owned(),
        tier,
        weight: Weight::of_tier(tier),
        reversibility: Reversibility::Irreversible,
        reason: "Deletes a folder and everything in it.".to_owned(),
        instead: Some("move it to the trash".to_owned()),
        span: Span::new(0, length),
        touches: vec!["build".to_owned()],
        deny: false,
        yolo: false,
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
        session_grant: Some("this exact command, in this folder, until the session ends".to_owned()),
        standing_grant: Some("this exact command, in /home/ada/project, until you revoke it".to_owned()),
    }
}

/// Not a promise: the process that asks, started by the promises below on a terminal of its own.
#[test]
#[ignore = "started by the other tests"]
fn process_that_asks() {
    let variable = |name: &str| std::env::var(name).ok();
    let number = |name: &str, otherwise: u32| variable(name).map_or(otherwise, |text| text.parse().unwrap());
    let Some(file) = variable(ANSWER) else { return };
    let tier = Tier::from_number(u8::try_from(number(TIER, 3)).unwrap()).unwrap();
    let view = view(variable(COMMAND).unwrap().as_bytes(), tier);
    let prompt = Prompt {
        tier,
        seconds: number(SECONDS, 60),
        finish_seconds: number(FINISH, 60),
        word: tier == Tier::Critical,
        may_grant: tier != Tier::Critical,
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
    std::fs::write(format!("{file}.pid"), std::process::id().to_string()).unwrap();
    let before = Signals::now();
    let answer = terminal::ask(&view, &prompt, &explained, look, variable("XDG_RUNTIME_DIR").map(PathBuf::from));
    assert_eq!(Signals::now(), before);
    let left = alarm::cancel();
    assert_eq!(left.is_some(), variable(ALARM).is_some(), "the alarm that was running is not: {left:?}");
    std::fs::write(format!("{file}.new"), format!("{answer:?}")).unwrap();
    std::fs::rename(format!("{file}.new"), &file).unwrap();
    if let Answer::Closed(Closed::Signal(signal) | Closed::Interrupted(signal)) = answer {
        raise(signal).unwrap();
    }
}

/// Ends the process with a panic, as a release build does, once a file is there.
fn abort_when(trigger: String) {
    let then = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        then(panic);
        std::process::abort();
    }));
    std::thread::spawn(move || {
        while !Path::new(&trigger).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("on purpose");
    });
}

/// Puts another process in front, once a file is there.
fn give_away_when(trigger: String) {
    #[expect(clippy::zombie_processes, reason = "it outlives this process, which is killed with its terminal")]
    let other = Command::new("sleep").arg("100").process_group(0).spawn().unwrap();
    std::thread::spawn(move || {
        SigSet::from(Signal::SIGTTOU).thread_block().unwrap();
        while !Path::new(&trigger).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        tcsetpgrp(std::io::stderr(), Pid::from_raw(other.id().cast_signed())).unwrap();
    });
}

/// What a process does with signals.
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
struct Asked {
    terminal: Terminal,
    folder: tempfile::TempDir,
}

/// The program that asks, writing its answer to `answer` in `folder`.
fn asker(folder: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(ARGUMENTS);
    environment(&mut command, folder, variables);
    command
}

/// What makes the test binary the process that asks.
const ARGUMENTS: [&str; 6] =
    ["--ignored", "--exact", "asking::process_that_asks", "--test-threads=1", "--nocapture", "--quiet"];

/// The environment of the process that asks.
fn environment(command: &mut Command, folder: &Path, variables: &[(&str, &str)]) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env("PS1", "$ ")
        .env("XDG_RUNTIME_DIR", folder)
        .env(COMMAND, "rm -rf build")
        .env(TIER, "3")
        .env(ANSWER, folder.join("answer"))
        .envs(variables.iter().copied());
}

impl Asked {
    /// Starts asking, without waiting for the card.
    fn start(variables: &[(&str, &str)], columns: u16, rows: u16, on: OnTerminal) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = asker(folder.path(), variables);
        Self::on(Terminal::spawn_with(command, columns, rows, on), folder)
    }

    /// Starts a script in a shell; `ask` in it is the program that asks.
    fn script(shell: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ask = folder.path().join("ask");
        let exe = std::env::current_exe().unwrap();
        std::fs::write(&ask, format!("#!/bin/sh\nexec '{}' {} \"$@\"\n", exe.display(), ARGUMENTS.join(" "))).unwrap();
        std::fs::set_permissions(&ask, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).current_dir(folder.path());
        environment(&mut command, folder.path(), variables);
        Self::on(Terminal::spawn(command), folder)
    }

    fn on(terminal: Terminal, folder: tempfile::TempDir) -> Self {
        Self { terminal, folder }
    }

    /// Asks, and waits until the card is there and can be answered.
    fn new(variables: &[(&str, &str)]) -> Self {
        let mut asked = Self::start(variables, 80, 24, OnTerminal::ALL);
        asked.read();
        asked
    }

    /// Waits for the card, and reads it.
    #[track_caller]
    fn read(&mut self) {
        self.terminal.wait_for("no answer means no");
        self.terminal.settle(terminal::READING + Duration::from_millis(200));
    }

    /// Presses a key that leads to another question, and reads that.
    #[track_caller]
    fn turn(&mut self, key: &str, text: &str) {
        self.terminal.send(key);
        self.terminal.wait_for(text);
        self.terminal.settle(terminal::READING + Duration::from_millis(200));
    }

    /// The answer, after the terminal was found to be as before.
    #[track_caller]
    fn answer(&mut self) -> String {
        self.terminal.wait_exit();
        self.assert_restored();
        self.written("answer")
    }

    /// The terminal is as it was before the card.
    #[track_caller]
    fn assert_restored(&mut self) {
        assert!(same(&self.terminal.before, &self.terminal.modes()), "the modes were not restored");
        let screen = self.terminal.screen();
        assert!(!screen.contains('┃'), "the card is still there:\n{screen}");
        assert!(!self.terminal.emulator().bracketed_paste(), "pastes still come in brackets");
    }

    /// An answer as it was written down, waited for.
    #[track_caller]
    fn written(&mut self, name: &str) -> String {
        let path = self.folder.path().join(name);
        self.terminal.wait_until(&format!("the file {name}"), |_| path.exists());
        std::fs::read_to_string(path).unwrap()
    }

    /// The process that asks.
    fn asking(&mut self) -> Pid {
        Pid::from_raw(self.written("answer.pid").parse().unwrap())
    }
}

/// Whether two modes are the same.
fn same(one: &Termios, other: &Termios) -> bool {
    one.local_flags == other.local_flags
        && one.input_flags == other.input_flags
        && one.output_flags == other.output_flags
        && one.control_flags == other.control_flags
        && one.control_chars == other.control_chars
}

/// No, without a word.
const NO: &str = "No { words: None }";

#[test]
fn y_allows_it_once_and_leaves_one_line() {
    let mut asked = Asked::new(&[]);
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
    assert!(asked.terminal.screen().contains("guard: allowed once by you: rm -rf build"));
}

#[test]
fn s_allows_it_for_the_session() {
    let mut asked = Asked::new(&[]);
    asked.terminal.send("s");
    assert_eq!(asked.answer(), "Session");
}

#[test]
fn a_standing_grant_is_shown_in_words_and_confirmed() {
    let mut asked = Asked::new(&[]);
    asked.turn("a", "always: this exact command, in /home/ada/project, until you revoke it");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Always");
}

#[test]
fn a_standing_grant_that_is_not_confirmed_is_a_no() {
    for key in ["n", "\r", "\x1b", "\x04"] {
        let mut asked = Asked::new(&[]);
        asked.turn("a", "allow always");
        asked.terminal.send(key);
        assert_eq!(asked.answer(), NO, "{key:?}");
    }
}

#[test]
fn n_is_a_no_with_or_without_words() {
    let mut asked = Asked::new(&[]);
    asked.turn("n", "Why not?");
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), NO);

    let mut asked = Asked::new(&[]);
    asked.turn("n", "Why not?");
    asked.terminal.type_slowly("not noww\x7f, ask meé");
    asked.terminal.wait_for("not now, ask meé_");
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), r#"No { words: Some("not now, ask meé") }"#);
}

#[test]
fn enter_escape_and_end_of_file_are_a_no() {
    for key in ["\r", "\n", "\x1b", "\x04"] {
        let mut asked = Asked::new(&[]);
        asked.terminal.send(key);
        assert_eq!(asked.answer(), NO, "{key:?}");
    }
}

#[test]
fn interrupt_and_quit_keys_end_it_as_the_signals_they_are() {
    for (key, name) in [("\x03", "SIGINT"), ("\x1c", "SIGQUIT")] {
        let mut asked = Asked::new(&[]);
        asked.terminal.send(key);
        assert_eq!(ended(asked.terminal.wait_exit()), format!("signal {name}"));
        assert_eq!(asked.answer(), format!("Closed(Interrupted({name}))"));
    }
}

#[test]
fn an_interrupt_that_the_caller_ignores_is_still_no_yes() {
    let mut asked = Asked::new(&[(IGNORE, "SIGINT")]);
    asked.terminal.send("\x03");
    assert_eq!(asked.answer(), "Closed(Interrupted(SIGINT))");
}

#[test]
fn other_keys_answer_nothing() {
    let mut asked = Asked::new(&[]);
    for key in ["x", "\x1b[A", "\x1by", "\x1bOP", "\t", "1", "é", "\x1b[1;5C", "\x13", "\x16"] {
        asked.terminal.send(key);
        asked.terminal.wait_for("that key means nothing here");
        asked.terminal.settle(Duration::from_millis(100));
        assert!(asked.terminal.try_exit().is_none(), "{key:?}");
    }
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn what_was_typed_before_the_card_is_thrown_away() {
    let mut asked = Asked::start(&[], 80, 24, OnTerminal::ALL);
    asked.terminal.send("yyy\ny");
    asked.read();
    assert!(asked.terminal.try_exit().is_none());
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn what_is_pasted_is_no_answer() {
    let mut asked = Asked::new(&[]);
    for paste in ["yes\n", "y\r", "\x1b[200~y\x1b[201~", "yy"] {
        asked.terminal.send(paste);
        asked.terminal.wait_for("pasted text is not an answer");
        asked.terminal.settle(terminal::READING + Duration::from_millis(200));
        assert!(asked.terminal.try_exit().is_none(), "{paste:?}");
        asked.terminal.send("x");
        asked.terminal.wait_for("that key means nothing here");
    }
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn silence_is_a_no_and_the_time_that_is_left_is_shown() {
    let mut asked = Asked::start(&[(SECONDS, "3")], 80, 24, OnTerminal::ALL);
    for left in ["3 s", "2 s", "1 s"] {
        asked.terminal.wait_for(&format!(" {left} · no answer means no"));
    }
    assert_eq!(asked.answer(), "TimedOut { seconds: 3 }");
}

#[test]
fn silence_is_a_no_when_the_caller_ignores_or_blocks_the_alarm() {
    for how in [IGNORE, BLOCK] {
        let mut asked = Asked::new(&[(SECONDS, "1"), (how, "SIGALRM")]);
        assert_eq!(asked.answer(), "TimedOut { seconds: 1 }");
    }
}

#[test]
fn an_alarm_that_the_caller_had_set_goes_on_afterwards() {
    let mut asked = Asked::new(&[(ALARM, "1000")]);
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn an_alarm_that_the_caller_had_set_ends_the_card_as_it_would_end_the_caller() {
    let mut asked = Asked::start(&[(ALARM, "1")], 80, 24, OnTerminal::ALL);
    assert_eq!(ended(asked.terminal.wait_exit()), "signal SIGALRM");
    asked.assert_restored();
}

#[test]
fn a_no_that_is_being_explained_stays_a_no_when_the_time_is_over() {
    let mut asked = Asked::new(&[(SECONDS, "3")]);
    asked.turn("n", "Why not?");
    asked.terminal.type_slowly("wait");
    assert_eq!(asked.answer(), r#"No { words: Some("wait") }"#);
}

#[test]
fn a_signal_ends_it_with_the_terminal_restored() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
        let mut asked = Asked::new(&[]);
        asked.terminal.signal(signal);
        assert_eq!(ended(asked.terminal.wait_exit()), format!("signal {signal}"));
        assert_eq!(asked.answer(), format!("Closed(Signal({signal}))"));
    }
}

#[test]
fn a_closed_terminal_is_a_no() {
    let mut asked = Asked::new(&[]);
    asked.terminal.hang_up();
    assert_eq!(ended(asked.terminal.wait_exit()), "signal SIGHUP");
    assert_eq!(asked.written("answer"), "Closed(Signal(SIGHUP))");

    let mut asked = Asked::new(&[(IGNORE, "SIGHUP")]);
    asked.terminal.hang_up();
    assert_eq!(asked.written("answer"), "Closed(HungUp)");
}

#[test]
fn a_panic_restores_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let trigger = folder.path().join("panic");
    let mut asked = Asked::new(&[(PANIC, trigger.to_str().unwrap())]);
    assert!(!same(&asked.terminal.before, &asked.terminal.modes()));
    std::fs::write(&trigger, "").unwrap();
    assert_eq!(ended(asked.terminal.wait_exit()), "signal SIGABRT");
    assert!(same(&asked.terminal.before, &asked.terminal.modes()), "the modes were not restored");
}

#[test]
fn the_explanation_is_paged_while_the_time_goes_on() {
    let mut asked = Asked::new(&[]);
    asked.turn("?", "What would run");
    asked.terminal.send("y");
    asked.terminal.wait_for("q goes back to the card");
    asked.terminal.send(" ");
    asked.terminal.wait_for("Sentence 10 of the explanation.");
    asked.terminal.wait_gone("What would run");
    asked.terminal.send("b");
    asked.terminal.wait_for("What would run");
    for _ in 0..9 {
        asked.terminal.send(" ");
        asked.terminal.settle(Duration::from_millis(30));
    }
    asked.terminal.wait_for("Sentence 59 of the explanation.");
    asked.turn("q", "no answer means no");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn a_page_of_the_explanation_runs_out_of_time_too() {
    let mut asked = Asked::new(&[(SECONDS, "2")]);
    asked.terminal.send("?");
    asked.terminal.wait_for("What would run");
    assert_eq!(asked.answer(), "TimedOut { seconds: 2 }");
}

#[test]
fn escape_is_a_no_on_a_page_of_the_explanation_too() {
    let mut asked = Asked::new(&[]);
    asked.turn("?", "What would run");
    asked.terminal.send("\x1b");
    assert_eq!(asked.answer(), NO);
}

/// The word that a critical card asks for.
fn word(asked: &mut Asked) -> String {
    let screen = asked.terminal.screen();
    let after = screen.split("type ").nth(1).expect("the card names a word");
    after.split(' ').next().unwrap().to_owned()
}

#[test]
fn a_critical_command_runs_when_its_word_is_typed() {
    let mut asked = Asked::new(&[(TIER, "4")]);
    let word = word(&mut asked);
    asked.terminal.wait_for("60 s to begin");
    asked.terminal.type_slowly(&word);
    asked.terminal.wait_for(&format!("Esc is no: {word}_"));
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn a_critical_command_does_not_run_for_another_word() {
    for typed in ["wrong", "y", "yes", ""] {
        let mut asked = Asked::new(&[(TIER, "4")]);
        asked.terminal.type_slowly(typed);
        asked.terminal.send("\r");
        assert_eq!(asked.answer(), NO, "{typed:?}");
    }
}

#[test]
fn a_critical_command_is_not_granted() {
    let mut asked = Asked::new(&[(TIER, "4")]);
    let screen = asked.terminal.screen();
    assert!(!screen.contains("this session") && !screen.contains("always"), "{screen}");
    asked.terminal.type_slowly("sa");
    asked.terminal.wait_for("sa_");
    asked.terminal.send("\x1b");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn the_first_key_of_the_word_has_its_own_deadline() {
    let mut asked = Asked::new(&[(TIER, "4"), (SECONDS, "1")]);
    assert_eq!(asked.answer(), "TimedOut { seconds: 1 }");

    let mut asked = Asked::new(&[(TIER, "4"), (SECONDS, "20"), (FINISH, "2")]);
    asked.terminal.send("w");
    asked.terminal.wait_for("2 s · no answer means no");
    assert_eq!(asked.answer(), "TimedOut { seconds: 22 }");
}

#[test]
fn the_word_cannot_be_pasted() {
    let mut asked = Asked::new(&[(TIER, "4")]);
    let word = word(&mut asked);
    asked.terminal.send(&format!("{word}\r"));
    asked.terminal.wait_for("pasted text is not an answer");
    asked.terminal.settle(terminal::READING + Duration::from_millis(200));
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn no_answer_is_read_from_standard_input() {
    let mut asked = Asked::script(&["sh", "-c", "yes | ./ask"], &[]);
    asked.read();
    asked.terminal.settle(Duration::from_millis(300));
    assert!(asked.terminal.try_exit().is_none());
    asked.terminal.send("\r");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn what_stood_on_the_screen_stays() {
    let mut asked = Asked::script(&["sh", "-c", "echo above; printf unfinished; exec ./ask"], &[]);
    asked.read();
    let screen = asked.terminal.screen();
    assert!(screen.contains("above\nunfinished"), "{screen}");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
    assert!(asked.terminal.screen().contains("above\nunfinished"));
}

#[test]
fn a_process_in_the_background_draws_nothing_and_asks_nobody() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask & wait\n");
    assert_eq!(asked.written("answer"), "Closed(Background)");
    assert!(!asked.terminal.screen().contains('┃'));
}

#[test]
fn a_card_that_is_sent_to_the_background_is_a_no() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    assert!(!asked.terminal.screen().contains('┃'));
    asked.terminal.send("bg; wait\n");
    assert_eq!(asked.written("answer"), "Closed(Background)");
}

#[test]
fn a_card_whose_terminal_is_given_to_another_is_a_no() {
    let folder = tempfile::tempdir().unwrap();
    let trigger = folder.path().join("away");
    let mut asked = Asked::new(&[(AWAY, trigger.to_str().unwrap())]);
    std::fs::write(&trigger, "").unwrap();
    assert_eq!(asked.written("answer"), "Closed(Background)");
    asked.terminal.wait_exit();
    assert!(same(&asked.terminal.before, &asked.terminal.modes()), "the modes were not restored");
}

#[test]
fn a_card_that_is_stopped_makes_way_for_another() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    asked.terminal.send("ASKING_ANSWER=second ./ask\n");
    asked.read();
    asked.terminal.send("y");
    assert_eq!(asked.written("second"), "Once");
    asked.terminal.wait_gone("no answer means no");
    asked.terminal.send("fg\n");
    asked.read();
    asked.terminal.send("\r");
    assert_eq!(asked.written("answer"), NO);
}

#[test]
fn a_card_that_was_stopped_in_time_comes_back() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    asked.terminal.send("fg\n");
    asked.read();
    let screen = asked.terminal.screen();
    assert_eq!(screen.matches("claude wants to run").count(), 1, "{screen}");
    asked.terminal.send("y");
    assert_eq!(asked.written("answer"), "Once");
}

#[test]
fn a_deadline_that_passes_while_stopped_is_a_no() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[(SECONDS, "2")]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    asked.terminal.send("\x1a");
    asked.terminal.wait_for("Stopped");
    asked.terminal.settle(Duration::from_secs(2));
    asked.terminal.send("fg\ny");
    assert_eq!(asked.written("answer"), "TimedOut { seconds: 2 }");

    // And where nothing could be done before stopping.
    let mut asked = Asked::new(&[(SECONDS, "2")]);
    asked.terminal.signal(Signal::SIGSTOP);
    asked.terminal.settle(Duration::from_secs(2));
    asked.terminal.send("y");
    asked.terminal.signal(Signal::SIGCONT);
    assert_eq!(asked.answer(), "TimedOut { seconds: 2 }");
}

#[test]
fn a_card_that_was_halted_and_goes_on_asks_again() {
    let mut asked = Asked::new(&[]);
    asked.terminal.signal(Signal::SIGSTOP);
    asked.terminal.send("y");
    asked.terminal.signal(Signal::SIGCONT);
    asked.read();
    assert!(asked.terminal.try_exit().is_none(), "what was typed meanwhile is no answer");
    asked.terminal.send("y");
    asked.terminal.wait_exit();
    assert_eq!(asked.written("answer"), "Once");
    assert!(same(&asked.terminal.before, &asked.terminal.modes()), "the modes were not restored");
}

#[test]
fn a_card_that_was_killed_leaves_the_terminal_to_the_next() {
    let mut asked = Asked::script(&["bash", "--norc", "--noprofile", "-i"], &[]);
    asked.terminal.wait_for("$ ");
    asked.terminal.send("./ask\n");
    asked.read();
    let first = asked.asking();
    kill(first, Signal::SIGKILL).unwrap();
    asked.terminal.wait_for("Killed");
    asked.terminal.send("clear; ./ask\n");
    asked.terminal.wait_gone("Killed");
    asked.read();
    asked.terminal.send("y");
    assert_eq!(asked.written("answer"), "Once");
}

#[test]
fn nobody_is_asked_where_nobody_sits() {
    let mut asked = Asked::start(&[], 80, 24, OnTerminal::NONE);
    assert_eq!(asked.answer(), "Closed(Unattended)");
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = asker(folder.path(), &[]);
    // SAFETY: between fork and exec only a system call is made.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
    assert!(command.output().unwrap().status.success());
    let answer = std::fs::read_to_string(folder.path().join("answer")).unwrap();
    assert!(answer.starts_with("Closed(NoTerminal("), "{answer}");
}

#[test]
fn a_terminal_that_another_program_reads_key_by_key_is_left_alone() {
    let mut asked = Asked::script(&["sh", "-c", "stty raw; ./ask; stty sane"], &[]);
    assert_eq!(asked.written("answer"), "Closed(Busy)");
    asked.terminal.wait_exit();
    assert!(!asked.terminal.screen().contains('┃'));
}

#[test]
fn eight_at_once_are_asked_one_after_the_other_and_waiting_costs_no_time() {
    let script = "for n in 1 2 3 4 5 6 7 8; do
        ASKING_COMMAND=\"rm -rf build-$n\" ASKING_ANSWER=\"$ASKING_ANSWER-$n\" ./ask >/dev/null 2>/dev/tty & done; wait";
    let mut asked = Asked::script(&["sh", "-c", script], &[]);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..8 {
        asked.terminal.wait_for(" 60 s · no answer means no");
        asked.terminal.settle(terminal::READING + Duration::from_millis(200));
        let screen = asked.terminal.screen();
        assert_eq!(screen.matches("no answer means no").count(), 1, "{screen}");
        let line = screen.lines().find(|line| line.contains("┃") && line.contains("rm -rf build-")).unwrap().to_owned();
        assert!(seen.insert(line), "{screen}");
        // So long that the next card would show less if waiting counted.
        asked.terminal.wait_for(" 59 s · no answer means no");
        asked.terminal.send("y");
        asked.terminal.wait_gone(" 59 s · no answer means no");
    }
    asked.terminal.wait_exit();
    asked.assert_restored();
    for number in 1..=8 {
        assert_eq!(asked.written(&format!("answer-{number}")), "Once");
    }
}

#[test]
fn a_card_follows_the_size_of_the_window() {
    let mut asked = Asked::new(&[]);
    asked.terminal.resize(40, 16);
    asked.terminal.wait_until("a narrow card", |screen| {
        screen.contains("no answer means no") && screen.lines().all(|line| line.chars().count() < 40)
    });
    asked.terminal.resize(100, 30);
    asked.terminal.wait_for("claude wants to run a high-risk command that cannot be undone");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn a_small_terminal_has_a_card() {
    let mut asked = Asked::start(&[], 40, 12, OnTerminal::ALL);
    asked.read();
    let screen = asked.terminal.screen();
    assert!(screen.contains("rm -rf build") && screen.contains("y once"), "{screen}");
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
}

/// A terminal that knows no keys: answers are lines.
fn dumb(variables: &[(&str, &str)]) -> Asked {
    let all = [&[("TERM", "dumb")], variables].concat();
    let mut asked = Asked::start(&all, 80, 24, OnTerminal::ALL);
    asked.terminal.wait_for(" s):");
    asked.terminal.settle(terminal::READING + Duration::from_millis(200));
    asked
}

#[test]
fn a_terminal_without_a_cursor_is_asked_line_by_line() {
    for (line, answer) in [
        ("y\n", "Once"),
        ("yes\n", "Once"),
        ("s\n", "Session"),
        ("n\n", ""),
        ("n not now\n", r#"No { words: Some("not now") }"#),
        ("\n", NO),
        ("\x04", NO),
    ] {
        let mut asked = dumb(&[]);
        asked.terminal.send(line);
        if answer.is_empty() {
            asked.turn("", "Why not?");
            asked.terminal.send("later\n");
            assert_eq!(asked.answer(), r#"No { words: Some("later") }"#);
        } else {
            assert_eq!(asked.answer(), answer, "{line:?}");
        }
        let shown = asked.terminal.raw.iter().filter(|byte| **byte == 0x1b).count();
        assert_eq!(shown, 0, "no control sequences");
    }
}

#[test]
fn a_terminal_without_a_cursor_confirms_a_standing_grant() {
    let mut asked = dumb(&[]);
    asked.turn("a\n", "always: this exact command");
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), "Always");
}

#[test]
fn a_terminal_without_a_cursor_explains_and_asks_again() {
    let mut asked = dumb(&[]);
    asked.turn("?\n", "Sentence 59 of the explanation.");
    asked.turn("what\n", "that is no answer");
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), "Once");
}

#[test]
fn a_terminal_without_a_cursor_times_out_too() {
    let mut asked = dumb(&[(SECONDS, "1")]);
    assert_eq!(asked.answer(), "TimedOut { seconds: 1 }");
}

#[test]
fn a_terminal_without_a_cursor_wants_the_word_for_a_critical_command() {
    let mut asked = dumb(&[(TIER, "4")]);
    let word = word(&mut asked);
    asked.terminal.send(&format!("{word}\n"));
    assert_eq!(asked.answer(), "Once");

    let mut asked = dumb(&[(TIER, "4")]);
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn what_was_typed_before_the_question_is_thrown_away_without_a_cursor_too() {
    let mut asked = Asked::start(&[("TERM", "dumb")], 80, 24, OnTerminal::ALL);
    asked.terminal.send("y\ny\n");
    asked.terminal.wait_for(" s):");
    asked.terminal.settle(terminal::READING + Duration::from_millis(200));
    assert!(asked.terminal.try_exit().is_none());
    asked.terminal.send("\n");
    assert_eq!(asked.answer(), NO);
}

#[test]
fn a_tiny_terminal_is_asked_line_by_line() {
    let mut asked = Asked::start(&[], 24, 6, OnTerminal::ALL);
    asked.terminal.wait_for("s):");
    asked.terminal.settle(terminal::READING + Duration::from_millis(200));
    asked.terminal.send("y\n");
    assert_eq!(asked.answer(), "Once");
}
