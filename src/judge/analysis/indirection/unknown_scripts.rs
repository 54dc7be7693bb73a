//! Scripts that a program is handed of which nothing says what it does with them: as an operand, as the value of an
//! option or in a variable. It may run them.
//!
//! Out of scope: names of programs. Those that run nothing of what they are given are described as such.

use super::downloads::language_of;
use crate::judge::analysis::act::{Taint, Value};
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::program::is_installed;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::walk::Walker;
use crate::judge::rules::word_lists;
use crate::judge::tier::Tier;

/// The most scripts that are looked for in one command.
const MAX_HANDED: usize = 8;

/// What stands around a path in an argument: `--plugin=name=./x`, `-o 'r=./x y'`.
const MARKS: [char; 11] = [' ', '=', ',', ':', ';', '|', '"', '\'', '@', '(', ')'];

impl Walker<'_> {
    /// Walks the scripts among the arguments and variables of a program that may run them: those which git does not
    /// have as they are, so that nobody need have looked at them.
    #[inline(never)]
    pub(super) fn unknown_scripts(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let program = ran.known;
        // A call of code and an interpreter name what they run by themselves, and what only reads says so.
        if ran.name.contains(':') || program.is_some_and(|program| program.runs_nothing || program.runs.is_some()) {
            return;
        }
        if program.is_some_and(|program| !program.facts_alone) && ran.reading.tier == Tier::Safe {
            return;
        }
        let acted_on =
            |value: &Value| ran.reading.effects.iter().flat_map(|effect| &effect.on).any(|on| on.value == *value);
        let arguments = ran.args.iter().map(|field| &field.value).filter(|value| !acted_on(value));
        let given: Vec<String> =
            arguments.chain(ran.env.iter().map(|(_, value)| value)).filter_map(Value::known_text).collect();
        let parts = given.iter().flat_map(|text| text.split(MARKS));
        let scripts: Vec<&str> = parts.filter(|part| may_name_a_script(part)).take(MAX_HANDED).collect();
        for script in scripts {
            self.handed_script(state, context, script, ran);
        }
    }

    fn handed_script(&mut self, state: &State, context: &Context, script: &str, ran: ProgramRun<'_>) {
        // A name with its ending leaves nothing out.
        let endings = word_lists::MODULE_ENDINGS.into_iter().filter(|_| language_of(script).is_none());
        for end in std::iter::once("").chain(endings) {
            let file = format!("{script}{end}");
            let Some(path) = state.path(&file).filter(|path| !is_installed(path)) else { return };
            let file = Value::text(file);
            if self.progress().is_there(state, &file) {
                let is_read = matches!(self.input.inquiry.file(&path), Some(FileFacts::Text { .. }));
                // What is written there by this very command is what it makes, not what it is given.
                let of_line = self.progress().content_of(state, &file).is_some_and(|text| {
                    !text.is_dynamic() || text.taint().has(Taint::FETCHED) || text.taint().has(Taint::DECODED)
                });
                let written = state.file(&file).and_then(|key| self.files.written.get(&key));
                let is_copy = written.is_some_and(|written| !written.copies.is_empty());
                if of_line || is_copy || is_read && self.input.is_changed(&path) {
                    let said = format!("{} may run {script}{end}", ran.name);
                    let language = language_of(&path).unwrap_or("shell");
                    self.loaded_file(state, &context.perhaps(), language, &file, said, ran);
                }
                return;
            }
        }
    }
}

/// Whether a part of an argument is the path of a script, by its ending or by where it begins.
fn may_name_a_script(part: &str) -> bool {
    match language_of(part) {
        // What is compiled first is no script.
        Some(language) => !matches!(language, "other" | "sql"),
        None => {
            let name = part.rsplit('/').next().unwrap_or_default();
            part.starts_with("./") && !name.is_empty() && !name.contains(['.', '*', '?', '['])
        }
    }
}
