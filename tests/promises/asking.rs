//! A person is asked, and nothing but a clear yes is a yes.

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
use nix::sys::signal::{Signal, raise};
use nix::sys::termios::{LocalFlags, Termios};

use crate::harness::pty::{OnTerminal, Terminal, ended};

/// The names of what is handed to the process that asks.
const COMMAND: &str = "ASKING_COMMAND";
const TIER: &str = "ASKING_TIER";
const SECONDS: &str = "ASKING_SECONDS";
const FINISH: &str = "ASKING_FINISH";
const ANSWER: &str = "ASKING_ANSWER";

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
    let number = |name: &str| variable(name).and_then(|text| text.parse::<u32>().ok()).unwrap_or(20);
    let Some(file) = variable(ANSWER) else { return };
    let tier = Tier::from_number(u8::try_from(number(TIER)).unwrap()).unwrap();
    let view = view(variable(COMMAND).unwrap().as_bytes(), tier);
    let prompt = Prompt {
        tier,
        seconds: number(SECONDS),
        finish_seconds: number(FINISH),
        word: tier == Tier::Critical,
        may_grant: tier != Tier::Critical,
    };
    let part =
        PartView { depth: 0, text: view.command.clone(), does: vec!["rm deletes build".to_owned()], findings: vec![0] };
    let explained =
        ExplainView { card: view.clone(), parts: vec![part], outcome: vec!["A person is asked.".to_owned()] };
    let look = Look::from_environment(variable, true);
    let answer = terminal::ask(&view, &prompt, &explained, look, variable("XDG_RUNTIME_DIR").map(PathBuf::from));
    std::fs::write(&file, format!("{answer:?}")).unwrap();
    if let Answer::Closed(Closed::Signal(signal)) = answer {
        raise(signal).unwrap();
    }
}

/// One question on one terminal.
struct Asked {
    terminal: Terminal,
    folder: tempfile::TempDir,
    before: Termios,
}

/// The program that asks, writing its answer to `answer` in `folder`.
fn asker(folder: &Path, answer: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "asking::process_that_asks", "--test-threads=1", "--nocapture", "-q"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env("XDG_RUNTIME_DIR", folder)
        .env(COMMAND, "rm -rf build")
        .env(TIER, "3")
        .env(ANSWER, folder.join(answer))
        .envs(variables.iter().copied());
    command
}

impl Asked {
    /// Starts asking, without waiting for the card.
    fn start(variables: &[(&str, &str)], columns: u16, rows: u16, on: OnTerminal) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = asker(folder.path(), "answer", variables);
        let terminal = Terminal::spawn_with(command, columns, rows, on);
        let before = terminal.modes();
        Self { terminal, folder, before }
    }

    /// Asks, and waits until the card is there and can be answered.
    fn new(variables: &[(&str, &str)]) -> Self {
        let mut asked = Self::start(variables, 80, 24, OnTerminal::ALL);
        asked.terminal.wait_for("no answer means no");
        asked.read();
        asked
    }

    /// Reads the card.
    fn read(&mut self) {
        self.terminal.settle(terminal::READING + Duration::from_millis(100));
    }

    /// The answer, after the modes were found to be as before.
    #[track_caller]
    fn answer(&mut self) -> String {
        self.terminal.wait_exit();
        assert!(same(&self.before, &self.terminal.modes()), "the modes were not restored");
        self.written()
    }

    /// The answer as it was written down.
    #[track_caller]
    fn written(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("answer")).expect("an answer was given")
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

#[test]
fn y_allows_it_once() {
    let mut asked = Asked::new(&[]);
    asked.terminal.send("y");
    assert_eq!(asked.answer(), "Once");
    assert!(asked.terminal.screen().contains("guard: allowed once by you: rm -rf build"));
}
