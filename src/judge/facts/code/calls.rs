//! Calls of scripting languages: names are followed through imports and plain assignments, arguments through literals
//! and their concatenation.

use std::collections::HashMap;

use super::scan::{Token, tokens};
use super::{Call, HOLE, unknown, value};
use crate::judge::facts::act::Value;

/// The deepest nesting of brackets that is read.
const MAX_DEPTH: usize = 32;

/// Reads all calls of `text`.
pub fn read(language: &str, text: &str, home: &str) -> Vec<Call> {
    let mut reader = Reader {
        language,
        home,
        tokens: tokens(language, text),
        at: 0,
        names: HashMap::new(),
        values: HashMap::new(),
        calls: Vec::new(),
    };
    while reader.at < reader.tokens.len() && reader.calls.len() <= super::MAX_CALLS {
        reader.statement();
    }
    reader.calls
}

struct Reader<'a> {
    language: &'a str,
    home: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// What a name stands for: a module or something of one.
    names: HashMap<String, String>,
    values: HashMap<String, String>,
    calls: Vec<Call>,
}

/// What an expression is.
#[derive(Clone, Debug, Default)]
struct Expression {
    /// Its text, when it is a string; holes for what is not known.
    text: Option<String>,
    /// The elements of a list.
    list: Option<Vec<Value>>,
    /// The name it stands for.
    name: Option<String>,
    /// The arguments that its calls had, first to last.
    carried: Vec<Value>,
    /// It begins with this raw text (for arguments that are objects).
    raw: Option<String>,
}

impl Expression {
    fn values(self) -> Vec<Value> {
        if let Some(list) = self.list {
            return list;
        }
        if let Some(text) = self.text {
            return vec![value(&text)];
        }
        match self.raw {
            Some(raw) => vec![Value::text(raw)],
            None => vec![unknown()],
        }
    }
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn mark(&self, ahead: usize, mark: char) -> bool {
        self.peek(ahead) == Some(&Token::Mark(mark))
    }

    fn named(&self, ahead: usize) -> Option<String> {
        match self.peek(ahead) {
            Some(Token::Name(name)) => Some(name.clone()),
            _ => None,
        }
    }

    fn skip_lines(&mut self) {
        while self.peek(0) == Some(&Token::Line) {
            self.at += 1;
        }
    }

    fn statement(&mut self) {
        let begin = self.at;
        match self.named(0).as_deref() {
            Some("import" | "from") if self.language == "python" => self.python_import(),
            Some("import") if self.language == "js" => self.js_import(),
            Some("const" | "let" | "var" | "my" | "our" | "local" | "return" | "await" | "async" | "print" | "use")
                if !self.mark(1, '(') =>
            {
                self.at += 1;
            }
            Some(name) if self.is_assignment() => {
                let name = name.to_owned();
                self.assignment(&name);
            }
            _ if self.mark(0, '{') && self.language == "js" => self.destructuring(),
            _ => {
                self.expression(0);
            }
        }
        if self.at == begin {
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
        match (value.text, value.name) {
            (Some(text), _) => {
                self.values.insert(name.to_owned(), text);
            }
            (None, Some(of)) => {
                self.names.insert(name.to_owned(), of);
            }
            (None, None) => {
                self.values.insert(name.to_owned(), HOLE.to_string());
            }
        }
    }

    /// `import a.b as c`, `from a import b as c, d`
    fn python_import(&mut self) {
        let from = self.named(0).as_deref() == Some("from");
        self.at += 1;
        let module = self.dotted();
        if !from {
            let mut module = module;
            loop {
                let alias = self.alias();
                match alias {
                    Some(alias) => self.names.insert(alias, module.clone()),
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
        while let Some(token) = self.peek(0).cloned() {
            match token {
                Token::Mark('(' | ')' | ',') => self.at += 1,
                Token::Name(name) => {
                    self.at += 1;
                    let alias = self.alias().unwrap_or_else(|| name.clone());
                    self.names.insert(alias, format!("{module}.{name}"));
                }
                _ => return,
            }
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

    /// `import x from 'm'`, `import * as x from 'm'`, `import {a as b} from 'm'`
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
                    let module = bare(&module);
                    for name in whole {
                        self.names.insert(name, module.clone());
                    }
                    for (name, alias) in parts {
                        self.names.insert(alias, format!("{module}.{name}"));
                    }
                    return;
                }
                Token::Mark(',' | '*') | Token::Line => {}
                _ => return,
            }
        }
    }

    /// `{a, b: c} = require('m')`
    fn destructuring(&mut self) {
        let begin = self.at;
        self.at += 1;
        let mut parts: Vec<(String, String)> = Vec::new();
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
                Token::Mark('}') if self.mark(0, '=') && !self.mark(1, '=') => {
                    self.at += 1;
                    if let Some(module) = self.expression(0).name {
                        for (name, alias) in parts {
                            self.names.insert(alias, format!("{module}.{name}"));
                        }
                    }
                    return;
                }
                _ => break,
            }
        }
        self.at = begin + 1;
    }

