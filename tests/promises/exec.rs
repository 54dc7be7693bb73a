//! Tests that a command runs as it would without guard: with the same environment, the same signals and the same end.
//!
//! Each promise compares a command that is started directly with the same command started through guard: by the whole
//! program, which becomes the command, and by its `exec` alone in both modes, becoming the command and waiting for it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use guard::exec::{self, Inherited, preserve};
use guard::judge::Judgment;
use guard::judge::approved::{Approved, Receipt};
use guard::judge::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use guard::judge::policy::{Decision, Mode, Policy, SessionState, decide};
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::pty::{OnTerminal, PATIENCE, Terminal, ended};

/// The environment variable with the file that tells `process_that_runs` what to run.
const WANTED: &str = "EXEC_WANTED";
/// The line after which the command's own output begins.
const MARK: &str = "--- the command's own output ---\n";

/// The way in which a command is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Directly,
    /// The program itself. Every command below can run without a question.
    Guard,
    Replacing,
    Waiting,
}

const THROUGH: [Way; 3] = [Way::Guard, Way::Replacing, Way::Waiting];

/// The command that is started.
#[derive(Clone, Debug)]
enum What {
    Argv(Vec<OsString>),
    /// A line for `bash -c`.
    Line(String),
}

fn argv<W: AsRef<OsStr>>(words: &[W]) -> What {
    What::Argv(words.iter().map(|word| word.as_ref().to_owned()).collect())
}

fn line(text: impl Into<String>) -> What {
    What::Line(text.into())
}

/// Not a promise: the process that plays guard, started by the promises below.
#[test]
#[ignore = "started by the other tests"]
fn process_that_runs() {
    let Some(file) = std::env::var_os(WANTED) else { return };
    let wanted = fs::read(&file).unwrap();
    let mut words = wanted.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec()));
    let (way, kind) = (words.next().unwrap(), words.next().unwrap());
    let words: Vec<_> = words.collect();
    let request = match kind.to_str() {
        Some("argv") => Request::Argv(words),
        _ => Request::Line(Line::of_bash(words[0].as_bytes().to_vec())),
    };
    let env: Environment = std::env::vars_os().filter(|(name, _)| name != WANTED).collect();
    let invocation = Invocation {
        request,
        cwd: std::env::current_dir().unwrap(),
        env,
        home: None,
        uid: 0,
        user: String::new(),
        origin: Origin::Cli,
        session: Session::default(),
    };
    let inherited = preserve::capture_at_start();
    let approved = approve(invocation);
    // The test harness has written its own lines before this mark. SAFETY: the buffer is live; a closed descriptor only
    // causes an error.
    unsafe { libc::write(1, MARK.as_ptr().cast(), MARK.len()) };
    let error = if way == "waiting" {
        match exec::wait(approved, Receipt::Unrecorded, &inherited) {
            Ok(outcome) => exec::leave(outcome.ended),
            Err(error) => error,
        }
    } else {
        exec::replace(approved, Receipt::Unrecorded, &inherited)
    };
    std::process::exit(error.exit_code());
}

/// Approves an invocation. The policy lets every command run, because these promises do not depend on who allowed it.
fn approve(invocation: Invocation) -> Approved {
    let judgment = Judgment::default();
    let policy = Policy { mode: Mode::Off, ..Policy::default() };
    let Decision::Run(cleared) = decide(&invocation, &judgment, &policy, &SessionState::default(), &[]) else {
        panic!("an empty judgment runs");
    };
    Approved::by_policy(invocation, &judgment, &cleared)
}

/// A directory for one promise, and the commands that are started in it.
struct Workspace {
    directory: tempfile::TempDir,
}

/// The output and the end of a command.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    output: Vec<u8>,
    ended: String,
}

