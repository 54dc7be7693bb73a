//! Runs a real program on a real terminal: the test reads its output from an emulated screen, and sends keys, signals,
//! sizes and hang-ups as a terminal does.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use guard::prompt::answer::READING;
use nix::fcntl::{OFlag, open};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{Winsize, grantpt, posix_openpt, ptsname_r, unlockpt};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::Pid;

/// The time limit of every wait, long enough for a slow machine. A promise that holds needs much less.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The time for which a person reads a question before pressing a key. It is longer than the time for which a question
/// ignores keys, to allow for a busy machine that delays the program between drawing the question and reading the
/// clock.
const LOOK: Duration = READING.saturating_add(Duration::from_millis(600));

/// A program on its own terminal.
pub struct Terminal {
    /// `None` after a hang-up.
    master: Option<File>,
    /// Kept open so that the modes can be read after the program has ended.
    slave: Option<OwnedFd>,
    child: Child,
    status: Option<ExitStatus>,
    screen: vt100::Parser,
    /// All output as raw bytes.
    pub raw: Vec<u8>,
    /// The modes of the terminal before the program started.
    pub before: Termios,
}

/// The standard descriptors that are connected to the terminal. The others are `/dev/null`.
#[derive(Clone, Copy, Debug)]
pub struct OnTerminal {
    pub stdin: bool,
    pub stdout: bool,
    pub stderr: bool,
}

impl OnTerminal {
    /// All of them, as in a shell.
    pub const ALL: Self = Self { stdin: true, stdout: true, stderr: true };
    /// None of them. The terminal is still the controlling terminal of the process.
    pub const NONE: Self = Self { stdin: false, stdout: false, stderr: false };
}

impl Terminal {
    /// Starts a program as a session leader on a terminal of 80 × 24.
    pub fn spawn(command: Command) -> Self {
        Self::spawn_with(command, 80, 24, OnTerminal::ALL)
    }

    /// Starts a program as a session leader on a terminal of this size.
    pub fn spawn_with(mut command: Command, columns: u16, rows: u16, on: OnTerminal) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // Both ends are close-on-exec from the start, so that a program of another test cannot keep this terminal open.
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let master = posix_openpt(flags).expect("a pseudo-terminal");
        grantpt(&master).expect("a terminal of our own");
        unlockpt(&master).expect("a terminal that can be opened");
        let name = ptsname_r(&master).expect("its name");
        let slave = open(name.as_str(), flags, Mode::empty()).expect("its other end");
        // SAFETY: TIOCSWINSZ reads one `winsize` through the pointer, which is valid for the call.
        assert_ne!(unsafe { libc::ioctl(slave.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) }, -1);
        let master = OwnedFd::from(master);
        let before = tcgetattr(&slave).expect("a terminal has modes");
        let end = |terminal: bool| {
            if terminal { Stdio::from(slave.try_clone().expect("a copy of the descriptor")) } else { Stdio::null() }
        };
        command.stdin(end(on.stdin)).stdout(end(on.stdout)).stderr(end(on.stderr));
        let controlling = slave.as_raw_fd();
        // SAFETY: only system calls are made between fork and exec.
        unsafe {
            command.pre_exec(move || {
                // A program that dies of SIGQUIT must not leave a core file.
                let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                if libc::setsid() == -1 || libc::ioctl(controlling, libc::TIOCSCTTY, 0) == -1 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("the program starts");
        Self {
            master: Some(File::from(master)),
            slave: Some(slave),
            child,
            status: None,
            screen: vt100::Parser::new(cells(rows), cells(columns), 1000),
            raw: Vec::new(),
            before,
        }
    }

    /// Returns the process ID of the program.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("the program is there");
    }

    /// Types keys. All bytes arrive at once.
    pub fn send(&mut self, keys: &str) {
        self.master.as_mut().expect("not hung up").write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Types like a person: each key only after the program has read the previous one.
    pub fn type_slowly(&mut self, keys: &str) {
        for key in keys.chars() {
            self.send(key.encode_utf8(&mut [0; 4]));
            self.settle(Duration::from_millis(30));
            for _ in 0..200 {
                if self.unread() == 0 {
                    break;
                }
                self.settle(Duration::from_millis(30));
            }
        }
    }

    /// Returns the number of typed bytes that the program has not read yet.
    fn unread(&self) -> i32 {
        let Some(slave) = &self.slave else { return 0 };
        let mut count: libc::c_int = 0;
        // SAFETY: FIONREAD writes one `int` through the pointer, which is valid for the call.
        let done = unsafe { libc::ioctl(slave.as_raw_fd(), libc::FIONREAD, &raw mut count) };
        if done == -1 { 0 } else { count }
    }

    /// Closes the terminal.
    pub fn hang_up(&mut self) {
        self.master = None;
        self.slave = None;
    }

    /// Changes the size of the window.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let master = self.master.as_ref().expect("not hung up").as_raw_fd();
        // SAFETY: TIOCSWINSZ reads one `winsize` through the pointer, which is valid for the call.
        assert_ne!(unsafe { libc::ioctl(master, libc::TIOCSWINSZ, &raw const size) }, -1);
        self.screen.screen_mut().set_size(cells(rows), cells(columns));
    }

    /// Returns the current modes of the terminal.
    pub fn modes(&self) -> Termios {
        tcgetattr(self.slave.as_ref().expect("not hung up")).expect("a terminal has modes")
    }

    /// Returns the current screen, line by line, without blanks at the ends.
    pub fn screen(&mut self) -> String {
        self.settle(Duration::ZERO);
        self.screen.screen().contents()
    }

    /// Returns the emulated screen.
    pub fn emulator(&self) -> &vt100::Screen {
        self.screen.screen()
    }

    /// Reads output for at least this long.
    pub fn settle(&mut self, time: Duration) {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if !self.read(left) && left.is_zero() {
                return;
            }
        }
    }

