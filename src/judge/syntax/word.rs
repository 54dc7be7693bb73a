//! Parses words: sequences of text, quotations and expansions, up to the end that the context defines.

use super::cursor::{HOLE, class, has, text_of};
use super::parser::{ParseResult, Parser};
use super::tree::{Part, ProcessSubstitution, Script, Word};

/// The end of the text that is being parsed, and its special characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordEnd {
    /// A blank or an operator.
    Word,
    /// As [`WordEnd::Word`], but `|` and balanced parentheses are part of a regular expression.
    Regex,
    /// `|` or the closing parenthesis of an extended glob.
    Alternative,
    /// The `}` of a parameter expansion.
    Brace,
    /// As [`WordEnd::Brace`], or the `/` between pattern and replacement.
    Slash,
    /// As [`WordEnd::Brace`], or the `:` between offset and length.
    Colon,
    /// The closing bracket of a subscript or of `$[…]`.
    Bracket,
    /// As [`WordEnd::Bracket`], in `${…}`, which a `}` would end.
    Subscript,
    /// The first unmatched `)` of arithmetic.
    Parenthesis,
    /// As [`WordEnd::Parenthesis`], or the `;` between the parts of a `for ((`.
    ForHeader,
}

impl WordEnd {
    /// Returns the classes of bytes that are examined one by one.
    const fn mask(self) -> u16 {
        use class::{ANGLE, BRACE, BRACKET, EXTENDED, META, PAREN, PIPE, QUOTE, SEMICOLON, SLASH, TERNARY};
        match self {
            Self::Word => META | QUOTE | EXTENDED,
            Self::Regex => META | QUOTE,
            Self::Alternative => QUOTE | EXTENDED | PAREN | PIPE | ANGLE,
            Self::Brace => QUOTE | BRACE | ANGLE,
            Self::Slash => QUOTE | BRACE | ANGLE | SLASH,
            Self::Colon => QUOTE | BRACE | ANGLE | TERNARY | PAREN,
            Self::Bracket => QUOTE | BRACKET | ANGLE,
            Self::Subscript => QUOTE | BRACKET | BRACE | ANGLE,
            Self::Parenthesis => QUOTE | PAREN,
            Self::ForHeader => QUOTE | PAREN | SEMICOLON,
        }
    }

    /// Reports whether the text is evaluated as arithmetic, in which the content of single quotes is expanded too.
    const fn is_arithmetic(self) -> bool {
        matches!(self, Self::Colon | Self::Bracket | Self::Subscript | Self::Parenthesis | Self::ForHeader)
    }
}

