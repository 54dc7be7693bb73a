//! Traces a process and stops it before each of its system calls. One thread must make all calls.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// The way in which a traced process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Killed,
    /// It executed another program, which then ended by itself.
    Replaced,
    Exited(i32),
    Signaled(Signal),
}

/// System calls that change nothing outside the process.
const LOOKS: &[libc::c_long] = &[
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_brk,
    libc::SYS_mprotect,
    libc::SYS_ioctl,
    libc::SYS_getrandom,
    libc::SYS_prlimit64,
    libc::SYS_geteuid,
    libc::SYS_getuid,
    libc::SYS_getpid,
];

/// System calls that change nothing outside a process that has begun: its mappings, open files and locks end with it.
const OWN: &[libc::c_long] = &[
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_getdents64,
    libc::SYS_readlink,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_clock_nanosleep,
    libc::SYS_access,
    libc::SYS_getcwd,
    libc::SYS_uname,
    libc::SYS_fcntl,
    libc::SYS_close,
    libc::SYS_wait4,
    libc::SYS_sched_yield,
];

/// Reports whether this call of a process that has begun changes nothing outside the process.
fn is_own((call, arguments): (libc::c_long, [u64; 6])) -> bool {
    let makes = arguments[2] & u64::from(libc::O_CREAT.cast_unsigned()) != 0;
    OWN.contains(&call) || (call == libc::SYS_openat && !makes)
}

/// A process that this thread traces.
#[derive(Debug)]
pub struct Traced {
    pid: Pid,
    /// Whether the calls in [`OWN`] no longer count as steps.
    begun: bool,
    /// The signal to deliver when the process continues.
    signal: libc::c_long,
    /// The way in which the process ended, once it has.
    fate: Option<Fate>,
}

impl Traced {
    /// Starts a program, stopped before its first instruction.
    pub fn start(command: &mut Command) -> Self {
        // SAFETY: only one system call is made between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                -1 => Err(std::io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        #[expect(clippy::zombie_processes, reason = "waited for by its number, for what a tracer is told")]
        let child = command.spawn().unwrap();
        let pid = Pid::from_raw(child.id().cast_signed());
        assert!(matches!(waitpid(pid, None).unwrap(), WaitStatus::Stopped(..)));
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
        trace(libc::PTRACE_SETOPTIONS, pid, options.into());
        Self { pid, begun: false, signal: 0, fate: None }
    }

    /// Stops a running process at its current instruction. Its parent is notified only of changes after the release.
    pub fn seize(pid: Pid) -> Self {
        let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
        trace(libc::PTRACE_SEIZE, pid, options.into());
        trace(libc::PTRACE_INTERRUPT, pid, 0);
        assert!(matches!(waitpid(pid, None).unwrap(), WaitStatus::PtraceEvent(..)));
        Self { pid, begun: true, signal: 0, fate: None }
    }

    /// Continues to the entry of the next system call that changes something. Returns `false` if the process has ended
    /// or executed another program.
    pub fn step(&mut self) -> bool {
        while self.fate.is_none() {
            trace(libc::PTRACE_SYSCALL, self.pid, std::mem::take(&mut self.signal));
            match waitpid(self.pid, None).unwrap() {
                WaitStatus::PtraceSyscall(_) => {
                    let looks = |call: (libc::c_long, _)| LOOKS.contains(&call.0) || (self.begun && is_own(call));
                    if call(self.pid).is_some_and(|call| !looks(call)) {
                        return true;
                    }
                }
                WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_STOP) => {}
                WaitStatus::PtraceEvent(..) => {
                    trace(libc::PTRACE_DETACH, self.pid, 0);
                    waitpid(self.pid, None).unwrap();
                    self.fate = Some(Fate::Replaced);
                }
                WaitStatus::Stopped(_, stopped) => self.signal = libc::c_long::from(stopped as i32),
                ended => self.fate = Some(fate(ended)),
            }
        }
        false
    }

    /// Marks the process as begun, so that the calls in [`OWN`] no longer count as steps.
    pub fn has_begun(mut self) -> Self {
        self.begun = true;
        self
    }

    /// Reports whether the process is stopped before this system call.
    pub fn is_at(&self, kind: libc::c_long) -> bool {
        call(self.pid).is_some_and(|(call, _)| call == kind)
    }

    /// Continues to the entry of this system call.
    pub fn until(&mut self, kind: libc::c_long) {
        while !self.is_at(kind) {
            assert!(self.step(), "it ended before: {:?}", self.fate);
        }
    }

    /// Continues to the entry of the given system call, counted from 1, or to the end. Returns `false` if the process
    /// has ended.
    pub fn steps(&mut self, number: usize) -> bool {
        (0..number).all(|_| self.step())
    }

    /// Kills the process, or returns the way in which it ended before.
    pub fn kill(mut self) -> Fate {
        if self.fate.is_none() {
            kill(self.pid, Signal::SIGKILL).unwrap();
            waitpid(self.pid, None).unwrap();
        }
        self.fate.take().unwrap_or(Fate::Killed)
    }

    /// Sends the process a signal, which is delivered when it continues.
    pub fn signal(&mut self, signal: Signal) {
        if self.fate.is_none() {
            kill(self.pid, signal).unwrap();
        }
    }

    /// Detaches from the process and lets it continue.
    pub fn release(&mut self) {
        if self.fate.is_none() {
            trace(libc::PTRACE_DETACH, self.pid, std::mem::take(&mut self.signal));
        }
    }
}

/// Converts the wait status of a process that has ended.
fn fate(status: WaitStatus) -> Fate {
    match status {
        WaitStatus::Exited(_, code) => Fate::Exited(code),
        WaitStatus::Signaled(_, signal, _) => Fate::Signaled(signal),
        other => panic!("{other:?}"),
    }
}

/// Reports whether this account may trace a guard that asks a person, which protects itself from other processes of its
/// account. If not, the end of the run names the test that continues without it.
pub fn may_seize() -> bool {
    const CAP_SYS_PTRACE: u64 = 1 << 19;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let held = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    let may = held.unwrap() & CAP_SYS_PTRACE != 0;
    if !may {
        super::tools::skip("only root may trace a guard that asks a person");
    }
    may
}

/// Makes a ptrace request for a traced process.
fn trace(request: libc::c_uint, pid: Pid, data: libc::c_long) {
    // SAFETY: none of the requests made here reads or writes memory of this process.
    let done = unsafe { libc::ptrace(request, pid.as_raw(), 0, data) };
    assert_ne!(done, -1, "ptrace {request}: {}", std::io::Error::last_os_error());
}

/// Returns the system call that a traced process is about to make and its arguments, or `None` after a call.
fn call(pid: Pid) -> Option<(libc::c_long, [u64; 6])> {
    // SAFETY: the kernel writes at most the given size into a structure of plain numbers, and only the part of the
    // union that its kind names is read.
    unsafe {
        let mut info: libc::ptrace_syscall_info = std::mem::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        assert!(libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid.as_raw(), size, &raw mut info) > 0);
        let entry = info.op == libc::PTRACE_SYSCALL_INFO_ENTRY;
        entry.then(|| (libc::c_long::try_from(info.u.entry.nr).unwrap(), info.u.entry.args))
    }
}
