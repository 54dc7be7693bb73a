//! Transformations of the value of a parameter: removed and replaced patterns, case, slices.

use super::act::{Piece, Taint, UnknownReason, Value};
use super::command_context::Context;
use super::expander::{Expander, Walk};
use super::fuel::cost;
use super::letter::{self, Letter};
use super::pattern::{MAX_STEPS, Pattern};
use super::state::{Build as _, State, unknown};
use super::text_edits::{change_case, replace, substring};
use crate::judge::syntax::tree::{Arithmetic, Parameter, ParameterOp, Word};

/// Maximum length of a text with which patterns are matched.
const MAX_PATTERN_TEXT: usize = 4096;

impl<W: Walk> Expander<'_, W> {
    #[inline(never)]
    pub fn transform(&mut self, state: &mut State, context: &Context, value: &Value, operation: &ParameterOp) -> Value {
        self.walk.input().spend(cost::FIELD * 4 + value.length() as u64 / 4);
        let changed = match operation {
            ParameterOp::RemovePrefix { longest, pattern } => {
                let pattern = self.searched(state, context, pattern, value);
                short(value).zip(pattern).and_then(|(text, pattern)| {
                    let cut = Pattern::new(&pattern).prefix(&text, *longest)?.unwrap_or(0);
                    let (gone, left) = text.split_at_checked(cut)?;
                    is_certain(&pattern, &text, gone, *longest).then(|| spelled(left))
                })
            }
            ParameterOp::RemoveSuffix { longest, pattern } => {
                let pattern = self.searched(state, context, pattern, value);
                short(value).zip(pattern).and_then(|(text, pattern)| {
                    let cut = Pattern::new(&pattern).suffix(&text, *longest)?.unwrap_or(text.len());
                    let (left, gone) = text.split_at_checked(cut)?;
                    is_certain(&pattern, &text, gone, *longest).then(|| spelled(left))
                })
            }
            ParameterOp::Replace { anchor, pattern, replacement } => {
                let pattern = self.searched(state, context, pattern, value);
                let replacement = self.single(state, context, replacement).letters();
                match (short(value), pattern, replacement) {
                    (Some(text), Some(pattern), Some(replacement)) if is_certain(&pattern, &text, &text, true) => {
                        replace(&text, &pattern, &replacement, *anchor).map(Value::of_letters)
                    }
                    _ => None,
                }
            }
            ParameterOp::Case { operator, pattern } => {
                let pattern = self.searched(state, context, pattern, value);
                short(value)
                    .zip(pattern)
                    .and_then(|(text, pattern)| change_case(&text, operator, &pattern).map(Value::of_letters))
            }
            ParameterOp::Substring { offset, length } => {
                let offset = self.arithmetic(state, context, offset);
                let length = length.as_ref().map(|length| self.arithmetic(state, context, length));
                if value.taint().has(Taint::NAMED) && is_a_hint(offset, length) {
                    return unknown(UnknownReason::Other("the first letters of a variable"), Taint::default());
                }
                let text = value.known().filter(|text| text.len() <= MAX_PATTERN_TEXT);
                text.zip(offset).and_then(|(text, offset)| substring(&text, offset, length)).map(Value::text)
            }
            ParameterOp::Transform(operator) => {
                let text = value.known_text();
                let changed = match (operator, text) {
                    ('P', Some(text)) => {
                        self.walk.embedded(state, context, &text);
                        (!text.contains(['\\', '$', '`'])).then_some(text)
                    }
                    ('E', Some(text)) => super::decode::escapes(&text),
                    ('Q', Some(text)) => Some(crate::judge::invocation::quote(&text)),
                    ('U', Some(text)) => Some(text.to_uppercase()),
                    ('L', Some(text)) => Some(text.to_lowercase()),
                    ('u', Some(text)) => {
                        let changed = change_case(&letter::known(&text), "^", "").map(Value::of_letters);
                        return changed.unwrap_or_else(|| weakened(value));
                    }
                    _ => None,
                };
                changed.map(Value::text)
            }
            ParameterOp::Other(word) => {
                self.single(state, context, word);
                None
            }
            _ => None,
        };
        changed.unwrap_or_else(|| weakened(value))
    }

    /// Expands the pattern of a transformation, and charges the search for it.
    #[inline(never)]
    fn searched(&mut self, state: &mut State, context: &Context, pattern: &Word, value: &Value) -> Option<String> {
        let pattern = self.pattern(state, context, pattern)?;
        // A star is tried at each position, up to a limit.
        if pattern.contains('*') {
            let length = value.length() as u64;
            self.walk.input().spend((length * length / 8).min(MAX_STEPS.into()) / 12);
        }
        Some(pattern)
    }

    /// Evaluates `${@:1:2}` and `${array[@]:1:2}`.
    #[inline(never)]
    pub fn slice(
        &mut self,
        state: &mut State,
        context: &Context,
        parameter: &Parameter,
        mut values: Vec<Value>,
        offset: &Arithmetic,
        length: Option<&Arithmetic>,
    ) -> Vec<Value> {
        if matches!(parameter.name.as_str(), "@" | "*") {
            values.insert(0, state.zero.clone());
        }
        let offset = self.arithmetic(state, context, offset);
        let length = length.map(|length| self.arithmetic(state, context, length));
        let (Some(offset), None | Some(Some(_))) = (offset, length) else {
            let taint = values.iter().fold(Taint::default(), |all, value| all.and(value.taint()));
            return vec![unknown(UnknownReason::Other("a part of a list"), taint)];
        };
        let count = values.len() as i64;
        let from = if offset < 0 { (count + offset).max(0) } else { offset.min(count) };
        let take = match length.flatten() {
            Some(length) if length >= 0 => length,
            Some(_) => 0,
            None => count,
        };
        values.into_iter().skip(from as usize).take(take as usize).collect()
    }
}

