//! Scripts that a program gets as an operand, in an option or in a variable, and may run, because no description states
//! how it uses them.
//!
//! Out of scope: names of programs. Programs that run none of their arguments have a description that states this.

use super::downloads::language_of;
use crate::judge::analysis::act::{Taint, Value};
use crate::judge::analysis::program::is_installed;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::scripts::is_binary_at;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::rules::word_lists;
use crate::judge::tier::Tier;

/// Maximum number of scripts in one command that are walked.
const MAX_HANDED: usize = 8;

/// The characters that delimit a path in an argument: `--plugin=name=./x`, `-o 'r=./x y'`.
const MARKS: [char; 11] = [' ', '=', ',', ':', ';', '|', '"', '\'', '@', '(', ')'];

/// A script that a program may run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HandedScript {
    pub file: String,
    pub language: &'static str,
}

impl WalkProgress<'_, '_> {
    /// Returns the scripts in the arguments and variables of a program that may run them, if they are new or changed in
    /// git and may not have been reviewed.
    pub(super) fn unknown_scripts(&self, state: &State, ran: ProgramRun<'_>) -> Vec<HandedScript> {
        let program = ran.known;
        // Calls in code and interpreters are described, and so are programs that only read.
        if ran.name.contains(':') || program.is_some_and(|program| program.runs_nothing || program.runs.is_some()) {
            return Vec::new();
        }
        if program.is_some_and(|program| !program.facts_alone) && ran.reading.tier == Tier::Safe {
            return Vec::new();
        }
        let acted_on =
            |value: &Value| ran.reading.effects.iter().flat_map(|effect| &effect.on).any(|on| on.value == *value);
        let arguments = ran.args.iter().map(|field| &field.value).filter(|value| !acted_on(value));
        let given: Vec<String> =
            arguments.chain(ran.env.iter().map(|(_, value)| value)).filter_map(Value::known_text).collect();
        let parts = given.iter().flat_map(|text| text.split(MARKS));
        let scripts = parts.filter(|part| may_name_a_script(part)).take(MAX_HANDED);
        scripts.filter_map(|script| self.handed_script(state, script)).collect()
    }

    /// Returns the script that a part of an argument names, if it is new or changed.
    fn handed_script(&self, state: &State, script: &str) -> Option<HandedScript> {
        // A name with its ending is complete.
        let endings = word_lists::MODULE_ENDINGS.into_iter().filter(|_| language_of(script).is_none());
        for end in std::iter::once("").chain(endings) {
            let file = format!("{script}{end}");
            let path = state.path(&file).filter(|path| !is_installed(path))?;
            let value = Value::text(file.as_str());
            if self.is_there(state, &value) {
                // A binary is judged by its name, as if it were called by that.
                let is_read = matches!(self.input.inquiry.file(&path), Some(FileFacts::Text { .. }))
                    && !is_binary_at(self.input, state, &Value::text(path.as_str()));
                // A file that this command writes is its output and not its input.
                let of_line = self.added_to(state, &value).is_some_and(|text| {
                    !text.is_dynamic() || text.taint().has(Taint::FETCHED) || text.taint().has(Taint::DECODED)
                });
                let written = state.file(&value).and_then(|key| self.files.written.get(&key));
                let is_copy = written.is_some_and(|written| !written.copies.is_empty());
                let is_new = of_line || is_copy || is_read && self.input.is_changed(&path);
                return is_new.then(|| HandedScript { file, language: language_of(&path).unwrap_or("shell") });
            }
        }
        None
    }
}

/// Reports whether a part of an argument is the path of a script, by its ending or its beginning.
fn may_name_a_script(part: &str) -> bool {
    match language_of(part) {
        // A source of a compiled language is not a script.
        Some(language) => !matches!(language, "other" | "sql"),
        None => {
            let name = part.rsplit('/').next().unwrap_or_default();
            part.starts_with("./") && !name.is_empty() && !name.contains(['.', '*', '?', '['])
        }
    }
}
