//! The texts that an editor replaces in files: `s/…/…/` in a script, or a call in code.
//!
//! Out of scope: which files are edited, and commands that an editor runs.

use std::borrow::Cow;

use crate::judge::rules::expression;

/// A text of a file that is replaced wherever it occurs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Replacement {
    /// The text, or an expression that matches it.
    pub from: Pattern,
    /// The new text, in which `\1` and `&` stand for parts of the old one if it is matched by an expression.
    pub to: String,
}

/// What a replacement searches.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    Text(String),
    /// An expression in the basic or the extended syntax.
    Expression {
        text: String,
        ignore_case: bool,
    },
}

/// A change that an editor makes to a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TextChange {
    /// A new line.
    Line(String),
    Replacement(Replacement),
}

impl TextChange {
    /// Returns the new text.
    pub fn inserted(&self) -> Cow<'_, str> {
        match self {
            Self::Line(text) => text.into(),
            Self::Replacement(replacement) => replacement.inserted(),
        }
    }
}

impl Replacement {
    /// Creates it for a plain text.
    pub fn of_text(from: &str, to: &str) -> Self {
        Self { from: Pattern::Text(from.to_owned()), to: to.to_owned() }
    }

    /// Returns the new text without escapes.
    pub fn inserted(&self) -> Cow<'_, str> {
        match self.from {
            Pattern::Text(_) => Cow::Borrowed(&self.to),
            Pattern::Expression { .. } => Cow::Owned(unescaped(&self.to)),
        }
    }

    /// Returns a text after the replacement; `None` if the expression cannot be used.
    pub fn applied<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        match &self.from {
            Pattern::Text(from) if from.is_empty() || !text.contains(from) => Some(text.into()),
            Pattern::Text(from) => Some(text.replace(from, &self.to).into()),
            Pattern::Expression { text: from, ignore_case } => {
                // The two syntaxes differ in which brackets and signs are escaped. What matches in either is replaced.
                let flags = if *ignore_case { "(?mi)" } else { "(?m)" };
                let both = [Some(basic(from)).filter(|basic| basic != from), Some(from.clone())];
                let compiled = |from: String| expression::compile(&format!("{flags}{from}")).ok();
                let expressions: Vec<_> = both.into_iter().flatten().filter_map(compiled).collect();
                let to = template(&self.to);
                let replaced = expressions.iter().fold(Cow::Borrowed(text.as_bytes()), |text, expression| {
                    expression.replace_all(&text, to.as_bytes()).into_owned().into()
                });
                (!expressions.is_empty()).then(|| String::from_utf8_lossy(&replaced).into_owned().into())
            }
        }
    }
}

/// Converts an expression of the basic syntax, in which `\(` is a group and `(` a letter.
fn basic(expression: &str) -> String {
    let mut all = String::with_capacity(expression.len() + 8);
    let (mut letters, mut in_class) = (expression.chars(), false);
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if !in_class => match letters.next() {
                Some(escaped) if "(){}|+?".contains(escaped) => all.push(escaped),
                Some(escaped) => all.extend(['\\', escaped]),
                None => all.push_str("\\\\"),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' if !in_class => all.extend(['\\', letter]),
            '[' => {
                in_class = true;
                all.push(letter);
            }
            ']' => {
                in_class = false;
                all.push(letter);
            }
            _ => all.push(letter),
        }
    }
    all
}

/// Converts a new text to a template of the `regex` crate: `\1` and `$1` are groups, and `&` is the whole match.
fn template(to: &str) -> String {
    let mut all = String::with_capacity(to.len() + 8);
    let mut letters = to.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' | '$' if letters.peek().is_some_and(char::is_ascii_digit) => {
                all.push_str("${");
                all.extend(letters.next());
                all.push('}');
            }
            '\\' => all.extend(letters.next().map(escape)),
            '&' => all.push_str("${0}"),
            '$' => all.push_str("$$"),
            _ => all.push(letter),
        }
    }
    all
}

/// Returns the letter for which an escape stands.
fn escape(letter: char) -> char {
    match letter {
        'n' => '\n',
        't' => '\t',
        letter => letter,
    }
}

/// Returns a text without backslashes before its letters.
fn unescaped(text: &str) -> String {
    let mut letters = text.chars();
    let mut all = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        all.extend(if letter == '\\' { letters.next().map(escape) } else { Some(letter) });
    }
    all
}

