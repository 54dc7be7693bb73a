//! Moving through the text: single bytes with line continuations taken out, blanks, comments,
//! newlines and names.

use super::parser::{ParseResult, Parser};

/// Classes of bytes, as bits: where a run of plain text stops depends on what is being read.
pub(super) mod class {
    /// Ends an unquoted word: blanks, newline, `; & | < > ( )`.
    pub(in super::super) const META: u16 = 1;
    /// Begins a quotation or an expansion outside of quotes: ``$ ` " ' \``.
    pub(in super::super) const QUOTE: u16 = 1 << 1;
    /// Begins an extended glob when a parenthesis follows: `? * + @ !`.
    pub(in super::super) const EXTENDED: u16 = 1 << 2;
    /// Live within double quotes: ``$ ` \``.
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
    /// May stand in a name.
    pub(in super::super) const NAME: u16 = 1 << 14;
    /// May be a hole.
    pub(in super::super) const HOLE: u16 = 1 << 15;
}

/// The byte at each hole of a composed text. Known parts are UTF-8, which never has it; a text without holes may.
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

/// Whether `byte` has one of the classes in `mask`.
pub(super) fn has(byte: u8, mask: u16) -> bool {
    CLASSES[usize::from(byte)] & mask != 0
}

/// Whether `byte` ends an unquoted word.
pub(super) fn is_meta(byte: u8) -> bool {
    has(byte, class::META)
}

/// Whether `byte` may begin a name.
pub(super) fn begins_name(byte: u8) -> bool {
    has(byte, class::NAME) && !byte.is_ascii_digit()
}

/// A position as it stands in spans. Texts are shorter than [`super::limits::MAX_BYTES`].
pub(super) fn offset(pos: usize) -> u32 {
    u32::try_from(pos).unwrap_or(u32::MAX)
}

/// Text for the tree: bytes that are no UTF-8 become U+FFFD.
pub(super) fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Parser<'_> {
    /// The byte at the current place, after any line continuations; 0 at the end of the text, which
    /// holds no NUL.
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

    /// The byte at `pos` as it stands; 0 beyond the end.
    #[inline]
    pub(super) fn raw(&self, pos: usize) -> u8 {
        self.text.get(pos).copied().unwrap_or(0)
    }

    /// The place after any line continuations at `pos`.
    pub(super) fn past_continuations(&self, mut pos: usize) -> usize {
        while self.raw(pos) == b'\\' && self.raw(pos + 1) == b'\n' {
            pos += 2;
        }
        pos
    }

    /// The byte that follows the one at the current place, which must be peeked, and its place.
    #[inline]
    pub(super) fn peek_second(&self) -> (u8, usize) {
        let next = self.past_continuations(self.pos + 1);
        (self.raw(next), next)
    }

    /// Whether the text goes on with `first` and `second`; then the place after them.
    pub(super) fn pair(&mut self, first: u8, second: u8) -> Option<usize> {
        if self.peek() != first {
            return None;
        }
        let (byte, at) = self.peek_second();
        (byte == second).then_some(at + 1)
    }

    /// Steps over `byte` if it is next.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && self.pos < self.text.len();
        if found {
            self.pos += 1;
        }
        found
    }

    /// Steps over blanks, and over a comment that begins after them. Called between tokens only.
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

    /// Steps over blanks, comments and newlines. Each newline brings the bodies of the
    /// here-documents that wait for it.
    pub(super) fn newlines(&mut self) -> ParseResult {
        loop {
            self.blanks()?;
            if self.raw(self.pos) != b'\n' {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// Steps over the newline at the current place.
    pub(super) fn newline(&mut self) -> ParseResult {
        self.pos += 1;
        self.spend(1)?;
        if self.pending.is_empty() { Ok(()) } else { self.heredoc_bodies() }
    }

    /// The place after the name at `pos`, or `pos` if none begins there.
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

    /// The text from `start` to `end` with line continuations taken out.
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

    /// Reads a name.
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
