//! Processes that a program leaves behind: they become children of this process when their parent ends, and are ended.
//!
//! For tests of programs that start servers. Out of scope: processes of anybody else.

use std::thread;
use std::time::Duration;

use guard_system::processes::children;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// How often is looked for more: what is ended may leave children in its turn.
const ROUNDS: usize = 40;

/// Makes this process a subreaper until this is dropped: what is left without a parent below this process becomes a child of this process. Where the system has no
/// such thing, nothing is ended.
#[derive(Debug)]
pub struct Subreaper {
    /// Children that were there before.
    own: Vec<i32>,
}

impl Subreaper {
    /// Begins.
    #[must_use]
    pub fn begin() -> Self {
        guard_system::adopt_orphans(true);
        Self { own: children() }
    }

    /// Ends all that was left behind.
    pub fn end(self) {
        for _ in 0..ROUNDS {
            let strays: Vec<i32> = children().into_iter().filter(|pid| !self.own.contains(pid)).collect();
            if strays.is_empty() {
                break;
            }
            for stray in strays {
                let _ = kill(Pid::from_raw(stray), Signal::SIGKILL);
                let _ = waitpid(Pid::from_raw(stray), Some(WaitPidFlag::WNOHANG));
            }
            thread::sleep(Duration::from_millis(5));
        }
        guard_system::adopt_orphans(false);
    }
}
