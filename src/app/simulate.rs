//! `guard simulate`: evaluates recorded decisions under another policy.
//!
//! Each recorded decision is evaluated again (`reevaluate`), compared with the original one, and counted (`report`).
//! Out of scope: writing anything.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use jiff::Zoned;

mod reevaluate;
mod report;

use super::engine::Engine;
use super::failure::Failure;
use super::{exit, screen, time};
use crate::config::paths::{PROJECT_FILE, PROJECT_PATTERNS};
use crate::config::{self, PolicyOverride, Roots};
use crate::judge::policy::Mode;
use crate::store::{Entry, Filter, RowKind, Store, StoreError, is_probe};
use reevaluate::PolicyComparison;
use report::SimulationReport;

/// The arguments of `guard simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Only rows since this time: 2h, 3d, today, 2026-11-21
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: String,
    /// Only rows before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// A configuration to use instead of your own config.toml; the machine's and projects' still apply
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A directory of pattern files to use instead of your own
    #[arg(long, value_name = "DIR")]
    patterns: Option<PathBuf>,
    /// Use this mode; smart shows what the reviewer could decide, without asking it
    #[arg(long, value_parser = ["off", "smart", "manual"])]
    mode: Option<String>,
    /// List all commands whose decision changes, not only the 20 most frequent
    #[arg(long)]
    list: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The number of rows that are looked up at once.
const PART: u32 = 500;

/// Evaluates the decisions again and prints the differences.
///
/// # Errors
/// The record cannot be read, a time is invalid, or the other policy does not exist or has problems.
pub fn run(args: &SimulateArgs) -> Result<u8, Failure> {
    let now = Zoned::now();
    let time =
        |name: &str, text: &str| time::past(text, &now).map_err(|why| Failure::Message(format!("--{name}: {why}")));
    let since = time("since", &args.since)?;
    let until = args.until.as_deref().map(|text| time("until", text)).transpose()?;
    let instead = instead(args)?;
    let mode = args.mode.as_deref().map(|mode| match mode {
        "off" => Mode::Off,
        "smart" => Mode::Smart,
        _ => Mode::Manual,
    });
    let mut policies = Policies::open(instead, mode)?;
    let mut report = SimulationReport::new(since, until, now.time_zone().clone());
    if let Some(store) = policies.now.existing()? {
        let mut filter = Filter { since: Some(since), until, limit: Some(PART), ..Filter::default() };
        loop {
            let found = store.find_oldest(&filter)?;
            for id in &found {
                take(&store, *id, &mut policies, &mut report)?;
            }
            let Some(last) = found.last() else { break };
            filter.after = Some(*last);
        }
    }
    for problem in &policies.problems {
        // Ignore an error: the warning cannot be shown elsewhere.
        let _ = writeln!(io::stderr(), "guard: {problem}");
    }
    let text = if args.json {
        format!("{}\n", report.json(args.config.as_deref(), args.patterns.as_deref()))
    } else {
        screen::fitted(&report.words(&policy_in_words(args), args.list))
    };
    let mut out = io::stdout().lock();
    Ok(exit::after(out.write_all(text.as_bytes()).and_then(|()| out.flush()), exit::ALLOW)?)
}

fn policy_in_words(args: &SimulateArgs) -> String {
    let policy = match (&args.config, &args.patterns) {
        (None, None) => "the current policy".to_owned(),
        (Some(file), None) => file.display().to_string(),
        (None, Some(directory)) => format!("the patterns of {}", directory.display()),
        (Some(file), Some(directory)) => format!("{} and the patterns of {}", file.display(), directory.display()),
    };
    args.mode.as_ref().map_or(policy.clone(), |mode| format!("{policy}, with mode = {mode}"))
}

/// Returns the files to use instead of the account's own, or `None` if there are none.
fn instead(args: &SimulateArgs) -> Result<Option<PolicyOverride>, Failure> {
    let there = |path: &Option<PathBuf>, directory: bool| -> Result<Option<PathBuf>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let about =
            std::fs::metadata(path).map_err(|error| Failure::Message(format!("{}: {error}", path.display())))?;
        if about.is_dir() != directory {
            let what = if directory { "a directory" } else { "a file" };
            return Err(Failure::Message(format!("{}: expected {what}", path.display())));
        }
        Ok(Some(std::path::absolute(path)?))
    };
    let (file, patterns) = (there(&args.config, false)?, there(&args.patterns, true)?);
    Ok((file.is_some() || patterns.is_some()).then_some(PolicyOverride { file, patterns }))
}

