//! Tokens of scripting languages: names, strings, marks. Comments are left out.

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A name or keyword, with a sigil where the language has one.
    Name(String),
    /// A string; what is interpolated in it is a [`super::HOLE`].
    Text(String),
    /// A command between backticks or in `qx`, `%x`.
    Shell(String),
    /// A number, or anything else that stands for a value.
    Number(String),
    /// One mark.
    Mark(char),
    /// The end of a line, where the language ends statements by it.
    Line,
}

/// The deepest nesting of code in strings in code.
const MAX_NESTING: u8 = 6;

/// Reads all of a text. Never fails: what is no token is a mark. A string with code in it becomes its parts, joined by
/// `+` in brackets.
pub fn tokens(language: &str, text: &str) -> Vec<Token> {
    nested(language, text, 0)
}

fn nested(language: &str, text: &str, depth: u8) -> Vec<Token> {
    if depth > MAX_NESTING {
        return vec![Token::Name(super::HOLE.to_string())];
    }
    let mut scanner = Scanner { language, chars: text.chars().collect(), at: 0, depth, tokens: Vec::new() };
    while scanner.at < scanner.chars.len() {
        scanner.one();
    }
    scanner.tokens
}

/// A string on the way: texts, each with the code behind it, and the text after the last.
#[derive(Default)]
struct Parts {
    before: Vec<(String, String)>,
    text: String,
}

impl Parts {
    fn code(&mut self, code: String) {
        self.before.push((std::mem::take(&mut self.text), code));
    }
}

