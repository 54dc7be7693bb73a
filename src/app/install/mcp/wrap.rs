//! Puts `guard mcp` in front of the servers in the configuration of an MCP client, and removes it again. Input and
//! output are texts; everything but the commands of the servers is preserved byte for byte.

use std::ops::Range;

use toml_edit::{DocumentMut, Item, TableLike};

use super::ServersFormat;
use super::remote::{self, Shape};
use crate::app::install::file::line_of;
use crate::app::install::json::{self, JsonKind, Node, quoted};

/// A configuration whose servers were put behind guard, or restored.
#[derive(Debug, Default, PartialEq)]
pub struct Wrapped {
    pub text: String,
    /// The number of servers behind guard in `text`; on removal, the number of servers that guard was removed from.
    pub servers: usize,
    /// The servers that are not changed, each with the reason.
    pub left: Vec<(String, &'static str)>,
}

/// The reason why a configuration cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    #[error("line {line}: {what}")]
    Json { line: usize, what: String },
    #[error(transparent)]
    Toml(#[from] toml_edit::TomlError),
    /// The edited text is not valid JSON.
    #[error("cannot be changed: {0}")]
    Result(String),
}

/// A reason why a server is not changed.
const REMOTE: &str = "it uses HTTP, which guard does not configure in TOML; see guard mcp --http";
const UNCLEAR: &str = "its start command is not known";

/// The format in which a client stores its servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConfigStyle<'a> {
    pub form: ServersFormat,
    pub http: &'a Shape,
}

/// Returns the words that precede a server's own command.
fn front(name: &str) -> [String; 4] {
    ["mcp".to_owned(), "--name".to_owned(), name.to_owned(), "--".to_owned()]
}

/// Returns the words after guard itself, or `None` if the command starts another program.
fn own_words<'w, 's>(words: &'w [&'s str], guard: &str) -> Option<&'w [&'s str]> {
    let (program, rest) = words.split_first()?;
    (*program == guard || program.rsplit('/').next() == Some("guard")).then_some(rest)
}

/// Returns the words of a server without those of guard, or `None` if guard is not in front.
fn behind<'w>(words: &'w [&'w str], guard: &str) -> Option<&'w [&'w str]> {
    let rest = own_words(words, guard)?;
    let at = rest.iter().position(|word| *word == "--").filter(|_| rest.first() == Some(&"mcp"))?;
    rest.get(at + 1..).filter(|own| !own.is_empty())
}

/// Changes the servers of a configuration in JSON with comments.
pub(super) fn json(
    text: &str,
    keys: &[Vec<String>],
    how: ConfigStyle,
    guard: &str,
    takes_out: bool,
) -> Result<Wrapped, WrapError> {
    let root =
        json::parse(text).map_err(|error| WrapError::Json { line: line_of(text, error.at), what: error.what })?;
    let mut done = Wrapped::default();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for path in keys {
        for servers in all(&root, path) {
            for server in servers.members() {
                let change = Change { text, name: &server.key, node: &server.value, how, guard };
                match change.edits(takes_out) {
                    Ok(Some(own)) => {
                        done.servers += 1;
                        edits.extend(own);
                    }
                    Ok(None) => done.servers += usize::from(!takes_out),
                    Err(why) if !takes_out => done.left.push((server.key.clone(), why)),
                    Err(_) => {}
                }
            }
        }
    }
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let mut new = text.to_owned();
    for (span, with) in edits {
        new.replace_range(span, &with);
    }
    // Verify that the edited text can be parsed.
    json::parse(&new).map_err(|error| WrapError::Result(error.what))?;
    done.text = new;
    Ok(done)
}

/// Returns every node that a path of keys matches; `*` matches any key.
fn all<'n>(root: &'n Node, path: &[String]) -> Vec<&'n Node> {
    path.iter().fold(vec![root], |nodes, key| {
        nodes
            .into_iter()
            .flat_map(|node| node.members().iter().filter(|member| key == "*" || member.key == *key))
            .map(|member| &member.value)
            .collect()
    })
}

