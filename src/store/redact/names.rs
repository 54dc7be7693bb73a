//! Finds secrets by their names: `PGPASSWORD=…`, `--api-key …`, `"token": "…"`, `Authorization: …`.

use std::cell::Cell;
use std::ops::Range;

use super::words::{self, FlatWord, Separator};
use super::{Secrets, is_expansion, is_random, is_reference};
use crate::judge::rules::catalog::secret_arguments;

/// The degree to which a name indicates that its value is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// The value is a secret if it looks like one.
    Weak,
    /// The value is a secret unless it is a small number.
    Medium,
    /// The value is a secret.
    Strong,
}

/// Finds values by their names.
pub(super) fn find(words: &[FlatWord], secrets: &mut Secrets<'_>) {
    let text = secrets.text;
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut done = 0;
    let line_end = Cell::new(0);
    while at < bytes.len() {
        let start = at + bytes.iter().skip(at).take_while(|&&byte| !is_name(byte)).count();
        let end = start + bytes.iter().skip(start).take_while(|&&byte| is_name(byte)).count();
        at = end;
        let Some(name) = text.get(start..end) else { continue };
        let Some(strength) = strength(name) else { continue };
        if start < done {
            continue;
        }
        let found = Name { text, bytes, words, start, end, name, strength, line_end: &line_end };
        if let Some(span) = found.value() {
            done = span.end;
            secrets.hide(span);
        }
    }
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Reports whether a value with this name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    strength(name).is_some_and(|strength| strength > Strength::Weak)
}

/// Classifies a name; `None` if its value is not a secret.
fn strength(name: &str) -> Option<Strength> {
    const STRONG: &[&str] =
        &["password", "passwd", "passphrase", "secret", "authtoken", "apikey", "apitoken", "sshpass", "psk", "otp"];
    const MEDIUM: &[&str] =
        &["token", "pass", "pwd", "dbpass", "keypass", "storepass", "userpass", "rootpass", "accesskey", "bearer"];
    const WEAK: &[&str] = &[
        "auth",
        "authorization",
        "cookie",
        "sig",
        "signature",
        "credential",
        "credentials",
        "creds",
        "session",
        "sid",
    ];
    const ENDINGS: &[&str] = &["password", "passwd", "passphrase", "secret", "apikey", "authtoken", "accesstoken"];
    const KEYS: &[&str] = &[
        "api",
        "access",
        "secret",
        "private",
        "encryption",
        "encrypt",
        "signing",
        "sign",
        "auth",
        "account",
        "master",
        "license",
        "shared",
        "deploy",
        "subscription",
        "storage",
        "webhook",
        "jwt",
        "hmac",
        "aes",
        "admin",
        "server",
    ];
    const NO_SECRETS: &[&str] = &["public", "primary", "foreign", "sort", "cache", "partition", "row", "index", "host"];

    let trimmed = name.trim_start_matches('-');
    if trimmed.eq_ignore_ascii_case("pw") {
        return Some(Strength::Medium);
    }
    if trimmed.len() < 3 || matches!(trimmed, "PWD" | "OLDPWD" | "NOPASSWD") {
        return None;
    }
    let parts = parts(trimmed);
    let (last, before) = parts.split_last()?;
    let last = last.as_str();
    let has = |wanted: &str| before.iter().any(|part| part == wanted);
    if STRONG.contains(&last)
        || ENDINGS.iter().any(|ending| last.ends_with(ending))
        || last == "auth" && has("rediscli")
        || matches!(last, "string" | "value" | "text" | "binary" | "data")
            && before.last().is_some_and(|part| part == "secret")
    {
        return Some(Strength::Strong);
    }
    if MEDIUM.contains(&last) || last.ends_with("token") || last.ends_with("pwd") {
        return Some(Strength::Medium);
    }
    if WEAK.contains(&last) {
        return Some(Strength::Weak);
    }
    if last == "key" {
        if before.iter().any(|part| NO_SECRETS.contains(&part.as_str())) {
            return None;
        }
        let variable = trimmed.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
        let qualified = before.iter().any(|part| KEYS.contains(&part.as_str())) || variable && !before.is_empty();
        return Some(if qualified { Strength::Medium } else { Strength::Weak });
    }
    (has("secret") && has("key")).then_some(Strength::Medium)
}

