//! Parses constructs that begin with `$` or a backtick: substitutions, arithmetic, parameters.

use super::cursor::{begins_name, offset};
use super::parser::{Attempt, ParseResult, Parser};
use super::tree::{Arithmetic, CommandSubstitution, Dialect, Parameter, Part, Script, Span};
use super::word::WordEnd;

impl Parser<'_> {
    /// Parses an expansion. `quoted` is whether it is in double quotes or a here-document. Returns false and consumes
    /// nothing for a `$` that begins no expansion.
    pub(super) fn dollar(&mut self, quoted: bool, parts: &mut Vec<Part>) -> ParseResult<bool> {
        self.spend(1)?;
        let (next, at) = self.peek_second();
        match next {
            b'(' => self.dollar_parenthesis(at, parts)?,
            b'{' => self.brace(at, quoted, parts)?,
            b'[' => self.dollar_bracket(at, parts)?,
            b'\'' if !quoted => self.ansi_c(parts)?,
            b'"' if !quoted => {
                self.pos = at;
                self.double(true, parts)?;
            }
            _ => return self.plain_parameter(next, at, parts),
        }
        Ok(true)
    }

    /// Parses `$name`, `$1` or `$?`, with the first character `next` at `at`.
    fn plain_parameter(&mut self, next: u8, at: usize, parts: &mut Vec<Part>) -> ParseResult<bool> {
        if self.zsh_plain_parameter(next, at, parts)? {
            return Ok(true);
        }
        let start = self.pos;
        let end = match next {
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => at + 1,
            _ if begins_name(next) => self.name_end(at),
            _ => return Ok(false),
        };
        self.spend(end - at)?;
        let name = self.plain(at, end);
        self.pos = end;
        let parameter = Parameter { name, span: self.span_from(start), ..Parameter::default() };
        parts.push(Part::Parameter(Box::new(parameter)));
        self.zsh_subscripts(parts)?;
        Ok(true)
    }

    /// Parses `$(…)` or `$((…))`, with the first parenthesis at `open`.
    fn dollar_parenthesis(&mut self, open: usize, parts: &mut Vec<Part>) -> ParseResult {
        let start = self.pos;
        self.pos = open;
        if let Some(inside) = self.pair(b'(', b'(') {
            let arithmetic = self.attempt(Attempt::Arithmetic, |parser| {
                parser.pos = inside;
                let mut arithmetic = Arithmetic::default();
                parser.arithmetic(WordEnd::Parenthesis, &mut arithmetic)?;
                match parser.pair(b')', b')') {
                    Some(end) => {
                        parser.pos = end;
                        Ok(arithmetic)
                    }
                    None => Err(parser.unexpected()),
                }
            })?;
            if let Some(arithmetic) = arithmetic {
                parts.push(Part::Arithmetic(arithmetic));
                return Ok(());
            }
        }
        let mut script = Script::default();
        self.parenthesized_script("a command substitution", start, &mut script)?;
        let span = self.span_from(start);
        parts.push(Part::Command(CommandSubstitution { script, backtick: false, in_current_shell: false, span }));
        Ok(())
    }

    /// Parses `(…)` as a separate script, from the parenthesis at the current position.
    pub(super) fn parenthesized_script(
        &mut self,
        what: &'static str,
        start: usize,
        script: &mut Script,
    ) -> ParseResult {
        self.pos += 1;
        let pending = std::mem::take(&mut self.pending);
        let outer = std::mem::replace(&mut self.in_substitution, true);
        self.list(script)?;
        if !self.pending.is_empty() {
            return Err(self.unsupported("a here-document that begins after the substitution it stands in"));
        }
        self.expect_byte(b')', what, start)?;
        self.in_substitution = outer;
        self.pending = pending;
        Ok(())
    }

    fn dollar_bracket(&mut self, open: usize, parts: &mut Vec<Part>) -> ParseResult {
        if self.dialect == Dialect::Sh {
            return Err(self.unsupported("`$[`"));
        }
        let start = self.pos;
        self.pos = open + 1;
        let mut arithmetic = Arithmetic::default();
        self.arithmetic(WordEnd::Bracket, &mut arithmetic)?;
        self.expect_byte(b']', "arithmetic", start)?;
        parts.push(Part::Arithmetic(arithmetic));
        Ok(())
    }

    /// Parses `` `…` ``. In double quotes, a backslash before a double quote is removed too.
    pub(super) fn backticks(&mut self, quoted: bool, parts: &mut Vec<Part>) -> ParseResult {
        let start = self.pos;
        let (close, rewritten) = self.closing_backtick(start)?;
        let mut script = Script::default();
        if rewritten {
            self.escaped_backticks(start + 1, close, quoted, &mut script)?;
        } else {
            self.pos = start + 1;
            let pending = std::mem::take(&mut self.pending);
            let outer = std::mem::replace(&mut self.in_substitution, false);
            self.narrowed(close, |parser| parser.script_to_end(&mut script))?;
            self.in_substitution = outer;
            self.pending = pending;
        }
        self.pos = close + 1;
        let span = self.span_from(start);
        parts.push(Part::Command(CommandSubstitution { script, backtick: true, in_current_shell: false, span }));
        Ok(())
    }

    /// Returns the position of the closing backtick, and whether there is a backslash before it.
    fn closing_backtick(&mut self, open: usize) -> ParseResult<(usize, bool)> {
        let mut escaped = false;
        let mut pos = open + 1;
        loop {
            match self.raw(pos) {
                b'`' => break,
                b'\\' => {
                    escaped = true;
                    pos += 2;
                }
                _ => pos += 1,
            }
            if pos >= self.text.len() {
                self.spend(pos - open)?;
                self.pos = self.text.len();
                return Err(self.unterminated("a backtick substitution", open));
            }
        }
        self.spend(pos - open)?;
        Ok((pos, escaped))
    }

    /// Parses text between backticks that contains backslashes: one level of them is removed first, and the result is
    /// parsed as a separate text.
    fn escaped_backticks(&mut self, start: usize, end: usize, quoted: bool, script: &mut Script) -> ParseResult {
        // A copy uses memory at each level, so it costs more steps than parsing.
        self.spend((end - start) * 4)?;
        let mut text = Vec::with_capacity(end - start);
        let mut origin = Vec::with_capacity(end - start + 1);
        let mut pos = start;
        while pos < end {
            if self.raw(pos) == b'\\' {
                match self.raw(pos + 1) {
                    b'\n' => {
                        pos += 2;
                        continue;
                    }
                    b'$' | b'`' | b'\\' => pos += 1,
                    b'"' if quoted => pos += 1,
                    _ => {
                        // The backslash stays and quotes the next character.
                        text.push(b'\\');
                        origin.push(self.place(pos));
                        pos += 1;
                    }
                }
            }
            text.push(self.raw(pos));
            origin.push(self.place(pos));
            pos += 1;
        }
        origin.push(self.place(end));
        self.nested(&text, &origin, |parser| parser.script_to_end(script))
    }
}

impl Default for Parameter {
    fn default() -> Self {
        Self {
            name: String::new(),
            indirect: false,
            length: false,
            subscript: None,
            operation: None,
            span: Span::new(offset(0), offset(0)),
        }
    }
}
