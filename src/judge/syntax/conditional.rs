//! Parses `[[ … ]]`.

use super::parser::{Attempt, ParseResult, Parser};
use super::tree::{Command, CompoundKind, CondToken, Part, Word};
use super::word::WordEnd;

impl Parser<'_> {
    /// Parses `[[` for a shell that may not know it. It is then the name of a command, and a command after `&&` in it
    /// is another one. That interpretation finds more commands, so it is tried first.
    pub(super) fn plain_condition(&mut self, commands: &mut Vec<Command>) -> ParseResult {
        self.enter()?;
        let plain = self.attempt(Attempt::PlainCondition, |parser| {
            let mut commands = Vec::with_capacity(1);
            parser.simple(&mut commands)?;
            if matches!(parser.peek(), 0 | b'\n' | b';' | b'&' | b'|' | b')') {
                Ok(commands)
            } else {
                Err(parser.unexpected())
            }
        })?;
        match plain {
            Some(plain) => commands.extend(plain),
            None => self.compound_command(commands)?,
        }
        self.leave();
        Ok(())
    }

    /// Parses `[[ … ]]`, which began at `start`, after its first word.
    pub(super) fn condition(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        self.enter()?;
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
        self.leave();
        Ok(())
    }

    /// Parses `-f word`, `word == word` or a single word.
    fn term(&mut self, tokens: &mut Vec<CondToken>) -> ParseResult {
        self.operand_token(tokens)?;
        self.blanks()?;
        if let Some(operator) = tokens.last().and_then(unary) {
            tokens.pop();
            tokens.push(operator);
            return self.operand_token(tokens);
        }
        let Some(until) = self.binary(tokens) else { return Ok(()) };
        self.blanks()?;
        if until == WordEnd::Regex { self.regex(tokens) } else { self.operand_token(tokens) }
    }

    /// Skips a binary operator and returns how the word after it ends.
    fn binary(&mut self, tokens: &mut Vec<CondToken>) -> Option<WordEnd> {
        let begins = self.pos;
        let until = match self.peek() {
            b'<' | b'>' if self.peek_second().0 != b'(' => {
                self.pos += 1;
                WordEnd::Word
            }
            _ => {
                let (word, len, end) = self.short_word()?;
                let word = word.get(..len).filter(|word| is_binary(word))?;
                self.pos = end;
                if word == b"=~" { WordEnd::Regex } else { WordEnd::Word }
            }
        };
        tokens.push(CondToken::Operator(self.plain(begins, self.pos), self.span_from(begins)));
        Some(until)
    }

    fn regex(&mut self, tokens: &mut Vec<CondToken>) -> ParseResult {
        let start = self.pos;
        let mut word = Word::default();
        self.parts(WordEnd::Regex, &mut word.parts)?;
        if self.pos == start {
            return Err(self.unexpected());
        }
        word.span = self.span_from(start);
        tokens.push(CondToken::Word(word));
        Ok(())
    }

    /// Parses a word that is not the closing `]]`.
    fn operand_token(&mut self, tokens: &mut Vec<CondToken>) -> ParseResult {
        self.peek();
        if matches!(self.short_word(), Some((word, 2, _)) if word.starts_with(b"]]")) {
            return Err(self.unexpected());
        }
        let mut word = Word::default();
        self.whole_word(&mut word)?;
        tokens.push(CondToken::Word(word));
        Ok(())
    }
}

/// Returns the token as a unary operator, if it is one.
fn unary(token: &CondToken) -> Option<CondToken> {
    let CondToken::Word(word) = token else { return None };
    let [Part::Literal(text)] = word.parts.as_slice() else { return None };
    let &[b'-', letter] = text.as_bytes() else { return None };
    b"abcdefghknoprstuvwxzGLNORS".contains(&letter).then(|| CondToken::Operator(text.clone(), word.span))
}

fn is_binary(word: &[u8]) -> bool {
    matches!(
        word,
        b"=" | b"==" | b"!=" | b"=~" | b"-eq" | b"-ne" | b"-lt" | b"-le" | b"-gt" | b"-ge" | b"-nt" | b"-ot" | b"-ef"
    )
}
