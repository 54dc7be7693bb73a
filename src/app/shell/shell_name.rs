//! The name with which guard was called: its own, or that of a shell.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::judge::syntax::tree::Dialect;

/// The name of a shell under which guard was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellName {
    /// The shell's dialect, or `None` for the account's own shell.
    pub dialect: Option<Dialect>,
    /// The name that the real shell gets as its own, or `None` for its file name.
    pub argv0: Option<OsString>,
    /// Whether the name begins with a dash.
    pub login: bool,
}

impl ShellName {
    /// Creates it for guard under its own name.
    #[must_use]
    pub const fn guard() -> Self {
        Self { dialect: None, argv0: None, login: false }
    }

    /// Returns the shell with this name, or `None` if it is guard's own or no shell's name.
    #[must_use]
    pub fn by(argv0: &OsStr) -> Option<Self> {
        let bytes = argv0.as_bytes();
        let (login, name) = bytes.strip_prefix(b"-").map_or((false, bytes), |rest| (true, rest));
        let name = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let dialect = match name {
            b"bash" => Some(Dialect::Bash),
            b"sh" => Some(Dialect::Sh),
            b"zsh" => Some(Dialect::Zsh),
            b"guard-sh" => None,
            _ if login => None,
            _ => return None,
        };
        // Pass the name on only for a known shell. Another shell would show guard's name.
        let argv0 = dialect.map(|_| argv0.to_owned());
        Some(Self { dialect, argv0, login })
    }

    /// Returns the shell for a program that was started by this path under another name. The path determines the shell;
    /// the name is passed on.
    #[must_use]
    pub fn behind(path: &OsStr, argv0: &OsStr) -> Option<Self> {
        let called = Self::by(path)?;
        Some(Self { argv0: Some(argv0.to_owned()), login: argv0.as_bytes().starts_with(b"-"), ..called })
    }

    /// Returns the name that the real shell of this path gets as its own.
    #[must_use]
    pub fn argv0(&self, shell: &OsStr) -> OsString {
        self.argv0.clone().unwrap_or_else(|| {
            let name = shell.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            OsString::from_vec([if self.login { &b"-"[..] } else { b"" }, name].concat())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shells_name_a_dash_and_guard_sh_make_a_shell_of_guard() {
        for (name, dialect, argv0) in [
            ("bash", Some(Dialect::Bash), "bash"),
            ("/opt/shims/bash", Some(Dialect::Bash), "/opt/shims/bash"),
            ("-bash", Some(Dialect::Bash), "-bash"),
            ("sh", Some(Dialect::Sh), "sh"),
            ("./zsh", Some(Dialect::Zsh), "./zsh"),
            ("guard-sh", None, "bash"),
            ("/usr/bin/guard-sh", None, "bash"),
            ("-guard", None, "-bash"),
            ("-guard-sh", None, "-bash"),
        ] {
            let called = ShellName::by(OsStr::new(name)).unwrap();
            assert_eq!(called.dialect, dialect, "{name}");
            assert_eq!(called.argv0(OsStr::new("/usr/bin/bash")), argv0, "{name}");
        }
    }

    #[test]
    fn under_any_other_name_guard_is_itself() {
        for name in ["guard", "/usr/bin/guard", "./guard", "bash-guard", "", "guard-1.0", "fish"] {
            assert_eq!(ShellName::by(OsStr::new(name)), None, "{name}");
        }
    }
}
