//! Prepares the process before the first test, independently of where the tests were started: without a terminal that a
//! shell under test could take, with the signals of a fresh session, with an identity for git, and without tests whose
//! tools are missing.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt as _;

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};

use super::tools;

nix::ioctl_none_bad!(give_up_terminal, libc::TIOCNOTTY);

/// Runs before Rust's runtime starts, while there is only one thread. The loader calls it.
#[ctor::ctor(unsafe)]
fn start() {
    // A test that another test starts as a program keeps the terminal and the signals that it was given.
    if std::env::args_os().any(|word| word == "--ignored") {
        return;
    }
    leave_the_terminal();
    for (name, value) in [
        ("GIT_AUTHOR_NAME", "Ada"),
        ("GIT_AUTHOR_EMAIL", "ada@example.org"),
        ("GIT_COMMITTER_NAME", "Ada"),
        ("GIT_COMMITTER_EMAIL", "ada@example.org"),
    ] {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var(name, value) };
    }
    leave_out(&tools::left_out());
}

/// Gives up the controlling terminal. In the foreground Ctrl-C still reaches the tests, because they stay in their
/// process group. If the caller ignores SIGINT or SIGHUP (`nohup`, a script's background job), a new session keeps
/// these signals away.
fn leave_the_terminal() {
    let mut ignored = false;
    for (number, default) in [Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGTSTP]
        .into_iter()
        .chain([Signal::SIGTTIN, Signal::SIGTTOU, Signal::SIGCHLD, Signal::SIGALRM, Signal::SIGUSR1])
        .enumerate()
    {
        // SAFETY: no handler of this process is replaced; a fresh session has the default too.
        let before = unsafe { signal(default, SigHandler::SigDfl) };
        ignored |= number < 2 && matches!(before, Ok(SigHandler::SigIgn));
    }
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    if ignored && nix::unistd::setsid().is_ok() {
        return;
    }
    if let Ok(terminal) = std::fs::File::open("/dev/tty") {
        use std::os::fd::AsRawFd as _;
        // SAFETY: the call takes no argument. A session leader would hang up its own session, so it keeps its terminal.
        if nix::unistd::getsid(None) != Ok(nix::unistd::getpid()) {
            let _ = unsafe { give_up_terminal(terminal.as_raw_fd()) };
        }
    }
}

/// Executes the test program again with `--skip` for these tests: the harness has no other way to leave out a test.
fn leave_out(tests: &[&str]) {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let news: Vec<&str> = tests.iter().copied().filter(|test| !arguments.iter().any(|given| given == *test)).collect();
    if news.is_empty() || arguments.iter().any(|given| given == "--exact" || given == "--list") {
        return;
    }
    arguments.extend(news.iter().flat_map(|test| ["--skip", test]).map(OsString::from));
    let words: Vec<CString> = arguments.into_iter().filter_map(|word| CString::new(word.into_vec()).ok()).collect();
    if let Ok(program) = std::env::current_exe()
        && let Ok(program) = CString::new(program.into_os_string().into_vec())
    {
        let _ = nix::unistd::execv(&program, &words);
    }
}
