//! Expressions of scripting languages: their calls are collected, and their text is computed from literals and
//! concatenations.

use super::element_texts::put_together;
use super::scan::{Token, UNKNOWN_NAME};
use super::statements::CallReader;
use super::{Call, Gap, Language, Slice, Text, TextItem, file_text, globs, names, results, unknown, value};
use crate::judge::analysis::act::{Piece, Taint, Unknown, UnknownReason, Value};
use crate::judge::analysis::replacements::EditedText;
use crate::judge::rules::word_lists;

/// Maximum nesting of brackets.
pub(super) const MAX_DEPTH: usize = 32;

/// Maximum length of a text in code, in bytes.
pub(super) const MAX_TEXT: usize = 1 << 16;

/// Maximum number of elements of concatenated lists.
pub(super) const MAX_LIST: usize = 1 << 12;

/// The result of an expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Expression {
    /// Its text, if it is a string or a path.
    pub text: Option<Text>,
    /// The elements of a list.
    pub list: Option<Vec<Value>>,
    /// The name for which it stands.
    pub name: Option<String>,
    /// The arguments of its calls, in order.
    pub carried: Vec<Value>,
    /// The source text at its beginning, for arguments that are objects.
    pub raw: Option<Text>,
    /// For a keyword argument: the name and the value.
    pub setting: Option<(String, Text)>,
    /// The text of which it is a member.
    pub subject: Option<Text>,
    /// Whether it is the result of a call and not a function.
    pub called: bool,
    /// Whether it is the whole environment, or a variable in it whose name suggests a secret.
    pub secret: bool,
    /// Whether it is a function that is defined where it is used.
    pub lambda: bool,
    /// The text of a file, if it is one that was read and edited.
    pub edited: Option<Box<EditedText>>,
}

impl Expression {
    /// Creates it for a text; a text that exceeds the maximum length is unknown.
    pub fn of_text(text: impl Into<Text>) -> Self {
        let text = text.into();
        let text = if text.len() > MAX_TEXT { Gap::Value.into() } else { text };
        Self { text: Some(text), ..Self::default() }
    }

    /// Returns its approximate size in memory, in bytes.
    pub fn size(&self) -> u64 {
        let of_list = |list: &[Value]| list.iter().map(|value| 64 + value.length()).sum::<usize>();
        let text = self.text.as_ref().map_or(0, Text::size);
        let lists = self.list.as_deref().into_iter().chain([self.carried.as_slice()]);
        (text + lists.map(of_list).sum::<usize>()) as u64
    }

    pub fn of_name(name: String) -> Self {
        Self { secret: names::is_environment(&name), name: Some(name), ..Self::default() }
    }

    /// Creates it for a path that is an object with methods.
    pub fn of_path(text: impl Into<Text>) -> Self {
        Self { text: Some(text.into()), name: Some("pathlib.Path".to_owned()), ..Self::default() }
    }

    pub fn values(self) -> Vec<Value> {
        if let Some((name, given)) = self.setting {
            return vec![option(&name, given.slice())];
        }
        if let Some(edited) = file_text::whole(&self).filter(|_| self.text.is_none()) {
            let unknown = Unknown { why: UnknownReason::FileText(edited), taint: Taint::default() };
            return vec![Value::of(vec![Piece::Unknown(unknown)])];
        }
        if let Some(list) = self.list {
            return list;
        }
        if let Some(text) = self.text {
            return vec![value(&text)];
        }
        match self.raw {
            Some(raw) => vec![value(&raw)],
            // An opened file is represented by its name. Its content is unknown.
            None => {
                let opened = self.called && self.name.as_deref().is_some_and(|name| name.ends_with("open"));
                let file = self.carried.into_iter().next().filter(|_| opened);
                vec![file.unwrap_or_else(unknown)]
            }
        }
    }
}

/// Returns a keyword argument as an option: `--name=value`.
pub(super) fn option<'t>(name: &str, given: impl Into<Slice<'t>>) -> Value {
    value(&Text::joined(["--".into(), name.into(), "=".into(), given.into()])).into_option()
}

