//! Compares builds without each measure that shortens the start of guard, and fails if a measure saves too little.
//!
//! `cargo bench --bench start`
//!
//! It builds the release program once with all measures and once without each of them (`GUARD_WITHOUT`, see
//! `.cargo/link.rs`), which takes some minutes for each, and runs `guard -c true` with all builds in turns. A measure
//! has to save 2 % of the instructions, the page faults or the bytes; the exit code is 1 if one does not. The time is
//! printed but not decisive, because it varies by more than that between runs unless the machine is idle. Needs
//! valgrind.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// The names of the measures in `GUARD_WITHOUT`.
const MEASURES: [&str; 5] = ["own-start", "order", "discard", "packed-relocations", "static"];

/// The minimum saving of instructions, page faults or bytes, in percent.
const LEAST: f64 = 2.0;

const ROUNDS: usize = 200;
/// The number of consecutive processes of one kind.
const IN_A_ROW: u32 = 10;

/// A build and its results.
struct Build {
    without: &'static str,
    program: PathBuf,
    times: Vec<Duration>,
    faults: f64,
    instructions: f64,
    bytes: f64,
}

impl Build {
    fn new(without: &'static str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        // All builds share one directory, so that only the program itself is rebuilt.
        let target = root.join("target/start");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--release", "--locked", "--bin", "guard", "--target-dir"]).arg(&target).current_dir(root);
        // Cargo sets its own variables for a benchmark, which would cause a rebuild of everything.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_")) {
            cargo.env_remove(name);
        }
        let built = cargo.env("GUARD_WITHOUT", without).status().expect("cargo starts");
        assert!(built.success(), "the program is built without {without:?}");
        let program = target.join(format!("guard-{without}"));
        fs::copy(target.join("release/guard"), &program).expect("a copy of the program");
        let bytes = fs::metadata(&program).expect("the copy").len() as f64;
        Self { without, program, times: Vec::new(), faults: 0.0, instructions: 0.0, bytes }
    }

    fn command(&self, home: &Path) -> Command {
        start(&self.program, home, &["-c", "true"])
    }

    /// Measures the time of one process, the mean of several consecutive ones.
    fn time(&mut self, home: &Path) {
        let mut taken = Duration::ZERO;
        for _ in 0..IN_A_ROW {
            let mut command = self.command(home);
            let begun = Instant::now();
            let status = command.status().expect("the program starts");
            taken += begun.elapsed();
            assert!(status.success(), "{}: {status}", self.program.display());
        }
        self.times.push(taken / IN_A_ROW);
    }

    /// Counts the page faults of one process, including those of the command that replaces it.
    fn count_faults(&mut self, home: &Path) {
        let before = faults();
        for _ in 0..IN_A_ROW {
            let status = self.command(home).status().expect("the program starts");
            assert!(status.success(), "{}: {status}", self.program.display());
        }
        self.faults = (faults() - before) / f64::from(IN_A_ROW);
    }

    /// Counts the instructions of a verdict, from the start of the process on.
    fn count_instructions(&mut self, home: &Path) {
        let counts = home.join("counts");
        let out = format!("--callgrind-out-file={}", counts.display());
        let program = self.program.display().to_string();
        let mut tool = start(Path::new("valgrind"), home, &["--tool=callgrind", &out, &program, "check", "true"]);
        assert!(tool.stderr(Stdio::null()).status().is_ok_and(|status| status.success()), "valgrind counts");
        let text = fs::read_to_string(&counts).expect("what it counted");
        let total = text.lines().find_map(|line| line.strip_prefix("totals: ")).expect("the sum of it");
        self.instructions = total.trim().parse().expect("a number");
    }

    fn median(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64()
    }
}

fn start(program: &Path, home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/bash");
    command.env("LANG", "C.UTF-8").current_dir(home).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Returns the number of page faults of all children so far that needed no disk.
fn faults() -> f64 {
    getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts").minor_page_faults() as f64
}

/// Returns the saving in percent of the value without the measure.
fn saved(with: f64, without: f64) -> f64 {
    100.0 * (without - with) / without
}

fn main() -> ExitCode {
    let mut whole = Build::new("");
    let mut others: Vec<Build> = MEASURES.into_iter().map(Build::new).collect();
    let home = tempfile::tempdir().expect("a temporary directory");
    for build in others.iter_mut().chain([&mut whole]) {
        // The first run creates the record.
        assert!(build.command(home.path()).status().is_ok_and(|status| status.success()));
        build.count_faults(home.path());
        build.count_instructions(home.path());
    }
    for _ in 0..ROUNDS {
        for build in others.iter_mut().chain([&mut whole]) {
            build.time(home.path());
        }
    }
    println!("{:<20} {:>8} {:>13} {:>8} {:>8}", "saved by", "time", "instructions", "faults", "bytes");
    let mut code = ExitCode::SUCCESS;
    for build in &others {
        let time = saved(whole.median(), build.median());
        let instructions = saved(whole.instructions, build.instructions);
        let faults = saved(whole.faults, build.faults);
        let bytes = saved(whole.bytes, build.bytes);
        println!("{:<20} {time:>6.1} % {instructions:>11.1} % {faults:>6.1} % {bytes:>6.1} %", build.without);
        if instructions.max(faults).max(bytes) < LEAST {
            println!("  saves less than {LEAST} %: remove it");
            code = ExitCode::FAILURE;
        }
    }
    code
}
