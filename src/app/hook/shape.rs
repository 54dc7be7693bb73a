//! Recognises what a tool would do from the shape of its input: a command, a changed file, a patch, a nested call.
//!
//! The agent's description takes precedence if it marks a tool as harmless or describes its input. The input of any
//! other tool is interpreted by the names of its fields, whatever the tool's name. Out of scope: names of agents and
//! tools, and judging.

use serde_json::Value;

use super::call::{InvalidCall, ToolAction, Typed, command, file, patch, text, words};
use crate::judge::agents::model::{KnownToolUse, NamedTool, Tools};
use crate::judge::invocation::{ChangeKind, FileChange};

/// Fields that contain a command for a shell.
const COMMAND: &[&str] = &[
    "command",
    "cmd",
    "commands",
    "command_line",
    "commandLine",
    "CommandLine",
    "Command",
    "shell_command",
    "shellCommand",
    "bash_command",
];

/// Fields that name the tool's file.
const FILE: &[&str] = &[
    "file_path",
    "filePath",
    "path",
    "absolutePath",
    "absolute_path",
    "target_file",
    "targetFile",
    "TargetFile",
    "AbsolutePath",
    "FilePath",
    "notebook_path",
    "target_notebook",
    "filename",
    "file_name",
    "destination",
    "output_path",
];

/// Fields that contain a patch.
const PATCH: &[&str] = &["patch", "patchText", "patch_text", "diff", "input", "command", "content"];

/// Fields that contain the new content of a file.
const CONTENT: &[&str] =
    &["content", "contents", "file_text", "fileText", "new_source", "code_edit", "CodeContent", "data", "body"];

/// Fields that contain replacement text.
const CHANGE: &[&str] = &[
    "old_string",
    "oldString",
    "new_string",
    "newString",
    "old_str",
    "new_str",
    "old_text",
    "new_text",
    "edits",
    "replacements",
    "insert_line",
    "insert_text",
    "before",
    "after",
];

/// Fields that name a nested tool, and the fields with its input.
const INNER_NAME: &[&str] = &["name", "tool", "tool_name", "toolName"];
const INNER_INPUT: &[&str] = &["arguments", "args", "input", "tool_input", "toolInput", "parameters", "params"];

/// Fields that contain something to run in addition to a command. Which of them the tool runs is unknown.
const BESIDE: &[&str] =
    &["script", "shell", "argv", "code", "arguments", "input", "params", "parameters", "url", "uri", "query"];

/// Values of the field `command` of a file editing tool that are not shell commands.
const EDITS: &[&str] = &["create", "write", "str_replace", "insert", "replace", "edit", "append"];
const VIEWS: &[&str] = &["view", "read", "undo_edit", "list"];

/// The maximum depth of nested calls.
const MAX_DEPTH: usize = 4;

/// Returns what a tool does with these arguments.
///
/// # Errors
/// The input lacks what the tool takes according to the agent's description.
pub fn used(tools: &Tools, tool: &str, arguments: &Value) -> Result<ToolAction, InvalidCall> {
    used_within(tools, tool, arguments, 0)
}

fn used_within(tools: &Tools, tool: &str, arguments: &Value, depth: usize) -> Result<ToolAction, InvalidCall> {
    // Some versions pass the object as a text.
    if let Value::String(text) = arguments
        && let Ok(object @ Value::Object(_)) = serde_json::from_str(text)
    {
        return used_within(tools, tool, &object, depth);
    }
    let plain = tools.prefix.iter().find_map(|prefix| tool.strip_prefix(prefix.as_str())).unwrap_or(tool);
    if let Some(known) = tools.known.iter().find(|known| known.names.iter().any(|name| name == plain)) {
        return known_to(known, plain, arguments);
    }
    if tools.harmless.iter().any(|name| name == plain) {
        return Ok(ToolAction::Other);
    }
    // A server's tool is judged by its name first, together with a command in its input.
    if is_served(tool) {
        return Ok(ToolAction::Tool { name: tool.to_owned(), input: arguments.to_string() });
    }
    if depth < MAX_DEPTH
        && let Some(inner) = text(arguments, INNER_NAME)
        && let Some(input) = INNER_INPUT.iter().find_map(|name| object(arguments.get(name)?))
    {
        return used_within(tools, inner, &input, depth + 1);
    }
    Ok(by_shape(plain, arguments))
}

/// Reports whether the name is that of a server's tool.
fn is_served(tool: &str) -> bool {
    tool.starts_with("mcp_") || tool.contains("0mcp0")
}

/// Returns an object, parsed if it is in a text.
fn object(value: &Value) -> Option<Value> {
    match value {
        Value::Object(_) => Some(value.clone()),
        Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    }
}

