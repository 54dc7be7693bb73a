//! Waits for another process: with a named pipe that nobody reads, and with the signals that end a wait.
//!
//! A byte in the pipe wakes all waiting processes at once. It has no meaning: a process that wakes up checks what
//! happened, so that a false signal is harmless. Without a pipe, and in case the other process was killed before it
//! wrote, a timeout also wakes them. Out of scope: the event that is waited for.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc;
use nix::sys::select::FD_SETSIZE;
use nix::sys::signal::Signal;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::signal_watch::{Watch, now};

/// The interval of checks with a pipe, which only finds a signal that was never sent.
const SELDOM: Duration = Duration::from_secs(2);

/// The interval of checks without a pipe.
const OFTEN: Duration = Duration::from_millis(250);

/// The pause after a false signal, so that repeated ones cost little.
const REST: Duration = Duration::from_millis(20);

/// The reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// The event may have happened.
    Ring,
    /// The timeout passed.
    Time,
    /// A signal that ends the process arrived. `typed`: a key of the terminal sent it.
    Signal { signal: Signal, typed: bool },
}

/// A wakeup for which this process waits.
#[derive(Debug)]
pub struct Wakeup {
    path: Option<PathBuf>,
    pipe: Option<File>,
    watch: Watch,
    /// Whether it was signalled and the pipe was not emptied yet, because others may wait for the same signal.
    rung: bool,
    /// The deadline, by a clock that continues while the machine sleeps.
    until: Duration,
}

impl Wakeup {
    /// Begins to wait, for at most `time`. Signals are blocked from now on, so that none is missed between checks.
    ///
    /// # Errors
    /// The signals cannot be watched.
    pub fn begin(time: Duration) -> nix::Result<Self> {
        let watch = Watch::begin(0)?;
        Ok(Self { path: None, pipe: None, watch, rung: false, until: now().saturating_add(time) })
    }

    /// Uses the pipe at this path from now on.
    pub fn hang_up_at(&mut self, path: PathBuf) {
        self.pipe = open(&path);
        self.path = Some(path);
    }

    /// Uses this non-blocking pipe from now on.
    pub fn listen_to(&mut self, pipe: File) {
        let small = usize::try_from(pipe.as_raw_fd()).is_ok_and(|fd| fd < FD_SETSIZE);
        self.pipe = Some(pipe).filter(|_| small);
    }

    /// Waits.
    ///
    /// # Errors
    /// A system call fails.
    pub fn wait(&mut self) -> nix::Result<WakeReason> {
        if std::mem::take(&mut self.rung) {
            self.empty();
        }
        loop {
            self.watch.take(Signal::SIGCONT);
            self.watch.take(Signal::SIGWINCH);
            if self.watch.take(Signal::SIGTSTP) {
                self.watch.stop()?;
                return Ok(WakeReason::Ring);
            }
            if let Some(signal) = self.watch.fatal() {
                return Ok(WakeReason::Signal { signal, typed: self.watch.was_typed(signal) });
            }
            let left = self.until.saturating_sub(now());
            if left.is_zero() {
                return Ok(WakeReason::Time);
            }
            let Some(pipe) = &self.pipe else {
                std::thread::sleep(OFTEN.min(left));
                if !self.watch.is_called()? {
                    return Ok(WakeReason::Ring);
                }
                continue;
            };
            if self.watch.wait(pipe.as_fd(), false, left.min(SELDOM))?.read {
                self.rung = true;
                return Ok(WakeReason::Ring);
            }
            if !self.watch.is_called()? {
                return Ok(WakeReason::Ring);
            }
        }
    }

    /// Removes the pipe, which nobody will use again.
    pub fn take_down(self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Empties the pipe, so that the next wait does not end at once.
    fn empty(&mut self) {
        std::thread::sleep(REST.min(self.until.saturating_sub(now())));
        let mut bytes = [0; 64];
        let open_still = self.pipe.as_mut().is_some_and(|pipe| !matches!(pipe.read(&mut bytes), Ok(0)));
        if !open_still {
            // The writer closed the pipe, which is then always ready until it is opened again.
            self.pipe = self.path.as_deref().and_then(open);
        }
    }
}

/// Opens the pipe, and creates it if it does not exist.
fn open(path: &Path) -> Option<File> {
    let _ = mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR);
    // Opened for writing too, so that there is always a writer, and closing by another one is not reported.
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let pipe = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
    let small = usize::try_from(pipe.as_raw_fd()).is_ok_and(|fd| fd < FD_SETSIZE);
    let is_pipe = pipe.metadata().is_ok_and(|found| found.file_type().is_fifo());
    (small && is_pipe).then_some(pipe)
}

/// Wakes all waiting processes, if there are any.
pub fn ring(path: &Path) {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    if let Ok(mut pipe) = OpenOptions::new().write(true).custom_flags(flags).open(path)
        && pipe.metadata().is_ok_and(|found| found.file_type().is_fifo())
    {
        let _ = pipe.write(&[1]);
    }
}