impl Workspace {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the command that starts `what` in this way.
    fn command(&self, way: Way, what: &What) -> Command {
        let mut command = match (way, what) {
            (Way::Directly, What::Argv(words)) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
            (Way::Directly, What::Line(text)) => {
                let mut command = Command::new("/bin/bash");
                command.arg0("bash").arg("-c").arg(text);
                command
            }
            (Way::Guard, what) => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_guard"));
                match what {
                    What::Argv(words) => command.arg("--").args(words),
                    What::Line(text) => command.arg("-c").arg(text),
                };
                command
            }
            _ => {
                let words = match what {
                    What::Argv(words) => ["argv".into()].into_iter().chain(words.iter().cloned()).collect::<Vec<_>>(),
                    What::Line(text) => vec!["line".into(), text.into()],
                };
                let way = if way == Way::Waiting { "waiting" } else { "replacing" };
                let all = [OsString::from(way)].into_iter().chain(words).collect::<Vec<_>>();
                let wanted = self.file(&format!("wanted-{way}"));
                fs::write(&wanted, all.join(OsStr::from_bytes(b"\0")).as_bytes()).unwrap();
                let mut command = Command::new(std::env::current_exe().unwrap());
                command
                    .args(["--ignored", "--exact", "exec::process_that_runs", "--test-threads=1", "--nocapture", "-q"])
                    .env(WANTED, wanted);
                command
            }
        };
        command.current_dir(self.directory.path());
        // Every way uses the same directory for the record.
        for (name, directory) in [("HOME", "home"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")] {
            command.env(name, self.file(directory));
        }
        command
    }

    /// Starts it after calling `surroundings` in the child, and returns the result.
    fn run(&self, way: Way, what: &What, surroundings: fn()) -> Seen {
        let mut command = self.command(way, what);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        // SAFETY: the surroundings below make system calls only.
        unsafe {
            command.pre_exec(move || {
                surroundings();
                Ok(())
            });
        }
        let output = command.output().unwrap();
        Seen { output: own(&output.stdout), ended: ended(output.status) }
    }

    /// Checks that every way through guard gives the direct result, and returns it.
    #[track_caller]
    fn same(&self, what: &What, surroundings: fn()) -> Seen {
        let direct = self.run(Way::Directly, what, surroundings);
        for way in THROUGH {
            let through = self.run(way, what, surroundings);
            assert_eq!(
                (String::from_utf8_lossy(&through.output), &through.ended),
                (String::from_utf8_lossy(&direct.output), &direct.ended),
                "{way:?} {what:?}"
            );
        }
        direct
    }

    /// Like [`Self::same`], for a command that writes its output to a file, because its standard output may be closed.
    #[track_caller]
    fn same_in_file(&self, text: &str, surroundings: fn()) -> String {
        let file = self.file("said");
        let what = line(text);
        let said = |way| {
            let _ = fs::remove_file(&file);
            let ended = self.run(way, &what, surroundings).ended;
            format!("{}{ended}", fs::read_to_string(&file).unwrap_or_default())
        };
        let direct = said(Way::Directly);
        for way in THROUGH {
            assert_eq!(said(way), direct, "{way:?} {text}");
        }
        direct
    }
}

/// Returns the output after the mark, or all of it if the command ran directly.
fn own(output: &[u8]) -> Vec<u8> {
    let at = output.windows(MARK.len()).position(|part| part == MARK.as_bytes());
    output[at.map_or(0, |at| at + MARK.len())..].to_vec()
}

fn as_found() {}

/// Ignores these signals, or resets them to their default.
fn ignore(signals: &[Signal], ignored: bool) {
    for signal in signals {
        // SAFETY: no handler is installed.
        unsafe { libc::signal(*signal as i32, if ignored { libc::SIG_IGN } else { libc::SIG_DFL }) };
    }
}

const STATE: &str = "/proc/self/status";

#[test]
fn a_default_and_an_ignored_sigpipe_stay_what_they_were() {
    let place = Workspace::new();
    let what = argv(&["grep", "^Sig[PBIC]\\|^ShdPnd", STATE]);
    let default = place.same(&what, || ignore(&[Signal::SIGPIPE], false));
    let ignored = place.same(&what, || ignore(&[Signal::SIGPIPE], true));
    assert_ne!(default, ignored);
}

#[test]
fn ignored_signals_stay_ignored_and_the_rest_stay_at_their_default() {
    let seen = Workspace::new().same(&argv(&["grep", "^SigIgn", STATE]), || {
        ignore(&[Signal::SIGHUP, Signal::SIGCHLD, Signal::SIGALRM, Signal::SIGTSTP, Signal::SIGINT], true);
        // SAFETY: no handler is installed.
        unsafe { libc::signal(libc::SIGRTMIN() + 3, libc::SIG_IGN) };
    });
    assert!(String::from_utf8_lossy(&seen.output).trim().ends_with("92003"), "{seen:?}");
}

