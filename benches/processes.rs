//! Measures guard as a whole process, relative to `bash -c true` in the same run.
//!
//! `cargo bench --bench processes`
//!
//! It measures the program that `cargo install` builds, and builds it first: what Cargo builds for a benchmark also has
//! the features that only dev-dependencies ask for. `GUARD_PROGRAM=FILE` measures that file instead. `GUARD_UPDATE=1`
//! updates the table in the README.
//!
//! Every result is printed beside its budget. Processes of each kind take turns, so that disturbances of the machine
//! affect all of them; the result is the median of each kind. If valgrind is installed, instructions are counted too.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

#[path = "sources.rs"]
mod sources;

use nix::sys::resource::{UsageWho, getrusage};

const ROUNDS: usize = 60;
/// The number of consecutive processes of one kind.
const IN_A_ROW: u32 = 10;
const BATCH: usize = 50_000;

/// Lines that are judged without access to files or the environment.
const LINES: [&str; 8] = [
    "ls -la",
    "git status --short",
    "cargo test --workspace",
    "make -j8 test",
    "ps aux | head -n 20",
    "echo \"$(date) done\"",
    "git log --oneline -5 && git diff --stat",
    "docker ps --format '{{.Names}}'",
];

/// A configuration of thirty lines, as a careful user would write it.
const CONFIG: &str = r#"preset = "balanced"
mode = "manual"
record = "all"
retention_days = 90
prompts_per_hour = 20
breaker_after = 3
known_hosts = ["git.example.com", "*.pkg.example.com", "mirror.example.org"]
production = ["live-eu", "live-us"]
protected_branches = ["stable", "stable/*"]
trusted_directories = ["~/src/playground"]

[thresholds]
cli = 2.5
agent = 2.0
api = 1.5
discord = 2.0
telegram = 2.0

[weights]
root = 1.0
ssh = 0.5
outside_project = 0.5
disguise = 1.0
production = 1.5
secrets_read = 1.0
asked_again = 1.0

[timeouts]
medium = 45
high = 30
critical = 10
"#;

/// A temporary home directory.
struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Creates one with a configuration and fifty rules of the user.
    fn configured() -> Self {
        let home = Self::new();
        let directory = home.path().join(".config/guard/patterns");
        fs::create_dir_all(&directory).expect("a directory in the temporary one");
        fs::write(home.path().join(".config/guard/config.toml"), CONFIG).expect("a file in it");
        let mut rules = String::from("family = \"ours\"\nabout = \"Rules of our own.\"\n");
        for rule in 0..50 {
            if rule % 5 == 0 {
                let _ =
                    write!(rules, "[[program]]\nname = \"tool{rule}\"\noptions = [\"-f|--force\", \"-o|--out=\"]\n");
            }
            let program = rule / 5 * 5;
            let _ = write!(
                rules,
                "[[rule]]\nid = \"ours.r{rule}\"\ntier = 3\nreversibility = \"hard\"\nreason = \"Because.\"\n\
                 program = \"tool{program}\"\nflags = [\"-f\"]\noperand = {{ which = \"any\", glob = [\"x{rule}*\"] }}\n\
                 bad = [\"tool{program} -f x{rule}\"]\ngood = [\"tool{program} y\"]\n"
            );
        }
        fs::write(directory.join("ours.toml"), rules).expect("a file in it");
        home
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", self.path()).env("PATH", "/usr/bin:/bin");
        command.env("SHELL", "/bin/bash").env("LANG", "C.UTF-8").current_dir(self.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Returns the time of one process, the mean of several consecutive ones.
    fn time(&self, program: &str, arguments: &[&str], input: &str) -> Duration {
        let mut taken = Duration::ZERO;
        for _ in 0..IN_A_ROW {
            let mut command = self.command(program, arguments);
            command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
            let start = Instant::now();
            let mut child = command.spawn().expect("the program starts");
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(input.as_bytes()).expect("it reads its input");
            }
            let status = child.wait().expect("it ends");
            taken += start.elapsed();
            assert!(status.success(), "{program}: {status}");
        }
        taken / IN_A_ROW
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A result for the terminal and the README.
struct Measure {
    what: &'static str,
    found: String,
    /// The limit: the maximum or the minimum.
    budget: &'static str,
}

fn ratio(time: Duration, to: Duration) -> String {
    format!("{:.1} ×", time.as_secs_f64() / to.as_secs_f64())
}

fn whole_processes(guard: &str, all: &mut Vec<Measure>) {
    let (bare, configured) = (Home::new(), Home::configured());
    let problems = configured.command(guard, &["config", "check"]).stdout(Stdio::inherit()).status();
    assert!(problems.is_ok_and(|status| status.success()), "the configuration is right");
    let named = bare.path().join("bash");
    std::os::unix::fs::symlink(guard, &named).expect("a link in the temporary directory");
    let named = named.to_str().expect("a path in UTF-8");
    let call =
        r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls -la"}}"#;
    let line: &[&str] = &["-c", "true"];
    let kinds: [(&Home, &str, &[&str], &str); 6] = [
        (&bare, "/bin/bash", line, ""),
        (&bare, guard, line, ""),
        (&configured, guard, line, ""),
        (&bare, named, line, ""),
        (&configured, named, line, ""),
        (&bare, guard, &["hook", "--agent", "claude"], call),
    ];
    let mut times = [const { Vec::new() }; 6];
    for _ in 0..ROUNDS {
        for (times, (home, program, arguments, input)) in times.iter_mut().zip(kinds) {
            times.push(home.time(program, arguments, input));
        }
    }
    let [bash, plain, own, shell, own_shell, hook] = times.map(median);
    let mut say = |what, found, budget| all.push(Measure { what, found, budget });
    say("`guard -c true`, judged and recorded, against `bash -c true`", ratio(plain, bash), "≤ 2.3 ×");
    say("the same with 30 lines of configuration and 50 rules of one's own", ratio(own, bash), "≤ 2.3 ×");
    let both = format!("{} and {}", ratio(shell, bash), ratio(own_shell, bash));
    say("the same two as a shell, under the name `bash`", both, "≤ 2.3 ×");
    say("`guard hook --agent claude` for a harmless command, against `bash -c true`", ratio(hook, bash), "");
}

/// Adds the peak memory of all children so far. It has to be called before larger programs run.
fn memory(all: &mut Vec<Measure>) {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts");
    let found = format!("{:.1} MiB", usage.max_rss() as f64 / 1024.0);
    all.push(Measure { what: "peak memory of these", found, budget: "≤ 12 MiB" });
}

fn size(guard: &str, all: &mut Vec<Measure>) {
    let size = fs::metadata(guard).expect("the program is there").len();
    let found = format!("{:.1} MiB", size as f64 / f64::from(1 << 20));
    all.push(Measure { what: "the program", found, budget: "≤ 10 MiB" });
}

fn batch(guard: &str, all: &mut Vec<Measure>) {
    let home = Home::configured();
    let input = home.path().join("lines");
    let mut file = fs::File::create(&input).expect("a file in the temporary directory");
    for number in 0..BATCH {
        let line = LINES[number % LINES.len()].replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(file, "{{\"command\": \"{line}\"}}").expect("it can be written");
    }
    let start = Instant::now();
    let stdin = fs::File::open(&input).expect("it was written");
    let status = home.command(guard, &["check", "--batch"]).stdin(stdin).status().expect("the program starts");
    assert!(status.code().is_some_and(|code| code <= 1), "{status}");
    let rate = BATCH as f64 / start.elapsed().as_secs_f64();
    let found = format!("{:.0},000 commands a second", rate / 1000.0);
    all.push(Measure {
        what: "`guard check --batch`, when nothing of the world is asked",
        found,
        budget: "≥ 20,000 a second",
    });
}

fn instructions(guard: &str, line: &str) -> String {
    let home = Home::new();
    let counts: PathBuf = home.path().join("counts");
    let tool = ["--tool=callgrind", &format!("--callgrind-out-file={}", counts.display()), guard, "check", line]
        .map(ToOwned::to_owned);
    let tool: Vec<&str> = tool.iter().map(String::as_str).collect();
    let done = home.command("valgrind", &tool).stderr(Stdio::null()).status();
    let counted = done.is_ok_and(|status| status.success()).then(|| fs::read_to_string(&counts).ok()).flatten();
    let total = counted.and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("totals: "))?.to_owned();
        line.trim().parse::<f64>().ok()
    });
    total.map_or_else(|| "not counted: it needs valgrind".to_owned(), |total| format!("{:.2} million", total / 1e6))
}

