//! Computes the output of builtins and simple filters from known arguments and input: `echo`, `printf`, decoders. The
//! descriptions of programs state which programs are such filters.

use super::act::{Piece, UnknownReason, Value};
use super::decode::{base32, base64, escapes, hexadecimal, translate};
use super::letter::{self, Letter};
use super::state::Build as _;
use crate::judge::reserved;
use crate::judge::rules::model::Printed;
use crate::judge::sort;

/// Known output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KnownOutput {
    pub text: Value,
    /// Whether its source was encoded.
    pub decoded: bool,
}

/// The builtins that print nothing.
const SILENT: &[&str] = &[
    "true", ":", "false", "cd", "export", "set", "shift", "unset", "local", "readonly", "declare", "typeset", "test",
    "[", "trap", "exit", "return", "break", "continue", "shopt", "umask", "wait", "read",
];

/// Returns the output of a builtin with these arguments, if that does not depend on the state of the shell.
pub(super) fn of_builtin(name: &str, args: &[&Value]) -> Option<KnownOutput> {
    let plain = |text: Value| KnownOutput { text, decoded: false };
    match name {
        "echo" => Some(plain(echo(args))),
        "printf" => printf(args).map(plain),
        _ => SILENT.contains(&name).then(|| plain(Value::default())),
    }
}

/// Computes the output of a filter from its arguments and input.
pub(super) fn of(what: Printed, args: &[&Value], stdin: &Value) -> Option<KnownOutput> {
    let plain = |text: Value| Some(KnownOutput { text, decoded: false });
    let line = |text: Value| {
        let mut text = text;
        text.push_text("\n");
        plain(text)
    };
    let spelled = || args.iter().map(|value| value.letters()).collect::<Option<Vec<Vec<Letter>>>>();
    let known = || args.iter().map(|value| value.known_text()).collect::<Option<Vec<String>>>();
    let decoded = |decode: fn(&str) -> Option<Vec<u8>>| {
        let text = String::from_utf8_lossy(&reserved::taken_in_bytes(&decode(&stdin.known()?)?)).into_owned();
        Some(KnownOutput { text: Value::text(text), decoded: true })
    };
    let lines = |of: &dyn Fn(Vec<&str>) -> Vec<&str>| {
        let text = stdin.known()?;
        plain(Value::text(of(text.lines().collect()).iter().map(|line| format!("{line}\n")).collect::<String>()))
    };
    match what {
        Printed::Nothing => plain(Value::default()),
        Printed::Input => plain(stdin.clone()),
        Printed::Name => line(Value::of_letters(name_of(&spelled()?)?.iter().copied())),
        Printed::Directory => line(Value::of_letters(directory_of(&spelled()?)?)),
        Printed::Sequence => match known()?.as_slice() {
            [last] => sequence(1, last.parse().ok()?),
            [first, last] => sequence(first.parse().ok()?, last.parse().ok()?),
            _ => None,
        },
        Printed::Base64 => decoded(base64),
        Printed::Base32 => decoded(base32),
        Printed::Hexadecimal => decoded(hexadecimal),
        Printed::Translated => {
            let words = known()?;
            translate(&words.iter().map(String::as_str).collect::<Vec<_>>(), &stdin.known()?)
        }
        Printed::ReversedLetters => {
            let text = stdin.known()?;
            let turned: Vec<String> = text.split('\n').map(|line| line.chars().rev().collect()).collect();
            Some(KnownOutput { text: Value::text(turned.join("\n")), decoded: true })
        }
        Printed::ReversedLines => lines(&|lines| lines.into_iter().rev().collect()),
        Printed::SortedLines => lines(&|mut lines| {
            sort::sort(&mut lines);
            lines
        }),
        Printed::FirstLines => {
            let count = count_of(&known()?)?;
            lines(&|lines| lines.into_iter().take(count).collect())
        }
        Printed::LastLines => {
            let count = count_of(&known()?)?;
            lines(&|lines| {
                let skip = lines.len().saturating_sub(count);
                lines.into_iter().skip(skip).collect()
            })
        }
        Printed::Number
        | Printed::Temporary
        | Printed::User
        | Printed::Repository
        | Printed::RepositoryData
        | Printed::Files
        | Printed::SomeLines
        | Printed::Digest
        | Printed::Letters
        | Printed::Beginning
        | Printed::Program
        | Printed::Path
        | Printed::Names
        | Printed::EntryNames
        | Printed::Place
        | Printed::Installation => None,
    }
}

