//! Measures the parser: short commands as people type them, long ones, and the worst known ones.

use divan::{Bencher, black_box};
use guard::judge::syntax::limits::MAX_BYTES;
use guard::judge::syntax::parse;
use guard::judge::syntax::tree::Dialect;

fn main() {
    divan::main();
}

const SHORT: &[&str] = &[
    "ls -la",
    "git status --short && git diff --stat HEAD~1",
    "cargo test --workspace 2>&1 | tail -n 50",
    "for f in *.txt; do mv -- \"$f\" \"${f%.txt}.md\"; done",
];

#[divan::bench(args = SHORT)]
fn short(bencher: Bencher, text: &str) {
    bencher.bench_local(|| parse(black_box(text.as_bytes()), Dialect::Bash));
}

/// Returns a text of 128 KiB that repeats a piece.
fn long(piece: &str) -> String {
    piece.repeat(128 * 1024 / piece.len())
}

const LONG: &[(&str, &str)] = &[
    ("words", "word "),
    ("commands", "ls -la | grep foo > out\n"),
    ("substitutions", "echo \"$(date) ${x:-`id`}\"; "),
    ("quoted", "echo 'some text' \"more text\"\n"),
    ("heredocs", "cat <<E\nsome text $x\nE\n"),
    ("tabs", "cat <<-E\n\tsome text $x\n\tE\n"),
    ("arithmetic", "((a + b) ); "),
    ("failed", "((a); (b));"),
];

#[divan::bench(args = LONG.iter().map(|&(name, _)| name))]
fn long_texts(bencher: Bencher, name: &str) {
    let piece = LONG.iter().find(|(known, _)| *known == name).map_or("", |&(_, piece)| piece);
    let text = long(piece);
    bencher.bench_local(|| parse(black_box(text.as_bytes()), Dialect::Bash));
}

const HOSTILE: &[&str] =
    &["(", "( ", "((", "$((", "$(", "{ ", "`", "${x:-", "if ", "[[ ", "!(", "${ ", "<<E\n", "a[", "\"${x:-"];

#[divan::bench(args = HOSTILE)]
fn brackets(bencher: Bencher, open: &str) {
    let text = open.repeat((MAX_BYTES / open.len()).min(100_000));
    bencher.bench_local(|| parse(black_box(text.as_bytes()), Dialect::Bash).is_ok());
}
