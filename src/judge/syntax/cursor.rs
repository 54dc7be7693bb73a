//! Moves through the text: single bytes without line continuations, blanks, comments, newlines and names.

use super::parser::{ParseResult, Parser};

/// Classes of bytes, as bits. The context determines which of them end a sequence of plain text.
pub(super) mod class {
    /// Bytes that end an unquoted word: blanks, newline, `; & | < > ( )`.
    pub(in super::super) const META: u16 = 1;
    /// Bytes that begin a quotation or an expansion outside quotes: ``$ ` " ' \``.
    pub(in super::super) const QUOTE: u16 = 1 << 1;
    /// Bytes that begin an extended glob before a parenthesis: `? * + @ !`.
    pub(in super::super) const EXTENDED: u16 = 1 << 2;
    /// Bytes that are special in double quotes: ``$ ` \``.
    pub(in super::super) const EXPAND: u16 = 1 << 3;
    pub(in super::super) const DOUBLE: u16 = 1 << 4;
    pub(in super::super) const SINGLE: u16 = 1 << 5;
    /// `}`
    pub(in super::super) const BRACE: u16 = 1 << 6;
    /// `[ ]`
    pub(in super::super) const BRACKET: u16 = 1 << 7;
    /// `( )`
    pub(in super::super) const PAREN: u16 = 1 << 8;
    /// `< >`
    pub(in super::super) const ANGLE: u16 = 1 << 9;
    pub(in super::super) const PIPE: u16 = 1 << 10;
    pub(in super::super) const SEMICOLON: u16 = 1 << 11;
    /// `: ?`
    pub(in super::super) const TERNARY: u16 = 1 << 12;
    pub(in super::super) const SLASH: u16 = 1 << 13;
    /// Bytes of a name.
    pub(in super::super) const NAME: u16 = 1 << 14;
    /// The byte of a hole.
    pub(in super::super) const HOLE: u16 = 1 << 15;
}

/// The byte at each hole of a composed text. Known parts are UTF-8, which never contains it; a text without holes may
/// contain it.
pub(super) const HOLE: u8 = 0xFF;

static CLASSES: [u16; 256] = {
    let mut table = [0_u16; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = classes_of(byte as u8);
        byte += 1;
    }
    table
};

const fn classes_of(byte: u8) -> u16 {
    use class::{
        ANGLE, BRACE, BRACKET, DOUBLE, EXPAND, EXTENDED, META, NAME, PAREN, PIPE, QUOTE, SEMICOLON, SINGLE, SLASH,
        TERNARY,
    };
    match byte {
        b' ' | b'\t' | b'\n' | b'&' => META,
        b';' => META | SEMICOLON,
        b'|' => META | PIPE,
        b'<' | b'>' => META | ANGLE,
        b'(' | b')' => META | PAREN,
        b'$' | b'`' | b'\\' => QUOTE | EXPAND,
        b'"' => QUOTE | DOUBLE,
        b'\'' => QUOTE | SINGLE,
        b'?' => EXTENDED | TERNARY,
        b'*' | b'+' | b'@' | b'!' => EXTENDED,
        b'}' => BRACE,
        b'[' | b']' => BRACKET,
        b':' => TERNARY,
        b'/' => SLASH,
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => NAME,
        HOLE => class::HOLE,
        _ => 0,
    }
}

/// Reports whether `byte` has one of the classes in `mask`.
pub(super) fn has(byte: u8, mask: u16) -> bool {
    CLASSES[usize::from(byte)] & mask != 0
}

/// Reports whether `byte` ends an unquoted word.
pub(super) fn is_meta(byte: u8) -> bool {
    has(byte, class::META)
}

/// Reports whether `byte` can begin a name.
pub(super) fn begins_name(byte: u8) -> bool {
    has(byte, class::NAME) && !byte.is_ascii_digit()
}

/// Converts a position to the type of spans. Texts are shorter than [`super::limits::MAX_BYTES`].
pub(super) fn offset(pos: usize) -> u32 {
    u32::try_from(pos).unwrap_or(u32::MAX)
}

