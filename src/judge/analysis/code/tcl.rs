//! Tcl and Expect: commands that run programs or delete files.

use super::{Call, HOLE, value};

/// Reads a script: all commands, those in braces and brackets too.
pub fn read(text: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let shells = ["sh", "bash", "zsh", "dash", "ksh", "fish"];
    let mut shell = false;
    for words in commands(text) {
        if let [spawn, program, ..] = words.as_slice()
            && spawn == "spawn"
        {
            shell |= shells.contains(&program.rsplit('/').next().unwrap_or_default());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Options stand in front, and `--` ends them.
        let plain = |words: &[&str]| {
            let options = words.iter().take_while(|word| **word == "-force").count();
            let rest = words.get(options..).unwrap_or_default();
            rest.strip_prefix(&["--"]).unwrap_or(rest).iter().map(|word| value(word)).collect()
        };
        let all = |words: &[&str]| words.iter().map(|word| value(word)).collect();
        let (callee, args) = match words.as_slice() {
            ["exec" | "spawn", rest @ ..] => {
                let options = rest.iter().take_while(|word| word.starts_with('-')).count();
                ("exec", all(rest.get(options..).unwrap_or_default()))
            }
            ["list", "exec", rest @ ..] => ("exec", all(rest)),
            // What is typed into a shell that was started.
            ["send", rest @ ..] if shell => {
                let line = rest.last().copied().unwrap_or_default();
                let line = line.strip_suffix('r').unwrap_or(line);
                ("system", vec![value(line)])
            }
            ["system", rest @ ..] => ("system", vec![value(&rest.join(" "))]),
            ["open", pipe, ..] if pipe.starts_with('|') => ("system", vec![value(pipe.trim_start_matches('|'))]),
            ["open", file, mode, ..] if mode.contains(['w', 'a', '+']) => ("write", vec![value(file)]),
            ["file", "delete", rest @ ..] => ("delete", plain(rest)),
            _ => continue,
        };
        calls.push(Call::new(callee.to_owned(), args));
    }
    calls
}

/// The words of each command; a variable or a command in a word is a hole.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    let finish = |word: &mut Option<String>, all: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(words)) = (word.take(), all.last_mut()) {
            words.push(word);
        }
    };
    while let Some(c) = letters.next() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            '$' => {
                while letters.peek().is_some_and(|c| c.is_alphanumeric() || *c == '_' || *c == ':') {
                    letters.next();
                }
                word.get_or_insert_default().push_str(HOLE);
            }
            '\n' | ';' | '{' | '}' | '[' | ']' if !quoted => {
                finish(&mut word, &mut all);
                all.push(Vec::new());
            }
            c if c.is_whitespace() && !quoted => finish(&mut word, &mut all),
            c => word.get_or_insert_default().push(c),
        }
    }
    finish(&mut word, &mut all);
    all
}