struct Scanner<'a> {
    language: &'a str,
    chars: Vec<char>,
    at: usize,
    depth: u8,
    tokens: Vec<Token>,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == c)
    }

    fn is(&self, languages: &[&str]) -> bool {
        languages.contains(&self.language)
    }

    fn one(&mut self) {
        let c = self.peek(0);
        let hashes = self.is(&["python", "ruby", "perl", "php", "awk"]);
        let slashes = self.is(&["js", "mongo", "php"]);
        match c {
            '\n' => {
                self.at += 1;
                self.tokens.push(Token::Line);
            }
            c if c.is_whitespace() => self.at += 1,
            '#' if hashes => self.skip_line(),
            '-' if self.language == "lua" && self.starts("--[[") => self.skip_past("]]"),
            '-' if self.language == "lua" && self.starts("--") => self.skip_line(),
            '/' if slashes && self.starts("//") => self.skip_line(),
            '/' if slashes && self.starts("/*") => self.skip_past("*/"),
            '/' if self.is(&["js", "mongo", "ruby", "perl", "awk"]) && self.may_be_pattern() => self.pattern(),
            '\'' if self.language == "other" && !self.closes_soon() => {
                self.at += 1;
                self.tokens.push(Token::Mark(c));
            }
            '"' | '\'' => self.quoted(c, String::new()),
            '`' if self.is(&["js", "mongo"]) => self.quoted('`', String::new()),
            '`' => self.backtick(),
            '%' if self.language == "ruby" && !self.after_value() => self.percent(),
            '<' if self.starts("<<") && self.is(&["ruby", "perl", "php"]) && self.heredoc() => {}
            '[' if self.language == "lua" && self.starts("[[") => {
                self.at += 2;
                let text = self.until("]]");
                self.tokens.push(Token::Text(text));
            }
            c if c.is_ascii_digit() => {
                let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                self.tokens.push(Token::Number(word));
            }
            '$' if self.language == "js" && self.peek(1) == '`' => {
                self.at += 1;
                self.tokens.push(Token::Name("$".to_owned()));
            }
            c if is_name(c) || (matches!(c, '$' | '@') && (is_name(self.peek(1)) || self.peek(1) == '{')) => {
                self.name()
            }
            super::HOLE => {
                self.at += 1;
                self.tokens.push(Token::Name(super::HOLE.to_string()));
            }
            c => {
                self.at += 1;
                self.tokens.push(Token::Mark(c));
            }
        }
    }

    fn word(&mut self, part: impl Fn(char) -> bool) -> String {
        let begin = self.at;
        while self.at < self.chars.len() && part(self.peek(0)) {
            self.at += 1;
        }
        self.chars.get(begin..self.at).unwrap_or_default().iter().collect()
    }

    fn name(&mut self) {
        let mut name = String::new();
        if matches!(self.peek(0), '$' | '@') {
            name.push(self.peek(0));
            self.at += 1;
        }
        name.push_str(&self.word(|c| is_name(c) || c.is_ascii_digit()));
        // String prefixes of Python: r"", f"", b"", rb"".
        let prefix = name.len() <= 2 && name.chars().all(|c| "rRbBfFuU".contains(c));
        if self.language == "python" && prefix && matches!(self.peek(0), '"' | '\'') {
            let quote = self.peek(0);
            return self.quoted(quote, name.to_ascii_lowercase());
        }
        if self.language == "perl"
            && matches!(name.as_str(), "q" | "qq" | "qx" | "qw")
            && !self.after_arrow()
            && let Some(text) = self.delimited()
        {
            self.tokens.push(match name.as_str() {
                "qx" => Token::Shell(text),
                _ => Token::Text(text),
            });
            return;
        }
        self.tokens.push(Token::Name(name));
    }

    fn after_arrow(&self) -> bool {
        matches!(self.tokens.last(), Some(Token::Mark('>' | '.' | ':')))
    }

    fn after_value(&self) -> bool {
        matches!(
            self.tokens.last(),
            Some(Token::Text(_) | Token::Number(_) | Token::Name(_) | Token::Mark(')' | ']' | '}'))
        )
    }

    /// A slash begins a regular expression where no value stands in front of it.
    fn may_be_pattern(&self) -> bool {
        !self.after_value()
            || matches!(self.tokens.last(), Some(Token::Name(name)) if name == "return" || name == "split")
    }

    fn pattern(&mut self) {
        let begin = self.at;
        self.at += 1;
        let mut class = false;
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            match self.peek(0) {
                '\\' => self.at += 1,
                '[' => class = true,
                ']' => class = false,
                '/' if !class => {
                    self.at += 1;
                    self.word(|c| c.is_ascii_alphabetic());
                    self.tokens.push(Token::Number("/".into()));
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
        // It did not end: a division after all.
        self.at = begin + 1;
        self.tokens.push(Token::Mark('/'));
    }

    fn skip_line(&mut self) {
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            self.at += 1;
        }
    }

    fn skip_past(&mut self, end: &str) {
        while self.at < self.chars.len() && !self.starts(end) {
            self.at += 1;
        }
        self.at += end.len();
    }

    fn until(&mut self, end: &str) -> String {
        let begin = self.at;
        while self.at < self.chars.len() && !self.starts(end) {
            self.at += 1;
        }
        let text = self.chars.get(begin..self.at.min(self.chars.len())).unwrap_or_default().iter().collect();
        self.at += end.chars().count();
        text
    }

    /// A single quote that is a string and no mark: it ends in the same line.
    fn closes_soon(&self) -> bool {
        let mut rest = self.chars.iter().skip(self.at + 1).take_while(|c| **c != '\n');
        self.peek(1) != '(' && rest.any(|c| *c == '\'')
    }

    /// A quoted string from its quote on; triple quotes in Python.
    fn quoted(&mut self, quote: char, prefix: String) {
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let is_triple = self.language == "python" && self.starts(&triple);
        self.at += if is_triple { 3 } else { 1 };
        let ends = |scanner: &Self| if is_triple { scanner.starts(&triple) } else { scanner.peek(0) == quote };
        let raw = prefix.contains('r') || (quote == '\'' && self.is(&["ruby", "perl", "php"]));
        let interpolates = quote != '\'' && self.is(&["ruby", "perl", "php"]);
        let mut parts = Parts::default();
        while self.at < self.chars.len() && !ends(self) {
            match self.peek(0) {
                '\\' => self.escape(raw, &mut parts.text),
                '$' if quote == '`' && self.peek(1) == '{' => parts.code(self.inner(1, '}')),
                '#' if interpolates && self.language == "ruby" && self.peek(1) == '{' => parts.code(self.inner(1, '}')),
                '{' if prefix.contains('f') && self.peek(1) != '{' => parts.code(self.inner(0, '}')),
                '{' if interpolates && self.language == "php" && self.peek(1) == '$' => parts.code(self.inner(0, '}')),
                '$' | '@'
                    if interpolates && self.is(&["perl", "php"]) && (is_name(self.peek(1)) || self.peek(1) == '{') =>
                {
                    parts.code(self.variable());
                }
                c => {
                    parts.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += if is_triple { 3 } else { 1 };
        self.push_parts(parts);
    }

    /// `$name`, `${name}`, `$name{key}`, `$name[0]` in a string.
    fn variable(&mut self) -> String {
        let mut code = String::from(self.peek(0));
        self.at += 1;
        if self.peek(0) == '{' {
            code.push_str(&self.inner(0, '}'));
            return code;
        }
        code.push_str(&self.word(|c| is_name(c) || c.is_ascii_digit()));
        for (open, close) in [('{', '}'), ('[', ']')] {
            if self.peek(0) == open {
                let key = self.inner(0, close);
                code.extend([open].into_iter().chain(key.chars()).chain([close]));
            }
        }
        code
    }

    fn push_parts(&mut self, mut parts: Parts) {
        if parts.before.is_empty() {
            self.tokens.push(Token::Text(parts.text));
            return;
        }
        let last = std::mem::take(&mut parts.text);
        self.tokens.push(Token::Mark('('));
        for (text, code) in parts.before {
            self.tokens.extend([Token::Text(text), Token::Mark('+'), Token::Mark('(')]);
            self.tokens.extend(nested(self.language, &code, self.depth + 1));
            self.tokens.extend([Token::Mark(')'), Token::Mark('+')]);
        }
        self.tokens.extend([Token::Text(last), Token::Mark(')')]);
    }

    fn escape(&mut self, raw: bool, text: &mut String) {
        let next = self.peek(1);
        self.at += 2;
        if raw {
            if next != '\'' && next != '\\' {
                text.push('\\');
            }
            text.push(next);
            return;
        }
        let (digits, radix) = match next {
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
            text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            return;
        }
        match next {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '\n' | '\0' => {}
            other => text.push(other),
        }
    }

    /// Something that is interpolated, from `ahead` characters on up to its closing bracket.
    fn inner(&mut self, ahead: usize, close: char) -> String {
        self.at += ahead + 1;
        let begin = self.at;
        let open = if close == ']' { '[' } else { '{' };
        let mut depth = 1;
        while self.at < self.chars.len() {
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
        self.chars.get(begin..end).unwrap_or_default().iter().collect()
    }

    fn backtick(&mut self) {
        self.at += 1;
        let mut text = String::new();
        while self.at < self.chars.len() && self.peek(0) != '`' {
            match self.peek(0) {
                '\\' => self.escape(false, &mut text),
                '#' if self.peek(1) == '{' => {
                    self.inner(1, '}');
                    text.push(super::HOLE);
                }
                c => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        self.tokens.push(Token::Shell(text));
    }

    /// Ruby's `%x{…}`, `%w[…]`, `%q(…)`.
    fn percent(&mut self) {
        let kind = self.peek(1);
        let begin = self.at;
        self.at += 1;
        if matches!(kind, 'x' | 'w' | 'W' | 'q' | 'Q' | 'i' | 'I') {
            self.at += 1;
        }
        match self.delimited() {
            Some(text) if kind == 'x' => self.tokens.push(Token::Shell(text)),
            Some(text) => self.tokens.push(Token::Text(text)),
            None => {
                self.at = begin + 1;
                self.tokens.push(Token::Mark('%'));
            }
        }
    }

    /// Text between brackets or any other two marks.
    fn delimited(&mut self) -> Option<String> {
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
        let mut text = String::new();
        while self.at < self.chars.len() {
            let c = self.peek(0);
            self.at += 1;
            if c == close {
                depth -= 1;
                if depth == 0 {
                    return Some(text);
                }
            } else if c == open {
                depth += 1;
            }
            text.push(c);
        }
        Some(text)
    }

    /// `<<NAME`, `<<~NAME`, `<<'NAME'`, `<<<NAME`: the body is a string. Whether it is one.
    fn heredoc(&mut self) -> bool {
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
        let rest: String = self.chars.get(self.at..).unwrap_or_default().iter().collect();
        let Some((line, body)) = rest.split_once('\n') else {
            self.at = begin;
            return false;
        };
        let mut text = String::new();
        let mut after = String::new();
        let mut ended = false;
        for row in body.split_inclusive('\n') {
            if ended {
                after.push_str(row);
            } else if row.trim().trim_end_matches(';') == name {
                ended = true;
            } else {
                text.push_str(row);
            }
        }
        let line = line.trim_start_matches(['"', '\'', '`']);
        self.tokens.push(if quote == '`' { Token::Shell(text) } else { Token::Text(text) });
        self.chars = line.chars().chain(['\n']).chain(after.chars()).collect();
        self.at = 0;
        true
    }
}

fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}
