//! Derives facts about files from the exit status of a condition: `[ -f x ] ||`, `if [[ ! -e x ]]; then`.
//!
//! Out of scope: whether these files exist.

use super::act::Value;
use super::command_context::Context;
use super::paths::{NormalPath, Start};
use super::place::Place;
use super::progress::WalkProgress;
use super::state::State;
use super::streams::Stream;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::{
    Command, CompoundKind, CondToken, Join, Part, Pipeline, Redirect, RedirectOp, RedirectTarget, Simple, Word,
};

/// The names of the builtin; the second requires a closing bracket.
const TESTS: [&str; 2] = ["test", "["];
/// Tests that fail if the file does not exist, is not a regular file, or is empty.
const OF_FILES: [&str; 4] = ["-e", "-a", "-f", "-s"];

/// Options of programs that list files, which do not make them fail.
const LISTING_OPTIONS: [&str; 6] = ["-1", "-A", "-a", "-d", "-h", "-l"];

/// The files that do not exist, or are empty, after a list of commands succeeded, and after it failed.
#[derive(Clone, Debug, Default)]
pub(super) struct ConditionFacts {
    pub succeeded: Vec<NormalPath>,
    pub failed: Vec<NormalPath>,
}

impl ConditionFacts {
    /// Returns the facts after one more pipeline is added to a list. `succeeds`: that pipeline cannot fail.
    pub fn joined(self, join: Join, next: Self, succeeds: bool) -> Self {
        match join {
            Join::And => {
                // The list failed only if it did before.
                let failed = if succeeds { self.failed } else { Vec::new() };
                Self { succeeded: [self.succeeded, next.succeeded].concat(), failed }
            }
            Join::Or => Self { succeeded: Vec::new(), failed: [self.failed, next.failed].concat() },
        }
    }
}

impl Context {
    /// Returns the context of a part in which these files do not exist.
    pub fn without(&self, files: &[NormalPath]) -> Self {
        let mut context = self.clone();
        if !files.is_empty() {
            context.absent = self.absent.iter().chain(files).cloned().collect();
        }
        context
    }
}

/// A test of a file in `[[ … ]]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct BracketTest<'t> {
    operator: &'t str,
    /// The word of the file. Its expansion has no side effects.
    pub word: &'t Word,
    negated: bool,
}

/// Returns the test of a pipeline that is a single `[[ … ]]`.
pub(super) fn bracket_test(pipeline: &Pipeline) -> Option<BracketTest<'_>> {
    let [Command::Compound(compound)] = pipeline.commands.as_slice() else { return None };
    let CompoundKind::Conditional(tokens) = &compound.kind else { return None };
    let (operator, word, negated) = match tokens.as_slice() {
        [CondToken::Operator(operator, _), CondToken::Word(word)] => (operator, word, false),
        [CondToken::Operator(not, _), CondToken::Operator(operator, _), CondToken::Word(word)] if not == "!" => {
            (operator, word, true)
        }
        _ => return None,
    };
    is_plain(word).then_some(BracketTest { operator, word, negated })
}

impl WalkProgress<'_, '_> {
    /// Returns the facts after a pipeline whose first act is `first`. `in_brackets` is its test in `[[ … ]]` with the file,
    /// if it is one that runs on this machine.
    #[inline(never)]
    pub fn told_by(
        &self,
        state: &State,
        pipeline: &Pipeline,
        first: usize,
        in_brackets: Option<(BracketTest<'_>, &Value)>,
    ) -> ConditionFacts {
        let test = match (pipeline.commands.as_slice(), in_brackets) {
            ([Command::Simple(simple)], _) => self.tested(state, simple, first),
            (_, Some((test, file))) => {
                self.absent(test.operator, file, state.cwd.as_ref()).map(|path| (path, test.negated))
            }
            _ => None,
        };
        let Some((path, negated)) = test else { return ConditionFacts::default() };
        match negated == pipeline.negated {
            true => ConditionFacts { failed: vec![path], ..ConditionFacts::default() },
            false => ConditionFacts { succeeded: vec![path], ..ConditionFacts::default() },
        }
    }

    /// Returns the file whose absence makes a `test` or a program that lists it fail, or a negated test succeed.
    fn tested(&self, state: &State, simple: &Simple, first: usize) -> Option<(NormalPath, bool)> {
        let [Part::Literal(name)] = simple.words.first()?.parts.as_slice() else { return None };
        let lists = word_lists::LISTING_PROGRAMS.contains(&name.as_str());
        if !lists && !TESTS.contains(&name.as_str())
            || state.functions.get(name).is_some()
            || !simple.redirects.iter().all(opens)
        {
            return None;
        }
        let acts = self.acts.get(first..)?;
        let act = acts.iter().rfind(|act| act.verb.key() == name && act.remote.is_none())?;
        if lists {
            let plain = act.flags.iter().all(|flag| LISTING_OPTIONS.contains(&flag.name.as_str()));
            let prints = matches!(state.streams.stdout, Stream::Inherited) && state.aliases.get(name).is_none();
            let [file] = act.operands.as_slice() else { return None };
            let path = self.absent("-e", &file.value, act.cwd.as_ref()).filter(|_| plain && prints)?;
            return Some((path, false));
        }
        let words = match act.args.split_last() {
            Some((last, words)) if last.is("]") => words,
            _ => act.args.as_slice(),
        };
        let (operator, file, negated) = match words {
            [operator, file] => (operator, file, false),
            [not, operator, file] if not.is("!") => (operator, file, true),
            _ => return None,
        };
        let path = self.absent(&operator.known()?, file, act.cwd.as_ref())?;
        Some((path, negated))
    }

    /// Returns the place of the file of such a test.
    fn absent(&self, operator: &str, file: &Value, dir: Option<&Place>) -> Option<NormalPath> {
        let path = self.input.placer().path(file, dir).filter(|_| OF_FILES.contains(&operator))?;
        let known = path.start == Start::Root && !path.dynamic && !path.globbed && !path.everything && !path.slash;
        known.then_some(path)
    }
}

/// Reports whether a redirection cannot fail, so that the exit status is that of the command.
fn opens(redirect: &Redirect) -> bool {
    let RedirectTarget::Word(word) = &redirect.target else { return false };
    let [Part::Literal(target)] = word.parts.as_slice() else { return false };
    match redirect.op {
        RedirectOp::Write | RedirectOp::WriteBoth => target == "/dev/null",
        RedirectOp::DuplicateOut => matches!(target.as_str(), "1" | "2"),
        _ => false,
    }
}

/// Reports whether the expansion of a word has no side effects.
fn is_plain(word: &Word) -> bool {
    fn all(parts: &[Part]) -> bool {
        parts.iter().all(|part| match part {
            Part::Literal(_) | Part::Escaped(_) | Part::Single(_) | Part::AnsiC(_) => true,
            Part::Double { parts, .. } => all(parts),
            Part::Parameter(parameter) => {
                !parameter.indirect && parameter.subscript.is_none() && parameter.operation.is_none()
            }
            _ => false,
        })
    }
    all(&word.parts)
}

#[cfg(test)]
mod tests {
    use super::super::testing::facts;

