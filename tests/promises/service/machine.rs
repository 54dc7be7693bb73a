//! Creates a machine with its own accounts, a configuration of root and guard's service: a namespace in which `/etc` is
//! a copy. Only root can create one.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use guard::store::queue::{Pending, Queue, RequestState};
use guard::store::{Entry, Filter, Paths, Store};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::harness::pty::{PATIENCE, Terminal};
use crate::queue::stage::{Asker, apart};

pub use crate::queue::stage::FLAGGED;

/// The accounts. `ada` may answer, `agent` asks, `bob` has no role; `guard-gateway` is the gateway's account if the
/// configuration names it.
pub const ACCOUNTS: [(&str, u32); 5] =
    [("guard", 4100), ("ada", 4101), ("agent", 4102), ("bob", 4103), ("guard-gateway", 4104)];

/// The lines of root's configuration besides the account and the socket.
pub const ADA: &str = "approvers = [\"ada\"]\n";

pub fn uid(account: &str) -> u32 {
    ACCOUNTS.iter().find(|(name, _)| *name == account).unwrap().1
}

pub struct Machine {
    directory: tempfile::TempDir,
    /// The process that keeps the namespace alive.
    holder: Child,
    service: Option<Child>,
}

impl Machine {
    /// Creates a machine whose service runs. Returns `None` if the tests cannot create one.
    pub fn new() -> Option<Self> {
        Self::with(ADA).map(|mut machine| {
            machine.start();
            machine
        })
    }

