//! Parses loops: `while`, `until`, all forms of `for`, and `select`.

use super::parser::{ParseResult, Parser};
use super::reserved::Reserved;
use super::tree::{Arithmetic, CompoundKind, Dialect, Script, Word};
use super::word::WordEnd;

impl Parser<'_> {
    pub(super) fn while_loop(&mut self, start: usize, until: bool, kind: &mut CompoundKind) -> ParseResult {
        let mut condition = Script::default();
        self.filled_list(&mut condition)?;
        let mut body = Script::default();
        if !self.zsh_condition_body(false, &mut body)? {
            self.do_body(start, &mut body)?;
        }
        *kind = CompoundKind::Loop { until, condition, body };
        Ok(())
    }

    pub(super) fn for_loop(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        self.blanks()?;
        if let Some(end) = self.pair(b'(', b'(') {
            self.pos = end;
            return self.for_arithmetic(start, kind);
        }
        let mut names = vec![self.loop_name()?];
        self.zsh_more_names(&mut names)?;
        let words = self.loop_words()?;
        let mut body = Script::default();
        self.loop_body(start, &mut body)?;
        *kind = CompoundKind::For { names, words, body };
        Ok(())
    }

    pub(super) fn select_loop(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        self.blanks()?;
        let name = self.loop_name()?;
        let words = self.loop_words()?;
        let mut body = Script::default();
        self.loop_body(start, &mut body)?;
        *kind = CompoundKind::Select { name, words, body };
        Ok(())
    }

    pub(super) fn loop_name(&mut self) -> ParseResult<String> {
        let name = self.name()?;
        let next = self.peek();
        if next == 0 || super::cursor::is_meta(next) { Ok(name) } else { Err(self.unexpected()) }
    }

    /// Parses the words of a `for` or `select`, and the separator after them. `None` if there are none.
    pub(super) fn loop_words(&mut self) -> ParseResult<Option<Vec<Word>>> {
        self.blanks()?;
        let mut words = Vec::new();
        if self.zsh_parenthesized_words(&mut words)? {
            return Ok(Some(words));
        }
        let separated = self.take(b';');
        self.newlines()?;
        if separated || !self.take_word(b"in") {
            return Ok(None);
        }
        self.enter()?;
        loop {
            self.blanks()?;
            match self.peek() {
                b';' => {
                    self.pos += 1;
                    break;
                }
                b'\n' => break,
                _ => self.word(&mut words)?,
            }
            self.spend(1)?;
        }
        self.leave();
        self.newlines()?;
        Ok(Some(words))
    }

    pub(super) fn loop_body(&mut self, start: usize, body: &mut Script) -> ParseResult {
        if self.group_body(body)? {
            Ok(())
        } else if self.zsh_short_loop() {
            self.zsh_sublist(body)
        } else {
            self.do_body(start, body)
        }
    }

    fn for_arithmetic(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        let mut header: [Arithmetic; 3] = Default::default();
        self.for_header(&mut header)?;
        *kind = CompoundKind::ForArithmetic { header, body: Script::default() };
        if let CompoundKind::ForArithmetic { body, .. } = kind { self.loop_body(start, body) } else { Ok(()) }
    }

    /// Parses `init; condition; step))` and the separator after it.
    fn for_header(&mut self, header: &mut [Arithmetic; 3]) -> ParseResult {
        for (part, &end) in header.iter_mut().zip(b";;)") {
            self.arithmetic(WordEnd::ForHeader, part)?;
            if !self.take(end) {
                return Err(self.unexpected());
            }
        }
        if !self.take(b')') {
            return Err(self.unexpected());
        }
        self.blanks()?;
        self.take(b';');
        self.newlines()
    }

    fn do_body(&mut self, start: usize, body: &mut Script) -> ParseResult {
        self.expect(Reserved::Do, "a loop", start)?;
        self.filled_list(body)?;
        self.expect(Reserved::Done, "a loop", start)
    }

    /// Parses `{ … }` as the body of a loop. Returns false if none begins here.
    pub(super) fn group_body(&mut self, body: &mut Script) -> ParseResult<bool> {
        let start = self.pos;
        if !self.take_reserved(Reserved::OpenBrace) {
            return Ok(false);
        }
        self.list(body)?;
        if body.items.is_empty() && self.dialect != Dialect::Zsh {
            return Err(self.unexpected());
        }
        self.expect(Reserved::CloseBrace, "a group", start)?;
        Ok(true)
    }
}
