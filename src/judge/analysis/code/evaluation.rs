//! Evaluates expressions of languages without their own parser, as far as the code determines them: texts, composed
//! texts, and files of a directory.
//!
//! `patterns/languages/names.toml` defines the results of calls. Out of scope: the effects of a call, and binding
//! names.

use std::collections::HashMap;

use super::results::filled;
use super::scan::Token;
use super::{Gap, Language, Text, World, globs, value};
use crate::judge::analysis::act::Value;
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::{ResultKind, VariableMeaning};
use crate::judge::rules::word_lists;

/// Maximum nesting of expressions.
const MAX_DEPTH: u8 = 6;

/// Maximum length of a composed text, in bytes. No path is longer.
const MAX_TEXT: usize = 4096;

/// Maximum number of values of an expression.
const MAX_VALUES: usize = 16;

/// Maximum number of tokens of a type between a name and its value.
const MAX_TYPE: usize = 12;

/// Maximum number of tokens of a list.
const REACH: usize = 64;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Text(Text),
    /// The files that match a pattern.
    Files(Value),
}

impl Item {
    pub fn value(&self) -> Value {
        match self {
            Self::Text(text) => value(text),
            Self::Files(files) => files.clone(),
        }
    }

    /// Reports whether it stands for files of a directory.
    pub fn is_found(&self) -> bool {
        match self {
            Self::Text(text) => text.has(Gap::Found) || text.has(Gap::Name),
            Self::Files(_) => true,
        }
    }
}

/// The values of an expression; `None`: unknown.
pub(super) type Values = Option<Vec<Item>>;

/// Evaluates expressions in the tokens of code.
pub(super) struct Evaluation<'a> {
    tokens: &'a [Token],
    world: World<'a>,
    /// The values of names.
    bound: HashMap<String, Vec<Item>>,
}

impl<'a> Evaluation<'a> {
    pub fn new(tokens: &'a [Token], world: World<'a>) -> Self {
        Self { tokens, world, bound: HashMap::new() }
    }

    /// Returns the values of a name.
    pub fn named(&self, name: &str) -> Option<&[Item]> {
        self.bound.get(name).map(Vec::as_slice)
    }

    /// Binds a name to values, or removes it if they are unknown.
    pub fn bind(&mut self, name: &str, values: Values) {
        match values {
            Some(values) => _ = self.bound.insert(name.to_owned(), values),
            None => _ = self.bound.remove(name),
        }
    }

    pub fn mark(&self, at: usize, mark: char) -> bool {
        self.tokens.get(at) == Some(&Token::Mark(mark))
    }

