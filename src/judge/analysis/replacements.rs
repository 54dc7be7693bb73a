//! The texts that an editor replaces in files: `s/…/…/` in a script, or a call in code.
//!
//! Out of scope: which files are edited, and commands that an editor runs.

use std::borrow::Cow;

use regex::bytes::Regex;

use crate::judge::rules::expression;

/// A text of a file that is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replacement {
    /// The text, or an expression that matches it.
    pub from: Pattern,
    /// The new text, in which `\1` and `&` stand for parts of the old one if it is matched by an expression.
    pub to: String,
    pub reach: Reach,
    /// Whether an expression is compared with the whole text, so that a match may span several lines.
    pub across_lines: bool,
}

/// Which matches are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    All,
    /// The first match in each line; of the whole text if it is compared with that.
    First,
    /// Perhaps only some of them.
    Some,
}

/// What a replacement searches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pattern {
    Text(String),
    /// An expression in the basic or the extended syntax.
    Expression {
        text: String,
        ignore_case: bool,
    },
}

/// The text of a file with changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EditedText {
    /// The path of the file.
    pub path: String,
    pub changes: Vec<TextChange>,
}

/// A change that an editor makes to a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TextChange {
    /// A new line.
    Line(String),
    Replacement(Replacement),
}

impl TextChange {
    /// Reports whether it may leave some of what it changes.
    pub fn is_uncertain(&self) -> bool {
        matches!(self, Self::Replacement(Replacement { reach: Reach::Some, .. }))
    }

    /// Returns a text after the change. `None` if an expression cannot be used.
    pub fn applied(&self, text: &str) -> Option<String> {
        match self {
            Self::Line(line) => Some(with_line(text, line)),
            Self::Replacement(replacement) => replacement.applied(text),
        }
    }

    /// Returns a text after the change; if that is uncertain, one that has the changed lines beside the old ones.
    pub fn beside(&self, text: &str) -> Option<String> {
        match self {
            Self::Line(line) => Some(with_line(text, line)),
            Self::Replacement(replacement) => replacement.beside(text),
        }
    }

    /// Compares its expression with the whole text, instead of each line.
    pub fn span_lines(&mut self) {
        if let Self::Replacement(replacement) = self {
            replacement.across_lines = true;
        }
    }

    /// Returns the change, as one that may leave some of what it changes.
    pub fn perhaps(&self) -> Self {
        match self {
            Self::Line(_) => self.clone(),
            Self::Replacement(replacement) => {
                Self::Replacement(Replacement { reach: Reach::Some, ..replacement.clone() })
            }
        }
    }

    /// Returns the new text.
    pub fn inserted(&self) -> Cow<'_, str> {
        match self {
            Self::Line(text) => text.into(),
            Self::Replacement(replacement) => replacement.inserted(),
        }
    }
}

impl Replacement {
    /// Returns the new text without escapes.
    pub fn inserted(&self) -> Cow<'_, str> {
        match self.from {
            Pattern::Text(_) => Cow::Borrowed(&self.to),
            Pattern::Expression { .. } => Cow::Owned(unescaped(&self.to)),
        }
    }

    /// Returns a text after the replacement; with [`Reach::Some`], of everything that matches. `None` if the expression
    /// cannot be used.
    pub fn applied(&self, text: &str) -> Option<String> {
        Some(self.compiled()?.replaced(text))
    }

    /// Returns a text after the replacement; with [`Reach::Some`], one that has the changed lines beside the old ones.
    /// `None` if the expression cannot be used.
    fn beside(&self, text: &str) -> Option<String> {
        let compiled = self.compiled()?;
        if self.reach != Reach::Some {
            return Some(compiled.replaced(text));
        }
        let mut all = String::with_capacity(text.len() * 2);
        for block in compiled.blocks(text) {
            all.push_str(block);
            let changed = compiled.replaced(block);
            if changed != block {
                if !block.ends_with('\n') {
                    all.push('\n');
                }
                all.push_str(&changed);
            }
        }
        Some(all)
    }

    fn compiled(&self) -> Option<Compiled<'_>> {
        let (first, across_lines) = (self.reach == Reach::First, self.across_lines);
        match &self.from {
            Pattern::Text(from) => {
                Some(Compiled { from: Matcher::Text(from), to: Cow::Borrowed(&self.to), first, across_lines })
            }
            Pattern::Expression { text: from, ignore_case } => {
                // The two syntaxes differ in which brackets and signs are escaped. What matches in either is replaced.
                let flags = if *ignore_case { "(?mi)" } else { "(?m)" };
                let both = [Some(basic(from)).filter(|basic| basic != from), Some(from.clone())];
                let compile = |from: String| expression::compile(&format!("{flags}{from}")).ok();
                let from: Vec<Regex> = both.into_iter().flatten().filter_map(compile).collect();
                let to = Cow::Owned(template(&self.to));
                let from = Some(from).filter(|from| !from.is_empty())?;
                Some(Compiled { from: Matcher::Expressions(from), to, first, across_lines })
            }
        }
    }
}