    /// An expression up to what ends it: its calls are noted, its text is kept as far as it is known.
    fn expression(&mut self, depth: usize) -> Expression {
        let mut all = self.operand(depth);
        loop {
            let joins = self.mark(0, '+') && !self.mark(1, '+')
                || self.mark(0, '.') && matches!(self.language, "php" | "perl") && !self.mark(1, '.')
                || self.mark(0, '.') && self.mark(1, '.') && self.language == "lua";
            if !joins {
                // Two strings side by side are one in Python.
                if all.text.is_some() && matches!(self.peek(0), Some(Token::Text(_))) && self.language == "python" {
                    let next = self.operand(depth);
                    all = joined(all, next);
                    continue;
                }
                return all;
            }
            self.at += if self.language == "lua" { 2 } else { 1 };
            self.skip_lines();
            let next = self.operand(depth);
            all = joined(all, next);
        }
    }

    fn operand(&mut self, depth: usize) -> Expression {
        if depth > MAX_DEPTH {
            self.at += 1;
            return Expression::default();
        }
        let Some(token) = self.peek(0).cloned() else { return Expression::default() };
        let first = match token {
            Token::Text(text) => {
                self.at += 1;
                Expression { text: Some(text), ..Expression::default() }
            }
            Token::Number(number) => {
                self.at += 1;
                Expression { raw: Some(number), ..Expression::default() }
            }
            Token::Shell(text) => {
                self.at += 1;
                self.calls.push(Call { callee: "backtick".into(), args: vec![value(&text)] });
                Expression::default()
            }
            Token::Mark('[') => self.list(depth),
            Token::Mark('(') => {
                self.at += 1;
                let mut inner = self.arguments(depth + 1, ')');
                match inner.len() {
                    1 => inner.pop().unwrap_or_default(),
                    _ => Expression {
                        list: Some(inner.into_iter().flat_map(Expression::values).collect()),
                        ..Expression::default()
                    },
                }
            }
            Token::Mark('{') => self.object(depth),
            Token::Name(name) if matches!(name.as_str(), "await" | "new" | "not" | "lambda" | "function") => {
                self.at += 1;
                return self.operand(depth + 1);
            }
            Token::Name(name) => {
                self.at += 1;
                self.name(name)
            }
            Token::Mark(_) | Token::Line => return Expression::default(),
        };
        self.members(first, depth)
    }

    fn name(&mut self, name: String) -> Expression {
        if name.contains(HOLE) {
            return Expression { text: Some(name), ..Expression::default() };
        }
        if let Some(text) = self.values.get(&name) {
            return Expression { text: Some(text.clone()), ..Expression::default() };
        }
        let name = self.names.get(&name).cloned().unwrap_or(name);
        Expression { name: Some(name), ..Expression::default() }
    }

    /// `.name`, `::name`, `->name`, `[…]`, `(…)` behind an operand.
    fn members(&mut self, mut of: Expression, depth: usize) -> Expression {
        loop {
            let pair = |first, second| self.mark(0, first) && self.mark(1, second);
            let member = if pair('?', '.') || pair(':', ':') || pair('-', '>') {
                2
            } else {
                usize::from(self.mark(0, '.') && !self.mark(1, '.') || self.mark(0, ':') && self.language == "lua")
            };
            if member > 0 && self.named(member).is_some() && !(self.mark(0, '.') && self.language == "php") {
                let part = self.named(member).unwrap_or_default();
                self.at += member + 1;
                let is_text = of.text.is_some();
                of.name = match of.name.take() {
                    Some(name) => Some(format!("{name}.{part}")),
                    None if is_text => Some(format!("text.{part}")),
                    None => Some(part),
                };
                if let Some(text) = of.text.take() {
                    of.carried = vec![value(&text)];
                }
                of.list = None;
                of.raw = None;
                continue;
            }
            if self.mark(0, '[') && (of.name.is_some() || of.text.is_some() || of.list.is_some()) {
                self.at += 1;
                let inner = self.arguments(depth + 1, ']');
                // `os['system']`, `process.env['X']`
                let key = inner.into_iter().next().and_then(|key| key.text);
                of = Expression {
                    name: of.name.zip(key).map(|(name, key)| format!("{name}.{key}")),
                    carried: of.carried,
                    ..Expression::default()
                };
                continue;
            }
            if self.mark(0, '(') {
                self.at += 1;
                let arguments = self.arguments(depth + 1, ')');
                of = self.call(of, arguments);
                continue;
            }
            if self.takes_bare_arguments(&of) {
                let arguments = self.bare_arguments(depth + 1);
                of = self.call(of, arguments);
                continue;
            }
            return of;
        }
    }