    /// Reads output for as long as a person needs to read a question. Afterwards a key answers it.
    pub fn read_question(&mut self) {
        self.settle(LOOK);
    }

    /// Waits for a text on the screen.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        self.wait_until(&format!("“{text}”"), |screen| screen.contains(text));
    }

    /// Waits until a text is no longer on the screen.
    #[track_caller]
    pub fn wait_gone(&mut self, text: &str) {
        self.wait_until(&format!("no “{text}”"), |screen| !screen.contains(text));
    }

    /// Waits until the screen satisfies a condition.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut good: impl FnMut(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        loop {
            if good(&self.screen.screen().contents()) {
                return;
            }
            assert!(
                Instant::now() < until,
                "waited for {what}; the screen shows:\n{}",
                self.screen.screen().contents()
            );
            self.read(Duration::from_millis(50));
        }
    }

    /// Waits for the program to end, reading its output.
    #[track_caller]
    pub fn wait_exit(&mut self) -> ExitStatus {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.try_exit() {
                self.settle(Duration::ZERO);
                return status;
            }
            assert!(Instant::now() < until, "it does not end; the screen shows:\n{}", self.screen.screen().contents());
            self.read(Duration::from_millis(20));
        }
    }

    /// Returns the exit status, if the program has ended.
    pub fn try_exit(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().expect("it is our child");
        }
        self.status
    }

    /// Marks the program as ended when another process has waited for it.
    pub fn gone(&mut self) {
        self.status = Some(ExitStatus::from_raw(0));
    }

    /// Reads the output that is available or arrives within this time. Returns `false` if there was none.
    fn read(&mut self, time: Duration) -> bool {
        let Some(master) = self.master.as_mut() else {
            std::thread::sleep(time.min(Duration::from_millis(20)));
            return false;
        };
        let time = PollTimeout::try_from(time.min(Duration::from_secs(1))).expect("a second fits");
        let mut fds = [PollFd::new(std::os::fd::AsFd::as_fd(master), PollFlags::POLLIN)];
        if poll(&mut fds, time).is_ok_and(|ready| ready > 0)
            && fds[0].revents().is_some_and(|events| events.contains(PollFlags::POLLIN))
        {
            let mut buffer = [0; 65536];
            if let Ok(length @ 1..) = master.read(&mut buffer) {
                self.screen.process(&buffer[..length]);
                self.raw.extend_from_slice(&buffer[..length]);
                return true;
            }
        }
        false
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Returns a number of rows or columns.
fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).expect("a screen has cells")
}

/// Formats the end of a program for assertions, as `exit 3` or `signal SIGTERM`.
pub fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {}", Signal::try_from(signal).map_or("?", |signal| signal.as_str())),
        (None, None) => "neither exit nor signal".to_owned(),
    }
}
