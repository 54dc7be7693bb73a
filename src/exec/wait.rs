//! Waits for the command, which is in guard's process group, and then ends guard with the same status.

use std::ffi::c_int;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::unistd::{ForkResult, fork};

use super::ExecError;
use super::prepare::Prepared;
use super::preserve::{Inherited, current_mask, die_of, last_error, set_mask};
use super::relay::Relay;
use crate::judge::approved::{Approved, Receipt};
use crate::judge::invocation::Invocation;

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessStatus {
    Exited {
        code: i32,
    },
    Killed {
        signal: i32,
        /// Whether it dumped core.
        core: bool,
    },
}

/// The result of a command for which guard waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionResult {
    pub ended: ProcessStatus,
    /// The time from its start to its end, including stops.
    pub duration: Duration,
}

impl ExecutionResult {
    /// Returns the value of `$?` in a shell: the code, or 128 plus the signal.
    #[must_use]
    pub const fn status(&self) -> i32 {
        match self.ended {
            ProcessStatus::Exited { code } => code,
            ProcessStatus::Killed { signal, .. } => 128 + signal,
        }
    }
}

/// Runs the approved command and waits for its end.
///
/// It is for commands that guard asked about. The command is in guard's process group: it receives signals of the
/// terminal directly, signals for guard alone are relayed, and guard stops when it stops. Afterwards signals are only
/// recorded, so that the result can be recorded; guard then ends by [`leave`].
///
/// # Errors
/// The command cannot be started.
#[expect(clippy::needless_pass_by_value, reason = "an approval is used once")]
pub fn wait(approved: Approved, _receipt: Receipt, inherited: &Inherited) -> Result<ExecutionResult, ExecError> {
    run(approved.invocation(), inherited)
}

fn run(invocation: &Invocation, inherited: &Inherited) -> Result<ExecutionResult, ExecError> {
    let mut command = Prepared::new(invocation, inherited)?;
    // Both ends are closed on exec, so that the end of the pipe shows that the command started.
    let (from_child, to_parent) = io::pipe().map_err(|error| spawn_error("pipe", error))?;
    let before = current_mask();
    let relay = Relay::start().map_err(|error| spawn_error("pipe", error))?;
    // A child does not inherit an alarm: the alarm of this process is passed to the command.
    let mut inherited = inherited.clone();
    inherited.hold_alarm();
    let begun = Instant::now();
    // SAFETY: between fork and exec the child makes system calls only, on memory that was prepared before.
    match unsafe { fork() } {
        Err(error) => {
            relay.end();
            set_mask(&before);
            Err(spawn_error("fork", error.into()))
        }
        Ok(ForkResult::Child) => become_command(&mut command, &inherited, &to_parent),
        Ok(ForkResult::Parent { child }) => {
            drop(to_parent);
            let pid = child.as_raw();
            relay.command(pid);
            let failed = failure(from_child);
            let ended = watch(pid, &relay);
            relay.end();
            match failed {
                Some(number) => Err(command.failure(number)),
                None => Ok(ExecutionResult {
                    ended: ended.map_err(|error| spawn_error("wait", error))?,
                    duration: begun.elapsed(),
                }),
            }
        }
    }
}

pub(super) const fn spawn_error(what: &'static str, source: io::Error) -> ExecError {
    ExecError::Spawn { what, source }
}

/// The child: restores the state and executes the command, or reports the error.
pub(super) fn become_command(command: &mut Prepared, inherited: &Inherited, to_parent: &PipeWriter) -> ! {
    // `restore` closes the standard descriptors that were closed at the start. The pipe never has one of their numbers,
    // because the runtime's replacements occupy them.
    inherited.restore();
    let number = command.exec().to_ne_bytes();
    // SAFETY: writes from a live buffer; `_exit` runs nothing of guard's twice.
    unsafe {
        libc::write(to_parent.as_raw_fd(), number.as_ptr().cast(), number.len());
        libc::_exit(127)
    }
}

/// Returns why the command did not start; `None` if it started.
pub(super) fn failure(mut from_child: PipeReader) -> Option<c_int> {
    let mut number = [0; size_of::<c_int>()];
    // All signals are blocked, so that the call is not interrupted.
    from_child.read_exact(&mut number).ok().map(|()| c_int::from_ne_bytes(number))
}

/// Waits for the end of the command, relays signals, and stops with it.
pub(super) fn watch(pid: libc::pid_t, relay: &Relay) -> io::Result<ProcessStatus> {
    loop {
        match poll(pid, relay)? {
            Some(ended) => return Ok(ended),
            None => relay.rest(),
        }
    }
}

