//! awk: `system(…)`, pipes to and from commands, files that are read and written, connections.

use std::collections::HashMap;

use super::expression::MAX_TEXT;
use super::scan::{Token, tokens};
use super::{Call, Gap, Language, MAX_CALLS, Slice, Text, World, value};
use crate::judge::analysis::fuel::cost;
use crate::judge::rules::catalog::languages;

/// Parses a program.
pub fn read(text: Slice<'_>, world: World<'_>) -> Vec<Call> {
    let tokens = tokens(Language::Awk, text);
    let mut reader = Awk {
        tokens: &tokens,
        at: 0,
        home: world.home,
        known: HashMap::new(),
        calls: Vec::new(),
        printing: false,
        asks: super::names::asks(&tokens),
        spend: world.spend,
    };
    reader.all();
    reader.calls
}

struct Awk<'a> {
    tokens: &'a [Token],
    at: usize,
    home: &'a str,
    /// The variables with known text.
    known: HashMap<String, Text>,
    calls: Vec<Call>,
    /// Whether the current statement prints.
    printing: bool,
    /// Whether the program tests names before it prints them.
    asks: bool,
    /// Charges work.
    spend: &'a dyn Fn(u64) -> bool,
}

impl Awk<'_> {
    fn mark(&self, at: usize, mark: char) -> bool {
        self.tokens.get(at) == Some(&Token::Mark(mark))
    }

    fn name(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    fn call(&mut self, callee: &str, text: &Text) {
        self.calls.push(Call::new(callee.to_owned(), vec![value(text)]));
    }

    fn all(&mut self) {
        // The printed text, and the last text before a pipe.
        let (mut printed, mut last) = (Text::default(), Text::default());
        // The printed text is formatted.
        let mut pattern = false;
        while let Some(token) = self.tokens.get(self.at).filter(|_| self.calls.len() <= MAX_CALLS) {
            if !(self.spend)(cost::TOKEN) {
                return;
            }
            match token {
                Token::Name(name) if name == "system" && self.mark(self.at + 1, '(') => {
                    self.at += 2;
                    let command = self.text();
                    self.call("system", &command);
                }
                Token::Name(name) if name == "print" || name == "printf" => {
                    pattern = name == "printf";
                    (self.printing, printed) = (true, Text::default());
                    self.at += 1;
                }
                Token::Name(name) if name == "getline" => {
                    self.at += 1;
                    if self.name(self.at).is_some() {
                        self.at += 1;
                    }
                    if self.mark(self.at, '<') {
                        self.at += 1;
                        let file = self.text();
                        self.call("read", &file);
                    }
                }
                Token::Name(name) if self.mark(self.at + 1, '=') && !self.mark(self.at + 2, '=') => {
                    let name = name.clone();
                    self.at += 2;
                    last = self.text();
                    self.known.insert(name, last.clone());
                }
                Token::Mark('|') if self.mark(self.at + 1, '|') => self.at += 2,
                Token::Mark('|') => {
                    self.at += if self.mark(self.at + 1, '&') { 2 } else { 1 };
                    if self.name(self.at) == Some("getline") {
                        self.call("pipe", &last.clone());
                        continue;
                    }
                    let command = self.text();
                    self.call("pipe", &command);
                    let shell = command.rough().rsplit('/').next().unwrap_or_default();
                    if self.printing && matches!(shell, "sh" | "bash" | "zsh" | "dash" | "ksh") {
                        let unknown = printed.is_empty() || pattern && printed.rough().contains('%');
                        let text = if unknown { Gap::Value.into() } else { printed.clone() };
                        self.call("system", &text);
                    }
                }
                Token::Mark('>') if self.printing => {
                    let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
                    let nothing = printed.is_empty() && before == Some(&Token::Text(Text::default()));
                    let append = self.mark(self.at + 1, '>');
                    self.at += if append { 2 } else { 1 };
                    let file = self.text();
                    if nothing && !append {
                        self.call("empty", &file);
                    }
                    self.call(if append { "append" } else { "write" }, &file);
                }
                Token::Mark(';' | '}') | Token::Line => {
                    self.printing = false;
                    self.at += 1;
                }
                Token::Text(_) | Token::Name(_) => {
                    last = self.text();
                    if self.printing {
                        printed.push_text(&last);
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// Parses adjacent strings and variables, with a gap for each unknown one.
    fn text(&mut self) -> Text {
        let mut all = Text::default();
        let begin = self.at;
        while let Some(token) = self.tokens.get(self.at) {
            match token {
                Token::Text(text) => {
                    if ["/inet/", "/inet4/", "/inet6/"].iter().any(|inet| text.rough().starts_with(inet)) {
                        let text = text.clone();
                        self.call("connect", &text);
                    }
                    all.push_text(text);
                }
                Token::Name(name) if name == "ENVIRON" && self.mark(self.at + 1, '[') => {
                    let key = self.tokens.get(self.at + 2).cloned();
                    let home = matches!(&key, Some(Token::Text(key)) if languages().is_home(key.rough()));
                    let secret = match key {
                        Some(Token::Text(key)) => crate::judge::analysis::secret_names::is_secret_name(key.rough()),
                        _ => !self.asks,
                    };
                    if secret && self.printing {
                        self.calls.push(Call::new("show-secret".into(), Vec::new()));
                    }
                    match home {
                        true => all.push_text(self.home),
                        false => all.push_gap(Gap::Value),
                    }
                    self.at += 3;
                }
                Token::Name(name) if matches!(name.as_str(), "getline" | "print" | "printf") => break,
                Token::Name(name) => {
                    let paid = |text: &&Text| (self.spend)(cost::TOKEN + text.size() as u64 / 8);
                    match self.known.get(name).filter(|text| all.len() + text.len() <= MAX_TEXT).filter(paid) {
                        Some(text) => all.push_text(text),
                        None => all.push_gap(Gap::Value),
                    }
                }
                Token::Number(number) => all.push_text(number),
                Token::Mark('$') => all.push_gap(Gap::Value),
                Token::Mark('(') if self.at == begin => {}
                _ => break,
            }
            self.at += 1;
        }
        if self.at == begin {
            self.at += 1;
        }
        all
    }
}
