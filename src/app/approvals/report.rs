//! The report of an answering verb: one line per request, and the exit code.

use std::fmt::Display;
use std::io::{self, Write as _};

use crate::app::exit;
use crate::app::failure::Failure;
use crate::ui::visible;

/// The results of all requests.
#[derive(Debug, Default)]
pub struct AnswerReport {
    pub lines: Vec<String>,
    /// The lines about requests that were not answered.
    undone: Vec<String>,
}

impl AnswerReport {
    pub fn yes(&mut self, id: &str, what: &str) {
        self.lines.push(format!("{id}  {what}"));
    }

    pub fn no(&mut self, id: &str, why: impl Display) {
        let line = format!("{id}  {why}");
        self.undone.push(line.clone());
        self.lines.push(line);
    }

    /// Returns one line about all results. If there are several, it is about those that were not answered, because they
    /// still wait.
    pub fn in_short(&self) -> Option<String> {
        const SAID: usize = 2;
        let (all, undone) = (self.lines.len(), self.undone.len());
        Some(match self.lines.as_slice() {
            [] => return None,
            [one] => one.clone(),
            _ if undone == 0 => format!("{all} done"),
            _ => {
                let said = self.undone.iter().take(SAID).cloned().collect::<Vec<_>>().join("; ");
                let more = if undone > SAID { format!("; and {} more", undone - SAID) } else { String::new() };
                format!("{} of {all} done; {said}{more}", all - undone)
            }
        })
    }

    pub fn print(&self) -> Result<u8, Failure> {
        let mut out = io::stdout().lock();
        for line in &self.lines {
            writeln!(out, "{}", visible::text(line))?;
        }
        Ok(if self.undone.is_empty() { exit::ALLOW } else { exit::REFUSED })
    }
}

#[cfg(test)]
mod tests {
    use super::AnswerReport;

    #[test]
    fn of_several_results_those_that_are_still_to_be_done_are_said() {
        let mut report = AnswerReport::default();
        assert_eq!(report.in_short(), None);
        report.yes("a1", "approved: ls");
        assert_eq!(report.in_short().as_deref(), Some("a1  approved: ls"));
        report.yes("b2", "approved: pwd");
        assert_eq!(report.in_short().as_deref(), Some("2 done"));
        report.no("c3", "not approved: open it");
        assert_eq!(report.in_short().as_deref(), Some("2 of 3 done; c3  not approved: open it"));
        report.no("d4", "too late");
        report.no("e5", "too late");
        let said = report.in_short().unwrap();
        assert_eq!(said, "2 of 5 done; c3  not approved: open it; d4  too late; and 1 more");
    }
}
