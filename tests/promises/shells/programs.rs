//! Tests build programs with guard as their shell: they give the same results as without it, and no person is asked.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use super::alike::{Shims, run};
use crate::harness::home::Home;
use crate::harness::tools;

/// Creates shims in a home where guard asks about flagged commands and no person can answer.
fn shims() -> Shims {
    let home = Home::new();
    std::fs::remove_file(home.path("bin/git")).unwrap();
    Shims::new(home)
}

/// Runs a line with bash in a new project, first without guard, then with guard for every shell that is named or found
/// on the PATH, and compares the results.
#[track_caller]
fn alike(line: &str, directories: &[&Path], make: impl Fn(&Path)) {
    let shims = shims();
    let ran = |is_guarded: bool| {
        let project = shims.home.path(if is_guarded { "guarded/project" } else { "plain/project" });
        std::fs::create_dir_all(&project).unwrap();
        make(&project);
        let mut command = if is_guarded { shims.guard("bash") } else { shims.real("bash") };
        let front = shims.home.path("shims");
        let searched =
            directories.iter().copied().chain([Path::new("/usr/local/bin"), Path::new("/usr/bin"), Path::new("/bin")]);
        let all: Vec<&Path> = is_guarded.then_some(front.as_path()).into_iter().chain(searched).collect();
        command.env("PATH", std::env::join_paths(all).unwrap());
        let shell = if is_guarded { front.join("bash") } else { "/bin/bash".into() };
        command.env("SHELL", &shell).env("npm_config_script_shell", &shell);
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "t"),
            ("GIT_AUTHOR_EMAIL", "t@t"),
            ("GIT_COMMITTER_NAME", "t"),
            ("GIT_COMMITTER_EMAIL", "t@t"),
            ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
            ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
            ("npm_config_update_notifier", "false"),
        ] {
            command.env(name, value);
        }
        command.current_dir(&project).args(["-c", line]);
        shown(&run(command), &project)
    };
    let plain = ran(false);
    assert_eq!(plain.0, Some(0), "{line}: {plain:?}");
    assert_eq!(ran(true), plain, "{line}");
    let asked = shims.home.prints(&["pending", "--json"], 0);
    assert!(!asked.contains("\"id\""), "{line}: {asked}");
}

/// Returns the exit code and output of a run, without the parts that differ each time: the directory and the duration.
fn shown(output: &Output, project: &Path) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let text = text.replace(&project.display().to_string(), "PROJECT");
    let lines = text.lines().map(|line| line.split(" target(s) in ").next().unwrap_or(line));
    (output.status.code(), lines.collect::<Vec<_>>().join("\n"))
}

fn put(project: &Path, name: &str, text: &str) {
    let path = project.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn npm_runs_the_scripts_of_a_package() {
    if !tools::is_installed("node") || !tools::is_installed("npm") {
        return;
    }
    alike("npm test", &[], |project| {
        let package = r#"{"name":"tiny","version":"1.0.0","scripts":{"pretest":"echo first | tr a-z A-Z","test":"node test.js && echo $npm_package_name"}}"#;
        put(project, "package.json", package);
        put(project, "test.js", "console.log('one test held')\n");
    });
}

#[test]
fn cargo_builds_a_crate() {
    let cargo = Path::new(env!("CARGO")).parent().unwrap();
    alike("cargo build --offline && cargo run -q --offline", &[cargo], |project| {
        put(project, "Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"1.0.0\"\nedition = \"2021\"\n");
        put(project, "build.rs", "fn main() {\n    println!(\"cargo:rustc-env=WORD=built\");\n}\n");
        put(project, "src/main.rs", "fn main() {\n    println!(\"{}\", env!(\"WORD\"));\n}\n");
    });
}

#[test]
fn make_runs_its_recipes_in_the_shell_that_it_is_given() {
    if !tools::is_installed("make") {
        return;
    }
    alike("make SHELL=\"$SHELL\" all && ls", &[], |project| {
        put(project, "Makefile", "all: out\nout: in\n\tsed 's/a/b/' in > out && cat out\n");
        put(project, "in", "a line\n");
    });
}

#[test]
fn git_rebases_with_an_editor() {
    if !tools::is_installed("git") {
        return;
    }
    let editor = "GIT_SEQUENCE_EDITOR=\"sed -i 2s/pick/fixup/\" GIT_EDITOR=true";
    let line = format!("{editor} git rebase -q -i HEAD~2 && git log --format=%s && git status --short && ls");
    alike(&line, &[], |project| {
        let script =
            "git init -q -b main && for n in one two three; do echo $n > $n; git add $n; git commit -qm $n; done";
        let mut command = Command::new("sh");
        for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "t");
        }
        command.env("HOME", project).current_dir(project).args(["-c", script]);
        assert!(run(command).status.success());
    });
}

