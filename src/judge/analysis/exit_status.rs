//! Commands whose exit status is known before they run.
//!
//! Out of scope: tests of files, whose facts are in `file_tests.rs`.

use super::analysis_input::AnalysisInput;
use super::question::PathKind;
use super::state::State;
use crate::judge::syntax::tree::{AssignmentValue, Command, Part, Pipeline, Simple, Word};

/// The builtins that succeed with any arguments.
const SUCCEEDING: [&str; 3] = [":", "true", "echo"];

/// The builtins that succeed if the directory to which they change exists.
const CHANGING: [&str; 2] = ["cd", "pushd"];

impl AnalysisInput<'_> {
    /// Reports whether a pipeline that was just walked certainly succeeds, so that the command after `&&` runs. `state`
    /// is that after the pipeline.
    pub fn certainly_succeeds(&self, state: &State, pipeline: &Pipeline) -> bool {
        let [Command::Simple(simple)] = pipeline.commands.as_slice() else { return false };
        if pipeline.negated || !simple.redirects.is_empty() {
            return false;
        }
        let Some(name) = simple.words.first() else { return assigns_plainly(simple) };
        let [Part::Literal(name)] = name.parts.as_slice() else { return false };
        if state.functions.get(name).is_some() || state.aliases.get(name).is_some() {
            return false;
        }
        SUCCEEDING.contains(&name.as_str()) || CHANGING.contains(&name.as_str()) && self.has_changed(state, simple)
    }

    /// Reports whether a `cd` to a single argument certainly succeeded, because the directory exists.
    fn has_changed(&self, state: &State, simple: &Simple) -> bool {
        let there = || state.dir().and_then(|dir| self.inquiry.path(dir));
        simple.words.len() == 2
            && !state.fails
            && state.also.is_empty()
            && there().is_some_and(|facts| facts.kind == PathKind::Directory)
    }
}

/// Reports whether a command only assigns values without command substitutions, and so succeeds.
fn assigns_plainly(simple: &Simple) -> bool {
    simple.assignments.iter().all(|assignment| match &assignment.value {
        AssignmentValue::Scalar(word) => assignment.subscript.is_none() && is_plain(word),
        AssignmentValue::Array(_) => false,
    })
}

/// Reports whether a word contains only literal text.
fn is_plain(word: &Word) -> bool {
    let literal = |part: &Part| matches!(part, Part::Literal(_) | Part::Escaped(_) | Part::Single(_));
    word.parts.iter().all(|part| match part {
        Part::Double { parts, .. } => parts.iter().all(literal),
        part => literal(part),
    })
}

#[cfg(test)]
mod tests {
    use crate::judge::analysis::testing::facts;

    /// Returns the number of values that a variable may have after a list that ends with its assignment.
    fn values_after(first: &str) -> usize {
        let facts = facts(&format!("{first} && a=b; rm \"$a\""));
        facts.acts.iter().filter(|act| act.verb.key() == "rm").count()
    }

    #[test]
    fn what_certainly_succeeds_does_not_end_a_list() {
        for certain in ["true", ":", "echo a b", "x=1", "x=1 y='a b'", "x=\"a b\""] {
            assert_eq!(values_after(certain), 1, "{certain}");
        }
    }

    #[test]
    fn what_may_fail_may_end_a_list() {
        for doubtful in [
            "false",
            "! true",
            "true | x",
            "echo a > f",
            "x=$(y)",
            "x=(a)",
            "x[$(y)]=1",
            "cd nowhere",
            "cd $x",
            "cd",
            "x",
            "true(){ x; }; true",
        ] {
            assert!(values_after(doubtful) > 1, "{doubtful}");
        }
    }
}
