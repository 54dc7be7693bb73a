//! Runs a program as a test: in its own session, with given input and a time limit.
//!
//! The doctor uses it to call guard as agents do, and examines the result. Out of scope: commands of other requesters.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use nix::libc;

/// Maximum size of the output that is kept, in bytes.
const MAX_OUTPUT: u64 = 64 << 10;

/// The pause after a program on a terminal prints something, and between keys.
const KEY: Duration = Duration::from_millis(700);

/// A program to test.
#[derive(Debug)]
pub struct Probe<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// Its whole environment.
    pub env: &'a [(OsString, OsString)],
    pub cwd: &'a Path,
    /// The time limit.
    pub limit: Duration,
}

/// The result of a tested program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeOutput {
    /// The exit code; `None` if a signal ended it, or the time limit was exceeded.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Whether the time limit was exceeded.
    pub late: bool,
}

impl Probe<'_> {
    /// Runs it with this text on standard input, without a terminal.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn with_input(&self, input: &str) -> io::Result<ProbeOutput> {
        let mut command = self.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        in_a_session(&mut command, None);
        let mut child = command.spawn()?;
        let mut stdin = child.stdin.take();
        let text = input.to_owned();
        // A program that does not read must not block this one.
        let writer = thread::spawn(move || {
            if let Some(mut stdin) = stdin.take() {
                let _ = stdin.write_all(text.as_bytes());
            }
        });
        let stdout = collect(child.stdout.take());
        let stderr = collect(child.stderr.take());
        let (code, late) = self.watch(&mut child, |_| ())?;
        if !late {
            let _ = writer.join();
        }
        // Processes that it started may keep the pipes open; its own output is complete.
        let take = |end: mpsc::Receiver<String>| end.recv_timeout(KEY).unwrap_or_default();
        Ok(ProbeOutput { code, stdout: take(stdout), stderr: take(stderr), late })
    }

    /// Runs it on a new pseudo-terminal, on which `key` is pressed repeatedly, like a program that answers instead of a
    /// person. `stdout` contains what it displays.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn on_a_terminal(&self, key: &str) -> io::Result<ProbeOutput> {
        let size = nix::pty::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        let ends = nix::pty::openpty(&size, None)?;
        for end in [&ends.master, &ends.slave] {
            nix::fcntl::fcntl(end, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
        }
        let mut command = self.command()?;
        let slave = || ends.slave.try_clone().map(Stdio::from);
        command.stdin(slave()?).stdout(slave()?).stderr(slave()?);
        in_a_session(&mut command, Some(&ends.slave));
        let mut child = command.spawn()?;
        drop(command);
        drop(ends.slave);
        let mut master = File::from(ends.master);
        let asks = Arc::new(AtomicBool::new(false));
        let shown = collect(Some(InputReader { from: master.try_clone()?, seen: Arc::clone(&asks) }));
        let mut next = None;
        let (code, late) = self.watch(&mut child, |running| {
            if running >= *next.get_or_insert(running + KEY) && asks.load(Ordering::Relaxed) {
                next = Some(running + KEY);
                let _ = master.write_all(key.as_bytes());
            } else if !asks.load(Ordering::Relaxed) {
                next = None;
            }
        })?;
        drop(master);
        let stdout = shown.recv_timeout(KEY).unwrap_or_default();
        Ok(ProbeOutput { code, stdout, stderr: String::new(), late })
    }

    fn command(&self) -> io::Result<Command> {
        let mut words = self.argv.iter();
        let program = words.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(words).env_clear().envs(self.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.cwd);
        Ok(command)
    }

    /// Waits for the end, and kills the program when the time limit is exceeded.
    fn watch(&self, child: &mut Child, mut meanwhile: impl FnMut(Duration)) -> io::Result<(Option<i32>, bool)> {
        let begun = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((status.code(), false));
            }
            let running = begun.elapsed();
            if running >= self.limit {
                // It leads its own session and group: its children are killed too.
                let group = nix::unistd::Pid::from_raw(child.id().cast_signed());
                let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
                let _ = child.wait();
                return Ok((None, true));
            }
            meanwhile(running);
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reports that there was something to read.
struct InputReader {
    from: File,
    seen: Arc<AtomicBool>,
}

impl io::Read for InputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer);
        self.seen.store(true, Ordering::Relaxed);
        read
    }
}

/// Makes the child the leader of a session, with this controlling terminal if there is one.
fn in_a_session(command: &mut Command, terminal: Option<&OwnedFd>) {
    let terminal = terminal.map(|end| end.as_raw_fd());
    // SAFETY: between fork and exec only system calls are made, on a descriptor that the parent keeps open until then.
    unsafe {
        command.pre_exec(move || {
            if libc::setsid() == -1 || terminal.is_some_and(|end| libc::ioctl(end, libc::TIOCSCTTY as _, 0) == -1) {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

/// Reads to the end in a separate thread.
fn collect(from: Option<impl io::Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // The end of a terminal is an error; earlier output remains.
            let _ = from.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
            let _ = io::copy(&mut from, &mut io::sink());
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(script: &str, limit: Duration, how: impl FnOnce(&Probe) -> io::Result<ProbeOutput>) -> ProbeOutput {
        let argv = ["/bin/sh", "-c", script].map(OsString::from);
        let env = [("PATH".into(), "/usr/bin:/bin".into())];
        how(&Probe { argv: &argv, env: &env, cwd: Path::new("/"), limit }).unwrap()
    }

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn what_a_program_reads_prints_and_returns_is_seen() {
        let seen = probe("cat; echo no >&2; exit 3", PATIENCE, |probe| probe.with_input("yes"));
        assert_eq!(seen, ProbeOutput { code: Some(3), stdout: "yes".into(), stderr: "no\n".into(), late: false });
    }

    #[test]
    fn input_that_nobody_reads_holds_nothing_up() {
        let seen = probe("exec 0<&-; exit 4", PATIENCE, |probe| probe.with_input(&"x".repeat(1 << 20)));
        assert_eq!((seen.code, seen.late), (Some(4), false));
    }

    #[test]
    fn a_program_and_what_it_started_end_when_the_time_is_up() {
        let begun = Instant::now();
        let seen = probe("sleep 60 & sleep 60", Duration::from_millis(200), |probe| probe.with_input(""));
        assert!(seen.late && begun.elapsed() < PATIENCE, "{seen:?}");
    }

    #[test]
    fn a_program_on_a_terminal_gets_keys() {
        let seen = probe("tty -s && echo ask && read line < /dev/tty && echo \"got:$line\"", PATIENCE, |probe| {
            probe.on_a_terminal("y\r")
        });
        assert!(seen.stdout.contains("got:y"), "{seen:?}");
        assert_eq!(seen.code, Some(0));
    }

    #[test]
    fn a_program_without_a_terminal_has_none() {
        let seen = probe("true < /dev/tty", PATIENCE, |probe| probe.with_input(""));
        assert_ne!(seen.code, Some(0), "{seen:?}");
    }
}
