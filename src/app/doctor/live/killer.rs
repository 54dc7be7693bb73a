//! Kills guard while it waits for an answer.
//!
//! Out of scope: processes of any guard but the copy of this run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::world::programs;

/// A guard process that is older than this waits for an answer.
const WAITS: Duration = Duration::from_millis(1200);

/// The interval between two searches for the process.
const BEAT: Duration = Duration::from_millis(50);

/// Searches for a waiting process of this guard and kills it. Returns `false` if none waited before `done`.
pub fn kill_while_it_waits(guard: &Path, done: &AtomicBool) -> bool {
    let mut seen: BTreeMap<i32, Instant> = BTreeMap::new();
    while !done.load(Ordering::Relaxed) {
        let there = programs::running(guard);
        seen.retain(|pid, _| there.contains(pid));
        for pid in there {
            if seen.entry(pid).or_insert_with(Instant::now).elapsed() >= WAITS {
                return kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok();
            }
        }
        thread::sleep(BEAT);
    }
    false
}
