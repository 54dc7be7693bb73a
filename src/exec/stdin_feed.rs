//! Feeds a shell that reads its commands from standard input: one approved command at a time.
//!
//! The commands themselves can read standard input: guard reads no byte beyond the line that ends a command, waits
//! until the shell has executed that command, and only then reads the next one. The shell gets its commands through a
//! pipe, each in a group whose standard input is the original one.
//!
//! guard detects that the shell is ready without changing it: after each command it writes a blank, which no shell
//! reads before it has executed the command, and which has no meaning before the next one.

use std::ffi::c_int;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd as _, AsRawFd, FromRawFd, OwnedFd};
use std::time::Instant;

use nix::unistd::{ForkResult, fork};

use super::prepare::Prepared;
use super::preserve::{Inherited, current_mask, full_mask, last_error, mask_of, set_mask};
use super::relay::Relay;
use super::wait::{ExecutionResult, ProcessStatus, become_command, failure, poll, spawn_error};
use super::{ExecError, grouped};
use crate::judge::approved::{Approved, Receipt};
use crate::judge::invocation::Request;
use crate::judge::syntax::tree::Dialect;

/// The descriptor that guard uses in the shell, in addition to the standard ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtraFd(pub c_int);

impl ExtraFd {
    /// Returns a number that the caller does not use. bash supports any number; other shells only those with one digit.
    #[must_use]
    pub fn free(dialect: Dialect) -> Option<Self> {
        let candidates = match dialect {
            Dialect::Bash => 64..=97,
            Dialect::Sh | Dialect::Zsh => 3..=9,
        };
        // SAFETY: asks about a number. What is closed on exec is guard's own and does not reach the shell.
        let flags = |number: c_int| unsafe { libc::fcntl(number, libc::F_GETFD) };
        candidates.rev().find(|number| flags(*number) == -1 || flags(*number) & libc::FD_CLOEXEC != 0).map(Self)
    }
}

/// The next part of standard input.
#[derive(Debug)]
pub enum StdinChunk {
    /// A line, with its newline.
    Line(Vec<u8>),
    /// The end, with a last line without a newline.
    End(Vec<u8>),
    /// The shell has ended.
    Over,
}

/// A shell that waits for commands.
pub struct Feeder {
    pid: libc::pid_t,
    relay: Relay,
    to_shell: Option<PipeWriter>,
    extra: ExtraFd,
    dialect: Dialect,
    seekable: bool,
    ended: Option<ProcessStatus>,
    begun: Instant,
}

impl Feeder {
    /// Starts the approved shell.
    ///
    /// # Errors
    /// It cannot be started.
    #[expect(clippy::needless_pass_by_value, reason = "an approval is used once")]
    pub fn start(
        approved: Approved,
        _receipt: Receipt,
        inherited: &Inherited,
        extra: ExtraFd,
        dialect: Dialect,
    ) -> Result<Self, ExecError> {
        let mut command = Prepared::new(approved.invocation(), inherited)?;
        let failed = |error| spawn_error("pipe", error);
        let (from_child, to_parent) = io::pipe().map_err(failed)?;
        let to_parent = PipeWriter::from(high(to_parent).map_err(failed)?);
        let (commands, to_shell) = io::pipe().map_err(failed)?;
        let commands = PipeReader::from(high(commands).map_err(failed)?);
        let to_shell = PipeWriter::from(high(to_shell).map_err(failed)?);
        small(&to_shell);
        let before = current_mask();
        let relay = Relay::start().map_err(failed)?;
        let mut inherited = inherited.clone();
        inherited.hold_alarm();
        let begun = Instant::now();
        // SAFETY: between fork and exec the child makes system calls only, on memory that was prepared before.
        match unsafe { fork() } {
            Err(error) => {
                relay.end();
                set_mask(&before);
                Err(spawn_error("fork", error.into()))
            }
            Ok(ForkResult::Child) => {
                let (from, to) = (commands.as_raw_fd(), extra.0);
                // SAFETY: descriptors that are open, above those that are overwritten.
                unsafe {
                    libc::dup2(0, to);
                    libc::dup2(from, 0);
                }
                become_command(&mut command, &inherited, &to_parent)
            }
            Ok(ForkResult::Parent { child }) => {
                drop((to_parent, commands));
                let pid = child.as_raw();
                relay.command(pid);
                if let Some(number) = failure(from_child) {
                    let _ = super::wait::watch(pid, &relay);
                    relay.end();
                    return Err(command.failure(number));
                }
                let mut feeder = Self {
                    pid,
                    relay,
                    to_shell: Some(to_shell),
                    extra,
                    dialect,
                    seekable: seek(0).is_some(),
                    ended: None,
                    begun,
                };
                // Start-up files run first, and may read standard input.
                feeder.until_ready().map_err(|error| spawn_error("wait", error))?;
                Ok(feeder)
            }
        }
    }

