//! Parses the tools that an agent offers its model, and converts a step to a call of one of them.
//!
//! Out of scope: the names of agents and of their tools, which the program that starts the stand-in knows.

use serde_json::{Map, Value, json};

use super::ScriptStep;
use super::dialect::ModelReply;

/// A tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub name: String,
    /// The schema of its input, as JSON Schema; `{}` if none is given.
    pub schema: Value,
    /// Whether it takes plain text instead of an object.
    pub takes_text: bool,
}

/// The names of arguments that contain a command, a path, or the content of a file.
const COMMANDS: [&str; 4] = ["command", "cmd", "commands", "code"];
const PATHS: [&str; 5] = ["file_path", "filePath", "path", "absolute_path", "target_file"];
const CONTENTS: [&str; 8] =
    ["content", "contents", "file_text", "new_string", "newString", "new_str", "new_text", "text"];
const PATCHES: [&str; 3] = ["input", "patch", "patchText"];

impl Tool {
    fn has(&self, argument: &str) -> bool {
        self.schema.pointer("/properties").and_then(|properties| properties.get(argument)).is_some()
    }

    /// Reports whether the tool has a `command` argument that selects one of several actions, and `word` is one of
    /// them.
    fn is_told_to(&self, word: &str) -> bool {
        let words = self.schema.pointer("/properties/command/enum").and_then(Value::as_array);
        words.is_some_and(|words| words.iter().any(|known| known == word))
    }

    /// Reports whether the tool takes a file and its content.
    fn writes(&self) -> bool {
        let has_one_of = |names: &[&str]| names.iter().any(|name| self.has(name));
        self.takes_text || has_one_of(&PATCHES[1..]) || has_one_of(&PATHS) && has_one_of(&CONTENTS)
    }

    /// Describes what can be proposed with the tool, for the program that chooses one.
    #[must_use]
    pub fn described(&self) -> Value {
        let writes = self.writes();
        let runs = COMMANDS.iter().any(|name| self.has(name)) && !self.is_told_to("create");
        json!({ "name": self.name, "runs": runs, "writes": writes })
    }

    /// Reports whether the tool takes a command. An agent that offers no such tool asks for something other than the
    /// next step.
    #[must_use]
    pub fn runs(&self) -> bool {
        COMMANDS.iter().any(|name| self.has(name)) || self.schema == json!({})
    }
}

/// Returns all tools that a request offers, in any protocol.
#[must_use]
pub fn tools(body: &Value) -> Vec<Tool> {
    let listed = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    listed.flat_map(of).collect()
}

fn of(entry: &Value) -> Vec<Tool> {
    let nested = ["functionDeclarations", "function_declarations", "tools"];
    if let Some(inner) = nested.iter().find_map(|name| entry.get(name)?.as_array()) {
        return inner.iter().flat_map(of).collect();
    }
    let inner = entry.get("function").unwrap_or(entry);
    let kind = entry.get("type").and_then(Value::as_str);
    let Some(name) = inner.get("name").and_then(Value::as_str).or(kind) else { return Vec::new() };
    let schemas = ["input_schema", "parametersJsonSchema", "parameters"];
    let schema = schemas.iter().find_map(|name| inner.get(name)).cloned().unwrap_or_else(|| json!({}));
    vec![Tool { name: name.to_owned(), schema, takes_text: kind == Some("custom") }]
}

/// Converts a step to a call of one of these tools; `None` if none of them can do it.
#[must_use]
pub fn call(step: &ScriptStep, offered: &[Tool]) -> Option<ModelReply> {
    let named = |names: &[String]| names.iter().find_map(|name| offered.iter().find(|tool| tool.name == *name));
    match step {
        ScriptStep::Say(text) => Some(ModelReply::Text(text.clone())),
        ScriptStep::Run { command, tools } => {
            let tool = named(tools)?;
            let given = COMMANDS.iter().map(|name| (*name, of_kind(tool, name, command)));
            let said = said(tool, given.collect());
            // A tool that takes no command still gets one as an extra argument, so that the person who is asked about
            // the call sees it.
            Some(if tool.runs() { said } else { said.with(COMMANDS[0], command) })
        }
        ScriptStep::Write { path, text, tools } => {
            let tool = named(tools)?;
            let added: String = text.lines().map(|line| format!("+{line}\n")).collect();
            let patch = format!("*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\n");
            if tool.takes_text {
                return Some(ModelReply::Call { name: tool.name.clone(), input: Value::String(patch), number: 0 });
            }
            let paths = PATHS.iter().map(|name| (*name, json!(path)));
            let contents = CONTENTS.iter().map(|name| (*name, json!(text)));
            let patches = PATCHES.iter().map(|name| (*name, json!(patch)));
            let creates = tool.is_told_to("create").then(|| ("command", json!("create")));
            Some(said(tool, paths.chain(contents).chain(patches).chain(creates).collect()))
        }
    }
}

/// Converts a command to the type of its argument: a string, a list of commands, or the words of one.
fn of_kind(tool: &Tool, argument: &str, command: &str) -> Value {
    let schema = tool.schema.pointer("/properties").and_then(|properties| properties.get(argument));
    let is_list = schema.is_some_and(|schema| schema["type"] == "array" || schema["type"] == "ARRAY");
    match (is_list, argument) {
        (true, "commands") => json!([command]),
        (true, _) => json!(["bash", "-lc", command]),
        (false, _) => json!(command),
    }
}

