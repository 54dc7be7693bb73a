//! Code that a program loads in addition to its script, or by the name of a module: modules, preloaded files, commands
//! in settings.
//!
//! Out of scope: walking the code.

use crate::judge::analysis::act::{Operand, Value};
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::marked_text::MarkedText;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::streams::Stream;
use crate::judge::rules::glob;
use crate::judge::rules::model::{Module, SettingLine};
use crate::judge::syntax::tree::Span;

/// Maximum number of lines of a settings file that are read.
const MAX_SETTINGS: usize = 256;

/// Code that a program loads.
pub(super) enum LoadedCode {
    /// The text that the command wrote.
    Text(Value),
    /// A file that the command wrote, copied or changed.
    Written(Value),
    /// A file whose content is not the known text of the command.
    File(Operand),
}

/// The code that a module runs, which is named by an option (`python3 -m unittest`).
pub(super) enum ModuleCode {
    Stdin,
    /// A script at this path.
    Script(Value),
    /// A module at this path without its ending.
    Module(Value),
}

impl AnalysisInput<'_> {
    /// Returns the code of the module that a run names.
    pub(super) fn module_code(&self, module: &Module, ran: ProgramRun<'_>) -> Option<ModuleCode> {
        let (args, option) = (ran.args, module.option.as_str());
        let known: Vec<Option<String>> = args.iter().map(|field| field.value.known_text()).collect();
        let at = known.iter().position(|word| word.as_deref().is_some_and(|word| word.starts_with(option)))?;
        let attached = known[at].as_deref().and_then(|word| word.strip_prefix(option)).filter(|name| !name.is_empty());
        let behind = at + 1 + usize::from(attached.is_none());
        let name = attached.or_else(|| known.get(at + 1)?.as_deref())?;
        let is_among = |names: &[String]| names.iter().any(|known| known == name);
        if is_among(&module.stdin) {
            return Some(ModuleCode::Stdin);
        }
        let mut named = None;
        if is_among(&module.runs) {
            let rest = args.get(behind..).unwrap_or_default();
            // Options may have values; a script is recognised by its name.
            let is_script = |field: &&Field| field.value.rough().ends_with(&module.script);
            if let Some(script) = rest.iter().find(is_script) {
                return Some(ModuleCode::Script(script.value.clone()));
            }
            named = rest.iter().find(|field| !field.value.leading().starts_with('-')).map(|field| field.value.clone());
        }
        let name = named.unwrap_or_else(|| Value::text(name)).known_text()?;
        let is_described = self.catalog.program(&name).is_some();
        (!is_described).then(|| ModuleCode::Module(Value::text(name.replace('.', "/"))))
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the code in a file, whose name may be given without its ending.
    pub(super) fn code_named(
        &self,
        state: &State,
        name: &Value,
        ends: &[impl AsRef<str>],
        span: Span,
    ) -> Option<LoadedCode> {
        ends.iter().find_map(|end| {
            let mut file = name.clone();
            file.push_text(end.as_ref());
            if self.is_written(state, &file) {
                return Some(LoadedCode::Written(file));
            }
            if let Some(text) = self.content_of(state, &file) {
                return Some(LoadedCode::Text(text));
            }
            let place = file.known().and_then(|path| state.place(&path))?;
            let is_read = |path: &str| matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. }));
            let is_there = self.is_fetched(&place) || self.is_unpacked(&place) || place.text().is_some_and(is_read);
            is_there.then_some(LoadedCode::File(Operand { value: file, span }))
        })
    }

    /// Returns the code from standard input, if there is any.
    pub(super) fn code_on_stdin(&self, state: &State) -> Option<LoadedCode> {
        match &state.streams.stdin {
            Stream::Inherited | Stream::Nothing => None,
            Stream::File(operand, _) if self.is_written(state, &operand.value) => {
                Some(LoadedCode::Written(operand.value.clone()))
            }
            Stream::File(operand, _) if self.content_of(state, &operand.value).is_none() => {
                Some(LoadedCode::File(Operand::clone(operand)))
            }
            _ => Some(LoadedCode::Text(self.stdin_of(state).0)),
        }
    }
}

/// Returns the commands in the lines of a settings file.
pub(super) fn commands_in_lines(text: &Value, lines: &[SettingLine]) -> Vec<Value> {
    let text = MarkedText::new(text);
    let given = text.text().lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    given.take(MAX_SETTINGS).filter_map(|line| command_in(line, lines)).map(|command| text.value(&command)).collect()
}

