//! The tokens of scripting languages: names, strings, punctuation. Comments are skipped.

use super::{Language, Slice, Text, TextItem};
use crate::judge::rules::word_lists;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// A name or keyword, with a sigil if the language has one; [`UNKNOWN_NAME`] for an unknown one.
    Name(String),
    /// A string.
    Text(Text),
    /// A command in backticks, or in `qx`, `%x`.
    Shell(Text),
    /// A number, or another value.
    Number(String),
    /// A punctuation character.
    Mark(char),
    /// The end of a line, if it ends statements in the language.
    Line,
}

/// The token for an unknown name. A name in code does not contain this character.
pub const UNKNOWN_NAME: &str = "\0";

/// The punctuation characters that are names of variables of Perl and Ruby after `$` and have another meaning
/// elsewhere.
const SPECIAL: &str = "#`'\"/<>()&;";

/// Maximum nesting of code in strings in code.
const MAX_NESTING: u8 = 6;

/// Splits a text into tokens. It never fails: other characters are punctuation. A string with interpolated code becomes
/// its parts, joined by `+` in brackets.
pub fn tokens<'t>(language: Language, text: impl Into<Slice<'t>>) -> Vec<Token> {
    nested(language, text.into(), 0)
}

pub(super) fn nested(language: Language, text: Slice<'_>, depth: u8) -> Vec<Token> {
    if depth > MAX_NESTING {
        return vec![Token::Name(UNKNOWN_NAME.to_owned())];
    }
    let mut scanner = Scanner { language, signs: text.signs().collect(), at: 0, depth, tokens: Vec::new() };
    scanner.skip_document();
    while scanner.at < scanner.signs.len() {
        scanner.one();
    }
    scanner.tokens
}

pub(super) struct Scanner {
    pub language: Language,
    pub signs: Vec<TextItem>,
    pub at: usize,
    pub depth: u8,
    pub tokens: Vec<Token>,
}

impl Scanner {
    pub fn peek(&self, ahead: usize) -> char {
        self.sign(ahead).map_or('\0', TextItem::letter)
    }

    pub fn sign(&self, ahead: usize) -> Option<TextItem> {
        self.signs.get(self.at + ahead).copied()
    }

    /// Returns the text since `begin`.
    pub fn since(&self, begin: usize) -> Text {
        self.signs.get(begin..self.at.min(self.signs.len())).unwrap_or_default().iter().copied().collect()
    }