/// Returns a call with those of the given arguments that the tool takes, and placeholders for other required ones.
fn said(tool: &Tool, given: Vec<(&str, Value)>) -> ModelReply {
    let properties = tool.schema.get("properties").and_then(Value::as_object);
    let mut input = Map::new();
    for (name, value) in given {
        if properties.is_none_or(|properties| properties.contains_key(name)) {
            input.insert(name.to_owned(), value);
        }
    }
    let required = tool.schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !input.contains_key(name) {
            let schema = properties.and_then(|properties| properties.get(name)).unwrap_or(&Value::Null);
            input.insert(name.to_owned(), anything(schema));
        }
    }
    ModelReply::Call { name: tool.name.clone(), input: Value::Object(input), number: 0 }
}

/// Returns a value that a schema allows.
fn anything(schema: &Value) -> Value {
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    match schema.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase().as_str() {
        "boolean" => json!(false),
        "integer" | "number" => json!(30),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("a trial"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tools: &[&str]) -> ScriptStep {
        ScriptStep::Run { command: "ls".to_owned(), tools: tools.iter().map(ToString::to_string).collect() }
    }

    fn input(step: &ScriptStep, offered: &[Tool]) -> (String, Value) {
        match call(step, offered) {
            Some(ModelReply::Call { name, input, .. }) => (name, input),
            other => (format!("{other:?}"), Value::Null),
        }
    }

    #[test]
    fn tools_are_found_in_every_dialect() {
        let schema = json!({ "type": "object", "properties": { "command": { "type": "string" } } });
        for listed in [
            json!([{ "name": "sh", "input_schema": schema }]),
            json!([{ "type": "function", "name": "sh", "parameters": schema }]),
            json!([{ "type": "function", "function": { "name": "sh", "parameters": schema } }]),
            json!([{ "functionDeclarations": [{ "name": "sh", "parametersJsonSchema": schema }] }]),
            json!([{ "type": "namespace", "name": "own", "tools": [{ "type": "function", "name": "sh", "parameters": schema }] }]),
        ] {
            let found = tools(&json!({ "tools": listed }));
            assert_eq!(found, [Tool { name: "sh".to_owned(), schema: schema.clone(), takes_text: false }], "{listed}");
            assert!(found[0].runs());
            assert_eq!(input(&run(&["other", "sh"]), &found), ("sh".to_owned(), json!({ "command": "ls" })));
            assert_eq!(call(&run(&["other"]), &found), None);
        }
        assert_eq!(tools(&json!({})), []);
    }

    #[test]
    fn what_a_tool_needs_beside_is_filled_in_and_what_it_does_not_take_is_left_out() {
        let schema = json!({ "properties": { "cmd": { "type": "array" }, "why": { "type": "string" }, "level": { "enum": ["low", "high"] },
            "wait": { "type": "INTEGER" }, "open": { "type": "boolean" } }, "required": ["cmd", "why", "level", "wait", "open"] });
        let tool = Tool { name: "sh".to_owned(), schema, takes_text: false };
        let wanted =
            json!({ "cmd": ["bash", "-lc", "ls"], "why": "a trial", "level": "low", "wait": 30, "open": false });
        assert_eq!(input(&run(&["sh"]), &[tool]), ("sh".to_owned(), wanted));
    }

    #[test]
    fn a_tool_that_takes_no_command_is_given_one_beside_what_it_takes() {
        let schema = json!({ "properties": { "colour": {} }, "required": ["colour"] });
        let tool = Tool { name: "sh".to_owned(), schema, takes_text: false };
        assert_eq!(input(&run(&["sh"]), &[tool]).1, json!({ "colour": "a trial", "command": "ls" }));
    }

    #[test]
    fn a_file_is_written_by_path_and_content_or_as_a_patch() {
        let step = ScriptStep::Write { path: "/p".to_owned(), text: "a\nb\n".to_owned(), tools: vec!["w".to_owned()] };
        let tool = |schema: Value, takes_text| [Tool { name: "w".to_owned(), schema, takes_text }];
        let plain = tool(json!({ "properties": { "filePath": {}, "content": {} } }), false);
        assert_eq!(input(&step, &plain).1, json!({ "filePath": "/p", "content": "a\nb\n" }));
        let patch = "*** Begin Patch\n*** Add File: /p\n+a\n+b\n*** End Patch\n";
        assert_eq!(input(&step, &tool(json!({}), true)).1, json!(patch));
        let words = json!({ "properties": { "path": {}, "file_text": {}, "command": { "enum": ["view", "create"] } } });
        let created = json!({ "command": "create", "path": "/p", "file_text": "a\nb\n" });
        assert_eq!(input(&step, &tool(words, false)).1, created);
        assert_eq!(
            input(&step, &tool(json!({ "properties": { "patchText": {} } }), false)).1,
            json!({ "patchText": patch })
        );
    }

    #[test]
    fn what_can_be_proposed_with_a_tool_is_read_from_what_it_takes() {
        for (properties, takes_text, runs, writes) in [
            (json!({ "cmd": {}, "why": {} }), false, true, false),
            (json!({ "path": {}, "content": {} }), false, false, true),
            (json!({ "patch": {} }), false, false, true),
            (json!({}), true, false, true),
            (json!({ "path": {} }), false, false, false),
            (json!({ "command": { "enum": ["view", "create"] }, "path": {}, "file_text": {} }), false, false, true),
        ] {
            let tool = Tool { name: "t".to_owned(), schema: json!({ "properties": properties }), takes_text };
            assert_eq!(tool.described(), json!({ "name": "t", "runs": runs, "writes": writes }), "{properties}");
        }
    }

    #[test]
    fn a_tool_without_a_command_runs_nothing() {
        let tool = |schema| Tool { name: "t".to_owned(), schema, takes_text: false };
        assert!(!tool(json!({ "properties": { "path": {} } })).runs());
        assert!(tool(json!({ "properties": { "commands": {} } })).runs() && tool(json!({})).runs());
    }
}
