//! Records the process state with which guard was started, and restores it before a command runs.
//!
//! Signal dispositions, the signal mask, a running alarm and closed standard descriptors are inherited through `exec`,
//! so that a command would notice changes. The runtime of Rust changes some before `main`: it ignores SIGPIPE and opens
//! `/dev/null` for closed standard descriptors. Therefore a constructor records them before that, and [`prepare`] makes
//! the same changes if the runtime is not used. guard never changes limits and the umask, and everything that it opens
//! is closed on `exec`.

use std::ffi::{OsString, c_int};
use std::io;
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use guard_system::LAST_SIGNAL;

/// The last standard signal. guard changes real-time signals only while it relays signals.
pub(super) const LAST_NAMED: c_int = 31;

/// The signals that were ignored; bit n-1 is signal n.
static IGNORED: AtomicU64 = AtomicU64::new(0);
/// Whether the signals above [`LAST_NAMED`] were recorded.
static NOTED_ALL: AtomicBool = AtomicBool::new(false);
/// The signals that were blocked; bit n-1 is signal n.
static BLOCKED: AtomicU64 = AtomicU64::new(0);
/// The closed ones of the descriptors 0, 1 and 2.
static CLOSED: AtomicU8 = AtomicU8::new(0);
static NOTED: AtomicBool = AtomicBool::new(false);

guard_system::before_main!(note);

/// Records the state with which the process was started. It uses only system calls and atomics, because the standard
/// library is not initialised.
extern "C" fn note() {
    note_ignored(1..=LAST_NAMED);
    BLOCKED.store(bits(&current_mask()), Relaxed);
    let mut closed = 0;
    for descriptor in 0..3 {
        // SAFETY: asks about a number, touches no memory.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            closed |= 1 << descriptor;
        }
    }
    CLOSED.store(closed, Relaxed);
    NOTED.store(true, Relaxed);
}

fn note_ignored(signals: RangeInclusive<c_int>) {
    let ignored = signals.filter(|signal| disposition(*signal) == Some(libc::SIG_IGN));
    IGNORED.fetch_or(ignored.fold(0, |all, signal| all | bit(signal)), Relaxed);
}

/// Records the signals above [`LAST_NAMED`]. Call it before one of them is changed.
pub(super) fn note_all() {
    if !NOTED_ALL.swap(true, Relaxed) {
        note_ignored(LAST_NAMED + 1..=LAST_SIGNAL);
    }
}

/// Makes the changes of Rust's runtime on which guard relies, if the runtime is not used: a write to a closed pipe is
/// an error, and no opened file gets the number of a closed standard descriptor. Call it before anything is opened.
pub fn prepare() {
    set_disposition(libc::SIGPIPE, libc::SIG_IGN);
    for descriptor in 0..3 {
        if CLOSED.load(Relaxed) & (1 << descriptor) != 0 {
            // SAFETY: the path is a string that ends in zero. The lowest free number is taken, which is this one.
            let opened = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
            if opened != descriptor {
                // Otherwise messages of guard could be written to a file.
                std::process::abort();
            }
        }
    }
}

/// The recorded state, and what guard suspended for the time being.
#[derive(Clone, Debug)]
pub struct Inherited {
    /// The name of the shell (`$0`). `None`: the shell of a command string gets its file name, and a program its first
    /// argument.
    pub argv0: Option<OsString>,
    ignored: u64,
    blocked: u64,
    closed: u8,
    alarm: Option<Alarm>,
}

/// An alarm that was running or pending.
#[derive(Clone, Copy, Debug)]
struct Alarm {
    remaining: Duration,
    interval: Duration,
    since: Instant,
    /// Whether its signal was pending.
    pending: bool,
}

/// Returns the state with which the process was started. Call it first in `main`.
#[must_use]
pub fn capture_at_start() -> Inherited {
    if !NOTED.load(Relaxed) {
        // No constructor ran on this platform. The original disposition of SIGPIPE is unknown; most callers do not
        // change it.
        note();
        IGNORED.fetch_and(!bit(libc::SIGPIPE), Relaxed);
    }
    // The limit of the file size applies to the record too: exceeding it must be an error with a message, not a signal.
    set_disposition(libc::SIGXFSZ, libc::SIG_IGN);
    Inherited {
        argv0: None,
        ignored: IGNORED.load(Relaxed),
        blocked: BLOCKED.load(Relaxed),
        closed: CLOSED.load(Relaxed),
        alarm: None,
    }
}

impl Inherited {
    /// Reports whether a signal was ignored.
    #[must_use]
    pub const fn ignores(&self, signal: c_int) -> bool {
        self.ignored & bit(signal) != 0
    }

    /// Reports whether a signal was blocked.
    #[must_use]
    pub const fn blocks(&self, signal: c_int) -> bool {
        self.blocked & bit(signal) != 0
    }

    /// Reports whether standard input, output or error (0, 1, 2) was closed.
    #[must_use]
    pub const fn was_closed(&self, descriptor: c_int) -> bool {
        matches!(descriptor, 0..=2) && self.closed & (1 << descriptor) != 0
    }

    /// Suspends an alarm that the caller set for the command, so that guard can use SIGALRM. The command gets it with
    /// the remaining time; [`super::wait()`] does the same for an alarm that is running when it is called.
    pub fn hold_alarm(&mut self) {
        if self.alarm.is_some() {
            return;
        }
        let none = libc::itimerval { it_interval: timeval(Duration::ZERO), it_value: timeval(Duration::ZERO) };
        let mut old = none;
        // SAFETY: both are valid for the call.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &none, &mut old) };
        let pending = take_pending_alarm();
        let (remaining, interval) = (duration(old.it_value), duration(old.it_interval));
        if pending || remaining > Duration::ZERO {
            self.alarm = Some(Alarm { remaining, interval, since: Instant::now(), pending });
        }
    }

