//! Tcl and Expect: commands that run programs or delete files.

use super::{Call, Gap, Slice, Text, TextItem, value};
use crate::judge::rules::word_lists;

/// Parses a script: all commands, including those in braces and brackets.
pub fn read(text: Slice<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    let shells = ["sh", "bash", "zsh", "dash", "ksh", "fish"];
    let mut shell = false;
    for mut words in commands(text) {
        // Commands that run their arguments.
        if words.first().is_some_and(|word| *word == "eval" || *word == "catch") {
            words.remove(0);
        }
        if let [spawn, program, ..] = words.as_slice()
            && *spawn == "spawn"
        {
            shell |= shells.contains(&program.rough().rsplit('/').next().unwrap_or_default());
        }
        let rough: Vec<&str> = words.iter().map(Text::rough).collect();
        // The words after this number of words.
        let behind = |count: usize| words.get(count..).unwrap_or_default();
        // Options come first, and `--` ends them.
        let plain = |words: &[Text]| {
            let options = words.iter().take_while(|word| **word == "-force").count();
            let ended = words.get(options).is_some_and(|word| *word == "--");
            words.iter().skip(options + usize::from(ended)).map(value).collect()
        };
        let all = |words: &[Text]| words.iter().map(value).collect();
        let (callee, args) = match (rough.as_slice(), words.as_slice()) {
            (["exec" | "spawn", rest @ ..], _) => {
                let options = rest.iter().take_while(|word| word.starts_with('-')).count();
                ("exec", all(behind(1 + options)))
            }
            (["list", "exec", ..], _) => ("exec", all(behind(2))),
            // Input for a shell that was started.
            (["send", ..], _) if shell => {
                let line = behind(1).last().map(Text::slice).unwrap_or_default();
                ("system", vec![value(line.cut(|line| line.strip_suffix('r').unwrap_or(line)))])
            }
            (["system", ..], [_, first, rest @ ..]) => {
                let rest = rest.iter().flat_map(|word| [Slice::from(" "), word.slice()]);
                ("system", vec![value(&Text::joined(std::iter::once(first.slice()).chain(rest)))])
            }
            (["open", rough, ..], [_, pipe, ..]) if rough.starts_with('|') => {
                ("system", vec![value(pipe.slice().cut(|pipe| pipe.trim_start_matches('|')))])
            }
            (["open", _, mode, ..], [_, file, ..]) if mode.contains(['w', 'a', '+']) => ("write", vec![value(file)]),
            (["file", what, ..], _) if let Some(callee) = on_files(what) => (callee, plain(behind(2))),
            (["load", ..], _) => ("load", all(behind(1))),
            _ => continue,
        };
        calls.push(Call::new(callee.to_owned(), args));
    }
    calls
}

/// Returns the name of the call for a command on files.
fn on_files(command: &str) -> Option<&'static str> {
    let named = word_lists::TCL_FILE_COMMANDS.iter().find(|(name, _)| *name == command);
    named.map(|(_, callee)| *callee)
}

/// Returns the words of each command. A variable or a command in a word is a gap.
fn commands(text: Slice<'_>) -> Vec<Vec<Text>> {
    let mut all = vec![Vec::new()];
    let mut word: Option<Text> = None;
    let mut quoted = false;
    let signs: Vec<TextItem> = text.signs().collect();
    let mut signs = signs.iter().copied().peekable();
    let finish = |word: &mut Option<Text>, all: &mut Vec<Vec<Text>>| {
        if let (Some(word), Some(words)) = (word.take(), all.last_mut()) {
            words.push(word);
        }
    };
    while let Some(sign) = signs.next() {
        match sign.letter() {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => word.get_or_insert_default().extend(signs.next()),
            '$' => {
                let names = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
                while signs.peek().is_some_and(|sign| names(sign.letter())) {
                    signs.next();
                }
                word.get_or_insert_default().push_gap(Gap::Value);
            }
            // `{*}[…]`: each element is a separate word.
            '{' if !quoted && signs.clone().map(TextItem::letter).take(2).eq("*}".chars()) => {
                signs.nth(1);
            }
            '\n' | ';' | '{' | '}' | '[' | ']' if !quoted => {
                // The result of a command in brackets is an argument.
                if sign.letter() == '[' {
                    word.get_or_insert_default().push_gap(Gap::Value);
                }
                finish(&mut word, &mut all);
                all.push(Vec::new());
            }
            c if c.is_whitespace() && !quoted => finish(&mut word, &mut all),
            _ => word.get_or_insert_default().push(sign),
        }
    }
    finish(&mut word, &mut all);
    all
}