/// Returns the command in a line of settings, by the first description that matches.
fn command_in(line: &str, lines: &[SettingLine]) -> Option<String> {
    // A key ends at the first `=` or `:` that ends a known key; the text before its last part is a table or a scope.
    let keyed = ['=', ':'].into_iter().find_map(|mark| {
        let known = || lines.iter().filter_map(move |known| Some((known, known.begins.strip_suffix(mark)?)));
        known().next()?;
        line.match_indices(mark).find_map(|(at, _)| {
            // An item of a list, or of an object on one line.
            let key =
                line[..at].trim().trim_start_matches("- ").rsplit(['.', ':', ',', '{']).next().unwrap_or_default();
            let key = key.trim().trim_matches(['"', '\'']);
            let value = line[at + 1..].trim();
            let in_object = line[..at].contains('{');
            let value = if in_object { value.split([',', '}']).next().unwrap_or_default() } else { value };
            known().find(|(_, name)| *name == key).map(|(known, _)| (known, value))
        })
    });
    if let Some((known, value)) = keyed {
        // A list is a program and its arguments.
        let list = value.strip_prefix('[').map(|list| list.trim_end_matches(']').replace(',', " "));
        let value = list.unwrap_or_else(|| value.to_owned());
        return Some(behind(known, value));
    }
    let first = line.split_whitespace().next()?;
    let begins =
        |known: &&SettingLine| known.begins == first || known.begins.contains('*') && glob::text(&known.begins, line);
    let found = lines.iter().find(|known| known.begins.is_empty() || begins(known))?;
    let mut rest = line;
    for _ in 0..found.skip {
        rest = rest.trim_start().split_once(char::is_whitespace).map_or("", |(_, rest)| rest);
    }
    // The command may be preceded by a list of descriptors.
    while let Some(behind) = rest.strip_prefix([' ', '\t', '.', '!', ':', '|']).filter(|_| found.skip > 0) {
        if ["./", "../"].iter().any(|path| rest.starts_with(path)) {
            break;
        }
        rest = behind;
    }
    Some(behind(found, rest.to_owned()))
}

/// Returns the text of a line, after the text that the description puts before it.
fn behind(line: &SettingLine, said: String) -> String {
    let said = if line.word {
        let text = said.split(" #").next().unwrap_or_default();
        let bare = text.trim().trim_end_matches(';').trim_matches(['"', '\''].as_slice());
        format!("'{}'", bare.replace('\'', r"'\''"))
    } else {
        said
    };
    match line.before.as_str() {
        "" => said,
        // The text is the value of an option.
        option if option.ends_with('=') => format!("{option}{said}"),
        before => format!("{before} {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_settings_is_the_command_that_it_runs() {
        let line = |begins: &str, skip, before: &str| SettingLine {
            begins: begins.into(),
            skip,
            before: before.into(),
            word: false,
        };
        let screen = [line("screen", 0, ""), line("exec", 1, ""), line("backtick", 4, "")];
        assert_eq!(command_in("screen -t x rm y", &screen).as_deref(), Some("screen -t x rm y"));
        assert_eq!(command_in("exec !.. rm x", &screen).as_deref(), Some("rm x"));
        assert_eq!(command_in("exec ./run x", &screen).as_deref(), Some("./run x"));
        assert_eq!(command_in("backtick 1 30  30 rm x", &screen).as_deref(), Some("rm x"));
        assert_eq!(command_in("bind x exec rm", &screen), None);
        assert_eq!(command_in("run-shell x", &[line("", 0, "tmux")]).as_deref(), Some("tmux run-shell x"));
        let lists = [line("source:", 0, "x --from="), line("- *.y*ml", 1, "x -f"), line("-", 1, "x -v")];
        assert_eq!(command_in("source: /", &lists).as_deref(), Some("x --from=/"));
        assert_eq!(command_in("- source: /", &lists).as_deref(), Some("x --from=/"));
        assert_eq!(command_in("- {type: bind, source: /, target: /h}", &lists).as_deref(), Some("x --from=/"));
        assert_eq!(command_in("- a.yml", &lists).as_deref(), Some("x -f a.yml"));
        assert_eq!(command_in("- /:/h", &lists).as_deref(), Some("x -v /:/h"));
        let keys = [line("wrapper=", 0, ""), line("runner=", 0, "")];
        assert_eq!(command_in("wrapper = \"./x\"", &keys).as_deref(), Some("\"./x\""));
        assert_eq!(command_in("build.wrapper=./x", &keys).as_deref(), Some("./x"));
        assert_eq!(command_in("runner = [\"a\", 'b c']", &keys).as_deref(), Some("\"a\"  'b c'"));
        assert_eq!(command_in("my-wrapper = \"./x\"", &keys), None);
        assert_eq!(command_in("wrapper \"./x\"", &keys), None);
        let sources =
            [line("source=", 0, "ours get --from"), line("server:", 0, "ours get --from"), line("get", 1, "ours")];
        assert_eq!(command_in("source = \"h://x?a=b\"", &sources).as_deref(), Some("ours get --from \"h://x?a=b\""));
        assert_eq!(command_in("@some:source=h://x", &sources).as_deref(), Some("ours get --from h://x"));
        assert_eq!(command_in("server: 'h://x'", &sources).as_deref(), Some("ours get --from 'h://x'"));
        assert_eq!(command_in("//x/:token=server:y", &sources), None);
        let word = [SettingLine { word: true, ..line("", 0, "ours get") }];
        assert_eq!(command_in("a>=1; b < \"c\"  # d", &word).as_deref(), Some("ours get 'a>=1; b < \"c'"));
        assert_eq!(command_in("it's", &word).as_deref(), Some("ours get 'it'\\''s'"));
        assert_eq!(command_in("get a b", &sources).as_deref(), Some("ours a b"));
    }
}