#[test]
fn the_mask_stays_what_it_was_and_what_waits_in_it_still_waits() {
    let what = argv(&["grep", "^SigBlk\\|^SigPnd\\|^ShdPnd", STATE]);
    let seen = Workspace::new().same(&what, || {
        let mut mask = nix::sys::signal::SigSet::empty();
        for signal in [Signal::SIGUSR1, Signal::SIGALRM, Signal::SIGTERM, Signal::SIGCHLD] {
            mask.add(signal);
        }
        mask.thread_set_mask().unwrap();
    });
    assert!(String::from_utf8_lossy(&seen.output).contains("SigBlk:\t0000000000016200"), "{seen:?}");
}

#[test]
fn an_alarm_that_is_running_ends_the_command() {
    let seen = Workspace::new().same(&argv(&["sleep", "600"]), || {
        // SAFETY: the call only sets a timer.
        unsafe { libc::alarm(2) };
    });
    assert_eq!(seen.ended, "signal SIGALRM");
}

#[test]
fn an_alarm_that_went_off_while_blocked_still_waits_for_the_command() {
    let seen = Workspace::new().same(&argv(&["grep", "^SigPnd\\|^ShdPnd\\|^SigBlk", STATE]), || {
        let mut mask = nix::sys::signal::SigSet::empty();
        mask.add(Signal::SIGALRM);
        mask.thread_set_mask().unwrap();
        // SAFETY: the call only sends a signal to this process.
        unsafe { libc::kill(libc::getpid(), libc::SIGALRM) };
    });
    assert!(String::from_utf8_lossy(&seen.output).contains("0000000000002000"), "{seen:?}");
}

/// A shell line that writes the open ones of these descriptors to `said`.
const OPEN: &str = "for fd in 0 1 2 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$fd && echo $fd; done > said";

#[test]
fn closed_standard_descriptors_stay_closed() {
    let place = Workspace::new();
    // Opening `said` briefly takes the lowest closed descriptor, equally in every way.
    let close = "for fd in 0 1 2; do test -e /proc/$$/fd/$fd && list=\"$list $fd\"; done; echo \"$list\" > said";
    let none = place.same_in_file(close, as_found);
    assert_eq!(none, " 0 1 2\nexit 0");
    assert_eq!(place.same_in_file(close, || close_all(&[0])), " 1 2\nexit 0");
    assert_eq!(place.same_in_file(close, || close_all(&[1])), " 0 2\nexit 0");
    assert_eq!(place.same_in_file(close, || close_all(&[0, 1, 2])), "\nexit 0");
}

fn close_all(descriptors: &[i32]) {
    for descriptor in descriptors {
        // SAFETY: the call closes a descriptor of this process, which is about to execute another program.
        unsafe { libc::close(*descriptor) };
    }
}

#[test]
fn exactly_the_callers_descriptors_are_open() {
    let place = Workspace::new();
    let said = place.same_in_file(OPEN, || {
        for descriptor in [3, 9] {
            // SAFETY: the call copies an open descriptor; the copy stays open in the next program.
            unsafe { libc::dup2(0, descriptor) };
        }
    });
    assert_eq!(said, "0\n1\n2\n3\n9\nexit 0");
}

#[test]
fn umask_limits_and_working_directory_stay_what_they_were() {
    let seen = Workspace::new().same(&line("umask; ulimit -a; pwd -P"), || {
        // SAFETY: the calls change only this process.
        unsafe {
            libc::umask(0o027);
            for (resource, value) in
                [(libc::RLIMIT_NOFILE, 99), (libc::RLIMIT_CORE, 4096), (libc::RLIMIT_STACK, 1 << 22)]
            {
                let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
                libc::setrlimit(resource, &limit);
            }
        }
    });
    assert!(String::from_utf8_lossy(&seen.output).starts_with("0027\n"));
}

