//! What simple filters print, when their arguments and input are known: `echo`, `printf`, decoders.

use super::act::{Piece, UnknownReason, Value};
use super::decode::{base32, base64, escapes, hexadecimal, translate};
use super::state::Build as _;
use crate::judge::reserved;
use crate::judge::sort;

/// Known output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    pub text: Value,
    /// It was written in a form that a reader cannot read.
    pub decoded: bool,
}

/// Builtins that print nothing.
const SILENT: &[&str] = &[
    "true", ":", "false", "cd", "export", "set", "shift", "unset", "local", "readonly", "declare", "typeset", "test",
    "[", "trap", "exit", "return", "break", "continue", "shopt", "umask", "wait", "read",
];

/// What a program of this name prints with these arguments and this input.
pub(super) fn of(name: &str, args: &[&Value], stdin: &Value) -> Option<Known> {
    let texts: Option<Vec<String>> = args.iter().map(|value| value.known_text()).collect();
    let plain = |text: Value| Some(Known { text, decoded: false });
    if SILENT.contains(&name) {
        return plain(Value::default());
    }
    match name {
        "echo" => return plain(echo(args)),
        "printf" => return printf(args).map(|text| Known { text, decoded: false }),
        "cat" | "tee" | "sponge" if args.is_empty() || name == "tee" => return plain(stdin.clone()),
        "which" | "command" | "type" | "whence" => {
            let texts = texts?;
            let looks = match name {
                "command" => texts.first().is_some_and(|option| option == "-v"),
                "type" => texts.first().is_some_and(|option| option == "-P" || option == "-p"),
                _ => true,
            };
            let program = texts.iter().rfind(|text| !text.starts_with('-'))?;
            return if looks { plain(Value::text(format!("{program}\n"))) } else { None };
        }
        _ => {}
    }
    if matches!(name, "basename" | "dirname") {
        let spelled: Vec<String> = args.iter().map(|value| value.spelled()).collect::<Option<_>>()?;
        let words: Vec<&str> = spelled.iter().map(String::as_str).collect();
        let mut text = Value::of_spelled(&name_or_directory(name, &words)?);
        text.push_text("\n");
        return plain(text);
    }
    let args = texts?;
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match (name, words.as_slice()) {
        ("seq", [last]) => sequence(1, last.parse().ok()?),
        ("seq", [first, last]) => sequence(first.parse().ok()?, last.parse().ok()?),
        _ => {
            let text = stdin.known()?;
            filter(name, &words, &text)
        }
    }
}

/// What a filter makes of known text.
fn filter(name: &str, args: &[&str], text: &str) -> Option<Known> {
    let plain = |text: String| Some(Known { text: Value::text(text), decoded: false });
    let decoded = |bytes: Option<Vec<u8>>| {
        let text = String::from_utf8_lossy(&reserved::taken_in_bytes(&bytes?)).into_owned();
        Some(Known { text: Value::text(text), decoded: true })
    };
    match (name, args) {
        ("base64" | "gbase64", options)
            if options.iter().any(|o| ["-d", "-D", "--decode", "-di", "-id"].contains(o)) =>
        {
            decoded(base64(text))
        }
        ("openssl", ["base64", rest @ ..] | ["enc", "-base64", rest @ ..] | ["enc", "-a", rest @ ..])
            if rest.contains(&"-d") =>
        {
            decoded(base64(text))
        }
        ("base32", [option, ..]) if ["-d", "--decode"].contains(option) => decoded(base32(text)),
        ("xxd", options)
            if options.iter().any(|o| ["-rp", "-pr"].contains(o))
                || options.contains(&"-r") && options.iter().any(|o| ["-p", "-ps", "-plain"].contains(o)) =>
        {
            decoded(hexadecimal(text))
        }
        ("rev", []) => {
            let lines: Vec<String> = text.split('\n').map(|line| line.chars().rev().collect()).collect();
            Some(Known { text: Value::text(lines.join("\n")), decoded: true })
        }
        ("tac", []) => {
            let mut lines: Vec<&str> = text.lines().collect();
            lines.reverse();
            plain(lines.iter().map(|line| format!("{line}\n")).collect())
        }
        ("tr", options) => translate(options, text),
        ("head", [] | ["-n", _] | ["-1"]) | ("tail", [] | ["-n", _] | ["-1"]) => {
            let count: usize = match args {
                ["-n", count] => count.parse().ok()?,
                ["-1"] => 1,
                _ => 10,
            };
            let lines: Vec<&str> = text.lines().collect();
            let skip = if name == "tail" { lines.len().saturating_sub(count) } else { 0 };
            plain(lines.iter().skip(skip).take(count).map(|line| format!("{line}\n")).collect())
        }
        ("sort", []) => {
            let mut lines: Vec<&str> = text.lines().collect();
            sort::sort(&mut lines);
            plain(lines.iter().map(|line| format!("{line}\n")).collect())
        }
        _ => None,
    }
}