    /// Returns the next line of standard input. Nothing after it is read.
    ///
    /// # Errors
    /// Standard input cannot be read.
    pub fn line(&mut self, limit: usize) -> io::Result<StdinChunk> {
        let mut line = Vec::new();
        loop {
            let taken = if self.seekable {
                self.block(&mut line)?
            } else {
                if !self.input_is_there()? {
                    return Ok(StdinChunk::Over);
                }
                byte(&mut line)?
            };
            if taken == 0 {
                return Ok(StdinChunk::End(line));
            }
            // A line that is longer than the maximum for a command is not read to its end.
            if line.last() == Some(&b'\n') || line.len() > limit {
                return Ok(StdinChunk::Line(line));
            }
        }
    }

    /// Reads a block of a file, and seeks back to the end of the line.
    fn block(&self, line: &mut Vec<u8>) -> io::Result<usize> {
        let mut buffer = [0_u8; 4096];
        let taken = read(&mut buffer)?;
        let got = buffer.get(..taken).unwrap_or_default();
        let used = got.iter().position(|byte| *byte == b'\n').map_or(taken, |at| at + 1);
        let back = i64::try_from(taken - used).unwrap_or(0);
        if back > 0 && seek(-back).is_none() {
            return Err(last_error());
        }
        line.extend_from_slice(got.get(..used).unwrap_or_default());
        Ok(used)
    }

    /// Waits for input. `false`: the shell has ended.
    fn input_is_there(&mut self) -> io::Result<bool> {
        loop {
            let mut input = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
            // SAFETY: `input` is valid for the call.
            if unsafe { libc::poll(&mut input, 1, 0) } > 0 {
                return Ok(true);
            }
            if self.over()? {
                return Ok(false);
            }
            self.relay.rest_on(&mut [input], -1);
        }
    }

    /// Passes the approved command to the shell, and waits until it was executed. `last`: no other command follows.
    /// `false`: the shell has ended.
    ///
    /// # Errors
    /// The shell cannot be waited for.
    #[expect(clippy::needless_pass_by_value, reason = "an approval is used once")]
    pub fn run(&mut self, approved: Approved, _receipt: Receipt, last: bool) -> io::Result<bool> {
        let Request::Line(line) = &approved.invocation().request else { return Ok(false) };
        // The shell reports a syntax error itself.
        let text = grouped::grouped(&line.text, self.dialect, self.extra.0);
        let mut text = text.unwrap_or_else(|| line.text.clone());
        if !last && text.last() != Some(&b'\n') {
            text.push(b'\n');
        }
        self.hand_over(&text)?;
        if last { Ok(false) } else { self.until_ready() }
    }

    /// Calls a function while the shell waits: signals are unblocked, recorded, and relayed afterwards.
    pub fn meanwhile<T>(&self, what: impl FnOnce() -> T) -> T {
        set_mask(&mask_of(0));
        let done = what();
        set_mask(&full_mask());
        done
    }

    /// Passes lines without a command, so that the shell counts them.
    ///
    /// # Errors
    /// The same as of [`Self::run`].
    pub fn pass(&mut self, lines: usize) -> io::Result<bool> {
        self.hand_over(&vec![b'\n'; lines])?;
        Ok(!self.over()?)
    }

