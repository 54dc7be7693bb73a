//! A kill at any step leaves a whole record, and nothing runs that is not in it.
//!
//! The steps are guard's system calls: it is traced, and killed in front of each of them in turn, but for those that only
//! look, because nothing is different after them.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use guard::channel::terminal::READING;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::harness::home::{FLAGGED, Home};
use crate::harness::pty::{PATIENCE, Terminal};
use crate::pruning::aged;

/// How a traced guard went on.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Killed,
    /// It became the command, which then ended by itself.
    Replaced,
    Exited(i32),
}

/// Asks the kernel for something about a traced process.
fn trace(request: libc::c_uint, pid: Pid, data: libc::c_long) {
    // SAFETY: none of the requests made here reads or writes memory of this process.
    let done = unsafe { libc::ptrace(request, pid.as_raw(), 0, data) };
    assert_ne!(done, -1, "ptrace {request}: {}", std::io::Error::last_os_error());
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

/// The system call that a traced process is about to make.
fn call(pid: Pid) -> libc::c_long {
    // SAFETY: the kernel writes at most the size that it is told into a structure of plain numbers.
    unsafe {
        let mut info: libc::ptrace_syscall_info = std::mem::zeroed();
        let size = size_of::<libc::ptrace_syscall_info>();
        assert!(libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid.as_raw(), size, &raw mut info) > 0);
        libc::c_long::try_from(info.u.entry.nr).unwrap()
    }
}

/// Runs guard and kills it in front of one of its system calls, counted from 1.
fn killed_at(step: usize, mut command: Command) -> Fate {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    #[expect(clippy::zombie_processes, reason = "waited for by its number, for what a tracer is told")]
    let child = command.spawn().unwrap();
    let pid = Pid::from_raw(child.id().cast_signed());
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
    let (mut calls, mut inside, mut signal) = (0, false, 0);
    assert!(matches!(waitpid(pid, None).unwrap(), WaitStatus::Stopped(..)));
    trace(libc::PTRACE_SETOPTIONS, pid, options.into());
    loop {
        trace(libc::PTRACE_SYSCALL, pid, signal);
        signal = 0;
        match waitpid(pid, None).unwrap() {
            WaitStatus::PtraceSyscall(_) => {
                inside = !inside;
                calls += usize::from(inside && !LOOKS.contains(&call(pid)));
                if calls == step {
                    kill(pid, Signal::SIGKILL).unwrap();
                    waitpid(pid, None).unwrap();
                    return Fate::Killed;
                }
            }
            WaitStatus::PtraceEvent(..) => {
                trace(libc::PTRACE_DETACH, pid, 0);
                waitpid(pid, None).unwrap();
                return Fate::Replaced;
            }
            WaitStatus::Stopped(_, stopped) => signal = libc::c_long::from(stopped as i32),
            WaitStatus::Exited(_, code) => return Fate::Exited(code),
            other => panic!("{other:?}"),
        }
    }
}

fn flagged(home: &Home) -> Command {
    home.guard(&[&["--"], &FLAGGED[..]].concat())
}

#[test]
fn a_guard_that_is_killed_at_any_step_of_the_road_leaves_a_whole_record_and_runs_nothing_unrecorded() {
    let home = Home::that_asks_nobody();
    assert!(home.run(&["true"]).status.success());
    let mut rows = 1;
    for step in 1.. {
        let ran = home.ran();
        let fate = killed_at(step, flagged(&home));
        let audit = home.store().verify().unwrap();
        assert_eq!(audit.faults, [], "{step}");
        assert!((rows..=rows + 1).contains(&audit.rows), "{step}: {rows} {}", audit.rows);
        if fate == Fate::Replaced {
            assert_eq!((home.ran(), audit.rows), (ran + 1, rows + 1));
            assert!(step > 30, "only {step} steps were seen");
            return;
        }
        assert_eq!((fate, home.ran()), (Fate::Killed, 0), "{step}");
        rows = audit.rows;
    }
}

#[test]
fn a_guard_that_is_killed_at_any_step_of_making_the_record_leaves_one_that_the_next_completes() {
    for step in 1.. {
        let home = Home::that_asks_nobody();
        let fate = killed_at(step, flagged(&home));
        if fate == Fate::Replaced {
            assert!(step > 50, "only {step} steps were seen");
            return;
        }
        assert_eq!((fate, home.ran()), (Fate::Killed, 0), "{step}");
        let next = flagged(&home).output().unwrap();
        assert!(next.status.success(), "{step}: {}", String::from_utf8_lossy(&next.stderr));
        let audit = home.store().verify().unwrap();
        assert_eq!((home.ran(), audit.faults), (1, vec![]), "{step}");
        assert!((1..=2).contains(&audit.rows), "{step}");
    }
}

#[test]
fn a_pruning_that_is_killed_at_any_step_is_done_or_not_begun() {
    let mut home = aged(40);
    let mut done = 0;
    for step in 1.. {
        let fate = killed_at(step, home.guard(&["log", "prune"]));
        let audit = home.store().verify().unwrap();
        assert_eq!(audit.faults, [], "{step}");
        let pruned = audit.pruned.is_some();
        assert_eq!(audit.rows, if pruned { 6 } else { 45 }, "{step}");
        if fate == Fate::Exited(0) {
            assert!(pruned && step > 50 && done > 0, "only {step} steps were seen, {done} after the fact");
            return;
        }
        assert_eq!(fate, Fate::Killed, "{step}");
        if pruned {
            done += 1;
            home = aged(40);
        }
    }
}

#[test]
fn a_guard_that_is_killed_while_it_waits_leaves_its_intent_and_no_result() {
    let home = Home::new();
    let begun = home.path("begun");
    home.stand_in("git", &format!("touch '{}'; sleep 30", begun.display()));
    let mut command = flagged(&home);
    command.env("TERM", "xterm-256color");
    let mut terminal = Terminal::spawn(command);
    terminal.wait_for("no answer means no");
    terminal.settle(READING + Duration::from_millis(200));
    terminal.send("y");
    let since = std::time::Instant::now();
    while !begun.exists() {
        assert!(since.elapsed() < PATIENCE);
        terminal.settle(Duration::from_millis(20));
    }
    terminal.signal(Signal::SIGKILL);
    terminal.wait_exit();
    let entry = home.store().entry(1).unwrap();
    assert_eq!((entry.decision.as_deref(), entry.result), (Some("allow"), None));
    assert!(home.run(&["true"]).status.success());
    let audit = home.store().verify().unwrap();
    assert_eq!((audit.rows, audit.faults), (2, vec![]));
}