/// Returns the requested number of lines; the default is ten.
fn count_of(words: &[String]) -> Option<usize> {
    match words {
        [] => Some(10),
        [option, count] if option == "-n" => count.parse().ok(),
        [option] if option == "-1" => Some(1),
        _ => None,
    }
}

/// Returns the last part of a path, without a given suffix.
fn name_of(words: &[Vec<Letter>]) -> Option<&[Letter]> {
    match words {
        [path] => Some(base(path)),
        [option, suffix, path] if *option == letter::known("-s") => Some(without(suffix, path)),
        [path, suffix] => Some(without(suffix, path)),
        _ => None,
    }
}

fn without<'p>(suffix: &[Letter], path: &'p [Letter]) -> &'p [Letter] {
    let name = base(path);
    name.strip_suffix(suffix).filter(|name| !name.is_empty()).unwrap_or(name)
}

fn directory_of(words: &[Vec<Letter>]) -> Option<Vec<Letter>> {
    let [path] = words else { return None };
    let path = without_slashes(path);
    let dir = path.iter().rposition(|letter| *letter == SLASH).and_then(|at| path.get(..at));
    Some(dir.map_or_else(|| letter::known("."), |dir| if dir.is_empty() { vec![SLASH] } else { dir.to_vec() }))
}

fn base(path: &[Letter]) -> &[Letter] {
    without_slashes(path).rsplit(|letter| *letter == SLASH).next().unwrap_or_default()
}

const SLASH: Letter = Letter::Known('/');

fn without_slashes(path: &[Letter]) -> &[Letter] {
    let end = path.iter().rposition(|letter| *letter != SLASH).map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

fn sequence(first: i64, last: i64) -> Option<KnownOutput> {
    if last.checked_sub(first)? > 1000 {
        return None;
    }
    let text = (first..=last).map(|number| format!("{number}\n")).collect::<String>();
    Some(KnownOutput { text: Value::text(text), decoded: false })
}

/// Computes the output of `echo`. bash interprets escapes with `-e`; dash always does, and has no such option.
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

/// Computes the output of `printf` with a known format; unknown arguments remain unknown in it. `None` for `-v`, which
/// prints nothing.
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
        // The format is repeated while it consumes arguments.
        if args.is_empty() || args.len() == before {
            return Some(text);
        }
    }
}

