//! Ends processes that a program leaves running. They become children of this process when their parent ends.
//!
//! It is used for tests of programs that start servers. Out of scope: other processes.

use std::thread;
use std::time::Duration;

use guard_system::processes::children;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// Maximum number of rounds, because an ended process may leave children.
const ROUNDS: usize = 40;

/// Makes this process a subreaper until it is dropped: orphaned descendants become children of this process. If the
/// system does not support that, nothing is ended.
#[derive(Debug)]
pub struct Subreaper {
    /// The children that existed before.
    own: Vec<i32>,
}

impl Subreaper {
    /// Makes this process a subreaper.
    #[must_use]
    pub fn begin() -> Self {
        guard_system::adopt_orphans(true);
        Self { own: children() }
    }

    /// Kills all processes that were left running.
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
