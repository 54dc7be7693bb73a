//! The deadline: a thread that says no when it passes, whatever else hangs.
//!
//! A host that gives up on a hook lets the command run. So the answer that would be given is laid ready before anything
//! is read, and whoever comes first, guard or the deadline, gives the one answer and ends the process.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow};

use super::DENIED;
use super::call::Reply;

/// The deadline, and what is said when it passes.
pub struct Watchdog {
    shared: Arc<Shared>,
    begun: Instant,
}

struct Shared {
    pending: Mutex<PendingReply>,
    changed: Condvar,
    answered: AtomicBool,
    /// Who is answered.
    agent: String,
}

struct PendingReply {
    until: Instant,
    reply: Reply,
}

impl Watchdog {
    /// Begins to watch.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn begin(time: Duration, reply: Reply, agent: &str) -> std::io::Result<Self> {
        let begun = Instant::now();
        let shared = Arc::new(Shared {
            pending: Mutex::new(PendingReply { until: begun + time, reply }),
            changed: Condvar::new(),
            answered: AtomicBool::new(false),
            agent: agent.to_owned(),
        });
        let watched = Arc::clone(&shared);
        // Signals are for the thread that waits for a person: this one must not take them away from it.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let spawned = thread::Builder::new().name("deadline".to_owned()).spawn(move || watched.watch());
        mask.thread_set_mask()?;
        spawned?;
        Ok(Self { shared, begun })
    }

    /// What is said when the deadline passes, from now on.
    pub fn lay(&self, reply: Reply) {
        self.shared.pending().reply = reply;
    }

    /// Sets the deadline to so long after the beginning, when that is earlier.
    pub fn shorten(&self, time: Duration) {
        let mut pending = self.shared.pending();
        pending.until = pending.until.min(self.begun + time);
        self.shared.changed.notify_one();
    }

    /// What is left.
    pub fn left(&self) -> Duration {
        self.shared.pending().until.saturating_duration_since(Instant::now())
    }

    /// Gives the answer. The exit code is returned; where the deadline came first, this does not return.
    pub fn answer(&self, reply: &Reply) -> u8 {
        self.shared.give(reply)
    }

    /// The same from a panic, which may come at any time in any thread.
    pub fn on_panic(&self, reply: Reply) {
        let shared = Arc::clone(&self.shared);
        std::panic::set_hook(Box::new(move |_| {
            let code = shared.give(&reply);
            std::process::exit(i32::from(code));
        }));
    }
}

impl Shared {
    /// What is laid ready. Nobody can have left it half changed: a lock that a panic poisoned is as good.
    fn pending(&self) -> std::sync::MutexGuard<'_, PendingReply> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut pending = self.pending();
        loop {
            let left = pending.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let code = self.give(&pending.reply);
                // The agent has its answer already.
                super::unjudged::record_soon(self.agent.clone(), super::LATE);
                std::process::exit(i32::from(code));
            }
            pending = self.changed.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn give(&self, reply: &Reply) -> u8 {
        if self.answered.swap(true, Ordering::SeqCst) {
            // The other one is giving its answer, and ends the process.
            loop {
                thread::park();
            }
        }
        give(reply)
    }
}

/// Prints an answer. The exit code.
pub(super) fn give(reply: &Reply) -> u8 {
    // With an exit code of 2 and no reason, some hosts run the command. If that cannot be written either, nobody reads it.
    let complain = |text: &str| std::io::stderr().write_all(text.as_bytes());
    let _ = complain(&reply.stderr);
    let mut out = std::io::stdout();
    match out.write_all(reply.stdout.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => reply.code,
        // Half an answer is none, and none is consent to most hosts.
        Err(error) => {
            let _ = complain(&format!("guard: refused: the answer could not be written: {error}\n"));
            DENIED
        }
    }
}
