//! `guard init`: the lines that make an interactive shell ask guard before each line that is typed.
//!
//! They stand in the shell's own language beside this file, with the path of this program put in.

use std::io::{self, Write};
use std::path::Path;

use clap::{Args, ValueEnum};

use super::exit;
use crate::judge::invocation::quote;

/// The arguments of `guard init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Put it at the end of the shell's start-up file:
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
