//! Detects the exit of the agent: a hook that waits for a person ends with the agent that asked.
//!
//! If nothing reads the hook's answer any more, or the agent's process has exited, nothing waits for the request. This
//! process then gets a signal, as if the agent itself ended its hook. Out of scope: what happens to the request.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::unistd::Pid;

use crate::world::identity::Caller;

/// The interval between two checks.
const OFTEN: Duration = Duration::from_millis(500);

/// Watches the caller until this is dropped.
pub(super) struct CallerWatch {
    over: Arc<AtomicBool>,
    gone: Arc<AtomicBool>,
}

impl CallerWatch {
    /// Begins to watch. If no thread can be started, the hook waits for its deadline.
    pub(super) fn watch(caller: &Caller) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let gone = Arc::new(AtomicBool::new(false));
        let (seen, told, agent) = (Arc::clone(&over), Arc::clone(&gone), caller.agent_process());
        let watch = move || {
            while !seen.load(Ordering::SeqCst) {
                thread::sleep(OFTEN);
                let is_gone = nobody_reads() || agent.as_deref().is_some_and(|agent| !Caller::lives(agent));
                if is_gone && !seen.load(Ordering::SeqCst) {
                    told.store(true, Ordering::SeqCst);
                    let _ = kill(Pid::this(), Signal::SIGTERM);
                    return;
                }
            }
        };
        // Signals must go to the thread that waits for a person.
        if let Ok(mask) = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK) {
            let _ = thread::Builder::new().name("parting".to_owned()).spawn(watch);
            let _ = mask.thread_set_mask();
        }
        Self { over, gone }
    }

    /// Reports whether the agent was found to have exited.
    pub(super) fn is_over(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }
}

impl Drop for CallerWatch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

/// Reports whether the other end of standard output is closed.
fn nobody_reads() -> bool {
    let out = std::io::stdout();
    let fd: BorrowedFd<'_> = std::os::fd::AsFd::as_fd(&out);
    let mut asked = [PollFd::new(fd, PollFlags::empty())];
    let closed = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
    poll(&mut asked, PollTimeout::ZERO).is_ok_and(|count| count > 0)
        && asked.iter().any(|one| one.revents().is_some_and(|events| events.intersects(closed)))
}
