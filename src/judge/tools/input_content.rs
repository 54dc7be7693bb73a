//! Finds commands, code, paths and URLs in the input of a call that no entry describes, by the names and the form of
//! its members at any depth, and calls of other tools.
//!
//! The names are data (`patterns/guess/tools.toml`). Out of scope: judging what is found.

use serde_json::{Map, Value};

use super::address;
use super::call::ToolCall;
use crate::judge::effect::Effect;
use crate::judge::lexicon::{Lexicon, LexiconIndex, PropertyWords};
use crate::judge::name_words;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::model::{InputKind, Language};

/// Maximum depth and maximum number of members that are searched. What is beyond them is unknown.
const MOST_DEPTH: usize = 12;
const MOST_MEMBERS: usize = 20_000;

/// A part of an input, and its kind.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundPart {
    pub what: InputKind,
    pub value: Value,
}

impl FoundPart {
    /// Reports whether it determines what a tool does that runs its input.
    #[must_use]
    pub fn is_run(&self) -> bool {
        match &self.what {
            InputKind::Command => true,
            InputKind::Code(language) => *language != Language::Other,
            InputKind::Effect(_) | InputKind::Path => false,
        }
    }
}

/// Reports whether a property of this name contains a command.
#[must_use]
pub fn is_command(name: &str, known: &LexiconIndex) -> bool {
    let name = name_words::plain(name);
    let is_one = |list: &&PropertyWords| list.words.iter().any(|word| stands_for(word, &name));
    known.lexicon.held.iter().find(is_one).is_some_and(|list| InputKind::named(&list.what) == Some(InputKind::Command))
}

/// The result of the search.
#[derive(Clone, Debug, Default)]
pub struct InputContent {
    pub parts: Vec<FoundPart>,
    /// Calls of other tools.
    pub calls: Vec<ToolCall>,
    /// Whether parts of the input were not searched.
    pub is_cut: bool,
}

/// Searches the input of a call. `runs` is whether the tool runs its input, according to its name.
#[must_use]
pub fn of(call: &ToolCall, runs: bool, catalog: &Catalog) -> InputContent {
    let mut names = name_words::of_name(&call.name);
    names.extend(call.servers.iter().flat_map(|server| name_words::of_name(server)));
    let lexicon = &catalog.lexicon().lexicon;
    let language = names.iter().find_map(|word| language(lexicon, word));
    let mut search = Search { lexicon, catalog, runs, left: MOST_MEMBERS, found: InputContent::default() };
    match &call.input {
        Value::String(text) if runs => search.hold(InputKind::Command, text.as_str().into()),
        input => search.value(input, language.as_ref(), 0),
    }
    search.found
}

struct Search<'a> {
    lexicon: &'a Lexicon,
    catalog: &'a Catalog,
    runs: bool,
    left: usize,
    found: InputContent,
}

