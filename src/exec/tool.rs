//! Starts the programs that guard itself needs: the pager, the editor, `getent`, `ssh-keygen`, the gateway, guard.
//! Never a command of a requester.
//!
//! No other module starts them, so that each has an absolute path (never one in the working directory, unless the user
//! gave it), a selected environment, and no inherited descriptor that it does not need. Descriptors that guard opens
//! are closed on exec, and signals have their default dispositions. Out of scope: what the programs are used for.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use nix::libc;
use nix::unistd::{AccessFlags, access};

/// The prefixes of variables with which the dynamic loader loads code.
const LOADER: [&str; 2] = ["LD_", "DYLD_"];

/// A program to start. By default it has guard's environment, directory, terminal and standard streams.
#[derive(Debug)]
pub struct Tool(Command);

impl Tool {
    /// Creates it for a program at an absolute path.
    ///
    /// # Errors
    /// The path is not absolute.
    pub fn at(program: impl AsRef<Path>) -> io::Result<Self> {
        let program = program.as_ref();
        if !program.is_absolute() {
            let why = format!("{} is not an absolute path", program.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok(Self(Command::new(program)))
    }

    /// Creates it for the first existing one of several paths. `PATH` is not searched.
    ///
    /// # Errors
    /// None of them exists.
    pub fn at_one_of(places: &[&str]) -> io::Result<Self> {
        let place = places.iter().map(Path::new).find(|place| place.is_file());
        Self::at(place.ok_or(io::ErrorKind::NotFound)?)
    }

    /// Creates it for a program that the user names: searched in the absolute directories of `PATH`, or given as a
    /// path, which may be relative to the working directory.
    ///
    /// # Errors
    /// There is no such program.
    pub fn named(name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        let found = if name.as_encoded_bytes().contains(&b'/') {
            std::env::current_dir()?.join(name)
        } else {
            let found = along(&std::env::var_os("PATH").unwrap_or_default(), name);
            found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?
        };
        let mut tool = Self::at(found)?;
        tool.0.arg0(name);
        Ok(tool)
    }

    /// Creates it for this program.
    ///
    /// # Errors
    /// The path of the program is unknown.
    pub fn own() -> io::Result<Self> {
        Self::at(std::env::current_exe()?)
    }

    /// Creates it for a shell command of the user, for example in `EDITOR`. `words` begin with `$0`.
    ///
    /// # Errors
    /// None: `/bin/sh` is an absolute path.
    pub fn line(line: impl AsRef<OsStr>, words: &[&OsStr]) -> io::Result<Self> {
        let mut tool = Self::at("/bin/sh")?;
        tool.0.arg("-c").arg(line).args(words);
        Ok(tool)
    }

    /// Sets `argv[0]`.
    #[must_use]
    pub fn called(mut self, name: impl AsRef<OsStr>) -> Self {
        self.0.arg0(name);
        self
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.0.arg(word);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.0.args(words);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn dir(mut self, dir: &Path) -> Self {
        self.0.current_dir(dir);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Removes variables.
    #[must_use]
    pub fn without_env(mut self, names: &[&str]) -> Self {
        for name in names {
            self.0.env_remove(name);
        }
        self
    }

    /// Removes the variables with which the dynamic loader would load other code into it.
    #[must_use]
    pub fn without_loader_env(mut self) -> Self {
        for (name, _) in std::env::vars_os() {
            if LOADER.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
                self.0.env_remove(name);
            }
        }
        self
    }

    /// Isolates it: only this environment, the directory `/`, no standard input, and no inherited descriptors but
    /// standard output and error. This is for services.
    #[must_use]
    pub fn alone(mut self, env: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.0.env_clear().envs(env).current_dir("/").stdin(Stdio::null());
        // SAFETY: between fork and exec only system calls are made, and they change flags of descriptors.
        unsafe {
            self.0.pre_exec(|| {
                close_on_exec_from(3);
                Ok(())
            });
        }
        self
    }

    /// Runs it in its own session, without a terminal, so that its children can be killed with it.
    #[must_use]
    pub fn in_its_own_session(mut self) -> Self {
        // SAFETY: between fork and exec only a system call is made.
        unsafe {
            self.0.pre_exec(|| match libc::setsid() {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        self
    }

    /// Sets standard input.
    #[must_use]
    pub fn stdin(mut self, from: impl Into<Stdio>) -> Self {
        self.0.stdin(from);
        self
    }

    /// Sets standard output.
    #[must_use]
    pub fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stdout(to);
        self
    }

    /// Sets standard error.
    #[must_use]
    pub fn stderr(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stderr(to);
        self
    }

    /// Starts it. Passed descriptors are closed in guard.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(mut self) -> io::Result<Child> {
        self.0.spawn()
    }

    /// Starts it and waits for its end.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn status(mut self) -> io::Result<ExitStatus> {
        self.0.status()
    }

    /// Starts it, waits for its end, and returns its output.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn output(mut self) -> io::Result<Output> {
        self.0.output()
    }

    /// Replaces guard by it. Returns the error if that fails.
    #[must_use]
    pub fn replace(mut self) -> io::Error {
        self.0.exec()
    }
}

/// Returns the program with this name in the absolute directories of a search path. Relative ones may contain files of
/// a repository.
fn along(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    let mut places = std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    places.find(|place| place.is_file() && access(place, AccessFlags::X_OK).is_ok())
}

/// Sets close-on-exec for all descriptors from this one on, with system calls only.
fn close_on_exec_from(first: i32) {
    if guard_system::close_on_exec_from(first) {
        return;
    }
    // Without the system call: the default maximum number of descriptors.
    for descriptor in first..1024 {
        // SAFETY: changes a flag of a number, touches no memory.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_is_found_at_absolute_places_only() {
        assert_eq!(Tool::at("bin/sh").unwrap_err().kind(), io::ErrorKind::InvalidInput);
        assert_eq!(Tool::at_one_of(&["/no/such/program"]).unwrap_err().kind(), io::ErrorKind::NotFound);
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("helper");
        fs::write(&there, "#!/bin/sh\n").unwrap();
        let path = |parts: &[&Path]| std::env::join_paths(parts).unwrap();
        let found = |parts: &[&Path]| along(&path(parts), "helper".as_ref());
        assert_eq!(found(&[dir.path()]), None, "it is no program yet");
        fs::set_permissions(&there, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(found(&[Path::new("/nowhere"), dir.path()]), Some(there));
        // The working directory of a test is the package, which contains these files.
        assert_eq!(along(&path(&[Path::new(""), Path::new(".cargo")]), "helper".as_ref()), None);
        assert_eq!(along(&path(&[Path::new("tests/../../../bin"), Path::new("")]), "sh".as_ref()), None);
    }

    #[test]
    fn a_program_that_is_alone_has_neither_environment_nor_descriptors_of_others() {
        // A descriptor that the process which started guard left open.
        let left = fs::File::open("/dev/null").unwrap();
        nix::fcntl::fcntl(&left, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
        // A redirection is not used, because some shells support only numbers with one digit there.
        let script = format!("[ -e /dev/fd/{} ] && echo open; echo \"$HOME|$ONE|$(pwd)\"; cat", left.as_raw_fd());
        let tool = || Tool::line(&script, &[]).unwrap();
        let env = [("ONE".into(), "1".into()), ("PATH".into(), "/usr/bin:/bin".into())];
        let alone = tool().alone(env).output().unwrap();
        assert_eq!(String::from_utf8(alone.stdout).unwrap(), "|1|/\n");
        let other = tool().stdin(Stdio::null()).output().unwrap();
        assert!(String::from_utf8(other.stdout).unwrap().starts_with("open\n"), "it is open for others");
    }

    #[test]
    fn what_cannot_be_started_is_an_error_also_when_it_is_alone() {
        let error = Tool::at("/no/such/program").unwrap().alone([]).output().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_person_names_a_program_as_in_a_shell() {
        let done = Tool::named("sh").unwrap().args(["-c", "echo $0"]).output().unwrap();
        assert_eq!(done.stdout, b"sh\n");
        assert_eq!(Tool::named("no-such-program-at-all").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
