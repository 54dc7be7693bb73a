//! Signals while a command is waited for: which of them the command must still be told of.
//!
//! The command shares guard's process group. What the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, a hang-up) reaches both;
//! what somebody sends to guard's process alone must be passed on. The two are told apart by who the sender is: a
//! process, or the kernel. A signal that a process sent to the whole group is passed on too, since it cannot be told from
//! one that was meant for guard: twice is harmless where never is not.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::SeqCst};

use super::preserve::{LAST_SIGNAL, bit, full_mask, mask_of, set_disposition, set_mask};

/// Signals that wait to be passed on.
static WAITING: AtomicU64 = AtomicU64::new(0);
/// The command. What it sends to its parent is not sent back to it.
static COMMAND: AtomicI32 = AtomicI32::new(0);

/// Signals that are left alone: they cannot be caught, belong to faults of guard itself, are ignored by default, or are
/// how guard learns of the command.
const fn is_relayed(signal: c_int) -> bool {
    !matches!(
        signal,
        libc::SIGKILL
            | libc::SIGSTOP
            | libc::SIGCHLD
            | libc::SIGSEGV
            | libc::SIGBUS
            | libc::SIGFPE
            | libc::SIGILL
            | libc::SIGTRAP
            | libc::SIGSYS
            | libc::SIGABRT
            | libc::SIGPIPE
    )
}

/// Notes a signal. Atomics only, as a handler must.
extern "C" fn note(signal: c_int, about: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid struct, and `si_pid` is there for signals from kill.
    let is_from_a_process = unsafe {
        match about.as_ref() {
            Some(about) => is_sent(about) && (about.si_pid() != COMMAND.load(SeqCst)),
            None => false,
        }
    };
    if signal != libc::SIGCHLD && is_from_a_process {
        WAITING.fetch_or(bit(signal), SeqCst);
    }
}

/// Whether a process sent it. Linux says so by a code that is not positive (a process of another namespace has pid 0);
/// elsewhere the kernel's own signals come from pid 0.
#[cfg(target_os = "linux")]
const fn is_sent(about: &libc::siginfo_t) -> bool {
    about.si_code <= 0
}
#[cfg(not(target_os = "linux"))]
unsafe fn is_sent(about: &libc::siginfo_t) -> bool {
    // SAFETY: see the caller.
    unsafe { about.si_pid() != 0 }
}

/// Guard's signals during a wait. Every signal is blocked but while it rests.
pub(super) struct Relay(());

impl Relay {
    /// Blocks all signals and makes guard note them. Signals that come from here on are kept.
    pub fn start() -> Self {
        set_mask(&full_mask());
        WAITING.store(0, SeqCst);
        COMMAND.store(0, SeqCst);
        for signal in 1..=LAST_SIGNAL {
            if is_relayed(signal) {
                listen(signal);
            }
        }
        // An ignored SIGCHLD would have the kernel throw away how the command ended.
        listen(libc::SIGCHLD);
        Self(())
    }

    /// Names the command that signals are for.
    pub fn command(&self, pid: libc::pid_t) {
        COMMAND.store(pid, SeqCst);
    }

    /// The signals that must be passed on, each once.
    pub fn take(&self) -> impl Iterator<Item = c_int> + use<> {
        let waiting = WAITING.swap(0, SeqCst);
        (1..=LAST_SIGNAL).filter(move |signal| waiting & bit(*signal) != 0)
    }

    /// Waits until a signal comes. One that came since the last rest ends it at once.
    pub fn rest(&self) {
        // SAFETY: the set is valid; it always returns with EINTR.
        unsafe { libc::sigsuspend(&mask_of(0)) };
    }

    /// Stops guard as the command was stopped, until somebody continues it.
    pub fn stop(&self, signal: c_int) {
        if signal != libc::SIGSTOP {
            set_disposition(signal, libc::SIG_DFL);
        }
        // SAFETY: sends a signal to this process alone, which takes it in the rest below at the latest.
        unsafe { libc::kill(libc::getpid(), signal) };
        // Delivered here; returns when the process is continued. In an orphaned group the system drops all stops but
        // SIGSTOP, and then it returns at once.
        set_mask(&mask_of(!bit(signal)));
        set_mask(&full_mask());
        if signal != libc::SIGSTOP {
            listen(signal);
        }
    }

    /// Guard goes on by itself: signals are let through again, and still only noted, so that the result of a command
    /// that a Ctrl-C ended is written down in peace.
    pub fn end(self) {
        set_mask(&mask_of(0));
    }
}

fn listen(signal: c_int) {
    // SAFETY: all zero is a valid `sigaction`; `note` does only what a handler may. What cannot be caught stays as it is.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        action.sa_mask = full_mask();
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}
