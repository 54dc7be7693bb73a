//! Tests the labelled corpus: guard must catch the dangerous commands and let the everyday ones pass.
//!
//! The files in `tests/corpus` contain one command per line with the tier that the risk model gives it: `id, tier_min,
//! tier_max, category, command`, separated by tabs, with `\n \t \r \xHH \\` in the command. A row is dangerous from a
//! `tier_min` of 2. The id begins with the family (`blind`, `unseen` and `third` to `eighth` are files whose authors
//! knew the risk model but none of the rules), followed by `disguised` or `everyday` if that applies. The real program
//! judges every command in a project made with real git; no command is run.
//!
//! This prints the table of the families, as the README shows it, and the rows that are judged wrongly:
//!
//!     cargo test --test promises corpus::table -- --ignored --nocapture

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// A file of labelled commands, and the results required of it.
struct Corpus {
    file: &'static str,
    /// The lowest percentage of dangerous commands that must be caught (at `tier_min` or above).
    caught_at_least: f64,
    /// The highest percentage of everyday commands that may be stopped (above `tier_max`).
    false_at_most: f64,
}

const COMMANDS: Corpus = Corpus { file: "commands.tsv", caught_at_least: 99.0, false_at_most: 0.5 };
const BLIND: Corpus = Corpus { file: "blind.tsv", caught_at_least: 95.0, false_at_most: 0.5 };

const UNSEEN: Corpus = Corpus { file: "unseen.tsv", caught_at_least: 98.0, false_at_most: 0.5 };
const THIRD: Corpus = Corpus { file: "third.tsv", caught_at_least: 98.5, false_at_most: 1.0 };
const FOURTH: Corpus = Corpus { file: "fourth.tsv", caught_at_least: 95.5, false_at_most: 2.0 };
const FIFTH: Corpus = Corpus { file: "fifth.tsv", caught_at_least: 97.0, false_at_most: 1.0 };
const SIXTH: Corpus = Corpus { file: "sixth.tsv", caught_at_least: 97.0, false_at_most: 0.5 };
const SEVENTH: Corpus = Corpus { file: "seventh.tsv", caught_at_least: 97.0, false_at_most: 1.0 };
const EIGHTH: Corpus = Corpus { file: "eighth.tsv", caught_at_least: 97.0, false_at_most: 0.5 };
/// Multi-step lines by authors who know the rules.
const STEPS: Corpus = Corpus { file: "steps.tsv", caught_at_least: 99.0, false_at_most: 1.0 };

/// One labelled command.
struct Row {
    id: String,
    family: String,
    tier_min: u64,
    tier_max: u64,
    category: String,
    command: String,
}

impl Row {
    fn dangerous(&self) -> bool {
        self.tier_min >= 2
    }

    fn disguised(&self) -> bool {
        self.id.contains("-disguised-")
    }

    /// Reports whether `tier` is wrong in the relevant direction: too low for a dangerous command, too high for any
    /// other.
    fn missed_by(&self, tier: u64) -> bool {
        if self.dangerous() { tier < self.tier_min } else { tier > self.tier_max }
    }
}

fn rows(corpus: &Corpus) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(corpus.file);
    let text = fs::read_to_string(&path).unwrap();
    text.lines()
        .map(|line| {
            let fields: Vec<_> = line.split('\t').collect();
            let [id, tier_min, tier_max, category, command] = fields[..] else { panic!("not five fields: {line}") };
            Row {
                id: id.to_owned(),
                family: id.split('-').next().unwrap().to_owned(),
                tier_min: tier_min.parse().unwrap(),
                tier_max: tier_max.parse().unwrap(),
                category: category.to_owned(),
                command: decoded(command),
            }
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('\\') => out.push('\\'),
            Some('x') => {
                let digits: String = characters.by_ref().take(2).collect();
                out.push(char::from(u8::from_str_radix(&digits, 16).unwrap()));
            }
            other => panic!("unknown escape {other:?} in {text}"),
        }
    }
    out
}

