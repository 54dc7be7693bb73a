//! Commands of editors, debuggers and consoles that run programs: `:!cmd`, `shell cmd`, `!cmd`.

use super::scan::{Token, tokens};
use super::{Call, Language, Slice, Text, value};
use crate::judge::rules::word_lists;

/// Maximum number of commands in one line that are joined by bars.
const MAX_BARS: usize = 16;

fn call<'t>(callee: &str, text: impl Into<Slice<'t>>) -> Call {
    Call::new(callee.to_owned(), vec![value(text)])
}

/// Parses commands of vi, ex and ed, and of other programs in which `!` begins a shell command, one per line.
pub fn ex(text: Slice<'_>, home: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut emptied = false;
    for line in text.lines() {
        ex_line(line, MAX_BARS, &mut calls);
        let line = line.trim();
        emptied |= deletes_all(line.rough());
        // The file is now saved without lines.
        if emptied && matches!(line.rough().trim_end_matches('!'), "w" | "wq" | "x" | "W") {
            calls.push(Call::new("empties".to_owned(), Vec::new()));
            emptied = false;
        }
    }
    for value in calls.iter_mut().filter(|call| call.callee != "exec").flat_map(|call| &mut call.args) {
        let rest = value
            .known()
            .and_then(|text| ["~/", "$HOME/"].iter().find_map(|front| text.strip_prefix(front)).map(str::to_owned));
        if let Some(rest) = rest {
            *value = super::value(&format!("{home}/{rest}"));
        }
    }
    calls
}

/// Reports whether a command of ed deletes every line. For vi, the arguments with the commands are examined.
fn deletes_all(line: &str) -> bool {
    matches!(line, ",d" | "1,$d" | "g/./d" | "g/^/d" | "g/.*/d")
}

