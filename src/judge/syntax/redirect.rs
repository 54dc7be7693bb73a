//! Parses redirections.

use super::heredoc::Pending;
use super::parser::{ParseResult, Parser};
use super::tree::{
    Dialect, Heredoc, ParseErrorKind, Part, Redirect, RedirectFd, RedirectOp, RedirectTarget, Span, Word,
};

impl Parser<'_> {
    /// Parses the redirections after a compound command.
    pub(super) fn redirects(&mut self, redirects: &mut Vec<Redirect>) -> ParseResult {
        loop {
            self.blanks()?;
            let byte = self.peek();
            if !matches!(byte, b'<' | b'>' | b'&' | b'{' | b'0'..=b'9') || !self.redirect(redirects)? {
                return Ok(());
            }
        }
    }

    /// Parses a redirection. Returns false and consumes nothing if none begins here.
    pub(super) fn redirect(&mut self, redirects: &mut Vec<Redirect>) -> ParseResult<bool> {
        let start = self.pos;
        let (fd, operator) = match self.peek() {
            b'0'..=b'9' => self.number_before_redirect(),
            b'{' => self.variable_before_redirect(),
            _ => (RedirectFd::Default, self.pos),
        };
        self.pos = operator;
        if self.zsh_number_range().is_some() {
            self.pos = start;
            return Ok(false);
        }
        let Some(op) = self.operator() else {
            self.pos = start;
            return Ok(false);
        };
        self.spend(1)?;
        let target = if op == RedirectOp::Heredoc {
            let strip_tabs = self.take(b'-');
            RedirectTarget::Heredoc(self.heredoc(strip_tabs)?)
        } else {
            self.blanks()?;
            let mut word = Word::default();
            self.enter()?;
            self.whole_word(&mut word)?;
            self.leave();
            RedirectTarget::Word(word)
        };
        redirects.push(Redirect { fd, op, target, span: self.span_from(start) });
        Ok(true)
    }

    /// Returns the digits of `2>` as a number, and the position of the operator.
    fn number_before_redirect(&self) -> (RedirectFd, usize) {
        let mut pos = self.pos;
        let mut number: Option<u32> = Some(0);
        loop {
            pos = self.past_continuations(pos);
            let byte = self.raw(pos);
            if !byte.is_ascii_digit() {
                break;
            }
            number = number.and_then(|n| n.checked_mul(10)?.checked_add(u32::from(byte - b'0')));
            pos += 1;
        }
        match number {
            // A number is a descriptor only if it is in range and `<` or `>` follows. Otherwise it is a word.
            Some(number) if number <= i32::MAX as u32 && matches!(self.raw(pos), b'<' | b'>') => {
                (RedirectFd::Number(number), pos)
            }
            _ => (RedirectFd::Default, self.pos),
        }
    }

    /// Returns the name of `{name}>`, and the position of the operator.
    fn variable_before_redirect(&self) -> (RedirectFd, usize) {
        let start = self.past_continuations(self.pos + 1);
        let mut end = self.name_end(start);
        if end > start && self.raw(end) == b'[' {
            let rest = self.text.get(end..).unwrap_or_default();
            let plain = rest.iter().position(|&byte| matches!(byte, b']' | b'\n' | b' ' | b'$' | b'`'));
            if let Some(len) = plain.filter(|&len| rest.get(len) == Some(&b']')) {
                end += len + 1;
            }
        }
        let close = self.past_continuations(end);
        let operator = self.past_continuations(close + 1);
        if end > start && self.raw(close) == b'}' && matches!(self.raw(operator), b'<' | b'>') {
            (RedirectFd::Variable(self.plain(start, end)), operator)
        } else {
            (RedirectFd::Default, self.pos)
        }
    }

    /// Consumes a redirection operator. `<(` and `>(` are not operators.
    fn operator(&mut self) -> Option<RedirectOp> {
        let first = self.peek();
        let (second, at) = self.peek_second();
        let (op, end) = match (first, second) {
            (b'<' | b'>', b'(') => return None,
            (b'<', b'<') => {
                let third = self.past_continuations(at + 1);
                if self.raw(third) == b'<' {
                    (RedirectOp::HereString, third + 1)
                } else {
                    (RedirectOp::Heredoc, at + 1)
                }
            }
            (b'<', b'>') => (RedirectOp::ReadWrite, at + 1),
            (b'<', b'&') => (RedirectOp::DuplicateIn, at + 1),
            (b'<', _) => (RedirectOp::Read, self.pos + 1),
            (b'>', b'>') => (RedirectOp::Append, at + 1),
            (b'>', b'&') => (RedirectOp::DuplicateOut, at + 1),
            (b'>', b'|') => (RedirectOp::Clobber, at + 1),
            (b'>', _) => (RedirectOp::Write, self.pos + 1),
            (b'&', b'>') if self.dialect != Dialect::Sh => {
                let third = self.past_continuations(at + 1);
                match self.raw(third) {
                    b'>' => (RedirectOp::AppendBoth, third + 1),
                    _ => (RedirectOp::WriteBoth, at + 1),
                }
            }
            _ => return None,
        };
        self.pos = end;
        Some(self.zsh_operator(op))
    }

    /// Parses the delimiter of a here-document and adds the document to the pending ones.
    fn heredoc(&mut self, strip_tabs: bool) -> ParseResult<Heredoc> {
        self.blanks()?;
        let start = self.pos;
        let mut word = Word::default();
        self.whole_word(&mut word)?;
        let raw = self.text.get(start..self.pos).unwrap_or_default();
        let mut delimiter = String::new();
        let quoted = collect_delimiter(&word.parts, &mut delimiter);
        let Some(quoted) = quoted.filter(|_| std::str::from_utf8(raw).is_ok()) else {
            self.pos = start;
            return Err(self.fail(ParseErrorKind::Unsupported("a here-document delimiter that is no plain text")));
        };
        let id = self.bodies.len();
        self.bodies.push(Word::default());
        self.pending.push(Pending { id, delimiter: delimiter.clone(), quoted, strip_tabs });
        // Until the body is inserted, its span contains its number.
        let id = super::cursor::offset(id);
        Ok(Heredoc { delimiter, quoted, strip_tabs, body: Word { parts: Vec::new(), span: Span::new(id, id) } })
    }
}

/// Collects the text of a delimiter. Returns whether a part of it was quoted; `None` if it contains anything else than
/// text.
fn collect_delimiter(parts: &[Part], text: &mut String) -> Option<bool> {
    let mut quoted = false;
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Escaped(literal) | Part::Single(literal) | Part::AnsiC(literal) => {
                quoted = true;
                text.push_str(literal);
            }
            Part::Double { parts, localized: false } => {
                quoted = true;
                for part in parts {
                    let Part::Literal(literal) = part else { return None };
                    text.push_str(literal);
                }
            }
            _ => return None,
        }
    }
    Some(quoted)
}
