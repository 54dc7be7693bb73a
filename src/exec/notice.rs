//! Notifies a program without waiting for it: it runs in its own session, with an environment that the caller does not
//! choose, and is killed after the time limit.
//!
//! guard continues at once and never gets the result. The program is a detached grandchild, so that no command finds a
//! child that it did not start, and it inherits no open descriptor.
//! Out of scope: commands of anybody but the person whose configuration names the program.

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{FcntlArg, OFlag, fcntl};

use guard_system as system;

use super::preserve::{LAST_NAMED, last_error, mask_of, set_mask};

/// The directories in which a program without a directory is searched. `PATH` is not used, because a requester could
/// change it.
pub const PLACES: [&str; 5] = ["/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"];

/// The maximum size of the input, which fits into the buffer of a pipe.
pub const MAX_INPUT: usize = 16 << 10;

/// The interval at which the program's end is polled.
const PACE: Duration = Duration::from_millis(50);

/// A notification, and the program that receives it.
#[derive(Debug)]
pub struct Notice<'a> {
    /// The path of the program, from [`find`].
    pub program: &'a Path,
    /// The arguments, beginning with the name of the program.
    pub argv: &'a [String],
    /// The whole environment.
    pub env: &'a [(OsString, OsString)],
    /// The standard input; at most [`MAX_INPUT`] bytes.
    pub input: &'a [u8],
    /// The time limit.
    pub limit: Duration,
}

/// Returns the path of a program that is given with its directory, or that is in one of [`PLACES`].
#[must_use]
pub fn find(program: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match (program.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        (Some(_), None) => return None,
        (None, _) if program.starts_with('/') => PathBuf::from(program),
        (None, _) => PLACES.iter().map(|place| Path::new(place).join(program)).find(|path| path.is_file())?,
    };
    path.is_file().then_some(path)
}

impl Notice<'_> {
    /// Starts the program.
    ///
    /// # Errors
    /// It was not started: a word contains a NUL byte, or there can be no more processes. A failure of the program
    /// itself is not reported.
    pub fn send(&self) -> io::Result<()> {
        let path = CString::new(self.program.as_os_str().as_bytes())?;
        let argv = self.argv.iter().map(|word| CString::new(word.as_bytes()));
        let argv = argv.collect::<Result<Vec<_>, _>>()?;
        let joined = |(name, value): &(OsString, OsString)| {
            let parts: [&OsStr; 3] = [name, OsStr::new("="), value];
            CString::new(parts.map(OsStr::as_bytes).concat())
        };
        let env = self.env.iter().map(joined).collect::<Result<Vec<_>, _>>()?;
        let (argv, env) = (pointers(&argv), pointers(&env));
        let (from, mut to) = io::pipe()?;
        // Input that does not fit is truncated, because guard does not wait.
        fcntl(&to, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let _ = to.write_all(self.input);
        drop(to);
        let looks = u32::try_from(self.limit.as_millis() / PACE.as_millis()).unwrap_or(u32::MAX);
        // SAFETY: from here to their end the children make system calls only, on memory that was prepared before.
        match unsafe { libc::fork() } {
            -1 => Err(last_error()),
            0 => apart(&path, &argv, &env, from.as_raw_fd(), looks),
            child => {
                // It ends at once.
                // SAFETY: waits for a child of this process, and nothing is to be told of it.
                unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
                Ok(())
            }
        }
    }
}

/// Returns a null-terminated array of pointers to strings, which are valid as long as the strings.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

/// The child: creates a session, and starts the process that watches the program.
fn apart(path: &CStr, argv: &[*const c_char], env: &[*const c_char], input: RawFd, looks: u32) -> ! {
    // SAFETY: system calls only; `_exit` runs nothing of guard's twice.
    unsafe {
        libc::setsid();
        if libc::fork() == 0 {
            watch(path, argv, env, input, looks);
        }
        libc::_exit(0)
    }
}

/// The grandchild: starts the program, and kills it with its children after the time limit.
fn watch(path: &CStr, argv: &[*const c_char], env: &[*const c_char], input: RawFd, looks: u32) -> ! {
    // SAFETY: system calls only, on descriptors and memory that were prepared before the fork.
    unsafe {
        for signal in 1..=LAST_NAMED {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::dup2(input, 0);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        libc::dup2(nothing, 1);
        libc::dup2(nothing, 2);
        close_from(3);
        let program = libc::fork();
        if program == 0 {
            libc::setpgid(0, 0);
            libc::chdir(c"/".as_ptr());
            set_mask(&mask_of(0));
            libc::execve(path.as_ptr(), argv.as_ptr(), env.as_ptr());
            libc::_exit(127);
        }
        libc::close(0);
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        for _ in 0..looks {
            if libc::waitpid(program, std::ptr::null_mut(), libc::WNOHANG) != 0 {
                libc::_exit(0);
            }
            libc::nanosleep(&raw const pause, std::ptr::null_mut());
        }
        if program > 0 {
            libc::kill(-program, libc::SIGKILL);
        }
        libc::_exit(0)
    }
}

/// Closes all descriptors from a number on.
fn close_from(first: c_int) {
    if system::close_from(first) {
        return;
    }
    for number in first..4096 {
        // SAFETY: closes numbers; what they stood for belongs to the parent, which keeps its own.
        unsafe { libc::close(number) };
    }
}
