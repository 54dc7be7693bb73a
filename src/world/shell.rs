//! Finds the real shell that reads a command string, and never guard under a shell's name.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::identity::Account;
use super::programs::{self, ProgramSearch};
use super::system;
use crate::judge::invocation::Environment;
use crate::judge::syntax::tree::Dialect;

/// The directories in which shells are installed. They are searched before the `PATH`, which the caller may have set.
const DIRECTORIES: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"];

/// A shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// The absolute path.
    pub path: PathBuf,
    pub dialect: Dialect,
}

/// An error if no shell was found.
#[derive(Debug, thiserror::Error)]
#[error("no {wanted} found in {}, as the login shell or on the PATH; install one", DIRECTORIES.join(", "))]
pub struct NoShell {
    wanted: &'static str,
}

/// Returns the shell for command strings: bash, or else sh.
///
/// # Errors
///
/// Neither exists.
pub fn find(account: &Account, env: &Environment, cwd: &Path) -> Result<Shell, NoShell> {
    named(Dialect::Bash, account, env, cwd)
        .or_else(|_| named(Dialect::Sh, account, env, cwd))
        .map_err(|_| NoShell { wanted: "bash or sh" })
}

/// Returns the shell of one dialect, from the directories in which shells are installed, the account's login shell, or
/// the `PATH`.
///
/// # Errors
///
/// There is none other than guard.
pub fn named(dialect: Dialect, account: &Account, env: &Environment, cwd: &Path) -> Result<Shell, NoShell> {
    let wanted = match dialect {
        Dialect::Bash => "bash",
        Dialect::Sh => "sh",
        Dialect::Zsh => "zsh",
    };
    let own = system::executable(nix::unistd::getpid().as_raw());
    let is_real = |path: &PathBuf| {
        let file = path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
        path.is_absolute() && programs::is_program(path) && file != own
    };
    let installed = DIRECTORIES.iter().map(|dir| Path::new(dir).join(wanted));
    let login = account.shell.clone().filter(|shell| shell.file_name().is_some_and(|name| name == wanted));
    let search = ProgramSearch::new(env, cwd);
    let path = installed.chain(login).chain(search.find_all(wanted)).find(is_real).ok_or(NoShell { wanted })?;
    Ok(Shell { path, dialect })
}
