//! Secrets out of commands, before they are stored or shown elsewhere.
//!
//! A secret is known by its shape (a token with a prefix of its own, a private key), by the name it goes under
//! (`PGPASSWORD=`, `--token`, `Authorization:`), by the place where a program takes it (`mysql -p…`, `curl -u name:…`),
//! or by where it flows (`echo … | docker login --password-stdin`). What refers to a secret without being one (a
//! variable, a substitution, a path) stays readable.
//!
//! The text is read flat, by a scanner of its own: a command inside a string inside a command is found the same way as
//! one outside, and a text that is no valid command loses its secrets too. Every pass takes time linear in the text.
//!
//! Out of scope: I/O, and anything that makes the text longer in a way that could be run.

mod calls;
mod names;
mod programs;
mod shapes;
mod words;

use crate::judge::sort;
use std::ops::Range;

pub use self::calls::redact_shown;

/// What stands in place of a secret.
pub const HIDDEN: &str = "***";

/// Hides the secrets in a command, and says whether there were any. A text without secrets comes back byte for byte;
/// hiding twice changes nothing more.
#[must_use]
pub fn redact(text: &str) -> (String, bool) {
    /// How often what is left is read again: a text in which each reading uncovers more was made to be so.
    const READINGS: usize = 4;
    let (mut out, hidden) = redact_once(text);
    let mut more = hidden;
    for _ in 1..READINGS {
        if !more {
            break;
        }
        // A secret may have held a quote or an operator that hid what stands behind it.
        let again = redact_once(&out);
        more = again.1 && again.0 != out;
        out = again.0;
    }
    (out, hidden)
}

fn redact_once(text: &str) -> (String, bool) {
    let mut secrets = Secrets { text, spans: Vec::new() };
    let words = words::split(text);
    shapes::find(&mut secrets);
    names::find(&words, &mut secrets);
    programs::find(&words, &mut secrets);
    secrets.out()
}

/// Where the secrets of a text are.
struct Secrets<'t> {
    text: &'t str,
    spans: Vec<Range<usize>>,
}

impl Secrets<'_> {
    /// Marks a span as secret, unless it is empty or only stands for one.
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

/// Whether a value only refers to a secret or is none: a variable, a substitution, a path, a switch.
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

/// Whether a value is one expansion and nothing else: `$NAME`, `${…}`, `$(…)`, `` `…` ``, `%NAME%`, `{{…}}`.
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

/// Whether a value is too mixed to be a word or a name: what machines make and people do not.
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
