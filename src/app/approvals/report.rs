//! A line for each request that was to be answered, and the exit code.

use std::fmt::Display;
use std::io::{self, Write as _};

use crate::app::exit;
use crate::app::failure::Failure;
use crate::ui::visible;

/// A result for each request.
#[derive(Debug, Default)]
pub struct Report {
    pub lines: Vec<String>,
    refused: bool,
}

impl Report {
    pub fn yes(&mut self, id: &str, what: &str) {
        self.lines.push(format!("{id}  {what}"));
    }

    pub fn no(&mut self, id: &str, why: impl Display) {
        self.refused = true;
        self.lines.push(format!("{id}  {why}"));
    }

    pub fn print(&self) -> Result<u8, Failure> {
        let mut out = io::stdout().lock();
        for line in &self.lines {
            writeln!(out, "{}", visible::text(line))?;
        }
        Ok(if self.refused { exit::REFUSED } else { exit::ALLOW })
    }
}
