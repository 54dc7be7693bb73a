//! Secrets that are known by the name they go under: `PGPASSWORD=…`, `--api-key …`, `"token": "…"`, `Authorization: …`.

use std::cell::Cell;
use std::ops::Range;

use super::words::{self, FlatWord, Separator};
use super::{Secrets, is_expansion, is_random, is_reference};
use crate::judge::rules::catalog::secret_arguments;

/// How much a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    /// A secret when it looks like one.
    Weak,
    /// A secret unless it is a small number.
    Medium,
    /// A secret.
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

/// Whether what goes under this name is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    strength(name).is_some_and(|strength| strength > Strength::Weak)
}

/// What a name is: `None` when its value is nobody's secret.
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

/// The words that a name is made of, in small letters: at `_`, `-` and `.`, and where a capital follows a small letter.
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

/// How many bytes around a name are looked at, so that a text of names is not read again for each.
const NEAR: usize = 256;

/// A name that may have a secret behind it.
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
    /// Where the secret is.
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

    /// Where the line or the quoted text ends that goes on here.
    fn line(&self, at: usize) -> usize {
        // Names are met in order, so that the end found for the last one is often still ahead.
        if self.line_end.get() < at {
            let rest = self.bytes.iter().skip(at);
            self.line_end.set(at + rest.take_while(|byte| !matches!(byte, b'\n' | b'\'' | b'"')).count());
        }
        self.line_end.get()
    }

    fn skip_blanks(&self, at: usize) -> usize {
        at + self.bytes.iter().skip(at).take_while(|&&byte| byte == b' ' || byte == b'\t').count()
    }

    /// Behind the name and whatever closes it (`"name"`, `\"name\"`, `[name]`), and whether it is a quoted key.
    fn after(&self) -> (usize, bool) {
        let escaped = self.byte(self.end) == Some(b'\\');
        let quote = self.end + usize::from(escaped);
        match self.byte(quote) {
            Some(byte @ (b'"' | b'\'')) if self.start > 0 && self.byte(self.start - 1) == Some(byte) => {
                // `environ["name"] = …` sets it as `"name": …` does.
                (quote + 1 + usize::from(!escaped && self.byte(quote + 1) == Some(b']')), true)
            }
            Some(b']') if !escaped => (quote + 1, false),
            _ => (self.end, false),
        }
    }

    /// `name=value`
    fn assigned(&self, at: usize) -> Option<Range<usize>> {
        self.accept(words::value(self.text, at, self.opened()))
    }

    /// `name = value` in a file or in code, `["name"] = value`. What a shell compares (`"$NAME" = x`) has a sign in front; so
    /// has a variable of Perl, PHP or PowerShell, whose text is in quotes (`$name = "…"`).
    fn set(&self, at: usize, key: bool) -> Option<Range<usize>> {
        let at = self.skip_blanks(at);
        let text = !key && matches!(self.byte(at), Some(b'\'' | b'"'));
        let referred = self.start.checked_sub(1).is_some_and(|before| self.refers(before));
        if self.strength < Strength::Medium || referred && !text {
            return None;
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

    /// Whether a variable's sign stands here.
    fn refers(&self, at: usize) -> bool {
        matches!(self.byte(at), Some(b'$' | b'{'))
    }

    /// What stands in front of the name, as far as it is looked at.
    fn before(&self) -> &str {
        let from = self.start.saturating_sub(NEAR);
        (from..from + 4).find_map(|from| self.text.get(from..self.start)).unwrap_or_default()
    }

    /// Where the line ends, quotes or none, or how far is looked; `\n` as `printf` writes it ends one too.
    fn end_of_line(&self, at: usize) -> usize {
        let rest = (at + NEAR - 3..=at + NEAR).find_map(|end| self.text.get(at..end));
        let rest = rest.or_else(|| self.text.get(at..)).unwrap_or_default();
        at + rest.find('\n').into_iter().chain(rest.find("\\n")).min().unwrap_or(rest.len())
    }

    /// The quote in which the whole of `name=value` stands, when the value may go on behind a blank.
    fn opened(&self) -> Option<u8> {
        let quote = self.byte(self.start.checked_sub(1)?)?;
        if !matches!(quote, b'\'' | b'"') {
            return None;
        }
        let option = self.name.starts_with('-');
        // A variable in quotes begins a command (`sh -c 'TOKEN=… make'`), unless what stands before takes variables.
        let takes_variables = || {
            let here = self.words.partition_point(|word| word.span.start < self.start);
            let before = here.checked_sub(1).and_then(|before| self.words.get(before));
            let before = before.and_then(|word| self.text.get(word.span.clone())).unwrap_or_default();
            before == "env" || before.contains('=') || before.starts_with('-') && !before.ends_with('c')
        };
        (option || takes_variables()).then_some(quote)
    }

    /// `name: value`, as in headers, JSON and YAML.
    fn field(&self, colon: usize, quoted: bool) -> Option<Range<usize>> {
        let at = self.skip_blanks(colon);
        if !quoted && self.closes_quote(at) {
            return None;
        }
        let name = self.name.to_ascii_lowercase();
        let line = self.line(at);
        if matches!(name.as_str(), "authorization" | "proxy-authorization" | "cookie" | "set-cookie") && line > at {
            let rest = self.text.get(at..line)?;
            // The scheme is no secret: `Bearer`, `Basic`, `token`.
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

    /// Whether a quote stands here that closes one which was opened in front of the name, as in `"Password:"`.
    fn closes_quote(&self, at: usize) -> bool {
        /// How far is looked.
        const NEAR: usize = 256;
        let Some(quote) = self.byte(at).filter(|byte| matches!(byte, b'\'' | b'"')) else { return false };
        let before = self.bytes.iter().take(self.start).rev().take(NEAR);
        before.take_while(|&&byte| byte != b'\n').filter(|&&byte| byte == quote).count() % 2 == 1
    }

    /// `--name value`, or a bare name with something behind it that can only be a secret.
    fn next_word(&self, at: usize) -> Option<Range<usize>> {
        /// Options that ask for a secret, or say something about it.
        const NO_VALUE: &[&str] = &["no", "ask", "with", "show", "get", "print", "use", "skip", "prompt", "require"];
        let option = self.name.starts_with('-');
        // Another option, or openssl's way of saying where the password comes from.
        if self.byte(at) == Some(b'-') || self.text.get(at..).is_some_and(|rest| rest.starts_with("pass:")) {
            return None;
        }
        let span = trim(self.text, words::value(self.text, at, None));
        let value = self.text.get(span.clone())?;
        if !option {
            // As in ~/.netrc.
            let line = self.before().rsplit('\n').next()?;
            let netrc = line.contains("login ") && (line.contains("machine ") || line.contains("default "));
            return if is_random(value) || netrc { self.accept(span) } else { None };
        }
        let plain = self.name.trim_start_matches('-');
        if plain.split('-').any(|part| NO_VALUE.contains(&part)) {
            return None;
        }
        match plain {
            // A tool for containers names a secret that it keeps, and is not told it.
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

    /// Whether one of these programs stands in front, in the same command.
    fn is_of(&self, programs: &[String]) -> bool {
        /// How many words are looked at.
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

/// Without what JSON leaves behind an unquoted value.
fn trim(text: &str, span: Range<usize>) -> Range<usize> {
    let value = text.get(span.clone()).unwrap_or_default();
    span.start..span.start + value.trim_end_matches(',').len()
}
