//! Evaluates names in languages without their own parser: assignments, loops, filled buffers, and parameters of
//! functions that are called with the files that a search found.
//!
//! Out of scope: evaluating expressions, and guesses about names without an assignment.

use super::evaluation::{Evaluation, Item, filled_with, joined};
use super::scan::Token;
use super::{Language, World};
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::ResultKind;

/// The bound names at a position in the tokens of code.
pub(super) struct Constants<'a> {
    evaluation: Evaluation<'a>,
    /// The last result of a search, with which a passed function is called.
    found: Option<Vec<Item>>,
}

impl<'a> Constants<'a> {
    pub fn new(tokens: &'a [Token], world: World<'a>) -> Self {
        Self { evaluation: Evaluation::new(tokens, world), found: None }
    }

    /// Returns the evaluation of expressions with the names that are bound so far.
    pub fn evaluation(&self) -> &Evaluation<'a> {
        &self.evaluation
    }

    /// Processes a token: assignments, loops, passed functions.
    pub fn pass(&mut self, at: usize) {
        let Some(name) = self.evaluation.name(at) else {
            // `|entry| …`
            if self.evaluation.mark(at, '|') && self.evaluation.mark(at + 2, '|') {
                self.take_found(at + 1);
            }
            return;
        };
        if let Some((names, from, adds)) = self.assignment(at) {
            let (values, _) = self.evaluation.expression(from, 0);
            for name in names {
                let before = adds.then(|| self.evaluation.named(name).map(<[Item]>::to_vec)).flatten();
                let held = if adds { joined(before, values.clone(), "") } else { values.clone() };
                self.evaluation.bind(name, held);
            }
        } else if matches!(name, "for" | "foreach") {
            self.each(at + 1);
        } else if name == "func" && self.evaluation.mark(at + 1, '(') {
            self.take_found(at + 2);
        } else if self.evaluation.mark(at + 1, '-') && self.evaluation.mark(at + 2, '>')
            || self.evaluation.mark(at + 1, '=') && self.evaluation.mark(at + 2, '>')
        {
            self.take_found(at);
        }
        if self.is_finding(at) {
            let (values, _) = self.evaluation.term(at, 0);
            if values.as_ref().is_some_and(|all| all.iter().any(Item::is_found)) {
                self.found.clone_from(&values);
                self.evaluation.bind("it", values);
            }
        }
        self.filled_in(at);
    }

    /// Reports whether a call begins here that returns the files of a directory.
    fn is_finding(&self, at: usize) -> bool {
        let begins = at.checked_sub(1).is_none_or(|before| !self.evaluation.is_member(before));
        let finds = |gives: ResultKind| {
            matches!(
                gives,
                ResultKind::AllInArgument | ResultKind::AllIn | ResultKind::AllBelow | ResultKind::FilesOfPattern
            )
        };
        // For a search in the result of another call, the first call is processed.
        let is_it = |whole: &str| languages().results(Language::Other, whole).any(|result| finds(result.gives));
        let (whole, next) = self.evaluation.dotted(at);
        begins
            && self.evaluation.opens(next).is_some()
            && (is_it(&whole) || self.leads_on(next).is_some_and(|name| is_it(&name)))
    }

    /// Returns the name of the member of the result of the call whose arguments begin here.
    fn leads_on(&self, at: usize) -> Option<String> {
        let close = self.evaluation.to_comma(self.evaluation.opens(at)?, ')');
        self.evaluation.member(close + 1).map(|name| self.evaluation.dotted(name).0)
    }

    /// Returns the values with which a function that is passed by its name is called.
    pub fn found(&self) -> Option<&[Item]> {
        self.found.as_deref()
    }

    fn take_found(&mut self, at: usize) {
        if let (Some(name), Some(found)) = (self.evaluation.name(at), self.found.clone()) {
            self.evaluation.bind(name, Some(found));
        }
    }

    /// Binds the buffer in `snprintf(to, size, "%s/x", home)` to the text.
    fn filled_in(&mut self, at: usize) {
        let Some(name) = self.evaluation.name(at).filter(|_| self.evaluation.mark(at + 1, '(')) else { return };
        if !languages().results(Language::Other, name).any(|result| result.gives == ResultKind::FillsArgument) {
            return;
        }
        let Some(to) = self.evaluation.name(at + 2) else { return };
        let (arguments, _) = self.evaluation.list(at + 2, ')', 0);
        let pattern = arguments.iter().position(|argument| matches!(argument.as_deref(), Some([Item::Text(_)])));
        let text = pattern.and_then(|pattern| {
            let (first, rest) = arguments.get(pattern..)?.split_first()?;
            filled_with(first, rest)
        });
        self.evaluation.bind(to, text);
    }

    /// Binds the variable of a loop: `for x in …`, `for (File x : …)`, `for x <- …`.
    fn each(&mut self, at: usize) {
        for ahead in at..at + 8 {
            let is_in = matches!(self.evaluation.name(ahead), Some("in" | "of"));
            let is_colon = self.evaluation.mark(ahead, ':')
                && !self.evaluation.mark(ahead + 1, ':')
                && !self.evaluation.mark(ahead + 1, '=');
            let Some(name) = ahead.checked_sub(1).and_then(|before| self.evaluation.name(before)) else { continue };
            if is_in || is_colon && !self.evaluation.mark(ahead - 1, ':') {
                let (values, _) = self.evaluation.expression(ahead + 1, 0);
                self.evaluation.bind(name, values);
                return;
            }
        }
    }

    /// Returns the names in an assignment, the position of its value, and whether the value is appended.
    fn assignment(&self, at: usize) -> Option<(Vec<&'a str>, usize, bool)> {
        let mut names = vec![self.evaluation.name(at)?];
        let mut next = at + 1;
        while self.evaluation.mark(next, ',') {
            names.push(self.evaluation.name(next + 1)?);
            next += 2;
        }
        // `char path[256] = …`
        if self.evaluation.mark(next, '[') {
            next += if self.evaluation.mark(next + 1, ']') { 2 } else { 3 };
        }
        if self.evaluation.mark(next, '+') && self.evaluation.mark(next + 1, '=') {
            return Some((names, next + 2, true));
        }
        if self.evaluation.mark(next, '<') && self.evaluation.mark(next + 1, '-') {
            return Some((names, next + 2, false));
        }
        // `name: &str = …`
        if self.evaluation.mark(next, ':') && !self.evaluation.mark(next + 1, '=') {
            next = self.evaluation.behind_type(next);
        } else if self.evaluation.mark(next, ':') {
            next += 1;
        }
        let assigns = self.evaluation.mark(next, '=')
            && !['=', '>', '~'].iter().any(|mark| self.evaluation.mark(next + 1, *mark));
        assigns.then_some((names, next + 1, false))
    }
}
