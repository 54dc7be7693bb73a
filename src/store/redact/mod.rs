//! Redacts secrets in commands before they are stored or shown elsewhere.
//!
//! A secret is recognised by its shape (a token with a known prefix, a private key), by its name (`PGPASSWORD=`,
//! `--token`, `Authorization:`), by its position in the arguments of a program (`mysql -p…`, `curl -u name:…`), or by
//! the target of its data flow (`echo … | docker login --password-stdin`). References to a secret (a variable, a
//! substitution, a path) remain readable.
//!
//! The text is scanned without nesting: a command in a string in a command is found like one outside, and a text that
//! is not a valid command is redacted too. Every pass takes linear time.
//!
//! Out of scope: I/O, and replacements that could be executed.

mod calls;
mod known;
mod names;
mod programs;
mod shapes;
mod words;

use crate::judge::sort;
use std::ops::Range;

pub use self::calls::redact_shown;
pub(super) use self::known::KnownSecrets;

/// The text that replaces a secret.
pub const HIDDEN: &str = "***";

/// Redacts the secrets in a command. Returns whether it contained any. A text without secrets is unchanged, and a
/// redacted text does not change when it is redacted again.
#[must_use]
pub fn redact(text: &str) -> (String, bool) {
    redact_and_keep(text, &mut Vec::new())
}

/// Redacts the secrets in a command like [`redact`], and adds them to `kept`.
fn redact_and_keep(text: &str, kept: &mut Vec<String>) -> (String, bool) {
    /// The maximum number of passes. Only a text that was made for it contains further secrets after each pass.
    const READINGS: usize = 4;
    let (mut out, hidden) = redact_once(text, kept);
    let mut more = hidden;
    for _ in 1..READINGS {
        if !more {
            break;
        }
        // A secret may have contained a quote or an operator that hid the text after it.
        let again = redact_once(&out, kept);
        more = again.1 && again.0 != out;
        out = again.0;
    }
    (out, hidden)
}

fn redact_once(text: &str, kept: &mut Vec<String>) -> (String, bool) {
    let mut secrets = Secrets { text, spans: Vec::new() };
    let words = words::split(text);
    shapes::find(&mut secrets);
    names::find(&words, &mut secrets);
    programs::find(&words, &mut secrets);
    kept.extend(secrets.spans.iter().filter_map(|span| text.get(span.clone())).map(str::to_owned));
    secrets.out()
}

/// The positions of the secrets in a text.
struct Secrets<'t> {
    text: &'t str,
    spans: Vec<Range<usize>>,
}

impl Secrets<'_> {
    /// Marks a span as secret, unless it is empty or redacted already.
    fn hide(&mut self, span: Range<usize>) {
        if self.text.get(span.clone()).is_some_and(|value| !value.is_empty() && value != HIDDEN) {
            self.spans.push(span);
        }
    }

    fn out(mut self) -> (String, bool) {
        if self.spans.is_empty() {
            return (self.text.to_owned(), false);
        }
        sort::sort_by_key(&mut self.spans, |span| (span.start, std::cmp::Reverse(span.end)));
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        let mut covered = 0;
        for span in &self.spans {
            if span.start >= covered {
                out.push_str(self.text.get(at..span.start).unwrap_or_default());
                out.push_str(HIDDEN);
            }
            covered = covered.max(span.end);
            at = covered;
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        (out, true)
    }
}

/// Reports whether a value is only a reference to a secret, or is none: a variable, a substitution, a path, a switch.
fn is_reference(value: &str) -> bool {
    const ROOTS: &[&str] = &[
        "/home/", "/etc/", "/run/", "/tmp/", "/var/", "/usr/", "/opt/", "/root/", "/dev/", "/proc/", "/mnt/", "/srv/",
        "/Users/", "./", "../", "~/", "@/", "@./", "@-", "file:", "env:", "vault:", "arn:", "op://",
    ];
    const SWITCHES: &[&str] = &["", HIDDEN, "true", "false", "yes", "no", "on", "off", "null", "none", "-", "0", "1"];
    SWITCHES.iter().any(|switch| value.eq_ignore_ascii_case(switch))
        || ROOTS.iter().any(|root| value.starts_with(root))
        || is_expansion(value)
}

/// Reports whether a value is exactly one expansion: `$NAME`, `${…}`, `$(…)`, `` `…` ``, `%NAME%`, `{{…}}`.
fn is_expansion(value: &str) -> bool {
    let name = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let within = |open: &str, close: &str| {
        value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).is_some_and(|inner| !inner.contains(close))
    };
    value.strip_prefix('$').is_some_and(|rest| name(rest) && !rest.starts_with(|first: char| first.is_ascii_digit()))
        || within("${{", "}}")
        || within("${", "}")
        || within("$(", ")")
        || within("`", "`")
        || within("{{", "}}")
}

/// Reports whether a value looks random: its characters are too mixed for a word or a name that a person chose.
fn is_random(value: &str) -> bool {
    let count = |class: fn(&u8) -> bool| value.bytes().filter(class).count();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=_-.~".contains(&byte);
    if value.len() < 12 || !value.bytes().all(plain) {
        return false;
    }
    let digits = count(u8::is_ascii_digit);
    let (upper, lower) = (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let hexadecimal = value.len() >= 16 && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits >= 2 && (upper >= 2 && lower >= 2 || hexadecimal && upper + lower >= 2)
        || value.len() >= 24 && upper >= 5 && lower >= 5
}

#[cfg(test)]
mod tests;