/// Converts bytes to text for the tree. Bytes that are not valid UTF-8 become U+FFFD.
pub(super) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Parser<'_> {
    /// Returns the next byte after any line continuations; 0 at the end of the text, which contains no NUL.
    #[inline]
    pub(super) fn peek(&mut self) -> u8 {
        match self.text.get(self.pos) {
            Some(b'\\') => {
                self.pos = self.past_continuations(self.pos);
                self.raw(self.pos)
            }
            Some(&byte) => byte,
            None => 0,
        }
    }

    /// Returns the byte at `pos`; 0 after the end.
    #[inline]
    pub(super) fn raw(&self, pos: usize) -> u8 {
        self.text.get(pos).copied().unwrap_or(0)
    }

    /// Returns the position after any line continuations at `pos`.
    pub(super) fn past_continuations(&self, mut pos: usize) -> usize {
        while self.raw(pos) == b'\\' && self.raw(pos + 1) == b'\n' {
            pos += 2;
        }
        pos
    }

    /// Returns the byte after the current one and its position. The current byte must have been peeked.
    #[inline]
    pub(super) fn peek_second(&self) -> (u8, usize) {
        let next = self.past_continuations(self.pos + 1);
        (self.raw(next), next)
    }

    /// Returns the position after `first` and `second`, if they are next.
    pub(super) fn pair(&mut self, first: u8, second: u8) -> Option<usize> {
        if self.peek() != first {
            return None;
        }
        let (byte, at) = self.peek_second();
        (byte == second).then_some(at + 1)
    }

    /// Consumes `byte` if it is next.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && self.pos < self.text.len();
        if found {
            self.pos += 1;
        }
        found
    }

    /// Skips blanks, and a comment after them. Called only between tokens.
    #[inline]
    pub(super) fn blanks(&mut self) -> ParseResult {
        let start = self.pos;
        loop {
            match self.raw(self.pos) {
                b' ' | b'\t' => self.pos += 1,
                b'\\' if self.raw(self.pos + 1) == b'\n' => self.pos += 2,
                _ => break,
            }
        }
        if self.raw(self.pos) == b'#' {
            let rest = self.text.get(self.pos..).unwrap_or_default();
            self.pos += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        }
        let begin = if self.between.1 == start { self.between.0 } else { start };
        self.between = (begin, self.pos);
        self.spend(self.pos - start)
    }

    /// Skips blanks, comments and newlines. After each newline, the pending here-document bodies are parsed.
    pub(super) fn newlines(&mut self) -> ParseResult {
        loop {
            self.blanks()?;
            if self.raw(self.pos) != b'\n' {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Consumes the newline at the current position.
    pub(super) fn newline(&mut self) -> ParseResult {
        self.pos += 1;
        self.spend(1)?;
        if self.pending.is_empty() { Ok(()) } else { self.heredoc_bodies() }
    }

    /// Returns the position after the name at `pos`, or `pos` if there is none.
    pub(super) fn name_end(&self, pos: usize) -> usize {
        if !begins_name(self.raw(pos)) {
            return pos;
        }
        let mut end = pos;
        loop {
            if has(self.raw(end), class::NAME) {
                end += 1;
            } else {
                let next = self.past_continuations(end);
                if next == end || !has(self.raw(next), class::NAME) {
                    return end;
                }
                end = next;
            }
        }
    }

    /// Returns the text from `start` to `end` without line continuations.
    pub(super) fn plain(&self, start: usize, end: usize) -> String {
        let bytes = self.text.get(start..end).unwrap_or_default();
        if !bytes.contains(&b'\\') {
            return text_of(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut pos = start;
        while pos < end {
            let next = self.past_continuations(pos);
            if next == pos {
                out.push(self.raw(pos));
                pos += 1;
            } else {
                pos = next;
            }
        }
        text_of(&out)
    }

    /// Parses a name.
    pub(super) fn name(&mut self) -> ParseResult<String> {
        self.peek();
        let end = self.name_end(self.pos);
        if end == self.pos {
            return Err(self.unexpected());
        }
        self.spend(end - self.pos)?;
        let name = self.plain(self.pos, end);
        self.pos = end;
        Ok(name)
    }
}