/// The change of one server.
struct Change<'a> {
    text: &'a str,
    name: &'a str,
    node: &'a Node,
    how: ConfigStyle<'a>,
    guard: &'a str,
}

/// The ranges of a text to replace, each with its replacement.
type Edits = Vec<(Range<usize>, String)>;

impl Change<'_> {
    /// Returns the edits of this server. Returns `None` if there is nothing to change, and the reason if it cannot be
    /// changed.
    fn edits(&self, takes_out: bool) -> Result<Option<Edits>, &'static str> {
        let Some(command) = self.node.get("command") else {
            return match remote::is_one(self.node) {
                true if takes_out => Ok(None),
                true => self.put_remote_in().map(Some),
                false => Err(UNCLEAR),
            };
        };
        let args = match self.how.form {
            ServersFormat::Split => self.node.get("args"),
            ServersFormat::Array => Some(command),
        };
        if args.is_some_and(|args| !matches!(args.kind, JsonKind::Array(_))) {
            return Err(UNCLEAR);
        }
        let items = args.map(Node::items).unwrap_or_default();
        let mut words: Vec<&str> = Vec::new();
        if self.how.form == ServersFormat::Split {
            words.push(command.text().ok_or(UNCLEAR)?);
        }
        for item in items {
            words.push(item.text().ok_or(UNCLEAR)?);
        }
        if let Some(rest) = own_words(&words, self.guard).filter(|rest| remote::behind(rest).is_some()) {
            let before = if takes_out { remote::take_out(self.text, self.node, self.how.http, rest) } else { None };
            return before.transpose().map(|text| text.map(|text| vec![(self.node.span.clone(), text)]));
        }
        let own = behind(&words, self.guard);
        match (takes_out, own) {
            (false, Some(_)) | (true, None) => Ok(None),
            (false, None) => self.put_in(command, args, items, &words),
            (true, Some(own)) => Ok(Some(self.take_out(command, args, items, own))),
        }
    }

    fn put_remote_in(&self) -> Result<Edits, &'static str> {
        let command = |words: &[String]| {
            let list = |words: &[String]| {
                format!("[{}]", words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(", "))
            };
            let member = |key: &str, value: String| (key.to_owned(), value);
            match self.how.form {
                ServersFormat::Split => vec![member("command", quoted(self.guard)), member("args", list(words))],
                ServersFormat::Array => vec![member("command", list(&[&[self.guard.to_owned()], words].concat()))],
            }
        };
        let text = remote::put_in(self.text, self.name, self.node, self.how.http, command)?;
        Ok(vec![(self.node.span.clone(), text)])
    }

    fn put_in(
        &self,
        command: &Node,
        args: Option<&Node>,
        items: &[Node],
        words: &[&str],
    ) -> Result<Option<Edits>, &'static str> {
        let first = *words.first().ok_or(UNCLEAR)?;
        let mut new: Vec<String> = front(self.name).iter().map(|word| quoted(word)).collect();
        match self.how.form {
            ServersFormat::Split => new.push(quoted(first)),
            ServersFormat::Array => new.insert(0, quoted(self.guard)),
        }
        let mut edits = Vec::new();
        if self.how.form == ServersFormat::Split {
            edits.push((command.span.clone(), quoted(self.guard)));
        }
        match (args, items.first()) {
            (Some(args), Some(item)) => {
                // Keep the layout of the existing elements: one per line, or all on one line.
                let gap = self.text.get(args.span.start + 1..item.span.start).unwrap_or_default();
                let between =
                    if gap.contains('\n') && gap.trim().is_empty() { format!(",{gap}") } else { ", ".to_owned() };
                edits.push((item.span.start..item.span.start, new.join(&between) + &between));
            }
            (Some(args), None) => edits.push((args.span.clone(), format!("[{}]", new.join(", ")))),
            (None, _) => {
                edits.push((command.span.end..command.span.end, format!(", \"args\": [{}]", new.join(", "))));
            }
        }
        Ok(Some(edits))
    }

    fn take_out(
        &self,
        command: &Node,
        args: Option<&Node>,
        items: &[Node],
        own: &[&str],
    ) -> Vec<(Range<usize>, String)> {
        let mut edits = Vec::new();
        let kept = match self.how.form {
            ServersFormat::Split => {
                edits.push((command.span.clone(), quoted(own.first().copied().unwrap_or_default())));
                own.len() - 1
            }
            ServersFormat::Array => own.len(),
        };
        let begins = items.first().map(|item| item.span.start);
        let ends = items.get(items.len() - kept).map(|item| item.span.start);
        match (begins, ends, args) {
            (Some(begins), Some(ends), _) => edits.push((begins..ends, String::new())),
            (Some(_), None, Some(args)) => edits.push((args.span.clone(), "[]".to_owned())),
            _ => {}
        }
        edits
    }
}

