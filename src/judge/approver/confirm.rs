//! The code that guard shows where a command waits, and that the approval by a passkey contains.
//!
//! A browser shows its user a site and never a command, so that a page could show one request and have another one
//! signed. Only the guard process that waits knows its code, and keeps it in memory: a code that was read beside one
//! command, and typed for another one, does not match the other command's code. Out of scope: where it is shown.

use std::fmt;

/// The number of codes.
const CODES: u32 = 10_000;

/// A code of four digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ConfirmCode(u32);

impl ConfirmCode {
    /// Derives a code from random bits.
    #[must_use]
    pub const fn of(random: u64) -> Self {
        // With so many bits each code is about as likely as any other.
        #[expect(clippy::cast_possible_truncation, reason = "it is below the number of codes")]
        Self((random % CODES as u64) as u32)
    }

    /// Reports whether this text is the code: the four digits, with spaces between or around them.
    #[must_use]
    pub fn is(self, typed: &str) -> bool {
        typed.chars().filter(|c| *c != ' ').eq(self.to_string().chars())
    }
}

impl fmt::Display for ConfirmCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.0)
    }
}

impl fmt::Debug for ConfirmCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfirmCode")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_its_four_digits_and_nothing_else() {
        let code = ConfirmCode::of(120_042);
        assert_eq!(code.to_string(), "0042");
        for typed in ["0042", " 0042 ", "00 42"] {
            assert!(code.is(typed), "{typed:?}");
        }
        for typed in ["", "42", "042", "00420", "0043", "0042x", "\u{ff10}042", "0042\n"] {
            assert!(!code.is(typed), "{typed:?}");
        }
        assert_eq!(format!("{code:?}"), "ConfirmCode");
    }
}
