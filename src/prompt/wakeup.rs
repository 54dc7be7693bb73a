//! Waiting to be woken by another process: a named pipe that nobody reads, and the signals that end waiting.
//!
//! A byte in the pipe wakes all who wait for it, at once and without a look in between. It carries nothing: what happened
//! is looked up by whoever wakes, so that a false ring does no harm. Where there can be no pipe, and in case whoever should
//! have rung was killed first, the clock wakes them too. Out of scope: what is waited for.

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

/// With a pipe, how long may pass without a look: only a ring that never came is found by it.
const SELDOM: Duration = Duration::from_secs(2);

/// Without a pipe.
const OFTEN: Duration = Duration::from_millis(250);

/// After a ring that meant nothing, so that whoever rings without end costs little.
const REST: Duration = Duration::from_millis(20);

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeReason {
    /// Something may have happened: look.
    Ring,
    /// The time is over.
    Time,
    /// A signal that ends the process. `typed`: a key of the terminal sent it.
    Signal { signal: Signal, typed: bool },
}

/// A wakeup that this process waits for.
#[derive(Debug)]
pub struct Wakeup {
    path: Option<PathBuf>,
    pipe: Option<File>,
    watch: Watch,
    /// It rang, and the pipe was not emptied yet: others may be waiting for the same ring.
    rung: bool,
    /// By a clock that goes on while the machine sleeps.
    until: Duration,
}

impl Wakeup {
    /// Begins to wait, for at most `time`. Signals are held from now on, so that none is missed between looks.
    ///
    /// # Errors
    /// The system refuses to watch signals.
    pub fn begin(time: Duration) -> nix::Result<Self> {
        let watch = Watch::begin(0)?;
        Ok(Self { path: None, pipe: None, watch, rung: false, until: now().saturating_add(time) })
    }

    /// Listens at this place from now on.
    pub fn hang_up_at(&mut self, path: PathBuf) {
        self.pipe = open(&path);
        self.path = Some(path);
    }

    /// Listens to this pipe from now on, which does not make a read wait.
    pub fn listen_to(&mut self, pipe: File) {
        let small = usize::try_from(pipe.as_raw_fd()).is_ok_and(|fd| fd < FD_SETSIZE);
        self.pipe = Some(pipe).filter(|_| small);
    }

    /// Waits.
    ///
    /// # Errors
    /// The system refuses to wait.
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

    /// Removes the wakeup: nobody will use it again.
    pub fn take_down(self) {
        if let Some(path) = &self.path {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Takes what was rung out of the pipe, so that the next wait waits.
    fn empty(&mut self) {
        std::thread::sleep(REST.min(self.until.saturating_sub(now())));
        let mut bytes = [0; 64];
        let open_still = self.pipe.as_mut().is_some_and(|pipe| !matches!(pipe.read(&mut bytes), Ok(0)));
        if !open_still {
            // Whoever rang has gone: the pipe tells of that without end, until it is opened anew.
            self.pipe = self.path.as_deref().and_then(open);
        }
    }
}

/// The pipe, made where there is none.
fn open(path: &Path) -> Option<File> {
    let _ = mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR);
    // For writing too: then there is always a writer, and the end of one is not told.
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let pipe = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).ok()?;
    let small = usize::try_from(pipe.as_raw_fd()).is_ok_and(|fd| fd < FD_SETSIZE);
    let is_pipe = pipe.metadata().is_ok_and(|found| found.file_type().is_fifo());
    (small && is_pipe).then_some(pipe)
}

/// Wakes all who listen. Nothing, when nobody does.
pub fn ring(path: &Path) {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    if let Ok(mut pipe) = OpenOptions::new().write(true).custom_flags(flags).open(path)
        && pipe.metadata().is_ok_and(|found| found.file_type().is_fifo())
    {
        let _ = pipe.write(&[1]);
    }
}
