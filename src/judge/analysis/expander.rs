//! The pass that expands words: what it keeps, and what it needs of the walk.
//!
//! A word and the state of a shell go in, arguments come out (`expand.rs`, `parameter.rs`, `transform.rs`). What may not
//! enter: programs, descriptions, files. Commands in a word are walked behind [`Walk`].

use std::collections::BTreeSet;

use super::act::{NumberId, Piece, Taint, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::arithmetic;
use super::command_context::Context;
use super::expand::{Tilde, join};
use super::map::Map;
use super::state::{State, VariableValue, unknown};
use crate::judge::syntax::tree::{Arithmetic, CommandSubstitution, HoleId, ProcessSubstitution, Span};

/// How far back a part that is not known is looked for before it is taken down again.
const NEAR: usize = 64;

/// What expansions found out that the rest of the line has to know.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    /// Variables of several values that were looked up.
    pub seen: Map<()>,
    /// Unknown parts and live globs in texts that are read as code, by [`HoleId`].
    pub holes: Vec<Piece>,
    /// How many numbers were read that are told apart.
    pub readings: u16,
    /// Every variable whose value from the environment was expanded.
    pub expanded: BTreeSet<String>,
}

impl Expansion {
    /// What stands for a part in a text that is parsed: unknown, or a glob that was live outside it.
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

/// What walks the commands that stand in a word, which expansion itself does not.
pub(super) trait Walk {
    fn input(&self) -> &AnalysisInput<'_>;

    fn expansion(&mut self) -> &mut Expansion;

    /// What a command substitution prints.
    fn capture(&mut self, state: &mut State, context: &Context, substitution: &CommandSubstitution) -> Value;

    /// What stands for the pipe of a process substitution.
    fn process(&mut self, state: &mut State, context: &Context, substitution: &ProcessSubstitution) -> Value;

    /// Walks the substitutions in a text that a shell expands once more.
    fn embedded(&mut self, state: &mut State, context: &Context, text: &str);

    /// Puts on record that a word comes to more arguments than are followed.
    fn too_many_words(&mut self, span: Span);
}

/// Expands words in a shell: a word and the state of the shell in, arguments out.
pub(super) struct Expander<'w, W> {
    pub walk: &'w mut W,
}

impl<W: Walk> Expander<'_, W> {
    /// Walks what an arithmetic expression expands, makes its assignments, and computes it when it is constant.
    pub fn arithmetic(&mut self, state: &mut State, context: &Context, arithmetic: &Arithmetic) -> Option<i64> {
        let mut atoms = Vec::new();
        self.atoms(state, context, arithmetic.parts.iter(), true, Tilde::Never, &mut atoms);
        let text = join(atoms);
        self.compute(state, context, &text)
    }

    /// As [`Self::arithmetic`], on expanded text.
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
        // A shell evaluates subscripts in it once more, and what a named variable holds.
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