/// Replaces the table in the README, from the comment with the measured version and sources to the end of the table.
fn update(all: &[Measure]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("README.md");
    let text = fs::read_to_string(&path).expect("the README");
    let (before, rest) = text.split_once("<!-- figures of ").expect("the README has figures");
    let (_, after) = rest.split_once("\n\n").expect("the table ends");
    let (version, sources) = (env!("CARGO_PKG_VERSION"), sources::digest(root));
    let mut table = format!("<!-- figures of {version}, sources {sources} -->\n| what | measured |\n| --- | --- |\n");
    for Measure { what, found, .. } in all {
        let _ = writeln!(table, "| {what} | {found} |");
    }
    fs::write(path, format!("{before}{table}\n{after}")).expect("the README can be written");
}

/// Builds the program and copies it, as `cargo install` does, and returns the path of the copy.
fn installed() -> String {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--release", "--locked", "--bin", "guard"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    assert!(build.status().is_ok_and(|status| status.success()), "the program can be built");
    // Cargo gives this build the path that the build for the benchmark had.
    let (built, copy) = (env!("CARGO_BIN_EXE_guard"), concat!(env!("CARGO_TARGET_TMPDIR"), "/guard"));
    let _ = fs::remove_file(copy);
    fs::copy(built, copy).expect("the program can be copied");
    copy.to_owned()
}

fn main() -> ExitCode {
    let Ok(guard) = env::var("GUARD_PROGRAM") else {
        // A process of its own measures: the peak memory of children must not include that of Cargo.
        let measure =
            Command::new(env::current_exe().expect("this program")).env("GUARD_PROGRAM", installed()).status();
        return if measure.is_ok_and(|status| status.success()) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    let mut all = Vec::new();
    whole_processes(&guard, &mut all);
    memory(&mut all);
    for (what, line, budget) in [
        ("instructions of `guard check 'ls -la'`", "ls -la", "≤ 0.7 million"),
        ("instructions of `guard check 'git status'`", "git status", "≤ 2 million"),
    ] {
        all.push(Measure { what, found: instructions(&guard, line), budget });
    }
    batch(&guard, &mut all);
    size(&guard, &mut all);
    for Measure { what, found, budget } in &all {
        println!("{what:<76} {found:>24}  {budget}");
    }
    if env::var_os("GUARD_UPDATE").is_some() {
        update(&all);
    }
    ExitCode::SUCCESS
}