fn known_to(known: &NamedTool, tool: &str, arguments: &Value) -> Result<ToolAction, InvalidCall> {
    if let Some((field, words)) = &known.when
        && !text(arguments, &[field]).is_some_and(|word| words.iter().any(|known| known == word))
    {
        return Ok(ToolAction::Other);
    }
    let own = known.field.as_deref();
    let fields = |usual: &'static [&'static str]| -> Vec<&str> { own.map_or(usual.to_vec(), |own| vec![own]) };
    match &known.does {
        KnownToolUse::Line => command(tool, arguments, &fields(COMMAND)),
        KnownToolUse::Lines => lines(tool, arguments, &fields(COMMAND)),
        KnownToolUse::PowerShell => match text(arguments, &fields(COMMAND)) {
            Some(code) => Ok(ToolAction::PowerShell(code.to_owned())),
            None => Err(InvalidCall::input(tool, "command")),
        },
        KnownToolUse::Code(program) => match text(arguments, &fields(&["code", "script", "source"])) {
            Some(code) => Ok(ToolAction::Argv(vec![program.clone(), "-c".to_owned(), code.to_owned()])),
            None => Err(InvalidCall::input(tool, "code")),
        },
        KnownToolUse::Typed => {
            match text(arguments, &fields(&["text", "input", "input_text", "chars", "data", "keys"])) {
                Some(keys) => Ok(typed(known, keys, arguments)),
                None if own.is_some_and(|own| arguments.get(own).is_none()) => Ok(typed(known, "", arguments)),
                None => Err(InvalidCall::input(tool, "text")),
            }
        }
        KnownToolUse::Write => file(tool, arguments, &fields(FILE), ChangeKind::Write),
        KnownToolUse::Edit => match patched(tool, arguments) {
            Some(what) => what,
            None => file(tool, arguments, &fields(FILE), ChangeKind::Edit),
        },
        KnownToolUse::Delete => deleted(tool, arguments, &fields(FILE)),
        KnownToolUse::Patch => match patched(tool, arguments) {
            Some(what) => what,
            None if text(arguments, FILE).is_some() => file(tool, arguments, FILE, ChangeKind::Edit),
            None => Err(InvalidCall::input(tool, "patch that names a file")),
        },
    }
}

/// Returns the deletion of a file or of a list of files.
fn deleted(tool: &str, arguments: &Value, fields: &[&str]) -> Result<ToolAction, InvalidCall> {
    match fields.iter().find_map(|name| arguments.get(name)).and_then(words) {
        Some(paths) if !paths.is_empty() => {
            Ok(ToolAction::Files(paths.into_iter().map(|path| FileChange { kind: ChangeKind::Delete, path }).collect()))
        }
        _ => file(tool, arguments, fields, ChangeKind::Delete),
    }
}

/// Returns the typed text. Keys that only end or interrupt the program need no judgment.
fn typed(known: &NamedTool, keys: &str, arguments: &Value) -> ToolAction {
    /// Interrupt, end of input, line ends, and keys that discard the line.
    const PLAIN: [char; 6] = ['\u{3}', '\u{4}', '\r', '\n', '\u{15}', '\u{1c}'];
    let mut text = known.enter.iter().fold(keys.to_owned(), |text, key| text.replace(key.as_str(), "\n"));
    let is_edited = known.edits.iter().any(|key| text.contains(key.as_str()))
        || text.chars().any(|key| key.is_control() && !PLAIN.contains(&key));
    let field = known.when.as_ref().and_then(|(field, _)| arguments.get(field)?.as_str());
    if field.is_some_and(|word| known.ends.iter().any(|end| end == word)) {
        text.push('\n');
    }
    if text.is_empty() {
        ToolAction::Other
    } else {
        ToolAction::Typed(Typed { text: text.replace('\r', "\n"), is_edited })
    }
}

/// Returns the name of the program that a call starts or types into, if it gives one.
#[must_use]
pub fn to(tools: &Tools, tool: &str, arguments: &Value) -> Option<String> {
    let plain = tools.prefix.iter().find_map(|prefix| tool.strip_prefix(prefix.as_str())).unwrap_or(tool);
    let known = tools.known.iter().find(|known| known.names.iter().any(|name| name == plain))?;
    let object = object(arguments)?;
    let found = known.to.iter().find_map(|field| object.get(field))?;
    Some(found.as_str().map_or_else(|| found.to_string(), ToOwned::to_owned))
}

