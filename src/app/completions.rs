//! `guard completions SHELL`: prints the completions of a shell, for installations without the completion files.

use std::io::{self, Write as _};

use clap::{Args, ValueEnum};

use super::exit;
use super::failure::Failure;
use super::init::Interactive;

/// The arguments of `guard completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
bash: guard completions bash > ~/.local/share/bash-completion/completions/guard
zsh:  guard completions zsh > \"${fpath[1]}/_guard\"
fish: guard completions fish > ~/.config/fish/completions/guard.fish")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// A shell with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// Returns the completions of an interactive shell.
    #[must_use]
    pub const fn of(shell: Interactive) -> Self {
        match shell {
            Interactive::Bash => Self::Bash,
            Interactive::Zsh => Self::Zsh,
            Interactive::Fish => Self::Fish,
        }
    }

    /// Returns the completion script.
    #[must_use]
    pub const fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("../../completions/guard.bash"),
            Self::Zsh => include_str!("../../completions/_guard"),
            Self::Fish => include_str!("../../completions/guard.fish"),
        }
    }
}

/// Prints the completions and returns the exit code.
///
/// # Errors
/// Standard output cannot be written.
pub fn run(args: &CompletionsArgs) -> Result<u8, Failure> {
    io::stdout().lock().write_all(args.shell.script().as_bytes())?;
    Ok(exit::ALLOW)
}