    /// Ruby, Perl and Lua call without brackets.
    fn takes_bare_arguments(&self, of: &Expression) -> bool {
        let bare = match self.language {
            "ruby" | "perl" | "lua" => true,
            "php" => matches!(
                of.name.as_deref(),
                Some("echo" | "print" | "include" | "require" | "include_once" | "require_once")
            ),
            _ => false,
        };
        bare && of.name.as_deref().is_some_and(|name| !is_keyword(name) && !name.starts_with(['$', '@']))
            && matches!(self.peek(0), Some(Token::Text(_) | Token::Shell(_)))
            || bare
                && self.language != "lua"
                && of.name.as_deref().is_some_and(|name| {
                    matches!(
                        name.rsplit('.').next(),
                        Some("system" | "exec" | "unlink" | "rmtree" | "rm_rf" | "rm_r" | "rm" | "spawn" | "rmdir")
                    )
                })
                && matches!(self.peek(0), Some(Token::Name(name)) if !is_keyword(name))
    }

    fn bare_arguments(&mut self, depth: usize) -> Vec<Expression> {
        let mut all = vec![self.expression(depth)];
        while self.mark(0, ',') {
            self.at += 1;
            self.skip_lines();
            all.push(self.expression(depth));
        }
        all
    }

    /// Expressions up to the closing bracket, which is passed over.
    fn arguments(&mut self, depth: usize, close: char) -> Vec<Expression> {
        let mut all = Vec::new();
        loop {
            self.skip_lines();
            match self.peek(0) {
                None => return all,
                Some(Token::Mark(mark)) if *mark == close => {
                    self.at += 1;
                    return all;
                }
                Some(Token::Mark(',')) => self.at += 1,
                Some(_) => {
                    let begin = self.at;
                    // A keyword argument: its name is kept in front, so that `shell=True` can be told from the rest.
                    let keyword = self.named(0).filter(|_| {
                        self.mark(1, '=') && !self.mark(2, '=') && !self.mark(2, '>') && self.language == "python"
                    });
                    let expression = match keyword {
                        Some(keyword) => {
                            self.at += 2;
                            let raw = match self.peek(0) {
                                Some(Token::Name(value)) => value.clone(),
                                _ => String::new(),
                            };
                            let value = self.expression(depth);
                            let raw = value.text.or(value.raw).unwrap_or(raw);
                            Expression { raw: Some(format!("--{keyword}={raw}")), ..Expression::default() }
                        }
                        None => self.expression(depth),
                    };
                    if self.at == begin {
                        self.at += 1;
                    } else {
                        all.push(expression);
                        self.skip_to_comma(close);
                    }
                }
            }
        }
    }

