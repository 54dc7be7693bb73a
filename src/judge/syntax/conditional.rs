//! `[[ … ]]`.

use super::parser::{Attempt, Parser, Read};
use super::tree::{CompoundKind, CondToken, Dialect, Part, Word};
use super::word::Until;

impl Parser<'_> {
    /// Reads `[[ … ]]`. To a shell that does not know it, `[[` is the name of a command and what
    /// follows `&&` in it is another: that reading shows more, so there it comes first.
    pub(super) fn condition_or_command(&mut self, start: usize, end: usize, kind: &mut CompoundKind) -> Read<bool> {
        if self.dialect == Dialect::Sh {
            let plain = self.attempt(Attempt::PlainCondition, |parser| {
                parser.simple(&mut Vec::new())?;
                parser.blanks()?;
                let ends = matches!(parser.peek(), 0 | b'\n' | b';' | b'&' | b'|' | b')');
                if ends { Ok(()) } else { Err(parser.unexpected()) }
            })?;
            self.pos = start;
            if plain.is_some() {
                return Ok(false);
            }
        }
        self.pos = end;
        self.condition(start, kind)?;
        Ok(true)
    }

    fn condition(&mut self, start: usize, kind: &mut CompoundKind) -> Read {
        let mut tokens = Vec::new();
        let mut nested = 0_u32;
        let mut operand_next = true;
        loop {
            self.newlines()?;
            self.spend(1)?;
            if self.pos >= self.text.len() {
                return Err(self.unterminated("`[[`", start));
            }
            let begins = self.pos;
            let operator = match self.peek() {
                b'(' if operand_next => {
                    nested += 1;
                    self.pos += 1;
                    "("
                }
                b'!' if operand_next && self.take_word(b"!") => "!",
                _ if operand_next => {
                    self.term(&mut tokens)?;
                    operand_next = false;
                    continue;
                }
                b')' if nested > 0 => {
                    nested -= 1;
                    self.pos += 1;
                    ")"
                }
                b'&' | b'|' => {
                    let byte = self.peek();
                    let Some(end) = self.pair(byte, byte) else { return Err(self.unexpected()) };
                    self.pos = end;
                    operand_next = true;
                    if byte == b'&' { "&&" } else { "||" }
                }
                _ if nested == 0 && self.take_word(b"]]") => break,
                _ => return Err(self.unexpected()),
            };
            tokens.push(CondToken::Operator(operator.to_owned(), self.span_from(begins)));
        }
        *kind = CompoundKind::Conditional(tokens);
        Ok(())
    }

    /// Reads `-f word`, `word == word` or a word alone.
    fn term(&mut self, tokens: &mut Vec<CondToken>) -> Read {
        let first = self.operand_word()?;
        if is_unary(&first) {
            tokens.push(operator_of(&first));
            self.blanks()?;
            let word = self.operand_word()?;
            tokens.push(CondToken::Word(word));
            return Ok(());
        }
        tokens.push(CondToken::Word(first));
        self.blanks()?;
        let begins = self.pos;
        let until = match self.peek() {
            b'<' | b'>' if self.peek_second().0 != b'(' => {
                self.pos += 1;
                Until::Word
            }
            _ => match self.short_word() {
                Some((word, len, end)) if is_binary(word.get(..len).unwrap_or_default()) => {
                    self.pos = end;
                    if word.get(..len) == Some(b"=~") { Until::Regex } else { Until::Word }
                }
                _ => return Ok(()),
            },
        };
        tokens.push(CondToken::Operator(self.plain(begins, self.pos), self.span_from(begins)));
        self.blanks()?;
        if until == Until::Regex {
            let mut word = Word::default();
            let begins = self.pos;
            self.parts(Until::Regex, &mut word.parts)?;
            if self.pos == begins {
                return Err(self.unexpected());
            }
            word.span = self.span_from(begins);
            tokens.push(CondToken::Word(word));
        } else {
            let word = self.operand_word()?;
            tokens.push(CondToken::Word(word));
        }
        Ok(())
    }

    /// Reads a word that is not the closing `]]`.
    fn operand_word(&mut self) -> Read<Word> {
        self.peek();
        if matches!(self.short_word(), Some((word, 2, _)) if word.starts_with(b"]]")) {
            return Err(self.unexpected());
        }
        self.word()
    }
}

fn operator_of(word: &Word) -> CondToken {
    let text = match word.parts.first() {
        Some(Part::Literal(text)) => text.clone(),
        _ => String::new(),
    };
    CondToken::Operator(text, word.span)
}

fn is_unary(word: &Word) -> bool {
    let [Part::Literal(text)] = word.parts.as_slice() else { return false };
    let &[b'-', letter] = text.as_bytes() else { return false };
    b"abcdefghknoprstuvwxzGLNORS".contains(&letter)
}

fn is_binary(word: &[u8]) -> bool {
    matches!(
        word,
        b"=" | b"==" | b"!=" | b"=~" | b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge" | b"-nt" | b"-ot" | b"-ef"
    )
}
