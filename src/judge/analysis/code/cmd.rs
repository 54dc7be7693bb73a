//! cmd: the commands of a line, without carets, including those after `if` and `for`.

use super::windows::{MAX_DEPTH, argument, run, variable};
use super::{Call, Gap, Slice, Text, TextItem};
use crate::judge::rules::word_lists;

/// Parses a line as cmd does.
pub fn read(text: Slice<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    for words in commands(text) {
        command(&words, 0, &mut calls);
    }
    calls
}

/// Splits a line into commands, and these into words.
fn commands(text: Slice<'_>) -> Vec<Vec<Text>> {
    let signs: Vec<TextItem> = text.signs().collect();
    let chars: Vec<char> = signs.iter().map(|sign| sign.letter()).collect();
    let mut all = vec![Vec::new()];
    let mut word: Option<Text> = None;
    let mut quoted = false;
    let mut at = 0;
    while let Some(c) = chars.get(at).copied() {
        at += 1;
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '^' if !quoted => {
                if let Some(next) = signs.get(at) {
                    if *next != TextItem::Letter('\n') {
                        word.get_or_insert_default().push(*next);
                    }
                    at += 1;
                }
            }
            '%' | '!' => {
                let rest = chars.get(at..).unwrap_or_default();
                let end = rest.iter().position(|end| *end == c);
                let name: Option<String> = end.map(|end| rest.iter().take(end).collect());
                match name.filter(|name| !name.is_empty() && !name.contains([' ', '"', '\n'])) {
                    Some(name) => {
                        at += name.chars().count() + 1;
                        let name = name.split(':').next().unwrap_or_default();
                        word.get_or_insert_default().push_text(&variable(name));
                    }
                    // `%1`, `%~dp0`, `%i` of a loop.
                    None if c == '%' => {
                        while chars.get(at).is_some_and(|c| c.is_ascii_alphanumeric() || "~%*".contains(*c)) {
                            at += 1;
                        }
                        word.get_or_insert_default().push_gap(Gap::Value);
                    }
                    None => word.get_or_insert_default().push(TextItem::Letter(c)),
                }
            }
            // The list of a loop is not a command.
            '(' if !quoted && in_loop(&all, word.as_ref()) => {
                while chars.get(at).is_some_and(|c| *c != ')') {
                    at += 1;
                }
                at += 1;
            }
            '&' | '|' | '\n' | '(' | ')' if !quoted => {
                end_word(&mut all, &mut word);
                all.push(Vec::new());
            }
            '>' | '<' if !quoted => {
                // The number in `2>` is a descriptor and not an argument.
                let names = |word: &Text| word.len() == 1 && word.rough().starts_with(|c: char| c.is_ascii_digit());
                if word.as_ref().is_some_and(names) {
                    word = None;
                }
                end_word(&mut all, &mut word);
                let mut mark = c.to_string();
                if chars.get(at) == Some(&'>') {
                    mark.push('>');
                    at += 1;
                }
                if chars.get(at) == Some(&'&') {
                    at += 2;
                    continue;
                }
                word = Some(mark.into());
                end_word(&mut all, &mut word);
            }
            // A switch begins a new word: `del/s/q`.
            '/' if !quoted
                && word.as_ref().is_none_or(|word| {
                    word.rough().starts_with('/') && word.len() <= 3 || is_builtin(word.rough())
                }) =>
            {
                end_word(&mut all, &mut word);
                word = Some("/".into());
            }
            ' ' | '\t' | '\r' | ',' | ';' if !quoted => end_word(&mut all, &mut word),
            '=' if !quoted && word.is_none() => {}
            _ => word.get_or_insert_default().extend(signs.get(at - 1).copied()),
        }
    }
    end_word(&mut all, &mut word);
    all.retain(|words| !words.is_empty());
    all
}

fn end_word(all: &mut [Vec<Text>], word: &mut Option<Text>) {
    if let (Some(word), Some(words)) = (word.take(), all.last_mut()) {
        words.push(word);
    }
}

/// Reports whether the line so far is `for %i in`.
fn in_loop(all: &[Vec<Text>], word: Option<&Text>) -> bool {
    let words = all.last().map(Vec::as_slice).unwrap_or_default();
    let last = word.or(words.last());
    last.is_some_and(|word| word.rough().eq_ignore_ascii_case("in"))
        && words.first().is_some_and(|first| first.rough().trim_start_matches('@').eq_ignore_ascii_case("for"))
}

fn is_builtin(word: &str) -> bool {
    word_lists::CMD_BUILTINS.contains(&word.trim_start_matches('@').to_ascii_lowercase().as_str())
}

