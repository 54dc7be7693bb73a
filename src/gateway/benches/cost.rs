//! What `guard -c true` costs while a gateway runs, against the same without one: processes of both kinds take turns, and the
//! median of each counts. Ends with 1 where it costs more than a twentieth of the processor's time more.
//!
//!     cargo build --release && cargo bench -p guard-gateway --bench cost --profile gateway
//!
//! Whatever cannot be set up ends the bench by an `unwrap`: there is nothing to measure then.
//!
//! `GUARD_PROGRAM=FILE` is the guard that is measured, where it is not the one that was built for release.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use served::BenchGateway;

mod served;

const ROUNDS: usize = 60;
/// Processes of one kind in a row.
const IN_A_ROW: u32 = 10;

/// The processor's time that all children took so far. The gateway is a child that was not waited for yet.
fn spent() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let of = |time: nix::sys::time::TimeVal| {
        Duration::new(u64::try_from(time.tv_sec()).unwrap(), u32::try_from(time.tv_usec()).unwrap() * 1000)
    };
    of(usage.user_time()) + of(usage.system_time())
}

/// What one run took of the clock and of the processor.
fn run(guard: &Path, home: &Path) -> (Duration, Duration) {
    let (begun, before) = (Instant::now(), spent());
    for _ in 0..IN_A_ROW {
        let mut command = Command::new(guard);
        command.args(["-c", "true"]).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").current_dir(home);
        assert!(command.stdin(Stdio::null()).status().unwrap().success());
    }
    (begun.elapsed() / IN_A_ROW, (spent() - before) / IN_A_ROW)
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

fn main() -> ExitCode {
    let guard = match served::guard() {
        Ok(guard) => guard,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let (alone, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _gateway = BenchGateway::start(&guard, beside.path());
    for home in [&alone, &beside] {
        run(&guard, home.path());
    }
    let mut all: [(Vec<Duration>, Vec<Duration>); 2] = Default::default();
    for _ in 0..ROUNDS {
        for (home, (clock, processor)) in [&alone, &beside].into_iter().zip(&mut all) {
            let (took, cost) = run(&guard, home.path());
            clock.push(took);
            processor.push(cost);
        }
    }
    let [(alone, cost_alone), (beside, cost_beside)] = all.map(|(clock, cost)| (median(clock), median(cost)));
    println!("guard -c true, without a gateway: {alone:?}, of the processor {cost_alone:?}");
    println!("guard -c true, while one runs:    {beside:?}, of the processor {cost_beside:?}");
    if cost_beside <= cost_alone + cost_alone / 20 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
