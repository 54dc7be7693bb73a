//! Splits PowerShell into commands and words: strings, escapes, variables, brackets, and the ends of commands.

use crate::judge::analysis::code::windows::{MAX_DEPTH, variable};
use crate::judge::analysis::code::{Gap, Slice, Text, TextItem};

/// A word of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PowerShellWord {
    pub text: Text,
    /// Whether it began as a string.
    pub quoted: bool,
}

impl PowerShellWord {
    /// Reports whether it is a parameter: `-Name`, `-Name:value`.
    pub fn is_parameter(&self) -> bool {
        let mut chars = self.text.rough().chars();
        !self.quoted && chars.next() == Some('-') && chars.next().is_some_and(|c| c.is_ascii_alphabetic())
    }
}

/// A part of a script. The parts are in order of appearance.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A command. `called`: it follows `&`. `piped`: it reads the output of the command before it.
    Command { words: Vec<PowerShellWord>, called: bool, piped: bool },
    /// The script in brackets or in a string.
    Inside(Text),
    /// A call of a method: `[Type]::Method(args)`, `.Method(args)`.
    Method { name: String, args: Text },
    /// A redirection of output to a file.
    Output { file: PowerShellWord, append: bool },
}

/// Returns the items of a script.
pub fn items(text: Slice<'_>) -> Vec<Item> {
    items_at(text, 0)
}

fn items_at(text: Slice<'_>, depth: usize) -> Vec<Item> {
    let mut scan = Scan { signs: text.signs().collect(), depth, ..Scan::default() };
    scan.run();
    scan.items
}

/// Returns the words of a list of arguments.
pub fn list(text: Slice<'_>) -> Vec<PowerShellWord> {
    let all = items(text).into_iter().filter_map(|item| match item {
        Item::Command { words, .. } => Some(words),
        _ => None,
    });
    all.flatten().collect()
}

#[derive(Default)]
struct Scan {
    signs: Vec<TextItem>,
    at: usize,
    items: Vec<Item>,
    words: Vec<PowerShellWord>,
    word: Option<PowerShellWord>,
    called: bool,
    piped: bool,
    /// `Some` if the next word is the file of a redirection, with whether that appends.
    output: Option<bool>,
    /// The number of enclosing brackets that are evaluated to a text.
    depth: usize,
}

impl Scan {
    fn peek(&self, ahead: usize) -> char {
        self.signs.get(self.at + ahead).map_or('\0', |sign| sign.letter())
    }

    /// Returns the current character or gap, and moves past it.
    fn next(&mut self) -> Option<TextItem> {
        self.at += 1;
        self.signs.get(self.at - 1).copied()
    }

    fn push(&mut self, sign: impl Into<Option<TextItem>>) {
        self.word.get_or_insert_default().text.extend(sign.into());
    }

    fn push_text(&mut self, text: &Text) {
        self.word.get_or_insert_default().text.push_text(text);
    }

    /// Adds an unknown part.
    fn push_gap(&mut self) {
        self.push(TextItem::Gap(Gap::Value));
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.output.take() {
            Some(append) => {
                let text = word.text.rough();
                if !text.eq_ignore_ascii_case("$null") && text != "\0" && !text.starts_with('&') {
                    self.items.push(Item::Output { file: word, append });
                }
            }
            None => self.words.push(word),
        }
    }

