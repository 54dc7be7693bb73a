//! A home for guard, with stand-ins for programs that must not really run.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use guard::judge::invocation::{Environment, Invocation, Origin, Request, Session};
use guard::store::{Paths, Store};
use rusqlite::Connection;

/// The flagged command of these tests, of tier 3. `git` is a stand-in that leaves a mark when it runs.
pub const FLAGGED: [&str; 5] = ["git", "push", "--force", "origin", "main"];

/// Returns the invocation of these words by a person at a terminal, in an unremarkable directory.
pub fn invocation(words: &[&str]) -> Invocation {
    Invocation {
        request: Request::Argv(words.iter().map(Into::into).collect()),
        cwd: "/".into(),
        env: Environment::default(),
        home: None,
        uid: 1000,
        user: "ada".to_owned(),
        origin: Origin::Cli,
        session: Session::default(),
    }
}

/// A temporary directory with a home, a working directory and stand-ins for programs.
pub struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        for directory in ["home", "work", "bin"] {
            std::fs::create_dir(home.path(directory)).unwrap();
        }
        // The file exists from the start, because an approval is bound to the files that the stand-ins write to.
        let mark = home.path("ran");
        std::fs::write(&mark, "").unwrap();
        home.stand_in("git", &format!("echo ran >> '{}'", mark.display()));
        home
    }

    /// Creates a home whose policy runs everything up to tier 3, so that only the record can prevent a run.
    pub fn that_asks_nobody() -> Self {
        let home = Self::new();
        std::fs::create_dir_all(home.path("home/.config/guard")).unwrap();
        std::fs::write(home.path("home/.config/guard/config.toml"), "mode = \"off\"\n").unwrap();
        home
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn stand_in(&self, name: &str, script: &str) {
        super::program::write(&self.path("bin").join(name), &format!("#!/bin/sh\n{script}\n"));
    }

    pub fn data(&self) -> PathBuf {
        self.path("home/.local/share/guard")
    }

    pub fn paths(&self) -> Paths {
        Paths::new(self.data())
    }

    pub fn store(&self) -> Store {
        Store::open(&self.paths()).unwrap()
    }

    /// Returns a command that runs a program in this home, without a terminal.
    pub fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env_clear().env("HOME", self.path("home")).env("PATH", path).env("TZ", "UTC");
        // No person can answer, so a command that needs an approval is refused at once.
        command.env("GUARD_WAIT", "0");
        command.current_dir(self.path("work")).stdin(Stdio::null());
        command
    }

    pub fn guard(&self, arguments: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_guard"));
        command.args(arguments);
        command
    }

    /// Runs a script as root of a new namespace, where `mount` works, with guard, the directory of the record and the
    /// flagged command as its arguments. A home of root that this account cannot read is replaced by an empty one
    /// there. Returns `None` if the system does not permit the namespace.
    pub fn in_a_namespace(&self, script: &str) -> Option<Output> {
        let mut probe = self.program("unshare");
        let able = probe.args(["-Urm", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
        if !able.is_ok_and(|output| output.status.success()) {
            super::tools::skip("namespaces cannot be made here");
            return None;
        }
        let mut command = self.program("unshare");
        // Files that the namespace's root creates in the temp directory would get in the way of the real root.
        command.env("XDG_RUNTIME_DIR", self.path("home"));
        let script = format!("[ -x /root ] || mount -t tmpfs none /root\n{script}");
        command.args(["-Urm", "sh", "-ec", &script, env!("CARGO_BIN_EXE_guard")]).arg(self.data()).args(FLAGGED);
        Some(command.output().unwrap())
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.guard(&[&["--"], words].concat()).output().unwrap()
    }

    /// Returns the output of a verb of guard, which must exit with this code.
    pub fn prints(&self, arguments: &[&str], code: i32) -> String {
        let output = self.guard(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the number of runs of the stand-in.
    pub fn ran(&self) -> usize {
        std::fs::read_to_string(self.path("ran")).map_or(0, |text| text.lines().count())
    }

    pub fn sql(&self, sql: &str) {
        Connection::open(self.paths().database()).unwrap().execute_batch(sql).unwrap();
    }

    /// Moves the write-ahead log into the record's database file.
    pub fn settle(&self) {
        let connection = Connection::open(self.paths().database()).unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }

    /// Checks that the record cannot be written, for a reason with these words: a flagged command does not run, any
    /// other does.
    pub fn holds_back(&self, output: &Output, reason: &str) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(126), "{said}");
        assert!(said.contains("could not be recorded: ") && said.contains(reason), "{said}");
        assert_eq!(self.ran(), 0, "{said}");
    }
}