    /// Checks the files of which the last command of a line knows that they do not exist.
    #[track_caller]
    fn knows(line: &str, expected: &[&str]) {
        let facts = facts(line);
        let act = facts.acts.iter().rfind(|act| act.verb.key() == "mark").expect("the line marks a place");
        let absent: Vec<String> = act.absent.iter().map(|path| path.rough()).collect();
        assert_eq!(absent, expected, "{line}");
    }

    #[test]
    fn a_test_of_a_file_tells_where_it_is_not_there() {
        for line in [
            "[ -f x ] || mark",
            "test -e x || mark",
            "[ ! -s x ] && mark",
            "! [ -f ./x ] && mark",
            "[[ -f x ]] || mark",
            "[[ ! -e \"$PWD/x\" ]] && mark",
            "if [ ! -f x ]; then mark; fi",
            "if [ -f x ]; then ls; else mark; fi",
            "if [ -f x ]; then ls; elif ls; then mark; fi",
            "[ -f x ] || { ls; mark; }",
            "[ -f x ] || (cd y && mark)",
            "[ ! -f x ] && ls && mark",
            "f=x; [ -f \"$f\" ] || mark",
            "[ -f x ] || env A=1 mark",
            "[ -f x ] && echo yes || mark",
            "[ -f x ] && echo yes && true || mark",
            "[[ -e x ]] && : || mark",
            "[ -f x ] 2>/dev/null || mark",
            "ls x || mark",
            "ls x >/dev/null 2>&1 || mark",
            "ls x 2>/dev/null && echo yes || mark",
        ] {
            knows(line, &["/home/dev/project/x"]);
        }
    }

    #[test]
    fn nothing_is_told_where_the_file_may_be_there() {
        for line in [
            "[ -f x ] && mark",
            "[ ! -f x ] || mark",
            "[ -f x ]; mark",
            "[ -f x ] || ls; mark",
            "[ -f x ] || ls && mark",
            "[ ! -f x ] && ls || mark",
            "[ -d x ] || mark",
            "[ -x x ] || mark",
            "[ -f \"$X\" ] || mark",
            "[ -f x -o -f y ] || mark",
            "[ -f x ] | ls || mark",
            "[ -f x ] || while ls; do mark; done",
            "[ -f x ] || for i in a b; do mark; done",
            "[ -f x ] || trap mark EXIT",
            "[ -f x ] || f() { mark; }; f",
            "if [ -f x ]; then mark; fi",
            "if [ ! -f x ]; then ls; fi; mark",
            "if [ ! -f x ]; then ls; else mark; fi",
            "test() { return 1; }; test -f x || mark",
            "ssh web test -f x || mark",
            "[ -f x ] && touch y || mark",
            "[ -f x ] && echo yes > y || mark",
            "{ [ -f x ] && echo yes || mark; } > y",
            "{ [ -f x ] && echo yes || mark; } | cat",
            "[ -f x ] && ! echo yes || mark",
            "echo(){ false; }; [ -f x ] && echo yes || mark",
            "ls y && echo no || ls x && mark",
            "[ -f x ] > nowhere/y || mark",
            "[ -f x ] 2>&7 || mark",
            "ls x y || mark",
            "ls || mark",
            "ls --unheard-of x || mark",
            "ls x > y || mark",
            "ls x | cat || mark",
            "{ ls x || mark; } > y",
            "ls x && mark",
            "ls(){ false; }; ls x || mark",
            "ssh web ls x || mark",
        ] {
            knows(line, &[]);
        }
    }
}