    /// Ends the input of the shell, and waits for its end.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn finish(mut self) -> io::Result<ExecutionResult> {
        self.to_shell = None;
        let ended = match self.ended {
            Some(ended) => ended,
            None => super::wait::watch(self.pid, &self.relay)?,
        };
        let duration = self.begun.elapsed();
        self.relay.end();
        Ok(ExecutionResult { ended, duration })
    }

    /// Writes to the shell. If the shell no longer reads, that is detected by its end.
    fn hand_over(&mut self, mut text: &[u8]) -> io::Result<()> {
        while !text.is_empty() && !self.over()? {
            let Some(pipe) = &mut self.to_shell else { return Ok(()) };
            match pipe.write(text) {
                Ok(written) => text = text.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let pipe = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
                    self.relay.rest_on(&mut [pipe], -1);
                }
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    self.to_shell = None;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until the shell reads the next command. `false`: it has ended or does not read.
    fn until_ready(&mut self) -> io::Result<bool> {
        // Wait until the pipe is empty: a shell that reads blocks would read the blank with the command.
        self.until_empty()?;
        self.hand_over(b" ")?;
        self.until_empty()
    }

    fn until_empty(&mut self) -> io::Result<bool> {
        let mut pause = 0;
        loop {
            if self.over()? {
                return Ok(false);
            }
            let Some(pipe) = &self.to_shell else {
                // The shell was replaced by another program, which reads standard input itself.
                self.ended = Some(super::wait::watch(self.pid, &self.relay)?);
                return Ok(false);
            };
            let mut left: c_int = 0;
            // SAFETY: FIONREAD writes one number through a valid pointer.
            if unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut left) } == -1 {
                return Err(last_error());
            }
            let mut room = libc::pollfd { fd: pipe.as_raw_fd(), events: 0, revents: 0 };
            // SAFETY: `room` is valid for the call.
            if unsafe { libc::poll(&mut room, 1, 0) } > 0 && room.revents & libc::POLLERR != 0 {
                self.to_shell = None;
                continue;
            }
            if left == 0 {
                return Ok(true);
            }
            // A pipe with one buffer is writable when it is empty; with a larger pipe, poll again.
            room.events = if pause < 8 { 0 } else { libc::POLLOUT };
            self.relay.rest_on(&mut [room], pause);
            pause = (pause + 1).min(20);
        }
    }

    /// Relays signals. Returns whether the shell has ended.
    fn over(&mut self) -> io::Result<bool> {
        if self.ended.is_none() {
            self.ended = poll(self.pid, &self.relay)?;
        }
        Ok(self.ended.is_some())
    }
}

/// Duplicates a descriptor to a number that shells do not use, with close-on-exec.
#[expect(clippy::needless_pass_by_value, reason = "the lower one is closed")]
fn high(of: impl AsRawFd) -> io::Result<OwnedFd> {
    // SAFETY: the call makes a descriptor that is ours alone.
    unsafe {
        match libc::fcntl(of.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 100) {
            -1 => Err(last_error()),
            copy => Ok(OwnedFd::from_raw_fd(copy)),
        }
    }
}

/// Limits a pipe to one buffer, and makes it non-blocking.
fn small(pipe: &PipeWriter) {
    // A pipe that remains larger is polled more often.
    guard_system::set_pipe_size(pipe.as_fd(), 4096);
    // SAFETY: sets what belongs to a descriptor that is open.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
}

fn read(buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: `buffer` is valid for its length.
        match unsafe { libc::read(0, buffer.as_mut_ptr().cast(), buffer.len()) } {
            -1 if last_error().kind() == io::ErrorKind::Interrupted => {}
            taken => return usize::try_from(taken).map_err(|_| last_error()),
        }
    }
}

/// Reads one byte.
fn byte(line: &mut Vec<u8>) -> io::Result<usize> {
    let mut one = [0_u8];
    let taken = read(&mut one)?;
    line.extend_from_slice(one.get(..taken).unwrap_or_default());
    Ok(taken)
}

/// Seeks in standard input by an offset; `None` if it is not seekable.
fn seek(by: i64) -> Option<i64> {
    // SAFETY: touches no memory.
    let at = unsafe { libc::lseek(0, by, libc::SEEK_CUR) };
    (at >= 0).then_some(at)
}
