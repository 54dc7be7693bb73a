//! Statements that run shell commands, in m4, AppleScript and IPython.

use super::scan::{Token, tokens};
use super::{Call, Language, Slice, Text, value};

fn call<'t>(callee: &str, text: impl Into<Slice<'t>>) -> Call {
    Call::new(callee.to_owned(), vec![value(text)])
}

/// Parses m4: the arguments of `syscmd` and `esyscmd`, and of the names that Autoconf gives them (`m4_esyscmd_s`), with
/// the quotes `[` and `]`.
pub fn m4(text: Slice<'_>) -> Vec<Call> {
    let command = |(at, name): (usize, &str)| {
        let rest = text.rough().get(at + name.len()..)?;
        let rest = rest.strip_prefix("_s").unwrap_or(rest).strip_prefix('(')?;
        let inside = match rest.strip_prefix('[') {
            Some(quoted) => quoted.split_once("])")?.0,
            None => rest.split_once(')')?.0,
        };
        Some(call("exec", text.part(inside.trim_matches(['`', '\'', '"', ' ']))))
    };
    text.rough().match_indices("syscmd").filter_map(command).collect()
}

/// Parses `do shell script "…"`, and `do script "…"` of the Terminal, in AppleScript and in JavaScript for Automation.
pub fn applescript(text: Slice<'_>) -> Vec<Call> {
    let tokens = tokens(Language::Other, text);
    let words = |at: usize, wanted: &[&str]| {
        wanted.iter().enumerate().all(|(index, word)| {
            matches!(tokens.get(at + index), Some(Token::Name(name)) if name.eq_ignore_ascii_case(word))
        })
    };
    let text_behind = |at: usize| {
        tokens.iter().skip(at).take(2).find_map(|token| match token {
            Token::Text(text) => Some(call("exec", text)),
            _ => None,
        })
    };
    let starts: [&[&str]; 4] = [&["do", "shell", "script"], &["do", "script"], &["doShellScript"], &["doScript"]];
    let begins = |at: usize| starts.into_iter().find(|start| words(at, start));
    (0..tokens.len()).filter_map(|at| text_behind(at + begins(at)?.len())).collect()
}

/// Parses Python with lines for a shell: `!cmd`, `%sx cmd`, `%%bash`.
pub fn ipython(text: Slice<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut rest = Text::default();
    let mut cell: Option<Text> = None;
    for line in text.lines() {
        if let Some(cell) = &mut cell {
            cell.push_text(line);
            cell.push_text("\n");
            continue;
        }
        let trimmed = line.rough().trim_start();
        let shell = ["!!", "!", "%sx ", "%system ", "%sc "].iter().find_map(|mark| trimmed.strip_prefix(mark));
        if let Some(command) = shell {
            calls.push(call("exec", line.part(command)));
        } else if ["%%bash", "%%sh", "%%script"].iter().any(|mark| trimmed.starts_with(mark)) {
            cell = Some(Text::default());
        } else {
            rest.push_text(line);
            rest.push_text("\n");
        }
    }
    if let Some(cell) = cell {
        calls.push(call("exec", &cell));
    }
    if !rest.slice().trim().is_empty() {
        calls.push(call("python", &rest));
    }
    calls
}