#[test]
fn tmux_starts_its_panes_in_guard() {
    if !tools::is_installed("tmux") {
        return;
    }
    let shims = shims();
    let shell = shims.home.path("shims/bash");
    put(&shims.home.path("work"), "tmux.conf", &format!("set -g default-shell {}\n", shell.display()));
    let tmux = |words: &[&str]| {
        let mut command = shims.home.program("tmux");
        command.args(["-S", "socket", "-f", "tmux.conf"]).args(words).env("SHELL", &shell).env("TERM", "xterm");
        run(command)
    };
    let told = tmux(&["new-session", "-d", "-x", "80", "-y", "24", "echo one > one; pwd > where; sleep 30"]);
    assert!(told.status.success(), "{told:?}");
    assert!(tmux(&["new-window", "-d"]).status.success());
    assert!(tmux(&["send-keys", "-t", ":1", "echo two > two; x=3; echo $x > three", "Enter"]).status.success());
    let begun = Instant::now();
    let wanted = [("one", "one\n"), ("two", "two\n"), ("three", "3\n")];
    let there = || {
        wanted
            .iter()
            .all(|(name, text)| std::fs::read_to_string(shims.home.path("work").join(name)).is_ok_and(|is| is == *text))
    };
    while !there() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let seen = tmux(&["capture-pane", "-p", "-t", ":1"]);
    let held = there();
    tmux(&["kill-server"]);
    assert!(held, "{}", String::from_utf8_lossy(&seen.stdout));
    assert!(!shims.home.prints(&["pending", "--json"], 0).contains("\"id\""));
}

/// An SSH server for this test.
struct Server {
    child: std::process::Child,
    directory: tempfile::TempDir,
    port: u16,
}

impl Server {
    /// Starts the server. Returns `None` if it cannot be started here.
    fn start() -> Option<Self> {
        let is_root = nix::unistd::getuid().is_root();
        if is_root && !Path::new("/run/sshd").is_dir() {
            tools::skip("sshd needs /run/sshd");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]).status();
            assert!(made.unwrap().success());
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host_key = std::fs::read_to_string(at("host.pub")).unwrap();
        std::fs::write(at("known"), format!("[localhost]:{port} {host_key}")).unwrap();
        let settings = [
            format!("Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\n", at("host")),
            format!("AuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n", at("user.pub")),
        ];
        std::fs::write(at("settings"), settings.concat()).unwrap();
        let server = tools::find("sshd")?;
        let mut command = Command::new(server);
        command.args(["-D", "-f", &at("settings"), "-E", &at("log")]).stdin(std::process::Stdio::null());
        let started = Self { child: command.spawn().unwrap(), directory, port };
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(started)
    }

    /// Returns the options of `ssh` that reach the server.
    fn options(&self) -> String {
        let at = |name: &str| self.directory.path().join(name).display().to_string();
        format!("-p {} -i {} -o UserKnownHostsFile={} -o LogLevel=ERROR", self.port, at("user"), at("known"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ssh_runs_a_command_on_this_machine() {
    if !["sshd", "ssh", "ssh-keygen"].into_iter().all(tools::is_installed) {
        return;
    }
    let Some(server) = Server::start() else { return };
    let ssh = format!("ssh {} localhost", server.options());
    alike(&format!("{ssh} 'echo one; uname -s | tr a-z A-Z'; {ssh} 'exit 3'; echo $?"), &[], |_| ());
    alike(&format!("{ssh} -tt 'tty > /dev/null && echo a terminal'"), &[], |_| ());
}
