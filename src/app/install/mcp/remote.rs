//! Converts the entries of servers with an address to entries with `guard mcp --http`, and back.
//!
//! The headers become environment variables of the entry, so that no key is among the arguments of a process. Input and
//! output are texts. Out of scope: servers that are started as programs.

use serde::Deserialize;

use crate::app::install::json::{JsonKind, Node, quoted};

/// A reason why a server is not changed.
pub(super) const NO_KEY: &str = "it uses HTTP without a header: its client may log in there, which guard mcp --http \
                                 cannot do";
const OTHER: &str = "it uses a transport that guard mcp --http does not support";
const NAMED: &str = "its entry has a key for its connection or credentials that guard does not know";
const VARIABLE: &str = "its address contains a variable, which guard mcp --http does not expand";
const COMMENT: &str = "its entry contains a comment that would be lost";

/// The prefix of the variables that contain the values of the headers. A number follows it.
const HEADER: &str = "GUARD_MCP_HEADER_";

/// The form of such servers in a client's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Shape {
    /// The key of the address of a streamable HTTP server.
    pub address: String,
    /// The key of the environment variables of a program.
    pub env: String,
    /// The values of `type` for a server that is reached over HTTP, and for a program.
    pub types: [String; 2],
}

impl Default for Shape {
    fn default() -> Self {
        Self { address: "url".to_owned(), env: "env".to_owned(), types: ["http", "stdio"].map(str::to_owned) }
    }
}

/// Reports whether an entry contains an address of a server, in any of the known keys.
pub(super) fn is_one(node: &Node) -> bool {
    ["url", "httpUrl", "serverUrl"].iter().any(|key| node.get(key).is_some())
}

/// Returns the entry with guard in front. `command` creates the members that start a command with the given words.
///
/// # Errors
/// The reason why the entry is not changed.
pub(super) fn put_in(
    text: &str,
    name: &str,
    node: &Node,
    shape: &Shape,
    command: impl Fn(&[String]) -> Vec<(String, String)>,
) -> Result<String, &'static str> {
    let address = node.get(&shape.address).and_then(Node::text).ok_or(OTHER)?;
    let kind = node.get("type").map(|kind| kind.text().unwrap_or_default());
    if kind.is_some_and(|kind| kind != shape.types[0]) {
        return Err(OTHER);
    }
    if ["transport", "bearerTokenEnvVar"].iter().any(|key| node.get(key).is_some()) {
        return Err(NAMED);
    }
    if address.contains('$') {
        return Err(VARIABLE);
    }
    let headers = node.get("headers").map(Node::members).unwrap_or_default();
    if node.get("oauth").is_some() || node.get("auth").is_some() || (headers.is_empty() && !is_here(address)) {
        return Err(NO_KEY);
    }
    let mut words = ["mcp", "--name", name, "--http", address].map(str::to_owned).to_vec();
    let mut env = Vec::new();
    for (at, header) in (1..).zip(headers) {
        let value = header.value.text().ok_or(OTHER)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if header.key.is_empty() || !header.key.chars().all(plain) {
            return Err(OTHER);
        }
        // The value is passed in a variable, because clients expand `${}` in arguments and reject variables that they
        // do not know.
        words.extend(["--header-env".to_owned(), format!("{}={HEADER}{at}", header.key)]);
        env.push(format!("{}: {}", quoted(&format!("{HEADER}{at}")), quoted(value)));
    }
    let mut members = Vec::new();
    if kind.is_some() {
        members.push(("type".to_owned(), quoted(&shape.types[1])));
    }
    members.extend(command(&words));
    if !env.is_empty() {
        members.push((shape.env.clone(), format!("{{{}}}", env.join(", "))));
    }
    written(text, node, members, &["type", &shape.address, "headers"])
}

/// Returns the original entry, or `None` if its words are not those that [`put_in`] writes. `words` are the words after
/// guard itself.
pub(super) fn take_out(text: &str, node: &Node, shape: &Shape, words: &[&str]) -> Option<Result<String, &'static str>> {
    let [address, more @ ..] = behind(words)? else { return None };
    let env = node.get(&shape.env);
    let mut headers = Vec::new();
    for pair in more.chunks(2) {
        let ["--header-env", header] = pair else { return None };
        let (name, variable) = header.split_once('=')?;
        let value = env?.get(variable)?.text()?;
        headers.push(format!("{}: {}", quoted(name), quoted(value)));
    }
    let mut members = Vec::new();
    if node.get("type").is_some() {
        members.push(("type".to_owned(), quoted(&shape.types[0])));
    }
    members.push((shape.address.clone(), quoted(address)));
    if !headers.is_empty() {
        members.push(("headers".to_owned(), format!("{{{}}}", headers.join(", "))));
    }
    // Keep the variables that the user added.
    let own: Vec<_> =
        env.map(Node::members).unwrap_or_default().iter().filter(|one| !one.key.starts_with(HEADER)).collect();
    let mut gone = vec!["type", "command", "args"];
    if own.is_empty() {
        gone.push(&shape.env);
    }
    Some(written(text, node, members, &gone))
}

/// Returns the address and the header options if these words run a server behind `guard mcp --http`.
pub(super) fn behind<'w, 's>(words: &'w [&'s str]) -> Option<&'w [&'s str]> {
    match words {
        ["mcp", "--name", _, "--http", rest @ ..] if !rest.is_empty() => Some(rest),
        _ => None,
    }
}

/// Reports whether an address is on this machine. Such a server is assumed to need no login.
fn is_here(address: &str) -> bool {
    let rest = address.strip_prefix("http://").or_else(|| address.strip_prefix("https://")).unwrap_or_default();
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

/// Returns an object with these members, followed by those of the old object that are not in `gone`, in the layout of
/// the old one.
fn written(text: &str, node: &Node, members: Vec<(String, String)>, gone: &[&str]) -> Result<String, &'static str> {
    let JsonKind::Object(_) = node.kind else { return Err(OTHER) };
    let old = node.members();
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let (mut at, mut all) = (node.span.start + 1, members);
    let first = part(at, old.first().map_or(at, |member| member.start));
    for member in old {
        let between = part(at, member.start);
        let named = part(member.start, member.value.span.start);
        let after_key = named.get(quoted(&member.key).len()..).unwrap_or_default();
        if between.contains('/') || after_key.contains('/') {
            return Err(COMMENT);
        }
        at = member.value.span.end;
        if !gone.contains(&member.key.as_str()) {
            all.push((member.key.clone(), part(member.value.span.start, at).to_owned()));
        }
    }
    let last = part(at, node.span.end.saturating_sub(1));
    if last.contains('/') {
        return Err(COMMENT);
    }
    let lines: Vec<String> = all.iter().map(|(key, value)| format!("{}: {value}", quoted(key))).collect();
    let between = if first.contains('\n') { format!(",{first}") } else { ", ".to_owned() };
    let last = last.trim_start_matches([',', ' ']);
    let last = if first.contains('\n') || last.contains('\n') { last } else { first };
    Ok(format!("{{{first}{}{last}}}", lines.join(&between)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_told_from_one_that_begins_like_it() {
        for here in ["http://localhost:3000/mcp", "http://127.0.0.1/mcp", "https://[::1]:8/x", "http://localhost"] {
            assert!(is_here(here), "{here}");
        }
        for there in
            ["http://localhost.example.org/mcp", "http://127.0.0.1.example.org", "https://example.org", "localhost", ""]
        {
            assert!(!is_here(there), "{there}");
        }
    }
}
