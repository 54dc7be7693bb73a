//! Brace expansion: `{a,b}` and `{1..9}`, on the parts of a word before anything else is expanded.

use std::borrow::Cow;

use crate::judge::syntax::tree::Part;

/// Maximum number of words that one word expands to.
const MAX_WORDS: usize = 256;

/// Maximum nesting of braces.
const MAX_NESTING: u32 = 12;

/// The result of brace expansion.
pub(super) enum Braces<'a> {
    /// The word has no braces that expand.
    None,
    Words(Vec<Vec<Cow<'a, Part>>>),
    /// The word expands to too many words.
    TooMany,
}

#[derive(Clone, Copy)]
enum Token<'a> {
    Char(char),
    Part(&'a Part),
}

/// A pair of braces with the commas that separate its items.
struct BracePair {
    close: usize,
    commas: Vec<usize>,
}

/// Expands the braces in a word.
pub(super) fn expand(parts: &[Part]) -> Braces<'_> {
    let open = |part: &Part| matches!(part, Part::Literal(text) if text.contains('{'));
    if !parts.iter().any(open) {
        return Braces::None;
    }
    let mut tokens = Vec::new();
    for part in parts {
        match part {
            Part::Literal(text) => tokens.extend(text.chars().map(Token::Char)),
            other => tokens.push(Token::Part(other)),
        }
    }
    let pairs = pair(&tokens);
    if pairs.iter().all(Option::is_none) {
        return Braces::None;
    }
    let mut words = Vec::new();
    let Some(()) = product(&tokens, &pairs, 0, tokens.len(), 0, &mut words) else { return Braces::TooMany };
    Braces::Words(words.into_iter().map(parts_of).collect())
}

/// Returns, for each token that is an opening brace of an expansion, its pair.
fn pair(tokens: &[Token<'_>]) -> Vec<Option<BracePair>> {
    let mut pairs: Vec<Option<BracePair>> = tokens.iter().map(|_| None).collect();
    let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Char('{') => open.push((at, Vec::new())),
            Token::Char(',') => {
                if let Some((_, commas)) = open.last_mut() {
                    commas.push(at);
                }
            }
            Token::Char('}') => {
                let Some((start, commas)) = open.pop() else { continue };
                let inside = tokens.get(start + 1..at).unwrap_or_default();
                // A sequence is short. Looking only at short texts keeps the cost of nested braces linear.
                if !commas.is_empty() || (inside.len() < 64 && text_of(inside).is_some_and(|t| sequence(&t).is_some()))
                {
                    pairs[start] = Some(BracePair { close: at, commas });
                } else if let Some((_, outer)) = open.last_mut() {
                    // Braces that do not expand are text, and so their commas belong to the enclosing pair.
                    outer.extend(commas);
                }
            }
            _ => {}
        }
    }
    pairs
}

