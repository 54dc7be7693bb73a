//! Handles signals while a card is shown: the alarm of the timeout, and signals that end or stop the process.
//!
//! All of them are blocked except in [`Watch::wait`], so that none can arrive between a check and the wait. Handlers
//! only set a bit. The dispositions, the mask and a pending alarm of the caller are restored at the end.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use guard_system::was_sent;
use nix::errno::Errno;
use nix::libc;
use nix::sys::select::{FdSet, pselect};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, raise, sigaction};
use nix::sys::time::TimeSpec;

/// The signals that arrived and were not handled.
static ARRIVED: AtomicU64 = AtomicU64::new(0);

/// The signals that are watched.
const WATCHED: [Signal; 8] = [
    Signal::SIGALRM,
    Signal::SIGWINCH,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];

/// The signals that end the card and then the process.
const FATAL: [Signal; 4] = [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT];

/// Returns the bit of a signal.
const fn bit(signal: Signal) -> u64 {
    1 << signal as u64
}

/// Those of [`ARRIVED`] that a process sent. The others are keys of the terminal.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Records a signal and its sender, with atomic stores only, as required in a handler.
extern "C" fn note(number: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let bit = 1 << (number & 63);
    // SAFETY: the system hands a handler that asks for it a pointer that is valid until the handler returns, or null.
    if unsafe { info.as_ref() }.is_none_or(was_sent) {
        SENT.fetch_or(bit, Ordering::SeqCst);
    }
    ARRIVED.fetch_or(bit, Ordering::SeqCst);
}

/// Returns the time of a clock that continues while the machine sleeps, if there is one.
pub(super) fn now() -> Duration {
    // These clocks exist on all supported systems. If one failed, every deadline would have passed, which denies the
    // command.
    guard_system::steady_clock().unwrap_or(Duration::MAX)
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) read: bool,
    pub(super) write: bool,
}

/// Watches the signals and the alarm, from [`Watch::begin`] until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    /// The mask before.
    mask: SigSet,
    /// The mask while waiting: the previous one without the watched signals.
    open: SigSet,
    actions: Vec<(Signal, SigAction)>,
    /// The alarm of the caller, and when it was suspended.
    alarm: libc::itimerval,
    since: Duration,
    /// Whether an alarm was pending for the caller.
    alarm_pending: bool,
}

impl Watch {
    /// Blocks and watches the signals, and starts the alarm with an interval in seconds; 0: no alarm.
    ///
    /// # Errors
    /// A system call fails, which POSIX does not specify for these calls.
    pub(super) fn begin(every: libc::time_t) -> nix::Result<Self> {
        let mut blocked: SigSet = WATCHED.into_iter().collect();
        // In the background, reads and writes of the terminal then fail instead of stopping the process.
        blocked.add(Signal::SIGTTIN);
        blocked.add(Signal::SIGTTOU);
        let mask = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let mut open = mask;
        WATCHED.into_iter().for_each(|signal| open.remove(signal));
        open.add(Signal::SIGTTIN);
        open.add(Signal::SIGTTOU);
        ARRIVED.store(0, Ordering::SeqCst);
        SENT.store(0, Ordering::SeqCst);
        let mut watch = Self {
            mask,
            open,
            actions: Vec::new(),
            alarm: timer(0),
            since: now(),
            alarm_pending: mask.contains(Signal::SIGALRM) && is_pending(Signal::SIGALRM),
        };
        let handler = SigAction::new(SigHandler::SigAction(note), SaFlags::SA_SIGINFO, SigSet::all());
        for signal in WATCHED {
            // SAFETY: the handler stores to an atomic and does nothing else, which is safe in a signal handler.
            let before = unsafe { sigaction(signal, &handler) }?;
            // Ignored signals remain ignored, except those of terminal keys, which must work.
            let ignored = matches!(before.handler(), SigHandler::SigIgn);
            if ignored && matches!(signal, Signal::SIGHUP | Signal::SIGTERM | Signal::SIGTSTP) {
                // SAFETY: `before` is what the system gave.
                unsafe { sigaction(signal, &before) }?;
            } else {
                watch.actions.push((signal, before));
            }
        }
        watch.alarm = set_timer(&timer(every))?;
        Ok(watch)
    }

    /// Reports whether this signal arrived since the last call.
    pub(super) fn take(&self, signal: Signal) -> bool {
        ARRIVED.fetch_and(!bit(signal), Ordering::SeqCst) & bit(signal) != 0
    }

    /// Returns a signal that ends the process, if one arrived, including the alarm of the caller.
    pub(super) fn fatal(&self) -> Option<Signal> {
        FATAL.into_iter().find(|signal| self.take(*signal)).or_else(|| {
            let lethal = self
                .actions
                .iter()
                .any(|(signal, action)| *signal == Signal::SIGALRM && !matches!(action.handler(), SigHandler::SigIgn));
            (lethal && !self.mask.contains(Signal::SIGALRM) && self.callers_alarm() == Some(Duration::ZERO))
                .then_some(Signal::SIGALRM)
        })
    }

