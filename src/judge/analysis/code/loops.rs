//! Loops and blocks of scripting languages: the values of their variables.

use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;
use super::{Gap, Language, Text, unknown};
use crate::judge::analysis::act::Value;

impl CallReader<'_> {
    /// Parses `for my $x (…)` and `… for …` of Perl, and `foreach (… as $x)` of PHP.
    pub fn each(&mut self) {
        self.at += 1;
        if self.language == Language::Php && self.mark(0, '(') && self.mark(2, '=') && !self.mark(3, '>') {
            return self.counted();
        }
        while matches!(self.named(0).as_deref(), Some("my" | "our")) {
            self.at += 1;
        }
        let php = self.language == Language::Php;
        let mut name = self.named(0).filter(|name| name.starts_with('$') && self.mark(1, '(') && !php);
        self.at += usize::from(name.is_some() || php && self.mark(0, '('));
        let value = self.expression(0);
        while php && !self.mark(0, ')') && self.peek(0).is_some() {
            name = self.named(0).or(name);
            self.at += 1;
        }
        self.stand_for(&[name.unwrap_or_else(|| "$_".to_owned())], &value);
    }

    /// Parses `for a, b in …` and `for (const a of …)`, and binds the names to the elements.
    pub fn looped(&mut self) {
        const REACH: usize = 12;
        self.at += 1;
        let joins = |token: &Token| matches!(token, Token::Name(name) if matches!(name.as_str(), "in" | "of"));
        let Some(length) = self.tokens.iter().skip(self.at).take(REACH).position(joins) else {
            return self.counted();
        };
        let names: Vec<String> = self
            .tokens
            .iter()
            .skip(self.at)
            .take(length)
            .filter_map(|token| match token {
                Token::Name(name) if !matches!(name.as_str(), "const" | "let" | "var" | "my" | "await") => {
                    Some(name.clone())
                }
                _ => None,
            })
            .collect();
        self.at += length + 1;
        let value = self.expression(0);
        let walked = value.text.as_ref().is_some_and(|text| text.has(Gap::Found));
        // After the directory, the names in it.
        let named = walked && self.language == Language::Python;
        for (index, name) in names.iter().enumerate() {
            // A walk returns the directory first, then the names in it; an iteration over the environment, the names
            // first.
            let secret = value.secret && index > 0 && !self.asks;
            let element = if value.edited.is_some() && index + 1 == names.len() {
                Expression { edited: value.edited.clone(), ..Expression::default() }
            } else if index == 0 && (walked || names.len() == 1) {
                self.narrowed(name, Expression { carried: Vec::new(), secret: false, ..value.clone() })
            } else if named {
                Expression::of_text(Gap::Name)
            } else {
                Expression { secret, ..Expression::default() }
            };
            self.bind(name, element);
        }
    }

    /// Unbinds the parameters in the definition of a function `name(a, b)`, which hide other names.
    pub fn hidden(&mut self) {
        const REACH: usize = 48;
        if !self.mark(1, '(') {
            return;
        }
        let (mut open, mut names) = (0_usize, Vec::new());
        for ahead in 1..REACH {
            let begins = self.mark(ahead - 1, '(') || self.mark(ahead - 1, ',') || self.mark(ahead - 1, '*');
            match self.peek(ahead) {
                Some(Token::Mark('(' | '[' | '{')) => open += 1,
                Some(Token::Mark(')' | ']' | '}')) if open > 1 => open -= 1,
                Some(Token::Mark(')' | ']' | '}')) | None => break,
                Some(Token::Name(name)) if open == 1 && begins => names.push(name.clone()),
                _ => {}
            }
        }
        for name in names {
            if self.bound.contains_key(&name) {
                self.bound.insert(name, Expression::of_text(Gap::Value));
            }
        }
    }

    /// Binds the name in `for (let i = 0; …)` to numbers.
    pub fn counted(&mut self) {
        let at = (1..4).find(|ahead| self.mark(*ahead, '=') && !self.mark(ahead + 1, '='));
        let number = |ahead: usize| matches!(self.peek(ahead + 1), Some(Token::Number(_)));
        if let Some(name) = at.filter(|at| self.mark(0, '(') && number(*at)).and_then(|at| self.named(at - 1)) {
            self.at += at.unwrap_or_default() + 2;
            self.bound.insert(name, Expression::of_text(Gap::Each));
        }
    }

    /// Binds names to the elements of a value.
    pub fn stand_for(&mut self, names: &[String], of: &Expression) {
        let list = of.list.clone().or_else(|| Some(of.carried.clone()).filter(|carried| !carried.is_empty()));
        for (index, name) in names.iter().enumerate() {
            let secret = of.secret && !self.asks && (index > 0 || names.len() == 1);
            let list = list.clone().filter(|_| index == 0);
            // A value that stands for several is each of them.
            let many = of.subject.clone().filter(|text| text.has(Gap::Name) || text.has(Gap::Each));
            let text = of.text.clone().or(many).filter(|_| index == 0);
            let list = if text.is_some() && of.text.is_none() { None } else { list };
            if list.is_some() || text.is_some() || secret || self.bound.contains_key(name) {
                let text = text.or_else(|| list.is_none().then(|| Gap::Value.into()));
                self.bound.insert(name.clone(), Expression { list, text, secret, ..Expression::default() });
            }
        }
    }

    /// Restricts the elements of a loop to names with a tested ending, if its only statement depends on that:
    /// `if f.endswith('.x'): …`.
    pub fn narrowed(&self, name: &str, of: Expression) -> Expression {
        let whole = of.text == Some(Gap::Name.into());
        if self.language != Language::Python || !whole {
            return of;
        }
        let is = |at: usize, wanted: &str| matches!(self.tokens.get(at), Some(Token::Name(name)) if name == wanted);
        let mark = |at: usize, mark: char| self.tokens.get(at) == Some(&Token::Mark(mark));
        let asked = (0..self.tokens.len()).find(|at| {
            is(*at, "if") && is(at + 1, name) && mark(at + 2, '.') && is(at + 3, "endswith") && mark(at + 4, '(')
        });
        let Some((at, Some(Token::Text(ending)))) = asked.map(|at| (at, self.tokens.get(at + 5))) else { return of };
        let rest = self.tokens.get(at + 7..).unwrap_or_default();
        let alone = match rest.first() {
            Some(Token::Mark(']' | ')')) => true,
            Some(Token::Mark(':')) => {
                let mut lines = rest.get(1..).unwrap_or_default().split(|token| *token == Token::Line);
                lines.by_ref().find(|line| !line.is_empty());
                lines.all(<[Token]>::is_empty)
            }
            _ => false,
        };
        let named = || Text::joined([Text::from(Gap::Name).slice(), ending.slice()]);
        if alone && mark(at + 6, ')') { Expression::of_text(named()) } else { of }
    }

    /// Parses `{ |x| … }` of Ruby, and returns the result of the call that gets the block.
    pub fn block(&mut self, of: Expression) -> Expression {
        let last = of.name.as_deref().and_then(|name| name.rsplit('.').next());
        let makes = matches!(last, Some("map" | "collect" | "flat_map" | "filter_map" | "inject" | "reduce" | "sum"));
        let each = if matches!(last, Some("map" | "collect")) { self.alone_in_block() } else { None };
        while self.peek(0).is_some_and(|token| *token != Token::Mark('}')) {
            self.statement();
        }
        self.at += 1;
        match makes {
            true => Expression { list: Some(each.unwrap_or_else(|| vec![unknown()])), ..Expression::default() },
            false => of,
        }
    }

    /// Returns the results of the only expression in a block, for each element.
    fn alone_in_block(&mut self) -> Option<Vec<Value>> {
        let (at, calls) = (self.at, self.calls.len());
        let each = self.expression(0);
        let alone = self.mark(0, '}');
        self.at = at;
        self.calls.truncate(calls);
        (alone && (each.text.is_some() || each.list.is_some())).then(|| each.values())
    }
}