/// The current policy and the other one, for each directory. A project's files can change both.
struct Policies {
    now: Engine,
    instead: Option<PolicyOverride>,
    mode: Option<Mode>,
    /// The comparisons, by the existing files of the projects.
    known: HashMap<Vec<PathBuf>, Rc<PolicyComparison>>,
    directories: HashMap<PathBuf, Rc<PolicyComparison>>,
    /// The problems in files of projects, one sentence each.
    problems: Vec<String>,
}

impl Policies {
    fn open(instead: Option<PolicyOverride>, mode: Option<Mode>) -> Result<Self, Failure> {
        let now = Engine::open().map_err(|error| Failure::Message(error.to_string()))?;
        let mut policies =
            Self { now, instead, mode, known: HashMap::new(), directories: HashMap::new(), problems: Vec::new() };
        // No project applies to the root directory.
        let comparison = policies.comparison(Path::new("/"));
        let problems = std::mem::take(&mut policies.problems);
        if !problems.is_empty() {
            // With problems, a stricter policy would apply instead of the requested one.
            return Err(Failure::Message(format!("the policy has problems: {}", problems.join("; "))));
        }
        policies.known.insert(Vec::new(), comparison);
        Ok(policies)
    }

    /// Returns the comparison for commands in a directory.
    fn of(&mut self, directory: &Path) -> Rc<PolicyComparison> {
        if let Some(comparison) = self.directories.get(directory) {
            return Rc::clone(comparison);
        }
        let own = |directory: &PathBuf| [directory.join(PROJECT_FILE), directory.join(PROJECT_PATTERNS)];
        let files: Vec<PathBuf> =
            self.roots(directory).project().iter().flat_map(own).filter(|path| path.exists()).collect();
        let comparison = match self.known.get(&files) {
            Some(comparison) => Rc::clone(comparison),
            None => {
                let comparison = self.comparison(directory);
                self.known.insert(files, Rc::clone(&comparison));
                comparison
            }
        };
        self.directories.insert(directory.to_owned(), Rc::clone(&comparison));
        comparison
    }

    fn roots(&self, directory: &Path) -> Roots {
        let caller = &self.now.caller;
        Roots::of(&caller.env, caller.account.home.as_deref(), caller.account.uid, directory)
    }

    fn comparison(&mut self, directory: &Path) -> Rc<PolicyComparison> {
        let mut caller = self.now.caller.clone();
        caller.cwd = directory.to_owned();
        let roots = self.roots(directory);
        let now = Engine::under(caller.clone(), config::load(&roots));
        let mut config = config::load_with(&roots, self.instead.as_ref());
        // With problems, the stricter mode stays in force.
        if let Some(mode) = self.mode.filter(|_| config.problems.is_empty()) {
            config.try_mode(mode);
        }
        let other = Engine::under(caller, config);
        for problem in other.problems() {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
        Rc::new(PolicyComparison::new(now, other))
    }
}

fn take(store: &Store, id: i64, policies: &mut Policies, report: &mut SimulationReport) -> Result<(), Failure> {
    let entry: Entry = match store.entry(id) {
        Ok(entry) => entry,
        Err(StoreError::Pruned { .. }) => return Ok(()),
        Err(StoreError::NoSuchRow { .. } | StoreError::Unreadable { .. }) => {
            report.unreadable += 1;
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    if !matches!(entry.kind, RowKind::Intent | RowKind::Advised) {
        return Ok(());
    }
    // Test commands of `guard doctor` are not real commands.
    if is_probe(&entry.findings) {
        return Ok(());
    }
    let Some(then) = reevaluate::then(&entry) else { return Ok(()) };
    let directory = PathBuf::from(entry.cwd.as_deref().unwrap_or("/"));
    match policies.of(&directory).again(&entry, &directory) {
        Some(again) => report.count(&entry, then, &again),
        None => report.unreadable += 1,
    }
    Ok(())
}
