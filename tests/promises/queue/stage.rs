//! Provides an agent's shell without a terminal, and a person at their own terminal.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use guard::store::queue::{Pending, Queue, RequestState};
use jiff::Timestamp;
use nix::libc;

use crate::harness::home::Home;
use crate::harness::pty::Terminal;

pub use crate::harness::home::FLAGGED;

/// A command of tier 2, which an agent may not run without a question.
pub const MEDIUM: [&str; 3] = ["npm", "install", "some-pkg"];

/// Creates a home whose stand-ins leave a mark when they run.
pub fn home() -> Home {
    let home = Home::new();
    let mark = home.path("ran");
    for name in ["npm", "mkfs.ext4", "chmod"] {
        home.stand_in(name, &format!("echo ran >> '{}'", mark.display()));
    }
    home
}

/// An agent's shell without a person, with guard waiting in it.
pub struct Asker {
    pub child: Child,
    pub id: String,
    /// The line that it printed when it began to wait.
    pub line: String,
    errors: BufReader<ChildStderr>,
}

/// Makes a program the leader of a session without a terminal.
pub fn apart(mut command: Command) -> Command {
    // SAFETY: only a system call is made between fork and exec.
    unsafe {
        command.pre_exec(|| if libc::setsid() == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) });
    }
    command
}

/// Returns a shell in a separate session, which runs a script whose `$0` is guard. All requests of the script belong to
/// one session.
pub fn in_session(home: &Home, script: &str) -> Command {
    let mut command = home.program("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_guard")]).env("GUARD_WAIT", "60");
    apart(command)
}

/// Returns a shell in a separate session, which runs guard with these arguments and exits with guard's code.
pub fn shell(home: &Home, arguments: &[&str]) -> Command {
    let mut command = in_session(home, "\"$0\" \"$@\"; exit $?");
    command.args(arguments);
    command
}

impl Asker {
    pub fn new(home: &Home, words: &[&str]) -> Self {
        Self::start(shell(home, &[&["--"], words].concat()))
    }

    /// Starts the shell, and waits until the request is filed.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        let id = line.strip_prefix("guard: request ").unwrap_or_else(|| panic!("no request: {line}"));
        let id = id.split(' ').next().unwrap().to_owned();
        Self { child, id, line, errors }
    }

    /// Returns the exit status, and the output since the wait began.
    pub fn end(mut self) -> (ExitStatus, String) {
        let mut said = String::new();
        self.errors.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap(), said)
    }

    /// Checks that the command ran.
    #[track_caller]
    pub fn ran(self) {
        let (status, said) = self.end();
        assert!(status.success(), "{status}: {said}");
    }

    /// Checks that the command was refused, with these words.
    #[track_caller]
    pub fn refused(self, words: &str) {
        let (status, said) = self.end();
        assert_eq!(status.code(), Some(126), "{:?}: {said}", status.signal());
        assert!(said.contains(words), "{said}");
    }
}

/// Starts guard on a person's own terminal.
pub fn person(home: &Home, arguments: &[&str]) -> Terminal {
    let mut command = home.guard(arguments);
    command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
    Terminal::spawn(command)
}

/// Waits for the card, and answers it.
#[track_caller]
pub fn answer_card(terminal: &mut Terminal, key: &str) {
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send(key);
}

/// Approves one request on its card.
#[track_caller]
pub fn approve(home: &Home, id: &str) -> String {
    approve_with(home, id, &[])
}

/// Like [`approve`], with more arguments.
#[track_caller]
pub fn approve_with(home: &Home, id: &str, more: &[&str]) -> String {
    let mut terminal = person(home, &[&["approve", id], more].concat());
    answer_card(&mut terminal, "y");
    terminal.wait_exit();
    terminal.screen()
}

pub fn queue(home: &Home) -> Queue {
    Queue::open(&home.paths()).unwrap()
}

pub fn request(home: &Home, id: &str) -> Pending {
    queue(home).find(id).unwrap().unwrap()
}

pub fn state(home: &Home, id: &str) -> RequestState {
    request(home, id).state
}

/// Returns all requests, including the settled ones.
pub fn all(home: &Home) -> Vec<Pending> {
    queue(home).list(Timestamp::now()).unwrap()
}
