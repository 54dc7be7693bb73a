//! Blocks of code in SQL, and statements that run a text: what they would run, as far as it is written out.

use super::{Token, call, read, read_statement, tokens, word};
use crate::judge::analysis::code::Call;
use crate::judge::rules::word_lists;

/// Statements that run a text: `PREPARE x FROM …`, `EXECUTE IMMEDIATE …`, `EXEC(…)`, and blocks of code that do. A
/// text that is put together when it runs is told by `--unknown`.
pub(super) fn made_when_it_runs(verb: &str, rest: &[Token]) -> Option<Vec<Call>> {
    let unknown = || vec![call("execute", Vec::new()).saying("--unknown", true)];
    let text = |tokens: &[Token]| match tokens.iter().find(|token| **token != Token::Mark('(')) {
        // One text, with nothing joined to it.
        Some(Token::Text(text)) if !tokens.iter().any(|token| matches!(token, Token::Mark('|' | '+'))) => {
            read(text.slice())
        }
        _ => unknown(),
    };
    let behind = |wanted: &str| {
        let at = rest.iter().position(|token| word(Some(token)).is_some_and(|word| word == wanted))?;
        rest.get(at + 1..)
    };
    let begins = word(rest.first());
    match verb {
        "prepare" => match (behind("from"), behind("as")) {
            // One in another is no SQL, and would nest without end.
            (_, Some(statement)) if word(statement.first()).is_some_and(|word| word != "prepare") => {
                Some(read_statement(statement))
            }
            (Some(from), _) => Some(text(from)),
            (None, _) => None,
        },
        "execute" | "exec" => match begins.as_deref() {
            Some("immediate") => Some(text(rest.get(1..).unwrap_or_default())),
            Some("sp_executesql") => Some(text(rest.get(1..).unwrap_or_default())),
            None => Some(text(rest)),
            Some(_) => None,
        },
        "do" => match rest.first() {
            // A block between plain quotes.
            Some(Token::Text(block)) => {
                Some(tokens(block.slice()).split(|token| *token == Token::Mark(';')).flat_map(step).collect())
            }
            _ => first_inside(rest).map(|_| step(rest)),
        },
        _ => None,
    }
}

/// Where a statement stands in a step of a block. A lock (`SELECT … FOR UPDATE`) is none.
pub(super) fn first_inside(tokens: &[Token]) -> Option<usize> {
    let is = |at: usize, wanted: &str| at > 0 && word(tokens.get(at - 1)).is_some_and(|before| before == wanted);
    tokens.iter().enumerate().position(|(at, token)| {
        word(Some(token)).is_some_and(|it| word_lists::SQL_BLOCK_VERBS.contains(&it.as_str()))
            && !is(at, "for")
            && !is(at, "on")
    })
}

/// A step of a block of code: what it runs is a statement, or a text, which may be put together when it runs.
pub(super) fn step(tokens: &[Token]) -> Vec<Call> {
    let Some(at) = first_inside(tokens) else { return Vec::new() };
    let rest = tokens.get(at..).unwrap_or_default();
    if word(rest.first()).as_deref() != Some("execute") {
        return read_statement(rest);
    }
    match rest.get(1..) {
        Some([Token::Text(text)] | [Token::Text(text), Token::Word(_), ..]) => read(text.slice()),
        // What a trigger runs.
        Some([Token::Word(kind), ..])
            if ["function", "procedure"].contains(&kind.rough().to_ascii_lowercase().as_str()) =>
        {
            Vec::new()
        }
        _ => vec![call("execute", Vec::new()).saying("--unknown", true)],
    }
}
