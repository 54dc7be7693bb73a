//! Relays signals to a command while guard waits for it.
//!
//! The command is in guard's process group. A signal of the terminal (Ctrl-C, Ctrl-\, Ctrl-Z, a hang-up) reaches both;
//! one that was sent only to guard has to be relayed. The sender distinguishes them: a process, or the kernel. The
//! kernel sends one signal only to guard: the hang-up of a terminal if guard leads the session. A signal that a process
//! sent to the whole group is relayed too, because it cannot be distinguished from one for guard alone: receiving it
//! twice is harmless.

use std::ffi::{c_int, c_void};
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::SeqCst};

use guard_system::{LAST_SIGNAL, errno_place, was_sent};

use super::preserve::{bit, full_mask, mask_of, note_all, set_disposition, set_mask};

/// The signals that have to be relayed.
static WAITING: AtomicU64 = AtomicU64::new(0);
/// The process of the command. Signals that it sends to guard are not relayed.
static COMMAND: AtomicI32 = AtomicI32::new(0);
/// Whether guard leads the session: the kernel then reports a hang-up only to guard.
static LEADS: AtomicBool = AtomicBool::new(false);
/// The descriptor to which a handler writes, so that a wait ends in whichever thread the signal arrives. -1: no wait.
static WAKE_FD: AtomicI32 = AtomicI32::new(-1);

/// Reports whether a signal is relayed. Not relayed are signals that cannot be caught, faults of guard itself, signals
/// that are ignored by default, and those about the command.
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

/// Records a signal, with atomics and one system call only, as required in a handler.
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

/// Handles signals during a wait. All signals are blocked except in [`Relay::rest`].
pub(super) struct Relay {
    /// The reading end of the pipe to which the handlers write.
    inside: PipeReader,
    _outside: PipeWriter,
}

impl Relay {
    /// Blocks all signals, and records those that arrive from here on.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn start() -> io::Result<Self> {
        // Closed on exec, like everything that the standard library opens.
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
        // With an ignored SIGCHLD the kernel would discard the exit status of the command.
        listen(libc::SIGCHLD);
        Ok(Self { inside, _outside: outside })
    }

    /// Sets the process of the command.
    pub fn command(&self, pid: libc::pid_t) {
        COMMAND.store(pid, SeqCst);
    }

    /// Returns the signals that have to be relayed, each once.
    pub fn take(&self) -> impl Iterator<Item = c_int> + use<> {
        let waiting = WAITING.swap(0, SeqCst);
        (1..=LAST_SIGNAL).filter(move |signal| waiting & bit(*signal) != 0)
    }

    /// Waits for a signal. It returns at once if one arrived since the last call.
    pub fn rest(&self) {
        self.rest_on(&mut [], -1);
    }

    /// Waits for a signal, an event of a descriptor, or a timeout in milliseconds (-1: none).
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

    /// Stops guard by the signal that stopped the command, until it is continued.
    pub fn stop(&self, signal: c_int) {
        if signal != libc::SIGSTOP {
            set_disposition(signal, libc::SIG_DFL);
        }
        // SAFETY: sends a signal to this thread, which stops the process.
        unsafe { libc::raise(signal) };
        // The signal is delivered here at the latest; the call returns when the process is continued. In an orphaned
        // group the system ignores all stop signals but SIGSTOP, and the call returns at once.
        set_mask(&mask_of(!bit(signal)));
        set_mask(&full_mask());
        if signal != libc::SIGSTOP {
            listen(signal);
        }
    }

    /// Ends the wait: signals are unblocked and still only recorded, so that guard can record the result of a command
    /// that Ctrl-C ended.
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
