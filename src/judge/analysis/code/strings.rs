//! Strings of scripting languages: quotes, escapes, here-documents, and interpolated code.

use super::scan::{Scanner, Token, is_name, nested};
use super::{Gap, Language, Slice, Text, TextItem};

/// A string that is being parsed: texts, each followed by code, and the text after the last code.
#[derive(Default)]
struct StringParts {
    before: Vec<(Text, Text)>,
    text: Text,
}

impl StringParts {
    fn code(&mut self, code: Text) {
        self.before.push((std::mem::take(&mut self.text), code));
    }
}

impl Scanner {
    /// Reports whether a single quote begins a string: it ends in the same line.
    pub fn closes_soon(&self) -> bool {
        let mut rest = self.signs.iter().map(|sign| sign.letter()).skip(self.at + 1).take_while(|c| *c != '\n');
        self.peek(1) != '(' && rest.any(|c| c == '\'')
    }

    /// Parses a quoted string, with triple quotes in Python.
    pub fn quoted(&mut self, quote: char, prefix: String) {
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let is_triple = self.language == Language::Python && self.starts(&triple);
        self.at += if is_triple { 3 } else { 1 };
        let ends = |scanner: &Self| if is_triple { scanner.starts(&triple) } else { scanner.peek(0) == quote };
        let raw = prefix.contains('r') || (quote == '\'' && self.is(&[Language::Ruby, Language::Perl, Language::Php]));
        let interpolates = quote != '\'' && self.is(&[Language::Ruby, Language::Perl, Language::Php]);
        let mut parts = StringParts::default();
        while self.at < self.signs.len() && !ends(self) {
            match self.peek(0) {
                '\\' => self.escape(raw, &mut parts.text),
                '$' if quote == '`' && self.peek(1) == '{' => parts.code(self.inner(1, '}')),
                '#' if interpolates && self.language == Language::Ruby && self.peek(1) == '{' => {
                    parts.code(self.inner(1, '}'))
                }
                '{' if prefix.contains('f') && self.peek(1) != '{' => parts.code(self.inner(0, '}')),
                '{' if interpolates && self.language == Language::Php && self.peek(1) == '$' => {
                    parts.code(self.inner(0, '}'))
                }
                '$' | '@'
                    if interpolates
                        && (self.is(&[Language::Perl]) || self.peek(0) == '$' && self.is(&[Language::Php]))
                        && (is_name(self.peek(1)) || self.peek(1) == '{') =>
                {
                    parts.code(self.variable());
                }
                _ => {
                    parts.text.extend(self.sign(0));
                    self.at += 1;
                }
            }
        }
        self.at += if is_triple { 3 } else { 1 };
        self.push_parts(parts);
    }

    /// Parses `$name`, `${name}`, `$name{key}` and `$name[0]` in a string.
    fn variable(&mut self) -> Text {
        let mut code: Text = self.sign(0).into_iter().collect();
        self.at += 1;
        if self.peek(0) == '{' {
            code.push_text(&self.inner(0, '}'));
            return code;
        }
        code.push_text(&self.word(|c| is_name(c) || c.is_ascii_digit()));
        for (open, close) in [('{', '}'), ('[', ']')] {
            if self.peek(0) == open {
                let key = self.inner(0, close);
                code.push(TextItem::Letter(open));
                code.push_text(&key);
                code.push(TextItem::Letter(close));
            }
        }
        code
    }

    fn push_parts(&mut self, mut parts: StringParts) {
        if parts.before.is_empty() {
            self.tokens.push(Token::Text(parts.text));
            return;
        }
        let last = std::mem::take(&mut parts.text);
        self.tokens.push(Token::Mark('('));
        for (text, code) in parts.before {
            self.tokens.extend([Token::Text(text), Token::Mark('+'), Token::Mark('(')]);
            self.tokens.extend(nested(self.language, code.slice(), self.depth + 1));
            self.tokens.extend([Token::Mark(')'), Token::Mark('+')]);
        }
        self.tokens.extend([Token::Text(last), Token::Mark(')')]);
    }

    fn escape(&mut self, raw: bool, text: &mut Text) {
        let (next, sign) = (self.peek(1), self.sign(1));
        self.at += 2;
        if raw {
            if next != '\'' && next != '\\' {
                text.push(TextItem::Letter('\\'));
            }
            // At the end of the code there is no next character.
            text.push(sign.unwrap_or(TextItem::Gap(Gap::Value)));
            return;
        }
        let (digits, radix) = match next {
            '0'..='9' if self.language == Language::Lua => {
                self.at -= 1;
                (3, 10)
            }
            'x' => (2, 16),
            'u' if self.peek(0) != '{' => (4, 16),
            '0'..='7' => {
                self.at -= 1;
                (3, 8)
            }
            _ => (0, 0),
        };
        if digits > 0 {
            let mut code = 0;
            for _ in 0..digits {
                let Some(digit) = self.peek(0).to_digit(radix) else { break };
                code = code * radix + digit;
                self.at += 1;
            }
            let letter = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            text.push(TextItem::Letter(letter));
            return;
        }
        match next {
            'n' => text.push(TextItem::Letter('\n')),
            't' => text.push(TextItem::Letter('\t')),
            'r' => text.push(TextItem::Letter('\r')),
            '\n' => {}
            _ => text.extend(sign),
        }
    }