/// Returns the replacements in a script of an editor: `s/…/…/`, also behind an address and between other commands.
pub(super) fn replacements(script: &str) -> Vec<Replacement> {
    let mut all = Vec::new();
    let mut rest = script;
    while !rest.is_empty() {
        rest = without_address(rest);
        if let Some((replacement, behind)) = substitution(rest) {
            all.push(replacement);
            rest = behind;
        } else {
            rest = rest.find([';', '\n']).and_then(|end| rest.get(end + 1..)).unwrap_or_default();
        }
    }
    all
}

/// Returns commands without the separators and addresses before the first: `1,$s/a/b/` and `/x/s/a/b/` without all before
/// the `s`.
pub(super) fn without_address(script: &str) -> &str {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_whitespace() || ",$!~+{};".contains(c));
        let Some((_, behind)) = rest.strip_prefix('/').and_then(|rest| split(rest, '/')) else { return rest };
        rest = behind;
    }
}

/// Reads `s/…/…/` and its flags, and returns what follows.
fn substitution(script: &str) -> Option<(Replacement, &str)> {
    let rest = script.strip_prefix('s')?;
    let mark = rest.chars().next().filter(|mark| !mark.is_alphanumeric() && !mark.is_whitespace() && *mark != '\\')?;
    let (from, rest) = split(rest.get(mark.len_utf8()..)?, mark)?;
    let (to, rest) = split(rest, mark)?;
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let flags = rest.get(..rest.len() - behind.len()).unwrap_or_default();
    // An escaped mark is a letter of the text.
    let (own, mark) = (format!("\\{mark}"), mark.to_string());
    let (from, to) = (from.replace(&own, &mark), to.replace(&own, &mark));
    let ignore_case = flags.contains(['i', 'I']);
    // What the new text is the code of (`e`) is computed.
    let is_plain = !from.contains(['\\', '.', '*', '[', '^', '$', '(', '{', '+', '?', '|']);
    let from = match is_plain && !ignore_case && !to.contains(['\\', '&', '$']) {
        true => Pattern::Text(from),
        false => Pattern::Expression { text: from, ignore_case },
    };
    Some((Replacement { from, to }, behind))
}

/// Splits a text at the first mark without a backslash before it.
fn split(text: &str, mark: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    let end = text.char_indices().find(|(_, letter)| {
        let ends = *letter == mark && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    let (end, mark) = end?;
    Some((text.get(..end)?, text.get(end + mark.len_utf8()..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(script: &str, text: &str) -> String {
        let all = replacements(script);
        all.iter().fold(text.to_owned(), |text, change| change.applied(&text).expect("an expression").into_owned())
    }

    #[test]
    fn a_script_replaces_what_an_editor_would() {
        for (script, text, result) in [
            ("s/ls/rm x/", "ls; ls", "rm x; rm x"),
            ("s/a/b/;s/b/c/g; 1,$s/c/d/", "a", "d"),
            ("/x/s/a/b/", "a", "b"),
            (r"/x\/y/s,a,b,", "a", "b"),
            ("{s|/a|/b|}", "/a", "/b"),
            (r"s/f(x)/g\/h(x)/", "f(x)", "g/h(x)"),
            (r"s/f\(x*\)y/[\1&]/", "fxxy", "[xxfxxy]"),
            ("s/(a|b)+$/c/", "xab\nyb", "xc\nyc"),
            (r"s/\(a\|b\)\+$/c/", "xab\nyb", "xc\nyc"),
            ("s/A.*/b/I", "xab\nc", "xb\nc"),
            (r"s/a/x\ny/", "a", "x\ny"),
            (r"s/$/ \&/", "a", "a &"),
            (r"s/[)(]/x/", "(a)", "xax"),
            ("y/a/b/; s/a/c/", "a", "c"),
            ("p\ns/a/c/", "a", "c"),
            ("s/\\d+/$5/", "a 12", "a "),
            ("sa/b/c", "a/b", "a/b"),
        ] {
            assert_eq!(edited(script, text), result, "{script}");
        }
        assert_eq!(replacements("s/a/"), []);
        assert_eq!(replacements(r"s/a/\/b/")[0].inserted(), "/b");
    }

    #[test]
    fn an_expression_that_is_none_replaces_nothing() {
        let broken =
            Replacement { from: Pattern::Expression { text: "(*[".into(), ignore_case: false }, to: "x".into() };
        assert_eq!(broken.applied("a"), None);
        assert_eq!(Replacement::of_text("", "x").applied("a").as_deref(), Some("a"));
    }
}
