//! Parses zsh parameters: flags, nested expansions, modifiers, subscripts without braces. A construct that is parsed
//! but not evaluated is [`ParameterOp::Other`].

use crate::judge::syntax::cursor::begins_name;
use crate::judge::syntax::parser::{ParseResult, Parser};
use crate::judge::syntax::tree::{Parameter, ParameterOp, Part, Word};
use crate::judge::syntax::visit;
use crate::judge::syntax::word::WordEnd;

impl Parser<'_> {
    /// Parses `$+name`, `$#name`, `$=name`, `$^name`, with the second character at `at`.
    pub(in crate::judge::syntax) fn zsh_plain_parameter(
        &mut self,
        next: u8,
        at: usize,
        parts: &mut Vec<Part>,
    ) -> ParseResult<bool> {
        if !self.zsh() || !matches!(next, b'+' | b'#' | b'=' | b'^' | b'~') {
            return Ok(false);
        }
        let mut from = self.past_continuations(at + 1);
        if self.raw(from) == next && next != b'#' && next != b'+' {
            from = self.past_continuations(from + 1);
        }
        let special = matches!(self.raw(from), b'@' | b'*' | b'0'..=b'9') || self.raw(from) == b'?' && next != b'#';
        let end = if special { from + 1 } else { self.name_end(from) };
        if end == from {
            return Ok(false);
        }
        self.refuse_pattern_flag(next)?;
        let start = self.pos;
        let mut parameter = Parameter { name: self.plain(from, end), length: next == b'#', ..Parameter::default() };
        if next == b'+' {
            parameter.operation = Some(ParameterOp::Other(Word::default()));
        }
        self.pos = end;
        parameter.span = self.span_from(start);
        parts.push(Part::Parameter(Box::new(parameter)));
        self.zsh_subscripts(parts)?;
        Ok(true)
    }

    /// Rejects `~`: the value of the variable would become a pattern, whose qualifiers can run commands.
    fn refuse_pattern_flag(&mut self, flag: u8) -> ParseResult {
        if flag == b'~' { Err(self.unsupported("`$~name`, whose value is read as a pattern,")) } else { Ok(()) }
    }

    /// Parses the subscript or modifier that may follow `$name` without braces. Its result is not computed.
    pub(in crate::judge::syntax) fn zsh_subscripts(&mut self, parts: &mut [Part]) -> ParseResult {
        if !self.zsh() {
            return Ok(());
        }
        let mut other = None;
        let start = self.pos;
        if self.raw(start) == b'[' {
            let rest = self.text.get(start + 1..).unwrap_or_default();
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@*,$#()+-".contains(byte);
            let len = rest.iter().take_while(|byte| plain(byte)).count();
            let inside = rest.get(..len).unwrap_or_default();
            let mut word = Word::default();
            if rest.get(len) == Some(&b']') && !inside.windows(2).any(|pair| pair == b"$(") {
                self.pos = start + 1;
                self.narrowed(start + 1 + len, |parser| parser.parts(WordEnd::Bracket, &mut word.parts))?;
                word.span = self.span_from(start + 1);
                self.pos = start + len + 2;
            }
            other = Some(word);
        }
        let modifier = self.raw(self.pos + 1);
        if self.raw(self.pos) == b':' && (modifier.is_ascii_alphabetic() || modifier == b'&') {
            other = other.or_else(|| Some(Word::default()));
        }
        if let (Some(word), Some(Part::Parameter(parameter))) = (other, parts.last_mut()) {
            parameter.operation = Some(ParameterOp::Other(word));
        }
        Ok(())
    }

    /// Parses `${…}` after its opening brace; the `$` is at `start`.
    pub(in crate::judge::syntax) fn zsh_brace(
        &mut self,
        start: usize,
        quoted: bool,
        parts: &mut Vec<Part>,
    ) -> ParseResult {
        let inside = self.pos;
        let mut parameter = Box::<Parameter>::default();
        self.zsh_flags()?;
        let flagged = self.pos > inside;
        let first = self.peek();
        let prefix = matches!(first, b'=' | b'^' | b'~');
        if prefix {
            self.refuse_pattern_flag(first)?;
            self.pos += 1;
            self.take(first);
        }
        let after = self.pos;
        let plain = !flagged && self.zsh_is_plain();
        if !plain || !self.parameter(quoted, &mut parameter)? {
            self.pos = if prefix { after } else { inside };
            *parameter = Parameter::default();
            if !flagged && matches!(self.peek(), b' ' | b'\t' | b'\n' | b'|') {
                return Err(self.unsupported("`${ …}`, which versions of the shell read differently,"));
            }
            self.zsh_name(&mut parameter);
            self.opaque_parameter(start, quoted, &mut parameter)?;
        }
        parameter.span = self.span_from(start);
        self.refuse_inner_brace(start, &parameter)?;
        parts.push(Part::Parameter(parameter));
        Ok(())
    }

    /// Skips `(flags)`. Rejects unknown flags, and flags that evaluate the value again.
    fn zsh_flags(&mut self) -> ParseResult {
        if self.peek() != b'(' {
            return Ok(());
        }
        let start = self.pos;
        let rest = self.text.get(start + 1..).unwrap_or_default();
        match flags_len(rest) {
            Some(len) => {
                self.pos += len + 2;
                self.spend(len)
            }
            None => Err(self.unsupported("a parameter flag that evaluates the value")),
        }
    }

    /// Reports whether bash would parse the parameter in the same way: a name, at most one plain subscript, and an
    /// operation that both shells have.
    fn zsh_is_plain(&mut self) -> bool {
        let mut pos = self.pos;
        if matches!(self.raw(pos), b'#') && begins_name(self.raw(pos + 1)) {
            pos += 1;
        }
        let end = if matches!(self.raw(pos), b'@' | b'*' | b'?' | b'$' | b'#' | b'0'..=b'9') {
            pos + 1
        } else {
            self.name_end(pos)
        };
        if end == pos {
            return false;
        }
        let rest = self.text.get(end..).unwrap_or_default();
        let rest = rest.strip_prefix(b"[@]").or_else(|| rest.strip_prefix(b"[*]")).unwrap_or(rest);
        let second = rest.get(1).copied().unwrap_or(0);
        match rest.first() {
            Some(b'}' | b'-' | b'=' | b'?' | b'+' | b'%' | b'#' | b'/') => true,
            Some(b':') => matches!(second, b'-' | b'=' | b'?' | b'+' | b' ' | b'0'..=b'9' | b'$'),
            _ => false,
        }
    }

    /// Consumes the name at the start of a construct, so that its variable is known.
    fn zsh_name(&mut self, parameter: &mut Parameter) {
        let end = self.name_end(self.pos);
        parameter.name = self.plain(self.pos, end);
        self.pos = end;
    }

    /// Rejects constructs in `${…}` that the tree would not represent: zsh counts every brace there, bash only those of
    /// expansions; zsh executes `=(…)` there; and the tree has no unconditional assignment.
    fn refuse_inner_brace(&mut self, start: usize, parameter: &Parameter) -> ParseResult {
        let mut odd = false;
        visit::operands(parameter, &mut |word| {
            let text = |part: &Part| matches!(part, Part::Literal(text) if text.contains('{') || text.contains("=("));
            odd |= word.parts.iter().any(text);
        });
        if odd {
            self.pos = start;
            return Err(self.unsupported("a brace or `=(` within `${…}`"));
        }
        let assigns = matches!(&parameter.operation, Some(ParameterOp::Other(word))
            if matches!(word.parts.first(), Some(Part::Literal(text)) if text.starts_with("::=")));
        if assigns {
            self.pos = start;
            return Err(self.unsupported("`${name::=value}`"));
        }
        Ok(())
    }
}

