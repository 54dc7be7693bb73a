//! Compares the parser with others on real scripts: it must parse what bash accepts, and find every command that shfmt
//! or brush finds. Set `GUARD_TEST_ALL_SCRIPTS` to use every script of the machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use guard::judge::syntax::limits::MAX_BYTES;
use guard::judge::syntax::parse;
use guard::judge::syntax::tree::Dialect;
use serde_json::Value;

/// The number of scripts in a normal test run.
const BOUNDED: usize = 120;

/// The directories that are searched for scripts.
const ROOTS: &[&str] =
    &["/usr/bin", "/usr/sbin", "/etc", "/usr/lib", "/usr/share", "/usr/local", "/opt", "/var", "/root", "/home"];

/// Returns files with a shell's shebang.
fn scripts() -> Vec<PathBuf> {
    let limit = if std::env::var_os("GUARD_TEST_ALL_SCRIPTS").is_some() { usize::MAX } else { BOUNDED };
    let mut found = Vec::new();
    for root in ROOTS {
        collect(Path::new(root), limit, &mut found);
    }
    found
}

fn collect(directory: &Path, limit: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if found.len() >= limit {
            return;
        }
        let Ok(data) = fs::symlink_metadata(&path) else { continue };
        if data.is_dir() {
            collect(&path, limit, found);
        } else if data.is_file() && data.len() <= MAX_BYTES as u64 && has_shell_shebang(&path) {
            found.push(path);
        }
    }
}

fn has_shell_shebang(path: &Path) -> bool {
    let mut head = [0_u8; 64];
    let Ok(len) = fs::File::open(path).and_then(|mut file| file.read(&mut head)) else { return false };
    let head = String::from_utf8_lossy(&head[..len]);
    let line = head.lines().next().unwrap_or_default();
    line.starts_with("#!")
        && line
            .split_whitespace()
            .any(|word| matches!(word.rsplit('/').next(), Some("sh" | "bash" | "dash" | "ash")) || word == "#!sh")
}

/// Command names with their number of occurrences.
type Names = BTreeMap<String, usize>;

fn count(names: impl IntoIterator<Item = String>) -> Names {
    let mut counted = Names::new();
    for name in names {
        *counted.entry(name).or_default() += 1;
    }
    counted
}

fn missing(theirs: &Names, ours: &Names) -> Vec<String> {
    theirs.iter().filter(|(name, times)| ours.get(*name).unwrap_or(&0) < *times).map(|(name, _)| name.clone()).collect()
}

/// Returns the command names that shfmt finds: the first argument of each call, if it is plain text.
fn shfmt(text: &[u8]) -> Option<Names> {
    let mut child = Command::new("shfmt")
        .args(["--to-json", "-ln=bash"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("shfmt is installed");
    let mut stdin = child.stdin.take().expect("a pipe");
    let text = text.to_vec();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &text));
    let output = child.wait_with_output().expect("shfmt ends");
    let _ = writer.join();
    let tree: Value = serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success())?;
    let mut names = Vec::new();
    shfmt_walk(&tree, &mut names);
    Some(count(names))
}

fn shfmt_walk(node: &Value, names: &mut Vec<String>) {
    match node {
        Value::Object(fields) => {
            if fields.get("Type").and_then(Value::as_str) == Some("CallExpr")
                && let Some(name) = fields.get("Args").and_then(|args| args.get(0)).and_then(shfmt_word)
            {
                names.push(name);
            }
            fields.values().for_each(|value| shfmt_walk(value, names));
        }
        Value::Array(values) => values.iter().for_each(|value| shfmt_walk(value, names)),
        _ => {}
    }
}

fn shfmt_word(word: &Value) -> Option<String> {
    let mut text = String::new();
    for part in word.get("Parts")?.as_array()? {
        match part.get("Type")?.as_str()? {
            "Lit" | "SglQuoted" if part.get("Dollar").is_none() => text.push_str(part.get("Value")?.as_str()?),
            "DblQuoted" => text.push_str(&shfmt_word(part)?),
            _ => return None,
        }
    }
    (!text.contains('\\')).then_some(text)
}