impl CallReader<'_> {
    /// Parses an expression: its calls are collected, and its text is computed as far as it is known.
    pub fn expression(&mut self, depth: usize) -> Expression {
        if self.calls.len() > super::MAX_CALLS {
            self.at = self.tokens.len();
            return Expression::default();
        }
        if self.nesting >= MAX_DEPTH {
            self.at += 1;
            return Expression::default();
        }
        self.nesting += 1;
        let all = self.joined_operands(depth);
        self.nesting -= 1;
        all
    }

    fn joined_operands(&mut self, depth: usize) -> Expression {
        let mut all = self.operand(depth);
        loop {
            let joins = self.mark(0, '+') && !self.mark(1, '+')
                || self.mark(0, '.') && matches!(self.language, Language::Php | Language::Perl) && !self.mark(1, '.')
                || self.mark(0, '.') && self.mark(1, '.') && self.language == Language::Lua;
            let below = self.language == Language::Python && self.mark(0, '/') && !self.mark(1, '/') && is_path(&all);
            // `'%s x' % name`
            if self.mark(0, '%') && matches!(self.language, Language::Python | Language::Ruby) && all.text.is_some() {
                self.at += 1;
                let next = self.operand(depth);
                let secret = all.secret || next.secret;
                let text = results::filled(all.text.unwrap_or_default().slice(), next.values());
                all = Expression { secret, ..Expression::of_text(text) };
                continue;
            }
            if below {
                self.at += 1;
                let next = self.operand(depth);
                all = self.path_of(&[all, next]);
                continue;
            }
            if !joins {
                // Adjacent strings are concatenated in Python.
                if all.text.is_some()
                    && matches!(self.peek(0), Some(Token::Text(_)))
                    && self.language == Language::Python
                {
                    all = self.joined_with_next(all, depth);
                    continue;
                }
                return all;
            }
            self.at += if self.language == Language::Lua { 2 } else { 1 };
            self.skip_lines();
            all = self.joined_with_next(all, depth);
        }
    }

    /// Joins the next operand to a value, which copies both. Without fuel the result is unknown.
    #[inline(never)]
    fn joined_with_next(&mut self, all: Expression, depth: usize) -> Expression {
        let next = self.operand(depth);
        let is_paid = (self.world.spend)((all.size() + next.size()) / 4);
        if is_paid { joined(all, next) } else { Expression::of_text(Gap::Value) }
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
                Expression::of_text(text)
            }
            // `2..9`
            Token::Number(number) if number.contains("..") => {
                self.at += 1;
                Expression::of_text(Gap::Each)
            }
            Token::Number(number) => {
                self.at += 1;
                Expression { raw: Some(number.into()), ..Expression::default() }
            }
            Token::Shell(text) => {
                self.at += 1;
                self.calls.push(Call::new("backtick".into(), vec![value(&text)]));
                Expression::default()
            }
            Token::Mark('[') => self.list(depth),
            // `(int)$x`
            Token::Mark('(') if self.is_cast() => {
                self.at += 3;
                return self.operand(depth + 1);
            }
            Token::Mark('+') if self.language == Language::Js => {
                self.at += 1;
                return self.operand(depth + 1);
            }
            Token::Mark('(') => {
                self.at += 1;
                let mut inner = self.arguments(depth + 1, ')');
                match inner.len() {
                    1 => inner.pop().unwrap_or_default(),
                    // `(0, f)(x)`
                    2.. if self.language == Language::Js && self.mark(0, '(') => inner.pop().unwrap_or_default(),
                    _ => Expression {
                        list: Some(inner.into_iter().flat_map(Expression::values).collect()),
                        ..Expression::default()
                    },
                }
            }
            // `({a: b} = require("m"))`
            Token::Mark('{') if self.language == Language::Js && self.nesting > 0 && self.destructuring() => {
                return Expression::default();
            }
            Token::Mark('{') => self.object(depth),
            Token::Mark('<') if self.language == Language::Perl => self.angled(),
            // A test of whether a variable is set does not reveal a secret.
            Token::Mark('!') if !self.mark(1, '=') && !self.mark(1, '~') => {
                self.at += 1;
                return Expression { secret: false, ..self.operand(depth + 1) };
            }
            // A symbol of Ruby is a text.
            Token::Mark(':') if self.language == Language::Ruby && self.named(1).is_some() => {
                let text = self.named(1).unwrap_or_default();
                self.at += 2;
                Expression::of_text(text)
            }
            Token::Mark('-') if matches!(self.peek(1), Some(Token::Number(_))) => {
                let Some(Token::Number(number)) = self.peek(1).cloned() else { return Expression::default() };
                self.at += 2;
                Expression { raw: Some(format!("-{number}").into()), ..Expression::default() }
            }
            // `&:delete`: a method of the elements.
            Token::Mark('&') if self.language == Language::Ruby && self.mark(1, ':') && self.named(2).is_some() => {
                let method = self.named(2).unwrap_or_default();
                self.at += 3;
                return Expression { raw: Some(format!("&:{method}").into()), ..Expression::default() };
            }
            Token::Mark('&' | '\\' | '*' | '@' | '%') => {
                self.at += 1;
                // `&{"name"}(…)`: a function that a text names.
                if self.mark(0, '{') && self.language == Language::Perl {
                    self.at += 1;
                    let inner = self.arguments(depth + 1, '}').pop().unwrap_or_default();
                    return self.by_text(inner, depth);
                }
                // `&$name(…)`
                if token == Token::Mark('&')
                    && self.language == Language::Perl
                    && let Some(name) = self.named(0).filter(|name| name.starts_with('$'))
                {
                    self.at += 1;
                    let of = self.name(name);
                    return self.by_text(of, depth);
                }
                return self.operand(depth + 1);
            }
            Token::Name(name)
                if matches!(name.as_str(), "await" | "new" | "not" | "lambda" | "function" | "my" | "our")
                    && !self.bound.contains_key(&name) =>
            {
                self.at += 1;
                let operand = self.operand(depth + 1);
                return Expression { lambda: operand.lambda || name == "lambda", ..operand };
            }
            // `name := value`
            Token::Name(name) if self.language == Language::Python && self.mark(1, ':') && self.mark(2, '=') => {
                self.at += 3;
                let value = self.expression(depth + 1);
                value.name.iter().for_each(|name| self.taken(name));
                self.bind(&name, value.clone());
                return value;
            }
            // `(f = "name")(…)`
            Token::Name(name)
                if matches!(self.language, Language::Js | Language::Php | Language::Perl)
                    && self.nesting > 0
                    && self.mark(1, '=')
                    && !matches!(self.peek(2), Some(Token::Mark('=' | '>' | '~'))) =>
            {
                self.at += 2;
                let value = self.expression(depth + 1);
                value.name.iter().for_each(|name| self.taken(name));
                self.bind(&name, value.clone());
                return value;
            }
            // `[x.append(y) for y in …]`
            Token::Name(name) if self.grows(&name) => {
                self.grown(&name);
                return Expression::default();
            }
            Token::Name(name) => {
                self.at += 1;
                self.name(name)
            }
            Token::Mark(_) | Token::Line => return Expression::default(),
        };
        let of = self.members(first, depth);
        self.note_loose(&of);
        of
    }

    fn name(&mut self, name: String) -> Expression {
        if name.contains(UNKNOWN_NAME) {
            return Expression::of_text(name);
        }
        if let Some(bound) = self.held(&name) {
            return bound;
        }
        if let Some(own) = self.own_place(&name) {
            return Expression::of_text(own);
        }
        match &self.everything_of {
            Some(module) if self.mark(0, '(') && !word_lists::PYTHON_BUILTINS.contains(&name.as_str()) => {
                Expression::of_name(format!("{module}.{name}"))
            }
            Some(module) if self.language == Language::Ruby && (self.world.knows)(&format!("{module}.{name}")) => {
                Expression::of_name(format!("{module}.{name}"))
            }
            _ => Expression::of_name(name),
        }
    }

    /// Returns a copy of the value of a name, which is charged; without fuel an unknown value.
    #[inline(never)]
    pub fn held(&self, name: &str) -> Option<Expression> {
        let bound = self.bound.get(name)?;
        let is_paid = (self.world.spend)(bound.size() / 16);
        Some(if is_paid { bound.clone() } else { Expression::of_text(Gap::Value) })
    }

    fn is_cast(&self) -> bool {
        let kind = |name: String| matches!(name.as_str(), "int" | "string" | "float" | "bool" | "array");
        self.language == Language::Php && self.named(1).is_some_and(kind) && self.mark(2, ')')
    }

    /// Evaluates `<*.txt>` of Perl.
    fn angled(&mut self) -> Expression {
        self.at += 1;
        let begin = self.at;
        while !self.mark(0, '>') && self.peek(0).is_some_and(|token| *token != Token::Line) {
            self.at += 1;
        }
        let pattern = raw(self.tokens.get(begin..self.at).unwrap_or_default());
        self.at += 1;
        Expression { list: Some(globs::found([&value(&pattern)])), ..Expression::default() }
    }

    /// Returns the end of `[::-1]`, if it is here.
    fn reverses(&self) -> Option<usize> {
        let opens = self.language == Language::Python && self.mark(0, '[') && self.mark(1, ':') && self.mark(2, ':');
        let number =
            |ahead: usize, text: &str| matches!(self.peek(ahead), Some(Token::Number(number)) if number == text);
        let length = match opens {
            true if number(3, "-1") => 4,
            true if self.mark(3, '-') && number(4, "1") => 5,
            _ => return None,
        };
        self.mark(length, ']').then_some(self.at + length + 1)
    }

    /// Returns the key of a hash, if one is here.
    fn key(&self, ahead: usize) -> Option<Text> {
        let key = match self.peek(ahead)? {
            Token::Name(key) => key.into(),
            Token::Text(key) => key.slice(),
            _ => return None,
        };
        let known = |sign: TextItem| if sign == TextItem::Letter('$') { TextItem::Gap(Gap::Value) } else { sign };
        Some(key.signs().map(known).collect())
    }

    /// Parses `.name`, `::name`, `->name`, `[…]` and `(…)` after an operand.
    pub(super) fn members(&mut self, mut of: Expression, depth: usize) -> Expression {
        if self.language == Language::Perl
            && matches!(of.name.as_deref(), Some("unlink" | "rmdir"))
            && !self.mark(0, '(')
            && !self.takes_bare_arguments(&of)
        {
            let it = self.bound.get("$_").cloned().unwrap_or_default();
            return self.call(of, vec![it]);
        }
        // A method of Ruby can be called without brackets and arguments.
        let mut sends = false;
        loop {
            let pair = |first, second| self.mark(0, first) && self.mark(1, second);
            let member = if pair('?', '.') || pair(':', ':') || pair('-', '>') {
                2
            } else {
                usize::from(
                    self.mark(0, '.') && !self.mark(1, '.') || self.mark(0, ':') && self.language == Language::Lua,
                )
            };
            if member > 0 && self.named(member).is_some() && !(self.mark(0, '.') && self.language == Language::Php) {
                let part = self.named(member).unwrap_or_default();
                // The result of a method of Ruby that is called without arguments.
                let given = of.name.clone().filter(|_| sends).and_then(|name| self.known_result(&name, &of, &[]));
                of = given.unwrap_or(of);
                self.at += member + 1;
                sends = self.language == Language::Ruby && part.starts_with(|c: char| c.is_ascii_lowercase());
                let is_known = || (self.world.knows)(&format!("{}.{part}", of.name.as_deref().unwrap_or_default()));
                sends |= self.language == Language::Perl && of.called && is_known();
                if let Some(same) = self.same_text(&of, &part).or_else(|| self.above_path(&of, &part)) {
                    of = same;
                    continue;
                }
                let is_text = of.text.is_some();
                of.secret = names::stays_secret(&of, &part);
                of.called = false;
                of.name = match of.name.take() {
                    Some(name) => Some(names::plain_name(self.language, format!("{name}.{part}"))),
                    None if is_text => Some(format!("text.{part}")),
                    None if of.raw.is_some() => Some(format!("value.{part}")),
                    None => Some(part),
                };
                of.secret |= of.name.as_deref().is_some_and(names::is_environment);
                of.subject = of.text.take().or(of.subject);
                if of.carried.is_empty() {
                    of.carried = match (&of.subject, of.list.take()) {
                        (Some(text), _) => vec![value(text)],
                        (None, list) => list.unwrap_or_default(),
                    };
                }
                of.list = None;
                of.raw = None;
                if let Some(text) = of.name.as_deref().and_then(|name| self.environment(name)) {
                    of = Expression::of_text(text);
                } else if let Some(own) = of.name.as_deref().and_then(|name| self.own_place(name)) {
                    of = Expression::of_text(own);
                }
                continue;
            }
            if let Some(end) = self.reverses().filter(|_| of.text.is_some() || of.list.is_some()) {
                self.at = end;
                of.text = of.text.map(|text| text.slice().reversed());
                of.list.iter_mut().for_each(|list| list.reverse());
                continue;
            }
            if self.mark(0, '[')
                && (of.name.is_some() || of.text.is_some() || of.list.is_some())
                && !self.takes_bare_arguments(&of)
            {
                self.at += 1;
                let begin = self.at;
                let edited = of.edited.take();
                let mut inner = self.arguments(depth + 1, ']');
                // A step puts the letters in another order.
                let colons = self.tokens.get(begin..self.at).unwrap_or_default().iter();
                let steps = colons.filter(|token| **token == Token::Mark(':')).count() > 1;
                // `local["rm"]["-rf", "x"]()`: words of a command.
                let named = of
                    .name
                    .as_deref()
                    .is_some_and(|name| name.starts_with("plumbum.cmd.") || name.starts_with("plumbum.local."));
                if named {
                    of.carried.extend(inner.into_iter().flat_map(Expression::values));
                    continue;
                }
                let inner = if inner.is_empty() { Expression::default() } else { inner.swap_remove(0) };
                of = self.member(of, inner);
                of.edited = edited.filter(|_| !steps);
                continue;
            }
            // `$ENV{HOME}`
            if self.language == Language::Perl
                && self.mark(0, '{')
                && let (Some(key), true) = (self.key(1), self.mark(2, '}'))
                && of.name.as_deref().is_some_and(|name| name.starts_with('$'))
            {
                self.at += 3;
                of = self.member(of, Expression::of_text(key));
                continue;
            }
            if self.language == Language::Ruby
                && (self.mark(0, '{') || self.named(0).as_deref() == Some("do"))
                && self.mark(1, '|')
            {
                let braces = self.mark(0, '{');
                let given = of.name.clone().filter(|_| sends).and_then(|name| self.known_result(&name, &of, &[]));
                of = given.unwrap_or(of);
                self.at += 2;
                let names = self.names_up_to('|');
                self.stand_for(&names, &of);
                if !braces {
                    return of;
                }
                of = self.block(of);
                sends = false;
                continue;
            }
            if pair('-', '>') && self.mark(2, '(') && self.language == Language::Perl {
                self.at += 2;
                return self.by_text(of, depth);
            }
            if self.mark(0, '(') {
                self.at += 1;
                self.parameters(&of);
                let arguments = self.arguments(depth + 1, ')');
                of = self.call(of, arguments);
                sends = false;
                continue;
            }
            if self.takes_bare_arguments(&of) {
                let arguments = self.bare_arguments(depth + 1);
                of = self.call(of, arguments);
                sends = false;
                continue;
            }
            return if sends && of.text.is_none() { self.call(of, Vec::new()) } else { of };
        }
    }
}

