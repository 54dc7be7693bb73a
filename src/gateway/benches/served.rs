//! Starts a gateway for a benchmark, with guard beside it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Returns the guard to measure: `GUARD_PROGRAM`, or the release build.
///
/// # Errors
/// The file does not exist.
pub fn guard() -> Result<PathBuf, String> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/guard");
    let guard = std::env::var_os("GUARD_PROGRAM").map_or(built, PathBuf::from);
    let missing = || format!("{} is missing; run cargo build --release, or set GUARD_PROGRAM", guard.display());
    if guard.is_file() { Ok(guard.clone()) } else { Err(missing()) }
}

/// A gateway that ends with the benchmark.
pub struct BenchGateway {
    child: Child,
    /// The port of the API.
    pub port: String,
}

impl BenchGateway {
    /// Starts the gateway of a home, and waits until it listens. A benchmark ends if that fails, because nothing can be
    /// measured.
    pub fn start(guard: &Path, home: &Path) -> Self {
        let programs = home.join("programs");
        std::fs::create_dir_all(&programs).unwrap();
        let gateway = programs.join("guard-gateway");
        std::fs::copy(env!("CARGO_BIN_EXE_guard-gateway"), &gateway).unwrap();
        std::fs::copy(guard, programs.join("guard")).unwrap();
        let mut command = Command::new(gateway);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("HOME", home).stdout(Stdio::piped());
        let mut served = Self { child: command.spawn().unwrap(), port: String::new() };
        let mut lines = BufReader::new(served.child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.next().expect("the gateway says where it listens");
        served.port = first.rsplit(':').next().unwrap().to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        served
    }
}

impl Drop for BenchGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
