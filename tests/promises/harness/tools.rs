//! Lists the programs that tests need and a machine may lack. A test whose tool is missing is left out and named at the
//! end of the run. With `GUARD_TESTS_NEED_ALL_TOOLS` set, as in CI, the run fails instead.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

/// The tests that need each program. A test is named by the beginning of its path, as `cargo test` prints it.
const NEEDS: &[(&str, &[&str])] = &[
    (
        "git",
        &[
            "corpus::dangerous_commands",
            "evidence::",
            "git::",
            "identity::an_agent_may_write_over",
            "matching::",
            "partial_values::",
            "queue::asking::the_demonstration",
            "repositories::",
        ],
    ),
    ("make", &["shells::machine::a_project_is_built_by_make"]),
    ("mandoc", &["documents::mandoc_warns"]),
    ("pgrep", &["service::standing_up::"]),
    ("python3", &["service::"]),
    ("shfmt", &["syntax::oracles::"]),
    ("ssh-keygen", &["approvers::an_ssh_key_signs", "approvers::several::"]),
    ("systemd-analyze", &["service::standing_up::the_unit_names"]),
    ("fish", &["init::a_function_of_the_same_name_as_one_of_fish", "syntax::executions::what_fish_runs"]),
    (
        "zsh",
        &[
            "init::what_only_the_shell_takes_for_whole",
            "init::what_others_hang_on_a_line",
            "shells::alike::zsh_and_guard",
            "syntax::executions::what_zsh_runs",
        ],
    ),
];

/// The parts that running tests left out, with the reasons.
static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Returns the path of a program: in a directory of PATH, or in one where tests that set PATH look for it.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
}

/// Returns a node that reads TypeScript: on the PATH, or where `.ci/run` installs one, because a distribution's node
/// may be too old. If there is none, the end of the run names the test that continues without it.
pub fn node_of_typescript() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/target/node/node_modules/node/bin");
    let node = std::env::split_paths(&path).chain([own.into()]).map(|directory| directory.join("node")).find(|node| {
        let tried = Command::new(node).args(["--experimental-strip-types", "-e", "0"]).output();
        tried.is_ok_and(|out| out.status.success())
    });
    if node.is_none() {
        skip("no node that reads TypeScript is installed (npm install --prefix target/node node@22)");
    }
    node
}

/// Reports whether a program is installed. If not, the end of the run names the test that continues without it.
pub fn is_installed(program: &str) -> bool {
    let here = find(program).is_some();
    if !here {
        skip(&format!("{program} is not installed"));
    }
    here
}

/// Returns those of these programs that are installed.
pub fn installed<'a>(programs: &[&'a str]) -> Vec<&'a str> {
    programs.iter().copied().filter(|program| is_installed(program)).collect()
}

/// Records that a part of this test is left out, and why. The end of the run prints it.
pub fn skip(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    SKIPPED.lock().unwrap().push(format!("skipped: {why}: a part of {test}"));
}

/// Returns the tests that this machine cannot run. The first call registers their report at the end of the process.
pub fn left_out() -> Vec<&'static str> {
    // SAFETY: the function takes nothing, returns nothing and does not unwind.
    unsafe { libc::atexit(report) };
    OWNER.store(std::process::id(), std::sync::atomic::Ordering::Relaxed);
    let missing = NEEDS.iter().filter(|(program, _)| find(program).is_none());
    missing.flat_map(|(_, tests)| tests.iter().copied()).collect()
}

/// The process that runs the tests. Tests fork, and only this process may report.
static OWNER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

extern "C" fn report() {
    let arguments: Vec<String> = std::env::args().collect();
    let asks = arguments.iter().any(|word| word == "--list" || word == "--exact");
    if asks || OWNER.load(std::sync::atomic::Ordering::Relaxed) != std::process::id() {
        return;
    }
    let mut lines = Vec::new();
    for (program, tests) in NEEDS.iter().filter(|(program, _)| find(program).is_none()) {
        lines.extend(names(tests).into_iter().map(|test| format!("skipped: {program} is not installed: {test}")));
    }
    if let Ok(mut skipped) = SKIPPED.lock() {
        lines.append(&mut skipped);
    }
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        return;
    }
    eprintln!("{}", lines.join("\n"));
    if std::env::var_os("GUARD_TESTS_NEED_ALL_TOOLS").is_some() {
        eprintln!("{} tests were skipped, and none may be here", lines.len());
        // SAFETY: the process ends either way; skipping the handlers that were registered earlier is intended.
        unsafe { libc::_exit(1) };
    }
}

/// Returns the names of the tests of this run that begin with one of these.
fn names(tests: &[&str]) -> Vec<String> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    while let Some(at) = arguments.iter().position(|word| word == "--skip") {
        arguments.drain(at..(at + 2).min(arguments.len()));
    }
    arguments.push("--list".to_owned());
    let list = std::env::current_exe().and_then(|program| Command::new(program).args(arguments).output());
    let text = list.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let all = text.lines().filter_map(|line| line.strip_suffix(": test"));
    all.filter(|name| tests.iter().any(|test| name.contains(test))).map(str::to_owned).collect()
}
