//! A fixture for the tests of the world: real repositories made by real git in a temporary directory, with their own
//! home.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use guard::judge::analysis::question::{FileFacts, GitFacts, PathFacts, Question, RepositoryFacts, WorldAnswer};
use guard::judge::invocation::{Environment, Invocation, Origin, Request, Session};
use guard::world::World;

/// A temporary directory with its own home, and git in it.
pub struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("home")).unwrap();
        std::fs::create_dir_all(directory.path().join("project")).unwrap();
        Self { directory }
    }

    /// Creates a fixture whose `project` is a repository with one commit: `src/main.rs`, `tool.sh` (executable), and a
    /// `.gitignore` that ignores `target/` and `*.log`, but not `keep.log`.
    pub fn repository() -> Self {
        let fixture = Self::new();
        fixture.git(&["init", "-q", "-b", "main"]);
        fixture.write("src/main.rs", "fn main() {}\n");
        fixture.write("tool.sh", "#!/bin/sh\n");
        fixture.write(".gitignore", "target/\n*.log\n!keep.log\n");
        std::fs::set_permissions(fixture.path("tool.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        fixture.commit("first");
        fixture
    }

    /// Creates a clone of a repository, on `main` with the upstream `origin/main`.
    pub fn clone() -> Self {
        let fixture = Self::repository();
        std::fs::rename(fixture.path(""), fixture.top().join("upstream")).unwrap();
        std::fs::create_dir(fixture.path("")).unwrap();
        fixture.git(&["clone", "-q", "../upstream", "."]);
        fixture
    }

    /// Returns the real path of the fixture's directory.
    pub fn top(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.top().join("project").join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().trim_end_matches('/').to_owned()
    }

    pub fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn git(&self, arguments: &[&str]) {
        self.git_in("", arguments);
    }

    pub fn git_in(&self, dir: &str, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(self.path(dir))
            .env_clear()
            .envs([("PATH", std::env::var("PATH").unwrap()), ("HOME", self.home())])
            .envs([("GIT_AUTHOR_NAME", "Ada"), ("GIT_AUTHOR_EMAIL", "ada@example.org")])
            .envs([("GIT_COMMITTER_NAME", "Ada"), ("GIT_COMMITTER_EMAIL", "ada@example.org")])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    pub fn home(&self) -> String {
        self.top().join("home").to_str().unwrap().to_owned()
    }

    pub fn world(&self) -> World {
        self.world_with(&[])
    }

    pub fn world_with(&self, variables: &[(&str, &str)]) -> World {
        let home = self.home();
        let fixed = [("HOME", home.as_str()), ("GIT_CONFIG_NOSYSTEM", "1"), ("PATH", "/usr/bin:/bin")];
        let env: Environment = fixed.iter().chain(variables).map(|(name, value)| (name.into(), value.into())).collect();
        World::new(&Invocation {
            request: Request::Argv(Vec::new()),
            cwd: self.path("").components().collect(),
            env,
            home: None,
            uid: 1000,
            user: "ada".into(),
            origin: Origin::Agent,
            session: Session::default(),
        })
    }

    pub fn facts(&self, name: &str) -> GitFacts {
        self.try_facts(name).unwrap_or_else(|| panic!("no answer for {name}"))
    }

    pub fn try_facts(&self, name: &str) -> Option<GitFacts> {
        match self.world().answer(&Question::Git(self.text(name))) {
            WorldAnswer::Git(facts) => Some(facts),
            WorldAnswer::Unavailable => None,
            other => panic!("{other:?} is no answer about git"),
        }
    }

    pub fn about(&self, name: &str) -> Option<RepositoryFacts> {
        self.about_with(name, &[])
    }

    pub fn about_with(&self, name: &str, variables: &[(&str, &str)]) -> Option<RepositoryFacts> {
        match self.world_with(variables).answer(&Question::Repository(self.text(name))) {
            WorldAnswer::Repository(facts) => facts,
            WorldAnswer::Unavailable => panic!("no answer about the repository of {name:?}"),
            other => panic!("{other:?} is no answer about a repository"),
        }
    }

    pub fn at(&self, name: &str) -> PathFacts {
        match self.world().answer(&Question::Path(self.text(name))) {
            WorldAnswer::Path(facts) => facts,
            other => panic!("{other:?} is no answer about a path"),
        }
    }

    pub fn file(&self, name: &str) -> FileFacts {
        match self.world().answer(&Question::File(self.text(name))) {
            WorldAnswer::File(facts) => facts,
            other => panic!("{other:?} is no answer about a file"),
        }
    }
}

/// Creates a FIFO.
pub fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}
