//! sed and redis: what they run and write.

use super::{Call, unknown, value};
use crate::judge::facts::act::Value;

fn call(callee: &str, args: Vec<Value>) -> Call {
    Call::new(callee.to_owned(), args)
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
            Some(Call::new(callee, words.map(|word| value(word.trim_matches('"'))).collect()))
        })
        .collect()
}
