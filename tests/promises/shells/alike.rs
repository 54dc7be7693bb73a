//! Compares the same call of a real shell and of guard under its name, byte for byte.

use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::snippets;
use crate::harness::home::Home;
use crate::harness::pty::{self, Terminal};
use crate::harness::tools;

/// A directory with guard under the names of shells, in a home where no command needs an approval.
pub struct Shims {
    pub home: Home,
}

impl Shims {
    pub fn new(home: Home) -> Self {
        std::fs::create_dir(home.path("shims")).unwrap();
        for name in ["bash", "sh", "zsh", "guard-sh"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_guard"), home.path("shims").join(name)).unwrap();
        }
        Self { home }
    }

    /// Returns guard under this name.
    pub fn guard(&self, name: &str) -> Command {
        let path = self.home.path("shims").join(name.trim_start_matches('-'));
        let mut command = self.home.program(path.to_str().unwrap());
        command.arg0(name);
        command
    }

    /// Returns the real shell of this name.
    pub fn real(&self, name: &str) -> Command {
        let mut command = self.home.program(real(name).to_str().unwrap());
        command.arg0(name);
        command
    }

    /// Calls `run` with both, and requires identical results.
    #[track_caller]
    pub fn alike(&self, name: &str, what: &str, run: impl Fn(Command) -> Output) {
        let (real, guard) = (run(self.real(name)), run(self.guard(name)));
        let shown = |output: &Output| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code(), output.status.signal(), text(&output.stdout), text(&output.stderr))
        };
        assert_eq!(shown(&guard), shown(&real), "{name}: {what}");
    }
}

fn real(name: &str) -> PathBuf {
    let name = name.trim_start_matches('-');
    let name = if name == "guard-sh" { "bash" } else { name };
    ["/bin", "/usr/bin"].iter().map(|directory| Path::new(directory).join(name)).find(|path| path.exists()).unwrap()
}

/// Runs a command with this standard input, and kills it if it does not end.
pub fn fed(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A command that ends early does not read all of its input.
    let writer = std::thread::spawn(move || pipe.write_all(&input).is_ok());
    let output = ended(child);
    let _ = writer.join();
    output
}