/// A replacement that is ready to be applied.
struct Compiled<'r> {
    from: Matcher<'r>,
    to: Cow<'r, str>,
    /// Whether only the first match in each line is replaced, or in the whole text.
    first: bool,
    across_lines: bool,
}

enum Matcher<'r> {
    Text(&'r str),
    Expressions(Vec<Regex>),
}

impl Compiled<'_> {
    fn replaced(&self, text: &str) -> String {
        match (self.first, self.across_lines) {
            (true, false) => text.split_inclusive('\n').map(|line| self.replaced_in(line, 1)).collect(),
            (true, true) => self.replaced_in(text, 1),
            (false, _) => self.replaced_in(text, usize::MAX),
        }
    }

    /// Replaces at most this number of matches.
    fn replaced_in(&self, text: &str, most: usize) -> String {
        match &self.from {
            Matcher::Text("") => text.to_owned(),
            Matcher::Text(from) => text.replacen(from, &self.to, most),
            Matcher::Expressions(from) => {
                let limit = if most == usize::MAX { 0 } else { most };
                let replaced = from.iter().fold(Cow::Borrowed(text.as_bytes()), |text, expression| {
                    expression.replacen(&text, limit, self.to.as_bytes()).into_owned().into()
                });
                String::from_utf8_lossy(&replaced).into_owned()
            }
        }
    }

    /// Splits a text into its lines; the lines of a plain text that is replaced stay together.
    fn blocks<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let from = match self.from {
            Matcher::Text(from) if from.contains('\n') => from,
            Matcher::Expressions(_) if self.across_lines => return vec![text],
            _ => return text.split_inclusive('\n').collect(),
        };
        let (mut all, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.find(from) {
            let begin = rest.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |line| line + 1);
            let end = at + from.len();
            let line = rest.get(end..).and_then(|behind| behind.find('\n'));
            let end = line.map_or(rest.len(), |line| end + line + 1);
            all.extend([rest.get(..begin), rest.get(begin..end)].into_iter().flatten());
            rest = rest.get(end..).unwrap_or_default();
        }
        all.push(rest);
        all
    }
}

/// Returns a text with another line at its end.
fn with_line(text: &str, line: &str) -> String {
    let between = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{between}{line}\n")
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

/// Returns the changes that a script of an editor makes, in a language like that of sed. `computes`: the new texts contain
/// code. `None`: the script does something else than to replace, insert, print and delete.
pub(super) fn changes(script: &str, computes: bool) -> Option<Vec<TextChange>> {
    let (mut all, mut rest) = (Vec::new(), script);
    // Whether a block with an address began.
    let mut in_block = false;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ";{}".contains(c));
        let (is_addressed, command) = without_address(rest)?;
        let Some(letter) = command.chars().next() else { return (!is_addressed).then_some(all) };
        let behind = command.get(letter.len_utf8()..).unwrap_or_default();
        rest = match letter {
            '{' => {
                in_block = true;
                behind
            }
            '#' => behind.find('\n').and_then(|end| behind.get(end..)).unwrap_or_default(),
            's' => {
                let (mut replacement, behind) = substitution(behind)?;
                if computes && is_computed(&replacement.to) {
                    return None;
                }
                if is_addressed || in_block {
                    replacement.reach = Reach::Some;
                }
                // `s/a/b/ if $. > 1` of Perl.
                let after = |word: &str| behind.trim_start().strip_prefix(word);
                let condition = after("if").or_else(|| after("unless"));
                let behind = match condition.filter(|rest| rest.starts_with(char::is_whitespace)) {
                    Some(condition) if computes => {
                        replacement.reach = Reach::Some;
                        condition.find([';', '\n']).and_then(|end| condition.get(end..)).unwrap_or_default()
                    }
                    _ => behind,
                };
                all.push(TextChange::Replacement(replacement));
                ended(behind)?
            }
            'a' | 'i' | 'c' if !computes => {
                let (text, behind) = inserted_lines(behind);
                all.push(TextChange::Line(text));
                behind
            }
            'd' | 'p' | 'q' | 'Q' | '=' | 'n' if !computes => {
                ended(behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '))?
            }
            _ => return None,
        };
    }
}