#[test]
fn the_environment_arrives_in_its_order() {
    let place = Workspace::new();
    // The copy has another name than `env`, because guard asks before a command prints the whole environment.
    let prints = place.file("prints");
    crate::harness::program::copy("/usr/bin/env", &prints);
    let what = argv(&[prints.to_str().unwrap()]);
    let run = |way| {
        let mut command = place.command(way, &what);
        command.env("ZEBRA", "1").env("ANT", " two  words\n").env("EMPTY", "");
        own(&command.output().unwrap().stdout)
    };
    // A test run sets `EXEC_WANTED` among the other variables; `process_that_runs` removes it.
    let direct = run(Way::Directly);
    for way in THROUGH {
        assert_eq!(String::from_utf8(run(way)).unwrap(), String::from_utf8(direct.clone()).unwrap());
    }
}

#[test]
fn every_exit_code_is_the_commands_own() {
    let place = Workspace::new();
    for code in 0..=255 {
        let what = line(format!("exit {code}"));
        for way in THROUGH {
            assert_eq!(place.run(way, &what, as_found).ended, format!("exit {code}"));
        }
    }
}

#[test]
fn every_deadly_signal_is_the_commands_own() {
    let place = Workspace::new();
    for signal in Signal::iterator() {
        if matches!(signal, Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU) {
            continue;
        }
        let what = line(format!("ulimit -c 0; kill -{} $$", signal as i32));
        let direct = place.run(Way::Directly, &what, as_found);
        for way in [Way::Replacing, Way::Waiting] {
            assert_eq!(place.run(way, &what, as_found), direct, "{way:?} {signal}");
        }
    }
    // These commands run without a question.
    place.same(&line("ulimit -c 0; kill -s TERM $$"), as_found);
    place.same(&line("ulimit -c 0; kill -s SEGV $$"), as_found);
}

#[test]
fn arguments_arrive_byte_for_byte() {
    let mut words: Vec<OsString> =
        ["printf", "%s|", " a  b ", "", "line\nbreak", "'\"$x`*", "--", "-n", ""].map(OsString::from).to_vec();
    words.push(OsString::from_vec(vec![0xff, 0x1b, 0xfe]));
    let seen = Workspace::new().same(&What::Argv(words), as_found);
    assert!(seen.output.ends_with(b"|--|-n||\xff\x1b\xfe|"));
}

#[test]
fn what_is_written_to_standard_input_reaches_the_command() {
    let place = Workspace::new();
    for way in THROUGH {
        let mut command = place.command(way, &argv(&["sha256sum"]));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &vec![b'x'; 1 << 20]).unwrap();
        let output = own(&child.wait_with_output().unwrap().stdout);
        // head -c 1048576 /dev/zero | tr '\0' x | sha256sum
        assert!(output.starts_with(b"8f990ba0b577b51cf009ea049368c16bbda1b21e1b93be07a824758bb253c39b"), "{way:?}");
    }
}

/// Starts a command in the waiting mode, and returns once the command is ready.
fn waiting(place: &Workspace, text: &str) -> (Child, Pid) {
    let mut command = place.command(Way::Waiting, &line(text));
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).spawn().unwrap();
    until("it is ready", || place.file("ready").exists());
    let command = fs::read_to_string(place.file("ready")).unwrap().trim().parse().unwrap();
    (child, Pid::from_raw(command))
}

