//! `guard patterns list|show|test|new`: the rules, their sources, and whether they match their examples.
//!
//! Out of scope: judging. Examples are judged like any other command.

mod assumed;
mod list;
mod new;
mod test;
mod tools;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use thiserror::Error;

use super::exit;
use crate::judge::rules::catalog::{Catalog, Layer, PatternFile};
use crate::ui::style::{self, Line, Look};

pub use test::{Failure, example_failures, example_tier};

/// The arguments of `guard patterns`.
#[derive(Debug, Args)]
pub struct PatternsArgs {
    #[command(subcommand)]
    command: PatternsCommand,
}

#[derive(Debug, Subcommand)]
enum PatternsCommand {
    /// List the rules
    List(ListArgs),
    /// Show a rule, a family or a program in full
    Show(ShowArgs),
    /// Test the examples of the rules, or of a file: exit 0 when all pass, 1 when not
    Test(TestArgs),
    /// Create a commented pattern file
    New(NewArgs),
}

/// The arguments of `guard patterns list`.
#[derive(Debug, Args)]
struct ListArgs {
    /// Only rules of this family, or whose id or reason contains this
    filter: Option<String>,
    /// Only rules of this tier or higher
    #[arg(long, value_name = "0-4", value_parser = clap::value_parser!(u8).range(0..=4))]
    tier: Option<u8>,
    /// Only rules that are not built in
    #[arg(long)]
    own: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// The arguments of `guard patterns show`.
#[derive(Debug, Args)]
struct ShowArgs {
    /// The id of a rule (git.push-force), a family (git), or the name of a program (git)
    #[arg(value_name = "ID")]
    name: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The arguments of `guard patterns test`.
#[derive(Debug, Args)]
struct TestArgs {
    /// A pattern file (default: the built-in rules and your own files)
    file: Option<PathBuf>,
    /// Only the rule of this id, or the family of this name
    #[arg(long, value_name = "ID")]
    rule: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The arguments of `guard patterns new`.
#[derive(Debug, Args)]
struct NewArgs {
    /// The family, and the name of the file
    family: String,
    /// The file to create; `-` writes to standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// The reason why `guard patterns` failed.
#[derive(Debug, Error)]
pub enum PatternsError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{path}: {error}")]
    File { path: String, error: io::Error },
    #[error("no rule, family or program {name}{hint}; guard patterns list shows the rules")]
    Unknown { name: String, hint: String },
    #[error("no rule's family, id or reason contains {name}{hint}; guard patterns list shows all rules")]
    NoneListed { name: String, hint: String },
    #[error("{0} already exists; give another file with --to")]
    Exists(String),
    #[error("invalid family name {0}: use only a-z, 0-9 and -")]
    Family(String),
}

/// The input of `guard patterns`: the caller's catalog, the problems of its files, and the directory of the caller's
/// own files.
#[derive(Debug)]
pub struct Sources<'a> {
    pub catalog: &'a Catalog,
    /// The problems of pattern files, one sentence each.
    pub broken: &'a [String],
    /// The directory of the user's own pattern files.
    pub own: Option<&'a Path>,
}

/// Runs the verb and returns the exit code.
///
/// # Errors
/// [`PatternsError`].
pub fn run(args: &PatternsArgs, sources: &Sources<'_>) -> Result<u8, PatternsError> {
    match print(args, sources) {
        // A reader that stops reading is not an error.
        Err(PatternsError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::ALLOW),
        other => other,
    }
}

fn print(args: &PatternsArgs, sources: &Sources<'_>) -> Result<u8, PatternsError> {
    let look = Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal());
    let mut out = RuleOutput { to: io::BufWriter::new(io::stdout().lock()), look };
    let mut code = match &args.command {
        PatternsCommand::List(args) => list::list(args, sources.catalog, &mut out),
        PatternsCommand::Show(args) => list::show(args, sources.catalog, &mut out),
        PatternsCommand::Test(args) => test::run(args, sources, &mut out),
        PatternsCommand::New(args) => new::run(args, sources, &mut out),
    }?;
    // Without a named file, everything in use is tested. A file that cannot be read is not in use, so report it.
    if matches!(&args.command, PatternsCommand::Test(test) if test.file.is_none()) && !sources.broken.is_empty() {
        code = code.max(exit::ASK);
    }
    for problem in sources.broken {
        writeln!(io::stderr(), "guard: {problem}")?;
    }
    out.to.flush()?;
    Ok(code)
}

/// The output, and its style.
struct RuleOutput<'a> {
    to: io::BufWriter<io::StdoutLock<'a>>,
    look: Look,
}

impl RuleOutput<'_> {
    fn lines(&mut self, lines: &[Line]) -> io::Result<()> {
        self.to.write_all(style::render(lines, &self.look).as_bytes())
    }

    fn json(&mut self, value: &serde_json::Value) -> io::Result<()> {
        writeln!(self.to, "{value}")
    }
}

/// Reads a pattern file as the user's own.
fn read(path: &Path) -> Result<PatternFile, PatternsError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| PatternsError::File { path: name.clone(), error })?;
    Ok(PatternFile { path: name, text, layer: Layer::User })
}
