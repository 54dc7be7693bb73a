//! SQL statements: the verb, the objects, and whether a condition restricts it.

mod blocks;

use super::{Call, Slice, Text, TextItem, client, value};
use crate::judge::analysis::act::Value;
use crate::judge::rules::word_lists;

/// A word, a quoted name, or a punctuation character of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(Text),
    Text(Text),
    Mark(char),
}

/// Parses all statements, and the client commands of `psql`, `mysql` and `sqlite3` (`\!`, `.shell`, `system`).
pub fn read(text: Slice<'_>) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut rest = Text::default();
    // Whether a statement continues in the next line.
    let mut open = false;
    for line in text.lines() {
        let (trimmed, at) = (line.rough().trim(), |cut| line.part(cut));
        // Within a statement these words may be names of columns.
        if let Some(command) = client::shell_words(trimmed).filter(|_| !open) {
            calls.push(Call::new("shell".into(), vec![value(at(command))]));
            continue;
        }
        open = is_open_after(trimmed, open);
        // A client command that differs from a statement only by its backslash.
        if let Some(copy) = trimmed.strip_prefix("\\copy ").filter(|copy| !copy.contains('|')) {
            rest.push_text(&Text::joined(["copy ".into(), at(copy), ";\n".into()]));
            continue;
        }
        // `… \g file`
        if let Some((_, file)) = trimmed.split_once("\\g ").filter(|(_, file)| !file.trim_start().starts_with('|')) {
            calls.push(copy("--to=", at(file.trim())));
        }
        // `source file; drop …`
        if let Some((_, behind)) = trimmed.split_once(';').filter(|(first, _)| client::includes(first)) {
            rest.push_text(at(behind));
            rest.push_text("\n");
        }
        match client::meta(at(trimmed)) {
            Some(call) => calls.push(call),
            // A command of the client ends with its line (`.timeout 1000`, `\timing`).
            None if trimmed.starts_with(['.', '\\'])
                && (rest.rough().trim().is_empty() || rest.rough().trim_end().ends_with(';')) => {}
            None => {
                rest.push_text(line);
                rest.push_text("\n");
            }
        }
    }
    for statement in tokens(rest.slice()).split(|token| *token == Token::Mark(';')) {
        calls.extend(read_statement(statement));
    }
    calls
}

/// Reports whether a statement continues after a line; `open`: whether one did before it.
fn is_open_after(line: &str, open: bool) -> bool {
    let is_comment = |text: &str| text.is_empty() || ["--", "#", "/*"].iter().any(|mark| text.starts_with(mark));
    match line.rsplit_once(';') {
        Some((_, tail)) => !is_comment(tail.trim()),
        None => open || !is_comment(line),
    }
}

fn tokens(text: Slice<'_>) -> Vec<Token> {
    let signs: Vec<TextItem> = text.signs().collect();
    let mut all = Vec::new();
    let mut at = 0;
    let peek = |at: usize| signs.get(at).map_or('\0', |sign| sign.letter());
    while at < signs.len() {
        let c = peek(at);
        match c {
            '-' if peek(at + 1) == '-' => {
                while at < signs.len() && peek(at) != '\n' {
                    at += 1;
                }
            }
            '#' => {
                while at < signs.len() && peek(at) != '\n' {
                    at += 1;
                }
            }
            // `/*! … */` of MySQL is code; other comments are skipped.
            '/' if peek(at + 1) == '*' && peek(at + 2) == '!' => {
                at += 3;
                while peek(at).is_ascii_digit() {
                    at += 1;
                }
            }
            '/' if peek(at + 1) == '*' => {
                at += 2;
                while at < signs.len() && !(peek(at) == '*' && peek(at + 1) == '/') {
                    at += 1;
                }
                at += 2;
            }
            '\'' | '"' | '`' => {
                let mut inner = Text::default();
                at += 1;
                while at < signs.len() {
                    if peek(at) == c {
                        if peek(at + 1) != c {
                            break;
                        }
                        at += 1;
                    } else if peek(at) == '\\' && c == '\'' {
                        at += 1;
                    }
                    inner.extend(signs.get(at).copied());
                    at += 1;
                }
                at += 1;
                all.push(if c == '\'' { Token::Text(inner) } else { Token::Word(inner) });
            }
            c if c.is_whitespace() => at += 1,
            _ if is_word(signs.get(at)) => {
                let begin = at;
                while is_word(signs.get(at)) || peek(at) == '.' {
                    at += 1;
                }
                all.push(Token::Word(signs.get(begin..at).unwrap_or_default().iter().copied().collect()));
            }
            c => {
                at += 1;
                all.push(Token::Mark(c));
            }
        }
    }
    all
}

