//! Tests the parsing of command strings.

mod executions;
mod oracles;
mod properties;
mod shape;

use guard::judge::syntax::limits::MAX_BYTES;
use guard::judge::syntax::parse;
use guard::judge::syntax::tree::{Command, Dialect, Part, Script, Word};
use guard::judge::syntax::visit;

fn samples(text: &str) -> Vec<&str> {
    text.split("\n%%\n").map(|sample| sample.strip_suffix("\n%%").unwrap_or(sample)).collect()
}

const VALID: &str = include_str!("../../samples/syntax-valid.txt");
const INVALID: &str = include_str!("../../samples/syntax-invalid.txt");
const ZSH: &str = include_str!("../../samples/syntax-zsh.txt");
const EVASION: &str = include_str!("../../samples/evasion.txt");

/// Texts that `bash -n` accepts because it parses a part only when it runs it and then refuses it, or that shells parse
/// differently. guard refuses them.
const ACCEPTED_UNREAD: &[&str] = &[
    // Unterminated after one level of backslashes is removed.
    r#"echo "`echo 'it'\\\\''s'`""#,
    // bash ends the expansion at the last brace, a POSIX shell at the first.
    r#"echo "${y:-'}"; rm x #'}""#,
];

/// Evasions whose command is named by an expansion, which a tree alone cannot show.
const NAMED_BY_EXPANSION: &[&str] =
    &["${y-rm} x", "{rm,x}", "rm{,} x", "$(echo rm) x", "`echo rm` x", "a=rm; $a x", "a=r; ${a}m x"];

/// Reports whether `bash -n` accepts `text`; warnings do not count.
fn bash_accepts(text: &str) -> bool {
    let output = std::process::Command::new("bash").args(["-O", "extglob", "-nc", text]).output().expect("bash runs");
    String::from_utf8_lossy(&output.stderr).lines().all(|line| line.contains("warning"))
}

/// Returns the text of a word if nothing in it is expanded.
fn plain(word: &Word) -> Option<String> {
    let mut text = String::new();
    plain_parts(&word.parts, &mut text).then_some(text)
}

fn plain_parts(parts: &[Part], text: &mut String) -> bool {
    parts.iter().all(|part| match part {
        Part::Literal(piece) | Part::Escaped(piece) | Part::Single(piece) | Part::AnsiC(piece) => {
            text.push_str(piece);
            true
        }
        Part::Double { parts, .. } => plain_parts(parts, text),
        _ => false,
    })
}

fn names(script: &Script) -> Vec<String> {
    let mut names = Vec::new();
    visit::commands(script, &mut |command| {
        if let Command::Simple(simple) = command
            && let Some(name) = simple.words.first().and_then(plain)
        {
            names.push(name);
        }
    });
    names
}

#[test]
fn every_valid_sample_is_read() {
    let mut failed = Vec::new();
    for sample in samples(VALID) {
        if ACCEPTED_UNREAD.contains(&sample) {
            continue;
        }
        if let Err(error) = parse(sample.as_bytes(), Dialect::Bash) {
            failed.push(format!("{sample}\n  {error}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_invalid_sample_is_refused() {
    let mut failed = Vec::new();
    for sample in samples(INVALID) {
        if let Ok(tree) = parse(sample.as_bytes(), Dialect::Bash) {
            failed.push(format!("{sample}\n  {tree:?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_evasion_shows_its_command() {
    let mut failed = Vec::new();
    for sample in samples(EVASION) {
        if NAMED_BY_EXPANSION.contains(&sample) || ACCEPTED_UNREAD.contains(&sample) {
            continue;
        }
        match parse(sample.as_bytes(), Dialect::Bash) {
            Err(_) if !bash_accepts(sample) => {}
            Ok(script) if names(&script).iter().any(|name| name == "rm") => {}
            Ok(script) => failed.push(format!("{sample}\n  {:?}", names(&script))),
            Err(error) => failed.push(format!("{sample}\n  {error}")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs `work` on a thread with a stack of 256 KiB.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(256 * 1024).spawn(work).expect("a thread").join().expect("no overflow")
}

/// Constructs that can nest, with their closing text.
const NESTING: &[(&str, &str)] = &[
    ("(", ")"),
    ("( ", ")"),
    ("{ ", ";}"),
    ("$(", ")"),
    ("a $(", ")"),
    ("\"$(", ")\""),
    ("`", "`"),
    ("${x:-", "}"),
    ("\"${x:-", "}\""),
    ("\"${x:-\"", "\"}\""),
    ("${x[", "]}"),
    ("${x/", "}"),
    ("${ ", ";}"),
    ("$((", "))"),
    ("$[", "]"),
    ("((", "))"),
    ("<(", ")"),
    ("a <(", ")"),
    ("if ", ";then :;fi"),
    ("if :;then ", ";fi"),
    ("while ", ";do :;done"),
    ("while :;do ", ";done"),
    ("for x in $(", ");do :;done"),
    ("for x;do ", ";done"),
    ("for ((;;)) { ", ";}"),
    ("case x in x)", ";;esac"),
    ("case x in $(", ")) ;;esac"),
    ("case $(", ") in x) ;;esac"),
    ("f() { ", ";}"),
    ("f() ( ", ")"),
    ("function f { ", ";}"),
    ("coproc { ", ";}"),
    ("! ", ""),
    ("time ", ""),
    ("!(", ")"),
    ("[[ $(", ") ]]"),
    ("[[ a =~ ((", ")) ]]"),
    ("echo @(", ")"),
    ("echo @(a|$(", "))"),
    ("a=(", ")"),
    ("a=($(", "))"),
    ("a[", "]=1"),
    ("a[$(", ")]=1"),
    ("declare a=($(", "))"),
    ("x >$(", ")"),
    ("x <<<$(", ")"),
    ("cat <<E\n$(", ")\nE\n"),
    ("cat <<-E\n\t$(", ")\n\tE\n"),
    ("a && ", ""),
    ("a | ", ""),
    ("a;", ""),
    ("{", "}"),
    ("[", "]"),
    ("\"", "\""),
    ("'", "'"),
    ("\\", ""),
    ("$", ""),
    ("#", ""),
    ("<", ""),
    (">", ""),
    ("<<E ", ""),
    ("<<E\n", ""),
    (";", ""),
    ("&", ""),
    ("x=", ""),
    ("\\\n", ""),
    ("repeat 2 ", ""),
    ("{ ", "} always { :; }"),
    ("() { ", ";}"),
    ("a(", ")"),
    ("${(", ")}"),
    ("${${", "}}"),
];

#[test]
fn nesting_without_end_is_refused_on_a_small_stack() {
    for &(open, close) in NESTING {
        for dialect in [Dialect::Bash, Dialect::Sh, Dialect::Zsh] {
            for times in [60, 99, 100, 1_000, 10_000, MAX_BYTES / open.len() + 1] {
                let whole = format!("{}x{}", open.repeat(times), close.repeat(times));
                let unclosed = open.repeat(times);
                on_a_small_stack(move || {
                    for text in [whole, unclosed] {
                        let outcome = parse(text.as_bytes(), dialect);
                        if text.len() > MAX_BYTES {
                            assert!(outcome.is_err_and(|error| error.kind.is_limit()));
                        }
                    }
                });
            }
        }
    }
}

#[test]
fn every_zsh_sample_is_read_for_zsh() {
    let mut failed = Vec::new();
    for sample in samples(ZSH) {
        if let Err(error) = parse(sample.as_bytes(), Dialect::Zsh) {
            failed.push(format!("{sample}\n  {error}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
