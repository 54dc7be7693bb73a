//! Questions about the system while a command is judged.
//!
//! The judge does no I/O. It asks the source that its caller passed, once per question. If a question has no answer,
//! the judge assumes the strictest one. Out of scope: how a source finds answers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use elsa::FrozenVec;

use super::fuel::{Fuel, cost};
use super::paths::Placer;
use super::question::{FileFacts, GitFacts, PathFacts, ProgramFacts, Question, RefFacts, RepositoryFacts, WorldAnswer};
use crate::judge::invocation::Invocation;
use crate::judge::ledger::{FileSnapshot, Ledger};
use crate::judge::reserved::UnaskableReason;

/// A function that answers questions. They contain paths as the system has them.
pub type Source<'w> = dyn Fn(&Question) -> WorldAnswer + 'w;

/// Answers by question: those that were given, and those that a source adds on demand. Answers are never replaced, so
/// that a judgment is based on one answer to each question.
#[derive(Default)]
pub struct Answers<'w> {
    source: Option<&'w Source<'w>>,
    known: FrozenVec<Box<AnsweredQuestion>>,
    /// The index in `known` of the answer to a question.
    index: RefCell<HashMap<Question, usize>>,
}

/// A question with its answer.
#[derive(Clone)]
struct AnsweredQuestion {
    question: Question,
    /// The answer without characters that the judge reserves.
    plain: WorldAnswer,
    /// The original answer, if it contains such characters.
    given: Option<WorldAnswer>,
}

impl<'w> Answers<'w> {
    /// Creates it without answers: the strictest ones are assumed.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates it with a source, which is asked once for each question.
    #[must_use]
    pub fn of(source: &'w Source<'w>) -> Self {
        Self { source: Some(source), ..Self::default() }
    }

    /// Adds an answer, unless there is one.
    pub fn insert(&self, question: Question, answer: WorldAnswer) {
        if self.get(&question).is_none() {
            self.add(question, answer);
        }
    }

    fn add(&self, question: Question, answer: WorldAnswer) -> &WorldAnswer {
        let plain = answer.may_hold().then(|| answer.taken_in()).filter(|plain| *plain != answer);
        let (plain, given) = match plain {
            Some(plain) => (plain, Some(answer)),
            None => (answer, None),
        };
        self.push(AnsweredQuestion { question, plain, given })
    }

    fn push(&self, known: AnsweredQuestion) -> &WorldAnswer {
        self.index.borrow_mut().insert(known.question.clone(), self.known.len());
        &self.known.push_get(Box::new(known)).plain
    }

    /// Returns an answer that is present.
    #[must_use]
    pub fn get(&self, question: &Question) -> Option<&WorldAnswer> {
        let place = *self.index.borrow().get(question)?;
        self.known.get(place).map(|known| &known.plain)
    }

    /// Gets the answer from the source.
    fn fetch(&self, question: Question) -> Option<&WorldAnswer> {
        let answer = self.source?(&question);
        Some(self.add(question, answer))
    }

    /// Returns all original answers, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&Question, &WorldAnswer)> {
        self.known.iter().map(|known| (&known.question, known.given.as_ref().unwrap_or(&known.plain)))
    }

    /// Returns the present answers, in which every file with content is replaced by one that is too large, and without
    /// a source. `None` if no file was read.
    #[must_use]
    pub fn with_files_too_large(&self) -> Option<Answers<'static>> {
        let is_text = |answer: &WorldAnswer| matches!(answer, WorldAnswer::File(FileFacts::Text { .. }));
        self.known.iter().find(|known| is_text(&known.plain))?;
        let rest = Answers::none();
        for known in self.known.iter() {
            let mut known = known.clone();
            if is_text(&known.plain) {
                (known.plain, known.given) = (WorldAnswer::File(FileFacts::TooLarge), None);
            }
            rest.push(known);
        }
        Some(rest)
    }
}

impl fmt::Debug for Answers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// The questions of the judge, which are charged to the fuel.
#[derive(Debug)]
pub struct Inquiry<'a> {
    answers: &'a Answers<'a>,
    /// The classifiers of paths, with their caches, by the address of the invocation.
    placers: RefCell<Vec<(*const Invocation, Rc<Placer>)>>,
    /// The fuel of the judgment.
    pub fuel: Fuel,
    /// The reason why a question could not be asked, if there was such a question.
    unaskable: Cell<Option<UnaskableReason>>,
}

