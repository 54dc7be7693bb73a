//! `guard init`: prints the integration that makes an interactive shell ask guard before each typed line.
//!
//! The integration is a script in the language of the shell, in a file beside this one. The path of this program is
//! filled in.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::exit;
use crate::judge::invocation::{Environment, quote};

/// The arguments of `guard init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Add it at the end of the shell's startup file:
  bash  ~/.bashrc                   eval \"$(guard init bash)\"
  zsh   ~/.zshrc                    eval \"$(guard init zsh)\"
  fish  ~/.config/fish/config.fish  guard init fish | source")]
pub struct InitArgs {
    /// The shell
    shell: Interactive,
}

/// An interactive shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Interactive {
    Bash,
    Zsh,
    Fish,
}

impl Interactive {
    /// All interactive shells that are supported.
    pub const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Fish];

    /// Returns the name of its program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }
}

/// Prints the integration.
///
/// # Errors
/// Standard output failed, or the path of guard cannot be determined.
pub fn run(args: &InitArgs) -> io::Result<u8> {
    let text = text(args.shell, &std::env::current_exe()?);
    exit::after(io::stdout().write_all(text.as_bytes()), exit::ALLOW)
}

/// Returns the integration for a shell, with the path of this guard.
#[must_use]
pub fn text(shell: Interactive, guard: &Path) -> String {
    let text = match shell {
        Interactive::Bash => include_str!("init/bash.sh"),
        Interactive::Zsh => include_str!("init/zsh.zsh"),
        Interactive::Fish => include_str!("init/fish.fish"),
    };
    text.replace("@GUARD@", &quote(&guard.to_string_lossy()))
}

/// Returns the startup file of an interactive shell.
#[must_use]
pub fn start_up(shell: Interactive, home: &Path, env: &Environment) -> PathBuf {
    let named = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match shell {
        Interactive::Bash => home.join(".bashrc"),
        Interactive::Zsh => named("ZDOTDIR").unwrap_or_else(|| home.to_owned()).join(".zshrc"),
        Interactive::Fish => named("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("fish/config.fish"),
    }
}

/// Reports whether a startup file loads guard.
#[must_use]
pub fn loads(shell: Interactive, text: &str) -> bool {
    let wanted = format!("init {}", shell.name());
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(&wanted) && line.contains("guard"))
}
