//! Runs a program that answers a question: it gets input and prints an answer. It is killed with its children when the
//! time limit is exceeded, or the answer is no longer needed.
//!
//! The caller polls for the answer. The program runs in its own session, with an environment that the requester does
//! not control. Out of scope: the meaning of the answer, and programs that are not in the user's own configuration.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use thiserror::Error;

use super::tool::Tool;

/// Maximum size of an answer, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// A running program that will answer. It is killed when this is dropped.
#[derive(Debug)]
pub struct ProgramQuery {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    input: Vec<u8>,
    written: usize,
    answer: Vec<u8>,
    begun: Instant,
    limit: Duration,
}

/// The reason why there is no answer.
#[derive(Debug, Error)]
pub enum ProgramQueryError {
    #[error("no answer within {} s", .0.as_secs_f32().ceil())]
    Late(Duration),
    #[error("it printed more than {} KiB", MAX_ANSWER >> 10)]
    TooMuch,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The result of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramReply {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub answer: Vec<u8>,
}

impl ProgramQuery {
    /// Starts the program with these arguments, only this environment, and this standard input.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn begin(
        program: &Path,
        arguments: &[String],
        env: &[(OsString, OsString)],
        input: Vec<u8>,
        limit: Duration,
    ) -> io::Result<Self> {
        let tool = Tool::at(program)?.args(arguments).alone(env.iter().cloned()).in_its_own_session();
        let mut child = tool.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).start()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        for end in [stdin.as_fd(), stdout.as_fd()] {
            fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let (written, answer) = (0, Vec::new());
        Ok(Self { child, stdin: Some(stdin), stdout, input, written, answer, begun: Instant::now(), limit })
    }

    /// Waits for the answer, for at most `wait`; `None`: there is none yet.
    ///
    /// # Errors
    /// There will be no answer: the time limit was exceeded, or the program printed too much.
    pub fn poll(&mut self, wait: Duration) -> Result<Option<ProgramReply>, ProgramQueryError> {
        let until = Instant::now() + wait;
        loop {
            self.write();
            if self.read()? {
                // Its children may continue; their output is ignored.
                let ended = self.child.try_wait()?;
                if let Some(status) = ended {
                    let answer = std::mem::take(&mut self.answer);
                    return Ok(Some(ProgramReply { code: status.code(), answer }));
                }
            }
            let running = self.begun.elapsed();
            if running >= self.limit {
                return Err(ProgramQueryError::Late(self.limit));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.pause(left.min(self.limit.saturating_sub(running)).min(Duration::from_millis(20)));
        }
    }

    /// Returns the time since the start.
    #[must_use]
    pub fn asked_for(&self) -> Duration {
        self.begun.elapsed()
    }

    fn write(&mut self) {
        let Some(stdin) = &mut self.stdin else { return };
        while let Some(rest) = self.input.get(self.written..).filter(|rest| !rest.is_empty()) {
            match stdin.write(rest) {
                Ok(taken) => self.written += taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // It does not read the rest.
                Err(_) => break,
            }
        }
        self.stdin = None;
    }

    /// Reads available output. Returns whether the output is complete.
    fn read(&mut self) -> Result<bool, ProgramQueryError> {
        // Check before reading: a program can print its answer and exit between a read and a check.
        let has_exited = self.child.try_wait()?.is_some();
        let mut part = [0; 4096];
        loop {
            match self.stdout.read(&mut part) {
                Ok(0) => return Ok(true),
                Ok(length) => self.answer.extend_from_slice(part.get(..length).unwrap_or_default()),
                // A child of the program may keep the pipe open.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(has_exited),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            if self.answer.len() > MAX_ANSWER {
                return Err(ProgramQueryError::TooMuch);
            }
        }
    }

    fn pause(&self, time: Duration) {
        let time = PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO);
        let mut ends = vec![PollFd::new(self.stdout.as_fd(), PollFlags::POLLIN)];
        let stdin: Option<BorrowedFd<'_>> = self.stdin.as_ref().map(|stdin| stdin.as_fd());
        ends.extend(stdin.map(|end| PollFd::new(end, PollFlags::POLLOUT)));
        match poll(&mut ends, time) {
            // A closed pipe is always ready: wait for the process instead.
            Ok(_) if ends.iter().any(|end| end.revents().is_some_and(|got| got.contains(PollFlags::POLLHUP))) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

impl Drop for ProgramQuery {
    fn drop(&mut self) {
        // It leads its own session and group: its children are killed too.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let group = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(script: &str, input: &str, limit: Duration) -> Result<ProgramReply, ProgramQueryError> {
        let words = ["-c".to_owned(), script.to_owned()];
        let path = [("PATH".into(), "/usr/bin:/bin".into())];
        let mut asked = ProgramQuery::begin(Path::new("/bin/sh"), &words, &path, input.into(), limit).unwrap();
        loop {
            if let Some(replied) = asked.poll(Duration::from_millis(50))? {
                return Ok(replied);
            }
        }
    }

    #[test]
    fn a_long_question_is_answered_in_full() {
        let long = "x".repeat(300_000);
        let replied = ask("wc -c; exit 3", &long, Duration::from_secs(20)).unwrap();
        assert_eq!((replied.code, String::from_utf8_lossy(&replied.answer).trim()), (Some(3), "300000"));
    }

    #[test]
    fn who_does_not_read_or_prints_too_much_or_takes_too_long_holds_nobody_up() {
        assert_eq!(ask("echo no", &"x".repeat(300_000), Duration::from_secs(20)).unwrap().answer, b"no\n");
        assert!(ask("yes", "", Duration::from_secs(20)).unwrap_err().to_string().contains("64 KiB"));
        let begun = Instant::now();
        assert!(
            ask("sleep 60 & sleep 60", "", Duration::from_millis(300)).unwrap_err().to_string().contains("no answer")
        );
        assert!(begun.elapsed() < Duration::from_secs(10));
        // A process that the program leaves running is not waited for.
        assert_eq!(ask("sleep 60 & echo yes", "", Duration::from_secs(20)).unwrap().answer, b"yes\n");
    }

    #[test]
    fn an_answer_printed_just_before_the_exit_is_read() {
        let words = ["-c".to_owned(), "echo yes".to_owned()];
        for _ in 0..400 {
            let limit = Duration::from_secs(20);
            let mut asked = ProgramQuery::begin(Path::new("/bin/sh"), &words, &[], Vec::new(), limit).unwrap();
            // Without a pause, a read often comes just before the answer.
            let replied = loop {
                if let Some(replied) = asked.poll(Duration::ZERO).unwrap() {
                    break replied;
                }
            };
            assert_eq!((replied.code, replied.answer), (Some(0), b"yes\n".to_vec()));
        }
    }

    #[test]
    fn nothing_of_the_environment_is_handed_on() {
        let replied = ask("env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD='", "", Duration::from_secs(20)).unwrap();
        assert_eq!(replied.answer, b"PATH=/usr/bin:/bin\n");
    }
}