fn is_word(sign: Option<&TextItem>) -> bool {
    sign.is_some_and(|sign| match sign {
        TextItem::Letter(letter) => letter.is_alphanumeric() || matches!(letter, '_' | '$' | '@'),
        TextItem::Gap(_) => true,
    })
}

/// Returns a word in lower case, with a NUL for unknown parts.
fn word(token: Option<&Token>) -> Option<String> {
    match token {
        Some(Token::Word(word)) => Some(word.rough().to_ascii_lowercase()),
        _ => None,
    }
}

fn read_statement(statement: &[Token]) -> Vec<Call> {
    let Some(mut verb) = word(statement.first()) else { return Vec::new() };
    let mut rest = statement.get(1..).unwrap_or_default();
    if verb == "with" || (verb == "explain" && is_switched_on(rest, "analyze")) {
        // Each writing part of a common table expression is a call.
        let all: Vec<Call> = (0..rest.len())
            .filter(|at| {
                word(rest.get(*at))
                    .is_some_and(|word| word_lists::SQL_VERBS.contains(&word.as_str()) && word != "select")
            })
            .flat_map(|at| read_statement(rest.get(at..).unwrap_or_default()))
            .collect();
        if !all.is_empty() {
            return all;
        }
        verb = "select".into();
    }
    // `BEGIN` alone begins a transaction; before statements it begins a block of code.
    if verb == "begin" && blocks::first_inside(rest).is_some() {
        return blocks::step(rest);
    }
    if matches!(
        verb.as_str(),
        "begin" | "start" | "commit" | "rollback" | "explain" | "set" | "use" | "savepoint" | "end"
    ) {
        // `SET PASSWORD`, and `SET GLOBAL general_log_file`: the server writes its log to another file.
        return match (verb.as_str(), files(rest)) {
            ("set", _) if word(rest.first()).as_deref() == Some("password") => {
                vec![call("alter", vec![Value::text("user")])]
            }
            ("set", files) if !files.is_empty() => vec![Call { facts: files, ..call("select-into-file", Vec::new()) }],
            _ => vec![call("session", Vec::new())],
        };
    }
    if let Some(calls) = blocks::made_when_it_runs(&verb, rest) {
        return calls;
    }
    if word_lists::SQL_BLOCK_WORDS.contains(&verb.as_str()) {
        return blocks::step(rest);
    }
    let (mut args, mut facts, mut inside) = (Vec::new(), Vec::new(), Vec::new());
    match verb.as_str() {
        "drop" | "create" | "alter" => {
            let replaces = word(rest.first()).as_deref() == Some("or");
            skip(
                &mut rest,
                &[
                    "or",
                    "replace",
                    "temporary",
                    "temp",
                    "unlogged",
                    "external",
                    "materialized",
                    "unique",
                    "concurrently",
                ],
            );
            let kind = word(rest.first()).unwrap_or_default();
            rest = rest.get(1..).unwrap_or_default();
            let asks = verb == "create" && word(rest.first()).as_deref() == Some("if");
            skip(&mut rest, &["if", "not", "exists", "only", "concurrently"]);
            // A library that becomes part of the server.
            if verb == "create" && (has(rest, "soname") || follows(rest, "language", "c")) {
                return vec![call("load", vec![Value::text("soname"), name(rest)])];
            }
            // What the server runs at a time, or at each change of a table.
            if verb == "create" && word_lists::SQL_ATTACHING_KINDS.contains(&kind.as_str()) {
                inside = blocks::attached(rest);
            }
            args.push(Value::text(kind));
            args.push(name(rest));
            facts.extend((asks || replaces).then(|| Value::text("--replace")));
            if verb == "alter" {
                // ClickHouse deletes and updates rows by altering the table.
                if let [table, Token::Word(change), ..] = rest
                    && let change @ ("delete" | "update") = change.rough().to_ascii_lowercase().as_str()
                    && !matches!(table, Token::Mark(_))
                {
                    return vec![call(change, vec![name(rest)]).saying("--where", narrowed(rest))];
                }
                let drops = has(rest, "drop") || has(rest, "truncate");
                facts.extend(drops.then(|| Value::text("--drop")));
            }
        }
        "delete" => {
            skip(&mut rest, &["low_priority", "quick", "ignore", "from", "only"]);
            args.push(name(rest));
            facts.extend(narrowed(rest).then(|| Value::text("--where")));
        }
        "update" => {
            skip(&mut rest, &["low_priority", "ignore", "only", "or", "replace"]);
            args.push(name(rest));
            facts.extend(narrowed(rest).then(|| Value::text("--where")));
        }
        "truncate" => {
            skip(&mut rest, &["table", "only"]);
            args.push(name(rest));
        }
        "select" | "table" | "values" | "show" | "describe" | "desc" | "list" | "pragma" => {
            let calls_out = [
                "pg_read_file",
                "pg_ls_dir",
                "lo_import",
                "load_file",
                "dblink",
                "pg_terminate_backend",
                "lo_export",
                "pg_read_binary_file",
                "load_extension",
                "writefile",
                "readfile",
                "edit",
                "xp_cmdshell",
                "sys_exec",
                "sys_eval",
                "pg_file_write",
            ];
            for function in calls_out {
                if has(rest, function) {
                    let call = call("function", vec![Value::text(function)]);
                    return vec![Call { facts: files(rest), ..call }];
                }
            }
            if has(rest, "outfile") || has(rest, "dumpfile") {
                return vec![Call { facts: files(rest), ..call("select-into-file", Vec::new()) }];
            }
            // DuckDB and ClickHouse read files as tables.
            facts.extend(files(rest));
            facts.extend(shows_passwords(rest).then(|| Value::text("--secret")));
            verb = "select".into();
        }
        "copy" => {
            args.push(name(rest));
            facts.extend(has(rest, "program").then(|| Value::text("--program")));
            facts.extend(files(rest));
        }
        "grant" | "revoke" | "shutdown" | "kill" | "reset" | "flush" | "purge" | "attach" | "detach" | "load"
        | "call" | "do" | "exec" | "execute" | "vacuum" | "reindex" | "optimize" | "analyze" | "analyse" | "insert"
        | "merge" | "replace" | "rename" | "lock" | "restore" | "backup" | "undrop" | "refresh" | "cluster"
        | "comment" | "reassign" | "import" | "export" | "unload" | "system" | "install" => {
            // ClickHouse writes files and tables of other hosts by inserting into a function.
            if let [Token::Word(_), function, ..] = rest
                && verb == "insert"
                && word(Some(function)).as_deref() == Some("function")
            {
                let after = rest.get(2..).unwrap_or_default();
                let target = after.iter().find_map(|token| match token {
                    Token::Text(target) => Some(fact_of("--to=", target)),
                    _ => None,
                });
                let from = after.iter().position(|token| word(Some(token)).is_some_and(|word| word == "select"));
                facts.extend(target);
                facts.extend(from.map(|at| files(after.get(at..).unwrap_or_default())).unwrap_or_default());
                return vec![Call { facts, ..call("copy", Vec::new()) }];
            }
            skip(&mut rest, &["into", "table", "or", "ignore", "replace", "abort", "overwrite"]);
            if verb == "attach" {
                skip(&mut rest, &["database", "if", "not", "exists"]);
            }
            args.push(name(rest));
            facts.extend(has(rest, "xp_cmdshell").then(|| Value::text("--cmdshell")));
            facts.extend(files(rest));
        }
        // Unknown SQL is not a call.
        _ => return Vec::new(),
    }
    inside.insert(0, Call { facts, ..call(&verb, args) });
    inside
}