fn command(words: &[Text], depth: usize, calls: &mut Vec<Call>) {
    if depth > MAX_DEPTH {
        calls.push(Call::new("unknown".to_owned(), Vec::new()));
        return;
    }
    let (words, files) = redirected(words);
    for (callee, file) in files {
        calls.push(Call::new(callee.to_owned(), vec![argument(file, "~")]));
    }
    let Some((first, rest)) = words.split_first() else { return };
    let name = first.rough().trim_start_matches('@').to_ascii_lowercase();
    let texts = |words: &[&Text]| -> Vec<Text> { words.iter().map(|word| (*word).clone()).collect() };
    match name.as_str() {
        // The command is in the following words.
        "" | "call" => command(&texts(rest), depth + 1, calls),
        "start" => {
            let skip = |word: &&&Text| word.rough().starts_with('/') || word.is_empty() || word.rough().contains(' ');
            let rest: Vec<&Text> = rest.iter().skip_while(|word| skip(word)).copied().collect();
            command(&texts(&rest), depth + 1, calls);
        }
        "for" => {
            if let Some(at) = rest.iter().position(|word| word.rough().eq_ignore_ascii_case("do")) {
                command(&texts(rest.get(at + 1..).unwrap_or_default()), depth + 1, calls);
            }
        }
        "do" | "else" => command(&texts(rest), depth + 1, calls),
        "if" => {
            let asks = |word: &&&Text| ["/i", "not"].iter().any(|one| word.rough().eq_ignore_ascii_case(one));
            let rest: Vec<&Text> = rest.iter().skip_while(asks).copied().collect();
            let skip = match rest.first().map(|word| word.rough().to_ascii_lowercase()).as_deref() {
                Some("exist" | "defined" | "errorlevel") => 2,
                Some(word) if word.contains("==") => 1,
                _ => 3,
            };
            command(&texts(rest.get(skip..).unwrap_or_default()), depth + 1, calls);
        }
        "rem" | "::" => {}
        builtin if word_lists::CMD_BUILTINS.contains(&builtin) => {
            let args = rest.iter().map(|word| match word.slice().find(|word| word.strip_prefix('/')) {
                Some(switch) if !switch.rough().contains('/') => {
                    let given =
                        |sign: TextItem| if sign == TextItem::Letter(':') { TextItem::Letter('=') } else { sign };
                    let switch: Text = Text::from(switch).to_lower().slice().signs().map(given).collect();
                    super::value(&Text::joined(["--".into(), switch.slice()])).into_option()
                }
                _ => argument(*word, "~"),
            });
            calls.push(Call::new(builtin.to_owned(), args.collect()));
        }
        _ if first.rough().starts_with('\0') => calls.push(Call::new("unknown".to_owned(), Vec::new())),
        _ => calls.push(run(words.iter().map(|word| word.slice()))),
    }
}

/// Returns the words without redirections, and the target of the output.
fn redirected(words: &[Text]) -> (Vec<&Text>, Vec<(&'static str, &Text)>) {
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let callee = match word.rough() {
            ">" => "write",
            ">>" => "append",
            "<" => "read",
            _ => {
                kept.push(word);
                continue;
            }
        };
        if let Some(file) = rest.next().filter(|file| !file.rough().eq_ignore_ascii_case("nul")) {
            files.push((callee, file));
        }
    }
    (kept, files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<String> {
        let args = |call: &Call| call.args.iter().map(|arg| arg.rough().into_owned()).collect::<Vec<_>>().join(", ");
        read(text.into()).iter().map(|call| format!("{}({})", call.callee, args(call))).collect()
    }

    #[test]
    fn commands_and_switches_are_read() {
        assert_eq!(seen(r"del /s /q C:\Users\dev\*"), ["del(--s, --q, /mnt/c/Users/dev/*)"]);
        assert_eq!(seen("del /s /q /mnt/c/x"), ["del(--s, --q, /mnt/c/x)"]);
        assert_eq!(seen(r"rd/s/q C:\x & echo done"), ["rd(--s, --q, /mnt/c/x)", "echo(done)"]);
        assert_eq!(seen("d^e^l x.txt"), ["del(x.txt)"]);
        assert_eq!(seen("format D: /q"), ["run(format D: /q)"]);
        assert_eq!(seen(r#"del "C:\My Files\x""#), ["del(/mnt/c/My Files/x)"]);
    }

    #[test]
    fn commands_behind_other_commands_are_read() {
        assert_eq!(seen("if exist x del x"), ["del(x)"]);
        assert_eq!(seen("for %i in (*.log) do del %i"), ["del(\u{fffc})"]);
        assert_eq!(seen(r#"start "" /b reg delete HKLM\x /f"#), [r"run(reg delete 'HKLM\x' /f)"]);
    }

    #[test]
    fn text_that_is_printed_is_no_command() {
        assert_eq!(seen("echo del /s C:"), ["echo(del, --s, C:)"]);
        assert_eq!(seen("rem del x"), [""; 0]);
    }

    #[test]
    fn files_behind_redirections_are_seen() {
        assert_eq!(seen(r"echo x > C:\a.txt 2>nul"), ["write(/mnt/c/a.txt)", "echo(x)"]);
    }

    #[test]
    fn what_is_nested_without_end_is_said_to_be_unknown() {
        assert_eq!(seen(&"call ".repeat(20_000)), ["unknown()"]);
        assert_eq!(seen(&("(".repeat(20_000) + "del x")), ["del(x)"]);
    }
}