/// What `basename` and `dirname` print of one path.
fn name_or_directory(program: &str, words: &[&str]) -> Option<String> {
    match (program, words) {
        ("basename", [path]) => Some(base(path).to_owned()),
        ("basename", [path, suffix] | ["-s", suffix, path]) => {
            let name = base(path);
            Some(name.strip_suffix(suffix).filter(|name| !name.is_empty()).unwrap_or(name).to_owned())
        }
        ("dirname", [path]) => {
            let path = path.trim_end_matches('/');
            Some(path.rsplit_once('/').map_or(".", |(dir, _)| if dir.is_empty() { "/" } else { dir }).to_owned())
        }
        _ => None,
    }
}

fn base(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn sequence(first: i64, last: i64) -> Option<Known> {
    if last.checked_sub(first)? > 1000 {
        return None;
    }
    let text = (first..=last).map(|number| format!("{number}\n")).collect::<String>();
    Some(Known { text: Value::text(text), decoded: false })
}

/// `echo`, with `-e` and without: bash needs the option to read escapes, dash does not take it.
fn echo(args: &[&Value]) -> Value {
    let (mut newline, mut escaped) = (true, false);
    let mut rest = args;
    while let Some((first, others)) = rest.split_first()
        && let Some(option) = first.known()
        && let Some(letters) = option.strip_prefix('-')
        && !letters.is_empty()
        && letters.chars().all(|c| "neE".contains(c))
    {
        newline &= !letters.contains('n');
        escaped = letters.chars().rev().find(|c| *c != 'n').map_or(escaped, |c| c == 'e');
        rest = others;
    }
    let mut text = Value::default();
    for (index, value) in rest.iter().enumerate() {
        if index > 0 {
            text.push_text(" ");
        }
        text.push_value(value);
    }
    if escaped && let Some(known) = text.known() {
        text = escapes(&known).map_or_else(|| text.clone(), Value::text);
    }
    if newline {
        text.push_text("\n");
    }
    text
}

/// `printf` with a known format; unknown arguments stay unknown in it. `None` for `-v`, which prints nothing.
pub(super) fn printf(args: &[&Value]) -> Option<Value> {
    let (format, mut args) = args.split_first()?;
    let mut format = format.known()?;
    if format == "-v" {
        return Some(Value::default());
    }
    if format == "--" {
        let (next, rest) = args.split_first()?;
        format = next.known()?;
        args = rest;
    }
    let mut text = Value::default();
    loop {
        let before = args.len();
        let mut chars = format.chars().peekable();
        let mut literal = String::new();
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    literal.push('\\');
                    literal.extend(chars.next());
                }
                '%' => {
                    if chars.next_if_eq(&'%').is_some() {
                        literal.push('%');
                        continue;
                    }
                    text.push_text(&escapes(&literal)?);
                    literal.clear();
                    let mut width = String::new();
                    while let Some(c) = chars.next_if(|c| c.is_ascii_digit() || "-+ #0.*'".contains(*c)) {
                        width.push(c);
                    }
                    if width.contains('*') {
                        return None;
                    }
                    let conversion = chars.next()?;
                    let value = args.split_first().map(|(first, rest)| {
                        args = rest;
                        *first
                    });
                    convert(conversion, &width, value, &mut text)?;
                }
                c => literal.push(c),
            }
        }
        text.push_text(&escapes(&literal)?);
        // The format is used again as long as it takes arguments.
        if args.is_empty() || args.len() == before {
            return Some(text);
        }
    }
}