    /// Restores the state. After that only `exec` may follow or, if it fails, the end of the process.
    ///
    /// It makes only system calls, so that it can be called between `fork` and `exec`.
    pub(super) fn restore(&self) {
        // No handler of guard may run from here on.
        set_mask(&full_mask());
        let (last, ignored) = if NOTED_ALL.load(Relaxed) {
            (LAST_SIGNAL, self.ignored | IGNORED.load(Relaxed) & (u64::MAX << LAST_NAMED))
        } else {
            (LAST_NAMED, self.ignored)
        };
        for signal in 1..=last {
            let was = if ignored & bit(signal) != 0 { libc::SIG_IGN } else { libc::SIG_DFL };
            // `exec` resets handlers, but no handler may run during the calls below either.
            if disposition(signal).is_some_and(|now| now != was) {
                set_disposition(signal, was);
            }
        }
        for descriptor in 0..3 {
            if self.was_closed(descriptor) {
                // SAFETY: closes what the runtime opened in its place.
                unsafe { libc::close(descriptor) };
            }
        }
        if let Some(alarm) = &self.alarm {
            alarm.restore();
        }
        set_mask(&mask_of(self.blocked));
    }
}

impl Alarm {
    fn restore(&self) {
        if self.pending {
            // Blocked still: it stays pending, as it was.
            // SAFETY: sends a signal to this process alone.
            unsafe { libc::kill(libc::getpid(), libc::SIGALRM) };
        }
        if self.remaining > Duration::ZERO {
            // An expired alarm is delivered as soon as possible; zero would disable it.
            let left = self.remaining.saturating_sub(self.since.elapsed()).max(Duration::from_micros(1));
            let timer = libc::itimerval { it_interval: timeval(self.interval), it_value: timeval(left) };
            // SAFETY: `timer` is valid for the call.
            unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, ptr::null_mut()) };
        }
    }
}

/// Consumes a pending SIGALRM. Returns whether there was one.
fn take_pending_alarm() -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigpending` fills the set when it returns 0.
    let is_pending = unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0 && libc::sigismember(pending.as_ptr(), libc::SIGALRM) == 1
    };
    if is_pending {
        let mut taken = 0;
        // SAFETY: both are valid; it returns at once because the signal is pending.
        unsafe { libc::sigwait(&mask_of(bit(libc::SIGALRM)), &mut taken) };
    }
    is_pending
}

/// Returns the bit of a signal.
pub(super) const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Returns the disposition of a signal; `None` for one that cannot be changed.
fn disposition(signal: c_int) -> Option<libc::sighandler_t> {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: `sigaction` fills the struct when it returns 0, and it is read only then.
    unsafe {
        (libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0).then(|| action.assume_init().sa_sigaction)
    }
}

/// Sets a signal to be ignored, or to its default.
pub(super) fn set_disposition(signal: c_int, disposition: libc::sighandler_t) {
    // SAFETY: all zero is a valid `sigaction`, and neither disposition is a handler. What cannot be set stays as it is.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = disposition;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// Returns the signal mask of this thread.
pub(super) fn current_mask() -> libc::sigset_t {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: emptied first, so that it is initialised whatever `pthread_sigmask` does.
    unsafe {
        libc::sigemptyset(mask.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr());
        mask.assume_init()
    }
}

/// Sets the signal mask of this thread.
pub(super) fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: `mask` is a valid set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

/// Returns a mask of all signals.
pub(super) fn full_mask() -> libc::sigset_t {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigfillset` initialises it.
    unsafe {
        libc::sigfillset(mask.as_mut_ptr());
        mask.assume_init()
    }
}

/// Returns a mask of these signals.
pub(super) fn mask_of(bits: u64) -> libc::sigset_t {
    let mut mask = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` initialises it; a signal that the system keeps to itself is refused and changes nothing.
    unsafe {
        libc::sigemptyset(mask.as_mut_ptr());
        for signal in 1..=LAST_SIGNAL {
            if bits & bit(signal) != 0 {
                libc::sigaddset(mask.as_mut_ptr(), signal);
            }
        }
        mask.assume_init()
    }
}

fn bits(mask: &libc::sigset_t) -> u64 {
    // SAFETY: `mask` is a valid set.
    (1..=LAST_SIGNAL)
        .filter(|signal| unsafe { libc::sigismember(mask, *signal) } == 1)
        .fold(0, |all, signal| all | bit(signal))
}

fn timeval(duration: Duration) -> libc::timeval {
    libc::timeval {
        tv_sec: libc::time_t::try_from(duration.as_secs()).unwrap_or(libc::time_t::MAX),
        // Below a million: fits every platform's type.
        tv_usec: duration.subsec_micros() as libc::suseconds_t,
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
        + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}

/// Ends this process by the signal that ended the command, so that the caller sees the same status. guard writes no
/// core dump; that of the command, if any, exists already.
pub(super) fn die_of(signal: c_int) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `none` is valid; no memory is touched.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) };
    // The limit does not apply to a core dump that a program receives.
    guard_system::set_open_to_others(false);
    set_disposition(signal, libc::SIG_DFL);
    // SAFETY: sends a signal to this thread; delivered when unblocked below.
    unsafe { libc::raise(signal) };
    set_mask(&mask_of(0));
    // A signal whose default does not end a process cannot have ended the command; nevertheless guard must end.
    std::process::exit(128 + signal)
}

/// Returns the last error of a system call.
pub(super) fn last_error() -> io::Error {
    io::Error::last_os_error()
}