fn ex_line(text: Slice<'_>, bars: usize, calls: &mut Vec<Call>) {
    // A part of the line as written.
    let at = |cut| text.part(cut);
    let mut line = text.rough().trim_start_matches(|c: char| c == ':' || c.is_whitespace());
    // A range: `%`, `1,$`, `.`, `'<,'>`.
    line = line.trim_start_matches(|c: char| "%.$,;'<>+-".contains(c) || c.is_ascii_digit());
    while let Some(rest) = word_lists::EX_MODIFIERS.iter().find_map(|word| line.strip_prefix(word)) {
        line = rest.trim_start_matches(|c: char| c == ':' || c.is_whitespace());
    }
    if let Some(command) = line.strip_prefix('!') {
        calls.push(call("exec", at(command.trim_start_matches('!').trim())));
        return;
    }
    let (word, rest) = line.split_at(line.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(line.len()));
    // `w!` forces writing, `w !cmd` writes to a command.
    let forced = rest.starts_with('!') && word.starts_with(['w', 'W', 's']);
    let rest = rest.trim_start();
    match word {
        "r" | "read" | "w" | "write" | "e" | "W" if rest.starts_with('!') && !forced => {
            calls.push(call("exec", at(rest.trim_start_matches('!'))));
        }
        "w" | "write" | "wq" | "x" | "xit" | "sav" | "saveas" | "W" | "up" | "update" | "redir" => {
            let file = rest.trim_start_matches(['!', ' ']);
            let append = file.starts_with(">>") || word == "W";
            let file = file.trim_start_matches(['>', '!', ' ']).split('|').next().unwrap_or_default().trim();
            if !file.is_empty() && !file.starts_with(['+', '=']) {
                calls.push(call(if append { "append" } else { "write" }, at(file)));
            }
            if bars > 0
                && let Some((_, next)) = rest.split_once('|')
            {
                ex_line(at(next), bars - 1, calls);
            }
        }
        "so" | "source" | "ru" | "runtime" if !rest.is_empty() => {
            let file = rest.trim_start_matches(['!', ' ']);
            calls.push(call(if file.trim_end().ends_with(".lua") { "luafile" } else { "source" }, at(file)));
        }
        "luaf" | "luafile" => calls.push(call("luafile", at(rest))),
        "pyf" | "pyfile" | "py3f" | "py3file" | "pyxf" | "pyxfile" => calls.push(call("pyfile", at(rest))),
        "rubyf" | "rubyfile" => calls.push(call("rubyfile", at(rest))),
        "e" | "edit" | "sp" | "vs" | "tabe" | "tabedit" if !rest.is_empty() => {
            let file = rest.trim_start_matches(['!', ' ']).split('|').next().unwrap_or_default().trim();
            calls.push(call("append", at(file)));
        }
        "r" | "read" if !rest.is_empty() => calls.push(call("read", at(rest))),
        "terminal" | "term" | "te" | "ter" => calls.push(call("exec", at(rest.trim_start_matches("++")))),
        "lua" | "perl" | "ruby" | "tcl" if !rest.is_empty() => calls.push(call(word, at(rest))),
        "py" | "py3" | "python" | "python3" | "pyx" | "pythonx" => calls.push(call("python", at(rest))),
        // `autocmd Event pattern command`
        "au" | "autocmd" if bars > 0 => {
            let command = rest.splitn(3, char::is_whitespace).nth(2).unwrap_or_default();
            ex_line(at(command), bars - 1, calls);
        }
        "se" | "set" | "setl" | "setlocal" | "setg" | "setglobal" => {
            if let Some(command) = program_of_option(rest) {
                calls.push(Call::new("exec".to_owned(), vec![value(&command)]));
            }
        }
        "norm" | "normal" if bars > 0 => {
            if let Some((_, keys)) = rest.split_once(':') {
                let end =
                    [r"\<", "<cr>", "<CR>", "\r"].iter().filter_map(|key| keys.find(key)).min().unwrap_or(keys.len());
                ex_line(at(keys.get(..end).unwrap_or(keys)), bars - 1, calls);
            }
        }
        "mk" | "mks" | "mksession" | "mkv" | "mkvimrc" | "mkvie" | "mkview" | "mkexrc" | "wv" | "wviminfo" | "wsh"
        | "wshada" | "wundo" => {
            // Without `!` an existing file is an error.
            if let Some(file) = rest.strip_prefix('!').map(str::trim).filter(|file| !file.is_empty()) {
                calls.push(call("write", at(file)));
            }
        }
        "exe" | "execute" => {
            for token in tokens(Language::Other, at(rest)) {
                if let (Token::Text(inner), true) = (token, bars > 0) {
                    ex_line(inner.slice(), bars - 1, calls);
                }
            }
        }
        "call" | "echo" | "echom" | "let" | "put" | "if" | "eval" => {
            named_calls(at(rest), &word_lists::VIM_RUNNING_FUNCTIONS, "exec", 0, calls);
            named_calls(at(rest), &["libcall", "libcallnr"], "load-library", 0, calls);
            named_calls(at(rest), &["delete"], "delete", 0, calls);
            named_calls(at(rest), &["writefile", "rename"], "write", usize::MAX, calls);
            named_calls(at(rest), &["readfile"], "read", 0, calls);
        }
        _ => {
            if bars > 0
                && let Some((_, next)) = line.split_once('|')
            {
                ex_line(at(next), bars - 1, calls);
            }
        }
    }
}

/// Returns calls of these functions as calls with another name and one of their strings: that at this position, or the
/// last.
fn named_calls(text: Slice<'_>, names: &[&str], callee: &str, place: usize, calls: &mut Vec<Call>) {
    let tokens = tokens(Language::Other, text);
    for (index, token) in tokens.iter().enumerate() {
        let Token::Name(name) = token else { continue };
        if !names.contains(&name.as_str()) {
            continue;
        }
        let inside = tokens.iter().skip(index + 1).take_while(|token| **token != Token::Mark(')'));
        let mut texts: Vec<Text> = Vec::new();
        let mut joins = false;
        for token in inside.take(12) {
            match (token, texts.last_mut()) {
                // `$HOME."/x"`
                (Token::Text(text), Some(last)) if joins => last.push_text(text),
                (Token::Text(text), _) => texts.push(text.clone()),
                (Token::Name(text), _) => texts.push(text.as_str().into()),
                _ => {}
            }
            joins = *token == Token::Mark('.');
        }
        if let Some(text) = texts.get(place.min(texts.len().saturating_sub(1))) {
            calls.push(call(callee, text));
        }
    }
}

