//! Statements of scripting languages: names are followed through imports, plain assignments and loops.

use std::collections::{BTreeSet, HashMap};

use super::expression::{Expression, bare, joined};
use super::functions::Functions;
use super::scan::{Token, UNKNOWN_NAME, tokens};
use super::{Call, Gap, Language, Slice, Text, World};
use crate::judge::analysis::act::Value;
use crate::judge::analysis::fuel::cost;
use crate::judge::rules::word_lists;

/// Parses all calls in `text`.
pub fn read(language: Language, text: Slice<'_>, world: World<'_>) -> Vec<Call> {
    let tokens = tokens(language, text);
    let mut reader = CallReader {
        language,
        world,
        asks: super::names::asks(&tokens),
        picks: super::names::picks(&tokens),
        at: 0,
        bound: HashMap::new(),
        calls: Vec::new(),
        everything_of: None,
        nesting: 0,
        goes_on: false,
        tables: Vec::new(),
        functions: Functions::of(language, &tokens),
        loose: Vec::new(),
        modules: BTreeSet::new(),
        roots: Vec::new(),
        tokens,
    };
    let caught =
        |token: &Token| matches!(token, Token::Name(name) if matches!(name.as_str(), "except" | "rescue" | "suppress"));
    reader.goes_on = reader.tokens.iter().any(caught);
    reader.all();
    // In a comprehension, the iterated value follows its use.
    let loops = reader
        .tokens
        .iter()
        .any(|token| matches!(token, Token::Name(name) if word_lists::LOOP_WORDS.contains(&name.as_str())));
    let turns = reader.functions.turns(&reader.bound);
    let mut all: Vec<Call> = Vec::new();
    for turn in 0..turns.max(usize::from(loops)) {
        reader.functions.set_turn(turn);
        reader.at = 0;
        reader.calls.clear();
        reader.loose.clear();
        reader.tables.clear();
        reader.all();
        // Calls that do not depend on the selected call are duplicates.
        let new = std::mem::take(&mut reader.calls).into_iter().filter(|call| turn == 0 || !all.contains(call));
        let new: Vec<Call> = new.collect();
        all.extend(new);
    }
    let mut all = if all.is_empty() { std::mem::take(&mut reader.calls) } else { all };
    all.extend(reader.handed_on_unseen());
    super::file_text::mark_writes(&mut all);
    all
}

/// Reports whether a statement of code consists of an unknown part alone.
pub(super) fn is_unknown(language: Language, text: Slice<'_>) -> bool {
    let (mut open, mut begins) = (0_usize, true);
    let tokens = tokens(language, text);
    tokens.iter().enumerate().any(|(at, token)| {
        let is_unknown = begins && open == 0 && matches!(token, Token::Name(name) if name == UNKNOWN_NAME);
        match token {
            Token::Mark('(' | '[') => open += 1,
            Token::Mark(')' | ']') => open = open.saturating_sub(1),
            Token::Mark('{') if language == Language::Python => open += 1,
            Token::Mark('}') if language == Language::Python => open = open.saturating_sub(1),
            _ => {}
        }
        begins = ends_statement(token);
        is_unknown && tokens.get(at + 1).is_none_or(ends_statement)
    })
}

fn ends_statement(token: &Token) -> bool {
    matches!(token, Token::Line | Token::Mark(';' | '{' | '}'))
}

/// Returns the values of names after a text runs.
pub(super) fn bound_by(
    language: Language,
    text: Slice<'_>,
    world: World<'_>,
    bound: HashMap<String, Expression>,
    nesting: usize,
) -> HashMap<String, Expression> {
    let tokens = tokens(language, text);
    let mut reader = CallReader {
        language,
        world,
        asks: false,
        picks: false,
        at: 0,
        bound,
        calls: Vec::new(),
        everything_of: None,
        nesting: nesting + 1,
        goes_on: false,
        tables: Vec::new(),
        functions: Functions::default(),
        loose: Vec::new(),
        modules: BTreeSet::new(),
        roots: Vec::new(),
        tokens,
    };
    reader.all();
    reader.bound
}

