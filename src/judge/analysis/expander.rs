//! The pass that expands words: its results, and its interface to the walk.
//!
//! It takes a word and the state of a shell, and returns arguments (`expand.rs`, `parameter.rs`, `transform.rs`).
//! Commands in a word are walked through [`Walk`]. Out of scope: programs, descriptions and files.

use std::collections::BTreeSet;

use super::act::{NumberId, Piece, Taint, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::arithmetic;
use super::command_context::Context;
use super::expand::{Tilde, join};
use super::map::Map;
use super::state::{State, VariableValue, unknown};
use crate::judge::syntax::tree::{Arithmetic, CommandSubstitution, HoleId, Part, ProcessSubstitution, Span};

/// The number of last unknown parts that are compared with a new one to avoid duplicates.
const NEAR: usize = 64;

/// Results of expansions that the rest of the analysis needs.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    /// The variables with several values that were looked up.
    pub seen: Map<()>,
    /// The unknown parts and globs in texts that are parsed as code, by [`HoleId`].
    pub holes: Vec<Piece>,
    /// The number of unknown numbers with an identity.
    pub readings: u16,
    /// The variables whose value in the environment was expanded.
    pub expanded: BTreeSet<String>,
}

impl Expansion {
    /// Returns the placeholder, in a text that is parsed, for an unknown part or for a glob outside it.
    pub fn hole(&mut self, piece: &Piece) -> HoleId {
        let from = self.holes.len().saturating_sub(NEAR);
        let known = self.holes.iter().skip(from).position(|known| known == piece).map(|at| from + at);
        let at = known.unwrap_or_else(|| {
            self.holes.push(piece.clone());
            self.holes.len() - 1
        });
        HoleId(u32::try_from(at).unwrap_or(u32::MAX))
    }
}

/// Walks the commands in a word for the expander.
pub(super) trait Walk {
    fn input(&self) -> &AnalysisInput<'_>;

    fn expansion(&mut self) -> &mut Expansion;

    /// Walks a command substitution and returns its output.
    fn capture(&mut self, state: &mut State, context: &Context, substitution: &CommandSubstitution) -> Value;

    /// Walks a process substitution and returns the name of its pipe.
    fn process(&mut self, state: &mut State, context: &Context, substitution: &ProcessSubstitution) -> Value;

    /// Walks the substitutions in a text that a shell expands again.
    fn embedded(&mut self, state: &mut State, context: &Context, text: &str);

    /// Adds an opaque part for a word that expands to too many arguments.
    fn too_many_words(&mut self, span: Span);
}

/// Expands words in a shell.
pub(super) struct Expander<'w, W> {
    pub walk: &'w mut W,
}

impl<W: Walk> Expander<'_, W> {
    /// Expands an arithmetic expression, performs its assignments, and computes its value if it is constant.
    pub fn arithmetic(&mut self, state: &mut State, context: &Context, arithmetic: &Arithmetic) -> Option<i64> {
        let mut atoms = Vec::new();
        self.atoms(state, context, arithmetic.parts.iter(), true, Tilde::Never, &mut atoms);
        let text = join(atoms);
        self.compute(state, context, &text)
    }

    /// Returns the taint of the result of an arithmetic expression, by its variables. Only what the number is used for
    /// matters: one that is computed from a secret is none.
    #[inline(never)]
    pub fn taint_in(&mut self, state: &mut State, arithmetic: &Arithmetic) -> Taint {
        let texts = arithmetic.parts.iter().filter_map(|part| match part {
            Part::Literal(text) => Some(text.as_str()),
            Part::Parameter(parameter) => Some(parameter.name.as_str()),
            _ => None,
        });
        let names = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        names.filter(|name| name.starts_with(|c: char| !c.is_ascii_digit())).fold(Taint::default(), |all, name| {
            match self.lookup(state, name) {
                VariableValue::Scalar(value) if value.taint().has(Taint::PARENT) => Taint::PARENT,
                _ => all,
            }
        })
    }

    /// Like [`Self::arithmetic`], on expanded text.
    #[inline(never)]
    pub fn compute(&mut self, state: &mut State, context: &Context, text: &Value) -> Option<i64> {
        let Some(text) = text.known() else {
            let names: Vec<String> = text
                .pieces()
                .iter()
                .filter_map(|piece| match piece {
                    Piece::Text(text) => Some(text),
                    _ => None,
                })
                .flat_map(|text| arithmetic::assigned(text).into_iter().map(str::to_owned))
                .collect();
            for name in names {
                state.set_scalar(&name, unknown(UnknownReason::Number(NumberId::default()), Taint::default()));
            }
            return None;
        };
        // A shell evaluates subscripts in it again, and the values of variables that it names.
        self.walk.embedded(state, context, &text);
        let mut numbers: Vec<(String, i64)> = Vec::new();
        let name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for name in text.split(|c| !name_char(c)).filter(|name| name.starts_with(|c: char| !c.is_ascii_digit())) {
            if numbers.iter().any(|(known, _)| known == name) {
                continue;
            }
            match self.lookup(state, name) {
                VariableValue::Scalar(value) => {
                    if super::parameter::is_unset_marker(&value) {
                        numbers.push((name.to_owned(), 0));
                    } else if let Some(held) = value.known() {
                        match arithmetic::number(held.trim()) {
                            Some(number) => numbers.push((name.to_owned(), number)),
                            None => self.walk.embedded(state, context, &held),
                        }
                    }
                }
                VariableValue::Unset => numbers.push((name.to_owned(), 0)),
                VariableValue::Array(_) | VariableValue::Inherited => {}
            }
        }
        let lookup = |name: &str| numbers.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
        let assigned = arithmetic::assigned(&text);
        if let ([name], Some((left, right))) = (assigned.as_slice(), text.split_once('='))
            && left.trim() == *name
        {
            let number = arithmetic::evaluate(right, &lookup);
            let value = number.map_or_else(
                || unknown(UnknownReason::Number(NumberId::default()), Taint::default()),
                |n| Value::text(n.to_string()),
            );
            state.set_scalar(name, value);
            return number;
        }
        let number = arithmetic::evaluate(&text, &lookup);
        for name in assigned {
            state.set_scalar(name, unknown(UnknownReason::Number(NumberId::default()), Taint::default()));
        }
        number
    }
}
