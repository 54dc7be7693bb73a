//! What guard costs as a whole process, against `bash -c true` in the same run.
//!
//! `cargo bench --bench processes`
//!
//! Every measure stands beside its budget. Processes of each kind take turns, so that what disturbs the machine
//! disturbs all of them; the median of each kind counts. With valgrind installed, instructions are counted too.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

const GUARD: &str = env!("CARGO_BIN_EXE_guard");
const ROUNDS: usize = 60;
/// Processes of one kind in a row.
const IN_A_ROW: u32 = 10;
const BATCH: usize = 50_000;

/// Lines that ask nothing of the world.
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

/// Thirty lines, as a careful user would write them.
const CONFIG: &str = r#"preset = "balanced"
mode = "manual"
record = "all"
retention_days = 90
prompts_per_hour = 20
breaker_after = 3
known_hosts = ["git.example.com", "*.pkg.example.com", "mirror.example.org"]
production = ["live-eu", "live-us"]
protected_branches = ["stable", "stable/*"]
trusted_folders = ["~/src/playground"]

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

/// A home to work in.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// With a configuration and fifty rules of the user's own.
    fn configured() -> Self {
        let home = Self::new();
        let folder = home.path().join(".config/guard/patterns");
        fs::create_dir_all(&folder).expect("a directory in the temporary one");
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
        fs::write(folder.join("ours.toml"), rules).expect("a file in it");
        home
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("HOME", self.path()).env("PATH", "/usr/bin:/bin");
        command.env("SHELL", "/bin/bash").env("LANG", "C.UTF-8").current_dir(self.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// The time that one process takes, of several in a row.
    fn time(&self, program: &str) -> Duration {
        let start = Instant::now();
        for _ in 0..IN_A_ROW {
            let status = self.command(program, &["-c", "true"]).status().expect("the program starts");
            assert!(status.success(), "{program}: {status}");
        }
        start.elapsed() / IN_A_ROW
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn whole_processes() {
    let (bare, configured) = (Home::new(), Home::configured());
    let problems = configured.command(GUARD, &["config", "check"]).stdout(Stdio::inherit()).status();
    assert!(problems.is_ok_and(|status| status.success()), "the configuration is right");
    let kinds: [(&str, &Home, &str); 3] = [
        ("bash -c true", &bare, "/bin/bash"),
        ("guard -c true, nothing configured", &bare, GUARD),
        ("guard -c true, 30 lines, 50 rules (≤ 2.3 ×)", &configured, GUARD),
    ];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        for (times, (_, home, program)) in times.iter_mut().zip(kinds) {
            times.push(home.time(program));
        }
    }
    let medians = times.map(median);
    for ((name, ..), time) in kinds.iter().zip(medians) {
        let ratio = time.as_secs_f64() / medians[0].as_secs_f64();
        println!("{name:<48} {:>8.3} ms  {ratio:.2} ×", time.as_secs_f64() * 1e3);
    }
}

/// Kept for last but one: the most that any child of this process has used until now.
fn memory() {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the system counts");
    println!("{:<48} {:>8.1} MB", "peak memory of these (≤ 12 MB)", usage.max_rss() as f64 / 1024.0);
}

fn size() {
    let size = fs::metadata(GUARD).expect("the program is there").len();
    println!("{:<48} {:>8.2} MB", "the program (≤ 8 MB)", size as f64 / 1e6);
}

fn batch() {
    let home = Home::configured();
    let input = home.path().join("lines");
    let mut file = fs::File::create(&input).expect("a file in the temporary directory");
    for number in 0..BATCH {
        let line = LINES[number % LINES.len()].replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(file, "{{\"command\": \"{line}\"}}").expect("it can be written");
    }
    let start = Instant::now();
    let stdin = fs::File::open(&input).expect("it was written");
    let status = home.command(GUARD, &["check", "--batch"]).stdin(stdin).status().expect("the program starts");
    assert!(status.code().is_some_and(|code| code <= 1), "{status}");
    let rate = BATCH as f64 / start.elapsed().as_secs_f64();
    println!("{:<48} {rate:>8.0} /s", "check --batch, nothing asked (≥ 20,000 /s)");
}

fn instructions() {
    let home = Home::configured();
    let counts: PathBuf = home.path().join("counts");
    let tool = ["--tool=callgrind", &format!("--callgrind-out-file={}", counts.display()), GUARD, "check", "ls -la"]
        .map(ToOwned::to_owned);
    let tool: Vec<&str> = tool.iter().map(String::as_str).collect();
    let done = home.command("valgrind", &tool).stderr(Stdio::null()).status();
    let counted = done.is_ok_and(|status| status.success()).then(|| fs::read_to_string(&counts).ok()).flatten();
    let total = counted.and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("totals: "))?.to_owned();
        line.trim().parse::<f64>().ok()
    });
    match total {
        Some(total) => println!("{:<48} {:>8.2} M", "check 'ls -la', instructions (≤ 2 M)", total / 1e6),
        None => println!("{:<48}  not counted: it needs valgrind", "check 'ls -la', instructions (≤ 2 M)"),
    }
}

fn main() {
    whole_processes();
    memory();
    size();
    batch();
    instructions();
}