impl Search<'_> {
    fn hold(&mut self, what: InputKind, value: Value) {
        let part = FoundPart { what, value };
        if !self.found.parts.contains(&part) {
            self.found.parts.push(part);
        }
    }

    /// Reports whether another value may be searched.
    fn step(&mut self, depth: usize) -> bool {
        let goes = depth <= MOST_DEPTH && self.left > 0;
        self.left = self.left.saturating_sub(1);
        self.found.is_cut |= !goes;
        goes
    }

    /// Searches a value whose name has no meaning.
    fn value(&mut self, value: &Value, language: Option<&InputKind>, depth: usize) {
        if !self.step(depth) {
            return;
        }
        match value {
            Value::String(text) if address::is_one(text, &self.lexicon.schemes) => {
                self.hold(InputKind::Effect(Effect::Fetch), value.clone());
            }
            Value::Array(elements) => {
                elements.iter().for_each(|element| self.value(element, language, depth + 1));
            }
            Value::Object(members) => self.object(members, language, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn object(&mut self, members: &Map<String, Value>, language: Option<&InputKind>, depth: usize) {
        let plain: Vec<(String, &Value)> =
            members.iter().map(|(name, value)| (name_words::plain(name), value)).collect();
        let said = plain.iter().filter(|(name, _)| self.lexicon.language.contains(name));
        let said = said.filter_map(|(_, value)| value.as_str()).find_map(|word| self::language(self.lexicon, word));
        let language = said.as_ref().or(language);
        self.calls(&plain);
        self.arguments(&plain);
        for (name, value) in &plain {
            self.member(name, value, language, depth + 1);
        }
    }

    fn member(&mut self, name: &str, value: &Value, language: Option<&InputKind>, depth: usize) {
        if let Some(object) = self.written(name, value) {
            return self.value(&object, language, depth);
        }
        let is_one_of = |list: &[String]| list.iter().any(|word| stands_for(word, name));
        let list = self.lexicon.held.iter().find(|list| is_one_of(&list.words));
        let what = list.and_then(|list| InputKind::named(&list.what));
        if is_one_of(&self.lexicon.code) {
            let usual = what.unwrap_or(InputKind::Code(Language::Other));
            return self.texts(&language.cloned().unwrap_or(usual), value, language, depth);
        }
        if is_one_of(&self.lexicon.commands) {
            return self.texts(&InputKind::Command, value, language, depth);
        }
        match (what, value) {
            // A list of strings is one command.
            (Some(InputKind::Command), Value::Array(list)) if list.iter().all(Value::is_string) => {
                self.hold(InputKind::Command, value.clone());
            }
            (Some(what), value) => self.texts(&what, value, language, depth),
            (None, value) => self.value(value, language, depth),
        }
    }

    /// Adds each text as a part of this kind, and searches objects by the names of their members.
    fn texts(&mut self, what: &InputKind, value: &Value, language: Option<&InputKind>, depth: usize) {
        if !self.step(depth) {
            return;
        }
        match value {
            Value::String(text)
                if address::is_one(text, &self.lexicon.schemes) && !matches!(what, InputKind::Command) =>
            {
                self.value(value, language, depth)
            }
            Value::String(_) => self.hold(what.clone(), value.clone()),
            Value::Array(elements) => {
                elements.iter().for_each(|element| self.texts(what, element, language, depth + 1));
            }
            Value::Object(members) => {
                let before = self.found.parts.len();
                self.object(members, language, depth);
                let is_run = match what {
                    InputKind::Command => true,
                    InputKind::Code(language) => *language != Language::Sql,
                    InputKind::Effect(_) | InputKind::Path => false,
                };
                // The command cannot be distinguished from the members around it.
                if is_run && before == self.found.parts.len() {
                    self.hold(what.clone(), value.clone());
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Parses the object in a text, if members of this name contain inputs.
    fn written(&self, name: &str, value: &Value) -> Option<Value> {
        let text = value.as_str()?.trim();
        let calls = &self.lexicon.calls;
        let is_input = calls.input.iter().chain(&calls.list).any(|known| known == name);
        let is_json = is_input && text.starts_with(['{', '[']);
        is_json.then(|| serde_json::from_str(text).ok())?
    }

    /// Adds a command that consists of a program and its arguments, as members of an object or as one list.
    fn arguments(&mut self, members: &[(String, &Value)]) {
        let named = |names: &[String]| members.iter().find(|(name, _)| names.contains(name)).map(|(_, value)| *value);
        let Some(given) = named(&self.lexicon.arguments) else { return };
        let program = named(&self.lexicon.program).and_then(Value::as_str).filter(|word| !word.trim().is_empty());
        let list = given.as_array().filter(|list| !list.iter().any(|word| word.is_object() || word.is_array()));
        match (program, list, given.as_str()) {
            (Some(program), Some(list), _) if !program.contains(char::is_whitespace) => {
                let words = std::iter::once(program.into()).chain(list.iter().cloned());
                self.hold(InputKind::Command, words.collect());
            }
            (Some(line), Some(list), _) => {
                let quoted = list.iter().map(|word| quoted(&super::entries::text(word)));
                let words: Vec<String> = std::iter::once(line.to_owned()).chain(quoted).collect();
                self.hold(InputKind::Command, words.join(" ").into());
            }
            (Some(line), None, Some(rest)) => self.hold(InputKind::Command, format!("{line} {rest}").into()),
            (None, Some(list), _) if self.runs || list.first().is_some_and(|word| self.is_program(word)) => {
                self.hold(InputKind::Command, Value::Array(list.clone()));
            }
            (None, None, Some(text)) if self.runs && !text.trim_start().starts_with(['{', '[']) => {
                self.hold(InputKind::Command, text.into());
            }
            _ => {}
        }
    }

    /// Reports whether a word is the name of a described program.
    fn is_program(&self, word: &Value) -> bool {
        let Some(word) = word.as_str() else { return false };
        let name = word.rsplit('/').next().unwrap_or(word);
        !name.is_empty() && self.catalog.program(name).is_some()
    }

    /// Adds a call of another tool, whose name and input are members of the same object.
    fn calls(&mut self, members: &[(String, &Value)]) {
        let calls = &self.lexicon.calls;
        let first = |names: &[String]| {
            names.iter().find_map(|known| members.iter().find(|(name, _)| name == known)).map(|(_, value)| *value)
        };
        let is_name = |text: &&str| {
            !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.:/".contains(letter))
        };
        let Some(name) = first(&calls.name).and_then(Value::as_str).filter(is_name) else { return };
        let object = |value: &Value| match value {
            Value::Object(_) => Some(value.clone()),
            Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_object),
            _ => None,
        };
        let inputs = calls.input.iter().filter_map(|known| members.iter().find(|(name, _)| name == known));
        let Some(input) = inputs.filter_map(|(_, value)| object(value)).next() else { return };
        let server = first(&calls.server).and_then(Value::as_str).map(ToOwned::to_owned);
        let call = ToolCall { servers: server.into_iter().collect(), ..ToolCall::new(name, input) };
        self.found.calls.push(call);
    }
}

/// Returns the language of this name: `Python 3.12`, `bash`.
#[must_use]
pub fn language(lexicon: &Lexicon, word: &str) -> Option<InputKind> {
    let plain = name_words::plain(word);
    let name = plain.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
    let is_named = |list: &&PropertyWords| list.words.iter().any(|known| known == name || *known == plain);
    lexicon.languages.iter().find(is_named).and_then(|list| InputKind::named(&list.what))
}

/// Reports whether a word of a list denotes this name: the name itself, or its ending after `*_`.
fn stands_for(word: &str, name: &str) -> bool {
    let ends = |end: &str| name.strip_suffix(end).is_some_and(|front| front.len() > 1 && front.ends_with('_'));
    word == name || word.strip_prefix("*_").is_some_and(ends)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_word_of_the_list_stands_for_itself_or_for_the_end_of_a_name() {
        for (word, name, wanted) in [
            ("command", "command", true),
            ("command", "cli_command", false),
            ("*_command", "cli_command", true),
            ("*_command", "my_cli_command", true),
            ("*_command", "command", false),
            ("*_command", "_command", false),
            ("*_command", "telecommand", false),
            ("*_command", "command_id", false),
        ] {
            assert_eq!(stands_for(word, name), wanted, "{word} {name}");
        }
    }

    fn parts(name: &str, runs: bool, input: Value) -> Vec<(InputKind, Value)> {
        let found = of(&ToolCall::new(name, input), runs, &Catalog::builtin());
        found.parts.into_iter().map(|part| (part.what, part.value)).collect()
    }

    #[test]
    fn commands_and_code_are_found_under_every_usual_name_and_however_deep() {
        let command = |value: Value| vec![(InputKind::Command, value)];
        for (input, wanted) in [
            (json!({"shell": "ls"}), command(json!("ls"))),
            (json!({"argv": ["ls", "-l"]}), command(json!(["ls", "-l"]))),
            (json!({"args": ["rm", "x"]}), command(json!(["rm", "x"]))),
            (json!({"args": ["first", "second"]}), vec![]),
            (json!({"program": "git", "args": ["push", 1]}), command(json!(["git", "push", 1]))),
            (json!({"input": {"command": "ls"}}), command(json!("ls"))),
            (json!({"params": "{\"nested\": [{\"command\": \"ls\"}]}"}), command(json!("ls"))),
            (
                json!({"commands": ["ls", "pwd"]}),
                vec![(InputKind::Command, json!("ls")), (InputKind::Command, json!("pwd"))],
            ),
            (json!({"language": "Bash", "code": "ls"}), command(json!("ls"))),
            (
                json!({"options": {"lang": "python3.12"}, "code": "x"}),
                vec![(InputKind::Code(Language::Other), json!("x"))],
            ),
            (
                json!({"lang": "python3.12", "file": {"code": "x"}}),
                vec![(InputKind::Code(Language::Python), json!("x"))],
            ),
            (json!({"language": "rust", "code": "x"}), vec![(InputKind::Code(Language::Other), json!("x"))]),
        ] {
            assert_eq!(parts("anything", false, input.clone()), wanted, "{input}");
        }
        assert_eq!(
            parts("python_repl", false, json!({"code": "x"})),
            [(InputKind::Code(Language::Python), json!("x"))]
        );
        assert_eq!(parts("run", true, json!({"args": ["first"]})), command(json!(["first"])));
        assert_eq!(parts("run", true, json!({"command": "a b", "args": ["c d"]}))[0].1, json!("a b 'c d'"));
    }

    #[test]
    fn a_call_in_a_call_is_found_with_its_server() {
        let input =
            json!({"steps": [{"server_name": "github", "tool_name": "delete_repo", "arguments": "{\"a\": 1}"}]});
        let found = of(&ToolCall::new("batch", input), false, &Catalog::builtin());
        assert_eq!(found.calls.len(), 1);
        assert_eq!(found.calls[0].title(), "github.delete_repo");
        assert_eq!(found.calls[0].input, json!({"a": 1}));
        let plain = of(&ToolCall::new("create", json!({"name": "two words", "input": {}})), false, &Catalog::builtin());
        assert!(plain.calls.is_empty());
    }

    #[test]
    fn what_lies_too_deep_is_said_to_be_there() {
        let deep = (0..MOST_DEPTH + 2).fold(json!({"command": "ls"}), |inner, _| json!({ "x": inner }));
        assert!(of(&ToolCall::new("get", deep), false, &Catalog::builtin()).is_cut);
        assert!(!of(&ToolCall::new("get", json!({"x": {"y": [1, 2]}})), false, &Catalog::builtin()).is_cut);
    }
}