/// Whether a value is a number alone, whatever it is.
fn is_number(value: &Value) -> bool {
    matches!(value.pieces(), [Piece::Unknown(unknown)] if matches!(unknown.why, UnknownReason::Number(_)))
}

fn convert(conversion: char, width: &str, value: Option<&Value>, text: &mut Value) -> Option<()> {
    let Some(value) = value else {
        if "dioxXu".contains(conversion) {
            text.push_text("0");
        }
        return Some(());
    };
    let known = value.known();
    match (conversion, known) {
        ('s', Some(known)) => {
            let cut = width.split_once('.').and_then(|(_, precision)| precision.parse::<usize>().ok());
            match cut {
                Some(count) => text.push_text(&known.chars().take(count).collect::<String>()),
                None => text.push_text(&known),
            }
        }
        ('b', Some(known)) => text.push_text(&escapes(&known)?),
        ('q', Some(known)) => text.push_text(&crate::judge::invocation::quote(&known)),
        ('c', Some(known)) => text.push_text(&known.chars().take(1).collect::<String>()),
        ('d' | 'i' | 'u', Some(known)) if width.is_empty() => {
            text.push_text(&super::arithmetic::number(known.trim())?.to_string());
        }
        ('x', Some(known)) if width.is_empty() => {
            text.push_text(&format!("{:x}", super::arithmetic::number(known.trim())?));
        }
        ('o', Some(known)) => {
            let number = super::arithmetic::number(known.trim())?;
            let digits: usize = width.trim_start_matches('0').parse().unwrap_or(0);
            text.push_text(&format!("{number:0digits$o}"));
        }
        ('s' | 'b' | 'q' | 'c', None) => text.push_value(value),
        ('d' | 'i' | 'u', None) if is_number(value) => text.push_value(value),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(name: &str, args: &[&str], stdin: &str) -> Option<String> {
        let values: Vec<Value> = args.iter().map(|text| Value::text(*text)).collect();
        of(name, &values.iter().collect::<Vec<_>>(), &Value::text(stdin))?.text.known_text()
    }

    #[test]
    fn echo_and_printf_print_as_bash_does() {
        assert_eq!(print("echo", &["-n", "rm", "x"], "").as_deref(), Some("rm x"));
        assert_eq!(print("echo", &["-e", r"\x72m"], "").as_deref(), Some("rm\n"));
        assert_eq!(print("printf", &["%s %s\\n", "rm", "x"], "").as_deref(), Some("rm x\n"));
        assert_eq!(print("printf", &["%s\\n", "a", "b"], "").as_deref(), Some("a\nb\n"));
        assert_eq!(print("printf", &[r"\162\x6d"], "").as_deref(), Some("rm"));
        assert_eq!(print("printf", &["%.2s", "rmdir"], "").as_deref(), Some("rm"));
    }

    #[test]
    fn decoders_decode() {
        assert_eq!(print("base64", &["-d"], "cm0geA==").as_deref(), Some("rm x"));
        assert_eq!(print("xxd", &["-r", "-p"], "726d2078").as_deref(), Some("rm x"));
        assert_eq!(print("rev", &[], "x mr\n").as_deref(), Some("rm x\n"));
        assert_eq!(print("tr", &["a-z", "n-za-m"], "ez k").as_deref(), Some("rm x"));
        assert_eq!(print("tr", &["-d", "x"], "rxm").as_deref(), Some("rm"));
        assert_eq!(print("base64", &["-d"], "!"), None);
    }
}