    pub fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == c)
    }

    pub fn is(&self, languages: &[Language]) -> bool {
        languages.contains(&self.language)
    }

    fn one(&mut self) {
        let c = self.peek(0);
        let hashes = self.is(&[Language::Python, Language::Ruby, Language::Perl, Language::Php, Language::Awk]);
        let slashes = self.is(&[Language::Js, Language::Mongo, Language::Php]);
        match c {
            '\n' => {
                self.at += 1;
                self.tokens.push(Token::Line);
                self.skip_document();
            }
            c if c.is_whitespace() => self.at += 1,
            '#' if hashes => self.skip_line(),
            '-' if self.language == Language::Lua && self.starts("--[[") => self.skip_past("]]"),
            '-' if self.language == Language::Lua && self.starts("--") => self.skip_line(),
            '/' if slashes && self.starts("//") => self.skip_line(),
            '/' if slashes && self.starts("/*") => self.skip_past("*/"),
            '/' if self.is(&[Language::Js, Language::Mongo, Language::Ruby, Language::Perl, Language::Awk])
                && self.may_be_pattern() =>
            {
                self.pattern()
            }
            '\'' if self.language == Language::Other && !self.closes_soon() => {
                self.at += 1;
                self.tokens.push(Token::Mark(c));
            }
            '"' | '\'' => self.quoted(c, String::new()),
            '`' if self.is(&[Language::Js, Language::Mongo]) => self.quoted('`', String::new()),
            '`' => self.backtick(),
            '%' if self.language == Language::Ruby && (!self.after_value() || self.begins_text()) => self.percent(),
            '<' if self.starts("<<") && self.is(&[Language::Ruby, Language::Perl, Language::Php]) && self.heredoc() => {
            }
            '[' if self.language == Language::Lua && self.starts("[[") => {
                self.at += 2;
                let text = self.until("]]");
                self.tokens.push(Token::Text(text));
            }
            c if c.is_ascii_digit() => {
                let word = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                self.tokens.push(Token::Number(word));
            }
            '$' if self.language == Language::Js && self.peek(1) == '`' => {
                self.at += 1;
                self.tokens.push(Token::Name("$".to_owned()));
            }
            // A variable whose name is one punctuation character, which does not begin a string: `$'`, `` $` ``, `$/`.
            '$' if self.is(&[Language::Perl, Language::Ruby]) && SPECIAL.contains(self.peek(1)) => {
                let name = format!("${}", self.peek(1));
                self.at += 2;
                self.tokens.push(Token::Name(name));
            }
            // `@` of PHP only suppresses errors.
            '@' if self.language == Language::Php => self.at += 1,
            c if is_name(c) || (matches!(c, '$' | '@') && (is_name(self.peek(1)) || self.peek(1) == '{')) => {
                self.name()
            }
            _ if matches!(self.sign(0), Some(TextItem::Gap(_))) => {
                self.at += 1;
                self.tokens.push(Token::Name(UNKNOWN_NAME.to_owned()));
            }
            c => {
                self.at += 1;
                self.tokens.push(Token::Mark(c));
            }
        }
    }

    pub fn word(&mut self, part: impl Fn(char) -> bool) -> String {
        let begin = self.at;
        while self.at < self.signs.len() && part(self.peek(0)) {
            self.at += 1;
        }
        self.signs.get(begin..self.at).unwrap_or_default().iter().map(|sign| sign.letter()).collect()
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
        if self.language == Language::Python && prefix && matches!(self.peek(0), '"' | '\'') {
            let quote = self.peek(0);
            return self.quoted(quote, name.to_ascii_lowercase());
        }
        if self.language == Language::Perl
            && matches!(name.as_str(), "s" | "m" | "qr" | "tr" | "y")
            && self.perl_pattern(&name)
        {
            return;
        }
        if self.language == Language::Perl
            && matches!(name.as_str(), "q" | "qq" | "qx" | "qw")
            && !self.after_arrow()
            && let Some(text) = self.delimited()
        {
            match name.as_str() {
                "qx" => self.tokens.push(Token::Shell(text)),
                "qq" => self.interpolated(text.slice()),
                "qw" => self.word_list('(', text.slice(), ')'),
                _ => self.tokens.push(Token::Text(text)),
            }
            return;
        }
        self.tokens.push(Token::Name(name));
    }

    /// Parses `s/…/…/e`, `m{…}`, `tr/…/…/` of Perl, with the code in it. Returns whether there is one.
    fn perl_pattern(&mut self, kind: &str) -> bool {
        if self.after_arrow()
            || !matches!(self.peek(0), '/' | '{' | '(' | '[' | '<' | '|' | '!' | '#' | '~' | '"' | '\'')
        {
            return false;
        }
        let begin = self.at;
        let open = self.peek(0);
        let Some(pattern) = self.delimited() else { return false };
        // `{s}` is a key of a hash.
        if self.at >= self.signs.len()
            && self.signs.last() != Some(&TextItem::Letter(open))
            && !matches!(open, '{' | '(' | '[' | '<')
        {
            self.at = begin;
            return false;
        }
        let inside = |mark| pattern.rough().split(mark).skip(1);
        let mut code: Vec<Text> = inside("(?{")
            .chain(inside("(??{"))
            .map(|rest| pattern.slice().part(rest.split("})").next().unwrap_or_default()).into())
            .collect();
        let changes = matches!(kind, "s" | "tr" | "y");
        let mut keeps = !changes;
        if changes {
            if !matches!(open, '{' | '(' | '[' | '<') {
                self.at = self.at.saturating_sub(1);
            }
            let replacement = self.delimited().unwrap_or_default();
            let flags = self.word(|c| c.is_ascii_alphabetic());
            keeps = flags.contains('r');
            code.extend(flags.contains('e').then_some(replacement));
        } else {
            self.word(|c| c.is_ascii_alphabetic());
        }
        if keeps || !self.changes_a_variable() {
            self.tokens.push(Token::Number("/".into()));
        }
        for code in code {
            self.tokens.push(Token::Mark(';'));
            self.tokens.extend(nested(self.language, code.slice(), self.depth + 1));
        }
        true
    }

    /// Marks the variable before a substitution, or `$_`, as unknown. Returns whether it did.
    fn changes_a_variable(&mut self) -> bool {
        let changed = [Token::Name("changed".into()), Token::Mark('('), Token::Mark(')')];
        match self.tokens.as_slice() {
            [.., Token::Name(name), Token::Mark('='), Token::Mark('~')] if name.starts_with('$') => {
                self.tokens.pop();
            }
            [] | [.., Token::Line | Token::Mark(';' | '{' | '}' | '(' | '&' | '|')] => {
                self.tokens.extend([Token::Name("$_".into()), Token::Mark('=')]);
            }
            _ => return false,
        }
        self.tokens.extend(changed);
        true
    }

    fn after_arrow(&self) -> bool {
        matches!(self.tokens.last(), Some(Token::Mark('>' | '.' | ':')))
    }

    pub fn after_value(&self) -> bool {
        matches!(
            self.tokens.last(),
            Some(Token::Text(_) | Token::Number(_) | Token::Name(_) | Token::Mark(')' | ']' | '}'))
        )
    }

    /// Reports whether `%` begins a string after a name in Ruby (`name %q(…)`), and is not the remainder operator.
    fn begins_text(&self) -> bool {
        let apart =
            self.at.checked_sub(1).and_then(|at| self.signs.get(at)).is_some_and(|sign| sign.letter().is_whitespace());
        let named = matches!(self.tokens.last(), Some(Token::Name(_)));
        let kind = matches!(self.peek(1), 'q' | 'Q' | 'w' | 'W' | 'i' | 'I' | 'x');
        // After a number, `%` directly before a bracket begins a string; after a name it may be an operator.
        let takes_text = || matches!(self.tokens.last(), Some(Token::Name(name)) if word_lists::RUBY_TEXT_TAKING_FUNCTIONS.contains(&name.as_str()));
        let open = |c: char| matches!(c, '(' | '{' | '[' | '<');
        apart && named && (kind && open(self.peek(2)) || open(self.peek(1)) && takes_text())
    }

    /// Reports whether a slash begins a regular expression: there is no value before it.
    fn may_be_pattern(&self) -> bool {
        !self.after_value()
            || matches!(self.tokens.last(), Some(Token::Name(name)) if word_lists::WORDS_BEFORE_PATTERNS.contains(&name.as_str()))
    }

    fn pattern(&mut self) {
        let begin = self.at;
        self.at += 1;
        let mut class = false;
        while self.at < self.signs.len() && self.peek(0) != '\n' {
            match self.peek(0) {
                '\\' => self.at += 1,
                '[' => class = true,
                ']' => class = false,
                '/' if !class => {
                    let pattern = self.since(begin);
                    self.at += 1;
                    self.word(|c| c.is_ascii_alphabetic());
                    self.tokens.push(Token::Number("/".into()));
                    let code = pattern.slice().find(|text| Some(text.split_once("(?{")?.1.trim_end_matches("})")));
                    if let Some(code) = code.filter(|_| self.language == Language::Perl) {
                        self.tokens.push(Token::Mark(';'));
                        self.tokens.extend(nested(self.language, code, self.depth + 1));
                    }
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
        // The expression does not end, so it is a division.
        self.at = begin + 1;
        self.tokens.push(Token::Mark('/'));
    }

    /// Skips documentation at the beginning of a line (`=pod … =cut` of Perl, `=begin … =end` of Ruby), and the text
    /// after the end of the code.
    fn skip_document(&mut self) {
        // Inside a statement it is not documentation.
        let before = self.tokens.iter().rev().find(|token| **token != Token::Line);
        if !matches!(before, None | Some(Token::Mark(';' | '}' | '{'))) && self.language == Language::Perl {
            return;
        }
        let end = match self.language {
            Language::Perl if self.peek(0) == '=' && self.peek(1).is_ascii_alphabetic() => "\n=cut",
            Language::Ruby if self.starts("=begin") => "\n=end",
            Language::Perl | Language::Ruby
                if self.starts("__END__\n") || self.starts("__DATA__\n") && self.language == Language::Perl =>
            {
                self.at = self.signs.len();
                return;
            }
            _ => return,
        };
        self.skip_past(end);
        self.skip_line();
    }

    fn skip_line(&mut self) {
        while self.at < self.signs.len() && self.peek(0) != '\n' {
            self.at += 1;
        }
    }

    fn skip_past(&mut self, end: &str) {
        while self.at < self.signs.len() && !self.starts(end) {
            self.at += 1;
        }
        self.at += end.len();
    }

    fn until(&mut self, end: &str) -> Text {
        let begin = self.at;
        while self.at < self.signs.len() && !self.starts(end) {
            self.at += 1;
        }
        let text = self.since(begin);
        self.at += end.chars().count();
        text
    }
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}