/// Reports whether a word is followed by this one, in any place.
fn follows(tokens: &[Token], before: &str, wanted: &str) -> bool {
    let is = |token: &Token, wanted: &str| word(Some(token)).is_some_and(|word| word == wanted);
    tokens.windows(2).any(|pair| matches!(pair, [one, two] if is(one, before) && is(two, wanted)))
}

/// Reports whether a statement reads the passwords of accounts.
fn shows_passwords(tokens: &[Token]) -> bool {
    let all = tokens.first() == Some(&Token::Mark('*'));
    let of = |table: &str| {
        tokens.iter().any(|token| word(Some(token)).is_some_and(|it| it.rsplit('.').next() == Some(table)))
    };
    let of_accounts = of("pg_shadow") || of("pg_authid") || of("sql_logins") || has(tokens, "mysql.user");
    of_accounts && (all || word_lists::SQL_PASSWORD_COLUMNS.iter().any(|column| has(tokens, column)))
}

/// Returns the new table that a statement creates.
pub(super) fn makes(call: &Call) -> Option<String> {
    let text = |at: usize| call.args.get(at).and_then(Value::known);
    let new = call.callee == "create" && text(0)? == "table" && !call.says("--replace");
    text(1).filter(|name| new && !name.is_empty()).map(|name| name.to_ascii_lowercase())
}

