//! A program that is asked something: it gets its input, prints an answer, and is ended with all that it started when its
//! time is up or nobody wants the answer any more.
//!
//! Whoever asks goes on meanwhile and looks from time to time. It is a session of its own, with an environment that the
//! caller did not choose. Out of scope: what the answer means, and commands of anybody but the person whose
//! configuration names the program.

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

/// The most that is read of an answer.
const MAX_ANSWER: usize = 64 << 10;

/// A running program that was given input and is to reply; it is killed when this is dropped.
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

/// Why there will be no answer.
#[derive(Debug, Error)]
pub enum ProgramQueryError {
    #[error("no answer within {} s", .0.as_secs_f32().ceil())]
    Late(Duration),
    #[error("it printed more than {} KiB", MAX_ANSWER >> 10)]
    TooMuch,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramReply {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub answer: Vec<u8>,
}

impl ProgramQuery {
    /// Starts the program with these arguments, this environment and nothing else, and this on standard input.
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

    /// Looks for the answer, for as long as `wait` at most; `None`: there is none yet.
    ///
    /// # Errors
    /// There will be none: its time is up, or it printed too much.
    pub fn poll(&mut self, wait: Duration) -> Result<Option<ProgramReply>, ProgramQueryError> {
        let until = Instant::now() + wait;
        loop {
            self.write();
            if self.read()? {
                // What it started may go on; nobody hears it any more.
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

    /// For how long it has been asked.
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
                // It does not want the rest.
                Err(_) => break,
            }
        }
        self.stdin = None;
    }

    /// Reads what there is; whether that was all.
    fn read(&mut self) -> Result<bool, ProgramQueryError> {
        let mut part = [0; 4096];
        loop {
            match self.stdout.read(&mut part) {
                Ok(0) => return Ok(true),
                Ok(length) => self.answer.extend_from_slice(part.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Something that it started may hold the pipe open.
                    return Ok(matches!(self.child.try_wait(), Ok(Some(_))));
                }
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
            // An end that hung up is ready at once, every time: the process itself is waited for then.
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
        // It leads its own session and group: what it started goes with it.
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
        // What it leaves behind is not waited for.
        assert_eq!(ask("sleep 60 & echo yes", "", Duration::from_secs(20)).unwrap().answer, b"yes\n");
    }

    #[test]
    fn nothing_of_the_environment_is_handed_on() {
        let replied = ask("env | grep -v '^PWD=\\|^_=\\|^SHLVL=\\|^OLDPWD='", "", Duration::from_secs(20)).unwrap();
        assert_eq!(replied.answer, b"PATH=/usr/bin:/bin\n");
    }
}