/// Relays signals, stops if the command stopped, and returns its status if it has ended.
pub(super) fn poll(pid: libc::pid_t, relay: &Relay) -> io::Result<Option<ProcessStatus>> {
    loop {
        for signal in relay.take() {
            // SAFETY: the command is not yet waited for, so that the number is still its own.
            unsafe { libc::kill(pid, signal) };
        }
        let mut status = 0;
        // SAFETY: `status` is valid for the call.
        match unsafe { libc::waitpid(pid, &mut status, libc::WUNTRACED | libc::WNOHANG) } {
            0 => return Ok(None),
            -1 => {
                let error = last_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ if libc::WIFSTOPPED(status) => {
                relay.stop(libc::WSTOPSIG(status));
                // The process that continued guard may have continued only guard.
                unsafe { libc::kill(pid, libc::SIGCONT) };
            }
            _ if libc::WIFSIGNALED(status) => {
                return Ok(Some(ProcessStatus::Killed {
                    signal: libc::WTERMSIG(status),
                    core: libc::WCOREDUMP(status),
                }));
            }
            _ => return Ok(Some(ProcessStatus::Exited { code: libc::WEXITSTATUS(status) })),
        }
    }
}

/// Waits until a child of this process has ended, without reaping it, so that its process ID is not reused.
pub fn until_ended(child: nix::unistd::Pid) {
    let Ok(pid) = libc::id_t::try_from(child.as_raw()) else { return };
    loop {
        // SAFETY: all zeros is a valid value of this plain structure, which the call writes through a valid pointer.
        let done = unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid, &raw mut about, libc::WEXITED | libc::WNOWAIT)
        };
        if done == 0 || last_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Ends guard as the command ended: with its exit code, or by its signal.
pub fn leave(ended: ProcessStatus) -> ! {
    match ended {
        ProcessStatus::Exited { code } => std::process::exit(code),
        ProcessStatus::Killed { signal, .. } => die_of(signal),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitStatus};

    use nix::sys::signal::Signal;

    use super::*;
    use crate::judge::invocation::{Line, Origin, Request, Session};
    use crate::judge::syntax::tree::Dialect;

    fn invocation(request: Request) -> Invocation {
        Invocation {
            request,
            cwd: std::env::current_dir().unwrap(),
            env: std::env::vars_os().collect(),
            home: None,
            uid: 0,
            user: String::new(),
            origin: Origin::Cli,
            session: Session::default(),
        }
    }

    fn argv(words: &[&str]) -> Request {
        Request::Argv(words.iter().map(Into::into).collect())
    }

    fn line(text: &str, positional: &[&str]) -> Request {
        Request::Line(Line {
            text: text.as_bytes().to_vec(),
            dialect: Dialect::Sh,
            shell: "/bin/sh".into(),
            options: vec!["-c".into()],
            positional: positional.iter().map(Into::into).collect(),
            before: Vec::new(),
            envelope: None,
        })
    }

    /// Runs a command in its own process, like guard, and returns its output and its status.
    fn through(request: Request, prepare: impl FnOnce(&mut Inherited)) -> (Vec<u8>, ExitStatus) {
        let invocation = invocation(request);
        let (mut read, write) = io::pipe().unwrap();
        // SAFETY: the C library makes allocation safe after fork, and nothing here holds a lock of the harness.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                // SAFETY: plain descriptors; `_exit` leaves the harness of the parent alone.
                unsafe { libc::dup2(write.as_raw_fd(), 1) };
                let mut inherited = super::super::preserve::capture_at_start();
                prepare(&mut inherited);
                match run(&invocation, &inherited) {
                    Ok(outcome) => match outcome.ended {
                        // SAFETY: as above.
                        ProcessStatus::Exited { code } => unsafe { libc::_exit(code) },
                        killed @ ProcessStatus::Killed { .. } => leave(killed),
                    },
                    // SAFETY: as above.
                    Err(error) => unsafe { libc::_exit(error.exit_code()) },
                }
            }
            ForkResult::Parent { child } => {
                drop(write);
                let mut output = Vec::new();
                read.read_to_end(&mut output).unwrap();
                let mut status = 0;
                // SAFETY: `status` is valid.
                assert_eq!(unsafe { libc::waitpid(child.as_raw(), &mut status, 0) }, child.as_raw());
                (output, ExitStatus::from_raw(status))
            }
        }
    }

    #[test]
    fn a_command_ends_with_its_own_code_and_output() {
        let (output, status) = through(argv(&["sh", "-c", "printf hello; exit 7"]), |_| ());
        assert_eq!((output, status.code()), (b"hello".to_vec(), Some(7)));
    }

    /// Resets SIGINT before the first test: a process that a shell starts in the background ignores it, and so do its
    /// children. Other tests watch signals and restore what they found.
    #[ctor::ctor(unsafe)]
    fn is_interrupted_as_in_the_foreground() {
        // SAFETY: no handler is installed, and no other thread runs yet.
        let _ = unsafe { nix::sys::signal::signal(Signal::SIGINT, nix::sys::signal::SigHandler::SigDfl) };
    }

    #[test]
    fn a_death_by_signal_is_passed_on_without_a_core() {
        for signal in [Signal::SIGTERM, Signal::SIGKILL, Signal::SIGSEGV, Signal::SIGINT, Signal::SIGPIPE] {
            let (_, status) = through(line(&format!("kill -{} $$", signal as i32), &[]), |_| ());
            assert_eq!((status.signal(), status.core_dumped()), (Some(signal as i32), false));
        }
    }

    #[test]
    fn arguments_arrive_byte_for_byte() {
        let mut words: Vec<OsString> = vec!["printf".into(), "%s|".into()];
        words.extend([" a  b ", "", "line\nbreak", "'\"$x`", "*"].map(OsString::from));
        words.push(OsString::from_vec(vec![0xff, 0xfe]));
        let (output, _) = through(Request::Argv(words), |_| ());
        assert_eq!(output, b" a  b ||line\nbreak|'\"$x`|*|\xff\xfe|");
    }

    #[test]
    fn a_string_gets_its_positional_parameters_and_the_shells_name() {
        let (output, _) = through(line("echo \"$0\"", &[]), |_| ());
        assert_eq!(output, b"sh\n");
        let (output, _) = through(line("echo \"$0\"", &[]), |inherited| inherited.argv0 = Some("mine".into()));
        assert_eq!(output, b"mine\n");
        let (output, _) = through(line("echo \"$0 $1\"", &["zero", "one"]), |_| ());
        assert_eq!(output, b"zero one\n");
    }

    #[test]
    fn a_string_that_begins_with_a_dash_is_no_option_of_the_shell() {
        let (_, status) = through(line("-e 'exit 3'", &[]), |_| ());
        assert_eq!(status.code(), Some(127), "the shell must look for a program named -e");
    }

    #[test]
    fn what_is_missing_is_127_and_what_cannot_run_is_126_as_env_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("plain");
        std::fs::write(&file, "").unwrap();
        let file = file.to_str().unwrap();
        for program in ["no-such-program-here", "/no/such", "", file, "/", directory.path().to_str().unwrap()] {
            let (_, through) = through(argv(&[program]), |_| ());
            let direct = Command::new("env").arg("--").arg(program).stderr(std::process::Stdio::null()).status();
            assert_eq!(through.code(), direct.unwrap().code(), "{program}");
        }
    }

    #[test]
    fn a_text_file_without_an_interpreter_is_run_by_sh_as_env_does() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("script");
        std::fs::write(&file, "echo \"$0 $1\"").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let file = file.to_str().unwrap();
        let (output, _) = through(argv(&[file, "one"]), |_| ());
        let direct = Command::new("env").args(["--", file, "one"]).output().unwrap();
        assert_eq!(output, direct.stdout);
    }

    #[test]
    fn a_program_is_looked_for_on_the_path_that_was_judged() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/echo", directory.path().join("my-echo")).unwrap();
        let mut invocation = invocation(argv(&["my-echo"]));
        let inherited = super::super::preserve::capture_at_start();
        invocation.env.variables.insert("PATH".into(), directory.path().into());
        assert_eq!(run_in_child(&invocation, &inherited), 0);
        invocation.env.variables.insert("PATH".into(), "/nowhere".into());
        assert_eq!(run_in_child(&invocation, &inherited), 127);
    }

    fn run_in_child(invocation: &Invocation, inherited: &Inherited) -> i32 {
        // SAFETY: as in `through`.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let status =
                    run(invocation, inherited).map_or_else(|error| error.exit_code(), |outcome| outcome.status());
                // SAFETY: as in `through`.
                unsafe { libc::_exit(status) }
            }
            ForkResult::Parent { child } => {
                let mut status = 0;
                // SAFETY: `status` is valid.
                unsafe { libc::waitpid(child.as_raw(), &mut status, 0) };
                libc::WEXITSTATUS(status)
            }
        }
    }

    #[test]
    fn a_variable_that_was_added_and_one_that_was_taken_away_are_what_the_command_sees() {
        let mut invocation = invocation(line("test \"$ADDED\" = yes && test -z \"${HOME+set}\"", &[]));
        invocation.env.variables.insert("ADDED".into(), "yes".into());
        invocation.env.variables.remove(std::ffi::OsStr::new("HOME"));
        assert_eq!(run_in_child(&invocation, &super::super::preserve::capture_at_start()), 0);
    }

    #[test]
    fn a_nul_byte_in_an_argument_is_refused() {
        let inherited = super::super::preserve::capture_at_start();
        let error = run(&invocation(argv(&["echo", "a\0b"])), &inherited).unwrap_err();
        assert_eq!((error.to_string(), error.exit_code()), ("argument 1 holds a NUL byte".to_owned(), 126));
    }
}
