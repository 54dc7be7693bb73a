//! Signals while a command is waited for: which of them the command must still be told of.
//!
//! The command shares guard's process group. What the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, a hang-up) reaches both;
//! what somebody sends to guard's process alone must be passed on. The two are told apart by who the sender is: a
//! process, or the kernel. One of the kernel's goes to guard alone, too: the hang-up of a terminal, where guard leads the
//! session. A signal that a process sent to the whole group is passed on too, since it cannot be told from
//! one that was meant for guard: twice is harmless where never is not.

use std::ffi::{c_int, c_void};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::SeqCst};

use guard_system::{LAST_SIGNAL, errno_place, was_sent};

use super::preserve::{bit, full_mask, mask_of, note_all, set_disposition, set_mask};

/// Signals that wait to be passed on.
static WAITING: AtomicU64 = AtomicU64::new(0);
/// The command. What it sends to its parent is not sent back to it.
static COMMAND: AtomicI32 = AtomicI32::new(0);
/// Guard leads the session: the kernel tells nobody else that the terminal is gone.
static LEADS: AtomicBool = AtomicBool::new(false);
/// The descriptor that a handler writes to, so that a wait ends whichever thread took the signal. -1: nobody waits.
static WAKE_FD: AtomicI32 = AtomicI32::new(-1);

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

/// Notes a signal. Atomics and one system call only, as a handler must.
extern "C" fn note(signal: c_int, about: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel hands a handler with SA_SIGINFO a valid struct, and `si_pid` is there for signals from kill.
    let is_from_a_process = unsafe {
        match about.as_ref() {
            Some(about) => was_sent(about) && (about.si_pid() != COMMAND.load(SeqCst)),
            None => false,
        }
    };
    let is_for_guard_alone = is_from_a_process || (signal == libc::SIGHUP && LEADS.load(SeqCst));
    if signal != libc::SIGCHLD && is_for_guard_alone {
        WAITING.fetch_or(bit(signal), SeqCst);
    }
    let wake_fd = WAKE_FD.load(SeqCst);
    if wake_fd >= 0 {
        let before = errno();
        // SAFETY: writes one byte from a live buffer. A full pipe wakes as well.
        unsafe { libc::write(wake_fd, [0_u8].as_ptr().cast(), 1) };
        set_errno(before);
    }
}

/// Guard's signals during a wait. Every signal is blocked but while it rests.
pub(super) struct Relay {
    /// What the handlers knock at, from inside.
    inside: PipeReader,
    _outside: PipeWriter,
}

impl Relay {
    /// Blocks all signals and makes guard note them. Signals that come from here on are kept.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn start() -> io::Result<Self> {
        // Closed on exec, as all that the standard library opens.
        let (inside, outside) = io::pipe()?;
        for end in [inside.as_raw_fd(), outside.as_raw_fd()] {
            // SAFETY: sets a flag on a descriptor that is open.
            if unsafe { libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK) } == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        set_mask(&full_mask());
        WAITING.store(0, SeqCst);
        COMMAND.store(0, SeqCst);
        // SAFETY: asks for numbers, touches no memory.
        LEADS.store(unsafe { libc::getsid(0) == libc::getpid() }, SeqCst);
        WAKE_FD.store(outside.as_raw_fd(), SeqCst);
        note_all();
        for signal in 1..=LAST_SIGNAL {
            if is_relayed(signal) {
                listen(signal);
            }
        }
        // An ignored SIGCHLD would have the kernel throw away how the command ended.
        listen(libc::SIGCHLD);
        Ok(Self { inside, _outside: outside })
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
        self.rest_on(&mut [], -1);
    }

    /// Waits until a signal comes, or something happens at one of a few descriptors, or so many milliseconds are over
    /// (-1: never).
    pub fn rest_on(&self, others: &mut [libc::pollfd], milliseconds: c_int) {
        let mut all = [libc::pollfd { fd: -1, events: 0, revents: 0 }; 3];
        for (place, fd) in all.iter_mut().zip(others.iter()) {
            *place = *fd;
        }
        all[2] = libc::pollfd { fd: self.inside.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let mut knocks = [0_u8; 64];
        set_mask(&mask_of(0));
        // SAFETY: all are valid for the calls; the pipe does not block.
        unsafe {
            libc::poll(all.as_mut_ptr(), 3, milliseconds);
            set_mask(&full_mask());
            while libc::read(self.inside.as_raw_fd(), knocks.as_mut_ptr().cast(), knocks.len()) > 0 {}
        }
    }

    /// Stops guard as the command was stopped, until somebody continues it.
    pub fn stop(&self, signal: c_int) {
        if signal != libc::SIGSTOP {
            set_disposition(signal, libc::SIG_DFL);
        }
        // SAFETY: sends a signal to this thread, which stops the process.
        unsafe { libc::raise(signal) };
        // Delivered here at the latest; returns when the process is continued. In an orphaned group the system drops all stops but
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
        WAKE_FD.store(-1, SeqCst);
        set_mask(&mask_of(0));
    }
}

fn errno() -> c_int {
    // SAFETY: the place is this thread's own and always valid.
    unsafe { *errno_place() }
}

fn set_errno(number: c_int) {
    // SAFETY: as above.
    unsafe { *errno_place() = number };
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