/// Returns the length of the flags before their closing parenthesis, if all are known and none evaluates the value.
fn flags_len(text: &[u8]) -> Option<usize> {
    let mut pos = 0;
    let mut prompts = 0;
    loop {
        let flag = *text.get(pos)?;
        pos += 1;
        match flag {
            b')' => return (prompts < 2).then_some(pos - 1),
            b'%' => prompts += 1,
            b'@' | b'A' | b'a' | b'b' | b'c' | b'C' | b'D' | b'f' | b'F' | b'i' | b'k' | b'L' | b'n' | b'o' | b'O'
            | b'P' | b'q' | b'Q' | b't' | b'u' | b'U' | b'v' | b'V' | b'w' | b'W' | b'X' | b'z' | b'0' | b'p'
            | b'm' | b'S' | b'M' | b'R' | b'B' | b'E' | b'N' | b'+' | b'-' | b'#' | b'*' => {}
            b's' | b'j' | b'g' | b'I' | b'l' | b'r' | b'Z' | b'_' => {
                let close = match *text.get(pos)? {
                    b'(' => b')',
                    b'[' => b']',
                    b'<' => b'>',
                    byte if byte.is_ascii_punctuation() && !b"{}'\"`$\\)".contains(&byte) => byte,
                    _ => return None,
                };
                let argument = text.get(pos + 1..)?;
                let len = argument.iter().position(|&byte| byte == close)?;
                if argument.iter().take(len).any(|byte| b"{}'\"`$\\".contains(byte)) {
                    return None;
                }
                pos += len + 2;
            }
            _ => return None,
        }
    }
}