/// A home with a project: sources that git tracks, an untracked file, and ignored files that can be made again.
struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Self {
        let scratch = Self { directory: tempfile::Builder::new().prefix("corpus-").tempdir().unwrap() };
        let project = scratch.project();
        for name in
            "src docs tests build dist target/debug node_modules/left .venv/bin coverage out".split_ascii_whitespace()
        {
            fs::create_dir_all(project.join(name)).unwrap();
            fs::write(project.join(name).join("file.txt"), "content\n").unwrap();
        }
        let ignored = "build/\ndist/\ntarget/\nnode_modules/\n.venv/\ncoverage/\nout/\n__pycache__/\n*.log\n*.tmp\n";
        for (name, content) in [("Makefile", "all:\n\ttrue\n"), ("README.md", "# project\n"), (".gitignore", ignored)] {
            fs::write(project.join(name), content).unwrap();
        }
        for arguments in ["init -q -b main", "add -A", "commit -qm first"] {
            let mut git = scratch.command("git");
            git.args(["-c", "user.name=dev", "-c", "user.email=dev@example.com"]).args(arguments.split(' '));
            assert!(git.status().unwrap().success());
        }
        fs::write(project.join("notes.txt"), "not committed\n").unwrap();
        scratch
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("home/dev")
    }

    fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home())
            .env("USER", "dev")
            .env("LANG", "C.UTF-8")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        command
    }

    /// Returns the tier and the found rules of every command, in order.
    fn judge(&self, rows: &[Row]) -> Vec<Verdict> {
        let mut guard = self.command(env!("CARGO_BIN_EXE_guard"));
        let mut child = guard.args(["check", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let lines: String =
            rows.iter().map(|row| format!("{}\n", serde_json::json!({ "command": row.command }))).collect();
        let writer = thread::spawn(move || stdin.write_all(lines.as_bytes()).unwrap());
        let done = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let verdicts: Vec<_> = String::from_utf8(done.stdout).unwrap().lines().map(Verdict::read).collect();
        assert_eq!(verdicts.len(), rows.len(), "one verdict for each command");
        verdicts
    }
}

/// The program's result for one command.
struct Verdict {
    tier: u64,
    rules: BTreeSet<String>,
}

impl Verdict {
    fn read(line: &str) -> Self {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let tier = value["tier"].as_u64().unwrap_or_else(|| panic!("no tier in {line}"));
        let findings = value["findings"].as_array().into_iter().flatten();
        Self { tier, rules: findings.filter_map(|found| found["rule"].as_str()).map(str::to_owned).collect() }
    }
}

/// The number of rows of a kind, and of those that are judged wrongly.
#[derive(Clone, Copy, Default)]
struct Tally {
    all: usize,
    wrong: usize,
}

impl Tally {
    fn add(&mut self, wrong: bool) {
        self.all += 1;
        self.wrong += usize::from(wrong);
    }

    fn right(self) -> usize {
        self.all - self.wrong
    }

    #[allow(clippy::cast_precision_loss, reason = "a corpus has thousands of rows, not 2^52")]
    fn percent(self, part: usize) -> f64 {
        if self.all == 0 { 0.0 } else { 100.0 * part as f64 / self.all as f64 }
    }

    /// Formats `part` as `96/97 (99.0 %)`; the text is empty if there are no rows.
    fn shown(self, part: usize) -> String {
        if self.all == 0 { String::new() } else { format!("{part}/{} ({:.1} %)", self.all, self.percent(part)) }
    }
}

/// The three counts of one family, or of all families.
#[derive(Clone, Copy, Default)]
struct Tallies {
    dangerous: Tally,
    disguised: Tally,
    everyday: Tally,
}

impl Tallies {
    fn add(&mut self, row: &Row, wrong: bool) {
        if row.dangerous() {
            self.dangerous.add(wrong);
            if row.disguised() {
                self.disguised.add(wrong);
            }
        } else {
            self.everyday.add(wrong);
        }
    }

    fn line(self, name: &str) -> String {
        let caught = self.dangerous.shown(self.dangerous.right());
        let disguised = self.disguised.shown(self.disguised.right());
        format!("| {name} | {caught} | {disguised} | {} |", self.everyday.shown(self.everyday.wrong))
    }
}

/// The result of judging everything once: the counts, and one line for each row that is judged wrongly.
struct Scored {
    total: Tallies,
    families: BTreeMap<String, Tallies>,
    wrong: Vec<String>,
}

fn score(corpus: &Corpus) -> Scored {
    let rows = rows(corpus);
    let verdicts = Scratch::new().judge(&rows);
    let mut scored = Scored { total: Tallies::default(), families: BTreeMap::new(), wrong: Vec::new() };
    for (row, verdict) in rows.iter().zip(&verdicts) {
        let wrong = row.missed_by(verdict.tier);
        scored.total.add(row, wrong);
        scored.families.entry(row.category.clone()).or_default().add(row, wrong);
        if wrong {
            let what = if row.dangerous() { "missed" } else { "false " };
            let tier = verdict.tier;
            scored.wrong.push(format!("{what} {} tier {tier}: {:?} {:?}", row.id, row.command, verdict.rules));
        }
    }
    scored
}

#[test]
fn dangerous_commands_are_caught_and_everyday_ones_let_through() {
    for corpus in [COMMANDS, BLIND, UNSEEN, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH, STEPS] {
        let Corpus { file, caught_at_least, false_at_most } = corpus;
        let Scored { total, wrong, .. } = score(&corpus);
        let caught = total.dangerous.percent(total.dangerous.right());
        let stopped = total.everyday.percent(total.everyday.wrong);
        assert!(
            caught >= caught_at_least && stopped <= false_at_most,
            "{file}: caught {caught:.2} % (at least {caught_at_least}), false {stopped:.2} % (at most {false_at_most}):\n{}",
            wrong.join("\n")
        );
    }
}

#[test]
fn the_corpus_is_large_labelled_and_half_disguised() {
    let rows = rows(&COMMANDS);
    let (dangerous, everyday): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.dangerous());
    let disguised = dangerous.iter().filter(|row| row.disguised()).count();
    assert!(dangerous.len() >= 600 && everyday.len() >= 600);
    assert!(2 * disguised >= dangerous.len(), "{disguised} of {} are disguised", dangerous.len());
    let (mut ids, mut commands, mut names) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    for row in &rows {
        assert!(ids.insert(&row.id), "{} is there twice", row.id);
        assert!(commands.insert(&row.command), "{} repeats {:?}", row.id, row.command);
        assert!(row.tier_min <= row.tier_max && row.tier_max <= 4, "{} has no tier", row.id);
        assert_eq!(row.tier_max <= 1, row.id.contains("-everyday-"), "{} is called what it is not", row.id);
        assert!(row.dangerous() || row.tier_max <= 1, "{} is neither dangerous nor everyday", row.id);
        let name = names.entry(&row.family).or_insert(&row.category);
        assert_eq!(*name, &row.category, "{} is called otherwise than its family", row.id);
    }
}

#[test]
#[ignore = "prints the table of the README; nothing to hold"]
fn table() {
    for corpus in [COMMANDS, BLIND, UNSEEN, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH, EIGHTH, STEPS] {
        let Scored { total, families, wrong } = score(&corpus);
        println!("{}\n", corpus.file);
        println!("| family | dangerous, caught | of these disguised | everyday, stopped |\n| --- | --- | --- | --- |");
        families.iter().for_each(|(name, tallies)| println!("{}", tallies.line(name)));
        println!("{}\n", total.line("**all**"));
        wrong.iter().for_each(|line| println!("{line}"));
    }
}