/// Splits a name into words in lowercase: at `_`, `-` and `.`, and before an uppercase letter that follows a lowercase
/// one.
fn parts(name: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut small = false;
    for letter in name.chars() {
        if matches!(letter, '_' | '-' | '.') || small && letter.is_ascii_uppercase() {
            parts.push(std::mem::take(&mut part));
        }
        if !matches!(letter, '_' | '-' | '.') {
            part.push(letter.to_ascii_lowercase());
        }
        small = letter.is_ascii_lowercase();
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The maximum number of bytes around a name that are read; otherwise a text with many names would take quadratic time.
const NEAR: usize = 256;

/// A name whose value may be a secret.
struct Name<'t> {
    text: &'t str,
    bytes: &'t [u8],
    words: &'t [FlatWord],
    start: usize,
    end: usize,
    name: &'t str,
    strength: Strength,
    line_end: &'t Cell<usize>,
}

impl Name<'_> {
    /// Returns the span of the secret.
    fn value(&self) -> Option<Range<usize>> {
        let (after, quoted) = self.after();
        match self.byte(after) {
            Some(b'=') if self.byte(after + 1) != Some(b'=') => return self.assigned(after + 1),
            Some(b':') if self.byte(after + 1) == Some(b'=') => return self.assigned(after + 2),
            _ => {}
        }
        let colon = self.skip_blanks(after);
        if self.byte(colon) == Some(b':') && self.byte(colon + 1) != Some(b'/') {
            return self.field(colon + 1, quoted);
        }
        if self.byte(colon) == Some(b'=') && !matches!(self.byte(colon + 1), Some(b'=' | b'~')) {
            return self.set(colon + 1, after > self.end);
        }
        if after == self.end && colon > after {
            return self.next_word(colon);
        }
        None
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Returns the end of the line or quoted text at this position.
    fn line(&self, at: usize) -> usize {
        // Names are found in order, so the end for the previous name often still applies.
        if self.line_end.get() < at {
            let rest = self.bytes.iter().skip(at);
            self.line_end.set(at + rest.take_while(|byte| !matches!(byte, b'\n' | b'\'' | b'"')).count());
        }
        self.line_end.get()
    }

    fn skip_blanks(&self, at: usize) -> usize {
        at + self.bytes.iter().skip(at).take_while(|&&byte| byte == b' ' || byte == b'\t').count()
    }

    /// Returns the position after the name and its closing delimiter (`"name"`, `\"name\"`, `[name]`), and whether it
    /// is a quoted key.
    fn after(&self) -> (usize, bool) {
        let escaped = self.byte(self.end) == Some(b'\\');
        let quote = self.end + usize::from(escaped);
        match self.byte(quote) {
            Some(byte @ (b'"' | b'\'')) if self.start > 0 && self.byte(self.start - 1) == Some(byte) => {
                // `environ["name"] = …` assigns the value like `"name": …`.
                (quote + 1 + usize::from(!escaped && self.byte(quote + 1) == Some(b']')), true)
            }
            Some(b']') if !escaped => (quote + 1, false),
            _ => (self.end, false),
        }
    }

    /// Returns the span of the value in `name=value`.
    fn assigned(&self, at: usize) -> Option<Range<usize>> {
        self.accept(words::value(self.text, at, self.opened()))
    }

    /// Returns the span of the value in `name = value` in a file or in code, or in `["name"] = value`. The operand of a
    /// comparison in a shell (`"$NAME" = x`) has a `$` in front of the name; so has a variable of Perl, PHP or
    /// PowerShell, but its value is in quotes (`$name = "…"`).
    fn set(&self, at: usize, key: bool) -> Option<Range<usize>> {
        let at = self.skip_blanks(at);
        let literal = literal(self.text.get(at..).unwrap_or_default());
        let text = !key && (matches!(self.byte(at), Some(b'\'' | b'"')) || literal.is_some());
        let referred = self.start.checked_sub(1).is_some_and(|before| self.refers(before));
        if self.strength < Strength::Medium || referred && !text {
            return None;
        }
        if let Some(inside) = literal {
            return self.accept(at + inside.start..at + inside.end);
        }
        let mut span = words::value(self.text, at, None);
        let quoted = matches!(self.byte(at), Some(b'\'' | b'"'));
        if !quoted && let Some(end) = self.text.get(span.clone())?.find("\\n") {
            span.end = span.start + end;
        }
        let value = self.text.get(span.clone())?;
        // Without quotes it may be code: a call, a field, a name. In a file the value ends the line.
        let literal = value.bytes().all(|byte| byte.is_ascii_graphic() && !b"()[]{}$\"'`\\".contains(&byte))
            && (!value.contains('.') || value.bytes().any(|byte| byte.is_ascii_digit()));
        let ends_line = self.skip_blanks(span.end) >= self.line(at).min(self.end_of_line(at));
        if quoted || literal && ends_line && !key { self.accept(span) } else { None }
    }

    /// Reports whether the byte marks a variable.
    fn refers(&self, at: usize) -> bool {
        matches!(self.byte(at), Some(b'$' | b'{'))
    }

    /// Returns the text before the name, up to [`NEAR`] bytes.
    fn before(&self) -> &str {
        let from = self.start.saturating_sub(NEAR);
        (from..from + 4).find_map(|from| self.text.get(from..self.start)).unwrap_or_default()
    }

    /// Returns the end of the line, ignoring quotes, or the limit of [`NEAR`] bytes. `
    /// `, as in a format of `printf`, ends a line too.
    fn end_of_line(&self, at: usize) -> usize {
        let rest = (at + NEAR - 3..=at + NEAR).find_map(|end| self.text.get(at..end));
        let rest = rest.or_else(|| self.text.get(at..)).unwrap_or_default();
        at + rest.find('\n').into_iter().chain(rest.find("\\n")).min().unwrap_or(rest.len())
    }

    /// Returns the quote that encloses the whole of `name=value`, if the value may contain blanks.
    fn opened(&self) -> Option<u8> {
        let quote = self.byte(self.start.checked_sub(1)?)?;
        if !matches!(quote, b'\'' | b'"') {
            return None;
        }
        let option = self.name.starts_with('-');
        // A quoted variable begins a command (`sh -c 'TOKEN=… make'`), unless the word before it takes variables.
        let takes_variables = || {
            let here = self.words.partition_point(|word| word.span.start < self.start);
            let before = here.checked_sub(1).and_then(|before| self.words.get(before));
            let before = before.and_then(|word| self.text.get(word.span.clone())).unwrap_or_default();
            before == "env" || before.contains('=') || before.starts_with('-') && !before.ends_with('c')
        };
        (option || takes_variables()).then_some(quote)
    }

    /// Returns the span of the value in `name: value`, as in headers, JSON and YAML.
    fn field(&self, colon: usize, quoted: bool) -> Option<Range<usize>> {
        let at = self.skip_blanks(colon);
        if !quoted && self.closes_quote(at) {
            return None;
        }
        let name = self.name.to_ascii_lowercase();
        let line = self.line(at);
        if matches!(name.as_str(), "authorization" | "proxy-authorization" | "cookie" | "set-cookie") && line > at {
            let rest = self.text.get(at..line)?;
            // The scheme is not secret: `Bearer`, `Basic`, `token`.
            let scheme = match rest.trim_end().split_once(' ') {
                Some((scheme, _)) if name.ends_with("authorization") => scheme.len() + 1,
                _ => 0,
            };
            let end = at + rest.trim_end().trim_end_matches('\\').len();
            let span = (at + scheme).min(end)..end;
            let refers = self.text.get(span.clone()).is_none_or(|value| value.is_empty() || is_expansion(value));
            return (!refers).then_some(span);
        }
        let value = words::value(self.text, at, None);
        let span = trim(self.text, value);
        let held = self.text.get(span.clone())?;
        let value_quoted = self.byte(span.start.checked_sub(1)?).is_some_and(|byte| byte == b'"' || byte == b'\'');
        let header = self.name.contains('-') && self.strength >= Strength::Medium;
        // In prose, more words follow ("fix token: handle expiry"); in YAML and in headers, the value ends the line.
        let ends_line = at > colon && self.skip_blanks(span.end) >= line && self.strength >= Strength::Medium;
        if quoted || value_quoted || header || ends_line || is_random(held) { self.accept(span) } else { None }
    }

    /// Reports whether a quote at this position closes one that was opened before the name, as in `"Password:"`.
    fn closes_quote(&self, at: usize) -> bool {
        /// The maximum number of bytes that are read.
        const NEAR: usize = 256;
        let Some(quote) = self.byte(at).filter(|byte| matches!(byte, b'\'' | b'"')) else { return false };
        let before = self.bytes.iter().take(self.start).rev().take(NEAR);
        before.take_while(|&&byte| byte != b'\n').filter(|&&byte| byte == quote).count() % 2 == 1
    }

    /// Returns the span of the value in `--name value`, or after a bare name if the value can only be a secret.
    fn next_word(&self, at: usize) -> Option<Range<usize>> {
        /// The words of options that request a secret or describe one.
        const NO_VALUE: &[&str] = &["no", "ask", "with", "show", "get", "print", "use", "skip", "prompt", "require"];
        let option = self.name.starts_with('-');
        // This is another option, or the notation of openssl for the source of a password.
        if self.byte(at) == Some(b'-') || self.text.get(at..).is_some_and(|rest| rest.starts_with("pass:")) {
            return None;
        }
        let span = trim(self.text, words::value(self.text, at, None));
        let value = self.text.get(span.clone())?;
        if !option {
            // The format of ~/.netrc.
            let line = self.before().rsplit('\n').next()?;
            let netrc = line.contains("login ") && (line.contains("machine ") || line.contains("default "));
            return if is_random(value) || netrc { self.accept(span) } else { None };
        }
        let plain = self.name.trim_start_matches('-');
        if plain.split('-').any(|part| NO_VALUE.contains(&part)) {
            return None;
        }
        match plain {
            // A container tool takes the name of a secret that it stores, not the secret.
            "secret" if value.starts_with("id=") || value.starts_with("src=") => return None,
            _ if secret_arguments()
                .none
                .iter()
                .any(|none| none.options.iter().any(|name| name == plain) && self.is_of(&none.programs)) =>
            {
                return None;
            }
            _ => {}
        }
        self.accept(span)
    }

    /// Reports whether one of these programs precedes the name in the same command.
    fn is_of(&self, programs: &[String]) -> bool {
        /// The maximum number of words that are read.
        const NEAR: usize = 32;
        let here = self.words.partition_point(|word| word.span.end < self.end);
        let command = self.words.get(..=here).unwrap_or_default();
        for word in command.iter().rev().take(NEAR) {
            let written = self.text.get(word.span.clone()).unwrap_or_default();
            let base = written.rsplit('/').next().unwrap_or(written);
            if programs.iter().any(|program| program == base) {
                return true;
            }
            if matches!(word.gap, Separator::Command | Separator::Pipe) {
                return false;
            }
        }
        false
    }

    fn accept(&self, span: Range<usize>) -> Option<Range<usize>> {
        let value = self.text.get(span.clone())?;
        let number = value.len() <= 6 && value.bytes().all(|byte| byte.is_ascii_digit());
        let secret = !is_reference(value)
            && match self.strength {
                Strength::Strong => true,
                Strength::Medium => !number,
                Strength::Weak => is_random(value),
            };
        secret.then_some(span)
    }
}

/// Returns the span of the text in a literal of a language that does not begin with a single quote character: in
/// backticks, in three quotes, after a prefix (`b"…"`, `r'…'`), or in delimiters (`%q(…)`, `qq{…}`, `[[…]]`).
fn literal(rest: &str) -> Option<Range<usize>> {
    let closing = |open: char| match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        same => same,
    };
    let letters = rest.trim_start_matches('%').trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let prefix = rest.get(..rest.len() - letters.len())?;
    let open = letters.chars().next()?;
    let is_word = prefix.starts_with('%') || matches!(prefix, "q" | "qq");
    let tripled = matches!(open, '\'' | '"') && letters.chars().take(3).filter(|c| *c == open).count() == 3;
    let deep = match open {
        '\'' | '"' if tripled => 3,
        '\'' | '"' if (1..=2).contains(&prefix.len()) && !prefix.starts_with('%') => 1,
        '`' if prefix.is_empty() => 1,
        '[' if prefix.is_empty() && letters.starts_with("[[") => 2,
        '(' | '[' | '{' | '<' | '|' | '!' | '/' if is_word => 1,
        _ => return None,
    };
    let start = prefix.len() + deep;
    let inside = rest.get(start..)?;
    let end = inside.find(closing(open)).filter(|end| *end > 0)?;
    if inside.get(..end)?.contains(['\n', '$']) {
        return None;
    }
    Some(start..start + end)
}

/// Removes the comma that JSON has after an unquoted value.
fn trim(text: &str, span: Range<usize>) -> Range<usize> {
    let value = text.get(span.clone()).unwrap_or_default();
    span.start..span.start + value.trim_end_matches(',').len()
}
