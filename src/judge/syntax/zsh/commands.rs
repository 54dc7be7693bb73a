//! Parses zsh commands: short forms of loops and of `if`, anonymous functions, `always`, `repeat`.

use crate::judge::syntax::cursor::is_meta;
use crate::judge::syntax::parser::{Attempt, ParseResult, Parser};
use crate::judge::syntax::reserved::Reserved;
use crate::judge::syntax::tree::{
    Command, Compound, CompoundKind, Dialect, Item, Part, Pipeline, RedirectOp, Script, Word,
};

impl Parser<'_> {
    /// Reports whether the dialect is zsh.
    pub(in crate::judge::syntax) fn zsh(&self) -> bool {
        self.dialect == Dialect::Zsh
    }

    /// Reports whether `;|` is next, which ends an arm of a `case`.
    pub(in crate::judge::syntax) fn zsh_arm_end(&mut self) -> bool {
        self.zsh() && self.pair(b';', b'|').is_some()
    }

    /// Reports whether a single `}` is next, which closes a group even after the words of a command.
    pub(in crate::judge::syntax) fn zsh_closing_brace(&mut self) -> bool {
        self.zsh() && self.peek() == b'}' && matches!(self.short_word(), Some((_, 1, _)))
    }

    /// Excludes a `}` at the end of a word that no `{` in it opens: it closes the group around the command (`{ls -l}`).
    pub(in crate::judge::syntax) fn zsh_leaves_brace(&mut self, start: usize, parts: &mut Vec<Part>) {
        if !self.zsh() || self.raw(self.pos - 1) != b'}' || self.pos < start + 2 || self.raw(self.pos - 2) == b'\\' {
            return;
        }
        let mut open = 0_usize;
        let mut closes = false;
        for part in parts.iter() {
            closes = false;
            let Part::Literal(text) = part else { continue };
            for byte in text.bytes() {
                closes = byte == b'}' && open == 0;
                match byte {
                    b'{' => open += 1,
                    b'}' => open = open.saturating_sub(1),
                    _ => {}
                }
            }
        }
        if let Some(Part::Literal(text)) = parts.last_mut().filter(|_| closes) {
            text.pop();
            if text.is_empty() {
                parts.pop();
            }
            self.pos -= 1;
        }
    }

    /// Parses `() body arguments`, which is executed immediately.
    pub(in crate::judge::syntax) fn anonymous_function(&mut self, commands: &mut Vec<Command>) -> ParseResult {
        let start = self.pos;
        self.pos = self.peek_second().1 + 1;
        self.function_body(start, Vec::new(), commands)
    }

    /// Parses the arguments of an anonymous function.
    pub(in crate::judge::syntax) fn zsh_arguments(&mut self) -> ParseResult<Vec<Word>> {
        let mut arguments = Vec::new();
        loop {
            self.blanks()?;
            let byte = self.peek();
            if self.pos >= self.text.len() || is_meta(byte) && byte != b'(' || self.zsh_closing_brace() {
                return Ok(arguments);
            }
            self.spend(1)?;
            self.word(&mut arguments)?;
        }
    }

    /// Parses a simple command as the body of a function.
    pub(in crate::judge::syntax) fn zsh_short_body(&mut self, body: &mut Compound) -> ParseResult<bool> {
        if !self.zsh() {
            return Ok(false);
        }
        let start = self.pos;
        let mut commands = Vec::with_capacity(1);
        self.simple(&mut commands)?;
        let span = self.span_from(start);
        let pipeline = Pipeline { commands, span, ..Pipeline::default() };
        let item = Item { first: pipeline, span, ..Item::default() };
        *body = Compound { kind: CompoundKind::Group(Script { items: vec![item], span }), redirects: Vec::new(), span };
        Ok(true)
    }

    /// Parses one statement as the body of a loop.
    pub(in crate::judge::syntax) fn zsh_sublist(&mut self, body: &mut Script) -> ParseResult {
        self.enter()?;
        let start = self.pos;
        self.item(&mut body.items)?;
        body.span = self.span_from(start);
        self.leave();
        Ok(())
    }

    /// Reports whether a body without `do` begins here.
    pub(in crate::judge::syntax) fn zsh_short_loop(&mut self) -> bool {
        self.zsh() && !self.reserved().is_some_and(|(word, _)| word.closes())
    }

    /// Parses `repeat count body`.
    pub(in crate::judge::syntax) fn zsh_repeat(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        self.blanks()?;
        let mut count = Word::default();
        self.enter()?;
        self.whole_word(&mut count)?;
        self.leave();
        self.blanks()?;
        self.take(b';');
        self.newlines()?;
        let mut body = Script::default();
        self.loop_body(start, &mut body)?;
        *kind = CompoundKind::Repeat { count, body };
        Ok(())
    }

    /// Parses `foreach name (words) … end`.
    pub(in crate::judge::syntax) fn zsh_foreach(&mut self, start: usize, kind: &mut CompoundKind) -> ParseResult {
        self.blanks()?;
        let mut names = vec![self.loop_name()?];
        self.zsh_more_names(&mut names)?;
        let words = self.loop_words()?;
        let mut body = Script::default();
        self.filled_list(&mut body)?;
        self.expect(Reserved::End, "`foreach`", start)?;
        *kind = CompoundKind::For { names, words, body };
        Ok(())
    }

    /// Parses the further names of `for key value in …`.
    pub(in crate::judge::syntax) fn zsh_more_names(&mut self, names: &mut Vec<String>) -> ParseResult {
        while self.zsh() {
            self.blanks()?;
            let end = self.name_end(self.pos);
            let reserved = self.reserved().is_some_and(|(word, _)| word == Reserved::Do);
            if end == self.pos || reserved || matches!(self.short_word(), Some((word, 2, _)) if word.starts_with(b"in"))
            {
                break;
            }
            self.spend(1)?;
            names.push(self.loop_name()?);
        }
        Ok(())
    }

    /// Parses `(words)` after the name of a loop, and the separator after it.
    pub(in crate::judge::syntax) fn zsh_parenthesized_words(&mut self, words: &mut Vec<Word>) -> ParseResult<bool> {
        if !self.zsh() || self.peek() != b'(' {
            return Ok(false);
        }
        let start = self.pos;
        self.enter()?;
        self.pos += 1;
        loop {
            self.newlines()?;
            if self.take(b')') {
                break;
            }
            if self.pos >= self.text.len() {
                return Err(self.unterminated("a list of words", start));
            }
            self.spend(1)?;
            self.word(words)?;
        }
        self.leave();
        self.blanks()?;
        self.take(b';');
        self.newlines()?;
        Ok(true)
    }

    /// Parses `{ … }` after a condition that ends in a closing bracket; for `if`, also a statement.
    pub(in crate::judge::syntax) fn zsh_condition_body(
        &mut self,
        statement: bool,
        body: &mut Script,
    ) -> ParseResult<bool> {
        if !self.zsh() {
            return Ok(false);
        }
        self.blanks()?;
        if self.group_body(body)? {
            return Ok(true);
        }
        let byte = self.peek();
        if !statement || !self.zsh_short_loop() || self.pos >= self.text.len() || is_meta(byte) && byte != b'(' {
            return Ok(false);
        }
        self.zsh_sublist(body)?;
        Ok(true)
    }

    /// Parses what may follow the body of `if … { … }`. Returns true for an `elif`, whose condition is next.
    pub(in crate::judge::syntax) fn zsh_else(&mut self, otherwise: &mut Option<Script>) -> ParseResult<bool> {
        self.blanks()?;
        if self.take_reserved(Reserved::Elif) {
            return Ok(true);
        }
        if self.take_reserved(Reserved::Else) {
            self.blanks()?;
            if !self.group_body(otherwise.insert(Script::default()))? {
                return Err(self.unexpected());
            }
        }
        Ok(false)
    }

    /// Parses `always { … }` after a group.
    pub(in crate::judge::syntax) fn zsh_always(&mut self, kind: &mut CompoundKind) -> ParseResult {
        if !self.zsh() {
            return Ok(());
        }
        self.blanks()?;
        if !self.take_word(b"always") {
            return Ok(());
        }
        self.newlines()?;
        let mut finally = Script::default();
        if !self.group_body(&mut finally)? {
            return Err(self.unexpected());
        }
        if let CompoundKind::Group(body) = kind {
            let body = std::mem::take(body);
            *kind = CompoundKind::Always { body, finally };
        }
        Ok(())
    }

    /// Parses the pattern of a `case` that begins with its own parentheses: `(a|b)*)` or `(a))`.
    pub(in crate::judge::syntax) fn zsh_whole_pattern(&mut self, patterns: &mut Vec<Word>) -> ParseResult<bool> {
        if !self.zsh() || self.peek() != b'(' {
            return Ok(false);
        }
        let read = self.attempt(Attempt::WholePattern, |parser| {
            let mut words = Vec::with_capacity(1);
            parser.pattern_alternatives(&mut words)?;
            Ok(words)
        })?;
        let Some(words) = read else { return Ok(false) };
        patterns.extend(words);
        Ok(true)
    }

    /// Consumes the `!` or `|` that zsh allows after an output operator.
    pub(in crate::judge::syntax) fn zsh_operator(&mut self, op: RedirectOp) -> RedirectOp {
        if !self.zsh() {
            return op;
        }
        let mut op = op;
        if op == RedirectOp::Append && self.take(b'&') {
            op = RedirectOp::AppendBoth;
        }
        let writes = matches!(
            op,
            RedirectOp::Write
                | RedirectOp::Append
                | RedirectOp::DuplicateOut
                | RedirectOp::WriteBoth
                | RedirectOp::AppendBoth
        );
        if writes && (self.take(b'!') || self.take(b'|')) && op == RedirectOp::Write {
            op = RedirectOp::Clobber;
        }
        op
    }
}
