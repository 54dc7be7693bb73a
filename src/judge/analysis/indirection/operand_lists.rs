//! Programs that read operands from a file: they are walked again with these operands.

use crate::judge::analysis::act::{UnknownReason, Value};
use crate::judge::analysis::arguments::Arg;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::search_results;
use crate::judge::analysis::state::{Build as _, State, unknown};
use crate::judge::rules::model::OperandList;

impl WalkProgress<'_, '_> {
    /// Returns the arguments of a program with the operands that a file lists; `None` if it reads no list.
    pub(super) fn with_listed_operands(
        &self,
        state: &State,
        list: &OperandList,
        ran: ProgramRun<'_>,
    ) -> Option<Vec<Arg>> {
        let ProgramRun { reading, args, span, .. } = ran;
        let flag = reading.flags.iter().find(|flag| flag.name == list.option)?;
        let names = match flag.value.as_ref().filter(|file| !file.is("-")) {
            Some(file) => self.names_in(state, file),
            None => search_results::listed(&self.stdin_of(state).0),
        };
        let names = names.unwrap_or_else(|| vec![unknown(UnknownReason::Input, self.stdin_of(state).1)]);
        let mut words: Vec<Arg> = args.iter().map(Field::arg).collect();
        // The listed paths are relative to the first operand; the second is the target.
        let (at, from) = match reading.operands.first().filter(|_| list.below_first) {
            Some(from) => {
                let is_from = |word: &Arg| word.span == from.span && word.value == from.value;
                (words.iter().position(is_from).unwrap_or(words.len()), Some(&from.value))
            }
            None => (words.len(), None),
        };
        let listed = |name: &Value| Arg { operand: !list.options, ..Arg::word(below(from, name), span) };
        let listed: Vec<Arg> = names.iter().map(listed).collect();
        words.splice(at..at, listed);
        Some(words)
    }

    /// Returns the names in a file that the command wrote, or that can be read.
    fn names_in(&self, state: &State, file: &Value) -> Option<Vec<Value>> {
        if let Some(text) = self.content_of(state, file) {
            return search_results::listed(&text);
        }
        match self.input.inquiry.file(&file.known().and_then(|path| state.path(&path))?) {
            Some(FileFacts::Text { bytes, .. }) => search_results::listed(&Value::text(String::from_utf8_lossy(bytes))),
            _ => None,
        }
    }
}

/// Joins a directory and a name.
fn below(place: Option<&Value>, name: &Value) -> Value {
    let Some(place) = place else { return name.clone() };
    let mut value = place.clone();
    if !value.rough().ends_with('/') {
        value.push_text("/");
    }
    value.push_value(name);
    value
}