/// Runs a command with a file as standard input.
pub fn from_file(mut command: Command, file: &Path) -> Output {
    let file = std::fs::File::open(file).unwrap();
    ended(command.stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

pub fn run(mut command: Command) -> Output {
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn ended(child: std::process::Child) -> Output {
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    let begun = Instant::now();
    let waiter = std::thread::spawn(move || child.wait_with_output().unwrap());
    while !waiter.is_finished() {
        if begun.elapsed() > Duration::from_secs(60) {
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    waiter.join().unwrap()
}

/// Runs every snippet in every way in which a shell can receive it.
fn all_ways(name: &'static str, snippets: &[&'static str]) {
    let threads = 4;
    std::thread::scope(|scope| {
        for part in 0..threads {
            let shims = Shims::new(Home::that_asks_nobody());
            let mine: Vec<_> = snippets.iter().skip(part).step_by(threads).copied().collect();
            scope.spawn(move || {
                let script = shims.home.path("work/script.sh");
                for text in mine {
                    shims.alike(name, &format!("-c {text}"), |mut command| {
                        command.args(["-c", text, "zero", "one", "two words"]);
                        run(command)
                    });
                    std::fs::write(&script, format!("{text}\n")).unwrap();
                    shims.alike(name, &format!("script {text}"), |mut command| {
                        command.args(["./script.sh", "one", "two words"]);
                        run(command)
                    });
                    shims.alike(name, &format!("pipe {text}"), |mut command| {
                        command.args(["-s", "one", "two words"]);
                        fed(command, format!("{text}\n").as_bytes())
                    });
                    shims.alike(name, &format!("file {text}"), |command| from_file(command, &script));
                }
            });
        }
    });
}

#[test]
fn bash_and_guard_as_bash_cannot_be_told_apart() {
    all_ways("bash", &[snippets::POSIX, snippets::BASH].concat());
}

#[test]
fn sh_and_guard_as_sh_cannot_be_told_apart() {
    all_ways("sh", snippets::POSIX);
}

#[test]
fn zsh_and_guard_as_zsh_cannot_be_told_apart() {
    all_ways("zsh", &[snippets::POSIX, snippets::ZSH].concat());
}

#[test]
fn every_spelling_of_the_options_reaches_the_shell_as_it_was_given() {
    let shims = Shims::new(Home::that_asks_nobody());
    let show = "printf '%s.' \"$0\" \"$-\" \"$@\"; shopt -po pipefail extglob login_shell 2>&1";
    for call in [
        &["-c", show][..],
        &["-lc", show, "a"],
        &["-c", "-l", show],
        &["-l", "-c", show],
        &["--norc", "--noprofile", "-c", show],
        &["-o", "pipefail", "-c", show],
        &["-eo", "pipefail", "-c", show, "zero", "-x"],
        &["-O", "extglob", "-c", show],
        &["-ec", show],
        &["+e", "-c", show],
        &["-c", "--", show, "zero", "--"],
        &["-euc", show],
        &["--posix", "-c", show],
        &["--version"],
        &["--help"],
        &["-o"],
        &["-c", "env | grep -v ^_= | sort"],
        &["-n", "-c", "echo not run"],
        &["-c", ""],
        &["no-such-script.sh"],
        &["-ic", "echo $-"],
    ] {
        for name in ["bash", "-bash"] {
            // bash's message about a missing terminal contains the process ID.
            let quiet =
                |output: Output| if call[0] == "-ic" { Output { stderr: Vec::new(), ..output } } else { output };
            shims.alike(name, &format!("{call:?}"), |mut command| {
                command.args(call);
                quiet(run(command))
            });
        }
    }
}

#[test]
fn descriptors_beyond_the_first_three_reach_the_command() {
    let shims = Shims::new(Home::that_asks_nobody());
    for call in [&["-c", "read a <&3; echo got $a; echo out >&4"][..], &["-s"]] {
        shims.alike("bash", &format!("{call:?}"), |mut command| {
            let (input, output) = (shims.home.path("work/in"), shims.home.path("work/out"));
            std::fs::write(&input, "from three\n").unwrap();
            let (three, four) = (std::fs::File::open(&input).unwrap(), std::fs::File::create(&output).unwrap());
            use std::os::fd::AsRawFd as _;
            let (three_fd, four_fd) = (three.as_raw_fd(), four.as_raw_fd());
            // SAFETY: only system calls are made, on descriptors that stay open until the child has started.
            unsafe {
                command.pre_exec(move || {
                    let high = [
                        nix::libc::fcntl(three_fd, nix::libc::F_DUPFD, 50),
                        nix::libc::fcntl(four_fd, nix::libc::F_DUPFD, 50),
                    ];
                    nix::libc::dup2(high[0], 3);
                    nix::libc::dup2(high[1], 4);
                    for fd in high {
                        nix::libc::close(fd);
                    }
                    Ok(())
                });
            }
            command.args(call);
            let mut done = fed(command, b"read a <&3; echo got $a; echo out >&4\nls /proc/self/fd\n");
            done.stdout.extend(std::fs::read(&output).unwrap());
            done
        });
    }
}

#[test]
fn a_script_knows_itself_by_its_path() {
    let shims = Shims::new(Home::that_asks_nobody());
    let script = shims.home.path("work/who.sh");
    std::fs::write(&script, "echo \"$0 ${BASH_SOURCE[0]} $#\"; cat; exit 4\n").unwrap();
    for path in ["who.sh", "./who.sh", script.to_str().unwrap()] {
        shims.alike("bash", path, |mut command| {
            command.args(["-x", path, "a", "b c"]);
            fed(command, b"its own input\n")
        });
    }
}

#[test]
fn somebody_who_writes_a_command_and_waits_for_its_answer_gets_it() {
    use std::io::{BufRead as _, BufReader};
    for name in tools::installed(&["bash", "sh", "zsh"]) {
        let shims = Shims::new(Home::that_asks_nobody());
        let mut command = shims.guard(name);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut to, mut from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut answer = |line: &str| {
            to.write_all(line.as_bytes()).unwrap();
            let mut answer = String::new();
            from.read_line(&mut answer).unwrap();
            answer
        };
        assert_eq!(answer("x=1; cd /usr; echo $x $PWD\n"), "1 /usr\n");
        assert_eq!(answer("false\necho $?\n"), "1\n");
        assert_eq!(answer("read line; echo got $line\n its own\n"), "got its own\n");
        assert_eq!(answer("for i in 1; do\necho loop\ndone\n"), "loop\n");
        to.write_all(b"exit 5\n").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(5), "{name}");
    }
}

#[test]
fn what_is_no_shell_language_ends_a_script_as_the_shell_ends_it() {
    let shims = Shims::new(Home::that_asks_nobody());
    for script in ["echo a; fi\necho no\n", "if true; then\n", "echo b\necho $(\n", "echo 'c\n", "for x\n", ")\n"] {
        for name in ["bash", "sh"] {
            // The source line that bash quotes has a leading blank here, so only the first line of the error is
            // compared.
            let (real, guard) = (fed(shims.real(name), script.as_bytes()), fed(shims.guard(name), script.as_bytes()));
            let first = |output: &Output| output.stderr.split(|byte| *byte == b'\n').next().map(<[u8]>::to_vec);
            assert_eq!((&guard.stdout, guard.status), (&real.stdout, real.status), "{name} {script}");
            assert_eq!(first(&guard), first(&real), "{name} {script}");
        }
    }
}

#[test]
fn an_option_that_was_meant_for_guard_starts_no_shell_at_a_terminal() {
    let home = Home::that_asks_nobody();
    let mut command = home.guard(&["-v"]);
    command.arg0("guard");
    let mut terminal = Terminal::spawn(command);
    assert_eq!(pty::ended(terminal.wait_exit()), "exit 125");
    assert!(terminal.screen().contains("-c 'COMMANDS' is missing"), "{}", terminal.screen());
}

#[test]
fn guard_by_its_own_name_is_a_shell_where_it_is_asked_as_one() {
    let home = Home::that_asks_nobody();
    let guard = |shell: &str, argv0: &str, arguments: &[&str]| {
        let mut command = home.guard(arguments);
        command.arg0(argv0).env("SHELL", shell);
        let output = fed(command, b"echo \"from $0\"\n");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let path = env!("CARGO_BIN_EXE_guard");
    assert_eq!(guard(path, path, &[]), (Some(0), "from bash\n".to_owned()));
    assert_eq!(guard("/bin/sh", "-guard", &[]), (Some(0), "from -bash\n".to_owned()));
    assert_eq!(guard("/bin/sh", "guard", &["-s"]), (Some(0), "from bash\n".to_owned()));
    for (shell, argv0) in [(path, "guard"), ("/bin/bash", path)] {
        assert!(guard(shell, argv0, &[]).1.contains("guard demo"), "{shell} {argv0}");
    }
}
