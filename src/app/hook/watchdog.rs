//! The deadline: a thread that denies when it passes, whatever else hangs.
//!
//! A host whose hook times out may run the command. So a denial is prepared before anything is read. Either guard or
//! the deadline, whichever is first, gives the only answer and exits.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};

use super::DENIED;
use super::call::Reply;

/// The deadline, and the answer that is given when it passes.
pub struct Watchdog {
    shared: Arc<Shared>,
    begun: Instant,
}

struct Shared {
    pending: Mutex<PendingReply>,
    changed: Condvar,
    answered: AtomicBool,
    /// The agent that is answered.
    agent: String,
}

struct PendingReply {
    until: Instant,
    reply: Reply,
}

impl Watchdog {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn begin(time: Duration, reply: Reply, agent: &str) -> std::io::Result<Self> {
        let begun = Instant::now();
        let shared = Arc::new(Shared {
            pending: Mutex::new(PendingReply { until: begun + time, reply }),
            changed: Condvar::new(),
            answered: AtomicBool::new(false),
            agent: agent.to_owned(),
        });
        let watched = Arc::clone(&shared);
        // Signals must go to the thread that waits for a person, so block them in this one.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let spawned = thread::Builder::new().name("deadline".to_owned()).spawn(move || watched.watch());
        mask.thread_set_mask()?;
        spawned?;
        Ok(Self { shared, begun })
    }

    /// Replaces the answer that is given when the deadline passes.
    pub fn lay(&self, reply: Reply) {
        self.shared.pending().reply = reply;
    }

    /// Moves the deadline to this long after the start, if that is earlier.
    pub fn shorten(&self, time: Duration) {
        let mut pending = self.shared.pending();
        pending.until = pending.until.min(self.begun + time);
        self.shared.changed.notify_one();
    }

    /// Returns the remaining time.
    pub fn left(&self) -> Duration {
        self.shared.pending().until.saturating_duration_since(Instant::now())
    }

    /// Gives the answer and returns the exit code. If the deadline was first, this does not return.
    pub fn answer(&self, reply: &Reply) -> u8 {
        self.shared.give(reply)
    }

    /// Gives the answer from a panic, which may occur at any time in any thread.
    pub fn on_panic(&self, reply: Reply) {
        let shared = Arc::clone(&self.shared);
        std::panic::set_hook(Box::new(move |_| {
            let code = shared.give(&reply);
            std::process::exit(i32::from(code));
        }));
    }
}

impl Shared {
    /// Returns the prepared answer. A poisoned lock is usable: no change can be incomplete.
    fn pending(&self) -> std::sync::MutexGuard<'_, PendingReply> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut pending = self.pending();
        loop {
            let left = pending.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let code = self.give(&pending.reply);
                // The agent already has its answer.
                super::unjudged::record_soon(self.agent.clone(), super::LATE);
                std::process::exit(i32::from(code));
            }
            pending = self.changed.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn give(&self, reply: &Reply) -> u8 {
        if self.answered.swap(true, Ordering::SeqCst) {
            // The other thread is giving its answer and will exit.
            loop {
                thread::park();
            }
        }
        give(reply)
    }
}

/// Prints an answer. Returns the exit code.
pub(super) fn give(reply: &Reply) -> u8 {
    // Some hosts run the command after exit code 2 without a reason. If this cannot be written either, nothing reads
    // it.
    let complain = |text: &str| std::io::stderr().write_all(text.as_bytes());
    let _ = complain(&reply.stderr);
    let mut out = std::io::stdout();
    match out.write_all(reply.stdout.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => reply.code,
        // A truncated answer counts as no answer, after which most hosts run the command.
        Err(error) => {
            let _ = complain(&format!("guard: refused: the answer could not be written: {error}\n"));
            DENIED
        }
    }
}