/// Returns the table that a statement empties, changes or drops.
pub(super) fn falls_on(call: &Call) -> Option<String> {
    let text = |at: usize| call.args.get(at).and_then(Value::known);
    let name = match call.callee.as_str() {
        "drop" | "alter" if text(0)? == "table" => text(1),
        "delete" | "truncate" | "update" => text(0),
        _ => None,
    };
    name.map(|name| name.to_ascii_lowercase())
}

fn call(callee: &str, args: Vec<Value>) -> Call {
    Call::new(callee.to_owned(), args)
}

/// Creates the call of a copy to or from a file.
pub(super) fn copy<'t>(fact: &'t str, file: impl Into<Slice<'t>>) -> Call {
    Call { facts: vec![fact_of(fact, file)], ..call("copy", Vec::new()) }
}

/// Creates a fact with a value: `--to=FILE`.
pub(super) fn fact_of<'t>(fact: &'t str, says: impl Into<Slice<'t>>) -> Value {
    value(&Text::joined([fact.into(), says.into()]))
}

/// Returns the files that a statement reads and writes: the strings after certain keywords.
fn files(tokens: &[Token]) -> Vec<Value> {
    let mut before = None;
    let mut all = Vec::new();
    for token in tokens {
        match (token, before.as_deref()) {
            (Token::Text(file), Some(word)) if file.rough().contains(['/', '.']) => {
                let option = if word_lists::SQL_WRITING_WORDS.contains(&word) { Some("--to=") } else { None };
                let option = option.or(word_lists::SQL_READING_WORDS.contains(&word).then_some("--from="));
                all.extend(option.map(|option| fact_of(option, file)));
            }
            (Token::Mark('(' | ',' | '['), _) => {}
            (Token::Mark('='), Some(word)) if word.ends_with("_file") => {}
            _ => before = word(Some(token)),
        }
    }
    all
}

fn has(tokens: &[Token], wanted: &str) -> bool {
    tokens.iter().any(|token| word(Some(token)).is_some_and(|word| word == wanted))
}

/// Reports whether an option is given without a value that disables it.
fn is_switched_on(tokens: &[Token], option: &str) -> bool {
    const OFF: [&str; 3] = ["false", "off", "0"];
    let is = |token: &Token| word(Some(token)).is_some_and(|word| word == option);
    tokens
        .iter()
        .enumerate()
        .any(|(at, token)| is(token) && word(tokens.get(at + 1)).is_none_or(|value| !OFF.contains(&value.as_str())))
}

fn skip(tokens: &mut &[Token], words: &[&str]) {
    while word(tokens.first()).is_some_and(|word| words.contains(&word.as_str())) {
        *tokens = tokens.get(1..).unwrap_or_default();
    }
}

fn name(tokens: &[Token]) -> Value {
    match tokens.first() {
        Some(Token::Word(name) | Token::Text(name)) => value(name),
        _ => Value::default(),
    }
}

/// Reports whether a condition restricts a statement: a `WHERE` that is not always true, or a `LIMIT`.
fn narrowed(tokens: &[Token]) -> bool {
    if has(tokens, "limit") {
        return true;
    }
    let Some(at) = tokens.iter().position(|token| word(Some(token)).as_deref() == Some("where")) else { return false };
    let condition = tokens.get(at + 1..).unwrap_or_default();
    let always = match condition {
        [] => true,
        [Token::Word(one)] => matches!(one.rough().to_ascii_lowercase().as_str(), "true" | "1"),
        [a, Token::Mark('='), b] => a == b,
        _ => condition.windows(4).any(|part| match part {
            [Token::Word(or), a, Token::Mark('='), b] => or.rough().eq_ignore_ascii_case("or") && a == b,
            _ => false,
        }),
    };
    !always
}
