//! Signals while a card is shown: the alarm that ends it, and those that end or stop the process.
//!
//! All of them are blocked except inside [`Watch::wait`], so that none can come between looking and waiting. Handlers
//! only set a bit. Dispositions, mask and a pending alarm of the caller's are given back when the watch ends.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use guard_system::was_sent;
use nix::errno::Errno;
use nix::libc;
use nix::sys::select::{FdSet, pselect};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, raise, sigaction};
use nix::sys::time::TimeSpec;

/// Signals that have arrived and were not looked at, by number.
static ARRIVED: AtomicU64 = AtomicU64::new(0);

/// Those that are watched.
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

/// Those that end the card and then the process.
const FATAL: [Signal; 4] = [Signal::SIGHUP, Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT];

/// The bit of a signal.
const fn bit(signal: Signal) -> u64 {
    1 << signal as u64
}

/// Those of [`ARRIVED`] that a process sent; the others came from the terminal: somebody pressed a key.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Notes that a signal has arrived, and from whom. Atomic stores are all that is allowed here, and all that is needed.
extern "C" fn note(number: libc::c_int, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    let bit = 1 << (number & 63);
    // SAFETY: the system hands a handler that asks for it a pointer that is valid until the handler returns, or null.
    if unsafe { info.as_ref() }.is_none_or(was_sent) {
        SENT.fetch_or(bit, Ordering::SeqCst);
    }
    ARRIVED.fetch_or(bit, Ordering::SeqCst);
}

/// The time by a clock that goes on while the machine sleeps, where there is one.
pub(super) fn now() -> Duration {
    // These clocks exist wherever this compiles. If one did not answer, every deadline would have passed: that is no.
    guard_system::steady_clock().unwrap_or(Duration::MAX)
}

/// What is ready after a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) read: bool,
    pub(super) write: bool,
}

/// The watched signals and the alarm, from [`Watch::begin`] until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    /// The mask as it was.
    mask: SigSet,
    /// The mask while waiting: as it was, with what is watched let in.
    open: SigSet,
    actions: Vec<(Signal, SigAction)>,
    /// The caller's alarm and when it was taken over.
    alarm: libc::itimerval,
    since: Duration,
    /// An alarm that was already pending for the caller.
    alarm_pending: bool,
}

impl Watch {
    /// Blocks and watches the signals and starts the alarm, once every so many seconds; 0: never.
    ///
    /// # Errors
    /// When the system refuses, which POSIX does not foresee for these calls.
    pub(super) fn begin(every: libc::time_t) -> nix::Result<Self> {
        let mut blocked: SigSet = WATCHED.into_iter().collect();
        // In the background, reading and writing the terminal fails instead of stopping the process.
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
            // Who ignores these keeps ignoring them; the keys of the terminal must work all the same.
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

    /// Whether this signal has arrived since it was last asked for.
    pub(super) fn take(&self, signal: Signal) -> bool {
        ARRIVED.fetch_and(!bit(signal), Ordering::SeqCst) & bit(signal) != 0
    }

    /// A signal that ends the process, when one has arrived; so does the caller's own alarm, if it would have.
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

    /// Whether a key of the terminal sent this signal, and no process.
    pub(super) fn was_typed(&self, signal: Signal) -> bool {
        matches!(signal, Signal::SIGINT | Signal::SIGQUIT) && SENT.load(Ordering::SeqCst) & bit(signal) == 0
    }

    /// Waits until the terminal is ready, a signal arrives, or `timeout` passes.
    ///
    /// # Errors
    /// Any but an interruption, which is no error here.
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

    /// Lets in what is pending, and whether a signal has arrived that must be looked at before anything that was typed.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn is_called(&self) -> nix::Result<bool> {
        self.admit()?;
        let urgent = FATAL.into_iter().chain([Signal::SIGTSTP, Signal::SIGCONT]);
        let urgent = urgent.fold(0, |all, signal| all | bit(signal));
        Ok(ARRIVED.load(Ordering::SeqCst) & urgent != 0)
    }

    /// Lets in what is pending.
    fn admit(&self) -> nix::Result<()> {
        let blocked = self.open.thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        blocked.thread_set_mask()
    }

    /// Stops the process as SIGTSTP found it, and returns when it goes on.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn stop(&self) -> nix::Result<()> {
        let stop = SigSet::from(Signal::SIGTSTP);
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // SAFETY: the default action runs no code of ours.
        let handler = unsafe { sigaction(Signal::SIGTSTP, &default) }?;
        raise(Signal::SIGTSTP)?;
        // Unblocked, it is delivered here, and this call returns after SIGCONT.
        stop.thread_unblock()?;
        stop.thread_block()?;
        // SAFETY: `handler` is the handler of this watch, as the system gave it back.
        unsafe { sigaction(Signal::SIGTSTP, &handler) }?;
        // The signal to go on is pending, and has done its work.
        self.admit()?;
        self.take(Signal::SIGTSTP);
        self.take(Signal::SIGCONT);
        Ok(())
    }

    /// What is left of the caller's alarm; `None` when there was none.
    fn callers_alarm(&self) -> Option<Duration> {
        let set = duration(self.alarm.it_value);
        (!set.is_zero()).then(|| set.saturating_sub(now().saturating_sub(self.since)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Each step is tried whatever became of the one before: there is nobody to tell.
        let _ = set_timer(&timer(0));
        // A tick of ours that is still pending must meet our handler, not the caller's.
        let _ = self.open.thread_set_mask();
        let _ = SigSet::from_iter(WATCHED).thread_block();
        for (signal, action) in &self.actions {
            // SAFETY: `action` is what the system gave for this signal before.
            let _ = unsafe { sigaction(*signal, action) };
        }
        if let Some(left) = self.callers_alarm() {
            // Zero would disarm it: what is overdue comes at once.
            let left = left.max(Duration::from_micros(1));
            let value = libc::itimerval { it_interval: self.alarm.it_interval, it_value: timeval(left) };
            let _ = set_timer(&value);
        }
        if self.alarm_pending {
            let _ = raise(Signal::SIGALRM);
        }
        // What came too late to be looked at is handed on to the caller, whose dispositions hold again.
        for signal in FATAL {
            if self.take(signal) {
                let _ = raise(signal);
            }
        }
        let _ = self.mask.thread_set_mask();
    }
}

/// Whether a signal is pending.
pub(super) fn is_pending(signal: Signal) -> bool {
    let mut pending = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `sigpending` fills the set it is given; `sigismember` only reads it, and the number is a valid one.
    unsafe { libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(pending.as_ptr(), signal as i32) == 1 }
}

/// An alarm every so many seconds; 0: none.
const fn timer(seconds: libc::time_t) -> libc::itimerval {
    let every = libc::timeval { tv_sec: seconds, tv_usec: 0 };
    libc::itimerval { it_interval: every, it_value: every }
}

/// Sets the alarm; the one that was set before, with what was left of it.
fn set_timer(value: &libc::itimerval) -> nix::Result<libc::itimerval> {
    let mut before = timer(0);
    // SAFETY: both pointers are valid for the call, which reads the first and writes the second.
    Errno::result(unsafe { libc::setitimer(libc::ITIMER_REAL, value, &raw mut before) })?;
    Ok(before)
}

/// The kernel gives no negative times.
fn duration(time: libc::timeval) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), 0)
        + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}

/// Of a time that was once a `timeval`.
fn timeval(time: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: libc::suseconds_t::from(time.subsec_micros().cast_signed()),
    }
}