/// Reports whether a value is one unknown number.
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

    fn echoed(name: &str, args: &[&str]) -> Option<String> {
        let values: Vec<Value> = args.iter().map(|text| Value::text(*text)).collect();
        of_builtin(name, &values.iter().collect::<Vec<_>>())?.text.known_text()
    }

    fn print(what: Printed, args: &[&str], stdin: &str) -> Option<String> {
        let values: Vec<Value> = args.iter().map(|text| Value::text(*text)).collect();
        of(what, &values.iter().collect::<Vec<_>>(), &Value::text(stdin))?.text.known_text()
    }

    #[test]
    fn echo_and_printf_print_as_bash_does() {
        assert_eq!(echoed("echo", &["-n", "rm", "x"]).as_deref(), Some("rm x"));
        assert_eq!(echoed("echo", &["-e", r"\x72m"]).as_deref(), Some("rm\n"));
        assert_eq!(echoed("printf", &["%s %s\\n", "rm", "x"]).as_deref(), Some("rm x\n"));
        assert_eq!(echoed("printf", &["%s\\n", "a", "b"]).as_deref(), Some("a\nb\n"));
        assert_eq!(echoed("printf", &[r"\162\x6d"]).as_deref(), Some("rm"));
        assert_eq!(echoed("printf", &["%.2s", "rmdir"]).as_deref(), Some("rm"));
        assert_eq!(echoed("cd", &["x"]).as_deref(), Some(""));
        assert_eq!(echoed("pwd", &[]), None);
    }

    #[test]
    fn decoders_decode() {
        assert_eq!(print(Printed::Base64, &["-d"], "cm0geA==").as_deref(), Some("rm x"));
        assert_eq!(print(Printed::Base32, &["-d"], "OJWSA6A=").as_deref(), Some("rm x"));
        assert_eq!(print(Printed::Hexadecimal, &["-r", "-p"], "726d2078").as_deref(), Some("rm x"));
        assert_eq!(print(Printed::ReversedLetters, &[], "x mr\n").as_deref(), Some("rm x\n"));
        assert_eq!(print(Printed::Translated, &["a-z", "n-za-m"], "ez k").as_deref(), Some("rm x"));
        assert_eq!(print(Printed::Translated, &["-d", "x"], "rxm").as_deref(), Some("rm"));
        assert_eq!(print(Printed::Base64, &["-d"], "!"), None);
    }

    #[test]
    fn filters_print_lines_of_what_they_are_fed() {
        let numbers: String = (1..=12).map(|number| format!("{number}\n")).collect();
        let first_ten: String = (1..=10).map(|number| format!("{number}\n")).collect();
        assert_eq!(print(Printed::FirstLines, &[], &numbers), Some(first_ten));
        assert_eq!(print(Printed::FirstLines, &["-n", "2"], "a\nb\nc\n").as_deref(), Some("a\nb\n"));
        assert_eq!(print(Printed::LastLines, &["-n", "2"], "a\nb\nc\n").as_deref(), Some("b\nc\n"));
        assert_eq!(print(Printed::LastLines, &["-1"], "a\nb\nc\n").as_deref(), Some("c\n"));
        assert_eq!(print(Printed::LastLines, &["-f"], "a\n"), None);
        assert_eq!(print(Printed::ReversedLines, &[], "a\nb\n").as_deref(), Some("b\na\n"));
        assert_eq!(print(Printed::SortedLines, &[], "b\na\n").as_deref(), Some("a\nb\n"));
        assert_eq!(print(Printed::Input, &["x"], "a").as_deref(), Some("a"));
        assert_eq!(print(Printed::Nothing, &["x"], "a").as_deref(), Some(""));
    }

    #[test]
    fn names_and_numbers_are_made_of_arguments() {
        assert_eq!(print(Printed::Name, &["/a/b.c"], "").as_deref(), Some("b.c\n"));
        assert_eq!(print(Printed::Name, &["/a/b.c/", ".c"], "").as_deref(), Some("b\n"));
        assert_eq!(print(Printed::Name, &["-s", ".c", "/a/b.c"], "").as_deref(), Some("b\n"));
        assert_eq!(print(Printed::Name, &["/a/.c", ".c"], "").as_deref(), Some(".c\n"));
        assert_eq!(print(Printed::Directory, &["/a/b"], "").as_deref(), Some("/a\n"));
        assert_eq!(print(Printed::Directory, &["/a"], "").as_deref(), Some("/\n"));
        assert_eq!(print(Printed::Directory, &["a"], "").as_deref(), Some(".\n"));
        assert_eq!(print(Printed::Sequence, &["2"], "").as_deref(), Some("1\n2\n"));
        assert_eq!(print(Printed::Sequence, &["2", "3"], "").as_deref(), Some("2\n3\n"));
        assert_eq!(print(Printed::Sequence, &["1", "2", "3"], ""), None);
    }
}