    fn end(&mut self, pipe: bool) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let (called, piped) = (self.called, self.piped);
        if !words.is_empty() {
            self.items.push(Item::Command { words, called, piped });
        }
        self.called = false;
        self.piped = pipe;
    }

    fn run(&mut self) {
        while self.at < self.signs.len() {
            let (c, sign) = (self.peek(0), self.next());
            match c {
                '\'' => self.single(),
                '"' => self.double(),
                '@' if matches!(self.peek(0), '\'' | '"') && self.word.is_none() => self.here(),
                '`' => {
                    if let Some(next) = self.next().filter(|next| *next != TextItem::Letter('\n')) {
                        self.push(next);
                    }
                }
                '#' if self.word.is_none() => {
                    while self.at < self.signs.len() && self.peek(0) != '\n' {
                        self.at += 1;
                    }
                }
                '<' if self.peek(0) == '#' => {
                    while self.at < self.signs.len() && !(self.peek(0) == '#' && self.peek(1) == '>') {
                        self.at += 1;
                    }
                    self.at += 2;
                }
                '$' => self.variable(),
                '@' if self.peek(0) == '(' || self.peek(0) == '{' => {}
                '(' => self.bracket(),
                '{' | '}' | ';' | '\n' | ')' => self.end(false),
                '|' => {
                    let or = self.peek(0) == '|';
                    self.at += usize::from(or);
                    self.end(!or);
                }
                '&' if self.peek(0) == '&' => {
                    self.at += 1;
                    self.end(false);
                }
                '&' => {
                    if self.word.is_some() || !self.words.is_empty() {
                        self.end(false);
                    }
                    self.called = true;
                }
                '>' => {
                    // `2>`, `*>` name a stream.
                    if self.word.as_ref().is_some_and(|word| word.text.len() == 1 && !word.quoted) {
                        self.word = None;
                    }
                    self.end_word();
                    let append = self.peek(0) == '>';
                    self.at += usize::from(append);
                    if self.peek(0) == '&' {
                        self.at += 2;
                    } else {
                        self.output = Some(append);
                    }
                }
                '=' if self.assigns() => {
                    self.word = None;
                    self.words.clear();
                }
                // Concatenated strings.
                '+' if self.word.as_ref().is_some_and(|word| word.quoted) => {
                    self.end_word();
                    self.push(TextItem::Letter('+'));
                    self.end_word();
                }
                ',' | ' ' | '\t' | '\r' => self.end_word(),
                _ => self.push(sign),
            }
        }
        self.end(false);
    }

    /// Reports whether the text before `=` is a variable.
    fn assigns(&self) -> bool {
        let is = |word: &PowerShellWord| word.text.rough().starts_with(['\0', '[']);
        match (self.words.as_slice(), &self.word) {
            ([], Some(word)) | ([word], None) => !word.quoted && is(word),
            ([_, word], None) => word.text.rough().starts_with('\0'),
            _ => false,
        }
    }

    fn quoted(&mut self) {
        if self.word.is_none() {
            self.word = Some(PowerShellWord { text: Text::default(), quoted: true });
        }
    }

    fn single(&mut self) {
        self.quoted();
        while self.at < self.signs.len() {
            let (c, sign) = (self.peek(0), self.next());
            if c == '\'' {
                if self.peek(0) != '\'' {
                    return;
                }
                self.at += 1;
            }
            self.push(sign);
        }
    }

    fn double(&mut self) {
        self.quoted();
        while self.at < self.signs.len() {
            let (c, sign) = (self.peek(0), self.next());
            match c {
                '"' if self.peek(0) == '"' => {
                    self.at += 1;
                    self.push(sign);
                }
                '"' => return,
                '`' => {
                    let next = self.next();
                    self.push(match next {
                        Some(TextItem::Letter('n')) => Some(TextItem::Letter('\n')),
                        Some(TextItem::Letter('t')) => Some(TextItem::Letter('\t')),
                        other => other,
                    });
                }
                '$' => self.variable(),
                _ => self.push(sign),
            }
        }
    }

    fn here(&mut self) {
        let mark = self.peek(0);
        self.at += 1;
        self.quoted();
        while self.at < self.signs.len() {
            if self.peek(0) == '\n' && self.peek(1) == mark && self.peek(2) == '@' {
                self.at += 3;
                return;
            }
            let sign = self.next();
            self.push(sign);
        }
    }

    /// Parses a variable or a subexpression after `$`.
    fn variable(&mut self) {
        match self.peek(0) {
            '(' => {
                self.at += 1;
                let inside = self.until_closed('(', ')');
                self.items.push(Item::Inside(inside));
                self.push_gap();
            }
            '{' => {
                self.at += 1;
                let name = self.until_closed('{', '}');
                self.push_variable(name.rough());
            }
            c if c.is_ascii_alphanumeric() || c == '_' || c == '?' || c == '^' => {
                let mut name = String::new();
                while self.peek(0).is_ascii_alphanumeric() || matches!(self.peek(0), '_' | ':' | '?' | '^') {
                    if self.peek(0) == ':' && self.peek(1) == ':' {
                        break;
                    }
                    name.push(self.peek(0));
                    self.at += 1;
                }
                self.push_variable(&name);
            }
            '$' => {
                self.at += 1;
                self.push_gap();
            }
            _ if matches!(self.signs.get(self.at), Some(TextItem::Gap(_))) => {}
            _ => self.push(TextItem::Letter('$')),
        }
    }

    fn push_variable(&mut self, name: &str) {
        let lower = name.to_ascii_lowercase();
        let text = match lower.strip_prefix("env:") {
            Some(name) => variable(name),
            None => match lower.as_str() {
                "home" => "~".into(),
                "profile" => "~/Documents/PowerShell/profile.ps1".into(),
                "null" | "true" | "false" => format!("${lower}").into(),
                _ => Gap::Value.into(),
            },
        };
        self.push_text(&text);
    }

    /// Returns the text up to the bracket that closes this one, across strings and nested brackets.
    fn until_closed(&mut self, open: char, close: char) -> Text {
        let (mut inside, mut depth) = (Text::default(), 1usize);
        let mut quote: Option<char> = None;
        while self.at < self.signs.len() {
            let (c, sign) = (self.peek(0), self.next());
            match quote {
                Some(mark) if c == mark => quote = None,
                Some(_) => {}
                None if c == '\'' || c == '"' => quote = Some(c),
                None if c == '`' => {
                    inside.extend(sign);
                    inside.extend(self.next());
                    continue;
                }
                None if c == open => depth += 1,
                None if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                None => {}
            }
            inside.extend(sign);
        }
        inside
    }

    /// Parses the arguments of a method, or a group, after `(`.
    fn bracket(&mut self) {
        let inside = self.until_closed('(', ')');
        let name = self.word.as_ref().filter(|word| !word.quoted).map(|word| word.text.rough().to_owned());
        let name = name.unwrap_or_default();
        let is_method = name.contains("::") || name.rsplit_once('.').is_some_and(|(value, _)| value.ends_with('\0'));
        if is_method {
            self.word = None;
            self.items.push(Item::Inside(inside.clone()));
            self.items.push(Item::Method { name, args: inside });
            self.push_gap();
            return;
        }
        // `IEX(…)`: a command whose argument follows without a blank.
        if self.word.is_some() && !name.ends_with('\0') {
            self.end_word();
        }
        match concatenated(inside.slice(), self.depth + 1) {
            Some(text) => {
                self.quoted();
                self.push_text(&text);
            }
            None => {
                self.items.push(Item::Inside(inside));
                self.push_gap();
            }
        }
    }
}

/// Returns the text of strings that are concatenated with `+`, or `None` for anything else.
fn concatenated(text: Slice<'_>, depth: usize) -> Option<Text> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut all = Text::default();
    let items = items_at(text, depth);
    let [Item::Command { words, called: false, .. }] = items.as_slice() else { return None };
    for word in words {
        match (word.quoted, word.text.known()?) {
            (true, text) => all.push_text(text),
            // `+'b'` is one word.
            (false, text) => all.push_text(text.strip_prefix('+')?),
        }
    }
    Some(all)
}