/// Returns the commands of a list, which may also be in a text.
fn lines(tool: &str, arguments: &Value, fields: &[&str]) -> Result<ToolAction, InvalidCall> {
    let found = fields.iter().find_map(|name| arguments.get(name)).unwrap_or(&Value::Null);
    let listed = match found {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(list @ Value::Array(_)) => list,
            _ => return Ok(ToolAction::Line(text.clone())),
        },
        other => other.clone(),
    };
    let entry = |entry: &Value| entry.as_str().or_else(|| text(entry, COMMAND)).map(ToOwned::to_owned);
    let commands: Option<Vec<String>> = listed.as_array().and_then(|list| list.iter().map(entry).collect());
    match commands {
        Some(commands) if !commands.is_empty() => Ok(ToolAction::Line(commands.join("\n"))),
        _ => Err(InvalidCall::input(tool, "command")),
    }
}

/// Returns the files of a patch, if the arguments contain one.
fn patched(tool: &str, arguments: &Value) -> Option<Result<ToolAction, InvalidCall>> {
    let texts = PATCH.iter().filter_map(|name| arguments.get(name)?.as_str()).chain(arguments.as_str());
    texts.into_iter().find(|text| text.contains("*** ")).map(|text| patch(tool, text))
}

/// Returns the action of a tool with an unknown name.
fn by_shape(tool: &str, arguments: &Value) -> ToolAction {
    let named = text(arguments, FILE).filter(|path| !path.is_empty());
    let word = text(arguments, &["command"]);
    if let (Some(path), Some(word)) = (named, word) {
        if EDITS.contains(&word) {
            return files(path, if matches!(word, "create" | "write") { ChangeKind::Write } else { ChangeKind::Edit });
        }
        if VIEWS.contains(&word) {
            return ToolAction::Other;
        }
    }
    if let Some(program) = word
        && let Some(arguments) = arguments.get("args").and_then(words)
    {
        return ToolAction::Argv(std::iter::once(program.to_owned()).chain(arguments).collect());
    }
    if is_more_than_a_command(arguments) {
        return ToolAction::Tool { name: tool.to_owned(), input: arguments.to_string() };
    }
    if let Ok(what) = lines_or_words(tool, arguments) {
        return what;
    }
    if let Some(Ok(what)) = patched(tool, arguments) {
        return what;
    }
    let has = |names: &[&str]| names.iter().any(|name| arguments.get(name).is_some());
    match named {
        Some(path) if has(CHANGE) => files(path, ChangeKind::Edit),
        Some(path) if has(CONTENT) => files(path, ChangeKind::Write),
        _ => ToolAction::Tool { name: tool.to_owned(), input: arguments.to_string() },
    }
}

/// Reports whether the arguments contain several fields that may each be what the tool runs.
fn is_more_than_a_command(arguments: &Value) -> bool {
    let Some(members) = arguments.as_object() else { return false };
    let commands = members.keys().filter(|name| COMMAND.contains(&name.as_str())).count();
    let beside = |(name, value): (&String, &Value)| {
        !COMMAND.contains(&name.as_str())
            && (BESIDE.contains(&name.as_str()) && !value.is_null() || holds_objects(value))
    };
    commands > 1 || commands == 1 && members.iter().any(beside)
}

fn holds_objects(value: &Value) -> bool {
    value.is_object() || value.as_array().is_some_and(|list| list.iter().any(holds_objects))
}

/// Returns a command from one of its fields: a text or a list of arguments. `commands` is a list of whole commands.
fn lines_or_words(tool: &str, arguments: &Value) -> Result<ToolAction, InvalidCall> {
    if arguments.get("commands").is_some() {
        lines(tool, arguments, &["commands"])
    } else {
        command(tool, arguments, COMMAND)
    }
}