    /// Parses interpolated code, from `ahead` characters on to its closing bracket.
    fn inner(&mut self, ahead: usize, close: char) -> Text {
        self.at += ahead + 1;
        let begin = self.at;
        let open = if close == ']' { '[' } else { '{' };
        let mut depth = 1;
        while self.at < self.signs.len() {
            match self.peek(0) {
                c if c == open => depth += 1,
                c if c == close => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        let end = if depth == 0 { self.at.saturating_sub(1) } else { self.at };
        self.signs.get(begin..end).unwrap_or_default().iter().copied().collect()
    }

    /// Parses a text with interpolated code, as in double quotes.
    pub fn interpolated(&mut self, text: Slice<'_>) {
        let mut quoted = Text::from("\"");
        let mut escaped = false;
        for sign in text.signs() {
            if sign == TextItem::Letter('"') && !escaped {
                quoted.push(TextItem::Letter('\\'));
            }
            escaped = sign == TextItem::Letter('\\') && !escaped;
            quoted.push(sign);
        }
        quoted.push(TextItem::Letter('"'));
        let tokens = nested(self.language, quoted.slice(), self.depth + 1);
        self.tokens.extend(tokens);
    }

    pub fn backtick(&mut self) {
        self.at += 1;
        let mut text = Text::default();
        while self.at < self.signs.len() && self.peek(0) != '`' {
            match self.peek(0) {
                '\\' => self.escape(false, &mut text),
                '#' if self.peek(1) == '{' => {
                    self.inner(1, '}');
                    text.push_gap(Gap::Value);
                }
                '$' if self.is(&[Language::Perl, Language::Php])
                    && (is_name(self.peek(1)) || self.peek(1).is_ascii_digit()) =>
                {
                    self.variable();
                    text.push_gap(Gap::Value);
                }
                _ => {
                    text.extend(self.sign(0));
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        self.tokens.push(Token::Shell(text));
    }

    /// Parses `%x{…}`, `%w[…]` and `%q(…)` of Ruby.
    pub fn percent(&mut self) {
        let kind = self.peek(1);
        let begin = self.at;
        self.at += 1;
        if matches!(kind, 'x' | 'w' | 'W' | 'q' | 'Q' | 'i' | 'I') {
            self.at += 1;
        }
        match self.delimited() {
            Some(text) if kind == 'x' => self.tokens.push(Token::Shell(without_code(text.slice()))),
            Some(text) if matches!(kind, 'w' | 'W' | 'i' | 'I') => self.word_list('[', text.slice(), ']'),
            Some(text) if kind != 'q' => self.interpolated(text.slice()),
            Some(text) => self.tokens.push(Token::Text(text)),
            None => {
                self.at = begin + 1;
                self.tokens.push(Token::Mark('%'));
            }
        }
    }

    /// Parses the words of `%w[a b]` and `qw(a b)`.
    pub fn word_list(&mut self, open: char, text: Slice<'_>, close: char) {
        self.tokens.push(Token::Mark(open));
        for word in text.rough().split_whitespace() {
            let word = if word.contains("#{") { Gap::Value.into() } else { text.part(word).into() };
            self.tokens.extend([Token::Text(word), Token::Mark(',')]);
        }
        self.tokens.push(Token::Mark(close));
    }

    /// Parses text between brackets, or between other delimiters.
    pub fn delimited(&mut self) -> Option<Text> {
        let begin = self.at;
        while self.peek(0) == ' ' {
            self.at += 1;
        }
        let open = self.peek(0);
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            '|' | '/' | '!' | '#' | '\'' | '"' | '~' => open,
            _ => {
                self.at = begin;
                return None;
            }
        };
        self.at += 1;
        let mut depth = 1;
        let mut text = Text::default();
        while self.at < self.signs.len() {
            let (c, sign) = (self.peek(0), self.sign(0));
            self.at += 1;
            if c == close {
                depth -= 1;
                if depth == 0 {
                    return Some(text);
                }
            } else if c == open {
                depth += 1;
            }
            text.extend(sign);
        }
        Some(text)
    }

    /// Parses `<<NAME`, `<<~NAME`, `<<'NAME'` and `<<<NAME`, whose body is a string. Returns whether there is one.
    pub fn heredoc(&mut self) -> bool {
        let begin = self.at;
        self.at += 2;
        while matches!(self.peek(0), '<' | '~' | '-') {
            self.at += 1;
        }
        let quote = self.peek(0);
        if matches!(quote, '"' | '\'' | '`') {
            self.at += 1;
        }
        let name = self.word(|c| is_name(c) || c.is_ascii_digit());
        if name.is_empty() || !name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_') {
            self.at = begin;
            return false;
        }
        let rest: Text = self.signs.get(self.at..).unwrap_or_default().iter().copied().collect();
        let Some((line, body)) = rest.slice().two(|rest| rest.split_once('\n')) else {
            self.at = begin;
            return false;
        };
        let (mut end, mut length) = (body.len(), body.len());
        let mut at = 0;
        for row in body.rough().split_inclusive('\n') {
            if row.trim().trim_end_matches(';') == name {
                (end, length) = (at, at + row.len());
                break;
            }
            at += row.len();
        }
        let text = body.cut(|body| body.get(..end).unwrap_or_default());
        let after = body.cut(|body| body.get(length..).unwrap_or_default());
        let line = line.cut(|line| line.trim_start_matches(['"', '\'', '`']));
        match quote {
            '`' => self.tokens.push(Token::Shell(without_code(text))),
            '\'' => self.tokens.push(Token::Text(text.into())),
            _ => self.interpolated(text),
        }
        self.signs = line.signs().chain([TextItem::Letter('\n')]).chain(after.signs()).collect();
        self.at = 0;
        true
    }
}

/// Returns a command of Ruby with a gap for each `#{…}`.
fn without_code(text: Slice<'_>) -> Text {
    let mut plain = Text::default();
    let mut rest = text;
    while let Some((before, code)) = rest.two(|rest| rest.split_once("#{")) {
        plain.push_text(before);
        plain.push_gap(Gap::Value);
        rest = code.cut(|code| code.split_once('}').map_or("", |(_, behind)| behind));
    }
    plain.push_text(rest);
    plain
}
