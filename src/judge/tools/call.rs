//! A call of a tool, as it was asked for, and the ways in which hosts write the names of tools.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pointer;
use crate::judge::name_words;

/// A call of a tool that is no command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolCall {
    /// As the host names it: `mcp__github__create_issue`, `calendar.delete_event`, `Task`.
    pub name: String,
    /// Every name by which the tool's server is known: in the client's configuration, of its package, what it calls
    /// itself. Empty where only the tool's name can tell.
    pub servers: Vec<String>,
    pub input: Value,
    /// What the tool says of itself. Nothing of it lowers what an entry or the tool's name says.
    pub description: Option<String>,
    /// The JSON schema of the input.
    pub schema: Option<Value>,
    /// The hints of MCP (`destructiveHint`, …).
    pub hints: Option<Value>,
    /// Pointers to the parts of the input that nobody is shown and nothing keeps: [`super::conceal`] sets them.
    pub hidden: Vec<String>,
    /// What was noticed of the tool over time and beside other servers', which no call tells.
    pub marks: Vec<ToolWarning>,
}

/// Something that is wrong with what a server says of its tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolWarning {
    /// Its description or its schema is another than the one that was looked at first.
    Changed,
    /// Another server's tool has this name too: the name of that server.
    Shadows(String),
    /// The description holds this, which speaks to the model and not of the tool.
    Instructs(String),
}

/// What stands where a part of an input is hidden.
pub const HIDDEN: &str = "***";

/// One reading of a tool's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    pub server: Option<Cow<'a, str>>,
    pub tool: &'a str,
}

/// What stands between server and tool where a host puts both into one name.
const BETWEEN: [&str; 5] = ["0mcp0", "__", ".", "/", ":"];

/// What is shorter than this is no secret that could be told from a word by itself.
const LEAST_SCRUBBED: usize = 3;

/// Where hosts cut names that are too long, and the least length of one that is cut.
const CUTS: [&str; 2] = ["...", "___"];
const CUT_FROM: usize = 60;

impl ToolCall {
    /// A call of which nothing but the name and the input is known.
    #[must_use]
    pub fn new(name: impl Into<String>, input: Value) -> Self {
        Self { name: name.into(), input, ..Self::default() }
    }

    /// The same with the input as a text. What is no JSON is a text itself.
    #[must_use]
    pub fn of_text(name: &str, input: &str) -> Self {
        Self::new(name, serde_json::from_str(input).unwrap_or_else(|_| input.into()))
    }

    /// As an example writes it: the name, and the input as JSON behind a blank. `None` where that is no JSON.
    #[must_use]
    pub fn written(text: &str) -> Option<Self> {
        let (name, input) = text.trim().split_once(' ').unwrap_or((text.trim(), "{}"));
        Some(Self::new(name, serde_json::from_str(input).ok()?))
    }

    /// Whether the host left something out of the middle of the name.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.name.len() >= CUT_FROM && CUTS.iter().any(|cut| self.name.contains(cut))
    }

    /// The ways to read the name, the likeliest first. There is always one.
    #[must_use]
    pub fn readings(&self) -> Vec<Reading<'_>> {
        let mut all = Vec::new();
        let mut add = |server: Option<&'_ str>, tool| {
            let server = server.map(|server| Cow::Owned(server.to_ascii_lowercase()));
            let reading = Reading { server, tool };
            if !tool.is_empty() && !all.contains(&reading) {
                all.push(reading);
            }
        };
        let name = self.name.as_str();
        // Where the server is known, only its name in front of the tool's can be one.
        for server in &self.servers {
            add(Some(server), self.behind(server).unwrap_or(name));
        }
        if !self.servers.is_empty() {
            return if all.is_empty() { vec![Reading { server: None, tool: name }] } else { all };
        }
        if let Some(rest) = name.strip_prefix("mcp__") {
            rest.match_indices("__").for_each(|(at, _)| add(rest.get(..at), rest.get(at + 2..).unwrap_or_default()));
            add(None, rest);
        } else if let Some(rest) = name.strip_prefix("mcp_") {
            // Both names may hold the separator: which is meant cannot be told.
            add(None, rest);
            rest.match_indices('_').for_each(|(at, _)| add(rest.get(..at), rest.get(at + 1..).unwrap_or_default()));
        } else if let Some((between, at)) = BETWEEN.iter().find_map(|between| Some((between, name.find(between)?))) {
            add(name.get(..at), name.get(at + between.len()..).unwrap_or_default());
            add(None, name);
        }
        if all.is_empty() {
            all.push(Reading { server: None, tool: name });
        }
        all
    }

    /// The tool's name behind the name of its server, where the host put that in front.
    fn behind(&self, server: &str) -> Option<&str> {
        let name = self.name.as_str();
        let name = ["mcp__", "mcp_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let rest = name.strip_prefix(server)?;
        let between = BETWEEN.iter().chain(&["_"]).find_map(|between| rest.strip_prefix(between))?;
        (!between.is_empty()).then_some(between)
    }

    /// `server.tool`, as a person reads it, or the tool's name alone.
    #[must_use]
    pub fn title(&self) -> String {
        let readings = self.readings();
        let Some(first) = readings.first() else { return self.name.clone() };
        match &first.server {
            Some(server) => format!("{server}.{}", first.tool),
            None => first.tool.to_owned(),
        }
    }

    /// The title and the input, as JSON on one line, without what is hidden of it.
    #[must_use]
    pub fn display(&self) -> String {
        let empty = self.input.is_null() || self.input.as_object().is_some_and(serde_json::Map::is_empty);
        if empty { self.title() } else { format!("{} {}", self.title(), self.shown()) }
    }

    /// The input as it is shown and kept.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, Value> {
        if self.hidden.is_empty() {
            return Cow::Borrowed(&self.input);
        }
        let mut input = self.input.clone();
        for pointer in &self.hidden {
            pointer::replace(&mut input, pointer, &HIDDEN.into());
        }
        Cow::Owned(input)
    }

    /// The call with nothing in it that is hidden.
    #[must_use]
    pub fn concealed(&self) -> Self {
        Self { input: self.shown().into_owned(), ..self.clone() }
    }

    /// A text without what is hidden of the input, should it be quoted there.
    #[must_use]
    pub fn scrubbed(&self, text: &str) -> String {
        let hidden = self.hidden.iter().flat_map(|pointer| pointer::find(&self.input, pointer));
        let mut leaves: Vec<String> = hidden.flat_map(pointer::leaves).filter(|leaf| leaf != HIDDEN).collect();
        // Of two of which one holds the other, the longer goes first.
        leaves.sort_by_key(|leaf| std::cmp::Reverse(leaf.len()));
        let plain = |text: String, leaf: &String| text.replace(leaf.as_str(), HIDDEN);
        leaves.iter().filter(|leaf| leaf.len() >= LEAST_SCRUBBED).fold(text.to_owned(), plain)
    }

    /// The tool and the names of its input, for grants: `tool:github.create_issue body title`.
    #[must_use]
    pub fn verb(&self) -> String {
        format!("tool:{}", self.title())
    }
}

