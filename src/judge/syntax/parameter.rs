//! Parses `${…}`: names, subscripts and operations, and the command substitution with the same syntax.

use super::cursor::begins_name;
use super::parser::{Attempt, ParseResult, Parser};
use super::quote::Quoted;
use super::reserved::Reserved;
use super::tree::{
    Arithmetic, CommandSubstitution, Dialect, Parameter, ParameterOp, Part, ReplaceAnchor, Script, Word,
};
use super::word::WordEnd;

impl Parser<'_> {
    /// Parses `${…}` from the `$` at the current position, with the opening brace at `open`.
    pub(super) fn brace(&mut self, open: usize, quoted: bool, parts: &mut Vec<Part>) -> ParseResult {
        self.enter()?;
        let start = self.pos;
        self.pos = open + 1;
        if self.dialect == Dialect::Zsh {
            self.zsh_brace(start, quoted, parts)?;
        } else if matches!(self.peek(), b' ' | b'\t' | b'\n' | b'|' | b'(') {
            self.current_shell(start, quoted, parts)?;
        } else {
            let mut parameter = Box::<Parameter>::default();
            if !self.parameter(quoted, &mut parameter)? {
                self.pos = open + 1;
                *parameter = Parameter::default();
                self.opaque_parameter(start, quoted, &mut parameter)?;
            }
            parameter.span = self.span_from(start);
            parts.push(Part::Parameter(parameter));
        }
        self.leave();
        Ok(())
    }

    /// Parses the inside of `${…}` and its closing brace. Returns false if the shell would report a "bad substitution"
    /// at run time.
    pub(super) fn parameter(&mut self, quoted: bool, parameter: &mut Parameter) -> ParseResult<bool> {
        let start = self.pos;
        if !self.parameter_name(parameter)? {
            return Ok(false);
        }
        if self.peek() == b'[' && begins_name(parameter.name.bytes().next().unwrap_or(0)) {
            let open = self.pos;
            self.pos += 1;
            self.brace_subscript(open, parameter.subscript.insert(Word::default()))?;
        }
        if self.take(b'}') {
            return Ok(true);
        }
        if self.pos >= self.text.len() {
            return Err(self.unterminated("a parameter expansion", start));
        }
        let Some((operation, end)) = self.parameter_operator(parameter.indirect) else { return Ok(false) };
        self.pos = end;
        self.operands(quoted, parameter.operation.insert(operation))?;
        if self.pos >= self.text.len() {
            return Err(self.unterminated("a parameter expansion", start));
        }
        Ok(self.take(b'}'))
    }

    /// Parses the name, with the `#` or `!` before it.
    fn parameter_name(&mut self, parameter: &mut Parameter) -> ParseResult<bool> {
        let first = self.peek();
        if matches!(first, b'#' | b'!') {
            let (second, at) = self.peek_second();
            let third = self.raw(self.past_continuations(at + 1));
            let named = begins_name(second) || second.is_ascii_digit();
            let special = matches!(second, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') && third == b'}';
            if named || special {
                parameter.length = first == b'#';
                parameter.indirect = first == b'!';
                self.pos = at;
            }
        }
        let byte = self.peek();
        let end = match byte {
            b'0'..=b'9' => {
                let mut end = self.pos;
                while self.raw(end).is_ascii_digit() {
                    end = self.past_continuations(end + 1);
                }
                end
            }
            b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => self.pos + 1,
            _ => self.name_end(self.pos),
        };
        if end == self.pos {
            return Ok(false);
        }
        self.spend(end - self.pos)?;
        parameter.name = self.plain(self.pos, end);
        self.pos = end;
        Ok(true)
    }

    /// Parses a subscript in `${…}`, in which the first unquoted `}` would end the whole expansion.
    pub(super) fn brace_subscript(&mut self, open: usize, word: &mut Word) -> ParseResult {
        let start = self.pos;
        self.parts(WordEnd::Subscript, &mut word.parts)?;
        word.span = self.span_from(start);
        self.expect_byte(b']', "a subscript", open)
    }

    /// Parses the operator and returns the operation, without its operands, and the position after the operator. `None`
    /// if there is no operation.
    fn parameter_operator(&mut self, indirect: bool) -> Option<(ParameterOp, usize)> {
        let first = self.peek();
        let (second, at) = self.peek_second();
        let longest = second == first;
        let after = if longest { at + 1 } else { self.pos + 1 };
        Some(match first {
            b':' if matches!(second, b'-' | b'=' | b'?' | b'+') => (default_op(second, true), at + 1),
            b'-' | b'=' | b'?' | b'+' => (default_op(first, false), self.pos + 1),
            b':' => (ParameterOp::Substring { offset: Arithmetic::default(), length: None }, self.pos + 1),
            b'#' => (ParameterOp::RemovePrefix { longest, pattern: Word::default() }, after),
            b'%' => (ParameterOp::RemoveSuffix { longest, pattern: Word::default() }, after),
            b'^' | b',' | b'~' => {
                let operator = char::from(first).to_string().repeat(if longest { 2 } else { 1 });
                (ParameterOp::Case { operator, pattern: Word::default() }, after)
            }
            b'/' => {
                let (anchor, begins) = match second {
                    b'/' => (ReplaceAnchor::All, at + 1),
                    b'#' => (ReplaceAnchor::Prefix, at + 1),
                    b'%' => (ReplaceAnchor::Suffix, at + 1),
                    _ => (ReplaceAnchor::First, self.pos + 1),
                };
                let replace = ParameterOp::Replace { anchor, pattern: Word::default(), replacement: Word::default() };
                (replace, begins)
            }
            b'@' | b'*' if indirect && second == b'}' => (ParameterOp::NamesWithPrefix(char::from(first)), at),
            b'@' if second.is_ascii_alphabetic() => (ParameterOp::Transform(char::from(second)), at + 1),
            _ => return None,
        })
    }

    /// Parses the operands of `operation`.
    fn operands(&mut self, quoted: bool, operation: &mut ParameterOp) -> ParseResult {
        match operation {
            ParameterOp::Default { word, .. }
            | ParameterOp::AssignDefault { word, .. }
            | ParameterOp::Error { word, .. }
            | ParameterOp::Alternative { word, .. }
            | ParameterOp::Other(word) => self.operand(quoted, word),
            ParameterOp::RemovePrefix { pattern, .. }
            | ParameterOp::RemoveSuffix { pattern, .. }
            | ParameterOp::Case { pattern, .. } => self.pattern(WordEnd::Brace, quoted, pattern),
            ParameterOp::Replace { pattern, replacement, .. } => {
                self.pattern(WordEnd::Slash, quoted, pattern)?;
                if self.take(b'/') { self.pattern(WordEnd::Brace, quoted, replacement) } else { Ok(()) }
            }
            ParameterOp::Substring { offset, length } => {
                self.arithmetic(WordEnd::Colon, offset)?;
                if self.take(b':') {
                    self.arithmetic(WordEnd::Colon, length.insert(Arithmetic::default()))
                } else {
                    Ok(())
                }
            }
            ParameterOp::Transform(_) | ParameterOp::NamesWithPrefix(_) => Ok(()),
        }
    }

    /// Parses the word after `:-` and similar operators.
    pub(super) fn operand(&mut self, quoted: bool, word: &mut Word) -> ParseResult {
        let start = self.pos;
        if quoted {
            self.quoted(Quoted::Brace, &mut word.parts)?;
        } else {
            self.parts(WordEnd::Brace, &mut word.parts)?;
        }
        word.span = self.span_from(start);
        Ok(())
    }

    /// Parses a pattern or its replacement, in which quotes are special even if the whole expansion is quoted.
    fn pattern(&mut self, until: WordEnd, quoted: bool, word: &mut Word) -> ParseResult {
        let start = self.pos;
        self.parts(until, &mut word.parts)?;
        word.span = self.span_from(start);
        if quoted && self.dialect == Dialect::Sh {
            let raw = self.text.get(start..self.pos).unwrap_or_default();
            if single_quotes_matter(raw) {
                self.pos = start;
                return Err(self.unsupported("a single quote within a quoted expansion"));
            }
        }
        Ok(())
    }

    /// Parses an expansion that the shell will reject as a "bad substitution", and keeps the substitutions in it.
    pub(super) fn opaque_parameter(&mut self, start: usize, quoted: bool, parameter: &mut Parameter) -> ParseResult {
        self.operands(quoted, parameter.operation.insert(ParameterOp::Other(Word::default())))?;
        self.expect_byte(b'}', "a parameter expansion", start)
    }

    /// Parses `${ …; }`, which is a command substitution in bash 5.3 and a bad substitution in bash 5.2. Both must end
    /// at the same position.
    pub(super) fn current_shell(&mut self, start: usize, quoted: bool, parts: &mut Vec<Part>) -> ParseResult {
        let inside = self.pos;
        let script = if self.in_plain_brace {
            None
        } else {
            self.attempt(Attempt::CurrentShell, |parser| {
                let pending = std::mem::take(&mut parser.pending);
                let outer = std::mem::replace(&mut parser.in_substitution, false);
                parser.take(b'|');
                let mut script = Script::default();
                parser.list(&mut script)?;
                if !parser.pending.is_empty() {
                    return Err(parser.unexpected());
                }
                parser.expect(Reserved::CloseBrace, "a command substitution", start)?;
                parser.in_substitution = outer;
                parser.pending = pending;
                Ok(script)
            })?
        };
        let end = self.pos;
        self.pos = inside;
        let outer = std::mem::replace(&mut self.in_plain_brace, true);
        let mut parameter = Box::<Parameter>::default();
        self.opaque_parameter(start, quoted, &mut parameter)?;
        self.in_plain_brace = outer;
        let span = self.span_from(start);
        match script {
            Some(script) if end == self.pos => {
                parts.push(Part::Command(CommandSubstitution {
                    script,
                    backtick: false,
                    in_current_shell: true,
                    span,
                }));
            }
            Some(_) => {
                self.pos = start;
                return Err(self.unsupported("`${ …}`, which versions of the shell end at different places,"));
            }
            None => {
                parameter.span = span;
                parts.push(Part::Parameter(parameter));
            }
        }
        Ok(())
    }
}

fn default_op(operator: u8, colon: bool) -> ParameterOp {
    let word = Word::default();
    match operator {
        b'-' => ParameterOp::Default { colon, word },
        b'=' => ParameterOp::AssignDefault { colon, word },
        b'?' => ParameterOp::Error { colon, word },
        _ => ParameterOp::Alternative { colon, word },
    }
}

/// Reports whether single quotes in `raw` affect where an expansion ends.
fn single_quotes_matter(raw: &[u8]) -> bool {
    let mut open = false;
    for &byte in raw {
        match byte {
            b'\'' => open = !open,
            b'}' | b'"' if open => return true,
            _ => {}
        }
    }
    open
}