/// Returns the text of tokens that are all characters.
fn text_of(tokens: &[Token<'_>]) -> Option<String> {
    tokens
        .iter()
        .map(|token| match token {
            Token::Char(c) => Some(*c),
            Token::Part(_) => None,
        })
        .collect()
}

/// Appends all words to which `tokens[from..to]` expands. `None`: there are too many.
fn product<'a>(
    tokens: &[Token<'a>],
    pairs: &[Option<BracePair>],
    from: usize,
    to: usize,
    nesting: u32,
    words: &mut Vec<Vec<Token<'a>>>,
) -> Option<()> {
    if nesting > MAX_NESTING {
        return None;
    }
    let mut all: Vec<Vec<Token<'a>>> = vec![Vec::new()];
    let mut at = from;
    while at < to {
        let pair = pairs.get(at).and_then(Option::as_ref).filter(|pair| pair.close < to);
        let Some(pair) = pair else {
            let token = *tokens.get(at)?;
            all.iter_mut().for_each(|word| word.push(token));
            at += 1;
            continue;
        };
        let mut inner: Vec<Vec<Token<'a>>> = Vec::new();
        if pair.commas.is_empty() {
            let text = text_of(tokens.get(at + 1..pair.close)?)?;
            for item in sequence(&text)?? {
                inner.push(item.chars().map(Token::Char).collect());
            }
        } else {
            let mut start = at + 1;
            for end in pair.commas.iter().copied().chain([pair.close]) {
                product(tokens, pairs, start, end, nesting + 1, &mut inner)?;
                start = end + 1;
            }
        }
        if all.len() * inner.len() > MAX_WORDS {
            return None;
        }
        let mut next = Vec::with_capacity(all.len() * inner.len());
        for prefix in &all {
            for middle in &inner {
                next.push(prefix.iter().chain(middle).copied().collect());
            }
        }
        all = next;
        at = pair.close + 1;
    }
    words.extend(all);
    (words.len() <= MAX_WORDS).then_some(())
}

/// Returns the items of `1..9`, `a..e`, `01..10..3`. The outer `None`: it is not a sequence; the inner: it is too long.
#[allow(clippy::option_option)]
fn sequence(text: &str) -> Option<Option<Vec<String>>> {
    let mut fields = text.split("..");
    let (first, last, step) = (fields.next()?, fields.next()?, fields.next());
    if fields.next().is_some() {
        return None;
    }
    let step: i64 = match step {
        Some(text) => text.parse().ok()?,
        None => 1,
    };
    let step = step.checked_abs()?.max(1);
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none()).map(|c| c as i64)
    };
    let (from, to, letters) = match (first.parse::<i64>(), last.parse::<i64>()) {
        (Ok(from), Ok(to)) => (from, to, false),
        _ => (letter(first)?, letter(last)?, true),
    };
    let count = from.checked_sub(to).and_then(i64::checked_abs)? / step + 1;
    if count > MAX_WORDS as i64 {
        return Some(None);
    }
    let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.trim_start_matches('-').len() > 1;
    let width = if !letters && (padded(first) || padded(last)) { first.len().max(last.len()) } else { 0 };
    let items = (0..count)
        .map(|index| {
            let number = if from <= to { from + index * step } else { from - index * step };
            if letters {
                u8::try_from(number).map_or(String::new(), |byte| (byte as char).to_string())
            } else {
                format!("{number:0width$}")
            }
        })
        .collect();
    Some(Some(items))
}

fn parts_of(tokens: Vec<Token<'_>>) -> Vec<Cow<'_, Part>> {
    let mut parts: Vec<Cow<'_, Part>> = Vec::new();
    for token in tokens {
        match token {
            Token::Part(part) => parts.push(Cow::Borrowed(part)),
            Token::Char(c) => match parts.last_mut() {
                Some(Cow::Owned(Part::Literal(text))) => text.push(c),
                _ => parts.push(Cow::Owned(Part::Literal(c.to_string()))),
            },
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let parts = [Part::Literal(text.to_owned())];
        match expand(&parts) {
            Braces::None => vec![text.to_owned()],
            Braces::TooMany => vec!["too many".to_owned()],
            Braces::Words(words) => words
                .iter()
                .map(|word| {
                    word.iter()
                        .map(|part| match part.as_ref() {
                            Part::Literal(text) => text.as_str(),
                            _ => "",
                        })
                        .collect()
                })
                .collect(),
        }
    }

    #[test]
    fn lists_become_words() {
        assert_eq!(words("{rm,x}"), ["rm", "x"]);
        assert_eq!(words("rm{,}"), ["rm", "rm"]);
        assert_eq!(words("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(words("{a,b}{1,2}"), ["a1", "a2", "b1", "b2"]);
    }

    #[test]
    fn sequences_become_words() {
        assert_eq!(words("{1..3}"), ["1", "2", "3"]);
        assert_eq!(words("{3..1}"), ["3", "2", "1"]);
        assert_eq!(words("{a..e..2}"), ["a", "c", "e"]);
        assert_eq!(words("{08..10}"), ["08", "09", "10"]);
    }

    #[test]
    fn what_expands_to_nothing_is_text() {
        for text in ["{}", "{a}", "{a", "a}", "}{", "{a,b", "{1..}", "{a..5}"] {
            assert_eq!(words(text), [text]);
        }
        assert_eq!(words("{a,{b,c}"), ["{a,b", "{a,c"]);
        assert_eq!(words("{{a},b}"), ["{a}", "b"]);
    }

    #[test]
    fn a_flood_of_words_is_refused_in_linear_time() {
        assert_eq!(words("{1..100000}"), ["too many"]);
        assert_eq!(words(&"{a,b}".repeat(20)), ["too many"]);
        assert_eq!(words(&"{".repeat(100_000)), [&*"{".repeat(100_000)]);
    }
}