impl<'a> Inquiry<'a> {
    /// Creates it for these answers, with the fuel of a command.
    #[must_use]
    pub fn new(answers: &'a Answers<'a>) -> Self {
        Self::with(answers, Fuel::full())
    }

    /// Creates it for these answers, with this fuel.
    #[must_use]
    pub fn with(answers: &'a Answers<'a>, fuel: Fuel) -> Self {
        Self { answers, placers: RefCell::default(), fuel, unaskable: Cell::new(None) }
    }

    /// Returns its answers.
    #[must_use]
    pub const fn answers(&self) -> &'a Answers<'a> {
        self.answers
    }

    /// Returns the reason why a question could not be asked, if there was such a question. The judgment may depend on
    /// that file.
    #[must_use]
    pub const fn unaskable(&self) -> Option<UnaskableReason> {
        self.unaskable.get()
    }

    /// Returns the classifier of the paths of an invocation. All callers share its cache.
    pub fn placer(&self, invocation: &Invocation) -> Rc<Placer> {
        let place = std::ptr::from_ref(invocation);
        let mut placers = self.placers.borrow_mut();
        if let Some((_, placer)) = placers.iter().find(|(other, _)| *other == place) {
            return Rc::clone(placer);
        }
        let placer = Rc::new(Placer::new(invocation));
        placers.push((place, Rc::clone(&placer)));
        placer
    }

