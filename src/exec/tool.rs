//! Programs of guard's own: the pager, the editor, `getent`, `ssh-keygen`, the gateway, guard again. Never a command that
//! somebody asked about.
//!
//! This is the one place that starts them, so that each of them has what it must have: a program that is found at an
//! absolute path (never in the working directory, unless a person wrote a path to it), an environment that is chosen, and
//! no descriptor of somebody else where it has no use for one. Descriptors that guard itself opens are closed when a
//! program starts in any case, and signals are as a program expects them. Out of scope: what a program is for.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use nix::libc;
use nix::unistd::{AccessFlags, access};

/// The variables that tell the loader of programs which code to load.
const LOADER: [&str; 2] = ["LD_", "DYLD_"];

/// A program that is about to be started. It has guard's environment, directory, terminal and standard streams until it is
/// given others.
#[derive(Debug)]
pub struct Tool(Command);

impl Tool {
    /// The program at an absolute path.
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

    /// The first of several places at which a program lies; `PATH` is not asked.
    ///
    /// # Errors
    /// It lies at none of them.
    pub fn at_one_of(places: &[&str]) -> io::Result<Self> {
        let place = places.iter().map(Path::new).find(|place| place.is_file());
        Self::at(place.ok_or(io::ErrorKind::NotFound)?)
    }

    /// A program that a person names: along the absolute directories of `PATH`, or by a path, which is one of the working
    /// directory when it is relative.
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

    /// This guard.
    ///
    /// # Errors
    /// The system does not tell where it lies.
    pub fn own() -> io::Result<Self> {
        Self::at(std::env::current_exe()?)
    }

    /// A line that a person wrote for a shell, in `EDITOR` for instance. `words` begin with `$0`.
    ///
    /// # Errors
    /// None that is known: `/bin/sh` is an absolute path.
    pub fn line(line: impl AsRef<OsStr>, words: &[&OsStr]) -> io::Result<Self> {
        let mut tool = Self::at("/bin/sh")?;
        tool.0.arg("-c").arg(line).args(words);
        Ok(tool)
    }

    /// By this name instead of its own.
    #[must_use]
    pub fn called(mut self, name: impl AsRef<OsStr>) -> Self {
        self.0.arg0(name);
        self
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, word: impl AsRef<OsStr>) -> Self {
        self.0.arg(word);
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.0.args(words);
        self
    }

    /// In another directory.
    #[must_use]
    pub fn dir(mut self, dir: &Path) -> Self {
        self.0.current_dir(dir);
        self
    }

    /// With another value of a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Without some variables.
    #[must_use]
    pub fn without_env(mut self, names: &[&str]) -> Self {
        for name in names {
            self.0.env_remove(name);
        }
        self
    }

    /// Without the variables that make the loader load other code into it: for a program that must be itself.
    #[must_use]
    pub fn without_loader_env(mut self) -> Self {
        for (name, _) in std::env::vars_os() {
            if LOADER.iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes())) {
                self.0.env_remove(name);
            }
        }
        self
    }

    /// Alone: no environment but this, the directory `/`, nothing on standard input, no descriptor from whoever started
    /// guard but standard output and error. For programs that are no person's.
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

    /// As the leader of a session of its own, without a terminal: what it starts can be ended with it.
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

    /// With another standard input.
    #[must_use]
    pub fn stdin(mut self, from: impl Into<Stdio>) -> Self {
        self.0.stdin(from);
        self
    }

    /// With another standard output.
    #[must_use]
    pub fn stdout(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stdout(to);
        self
    }

    /// With other standard errors.
    #[must_use]
    pub fn stderr(mut self, to: impl Into<Stdio>) -> Self {
        self.0.stderr(to);
        self
    }

    /// Starts it. Descriptors that were handed over are guard's no more.
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

    /// Starts it and waits for its end and for what it prints.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn output(mut self) -> io::Result<Output> {
        self.0.output()
    }

    /// Becomes it. What is returned is why it could not.
    #[must_use]
    pub fn replace(mut self) -> io::Error {
        self.0.exec()
    }
}

/// The program of this name in the absolute directories of a search path. The others lie in the working directory, where
/// a repository could have put something.
fn along(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    let mut places = std::env::split_paths(path).filter(|dir| dir.is_absolute()).map(|dir| dir.join(name));
    places.find(|place| place.is_file() && access(place, AccessFlags::X_OK).is_ok())
}

/// Has descriptors from this one on closed when a program starts. System calls only.
fn close_on_exec_from(first: i32) {
    if guard_system::close_on_exec_from(first) {
        return;
    }
    // An older system: as many as a process has, if it has not raised its limit.
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
        // The working directory of a test is the package, and these lie in it.
        assert_eq!(along(&path(&[Path::new(""), Path::new(".cargo")]), "helper".as_ref()), None);
        assert_eq!(along(&path(&[Path::new("tests/../../../bin"), Path::new("")]), "sh".as_ref()), None);
    }

    #[test]
    fn a_program_that_is_alone_has_neither_environment_nor_descriptors_of_others() {
        // A descriptor that whoever started guard left open.
        let left = fs::File::open("/dev/null").unwrap();
        nix::fcntl::fcntl(&left, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
        // Not by a redirection: some shells take numbers of one digit only there.
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