impl Reading<'_> {
    /// The tool's name in plain spelling.
    #[must_use]
    pub fn plain(&self) -> String {
        name_words::plain(self.tool)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn readings(name: &str, servers: &[&str]) -> Vec<String> {
        let servers = servers.iter().map(|server| (*server).to_owned()).collect();
        let call = ToolCall { servers, ..ToolCall::new(name, Value::Null) };
        let said = |reading: &Reading<'_>| match &reading.server {
            Some(server) => format!("{server} {}", reading.tool),
            None => reading.tool.to_owned(),
        };
        call.readings().iter().map(said).collect()
    }

    #[test]
    fn the_names_of_all_hosts_are_read() {
        assert_eq!(readings("mcp__gh__list_issues", &[]), ["gh list_issues", "gh__list_issues"]);
        assert_eq!(readings("mcp__a__repo__create", &[])[..2], ["a repo__create", "a__repo create"]);
        assert_eq!(readings("mcp_git_hub_x", &[]), ["git_hub_x", "git hub_x", "git_hub x"]);
        assert_eq!(readings("Calendar.delete_event", &[])[0], "calendar delete_event");
        assert_eq!(readings("srv0mcp0list", &[])[0], "srv list");
        assert_eq!(readings("Task", &[]), ["Task"]);
        assert_eq!(readings("list_issues", &["GH", "@x/github"]), ["gh list_issues", "@x/github list_issues"]);
        assert_eq!(readings("mcp__a__b__list", &["a__b"]), ["a__b list"]);
        assert_eq!(readings("a_b_list", &["a_b"]), ["a_b list"]);
        assert_eq!(readings("", &[]), [""]);
        assert_eq!(readings("mcp__", &[]), ["mcp__"]);
    }

    #[test]
    fn a_name_that_was_cut_is_known_by_its_length_and_its_middle() {
        let long = "mcp_some_server_with_a_name_of...and_a_tool_with_a_long_name_x";
        assert!(ToolCall::new(long, Value::Null).is_cut());
        assert!(!ToolCall::new("a...b", Value::Null).is_cut());
        assert!(!ToolCall::new(long.replace("...", "aaa"), Value::Null).is_cut());
    }

    #[test]
    fn a_call_is_shown_with_its_input() {
        assert_eq!(ToolCall::new("mcp__a__b", json!({"x": 1})).display(), r#"a.b {"x":1}"#);
        assert_eq!(ToolCall::new("Task", json!({})).display(), "Task");
    }

    #[test]
    fn what_is_hidden_is_in_no_text() {
        let hidden = vec!["/card/*".to_owned(), "/pin".to_owned()];
        let input = json!({"card": {"number": "4000111122223333", "cvc": 987}, "pin": [45678], "to": "me"});
        let call = ToolCall { hidden, ..ToolCall::new("pay", input) };
        assert_eq!(call.display(), r#"pay {"card":{"cvc":"***","number":"***"},"pin":"***","to":"me"}"#);
        assert_eq!(call.concealed().display(), call.display());
        assert_eq!(call.scrubbed("to me with 4000111122223333, 987 and 45678"), "to me with ***, *** and ***");
        assert_eq!(call.concealed().scrubbed("***"), "***");
    }
}