/// Returns the command names that brush finds, including those in substitutions, or `None` if it cannot parse the text
/// in time.
fn brush(text: &[u8]) -> Option<Names> {
    let text = std::str::from_utf8(text).ok()?.to_owned();
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(move || {
            let mut names = Vec::new();
            let read = brush_program(&text, &mut names, 0);
            let _ = sender.send(read.map(|()| count(names)));
        })
        .expect("a thread");
    // brush keeps an assignment both in parts and whole, so the number of occurrences is meaningless.
    let names = receiver.recv_timeout(Duration::from_secs(2)).ok()??;
    Some(names.into_keys().map(|name| (name, 1)).collect())
}

fn brush_program(text: &str, names: &mut Vec<String>, depth: u32) -> Option<()> {
    let options = brush_parser::ParserOptions { enable_extended_globbing: true, ..Default::default() };
    let program = brush_parser::Parser::new(std::io::Cursor::new(text), &options).parse_program().ok()?;
    if depth < 20 {
        brush_walk(&serde_json::to_value(program).ok()?, names, depth);
    }
    Some(())
}

fn brush_walk(node: &Value, names: &mut Vec<String>, depth: u32) {
    match node {
        // The body of a here-document without expansion is data.
        Value::Object(fields) if fields.contains_key("here_end") && !fields.contains_key("requires_expansion") => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("word_or_name", Value::Object(word)) => {
                        let raw = word.get("value").and_then(Value::as_str).unwrap_or_default();
                        names.extend(brush_name(raw));
                        brush_walk(value, names, depth);
                    }
                    ("CommandSubstitution" | "BackquotedCommandSubstitution", Value::String(script)) => {
                        brush_program(script, names, depth + 1);
                    }
                    (
                        "value" | "v" | "default_value" | "alternative_value" | "error_message" | "pattern"
                        | "replacement",
                        Value::String(word),
                    ) if word.contains(['$', '`']) => {
                        let options = brush_parser::ParserOptions::default();
                        if let Ok(pieces) = brush_parser::word::parse(word, &options)
                            && let Ok(pieces) = serde_json::to_value(pieces)
                            && depth < 20
                        {
                            brush_walk(&pieces, names, depth + 1);
                        }
                    }
                    _ => brush_walk(value, names, depth),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| brush_walk(value, names, depth)),
        _ => {}
    }
}

/// Returns a name without its quotes, if it is plain or quoted as a whole by single or double quotes.
fn brush_name(raw: &str) -> Option<String> {
    let plain = |text: &str| !text.contains(['\\', '$', '`', '\'', '"', '{', '*', '?']) && !text.is_empty();
    let inner = raw
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .or_else(|| raw.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')))
        .unwrap_or(raw);
    plain(inner).then(|| inner.to_owned())
}

/// Reports whether a shell that only checks syntax accepts the file; warnings do not count.
fn reads(shell: &[&str], path: &Path) -> bool {
    let output = Command::new(shell[0]).args(&shell[1..]).arg(path).output().expect("the shell runs");
    String::from_utf8_lossy(&output.stderr).lines().all(|line| line.contains("warning"))
}

#[test]
fn real_scripts_are_read_whole() {
    let mut failed = Vec::new();
    let scripts = scripts();
    for path in &scripts {
        let Ok(text) = fs::read(path) else { continue };
        if text.contains(&0) {
            continue;
        }
        let valid = reads(&["bash", "-O", "extglob", "-n"], path);
        let script = match (parse(&text, Dialect::Bash), valid) {
            (Ok(script), _) => script,
            (Err(error), true) => {
                failed.push(format!("{}: {error}", path.display()));
                continue;
            }
            (Err(_), false) => continue,
        };
        if !valid {
            failed.push(format!("{}: bash refuses it", path.display()));
        }
        let ours = count(super::names(&script));
        for (oracle, theirs) in [("shfmt", shfmt(&text)), ("brush", brush(&text))] {
            let missing = theirs.map(|theirs| missing(&theirs, &ours)).unwrap_or_default();
            if !missing.is_empty() {
                failed.push(format!("{}: only {oracle} sees {missing:?}", path.display()));
            }
        }
        match parse(&text, Dialect::Sh) {
            Ok(script) => {
                let missing = missing(&ours, &count(super::names(&script)));
                if !missing.is_empty() {
                    failed.push(format!("{}: as sh it lacks {missing:?}", path.display()));
                }
            }
            Err(error) if reads(&["dash", "-n"], path) => failed.push(format!("{}: as sh: {error}", path.display())),
            Err(_) => {}
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), scripts.len(), failed.join("\n"));
}