    fn ask(&self, question: Question) -> Option<&'a WorldAnswer> {
        if question.is_of_nothing() {
            return None;
        }
        let question = match question.given_out() {
            Ok(question) => question,
            Err(why) => {
                self.unaskable.set(Some(self.unaskable.get().map_or(why, |before| before.worse(why))));
                return None;
            }
        };
        self.fuel.spend_reserve(1);
        if let Some(answer) = self.answers.get(&question) {
            return Some(answer);
        }
        // Without fuel no further questions are asked.
        if !self.fuel.spend_reserve(cost::QUESTION + question.size()) {
            return None;
        }
        self.answers.fetch(question)
    }

    /// Queries the file at `path`.
    pub fn path(&self, path: &str) -> Option<&'a PathFacts> {
        match self.ask(Question::Path(path.into())) {
            Some(WorldAnswer::Path(facts)) => Some(facts),
            _ => None,
        }
    }

    /// Queries the state of `path` in git.
    pub fn git(&self, path: &str) -> Option<&'a GitFacts> {
        match self.ask(Question::Git(path.into())) {
            Some(WorldAnswer::Git(facts)) => Some(facts),
            _ => None,
        }
    }

    /// Queries the repository of `dir`. `None` also if there is none.
    pub fn repository(&self, dir: &str) -> Option<&'a RepositoryFacts> {
        match self.ask(Question::Repository(dir.into())) {
            Some(WorldAnswer::Repository(facts)) => facts.as_ref(),
            _ => None,
        }
    }

    /// Queries the content of the file at `path`.
    pub fn file(&self, path: &str) -> Option<&'a FileFacts> {
        match self.ask(Question::File(path.into())) {
            Some(WorldAnswer::File(facts)) => Some(facts),
            _ => None,
        }
    }

    /// Queries the path of a program.
    pub fn program(&self, name: &str) -> Option<&'a str> {
        match self.ask(Question::Program(name.into())) {
            Some(WorldAnswer::Program(path)) => path.as_deref(),
            _ => None,
        }
    }

    /// Queries the file that a name runs, searched in these directories. `None` also if there is none.
    pub fn resolve(&self, name: &str, dirs: &[String]) -> Option<&'a ProgramFacts> {
        match self.ask(Question::Resolve { name: name.into(), dirs: dirs.to_vec() }) {
            Some(WorldAnswer::Resolve(facts)) => facts.as_ref(),
            _ => None,
        }
    }

    /// Queries when the file at `path` was created and last changed. `None` also if it does not exist.
    pub fn look(&self, path: &str) -> Option<&'a FileSnapshot> {
        match self.ask(Question::FileSnapshot(path.into())) {
            Some(WorldAnswer::FileSnapshot(look)) => look.as_ref(),
            _ => None,
        }
    }

    /// Queries the tracked files of the repository of `dir` that differ from HEAD. `None` also if there is no
    /// repository.
    pub fn changed(&self, dir: &str) -> Option<&'a [String]> {
        match self.ask(Question::Changed(dir.into())) {
            Some(WorldAnswer::Changed(files)) => Some(files),
            _ => None,
        }
    }

    /// Queries branches and tags (`refs/heads/x`) of the repository of `dir`. `None` also if there is no repository.
    pub fn refs(&self, dir: &str, names: Vec<String>) -> Option<&'a RefFacts> {
        match self.ask(Question::Refs { dir: dir.into(), names }) {
            Some(WorldAnswer::Refs(facts)) => Some(facts),
            _ => None,
        }
    }

    /// Queries the ledger of this session.
    pub fn ledger(&self) -> Option<&'a Ledger> {
        match self.ask(Question::Ledger) {
            Some(WorldAnswer::Ledger(ledger)) => Some(ledger),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::judge::analysis::question::PathKind;

    fn path(text: &str) -> Question {
        Question::Path(text.to_owned())
    }

    #[test]
    fn an_answer_is_looked_up_once_and_never_replaced() {
        let count = Cell::new(0_u64);
        let source = |_: &Question| {
            count.set(count.get() + 1);
            WorldAnswer::Path(PathFacts {
                kind: PathKind::File,
                canonical: String::new(),
                symlink: false,
                bytes: count.get(),
            })
        };
        let answers = Answers::of(&source);
        let inquiry = Inquiry::new(&answers);
        let first = inquiry.path("/a").unwrap();
        assert_eq!((inquiry.path("/b").unwrap().bytes, first.bytes), (2, 1));
        answers.insert(path("/a"), WorldAnswer::Unavailable);
        assert_eq!((inquiry.path("/a").unwrap().bytes, count.get()), (1, 2));
        let asked: Vec<_> = answers.iter().map(|(question, _)| question.clone()).collect();
        assert_eq!(asked, [path("/a"), path("/b")]);
    }

    #[test]
    fn without_a_source_nothing_is_known_but_what_was_given() {
        let answers = Answers::none();
        answers.insert(path("/a"), WorldAnswer::Unavailable);
        assert_eq!((answers.get(&path("/a")), answers.get(&path("/b"))), (Some(&WorldAnswer::Unavailable), None));
        assert_eq!(Inquiry::new(&answers).path("/b"), None);
        assert_eq!(answers.iter().count(), 1);
    }

    #[test]
    fn what_is_given_with_reserved_characters_is_read_without_and_kept_with_them() {
        let reserved = char::REPLACEMENT_CHARACTER.to_string();
        let answers = Answers::none();
        answers.insert(Question::Program("x".to_owned()), WorldAnswer::Program(Some(reserved.clone())));
        let given = WorldAnswer::Program(Some(reserved));
        assert_ne!(answers.get(&Question::Program("x".to_owned())), Some(&given));
        assert_eq!(answers.iter().next().unwrap().1, &given);
    }

    #[test]
    fn files_that_were_read_are_too_large_and_all_else_stays() {
        let (none, script) = (Question::File("/none".to_owned()), Question::File("/script".to_owned()));
        let source = |_: &Question| WorldAnswer::Unavailable;
        let answers = Answers::of(&source);
        answers.insert(none.clone(), WorldAnswer::File(FileFacts::Missing));
        assert!(answers.with_files_too_large().is_none());
        answers.insert(script.clone(), WorldAnswer::File(FileFacts::Text { bytes: b"ls".to_vec(), digest: [0; 32] }));
        answers.insert(path("/a"), WorldAnswer::Unavailable);
        let rest = answers.with_files_too_large().unwrap();
        assert_eq!(rest.get(&script), Some(&WorldAnswer::File(FileFacts::TooLarge)));
        assert_eq!(rest.get(&none), Some(&WorldAnswer::File(FileFacts::Missing)));
        assert_eq!(rest.get(&path("/a")), Some(&WorldAnswer::Unavailable));
        assert_eq!((Inquiry::new(&rest).path("/b"), rest.iter().count()), (None, 3));
    }
}
