//! Texts that are composed with each element of a list: `ROOT / name` in a loop over names.
//!
//! Out of scope: the variables of loops.

use super::expression::Expression;
use super::{Gap, Text, value};
use crate::judge::analysis::act::{Piece, Unknown, UnknownReason, Value};

/// Maximum number of texts of an expression; with more, the expression is unknown.
const MAX_EACH: usize = 64;

/// Returns the possible texts of an expression. One that is neither a text nor a list is unknown.
fn texts(of: &Expression) -> Vec<Text> {
    match (&of.text, &of.list) {
        (Some(text), _) => vec![text.clone()],
        (None, Some(list)) if list.len() <= MAX_EACH => list.iter().map(text_of).collect(),
        (None, _) => vec![Gap::Value.into()],
    }
}

/// Converts a value to a text.
fn text_of(value: &Value) -> Text {
    let mut text = Text::default();
    for piece in value.pieces() {
        match piece {
            Piece::Text(known) => text.push_text(known),
            Piece::Glob(glob) if glob == "*" => text.push_gap(Gap::Name),
            Piece::Unknown(Unknown { why: UnknownReason::Temporary { .. }, .. }) => text.push_gap(Gap::Temporary),
            Piece::Glob(_) | Piece::Unknown(_) => text.push_gap(Gap::Value),
        }
    }
    text
}

/// Composes expressions by `join`, once for each combination of the elements of lists.
pub(super) fn put_together(parts: &[Expression], join: impl Fn(&[Text]) -> Text) -> Expression {
    let mut ways: Vec<Vec<Text>> = vec![Vec::new()];
    for part in parts {
        let texts = texts(part);
        if ways.len().saturating_mul(texts.len()) > MAX_EACH {
            return Expression::of_text(Gap::Value);
        }
        ways = ways
            .into_iter()
            .flat_map(|way| texts.iter().map(move |text| way.iter().cloned().chain([text.clone()]).collect()))
            .collect();
    }
    let secret = parts.iter().any(|part| part.secret);
    match ways.as_slice() {
        [one] if parts.iter().all(|part| part.list.is_none() || part.text.is_some()) => {
            Expression { secret, ..Expression::of_text(join(one)) }
        }
        ways => {
            let list = ways.iter().map(|way| value(&join(way))).collect();
            Expression { list: Some(list), secret, ..Expression::default() }
        }
    }
}