    pub fn name(&self, at: usize) -> Option<&'a str> {
        match self.tokens.get(at) {
            Some(Token::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Evaluates the arguments in brackets, and returns the position after them. `at` is after the opening bracket.
    pub fn list(&self, mut at: usize, close: char, depth: u8) -> (Vec<Values>, usize) {
        let mut all = Vec::new();
        let end = at + REACH;
        while let Some(token) = self.tokens.get(at).filter(|_| at < end) {
            match token {
                Token::Mark(mark) if *mark == close => return (all, at + 1),
                Token::Mark(',') | Token::Line => at += 1,
                // `rm(d; recursive = true)`
                Token::Mark(';') => {
                    all.push(None);
                    at += 1;
                }
                _ => {
                    let (values, next) = self.expression(at, depth + 1);
                    all.push(values);
                    at = self.to_comma(next.max(at + usize::from(next == at)), close);
                }
            }
            if all.len() > MAX_VALUES {
                break;
            }
        }
        (all, at)
    }

    /// Evaluates the arguments of a call without brackets around them: `f "a" x`, `f "a", x`.
    pub fn juxtaposed(&self, mut at: usize) -> Vec<Values> {
        let mut all = Vec::new();
        let end = at + REACH;
        while all.len() < MAX_VALUES && at < end {
            let (values, next) = match self.tokens.get(at) {
                None | Some(Token::Line | Token::Mark(')' | ']' | '}' | ';' | '|')) => break,
                Some(Token::Mark('(')) => self.in_brackets(at),
                Some(Token::Text(_) | Token::Name(_)) => self.expression(at, 1),
                Some(Token::Number(_)) => (None, at + 1),
                _ => {
                    at += 1;
                    continue;
                }
            };
            all.push(values);
            at = next.max(at + 1);
        }
        all
    }

    /// Evaluates an expression in brackets, which may be a call whose name is in them: `(f "a")`. `at` is the opening
    /// bracket.
    fn in_brackets(&self, at: usize) -> (Values, usize) {
        let close = self.closing(at + 1);
        let (of, behind) = self.dotted(at + 1);
        // `(clojure.java.io/file "x")`, `(java.io.File. "x")`
        let (of, behind) = match self.name(behind + 1).filter(|_| self.mark(behind, '/')) {
            Some(name) => (format!("{of}.{name}"), behind + 2),
            None => (of, behind + usize::from(self.mark(behind, '.'))),
        };
        let is_call = self.name(at + 1).is_some() && matches!(self.tokens.get(behind), Some(Token::Text(_)));
        let (first, _) = if is_call { self.term(behind, MAX_DEPTH) } else { (None, behind) };
        let values = match first {
            Some(first) => self.given(&of, None, &[Some(first)]),
            None if is_call => None,
            None => self.expression(at, 1).0,
        };
        (values, close + 1)
    }

    /// Returns the position of the bracket that closes what `at` is in.
    pub fn closing(&self, at: usize) -> usize {
        let mut open: u32 = 0;
        let closes = |token: &Token| {
            match token {
                Token::Mark('(') => open += 1,
                Token::Mark(')') if open == 0 => return true,
                Token::Mark(')') => open -= 1,
                _ => {}
            }
            false
        };
        self.tokens.iter().skip(at).take(REACH).position(closes).map_or(at + REACH, |length| at + length)
    }

    /// Reports whether an argument without brackets begins here.
    pub fn is_argument(&self, at: usize) -> bool {
        matches!(self.tokens.get(at), Some(Token::Text(_))) || self.mark(at, '(') || self.bound_here(at)
    }

    fn bound_here(&self, at: usize) -> bool {
        self.name(at).is_some_and(|name| self.bound.contains_key(name))
    }

    /// Reports whether a value is assigned to what ends here.
    pub fn assigns(&self, at: usize) -> bool {
        self.mark(at, '=') && !self.mark(at + 1, '=') && !self.mark(at + 1, '~')
    }

    /// Evaluates the argument with one of these names, in the arguments that begin at `at`: `f(x, file = "a")`.
    pub fn keyword(&self, at: usize, names: &[String]) -> Values {
        let mut open: u32 = 0;
        for index in at..at + REACH {
            match self.tokens.get(index)? {
                Token::Mark('(' | '[' | '{') => open += 1,
                Token::Mark(')' | ']' | '}') => open = open.checked_sub(1)?,
                Token::Name(name) if open == 0 && self.assigns(index + 1) && names.contains(name) => {
                    return self.expression(index + 2, 1).0;
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the end of the argument.
    pub fn to_comma(&self, mut at: usize, close: char) -> usize {
        let mut open: u32 = 0;
        let end = at + REACH;
        while let Some(token) = self.tokens.get(at).filter(|_| at < end) {
            match token {
                Token::Mark(mark) if open == 0 && (*mark == close || matches!(mark, ',' | ';')) => break,
                Token::Mark('(' | '[' | '{') => open += 1,
                Token::Mark(')' | ']' | '}') => open = open.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// Evaluates an expression, and returns its end.
    pub fn expression(&self, at: usize, depth: u8) -> (Values, usize) {
        let (mut held, mut at) = self.term(at, depth);
        while let Some((between, next)) = self.joins(at, held.is_some()) {
            let (more, after) = self.term(next, depth);
            held = joined(held, more, between);
            if after <= at {
                break;
            }
            at = after;
        }
        (held, at)
    }

    /// Returns the operator that composes two terms.
    fn joins(&self, at: usize, is_told: bool) -> Option<(&'static str, usize)> {
        let is_term =
            |at: usize| matches!(self.tokens.get(at), Some(Token::Text(_) | Token::Name(_) | Token::Mark('(')));
        if self.mark(at, '+') && self.mark(at + 1, '+') || self.mark(at, '<') && self.mark(at + 1, '>') {
            return is_term(at + 2).then_some(("", at + 2));
        }
        let between = match self.tokens.get(at) {
            Some(Token::Mark('+')) => "",
            Some(Token::Mark('*')) if is_told => "",
            Some(Token::Mark('/')) if is_told => "/",
            _ => return None,
        };
        is_term(at + 1).then_some((between, at + 1))
    }

    pub fn term(&self, at: usize, depth: u8) -> (Values, usize) {
        if depth > MAX_DEPTH {
            return (None, at + 1);
        }
        match self.tokens.get(at) {
            Some(Token::Mark('&' | '@')) => self.term(at + 1, depth + 1),
            // `*p` is the value to which `p` points.
            Some(Token::Mark('*')) => self.term(at + 1, depth + 1),
            Some(Token::Text(text)) => self.members(Some(vec![Item::Text(text.clone())]), at + 1, depth),
            Some(Token::Mark('[')) if self.mark(at + 1, ']') => {
                // `[]string{…}`
                let kind = self
                    .tokens
                    .iter()
                    .skip(at + 2)
                    .take(MAX_TYPE)
                    .take_while(|token| !matches!(token, Token::Mark('{')));
                let open = at + 2 + kind.count();
                let (all, next) = self.list(open + 1, '}', depth);
                (flat(all), next)
            }
            Some(Token::Mark(open @ ('(' | '[' | '{'))) => {
                let close = match open {
                    '(' => ')',
                    '[' => ']',
                    _ => '}',
                };
                let (all, next) = self.list(at + 1, close, depth);
                self.members(flat(all), next, depth)
            }
            Some(Token::Name(name)) if word_lists::EXPRESSION_PREFIXES.contains(&name.as_str()) => {
                self.term(at + 1, depth + 1)
            }
            Some(Token::Name(_)) => self.path(at, depth),
            Some(Token::Number(_)) => (None, at + 1),
            _ => (None, at),
        }
    }

    /// Reports whether an operator for members is here (`.`, `::`, `->`).
    pub fn is_member(&self, at: usize) -> bool {
        self.mark(at, '.')
            || self.mark(at, ':') && at > 0 && self.mark(at - 1, ':')
            || self.mark(at, '>') && at > 0 && self.mark(at - 1, '-')
    }

    /// Returns the position of the name of a member, if one follows.
    pub fn member(&self, at: usize) -> Option<usize> {
        let next = if self.mark(at, '.') {
            at + 1
        } else if self.mark(at, ':') && self.mark(at + 1, ':') || self.mark(at, '-') && self.mark(at + 1, '>') {
            at + 2
        } else {
            return None;
        };
        self.name(next).map(|_| next)
    }

    /// Returns the name with its members, joined by dots, and its end.
    pub fn dotted(&self, at: usize) -> (String, usize) {
        let mut whole = self.name(at).unwrap_or_default().to_owned();
        let mut next = at + 1;
        while let Some(at) = self.member(next) {
            whole.push('.');
            whole.push_str(self.name(at).unwrap_or_default());
            next = at + 1;
        }
        (whole, next)
    }

    /// Returns the beginning of the arguments of a call, after `!` of a macro and type arguments.
    pub fn opens(&self, at: usize) -> Option<usize> {
        let at = at + usize::from(self.mark(at, '!'));
        if self.mark(at, '(') {
            return Some(at + 1);
        }
        let types = at + if self.mark(at, ':') { 2 } else { 0 };
        if self.mark(types, '<') {
            let end = self.tokens.iter().skip(types).take(MAX_TYPE).position(|token| *token == Token::Mark('>'))?;
            return self.mark(types + end + 1, '(').then_some(types + end + 2);
        }
        None
    }

    /// Returns the position after the type in a declaration: `: &str`.
    pub fn behind_type(&self, at: usize) -> usize {
        let is_type = |token: &&Token| {
            matches!(token, Token::Name(_) | Token::Mark('&' | '<' | '>' | '[' | ']' | '?' | '.' | ':' | '*'))
        };
        at + self.tokens.iter().skip(at).take(MAX_TYPE).take_while(is_type).count()
    }

    /// Evaluates a name, its members and their calls.
    fn path(&self, at: usize, depth: u8) -> (Values, usize) {
        let (whole, next) = self.dotted(at);
        if let Some(open) = self.opens(next) {
            let (arguments, behind) = self.list(open, ')', depth);
            // A method of the value that a name is bound to.
            let (of, subject) = match whole.split_once('.') {
                Some((first, rest)) if let Some(held) = self.bound.get(first) => (rest.to_owned(), Some(held.clone())),
                _ => (whole, None),
            };
            return self.members(self.given(&of, subject, &arguments), behind, depth);
        }
        // `vec!["a", "b"]`
        if self.mark(next, '!') && self.mark(next + 1, '[') {
            let (all, behind) = self.list(next + 2, ']', depth);
            return self.members(flat(all), behind, depth);
        }
        if let Some((VariableMeaning::Home, _)) = languages().held(Language::Other, &whole) {
            return self.members(Some(vec![Item::Text(self.world.home.into())]), next, depth);
        }
        let values = match whole.split_once('.') {
            None => self.bound.get(&whole).cloned(),
            Some((first, rest)) => {
                let subject = self.bound.get(first).cloned();
                subject.and_then(|subject| self.given(rest, Some(subject), &[]))
            }
        };
        self.members(values, next, depth)
    }

    /// Evaluates a chain of members of a value.
    fn members(&self, mut values: Values, mut at: usize, depth: u8) -> (Values, usize) {
        loop {
            if self.mark(at, '?') || self.mark(at, '!') && (self.mark(at + 1, '.') || self.mark(at + 1, ')')) {
                at += 1;
            } else if let Some(name) = self.member(at) {
                let callee = self.name(name).unwrap_or_default();
                let (arguments, next) = match self.opens(name + 1) {
                    Some(open) => self.list(open, ')', depth),
                    None => (Vec::new(), name + 1),
                };
                values = values.and_then(|values| self.given(callee, Some(values), &arguments));
                at = next;
            } else if self.mark(at, '[') {
                let (_, next) = self.list(at + 1, ']', depth);
                at = next;
            } else {
                return (values, at);
            }
        }
    }

    /// Returns the result of a call, from its object and its arguments.
    fn given(&self, callee: &str, subject: Values, arguments: &[Values]) -> Values {
        let first = || arguments.first().cloned().flatten();
        let text = |values: Values| match values?.into_iter().next()? {
            Item::Text(text) => Some(text),
            Item::Files(_) => None,
        };
        let one = |text: Text| Some(vec![Item::Text(text)]);
        for result in languages().results(Language::Other, callee) {
            let given = match result.gives {
                ResultKind::Text | ResultKind::Path if arguments.is_empty() => {
                    one(self.world.at_home(result.text.as_deref()?.into()))
                }
                ResultKind::Nothing => one(Text::default()),
                ResultKind::Same | ResultKind::SameNames => subject.clone(),
                ResultKind::PlainPath if arguments.is_empty() => subject.clone(),
                ResultKind::Argument | ResultKind::ArgumentInAnEncoding | ResultKind::PlainPath => first(),
                ResultKind::PathObject | ResultKind::JoinedPath => below(None, arguments),
                ResultKind::PathBelow if subject.is_some() => below(subject.clone(), arguments),
                ResultKind::Filled => filled_with(&subject, arguments),
                ResultKind::FilledArguments => {
                    arguments.split_first().and_then(|(first, rest)| filled_with(first, rest))
                }
                ResultKind::Arguments => flat(arguments.to_vec()),
                ResultKind::StrungArguments => match arguments.split_first() {
                    Some((first, rest)) => rest.iter().cloned().fold(first.clone(), |all, more| joined(all, more, "")),
                    None => None,
                },
                ResultKind::Reversed => one(text(first().or_else(|| subject.clone()))?.slice().reversed()),
                ResultKind::StrungBehind => {
                    arguments.iter().cloned().fold(subject.clone(), |all, more| joined(all, more, ""))
                }
                ResultKind::Variable => {
                    let is_home = text(first())?.known().is_some_and(|name| languages().is_home(name));
                    is_home.then(|| vec![Item::Text(self.world.home.into())])
                }
                ResultKind::TemporaryPath => one(Gap::Temporary.into()),
                ResultKind::FilesOfPattern => {
                    let pattern = text(first())?;
                    Some(globs::found([&value(&pattern)]).into_iter().map(Item::Files).collect())
                }
                ResultKind::AllIn | ResultKind::AllBelow if subject.is_some() => {
                    one(Text::joined([text(subject.clone())?.slice(), Text::from(Gap::Found).slice()]))
                }
                ResultKind::AllInArgument => {
                    let of = match arguments.is_empty() {
                        true => ".".into(),
                        false => text(first())?,
                    };
                    one(Text::joined([of.slice(), Text::from(Gap::Found).slice()]))
                }
                _ => None,
            };
            if given.is_some() {
                return given;
            }
        }
        None
    }
}

/// Joins the values of several expressions to one list; `None` if one of them is unknown.
fn flat(all: Vec<Values>) -> Values {
    let told: Vec<Item> = all.into_iter().flatten().flatten().take(MAX_VALUES).collect();
    (!told.is_empty()).then_some(told)
}

/// Concatenates values. Unknown second values become an unknown part.
pub(super) fn joined(first: Values, second: Values, between: &str) -> Values {
    let gap = || vec![Item::Text(Gap::Value.into())];
    let (first, second) = (first?, second.unwrap_or_else(gap));
    let mut all = Vec::new();
    for one in &first {
        for other in &second {
            let (Item::Text(one), Item::Text(other)) = (one, other) else { continue };
            let other =
                if between.is_empty() { other.slice() } else { other.slice().cut(|text| text.trim_start_matches('/')) };
            // A longer text is not evaluated.
            if one.len() + other.len() > MAX_TEXT {
                return Some(gap());
            }
            all.push(Item::Text(Text::joined([one.slice(), between.into(), other])));
        }
    }
    all.truncate(MAX_VALUES);
    (!all.is_empty()).then_some(all)
}

/// Joins parts of a path. An absolute part replaces the earlier ones.
fn below(subject: Values, parts: &[Values]) -> Values {
    let mut parts = subject.map(Some).into_iter().chain(parts.iter().cloned());
    let first = parts.next()?;
    parts.fold(first, |all, part| joined(all, part, "/"))
}

/// Replaces the placeholders in a text.
pub(super) fn filled_with(pattern: &Values, arguments: &[Values]) -> Values {
    let Some([Item::Text(pattern)]) = pattern.as_deref() else { return None };
    let values = arguments.iter().map(|argument| match argument.as_deref() {
        Some([Item::Text(text)]) => value(text),
        _ => super::unknown(),
    });
    Some(vec![Item::Text(filled(pattern.slice(), values.collect()))])
}