#[track_caller]
fn until(what: &str, mut good: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !good() {
        assert!(Instant::now() < end, "waited until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the state letter of a process.
fn state(pid: Pid) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).unwrap_or('?')
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// A shell line that atomically creates `ready` with the shell's process ID.
const READY: &str = "echo $$ > making; mv making ready;";

#[test]
fn a_signal_that_is_sent_to_guard_alone_reaches_the_command() {
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGALRM] {
        let place = Workspace::new();
        let name = &signal.as_str()[3..];
        let text = format!("trap 'echo {name} >> got; exit 9' {name}; {READY} while :; do sleep 0.01; done");
        let (mut child, _) = waiting(&place, &text);
        kill(pid(&child), signal).unwrap();
        assert_eq!(ended(child.wait().unwrap()), "exit 9");
        assert_eq!(fs::read_to_string(place.file("got")).unwrap(), format!("{name}\n"));
    }
}

#[test]
fn guard_dies_of_the_signal_that_the_command_died_of() {
    let place = Workspace::new();
    let (mut child, _) = waiting(&place, &format!("{READY} while :; do sleep 0.01; done"));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert_eq!(ended(child.wait().unwrap()), "signal SIGTERM");
}

#[test]
fn a_command_that_outlives_a_signal_goes_on_and_so_does_guard() {
    let place = Workspace::new();
    let text = format!("trap : TERM; {READY} until test -e go; do sleep 0.01; done; exit 5");
    let (mut child, _) = waiting(&place, &text);
    kill(pid(&child), Signal::SIGTERM).unwrap();
    fs::write(place.file("go"), "").unwrap();
    assert_eq!(ended(child.wait().unwrap()), "exit 5");
}

#[test]
fn guard_stops_with_the_command_and_goes_on_with_it() {
    for signal in [Signal::SIGSTOP, Signal::SIGTSTP] {
        let place = Workspace::new();
        let text = format!("{READY} until test -e go; do sleep 0.01; done; exit 6");
        let (mut child, command) = waiting(&place, &text);
        // The group is not orphaned, because the test runner is in another group of the same session.
        kill(command, signal).unwrap();
        until("both have stopped", || state(command) == 'T' && state(pid(&child)) == 'T');
        fs::write(place.file("go"), "").unwrap();
        kill(pid(&child), Signal::SIGCONT).unwrap();
        assert_eq!(ended(child.wait().unwrap()), "exit 6");
    }
}

/// Starts a command in the waiting mode on its own terminal.
fn on_a_terminal(place: &Workspace, text: &str) -> Terminal {
    Terminal::spawn(place.command(Way::Waiting, &line(text)))
}

#[test]
fn ctrl_c_reaches_the_command_once_and_guard_dies_as_it_does() {
    let place = Workspace::new();
    let text = "trap 'echo int >> got' INT; echo waiting; while :; do test -e got && break; sleep 0.01; done; sleep 0.1; \
                trap - INT; kill -INT $$";
    let mut terminal = on_a_terminal(&place, text);
    terminal.wait_for("waiting");
    terminal.send("\u{3}");
    assert_eq!(ended(terminal.wait_exit()), "signal SIGINT");
    assert_eq!(fs::read_to_string(place.file("got")).unwrap(), "int\n");
}

#[test]
fn a_terminal_that_is_closed_ends_command_and_guard() {
    let place = Workspace::new();
    let mut terminal = on_a_terminal(&place, "echo waiting; exec sleep 600");
    terminal.wait_for("waiting");
    terminal.hang_up();
    assert_eq!(ended(terminal.wait_exit()), "signal SIGHUP");
}

#[test]
fn a_shell_stops_and_continues_it_like_any_job() {
    let place = Workspace::new();
    let text = format!("{READY} echo waiting; until test -e go; do sleep 0.01; done; echo done; exit 7");
    let guard = place.command(Way::Waiting, &line(text));
    let words: Vec<_> = guard.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let wanted = guard.get_envs().find_map(|(name, value)| (name == WANTED).then_some(value?.to_owned())).unwrap();
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).env("PS1", "ready> ").env(WANTED, wanted);
    shell.env("GUARD_UNDER_TEST", guard.get_program()).current_dir(place.directory.path());
    let mut terminal = Terminal::spawn(shell);
    terminal.wait_for("ready>");
    terminal.send(&format!("\"$GUARD_UNDER_TEST\" {}; echo \"status=$?\"\n", words.join(" ")));
    terminal.wait_for("waiting");
    terminal.send("\u{1a}");
    terminal.wait_for("Stopped");
    let command = Pid::from_raw(fs::read_to_string(place.file("ready")).unwrap().trim().parse().unwrap());
    assert_eq!(state(command), 'T');
    terminal.send("fg\n");
    until("it goes on", || state(command) != 'T');
    fs::write(place.file("go"), "").unwrap();
    terminal.wait_for("done");
    terminal.send("echo \"again=$?\"\n");
    terminal.wait_for("again=7");
    terminal.send("exit\n");
    terminal.wait_exit();
}