/// Parses commands of gdb and lldb.
pub fn gdb(text: Slice<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    for line in text.lines() {
        let at = |cut| line.part(cut);
        let line = line.rough().trim();
        let line = line.strip_prefix("platform ").unwrap_or(line);
        if let Some(command) = line.strip_prefix('!') {
            calls.push(call("exec", at(command.trim())));
            continue;
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "shell" => calls.push(call("exec", at(rest))),
            "make" => calls.push(call("exec", at(line))),
            "python" | "py" | "python-interactive" | "pi" | "script" => calls.push(call("python", at(rest))),
            "guile" | "gu" => calls.push(call("guile", at(rest))),
            "target" => {
                if let Some((_, command)) = rest.split_once('|') {
                    calls.push(call("exec", at(command.trim())));
                }
            }
            "generate-core-file" | "gcore" if !rest.is_empty() => calls.push(call("write", at(rest.trim()))),
            "plugin" => {
                let (_, file) =
                    rest.split_once(char::is_whitespace).filter(|(how, _)| *how == "load").unwrap_or_default();
                calls.extend((!file.is_empty()).then(|| call("load-library", at(file.trim()))));
            }
            // The program is started with this variable.
            "set" => {
                let setting = rest
                    .split_once(char::is_whitespace)
                    .filter(|(what, _)| "environment".starts_with(*what) && what.len() > 2);
                let pair =
                    setting.and_then(|(_, pair)| pair.trim().split_once(|c: char| c == '=' || c.is_whitespace()));
                if let Some((name, value)) = pair {
                    let value = value.trim_start_matches(['=', ' ']);
                    calls.push(call("set-variable", &Text::joined([at(name.trim()), "=".into(), at(value)])));
                }
            }
            "pipe" | "|" => {
                if let Some((_, command)) = rest.rsplit_once('|') {
                    calls.push(call("exec", at(command.trim())));
                }
            }
            _ => {}
        }
        if matches!(word, "call" | "print" | "p" | "expr" | "expression" | "compile" | "output") {
            named_calls(at(rest), &["system", "popen", "execl", "execlp", "execve", "execv"], "exec", 0, &mut calls);
            named_calls(at(rest), &["unlink", "remove", "rmdir", "truncate"], "delete", 0, &mut calls);
        }
        debugger_file(line, at, &mut calls);
    }
    calls
}

/// Adds the call of a debugger's command of several words that names a file or a program as its last or next word.
fn debugger_file<'t>(line: &'t str, at: impl Fn(&'t str) -> Slice<'t>, calls: &mut Vec<Call>) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (callee, file) = match words.as_slice() {
        ["source", "-v" | "-s" | "-sv", file] | ["source", file] | ["command", "source", .., file] => ("source", *file),
        ["command", "script", "import", .., file] => ("pyfile", *file),
        ["set", "exec-wrapper", _, ..] => ("exec", line.split_once("exec-wrapper").map_or("", |(_, rest)| rest.trim())),
        ["set", "logging", "file", file] | ["save", "breakpoints" | "gdb-index" | "tracepoints", file] => {
            ("write", *file)
        }
        ["breakpoint", "write", "-f" | "--file", file, ..] | ["process", "save-core", .., file] => ("write", *file),
        ["settings", "write", .., file] | ["session", "save", file] => ("write", *file),
        ["dump", "binary" | "ihex" | "srec" | "tekhex" | "verilog", "value" | "memory", file, ..]
        | ["dump", "value" | "memory", file, ..] => ("write", *file),
        ["memory", "read", .., "-o" | "--outfile", file] => ("write", *file),
        _ => return,
    };
    let name = if callee == "source" && file.ends_with(".py") { "pyfile" } else { callee };
    calls.push(call(name, at(file)));
}

/// Returns the value of an option of vi that names a program, with its escaped blanks.
fn program_of_option(setting: &str) -> Option<String> {
    let (name, value) = setting.trim_start().split_once(['=', ':'])?;
    let name = name.trim_end_matches(['+', '^']);
    (word_lists::VIM_PROGRAM_OPTIONS.contains(&name) && !value.is_empty()).then(|| {
        let mut command = String::new();
        let mut letters = value.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => command.extend(letters.next()),
                ' ' | '|' => break,
                _ => command.push(letter),
            }
        }
        command
    })
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
