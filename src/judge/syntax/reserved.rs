//! Recognises reserved words where a command can begin.

use super::cursor::is_meta;
use super::parser::{ParseResult, Parser};
use super::tree::Dialect;

/// A reserved word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserved {
    If,
    Then,
    Elif,
    Else,
    Fi,
    While,
    Until,
    Do,
    Done,
    For,
    Select,
    Case,
    Esac,
    Function,
    Coproc,
    Time,
    Bang,
    OpenBrace,
    CloseBrace,
    OpenCondition,
    /// zsh's `repeat`.
    Repeat,
    /// zsh's `foreach`.
    Foreach,
    /// zsh's `end` of a `foreach`.
    End,
}

impl Reserved {
    /// Reports whether the word ends a list of commands.
    pub(super) const fn closes(self) -> bool {
        matches!(
            self,
            Self::Then
                | Self::Elif
                | Self::Else
                | Self::Fi
                | Self::Do
                | Self::Done
                | Self::Esac
                | Self::CloseBrace
                | Self::End
        )
    }
}

/// The length of the longest reserved word, in bytes.
const LONGEST: usize = 8;

impl Parser<'_> {
    /// Returns the reserved word at the current position, and the position after it.
    pub(super) fn reserved(&mut self) -> Option<(Reserved, usize)> {
        let first = self.peek();
        if !matches!(first, b'!' | b'[' | b'{' | b'}' | b'a'..=b'w') {
            return None;
        }
        // In zsh, a brace at the start of a command is a word of its own: `{ls}` is a group.
        if first == b'{' && self.zsh() {
            return Some((Reserved::OpenBrace, self.pos + 1));
        }
        let (word, len, end) = self.short_word()?;
        let word = word.get(..len)?;
        let reserved = match word {
            b"if" => Reserved::If,
            b"then" => Reserved::Then,
            b"elif" => Reserved::Elif,
            b"else" => Reserved::Else,
            b"fi" => Reserved::Fi,
            b"while" => Reserved::While,
            b"until" => Reserved::Until,
            b"do" => Reserved::Do,
            b"done" => Reserved::Done,
            b"for" => Reserved::For,
            b"select" => Reserved::Select,
            b"case" => Reserved::Case,
            b"esac" => Reserved::Esac,
            b"function" => Reserved::Function,
            b"coproc" => Reserved::Coproc,
            b"time" => Reserved::Time,
            b"!" => Reserved::Bang,
            b"{" => Reserved::OpenBrace,
            b"}" => Reserved::CloseBrace,
            b"[[" => Reserved::OpenCondition,
            b"repeat" if self.dialect == Dialect::Zsh => Reserved::Repeat,
            b"foreach" if self.dialect == Dialect::Zsh => Reserved::Foreach,
            b"end" if self.dialect == Dialect::Zsh => Reserved::End,
            _ => return None,
        };
        Some((reserved, end))
    }

    /// Returns the word at the current position, its length and the position after it, if it is short and unquoted.
    pub(super) fn short_word(&mut self) -> Option<([u8; LONGEST], usize, usize)> {
        let mut word = [0_u8; LONGEST];
        let mut len = 0;
        let mut pos = self.pos;
        loop {
            pos = self.past_continuations(pos);
            let byte = self.raw(pos);
            if byte == 0 || is_meta(byte) {
                return Some((word, len, pos));
            }
            *word.get_mut(len)? = byte;
            len += 1;
            pos += 1;
        }
    }

    /// Consumes `word` if it is the next token, unquoted.
    pub(super) fn take_word(&mut self, word: &[u8]) -> bool {
        self.peek();
        match self.short_word() {
            Some((found, len, end)) if found.get(..len) == Some(word) => {
                self.pos = end;
                true
            }
            _ => false,
        }
    }

    /// Consumes `expected` if it is the next reserved word.
    pub(super) fn take_reserved(&mut self, expected: Reserved) -> bool {
        match self.reserved() {
            Some((found, end)) if found == expected => {
                self.pos = end;
                true
            }
            _ => false,
        }
    }

    /// Consumes `expected`, which is required. `what` is the construct that began at `began`.
    pub(super) fn expect(&mut self, expected: Reserved, what: &'static str, began: usize) -> ParseResult {
        self.blanks()?;
        if self.take_reserved(expected) {
            return Ok(());
        }
        Err(if self.pos >= self.text.len() { self.unterminated(what, began) } else { self.unexpected() })
    }

    /// Consumes `byte`, which is required. `what` is the construct that began at `began`.
    pub(super) fn expect_byte(&mut self, byte: u8, what: &'static str, began: usize) -> ParseResult {
        if self.take(byte) {
            return Ok(());
        }
        Err(if self.pos >= self.text.len() { self.unterminated(what, began) } else { self.unexpected() })
    }
}
