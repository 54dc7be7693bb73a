//! `${…}`: names, subscripts and operations, and the command substitution that looks like one.

use super::cursor::begins_name;
use super::parser::{Attempt, Parser, Read};
use super::quote::Quoted;
use super::reserved::Reserved;
use super::tree::{CommandSubstitution, Dialect, Parameter, ParameterOp, Part, ReplaceAnchor, Script, Word};
use super::word::Until;

impl Parser<'_> {
    /// Reads `${…}`, the current place being the `$`, its bracket at `open`.
    pub(super) fn brace(&mut self, open: usize, quoted: bool, parts: &mut Vec<Part>) -> Read {
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

    /// Reads the inside of `${…}` and its closing bracket. False where the shell would say "bad
    /// substitution" when it gets there.
    fn parameter(&mut self, quoted: bool, parameter: &mut Parameter) -> Read<bool> {
        let start = self.pos;
        if !self.parameter_name(parameter)? {
            return Ok(false);
        }
        if self.peek() == b'[' && begins_name(parameter.name.bytes().next().unwrap_or(0)) {
            let open = self.pos;
            self.pos += 1;
            parameter.subscript = Some(self.brace_subscript(open)?);
        }
        if self.take(b'}') {
            return Ok(true);
        }
        if self.pos >= self.text.len() {
            return Err(self.unterminated("a parameter expansion", start));
        }
        let operation = self.operation(quoted, parameter)?;
        if operation.is_none() {
            return Ok(false);
        }
        parameter.operation = operation;
        if self.pos >= self.text.len() {
            return Err(self.unterminated("a parameter expansion", start));
        }
        Ok(self.take(b'}'))
    }

    /// Reads the name with the `#` or `!` in front of it.
    fn parameter_name(&mut self, parameter: &mut Parameter) -> Read<bool> {
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

    /// Reads a subscript within `${…}`, in which the first free `}` would end the whole.
    pub(super) fn brace_subscript(&mut self, open: usize) -> Read<Word> {
        let start = self.pos;
        let mut word = Word::default();
        self.parts(Until::Subscript, &mut word.parts)?;
        word.span = self.span_from(start);
        self.expect_byte(b']', "a subscript", open)?;
        Ok(word)
    }

    /// Reads what is done with the value, up to the closing bracket. `None` for what is no operation.
    fn operation(&mut self, quoted: bool, parameter: &Parameter) -> Read<Option<ParameterOp>> {
        let first = self.peek();
        let (second, at) = self.peek_second();
        let doubled = second == first;
        let after = if doubled { at + 1 } else { self.pos + 1 };
        Ok(Some(match first {
            b':' if matches!(second, b'-' | b'=' | b'?' | b'+') => {
                self.pos = at + 1;
                default_op(second, true, self.operand(quoted)?)
            }
            b'-' | b'=' | b'?' | b'+' => {
                self.pos += 1;
                default_op(first, false, self.operand(quoted)?)
            }
            b':' => {
                self.pos += 1;
                return self.substring().map(Some);
            }
            b'#' => {
                self.pos = after;
                ParameterOp::RemovePrefix { longest: doubled, pattern: self.pattern(Until::Brace, quoted)? }
            }
            b'%' => {
                self.pos = after;
                ParameterOp::RemoveSuffix { longest: doubled, pattern: self.pattern(Until::Brace, quoted)? }
            }
            b'^' | b',' | b'~' => {
                let operator = if doubled { [first, second].to_vec() } else { vec![first] };
                self.pos = after;
                ParameterOp::Case {
                    operator: super::cursor::text_of(&operator),
                    pattern: self.pattern(Until::Brace, quoted)?,
                }
            }
            b'/' => {
                let (anchor, begins) = match second {
                    b'/' => (ReplaceAnchor::All, at + 1),
                    b'#' => (ReplaceAnchor::Prefix, at + 1),
                    b'%' => (ReplaceAnchor::Suffix, at + 1),
                    _ => (ReplaceAnchor::First, self.pos + 1),
                };
                self.pos = begins;
                return self.replace(anchor, quoted).map(Some);
            }
            b'@' | b'*' if parameter.indirect && second == b'}' => {
                self.pos = at;
                ParameterOp::NamesWithPrefix(char::from(first))
            }
            b'@' if second.is_ascii_alphabetic() => {
                self.pos = at + 1;
                ParameterOp::Transform(char::from(second))
            }
            _ => return Ok(None),
        }))
    }

    fn replace(&mut self, anchor: ReplaceAnchor, quoted: bool) -> Read<ParameterOp> {
        let pattern = self.pattern(Until::Slash, quoted)?;
        let replacement = if self.take(b'/') { self.pattern(Until::Brace, quoted)? } else { Word::default() };
        Ok(ParameterOp::Replace { anchor, pattern, replacement })
    }

    fn substring(&mut self) -> Read<ParameterOp> {
        let offset = self.arithmetic(Until::Colon)?;
        let length = if self.take(b':') { Some(self.arithmetic(Until::Colon)?) } else { None };
        Ok(ParameterOp::Substring { offset, length })
    }

    /// Reads the word after `:-` and its kin.
    pub(super) fn operand(&mut self, quoted: bool) -> Read<Word> {
        let start = self.pos;
        let mut word = Word::default();
        if quoted {
            self.quoted(Quoted::Brace, &mut word.parts)?;
        } else {
            self.parts(Until::Brace, &mut word.parts)?;
        }
        word.span = self.span_from(start);
        Ok(word)
    }

    /// Reads a pattern or its replacement: quotes count in it even where the whole is quoted.
    fn pattern(&mut self, until: Until, quoted: bool) -> Read<Word> {
        let start = self.pos;
        let mut word = Word::default();
        self.parts(until, &mut word.parts)?;
        word.span = self.span_from(start);
        let raw = self.text.get(start..self.pos).unwrap_or_default();
        if quoted && self.dialect == Dialect::Sh && single_quotes_matter(raw) {
            self.pos = start;
            return Err(self.unsupported("a single quote within a quoted expansion"));
        }
        Ok(word)
    }

    /// Reads what the shell will refuse as a "bad substitution", keeping the substitutions in it.
    fn opaque_parameter(&mut self, start: usize, quoted: bool, parameter: &mut Parameter) -> Read {
        let word = self.operand(quoted)?;
        self.expect_byte(b'}', "a parameter expansion", start)?;
        parameter.operation = Some(ParameterOp::Other(word));
        Ok(())
    }

    /// Reads `${ …; }`: a command substitution to bash 5.3, a bad substitution to bash 5.2. They must
    /// agree on where it ends.
    pub(super) fn current_shell(&mut self, start: usize, quoted: bool, parts: &mut Vec<Part>) -> Read {
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

fn default_op(operator: u8, colon: bool, word: Word) -> ParameterOp {
    match operator {
        b'-' => ParameterOp::Default { colon, word },
        b'=' => ParameterOp::AssignDefault { colon, word },
        b'?' => ParameterOp::Error { colon, word },
        _ => ParameterOp::Alternative { colon, word },
    }
}

/// Whether it makes a difference to where an expansion ends if single quotes in `raw` quote.
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