/// Returns what follows a command, if a separator follows it.
fn ended(behind: &str) -> Option<&str> {
    let behind = behind.trim_start_matches([' ', '\t', '\r']);
    matches!(behind.chars().next(), None | Some(';' | '}' | '\n' | '#')).then_some(behind)
}

/// Reports whether a new text contains a variable or code (`$ENV{A}`, `@{[…]}`).
fn is_computed(to: &str) -> bool {
    let mut letters = to.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => _ = letters.next(),
            '$' if letters.peek().is_some_and(|next| !next.is_ascii_digit() && *next != '&') => return true,
            '@' if letters.peek().is_some_and(|next| next.is_alphabetic() || "{$_".contains(*next)) => return true,
            _ => {}
        }
    }
    false
}

/// Returns the text of `a`, `i` or `c`, which lasts until a line without a backslash at its end, and what follows.
fn inserted_lines(script: &str) -> (String, &str) {
    let text = script.trim_start_matches([' ', '\t']);
    let text = text.strip_prefix('\\').map_or(text, |text| text.strip_prefix('\n').unwrap_or(text));
    let mut escaped = false;
    let end = text.char_indices().find(|(_, letter)| {
        let ends = *letter == '\n' && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    let end = end.map_or(text.len(), |(end, _)| end);
    (unescaped(text.get(..end).unwrap_or_default()), text.get(end..).unwrap_or_default())
}

/// Returns whether an address stands before a command (`1,$`, `/x/`), and the script from the command on. `None`: an
/// address is incomplete.
fn without_address(script: &str) -> Option<(bool, &str)> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || " \t,$!~+".contains(c));
        let (mark, behind) = match rest.strip_prefix('\\') {
            Some(own) => (own.chars().next()?, own.get(own.chars().next()?.len_utf8()..)?),
            None => match rest.strip_prefix('/') {
                Some(behind) => ('/', behind),
                None => break,
            },
        };
        let (_, behind) = split(behind, mark)?;
        rest = behind.trim_start_matches(['I', 'M']);
    }
    Some((rest.len() < script.len(), rest))
}

