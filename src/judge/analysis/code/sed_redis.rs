//! sed and redis: the commands that they run and the files that they write.

use super::{Call, Slice, Text, TextItem, unknown, value};
use crate::judge::analysis::act::Value;

fn call(callee: &str, args: Vec<Value>) -> Call {
    Call::new(callee.to_owned(), args)
}

/// Parses sed: the `e` and `w` commands and flags.
pub fn sed(text: Slice<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    // The text of `a`, `i` and `c` continues while its lines end in a backslash.
    let mut inside = false;
    for line in text.lines() {
        let goes_on = || line.rough().bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
        inside = if inside { goes_on() } else { sed_line(line, &mut calls) && goes_on() };
    }
    calls
}

/// Parses a line. Returns whether it ends in the text of `a`, `i` or `c`.
fn sed_line(line: Slice<'_>, calls: &mut Vec<Call>) -> bool {
    let signs: Vec<TextItem> = line.signs().collect();
    let chars: Vec<char> = signs.iter().map(|sign| sign.letter()).collect();
    let peek = |at: usize| chars.get(at).copied().unwrap_or('\0');
    let rest = |at: usize| -> Text {
        let rest: Text = signs.get(at..).unwrap_or_default().iter().copied().collect();
        rest.slice().trim().into()
    };
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
                return false;
            }
        }
        match peek(at) {
            'e' => {
                let command = rest(at + 1);
                let argument = if command.is_empty() { unknown() } else { value(&command) };
                calls.push(call("exec", vec![argument]));
                return false;
            }
            'w' | 'W' => {
                calls.push(call("write", vec![value(&rest(at + 1))]));
                return false;
            }
            'r' | 'R' => {
                calls.push(call("read", vec![value(&rest(at + 1))]));
                return false;
            }
            's' => {
                let mark = peek(at + 1);
                at = past(&chars, past(&chars, at + 2, mark), mark);
                while at < chars.len() && (peek(at).is_ascii_alphanumeric()) {
                    match peek(at) {
                        'e' => calls.push(call("exec", vec![unknown()])),
                        'w' => {
                            calls.push(call("write", vec![value(&rest(at + 1))]));
                            return false;
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
            // Text and labels extend to the end of the line.
            'a' | 'i' | 'c' => return true,
            ':' | 'b' | 't' | 'T' | '#' => return false,
            _ => at += 1,
        }
    }
    false
}

/// Returns the position after the next unescaped `mark`.
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

/// Parses redis: one command per line, whose words are the arguments.
pub fn redis(text: Slice<'_>) -> Vec<Call> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.rough().split_whitespace();
            let callee = words.next()?.trim_matches('"').to_ascii_lowercase();
            Some(Call::new(callee, words.map(|word| value(line.part(word.trim_matches('"')))).collect()))
        })
        .collect()
}