pub(super) fn joined(left: Expression, right: Expression) -> Expression {
    if let Some(edited) = file_text::joined(&left, &right) {
        return Expression { edited: Some(edited), ..Expression::default() };
    }
    if left.text.is_none() && right.text.is_none() {
        let both = left.list.zip(right.list).filter(|(a, b)| a.len() + b.len() <= MAX_LIST);
        return Expression { list: both.map(|(a, b)| a.into_iter().chain(b).collect()), ..Expression::default() };
    }
    put_together(&[left, right], |texts| Text::joined(texts.iter().map(Text::slice)))
}

/// Reports whether `/` joins a path to it: it is a path, or a list of paths.
fn is_path(of: &Expression) -> bool {
    of.text.is_some() || of.list.is_some() && of.name.as_deref().is_some_and(|name| name.contains("Path"))
}

/// Returns the name of a module without the scheme `node:`.
pub(super) fn bare(module: &str) -> String {
    module.strip_prefix("node:").unwrap_or(module).to_owned()
}

/// Converts tokens to text.
pub(super) fn raw(tokens: &[Token]) -> Text {
    let mut text = Text::default();
    for token in tokens {
        match token {
            Token::Name(name) | Token::Number(name) => text.push_text(name),
            Token::Text(string) => text.push_text(&Text::joined(["'".into(), string.slice(), "'".into()])),
            Token::Shell(string) => text.push_text(&Text::joined(["`".into(), string.slice(), "`".into()])),
            Token::Mark(mark) => text.push(TextItem::Letter(*mark)),
            Token::Line => {}
        }
    }
    text
}