impl Parser<'_> {
    /// Parses the parts of a word up to its end or the end of the text. The end is not consumed.
    pub(super) fn parts(&mut self, until: WordEnd, parts: &mut Vec<Part>) -> ParseResult {
        let mask = until.mask();
        let start = self.pos;
        let mut literal = String::new();
        let mut nested = 0_u32;
        if until == WordEnd::Word && parts.is_empty() {
            self.zsh_equals(parts)?;
        }
        loop {
            self.run(mask, &mut literal)?;
            let byte = self.raw(self.pos);
            if self.pos >= self.text.len() || self.ends(until, byte, &mut nested) {
                break;
            }
            match byte {
                HOLE => self.put_hole(&mut literal, parts),
                b'\\' => self.backslash(&mut literal, parts)?,
                b'$' | b'`' | b'"' | b'\'' => {
                    let length = parts.len();
                    flush(&mut literal, parts);
                    if !self.quotation(byte, until, parts)? {
                        // A single `$` is text.
                        self.pos += 1;
                        unflush(length, &mut literal, parts);
                        literal.push('$');
                    }
                }
                b'<' | b'>' if self.peek_second().0 == b'(' => {
                    flush(&mut literal, parts);
                    self.process_substitution(byte, parts)?;
                }
                b'?' | b'*' | b'+' | b'@' | b'!' if self.extends(until) => {
                    flush(&mut literal, parts);
                    self.extended_glob(byte, parts)?;
                }
                b'<' if until == WordEnd::Word && self.zsh_number_range().is_some() => {
                    let end = self.zsh_number_range().unwrap_or(self.pos + 1);
                    literal.push_str(&text_of(self.text.get(self.pos..end).unwrap_or_default()));
                    self.pos = end;
                }
                b'(' if self.zsh_groups(until) => {
                    flush(&mut literal, parts);
                    self.zsh_group(parts)?;
                }
                _ => {
                    self.pos += 1;
                    literal.push(char::from(byte));
                }
            }
        }
        if until == WordEnd::Parenthesis {
            self.left_open_in_arithmetic(nested);
        }
        flush(&mut literal, parts);
        if self.zsh() { self.refuse_running_qualifiers(start, parts) } else { Ok(()) }
    }

    /// Reports whether `byte` is the end. Brackets that are part of the text are counted.
    fn ends(&mut self, until: WordEnd, byte: u8, nested: &mut u32) -> bool {
        match (until, byte) {
            (WordEnd::Word, b'<' | b'>') => self.peek_second().0 != b'(' && self.zsh_number_range().is_none(),
            (WordEnd::Regex, b'<' | b'>') if *nested == 0 => self.peek_second().0 != b'(',
            (WordEnd::Word, b'(') => !self.zsh_groups(until),
            (WordEnd::Word, _) => has(byte, class::META),
            (WordEnd::Regex, b'|') => false,
            (WordEnd::Brace | WordEnd::Slash | WordEnd::Colon | WordEnd::Subscript, b'}') => true,
            (WordEnd::Slash, b'/') => true,
            (WordEnd::Colon, b':') if *nested == 0 => true,
            (WordEnd::Colon, b'?') => {
                *nested += 1;
                false
            }
            (WordEnd::Colon, b':') => {
                *nested -= 1;
                false
            }
            (WordEnd::Alternative, b'|') | (WordEnd::ForHeader, b';') => *nested == 0,
            (WordEnd::Bracket | WordEnd::Subscript, b'[') => {
                *nested += 1;
                false
            }
            (
                WordEnd::Regex | WordEnd::Alternative | WordEnd::Colon | WordEnd::Parenthesis | WordEnd::ForHeader,
                b'(',
            ) => {
                *nested += 1;
                if until == WordEnd::Parenthesis {
                    self.opens.push(self.pos);
                }
                false
            }
            (WordEnd::Parenthesis, b')') if *nested > 0 => {
                *nested -= 1;
                self.closed_in_arithmetic();
                false
            }
            (WordEnd::Regex | WordEnd::Alternative | WordEnd::Parenthesis | WordEnd::ForHeader, b')')
            | (WordEnd::Bracket | WordEnd::Subscript, b']') => match nested.checked_sub(1) {
                Some(less) => {
                    *nested = less;
                    false
                }
                None => true,
            },
            (WordEnd::Colon, b')') => {
                *nested = nested.saturating_sub(1);
                false
            }
            (WordEnd::Regex, _) => *nested == 0 && has(byte, class::META),
            _ => false,
        }
    }

    /// Parses `\c`, or skips a line continuation. At the end of the text, the backslash is text.
    fn backslash(&mut self, literal: &mut String, parts: &mut Vec<Part>) -> ParseResult {
        match self.raw(self.pos + 1) {
            b'\n' => self.pos += 2,
            0 => {
                literal.push('\\');
                self.pos += 1;
            }
            HOLE if self.hole(self.pos + 1).is_some() => {
                self.pos += 1;
                self.put_hole(literal, parts);
            }
            _ => {
                flush(literal, parts);
                let len = self.character_len(self.pos + 1);
                let bytes = self.text.get(self.pos + 1..self.pos + 1 + len).unwrap_or_default();
                parts.push(Part::Escaped(text_of(bytes)));
                self.pos += 1 + len;
            }
        }
        Ok(())
    }

    /// Returns the length of the character at `pos`: 1 for a byte that does not begin one.
    fn character_len(&self, pos: usize) -> usize {
        let rest = self.text.get(pos..).unwrap_or_default();
        let len = match rest.first() {
            Some(0xC2..=0xDF) => 2,
            Some(0xE0..=0xEF) => 3,
            Some(0xF0..=0xF4) => 4,
            _ => 1,
        };
        if rest.get(..len).is_some_and(|bytes| std::str::from_utf8(bytes).is_ok()) { len } else { 1 }
    }

    /// Parses a construct that begins with a quote, a backtick or `$`. Returns false for a `$` that begins no
    /// construct.
    fn quotation(&mut self, byte: u8, until: WordEnd, parts: &mut Vec<Part>) -> ParseResult<bool> {
        match byte {
            b'\'' if until.is_arithmetic() => self.live_single(parts)?,
            b'\'' => self.single(parts)?,
            b'"' => {
                let start = self.pos;
                self.double(false, parts)?;
                if until.is_arithmetic() {
                    self.refuse_quoted_brackets(start)?;
                }
            }
            b'`' => self.backticks(false, parts)?,
            _ => {
                let start = self.pos;
                let read = self.dollar(false, parts)?;
                if until.is_arithmetic() {
                    self.refuse_decoded(start, b"$`", parts)?;
                }
                return Ok(read);
            }
        }
        Ok(true)
    }

    /// Reports whether the current operator begins an extended glob, that is, a parenthesis follows.
    fn extends(&self, until: WordEnd) -> bool {
        matches!(until, WordEnd::Word | WordEnd::Alternative) && self.peek_second().0 == b'(' && !self.zsh()
    }

    fn extended_glob(&mut self, operator: u8, parts: &mut Vec<Part>) -> ParseResult {
        let start = self.pos;
        self.pos = self.peek_second().1;
        let alternatives = self.alternatives(start)?;
        parts.push(Part::ExtGlob { operator: char::from(operator), alternatives });
        Ok(())
    }

    /// Parses `(a|b)`. `start` is the start of the whole construct.
    pub(super) fn alternatives(&mut self, start: usize) -> ParseResult<Vec<Word>> {
        self.enter()?;
        self.pos += 1;
        let mut alternatives = Vec::new();
        loop {
            let begins = self.pos;
            let mut word = Word::default();
            self.parts(WordEnd::Alternative, &mut word.parts)?;
            word.span = self.span_from(begins);
            alternatives.push(word);
            if !self.take(b'|') {
                break;
            }
        }
        self.expect_byte(b')', "a pattern in parentheses", start)?;
        self.leave();
        Ok(alternatives)
    }

    /// Parses `<(…)`, `>(…)` or zsh's `=(…)`.
    pub(super) fn process_substitution(&mut self, direction: u8, parts: &mut Vec<Part>) -> ParseResult {
        let start = self.pos;
        self.pos = self.peek_second().1;
        let mut script = Script::default();
        self.parenthesized_script("a process substitution", start, &mut script)?;
        let span = self.span_from(start);
        parts.push(Part::Process(ProcessSubstitution { direction: char::from(direction), script, span }));
        Ok(())
    }
}

/// Adds the collected text as a part.
pub(super) fn flush(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal)));
    }
}

/// Reverts a [`flush`] that was made when there were `length` parts.
pub(super) fn unflush(length: usize, literal: &mut String, parts: &mut Vec<Part>) {
    if parts.len() > length
        && let Some(Part::Literal(text)) = parts.pop()
    {
        *literal = text;
    }
}