    /// Reports whether a key of the terminal sent this signal, and not a process.
    pub(super) fn was_typed(&self, signal: Signal) -> bool {
        matches!(signal, Signal::SIGINT | Signal::SIGQUIT) && SENT.load(Ordering::SeqCst) & bit(signal) == 0
    }

    /// Waits until the terminal is ready, a signal arrives, or `timeout` passes.
    ///
    /// # Errors
    /// Every error but an interruption.
    pub(super) fn wait(&self, fd: BorrowedFd<'_>, write: bool, timeout: Duration) -> nix::Result<Ready> {
        let mut readable = FdSet::new();
        let mut writable = FdSet::new();
        if write {
            writable.insert(fd);
        } else {
            readable.insert(fd);
        }
        match pselect(None, &mut readable, &mut writable, None, &TimeSpec::from(timeout), &self.open) {
            Ok(_) => Ok(Ready { read: readable.contains(fd), write: writable.contains(fd) }),
            Err(Errno::EINTR) => Ok(Ready { read: false, write: false }),
            Err(error) => Err(error),
        }
    }

    /// Delivers pending signals. Returns whether one arrived that must be handled before input.
    ///
    /// # Errors
    /// A system call fails.
    pub(super) fn is_called(&self) -> nix::Result<bool> {
        self.admit()?;
        let urgent = FATAL.into_iter().chain([Signal::SIGTSTP, Signal::SIGCONT]);
        let urgent = urgent.fold(0, |all, signal| all | bit(signal));
        Ok(ARRIVED.load(Ordering::SeqCst) & urgent != 0)
    }

    /// Delivers pending signals.
    fn admit(&self) -> nix::Result<()> {
        let blocked = self.open.thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        blocked.thread_set_mask()
    }

    /// Stops the process as the default of SIGTSTP does, and returns when it is continued.
    ///
    /// # Errors
    /// A system call fails.
    pub(super) fn stop(&self) -> nix::Result<()> {
        let stop = SigSet::from(Signal::SIGTSTP);
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: the default action runs no code of ours.
        let handler = unsafe { sigaction(Signal::SIGTSTP, &default) }?;
        raise(Signal::SIGTSTP)?;
        // The signal is delivered here, and the call returns after SIGCONT.
        stop.thread_unblock()?;
        stop.thread_block()?;
        // SAFETY: `handler` is the handler of this watch, as the system gave it back.
        unsafe { sigaction(Signal::SIGTSTP, &handler) }?;
        // SIGCONT is pending and is no longer needed.
        self.admit()?;
        self.take(Signal::SIGTSTP);
        self.take(Signal::SIGCONT);
        Ok(())
    }

    /// Returns the remaining time of the caller's alarm; `None` if there was none.
    fn callers_alarm(&self) -> Option<Duration> {
        let set = duration(self.alarm.it_value);
        (!set.is_zero()).then(|| set.saturating_sub(now().saturating_sub(self.since)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Each step is tried even if an earlier one failed, because failures cannot be reported.
        let _ = set_timer(&timer(0));
        // A pending alarm of this module must not reach the handler of the caller.
        let _ = self.open.thread_set_mask();
        let _ = SigSet::from_iter(WATCHED).thread_block();
        for (signal, action) in &self.actions {
            // SAFETY: `action` is what the system gave for this signal before.
            let _ = unsafe { sigaction(*signal, action) };
        }
        if let Some(left) = self.callers_alarm() {
            // Zero would disable it; an expired alarm is delivered at once.
            let left = left.max(Duration::from_micros(1));
            let value = libc::itimerval { it_interval: self.alarm.it_interval, it_value: timeval(left) };
            let _ = set_timer(&value);
        }
        if self.alarm_pending {
            let _ = raise(Signal::SIGALRM);
        }
        // Signals that were not handled are raised again for the caller, whose dispositions are restored.
        for signal in FATAL {
            if self.take(signal) {
                let _ = raise(signal);
            }
        }
        let _ = self.mask.thread_set_mask();
    }
}

/// Reports whether a signal is pending.
pub(super) fn is_pending(signal: Signal) -> bool {
    let mut pending = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `sigpending` fills the set it is given; `sigismember` only reads it, and the number is a valid one.
    unsafe { libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(pending.as_ptr(), signal as i32) == 1 }
}

/// Creates a timer with an interval in seconds; 0: none.
const fn timer(seconds: libc::time_t) -> libc::itimerval {
    let every = libc::timeval { tv_sec: seconds, tv_usec: 0 };
    libc::itimerval { it_interval: every, it_value: every }
}

/// Sets the alarm. Returns the previous one with its remaining time.
fn set_timer(value: &libc::itimerval) -> nix::Result<libc::itimerval> {
    let mut before = timer(0);
    // SAFETY: both pointers are valid for the call, which reads the first and writes the second.
    Errno::result(unsafe { libc::setitimer(libc::ITIMER_REAL, value, &raw mut before) })?;
    Ok(before)
}

/// Converts a time. The kernel returns no negative times.
fn duration(time: libc::timeval) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), 0)
        + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}

/// Converts a duration that was a `timeval` before.
fn timeval(time: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: libc::suseconds_t::from(time.subsec_micros().cast_signed()),
    }
}
