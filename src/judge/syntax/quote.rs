//! Parses quoted text: single quotes, double quotes, ANSI-C.

use super::cursor::{HOLE, class, has, text_of};
use super::parser::{ParseResult, Parser};
use super::tree::{Dialect, Part};
use super::word::flush;
use crate::judge::reserved;

/// The end of a text in which only expansions are special, as in double quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoted {
    /// The closing double quote.
    Double,
    /// The end of the text, for the body of a here-document.
    End,
    /// The `}` of a parameter expansion in double quotes or a here-document.
    Brace,
}

impl Quoted {
    const fn mask(self) -> u16 {
        use class::{ANGLE, BRACE, DOUBLE, EXPAND, SINGLE};
        match self {
            Self::Double => EXPAND | DOUBLE,
            Self::End => EXPAND,
            Self::Brace => EXPAND | DOUBLE | SINGLE | BRACE | ANGLE,
        }
    }

    /// Reports whether a backslash before `byte` escapes it.
    const fn escapes(self, byte: u8) -> bool {
        match byte {
            b'$' | b'`' | b'\\' => true,
            b'"' => !matches!(self, Self::End),
            b'}' => matches!(self, Self::Brace),
            _ => false,
        }
    }
}

impl Parser<'_> {
    /// Parses text in which only expansions are special, up to its end or the end of the text. The end is not consumed.
    pub(super) fn quoted(&mut self, until: Quoted, parts: &mut Vec<Part>) -> ParseResult {
        let mask = until.mask();
        let mut literal = String::new();
        loop {
            self.run(mask, &mut literal)?;
            if self.pos >= self.text.len() {
                break;
            }
            let byte = self.raw(self.pos);
            match byte {
                b'\\' => self.quoted_backslash(until, &mut literal),
                b'$' => {
                    let length = parts.len();
                    flush(&mut literal, parts);
                    if !self.dollar_in_quotes(until, parts)? {
                        super::word::unflush(length, &mut literal, parts);
                        literal.push('$');
                        self.pos += 1;
                    }
                }
                b'`' => {
                    flush(&mut literal, parts);
                    self.backticks(until == Quoted::Double, parts)?;
                }
                b'"' if until == Quoted::Brace => {
                    flush(&mut literal, parts);
                    self.double(false, parts)?;
                }
                b'\'' => self.single_in_brace(&mut literal, parts)?,
                b'<' | b'>' if self.peek_second().0 == b'(' => {
                    flush(&mut literal, parts);
                    self.process_substitution(byte, parts)?;
                }
                b'"' | b'}' => break,
                HOLE => self.put_hole(&mut literal, parts),
                _ => {
                    literal.push(char::from(byte));
                    self.pos += 1;
                }
            }
        }
        flush(&mut literal, parts);
        Ok(())
    }

    /// Consumes bytes that have no class of `mask`.
    #[inline]
    pub(super) fn run(&mut self, mask: u16, literal: &mut String) -> ParseResult {
        let rest = self.text.get(self.pos..).unwrap_or_default();
        let mask = if self.holes.is_empty() { mask } else { mask | class::HOLE };
        let len = rest.iter().position(|&byte| has(byte, mask)).unwrap_or(rest.len());
        if len > 0 {
            let bytes = rest.get(..len).unwrap_or_default();
            match std::str::from_utf8(bytes) {
                Ok(text) => literal.push_str(text),
                Err(_) => literal.push_str(&String::from_utf8_lossy(bytes)),
            }
            self.pos += len;
        }
        self.spend(len + 1)
    }

    /// Consumes the hole at the current position.
    pub(super) fn put_hole(&mut self, literal: &mut String, parts: &mut Vec<Part>) {
        match self.hole(self.pos) {
            Some(hole) => {
                flush(literal, parts);
                parts.push(Part::Hole(hole));
            }
            None => literal.push(char::REPLACEMENT_CHARACTER),
        }
        self.pos += 1;
    }

    fn quoted_backslash(&mut self, until: Quoted, literal: &mut String) {
        match self.raw(self.pos + 1) {
            b'\n' => self.pos += 2,
            byte if until.escapes(byte) => {
                literal.push(char::from(byte));
                self.pos += 2;
            }
            _ => {
                literal.push('\\');
                self.pos += 1;
            }
        }
    }

    fn dollar_in_quotes(&mut self, until: Quoted, parts: &mut Vec<Part>) -> ParseResult<bool> {
        // In `"${x:-…}"`, bash parses `$'…'` and `$"…"` as it does outside quotes.
        if until == Quoted::Brace && matches!(self.peek_second().0, b'\'' | b'"') {
            if self.dialect != Dialect::Bash {
                return Err(self.unsupported("`$` before a quote within a quoted expansion"));
            }
            let start = self.pos;
            let read = self.dollar(false, parts)?;
            self.refuse_decoded(start, b"$`\\\"'}", parts)?;
            return Ok(read);
        }
        self.dollar(true, parts)
    }

    /// Rejects a `$'…'` whose decoded text bash inserts without quotes, if the text contains a byte of `live`.
    pub(super) fn refuse_decoded(&mut self, start: usize, live: &[u8], parts: &[Part]) -> ParseResult {
        if matches!(parts.last(), Some(Part::AnsiC(text)) if text.bytes().any(|byte| live.contains(&byte))) {
            self.pos = start;
            return Err(self.unsupported("a `$'…'` string whose text is expanded again"));
        }
        Ok(())
    }

    /// Parses `"…"`, or with `localized` `$"…"`, from its double quote.
    pub(super) fn double(&mut self, localized: bool, parts: &mut Vec<Part>) -> ParseResult {
        self.enter()?;
        let start = self.pos;
        self.pos += 1;
        let mut inner = Vec::new();
        self.quoted(Quoted::Double, &mut inner)?;
        self.expect_byte(b'"', "a double-quoted string", start)?;
        parts.push(Part::Double { parts: inner, localized });
        self.leave();
        Ok(())
    }

    /// Returns the position of the next single quote after the one at `open`.
    fn closing_single(&mut self, open: usize) -> ParseResult<usize> {
        let rest = self.text.get(open + 1..).unwrap_or_default();
        match rest.iter().position(|&byte| byte == b'\'') {
            Some(len) => {
                self.spend(len + 1)?;
                Ok(open + 1 + len)
            }
            None => {
                self.spend(rest.len())?;
                self.pos = self.text.len();
                Err(self.unterminated("a single-quoted string", open))
            }
        }
    }

    /// Parses `'…'`.
    pub(super) fn single(&mut self, parts: &mut Vec<Part>) -> ParseResult {
        let open = self.pos;
        let close = self.closing_single(open)?;
        self.with_holes(open + 1, close, parts, |bytes| Part::Single(text_of(bytes)));
        self.pos = close + 1;
        Ok(())
    }

    /// Rejects brackets and similar bytes in a double-quoted text in arithmetic. Some shells treat the quote as text,
    /// so these bytes would affect where the arithmetic ends.
    pub(super) fn refuse_quoted_brackets(&mut self, start: usize) -> ParseResult {
        let raw = self.text.get(start..self.pos).unwrap_or_default();
        if self.dialect != Dialect::Bash && raw.iter().any(|byte| b"()[]{};'\n".contains(byte)) {
            self.pos = start;
            return Err(self.unsupported("a double quote in arithmetic"));
        }
        Ok(())
    }

    /// Parses `'…'` in arithmetic: brackets in it have no meaning for the end of the arithmetic, but the text is
    /// expanded as in double quotes.
    pub(super) fn live_single(&mut self, parts: &mut Vec<Part>) -> ParseResult {
        if self.dialect != Dialect::Bash {
            return Err(self.unsupported("a single quote in arithmetic"));
        }
        let close = self.closing_single(self.pos)?;
        let inside = self.text.get(self.pos + 1..close).unwrap_or_default();
        if !inside.iter().any(|byte| matches!(byte, b'$' | b'`' | b'\\')) {
            return self.single(parts);
        }
        self.enter()?;
        let mut inner = Vec::new();
        self.pos += 1;
        self.narrowed(close, |parser| parser.quoted(Quoted::End, &mut inner))?;
        self.pos = close + 1;
        parts.push(Part::Double { parts: inner, localized: false });
        self.leave();
        Ok(())
    }

    /// Parses a single quote in `"${x:-…}"`. bash keeps the text between two of them together but expands it; a POSIX
    /// shell treats the quote as text. If that affects where the expansion ends, the text is rejected.
    fn single_in_brace(&mut self, literal: &mut String, parts: &mut Vec<Part>) -> ParseResult {
        let open = self.pos;
        let rest = self.text.get(open + 1..).unwrap_or_default();
        let close = rest.iter().position(|&byte| matches!(byte, b'\'' | b'}' | b'"'));
        let Some(len) = close.filter(|&len| rest.get(len) == Some(&b'\'')) else {
            return Err(self.unsupported("a single quote within a quoted expansion"));
        };
        let close = open + 1 + len;
        literal.push('\'');
        flush(literal, parts);
        self.enter()?;
        self.pos += 1;
        self.narrowed(close, |parser| parser.quoted(Quoted::End, parts))?;
        self.leave();
        literal.push('\'');
        self.pos = close + 1;
        Ok(())
    }

    /// Parses `$'…'` from its `$`.
    pub(super) fn ansi_c(&mut self, parts: &mut Vec<Part>) -> ParseResult {
        let start = self.pos;
        let open = self.peek_second().1;
        let mut pos = open + 1;
        loop {
            match self.raw(pos) {
                b'\'' => break,
                b'\\' => {
                    if self.dialect == Dialect::Sh && self.raw(pos + 1) == b'\'' {
                        return Err(self.unsupported("an escaped quote in `$'…'`"));
                    }
                    pos += 2;
                }
                _ => pos += 1,
            }
            if pos >= self.text.len() {
                self.spend(pos - start)?;
                self.pos = self.text.len();
                return Err(self.unterminated("a `$'…'` string", start));
            }
        }
        self.spend(pos - start)?;
        let mut cut = false;
        let mut all = Vec::new();
        self.with_holes(open + 1, pos, &mut all, |written| {
            let decoded = super::escape::ansi_c(written);
            // bash drops the text after a NUL.
            let bytes = if cut { Vec::new() } else { decoded.bytes };
            cut |= decoded.cut;
            Part::AnsiC(text_of(&reserved::unescaped_bytes(written, &bytes)))
        });
        if cut && self.dialect != Dialect::Bash {
            return Err(self.unsupported("a NUL in `$'…'`"));
        }
        parts.append(&mut all);
        self.pos = pos + 1;
        Ok(())
    }
}

/// Collects the text of `parts` without the results of expansions and without quotes.
pub(super) fn static_text(parts: &[Part], text: &mut String) {
    for part in parts {
        match part {
            Part::Literal(piece) | Part::Escaped(piece) | Part::Single(piece) | Part::AnsiC(piece) => {
                text.push_str(piece);
            }
            Part::Double { parts, .. } => static_text(parts, text),
            _ => {}
        }
    }
}