/// Reports whether a substring is too short to reveal a secret. The first or last letters are often printed to identify
/// a key.
fn is_a_hint(offset: Option<i64>, length: Option<Option<i64>>) -> bool {
    const MOST: i64 = 9;
    match length {
        Some(length) => length.is_some_and(|length| (0..=MOST).contains(&length)),
        None => offset.is_some_and(|offset| (-MOST..0).contains(&offset)),
    }
}

/// Returns the value after a transformation of unknown result.
fn weakened(value: &Value) -> Value {
    match value.pieces() {
        // A part of a generated name is another path.
        [Piece::Unknown(unknown)] if unknown.why != (UnknownReason::Temporary { variable: false }) => value.clone(),
        _ => {
            let glob = value.pattern().filter(|_| value.pieces().iter().any(|piece| matches!(piece, Piece::Glob(_))));
            let why = match glob {
                Some(_) => UnknownReason::Found(glob),
                None => UnknownReason::Other("a changed variable"),
            };
            unknown(why, value.taint())
        }
    }
}

/// Returns the letters of a value that is short enough for matching, with placeholders for unknown numbers.
fn short(value: &Value) -> Option<Vec<Letter>> {
    value.letters().filter(|text| text.len() <= MAX_PATTERN_TEXT)
}

fn spelled(letters: &[Letter]) -> Value {
    Value::of_letters(letters.iter().copied())
}

/// Reports whether a pattern matches the same part of a text for all values of its unknown letters.
fn is_certain(pattern: &str, text: &[Letter], gone: &[Letter], longest: bool) -> bool {
    let is_vague = |letters: &[Letter]| letters.iter().any(|letter| letter.is_vague());
    if !text.iter().any(|letter| letter.is_unknown()) {
        return true;
    }
    // A number contains no slash.
    let of_slashes = pattern.chars().all(|letter| "*/\\".contains(letter));
    !pattern.contains(['?', '[', '(']) && (of_slashes || !is_vague(text) || !longest && !is_vague(gone))
}