    /// What follows an argument that is no plain expression (operators, arrow functions): its calls are still read.
    fn skip_to_comma(&mut self, close: char) {
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark(mark) if *mark == close || *mark == ',' => return,
                Token::Mark(';') if close != ')' => return,
                _ => {
                    let begin = self.at;
                    self.statement();
                    if self.at == begin {
                        self.at += 1;
                    }
                }
            }
        }
    }

    fn list(&mut self, depth: usize) -> Expression {
        self.at += 1;
        let elements = self.arguments(depth + 1, ']');
        Expression { list: Some(elements.into_iter().flat_map(Expression::values).collect()), ..Expression::default() }
    }

    /// `{…}`: an object or a block. Its calls are read; its text is kept when it is short.
    fn object(&mut self, depth: usize) -> Expression {
        let begin = self.at;
        self.at += 1;
        let mut level = 1;
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark('}') => {
                    level -= 1;
                    self.at += 1;
                    if level == 0 {
                        break;
                    }
                }
                Token::Mark('{') => {
                    level += 1;
                    self.at += 1;
                }
                Token::Name(_) | Token::Shell(_) if depth < MAX_DEPTH => {
                    let here = self.at;
                    self.statement();
                    if self.at == here {
                        self.at += 1;
                    }
                }
                _ => self.at += 1,
            }
        }
        let tokens = self.tokens.get(begin..self.at).unwrap_or_default();
        if self.language == "mongo" {
            return Expression { raw: Some(raw(tokens)), ..Expression::default() };
        }
        let settings = tokens.windows(3).filter_map(|part| match part {
            [Token::Name(key), Token::Mark(':'), Token::Name(text) | Token::Number(text) | Token::Text(text)] => {
                Some(Value::text(format!("--{key}={text}")))
            }
            _ => None,
        });
        Expression { list: Some(settings.collect()), ..Expression::default() }
    }

    /// Notes a call and gives what it stands for.
    fn call(&mut self, of: Expression, arguments: Vec<Expression>) -> Expression {
        let Some(callee) = of.name else { return Expression::default() };
        let first = arguments.first().and_then(|argument| argument.text.clone());
        // Modules that are named by a string.
        let module = match callee.as_str() {
            "require" | "__import__" | "importlib.import_module" | "import" => first.as_deref().map(bare),
            _ => None,
        };
        if let Some(module) = module.filter(|_| matches!(self.language, "js" | "python" | "mongo")) {
            return Expression { name: Some(module), ..Expression::default() };
        }
        if let Some(text) = self.known_result(&callee, &arguments) {
            return Expression { text: Some(text), ..Expression::default() };
        }
        if callee == "getattr" {
            let of = arguments.first().and_then(|argument| argument.name.clone());
            let part = arguments.get(1).and_then(|argument| argument.text.clone());
            if let (Some(of), Some(part)) = (of, part) {
                return Expression { name: Some(format!("{of}.{part}")), ..Expression::default() };
            }
        }
        let carried: Vec<Value> =
            of.carried.into_iter().chain(arguments.into_iter().flat_map(Expression::values)).collect();
        let noted = match self.language {
            "mongo" => callee.rsplit('.').next().unwrap_or_default().to_owned(),
            _ => callee.clone(),
        };
        self.calls.push(Call { callee: noted, args: carried.clone() });
        Expression { name: Some(callee), carried, ..Expression::default() }
    }

    /// Calls whose result can be told from their arguments.
    fn known_result(&self, callee: &str, arguments: &[Expression]) -> Option<String> {
        let texts: Option<Vec<&str>> = arguments.iter().map(|argument| argument.text.as_deref()).collect();
        let texts = texts?;
        match callee.rsplit('.').next()? {
            "expanduser" => {
                let text = texts.first()?;
                Some(text.strip_prefix('~').map_or_else(|| (*text).to_owned(), |rest| format!("{}{rest}", self.home)))
            }
            "join" if callee.contains("path") => Some(texts.join("/").replace("//", "/")),
            "resolve" | "normalize" if callee.contains("path") => Some(texts.join("/").replace("//", "/")),
            "homedir" if texts.is_empty() => Some(self.home.to_owned()),
            "home" if texts.is_empty() && callee.contains("Path") => Some(self.home.to_owned()),
            _ => None,
        }
    }
}

fn joined(left: Expression, right: Expression) -> Expression {
    let text = |part: Expression| part.text.unwrap_or_else(|| HOLE.to_string());
    if left.text.is_none() && right.text.is_none() {
        let both = left.list.zip(right.list);
        return Expression { list: both.map(|(a, b)| a.into_iter().chain(b).collect()), ..Expression::default() };
    }
    Expression { text: Some(format!("{}{}", text(left), text(right))), ..Expression::default() }
}

/// A module without the scheme of Node's own.
fn bare(module: &str) -> String {
    module.strip_prefix("node:").unwrap_or(module).to_owned()
}

fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "if" | "unless"
            | "while"
            | "until"
            | "for"
            | "foreach"
            | "and"
            | "or"
            | "not"
            | "return"
            | "else"
            | "elsif"
            | "do"
            | "then"
            | "end"
            | "my"
            | "our"
            | "local"
            | "use"
            | "no"
            | "in"
            | "when"
            | "case"
            | "puts"
            | "p"
            | "print"
            | "say"
            | "require"
            | "require_relative"
            | "raise"
            | "die"
            | "warn"
            | "eq"
            | "ne"
            | "x"
            | "printf"
    )
}

/// Tokens as text again, for what is handed on as it is.
fn raw(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Name(name) | Token::Number(name) => text.push_str(name),
            Token::Text(string) => text.push_str(&format!("'{string}'")),
            Token::Shell(string) => text.push_str(&format!("`{string}`")),
            Token::Mark(mark) => text.push(*mark),
            Token::Line => {}
        }
    }
    text
}
