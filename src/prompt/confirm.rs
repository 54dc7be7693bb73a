//! Confirmations for subcommands: they read the terminal and never standard input.
//!
//! Out of scope: asking about commands, which the card does ([`super::terminal`]); it has a deadline and shows the
//! command.
//!
//! The answer is a line of dialoguer's `Input`, and not its `Confirm`, which accepts the last `y` among any keys
//! (`maybe`, or a line that was meant for the shell).

use std::io;

use super::line;
use crate::ui::wrap;

/// Shows a text and a question. Only `y` or `yes` is an approval; Enter, the end of the file and everything else are a
/// denial.
///
/// # Errors
/// There is no terminal, or it hung up.
pub fn confirm(text: &str, question: &str) -> io::Result<bool> {
    match line::ask(text, &format!("{question} [y/N]")) {
        Ok(line) => Ok(is_yes(&line)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Does the same as [`confirm`], with a text whose lines are wrapped to the width of the terminal.
///
/// # Errors
/// The same as of [`confirm`].
pub fn confirm_prose(text: &str, question: &str) -> io::Result<bool> {
    confirm(&wrap::text(text, line::columns()), question)
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_the_words_for_yes_are_a_yes() {
        assert!(["y", "Y", "yes", " Yes "].into_iter().all(is_yes));
        assert!(!["", " ", "n", "no", "maybe", "yy", "yes please", "rm -ry"].into_iter().any(is_yes));
    }
}
