//! Measures the processor time of `guard -c true` while a gateway runs, compared with the same without one. Processes
//! of both kinds alternate, and the medians are compared. Exits with 1 if the time with a gateway is more than 5 %
//! higher.
//!
//!     cargo build --release && cargo bench -p guard-gateway --bench cost --profile gateway
//!
//! The benchmark ends with an `unwrap` if anything cannot be set up, because nothing can be measured then.
//!
//! `GUARD_PROGRAM=FILE` selects the guard to measure; the default is the release build.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use served::BenchGateway;

mod served;

const ROUNDS: usize = 60;
/// The number of processes of one kind in a row.
const IN_A_ROW: u32 = 10;

/// Returns the processor time that all finished children have used. The gateway is a child that has not been waited for
/// yet.
fn spent() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let of = |time: nix::sys::time::TimeVal| {
        Duration::new(u64::try_from(time.tv_sec()).unwrap(), u32::try_from(time.tv_usec()).unwrap() * 1000)
    };
    of(usage.user_time()) + of(usage.system_time())
}

/// Returns the elapsed time and the processor time of one process, averaged over a run.
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
