//! Functions that code defines and calls: the values of their parameters in each call.
//!
//! The code is parsed again for each call. A parameter has a known value only if the function occurs only in its
//! definition and in plain calls, and the name of the parameter has no other meaning in the code.

use super::Language;
use std::collections::HashMap;

use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;

/// Maximum number of calls of a function.
const MAX_TURNS: usize = 8;

/// Maximum number of tokens and of functions. Larger code is parsed once, with unknown parameters.
const MAX_TOKENS: usize = 1 << 13;
const MAX_FUNCTIONS: usize = 32;

/// The functions of code.
#[derive(Default)]
pub(super) struct Functions {
    /// The parameters of each function, in order.
    parameters: HashMap<String, Vec<String>>,
    /// The arguments of the calls of each function.
    calls: HashMap<String, Vec<Vec<Expression>>>,
    /// The call whose arguments are the values of the parameters; `None` while calls are collected.
    turn: Option<usize>,
}

impl Functions {
    /// Finds the functions that are defined, and otherwise only called.
    pub fn of(language: Language, tokens: &[Token]) -> Self {
        let word = match language {
            Language::Python => "def",
            Language::Js => "function",
            _ => return Self::default(),
        };
        let name = |at: usize| match tokens.get(at) {
            Some(Token::Name(name)) => Some(name.as_str()),
            _ => None,
        };
        let mark = |at: usize, mark: char| tokens.get(at) == Some(&Token::Mark(mark));
        let defined = (0..tokens.len()).filter(|at| name(*at) == Some(word)).take(MAX_FUNCTIONS + 1).count();
        let mut parameters: HashMap<String, Vec<String>> = HashMap::new();
        if tokens.len() > MAX_TOKENS || defined > MAX_FUNCTIONS {
            return Self::default();
        }
        for at in (0..tokens.len()).filter(|at| name(*at) == Some(word) && mark(at + 2, '(')) {
            let Some(function) = name(at + 1) else { continue };
            let plain = |(index, token): (usize, &Token)| {
                let before = index.checked_sub(1);
                // A member with that name is another function.
                let other = !matches!(token, Token::Name(name) if name == function)
                    || before.is_some_and(|before| mark(before, '.'));
                let defines = before.is_some_and(|before| name(before) == Some(word));
                other || index == at + 1 || !defines && mark(index + 1, '(') && !mark(index + 2, '*')
            };
            let mut names = Vec::new();
            let mut next = at + 3;
            // Only plain parameters, without defaults or rest parameters.
            while let (Some(one), true) = (name(next), mark(next + 1, ',') || mark(next + 1, ')')) {
                names.push(one.to_owned());
                next += 2;
            }
            let whole = next > at + 3 && mark(next - 1, ')');
            if whole && tokens.iter().enumerate().all(plain) {
                parameters.insert(function.to_owned(), names);
            }
        }
        Self { parameters, ..Self::default() }
    }

    /// Returns how often the code has to be parsed with values of parameters, and selects the first call. A name with
    /// another meaning is not a parameter.
    pub fn turns(&mut self, bound: &HashMap<String, Expression>) -> usize {
        let calls = &self.calls;
        self.parameters.retain(|function, names| {
            let count = calls.get(function).map_or(0, Vec::len);
            (1..=MAX_TURNS).contains(&count) && !names.iter().any(|name| bound.contains_key(name))
        });
        self.turn = Some(0);
        self.parameters.keys().filter_map(|function| calls.get(function)).map(Vec::len).max().unwrap_or_default()
    }

    pub fn set_turn(&mut self, turn: usize) {
        self.turn = Some(turn);
    }

    /// Adds a call.
    pub fn called(&mut self, function: &str, arguments: &[Expression]) {
        if self.turn.is_none() && self.parameters.contains_key(function) {
            let calls = self.calls.entry(function.to_owned()).or_default();
            if calls.len() <= MAX_TURNS {
                calls.push(arguments.to_vec());
            }
        }
    }

    /// Returns the parameters of a function with their values in the selected call.
    fn given(&self, function: &str) -> Vec<(String, Expression)> {
        let (Some(turn), Some(names)) = (self.turn, self.parameters.get(function)) else { return Vec::new() };
        let calls = self.calls.get(function).map(Vec::as_slice).unwrap_or_default();
        let Some(arguments) = calls.get(turn).or(calls.last()) else { return Vec::new() };
        if arguments.len() != names.len() || arguments.iter().any(|argument| argument.setting.is_some()) {
            return Vec::new();
        }
        let known = |argument: &&Expression| argument.text.is_some() || argument.list.is_some();
        let pairs = names.iter().zip(arguments).filter(|(_, argument)| known(argument));
        pairs.map(|(name, argument)| (name.clone(), argument.clone())).collect()
    }
}

impl CallReader<'_> {
    /// Binds the parameters of the function whose definition begins here.
    pub fn take_parameters(&mut self) {
        self.hidden();
        let given = self.named(0).map(|function| self.functions.given(&function)).unwrap_or_default();
        for (name, value) in given {
            self.bound.insert(name, Expression { secret: false, ..value });
        }
    }
}