fn files(path: &str, kind: ChangeKind) -> ToolAction {
    ToolAction::Files(vec![FileChange { kind, path: path.to_owned() }])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(arguments: &Value) -> ToolAction {
        used(&Tools::default(), "anything", arguments).unwrap()
    }

    fn line(text: &str) -> ToolAction {
        ToolAction::Line(text.to_owned())
    }

    #[test]
    fn a_command_is_one_whatever_the_tool_is_called() {
        assert_eq!(judged(&json!({ "command": "ls" })), line("ls"));
        assert_eq!(judged(&json!({ "cmd": "ls", "timeout": 3 })), line("ls"));
        assert_eq!(judged(&json!({ "commands": ["ls", "pwd"] })), line("ls\npwd"));
        assert_eq!(
            judged(&json!({ "command": ["rm", "-rf", "x"] })),
            ToolAction::Argv(["rm", "-rf", "x"].map(String::from).to_vec())
        );
        let split = json!({ "command": "rm", "args": ["-rf", "x"] });
        assert_eq!(judged(&split), ToolAction::Argv(["rm", "-rf", "x"].map(String::from).to_vec()));
    }

    #[test]
    fn a_call_in_a_call_is_what_is_called() {
        let nested = json!({ "name": "monitor", "arguments": { "command": "ls" } });
        assert_eq!(judged(&nested), line("ls"));
        let twice = json!({ "tool_name": "tool_call", "tool_input": nested.to_string() });
        assert_eq!(judged(&twice), line("ls"));
    }

    #[test]
    fn a_file_is_written_where_content_comes_with_a_path() {
        let written = |kind| files("a.txt", kind);
        assert_eq!(judged(&json!({ "path": "a.txt", "content": "x" })), written(ChangeKind::Write));
        assert_eq!(
            judged(&json!({ "filePath": "a.txt", "oldString": "x", "newString": "y" })),
            written(ChangeKind::Edit)
        );
        assert_eq!(
            judged(&json!({ "command": "create", "path": "a.txt", "file_text": "x" })),
            written(ChangeKind::Write)
        );
        assert_eq!(judged(&json!({ "command": "view", "path": "a.txt" })), ToolAction::Other);
        let patch = json!({ "input": "*** Begin Patch\n*** Update File: a.txt\n*** End Patch" });
        assert_eq!(judged(&patch), written(ChangeKind::Edit));
    }

    #[test]
    fn a_command_beside_something_else_that_could_run_is_judged_with_it() {
        for input in [
            json!({ "command": "ls", "script": "rm -rf x" }),
            json!({ "command": "ls", "cmd": "rm -rf x" }),
            json!({ "command": "ls", "options": { "command": "rm -rf x" } }),
        ] {
            assert!(matches!(judged(&input), ToolAction::Tool { .. }), "{input}");
        }
        assert_eq!(judged(&json!({ "command": "ls", "timeout": 5, "description": "x", "env": ["A=b"] })), line("ls"));
    }

    #[test]
    fn what_cannot_be_read_is_never_nothing() {
        for input in [json!({}), json!({ "path": "a.txt" }), json!({ "url": "https://x" }), json!(null), json!([1])] {
            assert!(matches!(judged(&input), ToolAction::Tool { .. }), "{input}");
        }
    }

    #[test]
    fn a_description_comes_first_but_does_not_hide_a_broken_call() {
        let known = |names: &[&str], does, field: Option<&str>, when| NamedTool {
            names: names.iter().map(ToString::to_string).collect(),
            does,
            field: field.map(str::to_owned),
            when,
            to: vec!["session_id".to_owned()],
            ends: vec!["submit".to_owned()],
            enter: vec!["{enter}".to_owned()],
            edits: vec!["{up}".to_owned()],
        };
        let tools = Tools {
            prefix: vec!["own__".to_owned()],
            harmless: vec!["view".to_owned()],
            known: vec![
                known(&["run"], KnownToolUse::Line, None, None),
                known(&["type"], KnownToolUse::Typed, Some("chars"), None),
                known(&["remove"], KnownToolUse::Delete, Some("paths"), None),
                known(&["python"], KnownToolUse::Code("python3".to_owned()), None, None),
                known(
                    &["process"],
                    KnownToolUse::Typed,
                    Some("data"),
                    Some(("action".to_owned(), vec!["submit".to_owned()])),
                ),
            ],
        };
        assert_eq!(used(&tools, "own__view", &json!({ "command": "rm" })), Ok(ToolAction::Other));
        assert!(used(&tools, "run", &json!({ "line": "rm" })).is_err());
        let typed = |text: &str, is_edited| Ok(ToolAction::Typed(Typed { text: text.to_owned(), is_edited }));
        assert_eq!(used(&tools, "type", &json!({ "chars": "ls\n" })), typed("ls\n", false));
        assert_eq!(used(&tools, "type", &json!({ "chars": "ls -l\t" })), typed("ls -l\t", true));
        assert_eq!(used(&tools, "type", &json!({ "chars": "{up}{enter}" })), typed("{up}\n", true));
        assert_eq!(used(&tools, "process", &json!({ "action": "poll", "data": "ls" })), Ok(ToolAction::Other));
        assert_eq!(used(&tools, "process", &json!({ "action": "submit", "data": "ls" })), typed("ls\n", false));
        assert_eq!(used(&tools, "process", &json!({ "action": "submit" })), typed("\n", false));
        assert_eq!(to(&tools, "process", &json!({ "action": "submit", "session_id": 7 })).as_deref(), Some("7"));
        let code = ToolAction::Argv(["python3", "-c", "print(1)"].map(String::from).to_vec());
        let gone = ["a", "b c"].map(|path| FileChange { kind: ChangeKind::Delete, path: path.to_owned() }).to_vec();
        assert_eq!(used(&tools, "remove", &json!({ "paths": ["a", "b c"] })), Ok(ToolAction::Files(gone)));
        assert!(used(&tools, "remove", &json!({ "paths": [] })).is_err());
        assert!(used(&tools, "remove", &json!({ "paths": ["a", 7] })).is_err());
        assert_eq!(used(&tools, "python", &json!({ "code": "print(1)" })), Ok(code));
    }
}
