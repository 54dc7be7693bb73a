//! awk, sed and redis: what they run and write.

use super::{Call, unknown, value};
use crate::judge::facts::act::Value;

fn call(callee: &str, args: Vec<Value>) -> Call {
    Call { callee: callee.to_owned(), args }
}

/// awk: `system(…)`, pipes to and from commands, output to files.
pub fn awk(text: &str) -> Vec<Call> {
    let chars: Vec<char> = text.chars().collect();
    let peek = |at: usize| chars.get(at).copied().unwrap_or('\0');
    let mut calls = Vec::new();
    // The strings in order, with what stands in front of and behind each.
    let mut at = 0;
    let mut before = String::new();
    while at < chars.len() {
        match peek(at) {
            '"' => {
                let mut string = String::new();
                at += 1;
                while at < chars.len() && peek(at) != '"' {
                    if peek(at) == '\\' {
                        at += 1;
                        match peek(at) {
                            'n' => string.push('\n'),
                            't' => string.push('\t'),
                            other => string.push(other),
                        }
                    } else {
                        string.push(peek(at));
                    }
                    at += 1;
                }
                at += 1;
                let after: String = chars.get(at..).unwrap_or_default().iter().take(80).collect();
                awk_string(&before, &string, after.trim_start(), &mut calls);
                before.clear();
                before.push('"');
            }
            '#' => {
                while at < chars.len() && peek(at) != '\n' {
                    at += 1;
                }
            }
            '/' if before.trim_end().is_empty()
                || before.trim_end().ends_with(['(', ',', '{', '}', ';', '~', '!', '&', '|', '\n']) =>
            {
                at += 1;
                while at < chars.len() && peek(at) != '/' && peek(at) != '\n' {
                    at += if peek(at) == '\\' { 2 } else { 1 };
                }
                at += 1;
                before.push('/');
            }
            c => {
                before.push(c);
                at += 1;
                if c == ')'
                    && before
                        .trim_end_matches(')')
                        .trim_end()
                        .ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$')
                    && let Some((head, inside)) = before.rsplit_once('(')
                    && head.trim_end().ends_with("system")
                    && !inside.contains('"')
                {
                    calls.push(call("system", vec![unknown()]));
                }
            }
        }
    }
    calls
}

fn awk_string(before: &str, string: &str, after: &str, calls: &mut Vec<Call>) {
    let before = before.trim_end();
    // A string that goes on with something is known only in its beginning.
    let whole = after.is_empty() || after.starts_with([')', '}', ';', '\n', '|', ',']);
    let argument = if whole { value(string) } else { value(&format!("{string}{}", super::HOLE)) };
    if before.strip_suffix('(').is_some_and(|head| head.trim_end().ends_with("system")) {
        calls.push(call("system", vec![argument]));
    } else if before.ends_with('|')
        || before.ends_with("|&")
        || after.starts_with('|') && after.trim_start_matches(['|', '&']).trim_start().starts_with("getline")
    {
        calls.push(call("pipe", vec![argument]));
    } else if before.ends_with('>') && before.contains("print") {
        calls.push(call("write", vec![argument]));
    }
}

/// sed: the `e` and `w` commands and flags.
pub fn sed(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    for line in text.lines() {
        sed_line(line, &mut calls);
    }
    calls
}

fn sed_line(line: &str, calls: &mut Vec<Call>) {
    let chars: Vec<char> = line.chars().collect();
    let peek = |at: usize| chars.get(at).copied().unwrap_or('\0');
    let rest =
        |at: usize| -> String { chars.get(at..).unwrap_or_default().iter().collect::<String>().trim().to_owned() };
    let mut at = 0;
    while at < chars.len() {
        // Addresses: numbers, `$`, `/re/`, `\cREc`, ranges, `!`.
        loop {
            match peek(at) {
                c if c.is_whitespace()
                    || c.is_ascii_digit()
                    || matches!(c, '$' | ',' | '!' | '~' | '+' | '{' | '}' | ';') =>
                {
                    at += 1
                }
                '/' => at = past(&chars, at + 1, '/'),
                '\\' if at + 1 < chars.len() => at = past(&chars, at + 2, peek(at + 1)),
                'I' | 'M' if at > 0 && peek(at - 1) == '/' => at += 1,
                _ => break,
            }
            if at >= chars.len() {
                return;
            }
        }
        match peek(at) {
            'e' => {
                let command = rest(at + 1);
                let argument = if command.is_empty() { unknown() } else { value(&command) };
                calls.push(call("exec", vec![argument]));
                return;
            }
            'w' | 'W' => {
                calls.push(call("write", vec![value(&rest(at + 1))]));
                return;
            }
            'r' | 'R' => {
                calls.push(call("read", vec![value(&rest(at + 1))]));
                return;
            }
            's' => {
                let mark = peek(at + 1);
                at = past(&chars, past(&chars, at + 2, mark), mark);
                while at < chars.len() && (peek(at).is_ascii_alphanumeric()) {
                    match peek(at) {
                        'e' => calls.push(call("exec", vec![unknown()])),
                        'w' => {
                            calls.push(call("write", vec![value(&rest(at + 1))]));
                            return;
                        }
                        _ => {}
                    }
                    at += 1;
                }
            }
            'y' => {
                let mark = peek(at + 1);
                at = past(&chars, past(&chars, at + 2, mark), mark);
            }
            // Text and labels go on to the end of the line.
            'a' | 'i' | 'c' | ':' | 'b' | 't' | 'T' | '#' => return,
            _ => at += 1,
        }
    }
}

/// The place behind the next unescaped `mark`.
fn past(chars: &[char], mut at: usize, mark: char) -> usize {
    let mut class = false;
    while let Some(c) = chars.get(at) {
        match *c {
            '\\' => at += 1,
            '[' => class = true,
            ']' => class = false,
            c if c == mark && (!class || mark != '/') => return at + 1,
            _ => {}
        }
        at += 1;
    }
    chars.len()
}

/// redis: one command a line; its words are the arguments.
pub fn redis(text: &str) -> Vec<Call> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let callee = words.next()?.trim_matches('"').to_ascii_lowercase();
            Some(Call { callee, args: words.map(|word| value(word.trim_matches('"'))).collect() })
        })
        .collect()
}
