//! A call of a tool, as requested, and the ways in which hosts compose the names of tools.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pointer;
use crate::judge::name_words;

/// A call of a tool that is not a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ToolCall {
    /// The name that the host uses: `mcp__github__create_issue`, `calendar.delete_event`, `Task`.
    pub name: String,
    /// All names of the tool's server: in the client's configuration, of its package, and its own. Empty if only the
    /// tool's name contains the server.
    pub servers: Vec<String>,
    pub input: Value,
    /// The tool's description of itself. It never lowers what an entry or the tool's name says.
    pub description: Option<String>,
    /// The JSON schema of the input.
    pub schema: Option<Value>,
    /// The hints of MCP (`destructiveHint`, …).
    pub hints: Option<Value>,
    /// Pointers to the parts of the input that are neither shown nor stored. [`super::conceal`] sets them.
    pub hidden: Vec<String>,
    /// Warnings about the tool from its history and from the tools of other servers, which a single call does not
    /// contain.
    pub marks: Vec<ToolWarning>,
}

/// A problem with what a server says about its tool.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolWarning {
    /// The description or the schema is not the one that was first accepted.
    Changed,
    /// A tool of this other server has the same name.
    Shadows(String),
    /// The description contains this text, which addresses the model and does not describe the tool.
    Instructs(String),
}

/// The text that replaces a hidden part of an input.
pub const HIDDEN: &str = "***";

/// One interpretation of a tool's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    pub server: Option<Cow<'a, str>>,
    pub tool: &'a str,
}

/// The separators between server and tool in the names of hosts.
const BETWEEN: [&str; 5] = ["0mcp0", "__", ".", "/", ":"];

/// The minimum length of a hidden value that is removed from texts. A shorter one cannot be distinguished from other
/// words.
const LEAST_SCRUBBED: usize = 3;

/// The marks with which hosts truncate names that are too long, and the minimum length of a truncated name.
const CUTS: [&str; 2] = ["...", "___"];
const CUT_FROM: usize = 60;

impl ToolCall {
    /// Creates a call of which only the name and the input are known.
    #[must_use]
    pub fn new(name: impl Into<String>, input: Value) -> Self {
        Self { name: name.into(), input, ..Self::default() }
    }

    /// Creates a call from the text of its input. Text that is not JSON is the input itself, as a string.
    #[must_use]
    pub fn of_text(name: &str, input: &str) -> Self {
        Self::new(name, serde_json::from_str(input).unwrap_or_else(|_| input.into()))
    }

    /// Parses a call in the notation of examples: the name, a space, and the input as JSON. Returns `None` if that is
    /// not JSON.
    #[must_use]
    pub fn written(text: &str) -> Option<Self> {
        let (name, input) = text.trim().split_once(' ').unwrap_or((text.trim(), "{}"));
        Some(Self::new(name, serde_json::from_str(input).ok()?))
    }

    /// Reports whether the host removed the middle of the name.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.name.len() >= CUT_FROM && CUTS.iter().any(|cut| self.name.contains(cut))
    }

    /// Returns the interpretations of the name, the most likely first. There is always one.
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
        // If the server is known, only its name can be before the tool's.
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
            // Both names may contain the separator, so that the boundary is unknown.
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

    /// Returns the tool's name without its server's, if the host put that before it.
    fn behind(&self, server: &str) -> Option<&str> {
        let name = self.name.as_str();
        let name = ["mcp__", "mcp_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let rest = name.strip_prefix(server)?;
        let between = BETWEEN.iter().chain(&["_"]).find_map(|between| rest.strip_prefix(between))?;
        (!between.is_empty()).then_some(between)
    }

    /// Returns `server.tool` for people, or the tool's name alone.
    #[must_use]
    pub fn title(&self) -> String {
        let readings = self.readings();
        let Some(first) = readings.first() else { return self.name.clone() };
        match &first.server {
            Some(server) => format!("{server}.{}", first.tool),
            None => first.tool.to_owned(),
        }
    }

    /// Returns the title and the input, as JSON on one line, without the hidden parts.
    #[must_use]
    pub fn display(&self) -> String {
        let empty = self.input.is_null() || self.input.as_object().is_some_and(serde_json::Map::is_empty);
        if empty { self.title() } else { format!("{} {}", self.title(), self.shown()) }
    }

    /// Returns the input as it is shown and stored.
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

    /// Returns the call without the hidden parts.
    #[must_use]
    pub fn concealed(&self) -> Self {
        Self { input: self.shown().into_owned(), ..self.clone() }
    }

    /// Returns a text without the hidden values of the input, in case it quotes them.
    #[must_use]
    pub fn scrubbed(&self, text: &str) -> String {
        let hidden = self.hidden.iter().flat_map(|pointer| pointer::find(&self.input, pointer));
        let mut leaves: Vec<String> = hidden.flat_map(pointer::leaves).filter(|leaf| leaf != HIDDEN).collect();
        // A value that contains another one must be replaced before it.
        leaves.sort_by_key(|leaf| std::cmp::Reverse(leaf.len()));
        let plain = |text: String, leaf: &String| text.replace(leaf.as_str(), HIDDEN);
        leaves.iter().filter(|leaf| leaf.len() >= LEAST_SCRUBBED).fold(text.to_owned(), plain)
    }

    /// Returns the verb of the call, for grants: `tool:github.create_issue`.
    #[must_use]
    pub fn verb(&self) -> String {
        format!("tool:{}", self.title())
    }
}

impl Reading<'_> {
    /// Returns the tool's name in plain spelling.
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