pub(super) struct CallReader<'a> {
    pub language: Language,
    pub world: World<'a>,
    pub tokens: Vec<Token>,
    pub at: usize,
    /// The values of names: a module or a member of one, a text, a list.
    pub bound: HashMap<String, Expression>,
    pub calls: Vec<Call>,
    /// The module whose names are all imported.
    pub everything_of: Option<String>,
    /// Whether the code tests names before it prints them.
    pub asks: bool,
    /// Whether the code prints only values whose names begin like no name of a secret.
    pub picks: bool,
    /// The number of enclosing expressions.
    pub nesting: usize,
    /// Whether the code continues after an error.
    pub goes_on: bool,
    /// The functions that it defines and calls.
    pub functions: Functions,
    /// The tables that its statements created.
    pub tables: Vec<String>,
    /// Functions that are used as values, and that no call has accepted.
    pub loose: Vec<String>,
    /// Imported modules that may be in the directory of the code.
    pub modules: BTreeSet<String>,
    /// Directories that the code adds to the search path of modules.
    pub roots: Vec<Text>,
}

impl CallReader<'_> {
    pub fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    pub fn mark(&self, ahead: usize, mark: char) -> bool {
        self.peek(ahead) == Some(&Token::Mark(mark))
    }

    pub fn named(&self, ahead: usize) -> Option<String> {
        match self.peek(ahead) {
            Some(Token::Name(name)) => Some(name.clone()),
            _ => None,
        }
    }

    pub fn skip_lines(&mut self) {
        while self.peek(0) == Some(&Token::Line) {
            self.at += 1;
        }
    }

    fn all(&mut self) {
        while self.at < self.tokens.len() && self.calls.len() <= super::MAX_CALLS {
            let before = self.at;
            self.statement();
            if !(self.world.spend)(cost::TOKEN * self.at.saturating_sub(before) as u64) {
                break;
            }
        }
    }

    pub fn statement(&mut self) {
        let begin = self.at;
        match self.named(0).as_deref() {
            Some("import" | "from") if self.language == Language::Python => self.python_import(),
            Some("import") if self.language == Language::Js && !self.mark(1, '(') => self.js_import(),
            Some("export") if self.language == Language::Js && self.re_exports() => self.js_import(),
            Some("const" | "let" | "var" | "my" | "our" | "local" | "return" | "await" | "async" | "use")
                if !self.mark(1, '(') && !self.mark(1, '[') =>
            {
                self.at += 1;
            }
            Some("print" | "puts" | "p" | "pp" | "say" | "echo" | "warn" | "die")
                if matches!(self.language, Language::Ruby | Language::Perl | Language::Php)
                    && !self.mark(1, '(')
                    && !self.mark(1, '.')
                    && !self.is_assignment() =>
            {
                self.at += 1;
                self.shown();
            }
            Some("include" | "extend") if self.language == Language::Ruby && self.named(1).is_some() => {
                self.at += 1;
                self.everything_of = self.expression(0).name;
            }
            Some("for" | "foreach") if matches!(self.language, Language::Perl | Language::Php) => self.each(),
            // Code that is named by the path of its file.
            Some(word @ ("do" | "require" | "require_relative"))
                if matches!(self.language, Language::Perl | Language::Ruby) =>
            {
                let beside = if word == "require_relative" { "./" } else { "" };
                self.at += 1;
                // A literal or composed path; another name is that of a module.
                if matches!(self.peek(0), Some(Token::Text(_) | Token::Mark('('))) {
                    let file = self.expression(0).text;
                    let file = file.map(|text| Text::joined([beside.into(), text.slice()]));
                    let file = file.filter(|text| text.rough().starts_with(['/', '.', '\0']));
                    self.calls.extend(file.map(|file| Call::new("run-file".into(), vec![super::value(&file)])));
                }
            }
            Some("def") if self.language == Language::Python => self.fixtures(),
            Some("function") if matches!(self.language, Language::Js | Language::Php) => {
                self.at += 1;
                self.take_parameters();
                // The name here is not a call.
                self.at += usize::from(self.named(0).is_some());
            }
            Some("with") if self.language == Language::Python => {
                self.at += 1;
                let value = self.expression(0);
                if let (Some("as"), Some(name)) = (self.named(0).as_deref(), self.named(1)) {
                    self.at += 2;
                    self.bind(&name, value);
                }
            }
            Some("for")
                if matches!(self.language, Language::Python | Language::Js | Language::Ruby | Language::Lua) =>
            {
                self.looped()
            }
            Some("as") if self.language == Language::Python => self.at += 2,
            Some(_) if let Some(names) = self.targets() => self.several(&names),
            // `x += …`, `$x .= …`
            Some(name)
                if (matches!(self.peek(1), Some(Token::Mark('+' | '.'))) && self.mark(2, '=')
                    || self.language == Language::Ruby && self.mark(1, '<') && self.mark(2, '<'))
                    && self.bound.contains_key(name) =>
            {
                let held = self.held(name).unwrap_or_default();
                let name = name.to_owned();
                self.at += 3;
                let more = self.expression(0);
                let is_paid = (self.world.spend)((held.size() + more.size()) / 4);
                self.bind(&name, if is_paid { joined(held, more) } else { Expression::of_text(Gap::Value) });
            }
            Some(name) if self.grows(name) => {
                let name = name.to_owned();
                self.grown(&name);
            }
            Some(name) if self.is_assignment() => {
                let name = name.to_owned();
                self.assignment(&name);
            }
            Some(_) if self.changes_lines() => {}
            // `alias new old`
            Some("alias") if self.language == Language::Ruby && self.named(2).is_some() => {
                let (new, old) = (self.named(1).unwrap_or_default(), self.named(2).unwrap_or_default());
                self.at += 3;
                self.bind(&new, Expression::of_name(old));
            }
            _ if self.mark(0, '{') && self.language == Language::Js => {
                if !self.destructuring() {
                    self.at += 1;
                }
            }
            _ => {
                let target = self.expression(0);
                // `globals()["x"] = …`, `builtins.print = …`
                if let Some(name) =
                    target.name.filter(|_| self.mark(0, '=') && !self.mark(1, '=') && !self.mark(1, '>'))
                {
                    self.at += 1;
                    let value = self.expression(0);
                    if self.is_loose(&value) {
                        value.name.iter().for_each(|name| self.taken(name));
                        let last = name.rsplit('.').next().unwrap_or_default().to_owned();
                        self.bind(&last, value.clone());
                    }
                    if !name.contains('.') {
                        self.bind(&name, value);
                    }
                }
            }
        }
        if self.at == begin {
            self.at += 1;
        }
    }

    /// Parses the arguments of a printing keyword.
    fn shown(&mut self) {
        loop {
            let printed = self.expression(0);
            if self.ends() {
                self.printed(&[printed]);
            }
            if !self.mark(0, ',') {
                return;
            }
            self.at += 1;
        }
    }

    fn is_assignment(&self) -> bool {
        self.mark(1, '=') && !self.mark(2, '=') && !self.mark(2, '>') && !self.mark(2, '~')
            || self.mark(1, ':') && self.mark(2, '=')
    }

    fn assignment(&mut self, name: &str) {
        self.at += if self.mark(1, ':') { 3 } else { 2 };
        let value = self.expression(0);
        if name == "@ARGV" && self.language == Language::Perl {
            // Perl reads these files; a name with a bar is a command.
            for value in value.clone().values() {
                let text = value.known().map(|text| text.trim().to_owned()).unwrap_or_default();
                let command = text.strip_suffix('|').or_else(|| text.strip_prefix('|'));
                self.calls.push(match command {
                    Some(command) => Call::new("pipe".into(), vec![super::value(command.trim())]),
                    None => Call::new("open".into(), vec![value]),
                });
            }
        }
        let ends = self.ends();
        if self.is_loose(&value) {
            value.name.iter().for_each(|name| self.taken(name));
        }
        let secret = value.secret && ends;
        self.bind(name, Expression { secret, ..value });
    }

    pub fn bind(&mut self, name: &str, value: Expression) {
        self.note_handle(name, &value);
        let says = value.text.is_some() || value.name.is_some() || value.list.is_some() || value.edited.is_some();
        let (secret, lambda) = (value.secret, value.lambda);
        let value = if says { value } else { Expression { secret, lambda, ..Expression::of_text(Gap::Value) } };
        self.bound.insert(name.to_owned(), value);
    }

    /// Returns the names in `a, b = …`.
    fn targets(&self) -> Option<Vec<String>> {
        let mut names = vec![self.named(0)?];
        let mut ahead = 1;
        while self.mark(ahead, ',') {
            names.push(self.named(ahead + 1)?);
            ahead += 2;
        }
        let assigns = self.mark(ahead, '=') && !self.mark(ahead + 1, '=') && !self.mark(ahead + 1, '>');
        (names.len() > 1 && assigns).then_some(names)
    }

    fn several(&mut self, names: &[String]) {
        self.at += names.len() * 2;
        let value = self.expression(0);
        // `a, b = f, "x"`: one value for each name.
        if self.mark(0, ',') {
            let mut values = vec![value];
            while self.mark(0, ',') {
                self.at += 1;
                values.push(self.expression(0));
            }
            for (name, value) in names.iter().zip(values) {
                if self.is_loose(&value) {
                    value.name.iter().for_each(|name| self.taken(name));
                }
                self.bind(name, value);
            }
            return;
        }
        for name in names {
            let element = value.text.as_ref().filter(|text| text.has(Gap::Temporary)).cloned();
            self.bind(name, Expression::of_text(element.unwrap_or_else(|| Gap::Value.into())));
        }
    }

    /// Parses `import a.b as c` and `from a import b as c, d`.
    fn python_import(&mut self) {
        let from = self.named(0).as_deref() == Some("from");
        self.at += 1;
        let module = self.dotted();
        if !from {
            let mut module = module;
            loop {
                let alias = self.alias();
                self.imported(&module);
                match alias {
                    Some(alias) => self.bound.insert(alias, Expression::of_name(module.clone())),
                    None => None,
                };
                if !self.mark(0, ',') {
                    return;
                }
                self.at += 1;
                module = self.dotted();
            }
        }
        if self.named(0).as_deref() == Some("import") {
            self.at += 1;
        }
        self.imported(&module);
        while let Some(token) = self.peek(0).cloned() {
            match token {
                Token::Mark('(' | ')' | ',') => self.at += 1,
                Token::Mark('*') => {
                    self.at += 1;
                    self.everything_of = Some(module.clone());
                }
                Token::Name(name) => {
                    self.at += 1;
                    let alias = self.alias().unwrap_or_else(|| name.clone());
                    self.bound.insert(alias, Expression::of_name(format!("{module}.{name}")));
                }
                _ => return,
            }
        }
    }

    /// Adds a module that may be in the directory of the code.
    pub fn imported(&mut self, module: &str) {
        if !module.is_empty()
            && !module.contains(['.', '/'])
            && !module.contains(UNKNOWN_NAME)
            && self.modules.insert(module.to_owned())
        {
            self.calls.push(Call::new("import-module".into(), vec![Value::text(module)]));
            let below = |root: &Text| {
                let root = root.slice().cut(|root| root.trim_end_matches('/'));
                super::value(&Text::joined([root, "/".into(), module.into()]))
            };
            let found = self.roots.iter().map(|root| Call::new("import-module".into(), vec![below(root)]));
            self.calls.extend(found);
        }
    }

    fn alias(&mut self) -> Option<String> {
        if self.named(0).as_deref() != Some("as") {
            return None;
        }
        let name = self.named(1)?;
        self.at += 2;
        Some(name)
    }

    fn dotted(&mut self) -> String {
        let mut name = String::new();
        while let Some(token) = self.peek(0) {
            match token {
                Token::Name(part) if !matches!(part.as_str(), "import" | "as") => name.push_str(part),
                Token::Mark('.') => name.push('.'),
                _ => break,
            }
            self.at += 1;
        }
        name
    }

    /// Reports whether an `export` names a module: `export * from 'm'`, `export {a as b} from 'm'`.
    fn re_exports(&self) -> bool {
        let after_braces = || {
            let mut rest = (2..).map_while(|at| Some((at, self.peek(at)?)));
            rest.find_map(|(at, token)| matches!(token, Token::Mark('}')).then_some(at + 1))
        };
        self.mark(1, '*')
            || self.mark(1, '{') && after_braces().is_some_and(|at| self.named(at).as_deref() == Some("from"))
    }

    /// Parses `import x from 'm'`, `import * as x from 'm'`, `import {a as b} from 'm'`.
    fn js_import(&mut self) {
        self.at += 1;
        if self.mark(0, '(') {
            return;
        }
        let mut whole = Vec::new();
        let mut parts = Vec::new();
        let mut braces = false;
        while let Some(token) = self.peek(0).cloned() {
            self.at += 1;
            match token {
                Token::Mark('{') => braces = true,
                Token::Mark('}') => braces = false,
                Token::Name(name) if name == "from" => {}
                Token::Name(name) if name == "as" => {
                    if let Some(alias) = self.named(0) {
                        self.at += 1;
                        match parts.last_mut() {
                            Some((_, last)) if braces => *last = alias,
                            _ => whole.push(alias),
                        }
                    }
                }
                Token::Name(name) if braces => parts.push((name.clone(), name)),
                Token::Name(name) => whole.push(name),
                Token::Text(module) => {
                    let module = bare(module.rough());
                    if module.starts_with(['/', '.']) {
                        self.calls.push(Call::new("run-file".into(), vec![super::value(&module)]));
                    }
                    // Code that is named by its address.
                    if module.contains(':') {
                        self.calls.push(Call::new("import".into(), vec![super::value(&module)]));
                    }
                    for name in whole {
                        self.bound.insert(name, Expression::of_name(module.clone()));
                    }
                    for (name, alias) in parts {
                        self.bound.insert(alias, Expression::of_name(format!("{module}.{name}")));
                    }
                    return;
                }
                Token::Mark(',' | '*') | Token::Line => {}
                _ => return,
            }
        }
    }

    /// Parses `{a, b: c} = require('m')`.
    pub fn destructuring(&mut self) -> bool {
        let begin = self.at;
        self.at += 1;
        let mut parts: Vec<(String, String)> = Vec::new();
        let mut computed = false;
        while let Some(token) = self.peek(0).cloned() {
            self.at += 1;
            match token {
                Token::Name(name) => {
                    if self.mark(0, ':')
                        && let Some(alias) = self.named(1)
                    {
                        self.at += 2;
                        parts.push((name, alias));
                        continue;
                    }
                    parts.push((name.clone(), name));
                }
                Token::Mark(',') | Token::Line => {}
                // `{[name]: alias}`
                Token::Mark('[') => {
                    self.names_up_to(']');
                    computed = true;
                }
                Token::Mark(':') if computed => {}
                Token::Mark('}') if self.mark(0, '=') && !self.mark(1, '=') => {
                    self.at += 1;
                    let module = self.expression(0);
                    if let Some(module) = module.name.clone().filter(|_| computed) {
                        self.calls.push(Call::new("computed".into(), vec![Value::text(module)]));
                    }
                    if module.name.is_some() {
                        for (name, alias) in parts {
                            let part = self.member(module.clone(), Expression::of_text(name));
                            self.bound.insert(alias, part);
                        }
                    }
                    return true;
                }
                _ => break,
            }
        }
        self.at = begin;
        false
    }
}
