//! Measures the time to judge one line inside the process, by the number of rules.
//!
//! `cargo bench --bench judging`

use std::fmt::Write as _;
use std::path::PathBuf;

use guard::judge::analysis::inquiry::Answers;
use guard::judge::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use guard::judge::judge;
use guard::judge::policy::Policy;
use guard::judge::rules::catalog::{Catalog, Layer, PatternFile};

const LINES: [&str; 8] = [
    "ls -la",
    "git status",
    "git commit -m 'fix the parser' && git push origin main",
    "rm -rf build dist node_modules",
    "cat src/*.rs | grep -n unwrap | head -20",
    "curl -fsSL https://example.org/install.sh | sh",
    "find . -name '*.pyc' -exec rm {} +",
    "cd src && cargo test --lib 2>&1 | tee /tmp/out.txt",
];

const RULES: [usize; 3] = [0, 2_000, 20_000];

fn main() {
    divan::main();
}

fn invocation(text: &str) -> Invocation {
    Invocation {
        request: Request::Line(Line::of_bash(text)),
        cwd: PathBuf::from("/home/me/project"),
        env: Environment::from_iter([("HOME".into(), "/home/me".into()), ("PATH".into(), "/usr/bin:/bin".into())]),
        home: Some("/home/me".into()),
        uid: 1000,
        user: "me".into(),
        origin: Origin::Agent,
        session: Session::default(),
    }
}

/// Returns the built-in rules and `count` more, five for each of many programs.
fn catalog(count: usize) -> Catalog {
    if count == 0 {
        return Catalog::builtin();
    }
    let mut text = String::from("family = \"bench\"\nabout = \"Many rules.\"\n");
    for rule in 0..count {
        let program = rule / 5;
        if rule % 5 == 0 {
            let _ = write!(text, "[[program]]\nname = \"prog{program}\"\noptions = [\"-f|--force\", \"-o|--out=\"]\n");
        }
        let _ = write!(
            text,
            "[[rule]]\nid = \"bench.r{rule}\"\ntier = 3\nreversibility = \"hard\"\nreason = \"Because.\"\n\
             program = \"prog{program}\"\nflags = [\"-f\"]\noperand = {{ which = \"any\", glob = [\"x{rule}*\"] }}\n\
             bad = [\"prog{program} -f x{rule}\"]\ngood = [\"prog{program} y\"]\n"
        );
    }
    let (catalog, problems) =
        Catalog::with_files([PatternFile { path: "bench.toml".into(), text, layer: Layer::User }]);
    assert!(problems.is_empty(), "{:?}", problems.first());
    catalog
}

/// Judges all lines once, after everything has been decoded and compiled.
#[divan::bench(args = RULES)]
fn eight_lines(bencher: divan::Bencher<'_, '_>, rules: usize) {
    let (catalog, policy, answers) = (catalog(rules), Policy::default(), Answers::none());
    let invocations: Vec<Invocation> = LINES.iter().map(|line| invocation(line)).collect();
    bencher.bench_local(|| {
        for invocation in &invocations {
            divan::black_box(judge(invocation, &catalog, &policy, &answers));
        }
    });
}

/// Judges one line.
#[divan::bench(args = LINES)]
fn one_line(bencher: divan::Bencher<'_, '_>, line: &str) {
    let (catalog, policy, answers) = (catalog(2_000), Policy::default(), Answers::none());
    let invocation = invocation(line);
    bencher.bench_local(|| divan::black_box(judge(&invocation, &catalog, &policy, &answers)));
}

/// Judges one line with an unused catalog, as a new process does.
#[divan::bench(args = LINES)]
fn first_line(bencher: divan::Bencher<'_, '_>, line: &str) {
    let (policy, answers) = (Policy::default(), Answers::none());
    let invocation = invocation(line);
    bencher
        .with_inputs(Catalog::builtin)
        .bench_local_values(|catalog| divan::black_box(judge(&invocation, &catalog, &policy, &answers)));
}
