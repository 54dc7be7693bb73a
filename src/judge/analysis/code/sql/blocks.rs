//! Parses blocks of code in SQL, and statements that run a text, as far as the text is literal.

use super::{Token, call, read, read_statement, tokens, word};
use crate::judge::analysis::code::Call;
use crate::judge::rules::word_lists;

/// Returns the calls of a statement that runs a text: `PREPARE x FROM …`, `EXECUTE IMMEDIATE …`, `EXEC(…)`, or a block
/// of code that does. A text that is composed at run time becomes a call with `--unknown`.
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
            // A `PREPARE` in another one is not valid SQL, and would recurse without limit.
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
        // A language whose code can do everything on the server (`plpython3u`, `plperlu`).
        "do" if is_untrusted(rest) => Some(unknown()),
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

/// Reports whether code is written in another language than those of the database itself.
fn is_untrusted(tokens: &[Token]) -> bool {
    let named = tokens.windows(2).find_map(|pair| match pair {
        [before, language] if word(Some(before)).as_deref() == Some("language") => word(Some(language)),
        _ => None,
    });
    named.is_some_and(|language| !word_lists::SQL_TRUSTED_LANGUAGES.contains(&language.as_str()))
}

/// Returns the calls of the statement that an event or a trigger runs, as far as that statement is in the text.
pub(super) fn attached(tokens: &[Token]) -> Vec<Call> {
    let begins =
        |token: &Token| word(Some(token)).is_some_and(|word| word_lists::SQL_ATTACHED_WORDS.contains(&word.as_str()));
    let Some(at) = tokens.iter().rposition(begins) else { return Vec::new() };
    step(tokens.get(at..).unwrap_or_default())
}

/// Returns the index at which a statement begins in a step of a block. A lock (`SELECT … FOR UPDATE`) is not a
/// statement.
pub(super) fn first_inside(tokens: &[Token]) -> Option<usize> {
    let is = |at: usize, wanted: &str| at > 0 && word(tokens.get(at - 1)).is_some_and(|before| before == wanted);
    tokens.iter().enumerate().position(|(at, token)| {
        word(Some(token)).is_some_and(|it| word_lists::SQL_BLOCK_VERBS.contains(&it.as_str()))
            && !is(at, "for")
            && !is(at, "on")
    })
}

/// Returns the calls of a step of a block: its statement, or the text that it runs, which may be composed at run time.
pub(super) fn step(tokens: &[Token]) -> Vec<Call> {
    let Some(at) = first_inside(tokens) else { return Vec::new() };
    let rest = tokens.get(at..).unwrap_or_default();
    if word(rest.first()).as_deref() != Some("execute") {
        return read_statement(rest);
    }
    match rest.get(1..) {
        Some([Token::Text(text)] | [Token::Text(text), Token::Word(_), ..]) => read(text.slice()),
        // The function of a trigger.
        Some([Token::Word(kind), ..])
            if ["function", "procedure"].contains(&kind.rough().to_ascii_lowercase().as_str()) =>
        {
            Vec::new()
        }
        _ => vec![call("execute", Vec::new()).saying("--unknown", true)],
    }
}