    /// Creates a machine with these lines in `[service]`, without starting its service.
    pub fn with(lines: &str) -> Option<Self> {
        if !nix::unistd::geteuid().is_root() || !able() {
            crate::harness::tools::skip("only root can become several accounts, and here it may not");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        for (name, owner, mode) in [
            ("bin", 0, 0o755),
            ("marks", 0, 0o777),
            ("run", uid("guard"), 0o755),
            ("var", uid("guard"), 0o755),
            ("work", uid("agent"), 0o755),
            ("home", 0, 0o755),
            // The directories that systemd creates for the unit.
            ("lib", 0, 0o755),
            ("lib/guard", uid("guard"), 0o700),
            ("runtime", 0, 0o755),
            ("runtime/guard", uid("guard"), 0o755),
        ] {
            std::fs::create_dir(path(name)).unwrap();
            std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(mode)).unwrap();
            chown(path(name), Some(owner), Some(owner)).unwrap();
        }
        let mut passwd = String::new();
        for (name, uid) in ACCOUNTS {
            let home = path("home").join(name);
            std::fs::create_dir(&home).unwrap();
            std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
            chown(&home, Some(uid), Some(uid)).unwrap();
            passwd.push_str(&format!("{name}:x:{uid}:{uid}::{}:/bin/bash\n", home.display()));
        }
        std::fs::write(path("passwd"), passwd).unwrap();
        let socket = path("run/guard.sock");
        let config = format!("[service]\naccount = \"guard\"\nsocket = \"{}\"\n{lines}", socket.display());
        std::fs::write(path("config.toml"), config).unwrap();
        let mark = path("marks/ran");
        for name in ["git", "npm", "mkfs.ext4"] {
            let stand_in = path("bin").join(name);
            crate::harness::program::write(&stand_in, &format!("#!/bin/sh\necho ran >> '{}'\n", mark.display()));
        }
        std::fs::write(path("bin/guard"), "").unwrap();
        let script = "mount --make-rprivate / && cp -a /etc \"$1/etc\" && cat \"$1/passwd\" >> \"$1/etc/passwd\" && rm -rf \"$1/etc/guard\" && mkdir \"$1/etc/guard\" \
            && cp \"$1/config.toml\" \"$1/etc/guard/\" && chmod -R go-w \"$1/etc/guard\" \
            && mount --bind \"$1/lib\" /var/lib && mount --bind \"$1/runtime\" /run \
            && mount --bind \"$1/etc\" /etc && mount --bind \"$2\" \"$1/bin/guard\"; echo $? > \"$1/ready\"; exec sleep 3600";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script, "sh"]).arg(directory.path()).arg(env!("CARGO_BIN_EXE_guard"));
        let holder = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let machine = Self { directory, holder, service: None };
        until("the machine", || std::fs::read_to_string(machine.path("ready")).is_ok_and(|text| text == "0\n"));
        Some(machine)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns a command that runs a program as an account of this machine, in the agent's directory, without a
    /// terminal.
    pub fn program(&self, account: &str, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        let id = if account == "root" { 0 } else { uid(account) }.to_string();
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id())).args(["env", "-C"]).arg(self.path("work"));
        command.args(["setpriv", "--reuid", &id, "--regid", &id, "--clear-groups", program]);
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env_clear().env("HOME", self.path("home").join(account)).env("PATH", path).env("TZ", "UTC");
        command.env("GUARD_WAIT", "0").stdin(Stdio::null());
        command
    }

    pub fn guard(&self, account: &str, arguments: &[&str]) -> Command {
        let mut command = self.program(account, self.path("bin/guard").to_str().unwrap());
        command.args(arguments);
        command
    }

    /// Runs guard and waits for its end.
    pub fn run(&self, account: &str, arguments: &[&str]) -> Output {
        self.guard(account, arguments).output().unwrap()
    }

    /// Returns guard's output; it must exit with this code.
    #[track_caller]
    pub fn prints(&self, account: &str, arguments: &[&str], code: i32) -> String {
        let output = self.run(account, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{account}: {arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Checks that a flagged command did not run because it could not be recorded, and gave this reason, and that a
    /// harmless one ran.
    #[track_caller]
    pub fn holds_back(&self, reason: &str) {
        let mut command = self.guard("agent", &[&["--"], &FLAGGED[..]].concat());
        let output = command.env("GUARD_WAIT", "5").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(126), "{said}");
        assert!(said.contains("could not be recorded: ") && said.contains(reason), "{said}");
        assert_eq!(self.ran(), 0, "{said}");
        assert_eq!(self.prints("agent", &["-c", "echo harmless"], 0), "harmless\n");
        assert!(!self.path("home/agent/.local").exists(), "nothing is recorded elsewhere");
    }

    /// Returns the command of the service under its account, followed by these arguments.
    pub fn serve(&self, account: &str, more: &[&str]) -> Command {
        let mut command = self.guard(account, &["serve", "--system", "--directory"]);
        command.arg(self.path("var/guard")).args(more);
        command
    }

    /// Starts the service, and waits until it reports that it is ready.
    pub fn start(&mut self) {
        let place = self.path("notify");
        let _ = std::fs::remove_file(&place);
        let told = UnixDatagram::bind(&place).unwrap();
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o777)).unwrap();
        told.set_read_timeout(Some(PATIENCE)).unwrap();
        let errors = std::fs::File::create(self.path("serve.log")).unwrap();
        let child = self.serve("guard", &[]).env("NOTIFY_SOCKET", &place).stderr(errors).spawn().unwrap();
        self.service = Some(child);
        let mut heard = [0; 64];
        let count = told.recv(&mut heard).unwrap_or_else(|_| panic!("{}", self.said()));
        assert_eq!(&heard[..count], b"READY=1");
    }

    /// Returns the output of the service.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.path("serve.log")).unwrap()
    }

    pub fn service(&mut self) -> &mut Child {
        self.service.as_mut().unwrap()
    }

    /// Kills the service.
    pub fn kill(&mut self) {
        let mut service = self.service.take().unwrap();
        service.kill().unwrap();
        service.wait().unwrap();
    }

    /// Starts a command of an account that waits in the queue.
    pub fn asker(&self, account: &str, words: &[&str]) -> Asker {
        let mut command = self.program(account, "sh");
        command.args(["-c", "\"$0\" \"$@\"; exit $?"]).arg(self.path("bin/guard")).arg("--").args(words);
        command.env("GUARD_WAIT", "60");
        Asker::start(apart(command))
    }

    /// Kills the guard that waits for a request.
    pub fn kill_waiter(&self, id: &str) {
        let waiter = self.request(id).waiter.unwrap();
        let pid = Pid::from_raw(waiter.split('.').next().unwrap().parse().unwrap());
        kill(pid, Signal::SIGKILL).unwrap();
    }

    /// Starts guard on an account's own terminal.
    pub fn person(&self, account: &str, arguments: &[&str]) -> Terminal {
        let mut command = self.guard(account, arguments);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        Terminal::spawn_with(command, 100, 40, crate::harness::pty::OnTerminal::ALL)
    }

    pub fn paths(&self) -> Paths {
        Paths::new(self.path("var/guard"))
    }

    /// Returns the rows as root can read them, oldest first.
    pub fn rows(&self) -> Vec<Entry> {
        let store = self.store();
        let rows = store.find(&Filter::default()).unwrap().into_iter();
        let mut rows: Vec<_> = rows.map(|id| store.entry(id).unwrap()).collect();
        rows.sort_by_key(|row| row.id);
        rows
    }

    pub fn store(&self) -> Store {
        Store::open(&self.paths()).unwrap()
    }

    pub fn request(&self, id: &str) -> Pending {
        Queue::open(&self.paths()).unwrap().find(id).unwrap().unwrap()
    }

    pub fn state(&self, id: &str) -> RequestState {
        self.request(id).state
    }

    pub fn all(&self) -> Vec<Pending> {
        let queue = Queue::existing(&self.paths()).unwrap();
        queue.map_or_else(Vec::new, |queue| queue.list(jiff::Timestamp::now()).unwrap())
    }

    /// Returns the number of runs of the stand-ins.
    pub fn ran(&self) -> usize {
        std::fs::read_to_string(self.path("marks/ran")).map_or(0, |text| text.lines().count())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        for child in self.service.iter_mut().chain([&mut self.holder]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A program that is killed at the end of the test.
pub struct Running(pub Child);

impl Running {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reports whether namespaces and other accounts are available.
fn able() -> bool {
    let probe =
        ["-m", "sh", "-c", "mount --make-rprivate / && exec setpriv --reuid 4102 --regid 4102 --clear-groups true"];
    Command::new("unshare").args(probe).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Waits until a condition holds that other processes bring about.
#[track_caller]
pub fn until(what: &str, mut good: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !good() {
        assert!(Instant::now() < end, "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
