//! A sample world for tests: a project that contains only some files and directories.

use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::inquiry::{Answers, Inquiry};
use crate::judge::analysis::question::{FileFacts, PathFacts, PathKind, ProgramFacts, Question, WorldAnswer};
use crate::judge::analysis::testing::{catalog, line};
use crate::judge::invocation::Invocation;
use crate::judge::ledger::Ledger;
use crate::judge::policy::Policy;
use crate::judge::rules::catalog::Catalog;
use crate::judge::{Judgment, judge};

/// The project of [`line`].
const PROJECT: &str = "/home/dev/project/";

/// The content of the project, by paths relative to it. Everything outside is a directory without readable files.
#[derive(Default)]
pub struct SampleWorld<'w> {
    pub files: &'w [(&'w str, &'w str)],
    pub directories: &'w [&'w str],
    pub ledger: Option<Ledger>,
}

impl SampleWorld<'_> {
    fn answer(&self, question: &Question) -> WorldAnswer {
        let file = |asked: &str| {
            let below = asked.strip_prefix(PROJECT)?;
            self.files.iter().find(|(name, _)| *name == below).map(|(_, text)| *text)
        };
        match question {
            Question::File(asked) => WorldAnswer::File(file(asked).map_or(FileFacts::Missing, |text| {
                FileFacts::Text { bytes: text.as_bytes().to_vec(), digest: [0; 32] }
            })),
            Question::Path(asked) => {
                let kind = match asked.strip_prefix(PROJECT) {
                    Some(_) if file(asked).is_some() => PathKind::File,
                    Some(below) if !self.directories.contains(&below) => PathKind::Missing,
                    _ => PathKind::Directory,
                };
                WorldAnswer::Path(PathFacts { kind, canonical: asked.clone(), symlink: false, bytes: 0 })
            }
            Question::Resolve { name, dirs } => {
                let mut paths = dirs.iter().map(|dir| format!("{dir}/{name}"));
                let found = paths.find(|path| file(path).is_some()).map(|path| ProgramFacts {
                    canonical: path.clone(),
                    path,
                    device: 0,
                    inode: 0,
                    bytes: 0,
                    changed: 0,
                    digest: None,
                    since_session: false,
                });
                WorldAnswer::Resolve(found)
            }
            Question::Ledger => self.ledger.clone().map_or(WorldAnswer::Unavailable, WorldAnswer::Ledger),
            _ => WorldAnswer::Unavailable,
        }
    }

    /// Judges a command there by the built-in rules.
    pub fn judge(&self, command: &str) -> Judgment {
        let source = |question: &Question| self.answer(question);
        judge(&line(command), &Catalog::builtin(), &Policy::default(), &Answers::of(&source))
    }

    /// Calls a test of one pass with the input of the analysis for an invocation there, and the catalog of the tests.
    pub fn given<R>(&self, invocation: &Invocation, test: impl FnOnce(AnalysisInput<'_>) -> R) -> R {
        let source = |question: &Question| self.answer(question);
        let (answers, catalog) = (Answers::of(&source), catalog());
        let inquiry = Inquiry::new(&answers);
        test(AnalysisInput::new(invocation, &catalog, &inquiry))
    }
}