/// Starts a shell on a terminal, in which the real program asks about `text` and a person allows it.
fn allowed_by_a_person(place: &Workspace, text: &str) -> Terminal {
    let mut guard = place.command(Way::Guard, &line(text));
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).current_dir(place.directory.path());
    shell.envs(guard.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PS1", "ready> ").env("TERM", "xterm-256color").env("COMMAND", text);
    shell.env("GUARD_UNDER_TEST", guard.stdin(Stdio::null()).get_program());
    let mut terminal = Terminal::spawn_with(shell, 100, 40, OnTerminal::ALL);
    terminal.wait_for("ready>");
    terminal.send("\"$GUARD_UNDER_TEST\" -c \"$COMMAND\"\n");
    terminal.wait_for("no answer means no");
    terminal.read_question();
    terminal.send("y");
    terminal
}

#[test]
fn what_a_person_allowed_is_a_job_like_any_other() {
    let place = Workspace::new();
    fs::create_dir(place.file("stand-in")).unwrap();
    let text = format!("rm -rf stand-in; {READY} echo wait\"\"ing; until test -e go; do sleep 0.01; done; exit 7");
    let mut terminal = allowed_by_a_person(&place, &text);
    terminal.wait_for("waiting");
    assert!(!place.file("stand-in").exists());
    terminal.send("\u{1a}");
    terminal.wait_for("Stopped");
    terminal.send("fg\n");
    let command = Pid::from_raw(fs::read_to_string(place.file("ready")).unwrap().trim().parse().unwrap());
    until("it goes on", || state(command) != 'T');
    fs::write(place.file("go"), "").unwrap();
    terminal.send("echo \"status=$?\"\n");
    terminal.wait_for("status=7");
}

#[test]
fn ctrl_c_ends_what_a_person_allowed_and_the_shell_sees_it() {
    let place = Workspace::new();
    fs::create_dir(place.file("stand-in")).unwrap();
    let mut terminal = allowed_by_a_person(&place, "rm -rf stand-in; echo wait\"\"ing; sleep 600");
    terminal.wait_for("waiting");
    terminal.send("\u{3}");
    terminal.send("echo \"status=$?\"\n");
    terminal.wait_for("status=130");
}

#[test]
fn a_command_that_signals_its_parent_does_not_get_it_back() {
    let place = Workspace::new();
    fs::create_dir(place.file("stand-in")).unwrap();
    // A kill of `$PPID` would need an answer typed in full, so the line reads the parent's process ID itself.
    let parent = "read -r _ _ _ parent _ < /proc/$$/stat";
    let text = &format!("rm -rf stand-in; trap 'exit 9' USR1; {parent}; kill -USR1 \"$parent\"; sleep 0.2; exit 4");
    let mut terminal = allowed_by_a_person(&place, text);
    terminal.wait_for("allowed once");
    terminal.send("echo \"status=$?\"\n");
    terminal.wait_for("status=4");
}

#[test]
fn what_cannot_be_started_ends_as_env_would() {
    let place = Workspace::new();
    let plain = place.file("plain");
    fs::write(&plain, "").unwrap();
    for program in [OsStr::new("no-such-program"), OsStr::new("/no/such"), plain.as_os_str(), OsStr::new("/")] {
        let env = Command::new("env").arg(program).stderr(Stdio::null()).status().unwrap();
        for way in THROUGH {
            let seen = place.run(way, &argv(&[program]), as_found);
            assert_eq!(seen.ended, ended(env), "{way:?} {program:?}");
        }
    }
}

#[test]
fn a_command_that_was_ended_by_a_signal_leaves_no_core_of_guard() {
    let place = Workspace::new();
    let mut command = place.command(Way::Waiting, &line("ulimit -c 0; kill -SEGV $$"));
    // SAFETY: the closure only makes a system call.
    unsafe {
        command.pre_exec(|| {
            let all = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
            libc::setrlimit(libc::RLIMIT_CORE, &all);
            Ok(())
        });
    }
    let status: ExitStatus = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!((status.signal(), status.core_dumped()), (Some(libc::SIGSEGV), false));
}

#[test]
fn what_was_noted_at_the_start_can_be_asked_for() {
    let inherited: Inherited = preserve::capture_at_start();
    let status = fs::read_to_string(Path::new(STATE)).unwrap();
    assert!(status.contains("SigIgn"));
    // The test runner's own streams are open.
    assert!((0..3).all(|descriptor| !inherited.was_closed(descriptor)));
    assert!(!inherited.ignores(libc::SIGKILL) && !inherited.blocks(libc::SIGKILL));
}
