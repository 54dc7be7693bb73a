//! The errors in pattern files, with their positions and remedies.

use std::fmt;

pub use crate::judge::nearest::nearest;

/// An error in a pattern file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub file: String,
    /// The line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// The key and its parent (`rule git.push-force: flags`).
    pub place: String,
    pub what: String,
    pub remedy: String,
}

impl Problem {
    /// Creates an error without a line.
    #[must_use]
    pub fn whole_file(file: &str, what: &str) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            place: String::new(),
            what: what.to_owned(),
            remedy: "see guard-patterns(5)".to_owned(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if !self.place.is_empty() {
            write!(f, ": {}", self.place)?;
        }
        write!(f, ": {}", self.what)?;
        if !self.remedy.is_empty() {
            write!(f, " ({})", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// An error in the tables in `patterns/languages`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("no language is called {0:?}")]
    UnknownLanguage(String),
    #[error("{0:?} needs a language, and a program if and only if it holds one")]
    Holds(Vec<String>),
    #[error("{0:?} needs a text if and only if it gives one")]
    Gives(Vec<String>),
    #[error(
        "{0:?} needs words, a call unless it contains other calls, and names if and only if it takes an option or setting"
    )]
    LineCommand(Vec<String>),
    #[error("{0:?} has neither endings nor files")]
    NoFiles(String),
    #[error("the list {0:?} needs entries of one kind: words, pairs, counts or by-language")]
    Entries(String),
    #[error("{0:?} is listed twice")]
    ListedTwice(String),
}
