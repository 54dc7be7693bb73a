//! The facts to which an approval is bound, in a form that can be stored: for an answer that is given in another
//! process, or used later.
//!
//! The identity of the working directory is one of them. Out of scope: the circumstances of the session, which change
//! with every command.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::analysis::question::Question;
use super::sort;
use super::{Judgment, describe};

/// The working directory (device and inode), the facts about the system on which the judgment depends, and the
/// findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bindings {
    #[serde(rename = "folder")]
    directory: Option<(u64, u64)>,
    /// A description of each fact, and its digest.
    rests_on: Vec<(String, [u8; 16])>,
    findings: [u8; 16],
}

impl Bindings {
    /// Returns the bindings of a judgment. `directory` is the device and inode of the working directory.
    #[must_use]
    pub fn of(judgment: &Judgment, directory: Option<(u64, u64)>) -> Self {
        let mut rests_on: Vec<_> = judgment.rests_on.iter().collect();
        sort::sort_by_key(&mut rests_on, |(question, _)| rank(question));
        let rests_on = rests_on
            .into_iter()
            .map(|(question, answer)| (describe(question), short(&format!("{question:?} {answer}"))));
        let risk = &judgment.risk;
        let mut findings: Vec<_> = risk
            .findings
            .iter()
            .map(|finding| (&finding.rule, finding.tier, finding.span.start, finding.span.end, &finding.touches))
            .collect();
        sort::sort(&mut findings);
        Self { directory, rests_on: rests_on.collect(), findings: short(&format!("{:?} {findings:?}", risk.tier)) }
    }

    /// Returns the difference because of which an approval with these bindings is not valid for `fresh`; `None` if it
    /// is valid.
    #[must_use]
    pub fn difference(&self, fresh: &Self) -> Option<String> {
        if self.directory != fresh.directory {
            return Some("the working directory".to_owned());
        }
        // A fact that changed is the reason why others were looked up in one judgment only.
        let is_there = |part: &(String, _)| fresh.rests_on.iter().any(|other| other.0 == part.0);
        let beyond = |one: &Self, other: &Self| {
            let all = || one.rests_on.iter().filter(|part| !other.rests_on.contains(part));
            all().find(|part| is_there(part)).or_else(|| all().next()).cloned()
        };
        if let Some((what, _)) = beyond(self, fresh).or_else(|| beyond(fresh, self)) {
            return Some(what);
        }
        (self.findings != fresh.findings).then(|| "what the command would do".to_owned())
    }

    /// Returns a digest of all bindings.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(format!("{self:?}").as_bytes()).into()
    }
}

/// Returns the position of a fact among those of which the first one that changed is reported: what runs, then what it
/// affects, then what follows from these.
const fn rank(question: &Question) -> u8 {
    match question {
        Question::File(_) => 0,
        Question::Program(_) | Question::Resolve { .. } => 1,
        Question::Matches(_) => 2,
        Question::Path(_) => 3,
        Question::Git(_) | Question::Refs { .. } => 4,
        Question::FileSnapshot(_) | Question::Repository(_) | Question::Changed(_) | Question::Ledger => 5,
    }
}

/// Returns the first half of a SHA-256 digest. Digests are only compared with stored ones and never used for a lookup,
/// so half is sufficient.
fn short(text: &str) -> [u8; 16] {
    let whole: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let mut half = [0; 16];
    half.copy_from_slice(&whole[..16]);
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resting_on(parts: &[(&str, &str)]) -> Bindings {
        let mut judgment = Judgment::default();
        for (path, answer) in parts {
            judgment.rests_on.insert(Question::File((*path).to_owned()), (*answer).to_owned());
        }
        Bindings::of(&judgment, Some((1, 2)))
    }

    #[test]
    fn a_change_is_told_by_what_changed() {
        let one = resting_on(&[("/a", "1"), ("/b", "2")]);
        assert_eq!(one.difference(&resting_on(&[("/a", "1"), ("/b", "2")])), None);
        assert_eq!(one.difference(&resting_on(&[("/a", "1"), ("/b", "3")])).unwrap(), "the content of /b");
        assert_eq!(one.difference(&resting_on(&[("/a", "1")])).unwrap(), "the content of /b");
        assert_eq!(resting_on(&[]).difference(&one).unwrap(), "the content of /a");
        // A file that appeared hides the ones that were looked for after it.
        let sought = resting_on(&[("/a.py", "missing"), ("/a", "missing")]);
        assert_eq!(sought.difference(&resting_on(&[("/a.py", "1")])).unwrap(), "the content of /a.py");
        let elsewhere = Bindings::of(&Judgment::default(), None);
        assert_eq!(resting_on(&[]).difference(&elsewhere).unwrap(), "the working directory");
    }
}