/// Changes the servers of a configuration in TOML.
pub(super) fn toml(text: &str, keys: &[Vec<String>], guard: &str, takes_out: bool) -> Result<Wrapped, WrapError> {
    let mut document: DocumentMut = text.parse()?;
    let mut done = Wrapped::default();
    for path in keys {
        let mut item: Option<&mut Item> = Some(document.as_item_mut());
        for key in path {
            item = item.and_then(|item| item.get_mut(key));
        }
        let Some(servers) = item.and_then(Item::as_table_like_mut) else { continue };
        for (name, server) in servers.iter_mut() {
            let Some(server) = server.as_table_like_mut() else { continue };
            match of_table(name.get(), server, guard, takes_out) {
                Ok(true) => done.servers += 1,
                Ok(false) => done.servers += usize::from(!takes_out),
                Err(why) if !takes_out => done.left.push((name.get().to_owned(), why)),
                Err(_) => {}
            }
        }
    }
    done.text = document.to_string();
    Ok(done)
}

/// Changes one server, and returns whether there was anything to change.
fn of_table(name: &str, server: &mut dyn TableLike, guard: &str, takes_out: bool) -> Result<bool, &'static str> {
    let Some(command) = server.get("command") else {
        return Err(if server.get("url").is_some() { REMOTE } else { UNCLEAR });
    };
    let mut words = vec![command.as_str().ok_or(UNCLEAR)?.to_owned()];
    if let Some(args) = server.get("args") {
        for word in args.as_array().ok_or(UNCLEAR)? {
            words.push(word.as_str().ok_or(UNCLEAR)?.to_owned());
        }
    }
    let plain: Vec<&str> = words.iter().map(String::as_str).collect();
    let own: Vec<String> = match (takes_out, behind(&plain, guard)) {
        (false, Some(_)) | (true, None) => return Ok(false),
        (false, None) => [guard.to_owned()].into_iter().chain(front(name)).chain(words.iter().cloned()).collect(),
        (true, Some(own)) => own.iter().map(|word| (*word).to_owned()).collect(),
    };
    let (program, args) = own.split_first().ok_or(UNCLEAR)?;
    let mut value = toml_edit::Value::from(program.as_str());
    if let Some(old) = server.get("command").and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    server.insert("command", Item::Value(value));
    let mut array = toml_edit::Array::new();
    array.extend(args.iter().map(String::as_str));
    let mut value = toml_edit::Value::Array(array);
    if let Some(old) = server.get("args").and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    server.insert("args", Item::Value(value));
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::sync::LazyLock;

    const GUARD: &str = "/usr/bin/guard";

    static URL: LazyLock<Shape> = LazyLock::new(Shape::default);
    static LOCAL: LazyLock<Shape> = LazyLock::new(|| Shape {
        env: "environment".to_owned(),
        types: ["remote", "local"].map(str::to_owned),
        ..Shape::default()
    });

    fn split() -> ConfigStyle<'static> {
        ConfigStyle { form: ServersFormat::Split, http: &URL }
    }

    fn array() -> ConfigStyle<'static> {
        ConfigStyle { form: ServersFormat::Array, http: &LOCAL }
    }

    fn keys() -> Vec<Vec<String>> {
        vec![vec!["mcpServers".to_owned()], vec!["projects".to_owned(), "*".to_owned(), "mcpServers".to_owned()]]
    }

    #[test]
    fn a_server_is_put_behind_guard_and_all_else_stays() {
        let text = "{\n  // mine\n  \"x\": 1.50,\n  \"mcpServers\": {\n    \"files\": {\n      \"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        \"pkg\"\n      ],\n      \"env\": {\"A\": \"b\"}\n    },\n    \"bare\": { \"command\": \"srv\" },\n    \"far\": { \"url\": \"https://example.org\" }\n  },\n  \"projects\": {\"/a\": {\"mcpServers\": {\"in\": {\"command\": \"in\", \"args\": []}}}}\n}\n";
        let done = json(text, &keys(), split(), GUARD, false).unwrap();
        assert_eq!((done.servers, done.left.as_slice()), (3, [("far".to_owned(), remote::NO_KEY)].as_slice()));
        let root: serde_json::Value = serde_json::from_str(&done.text.replace("// mine", "")).unwrap();
        assert_eq!(root["mcpServers"]["files"]["command"], GUARD);
        assert_eq!(
            root["mcpServers"]["files"]["args"],
            serde_json::json!(["mcp", "--name", "files", "--", "npx", "-y", "pkg"])
        );
        assert_eq!(root["mcpServers"]["files"]["env"]["A"], "b");
        assert_eq!(root["mcpServers"]["bare"]["args"], serde_json::json!(["mcp", "--name", "bare", "--", "srv"]));
        assert_eq!(root["projects"]["/a"]["mcpServers"]["in"]["args"][4], "in");
        assert!(
            done.text.contains("// mine\n  \"x\": 1.50")
                && done.text.contains("        \"-y\",\n        \"pkg\"\n      ]")
        );
        // A second run changes nothing. Removal restores the original, except for the `args` lists that were added.
        assert_eq!(json(&done.text, &keys(), split(), GUARD, false).unwrap().text, done.text);
        let out = json(&done.text, &keys(), split(), GUARD, true).unwrap();
        assert_eq!(out.text, text.replace("\"command\": \"srv\"", "\"command\": \"srv\", \"args\": []"));
    }

    #[test]
    fn a_command_in_one_list_goes_behind_guard_too() {
        let text = r#"{"mcpServers": {"a": {"type": "local", "command": ["npx", "pkg"]}}}"#;
        let done = json(text, &keys(), array(), GUARD, false).unwrap();
        assert!(done.text.contains(r#"["/usr/bin/guard", "mcp", "--name", "a", "--", "npx", "pkg"]"#), "{}", done.text);
        assert_eq!(json(&done.text, &keys(), array(), GUARD, true).unwrap().text, text);
    }

    /// Puts a server behind guard, removes guard again, and returns the entry behind guard.
    #[track_caller]
    fn there_and_back(text: &str, how: ConfigStyle) -> serde_json::Value {
        let done = json(text, &keys(), how, GUARD, false).unwrap();
        assert_eq!((done.servers, done.left.len()), (1, 0), "{:?}", done.left);
        assert_eq!(json(&done.text, &keys(), how, GUARD, false).unwrap().text, done.text, "twice is once");
        assert_eq!(json(&done.text, &keys(), how, GUARD, true).unwrap().text, text);
        serde_json::from_str::<serde_json::Value>(&done.text).unwrap()["mcpServers"]["a"].clone()
    }

    #[test]
    fn a_server_with_an_address_and_a_key_goes_behind_guard_without_its_key_among_the_arguments() {
        let text = "{\"mcpServers\": {\n  \"a\": {\n    \"type\": \"http\",\n    \"url\": \"https://m.example.org/mcp\",\n    \"headers\": {\"Authorization\": \"Bearer ${KEY}\", \"X-Team\": \"ops\"},\n    \"timeout\": 5\n  }\n}}";
        let a = there_and_back(text, split());
        let header = |name: &str, at: u8| format!("{name}=GUARD_MCP_HEADER_{at}");
        assert_eq!(
            a,
            serde_json::json!({
                "type": "stdio", "command": GUARD, "timeout": 5,
                "args": ["mcp", "--name", "a", "--http", "https://m.example.org/mcp",
                         "--header-env", header("Authorization", 1), "--header-env", header("X-Team", 2)],
                "env": { "GUARD_MCP_HEADER_1": "Bearer ${KEY}", "GUARD_MCP_HEADER_2": "ops" },
            })
        );
        // A server on this machine needs no key, and its entry stays on one line.
        let a = there_and_back(r#"{"mcpServers": {"a": { "url": "http://localhost:3000/mcp" }}}"#, split());
        assert_eq!(
            a,
            serde_json::json!({ "command": GUARD, "args": ["mcp", "--name", "a", "--http", "http://localhost:3000/mcp"] })
        );
        let text = r#"{"mcpServers": {"a": {"type": "remote", "url": "https://x.example", "headers": {"K": "v"}, "enabled": true}}}"#;
        let a = there_and_back(text, array());
        assert_eq!((a["type"].as_str(), a["environment"]["GUARD_MCP_HEADER_1"].as_str()), (Some("local"), Some("v")));
        assert_eq!(a["command"].as_array().unwrap().len(), 8);
    }

    #[test]
    fn a_server_that_would_lose_something_behind_guard_is_left_alone() {
        for odd in [
            r#"{"url": "https://x.example"}"#,
            r#"{"url": "https://x.example", "headers": {}}"#,
            r#"{"url": "https://x.example", "headers": {"K": "v"}, "oauth": {}}"#,
            r#"{"type": "sse", "url": "https://x.example", "headers": {"K": "v"}}"#,
            r#"{"httpUrl": "https://x.example", "headers": {"K": "v"}}"#,
            r#"{"transport": "http", "url": "https://x.example", "headers": {"K": "v"}}"#,
            r#"{"url": "https://x.example", "headers": {"K": "v"}, "bearerTokenEnvVar": "T"}"#,
            r#"{"url": "https://${HOST}/mcp", "headers": {"K": "v"}}"#,
            r#"{"url": "https://x.example", "headers": {"K": 5}}"#,
            r#"{"url": "https://x.example", "headers": {"K: v\nL": "v"}}"#,
            "{\"url\": \"https://x.example\", // mine\n\"headers\": {\"K\": \"v\"}}",
        ] {
            let text = format!("{{\"mcpServers\": {{\"a\": {odd}}}}}");
            let done = json(&text, &keys(), split(), GUARD, false).unwrap();
            assert_eq!((done.text.as_str(), done.servers, done.left.len()), (text.as_str(), 0, 1), "{odd}");
            assert_eq!(json(&text, &keys(), split(), GUARD, true).unwrap().text, text, "{odd}");
        }
    }

    #[test]
    fn toml_keeps_its_comments() {
        let text = "# mine\nmodel = \"x\"\n\n[mcp_servers.files]\ncommand = \"npx\" # run\nargs = [\"-y\", \"pkg\"]\n\n[mcp_servers.far]\nurl = \"https://example.org\"\n";
        let keys = [vec!["mcp_servers".to_owned()]];
        let done = toml(text, &keys, GUARD, false).unwrap();
        assert!(done.text.starts_with("# mine\nmodel = \"x\"\n"), "{}", done.text);
        assert!(done.text.contains("command = \"/usr/bin/guard\" # run\nargs = [\"mcp\", \"--name\", \"files\", \"--\", \"npx\", \"-y\", \"pkg\"]"), "{}", done.text);
        assert_eq!((done.servers, done.left.len()), (1, 1));
        assert_eq!(toml(&done.text, &keys, GUARD, true).unwrap().text, text);
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        assert!(json("{", &keys(), split(), GUARD, false).is_err());
        assert!(toml("[", &keys(), GUARD, false).is_err());
        let odd = r#"{"mcpServers": {"a": {"command": 1}, "b": {"command": "x", "args": "y"}, "c": 3}}"#;
        let done = json(odd, &keys(), split(), GUARD, false).unwrap();
        assert_eq!((done.text.as_str(), done.servers, done.left.len()), (odd, 0, 3));
    }
}