/// Reads the rest of `s/…/…/` and its flags, and returns what follows.
fn substitution(rest: &str) -> Option<(Replacement, &str)> {
    let mark = rest.chars().next().filter(|mark| !mark.is_alphanumeric() && !mark.is_whitespace() && *mark != '\\')?;
    let (from, rest) = split(rest.get(mark.len_utf8()..)?, mark)?;
    let (to, rest) = split(rest, mark)?;
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let flags = rest.get(..rest.len() - behind.len()).unwrap_or_default();
    // With other flags, the new text runs or is written to a file.
    if from.is_empty() || !flags.chars().all(|flag| flag.is_ascii_digit() || "gpiI".contains(flag)) {
        return None;
    }
    // An escaped mark is a letter of the text.
    let (own, mark) = (format!("\\{mark}"), mark.to_string());
    let (from, to) = (from.replace(&own, &mark), to.replace(&own, &mark));
    let ignore_case = flags.contains(['i', 'I']);
    let is_plain = !from.contains(['\\', '.', '*', '[', '^', '$', '(', '{', '+', '?', '|']);
    let from = match is_plain && !ignore_case && !to.contains(['\\', '&', '$']) {
        true => Pattern::Text(from),
        false => Pattern::Expression { text: from, ignore_case },
    };
    let reach = match flags {
        flags if flags.contains(|c: char| c.is_ascii_digit()) => Reach::Some,
        flags if flags.contains('g') => Reach::All,
        _ => Reach::First,
    };
    Some((Replacement { from, to, reach, across_lines: false }, behind))
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
        let all = changes(script, false).expect("a script that is followed");
        all.iter().fold(text.to_owned(), |text, change| match change {
            TextChange::Line(line) => text + line,
            TextChange::Replacement(change) => change.applied(&text).expect("an expression"),
        })
    }

    #[test]
    fn a_script_replaces_what_an_editor_would() {
        for (script, text, result) in [
            ("s/ls/rm x/g", "ls; ls", "rm x; rm x"),
            ("s/ls/rm x/", "ls; ls\nls", "rm x; ls\nrm x"),
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
            (r"s/[)(]/x/g", "(a)", "xax"),
            ("1d; s/a/c/", "a", "c"),
            ("/x/{n;s/a/c/}", "a", "c"),
            ("1i b", "a", "ab"),
            ("$a\\\nb\\\nc\ns/a/d/", "a", "db\nc"),
            (r"\,x/,s/a/c/", "a", "c"),
            ("# s/a/b/\ns/a/c/", "a", "c"),
            ("p\ns/a/c/", "a", "c"),
            ("s/\\d+/$5/", "a 12", "a "),
        ] {
            assert_eq!(edited(script, text), result, "{script}");
        }
        for script in
            ["s/a/", "y/a/b/", "r x", "w x", "s/a/b/e", "s/a/b/w x", "e ls", "N;s/a/b/", ":a;s/a/b/;ta", "x", "s//b/"]
        {
            assert_eq!(changes(script, false), None, "{script}");
        }
        assert_eq!(changes(r"s/a/\/b/", false).unwrap()[0].inserted(), "/b");
        assert_eq!(changes("s/a/$b/", false).unwrap()[0].inserted(), "$b");
        for code in ["s/a/$b/", "s/a/@{[b]}/", "$_ = 1", "tr/a/b/", "s/a/b/; print", "i b", "s/a/b/e"] {
            assert_eq!(changes(code, true), None, "{code}");
        }
        for code in ["s/(a)/$1/g; s/b/c/ if /x/", r"s/a/\$b/", r"s/a/b\@c/"] {
            assert!(changes(code, true).is_some(), "{code}");
        }
    }

    #[test]
    fn changed_lines_stand_beside_the_old_ones() {
        let beside = |script: &str, text: &str| match changes(script, true).unwrap().remove(0) {
            TextChange::Replacement(change) => change.beside(text).unwrap(),
            TextChange::Line(line) => line,
        };
        assert_eq!(beside("/b/s/b/c/", "a\nb\nd\n"), "a\nb\nc\nd\n");
        assert_eq!(beside("1s/b/c/", "b"), "b\nc");
        assert_eq!(beside("s/^[bd]/c/ if x", "a\nb\nd\n"), "a\nb\nc\nd\nc\n");
        assert_eq!(beside("s/b/c/2", "b\n"), "b\nc\n");
        assert_eq!(beside("1s/x/c/", "a\nb"), "a\nb");
        assert_eq!(beside("s/b/c/; 1s/d/e/", "bb\n"), "cb\n");
        let several =
            Replacement { from: Pattern::Text("b\nc".into()), to: "x".into(), reach: Reach::Some, across_lines: false };
        assert_eq!(several.beside("a\nab\ncd\ne\nb\nc").unwrap(), "a\nab\ncd\naxd\ne\nb\nc\nx");
    }

    #[test]
    fn an_expression_that_is_none_replaces_nothing() {
        let broken = Replacement {
            from: Pattern::Expression { text: "(*[".into(), ignore_case: false },
            to: "x".into(),
            reach: Reach::Some,
            across_lines: false,
        };
        assert_eq!(broken.applied("a"), None);
        let empty =
            Replacement { from: Pattern::Text(String::new()), to: "x".into(), reach: Reach::Some, across_lines: false };
        assert_eq!(empty.applied("a").as_deref(), Some("a"));
    }
}
