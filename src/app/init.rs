//! `guard init`: the lines that make an interactive shell ask guard before each line that is typed.
//!
//! They stand in the shell's own language beside this file, with the path of this program put in.

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

/// A shell that lines are typed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Interactive {
    Bash,
    Zsh,
    Fish,
}

impl Interactive {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bash, Self::Zsh, Self::Fish];

    /// The name of its program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }
}

/// Prints the lines.
///
/// # Errors
/// Standard output failed, or guard does not know where it lies itself.
pub fn run(args: &InitArgs) -> io::Result<u8> {
    let text = text(args.shell, &std::env::current_exe()?);
    exit::after(io::stdout().write_all(text.as_bytes()), exit::ALLOW)
}

/// The lines for a shell, with this guard in them.
#[must_use]
pub fn text(shell: Interactive, guard: &Path) -> String {
    let text = match shell {
        Interactive::Bash => include_str!("init/bash.sh"),
        Interactive::Zsh => include_str!("init/zsh.zsh"),
        Interactive::Fish => include_str!("init/fish.fish"),
    };
    text.replace("@GUARD@", &quote(&guard.to_string_lossy()))
}

/// The file that an interactive shell reads when it starts.
#[must_use]
pub fn start_up(shell: Interactive, home: &Path, env: &Environment) -> PathBuf {
    let named = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match shell {
        Interactive::Bash => home.join(".bashrc"),
        Interactive::Zsh => named("ZDOTDIR").unwrap_or_else(|| home.to_owned()).join(".zshrc"),
        Interactive::Fish => named("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("fish/config.fish"),
    }
}

/// Whether a start-up file loads guard.
#[must_use]
pub fn loads(shell: Interactive, text: &str) -> bool {
    let wanted = format!("init {}", shell.name());
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(&wanted) && line.contains("guard"))
}
