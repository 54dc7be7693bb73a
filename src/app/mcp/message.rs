//! Parses MCP messages as far as necessary to distinguish tool calls from other messages.
//!
//! A message that cannot be parsed unambiguously is not passed on, because a server might read a call in it. Out of
//! scope: I/O.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::judge::tools::call::HIDDEN;
use crate::store::redact;

/// The kind of a client's message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    /// One tool call, or those of a batch.
    Calls(Vec<ToolRequest>),
    /// A request for the list of tools.
    List {
        id: Value,
    },
    /// The cancellation of a request.
    Cancelled {
        id: Value,
    },
    Other,
    Wrong {
        id: Value,
        why: String,
    },
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolRequest {
    pub id: Value,
    pub name: String,
    pub arguments: Value,
    /// The progress token, if the client wants progress notifications.
    pub progress: Option<Value>,
    /// Whether the request names a protocol version, as in the version of MCP without sessions.
    pub names_version: bool,
}

/// The method of a tool call.
const CALL: &str = "tools/call";

/// The JSON pointer to the version in the parameters of such a request.
const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// Parses one line of a client.
pub(super) fn read(line: &[u8]) -> Message {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Message::Other;
    }
    let message = match serde_json::from_slice::<UniqueKeys>(line) {
        Ok(UniqueKeys(message)) => message,
        Err(error) => {
            return Message::Wrong { id: Value::Null, why: format!("the message is ambiguous: {error}") };
        }
    };
    let batch = match &message {
        Value::Array(messages) => messages.as_slice(),
        _ => std::slice::from_ref(&message),
    };
    let mut calls = Vec::new();
    for message in batch {
        let method = message.get("method").and_then(Value::as_str);
        let id = message.get("id").cloned().unwrap_or_default();
        let params = message.get("params");
        if let Some(name) = taken_for(message, &["method", "params", "id", "result", "error"]) {
            return Message::Wrong { id, why: format!("some parsers read {name:?} as another name") };
        }
        if let Some(method) = method.filter(|method| *method != CALL && folded(method) == CALL) {
            return Message::Wrong { id, why: format!("some parsers read the method {method:?} as another one") };
        }
        match method {
            Some(CALL) => {
                if let Some(name) = params.and_then(|params| taken_for(params, &["name", "arguments", "_meta"])) {
                    return Message::Wrong { id, why: format!("some parsers read {name:?} as another name") };
                }
                let Some(name) = params.and_then(|params| params.get("name")).and_then(Value::as_str) else {
                    return Message::Wrong { id, why: "the call does not name a tool".to_owned() };
                };
                calls.push(ToolRequest {
                    id,
                    name: name.to_owned(),
                    arguments: params.and_then(|params| params.get("arguments")).cloned().unwrap_or_default(),
                    progress: params.and_then(|params| params.pointer("/_meta/progressToken")).cloned(),
                    names_version: params.is_some_and(|params| params.pointer(VERSION).is_some()),
                });
            }
            Some("tools/list") if batch.len() == 1 => return Message::List { id },
            Some("notifications/cancelled") if batch.len() == 1 => {
                let id = params.and_then(|params| params.get("requestId")).cloned().unwrap_or_default();
                return Message::Cancelled { id };
            }
            _ => {}
        }
    }
    if calls.is_empty() { Message::Other } else { Message::Calls(calls) }
}

/// Folds a name as a parser does that ignores case, blanks and control characters.
fn folded(name: &str) -> String {
    let plain = name.chars().filter(|c| !c.is_whitespace() && !c.is_control());
    plain.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Returns the name of a member that is not in `names` but that some parsers would read as one of them, because it
/// differs only in case, blanks or control characters.
fn taken_for<'m>(message: &'m Value, names: &[&str]) -> Option<&'m str> {
    let members = message.as_object()?.keys().map(String::as_str);
    members.filter(|name| !names.contains(name)).find(|name| names.contains(&folded(name).as_str()))
}

/// Returns the ID and the tools of a response that lists tools.
pub(super) fn listed(line: &[u8]) -> Option<(Value, Vec<Value>)> {
    let message: Value = serde_json::from_slice(line).ok()?;
    let tools = message.pointer("/result/tools")?.as_array()?.clone();
    Some((message.get("id")?.clone(), tools))
}

/// Returns a response of the server with the secrets in its texts hidden. Returns `None` if there are none, or if it is
/// not a response.
pub(super) fn without_secrets(line: &[u8]) -> Option<Vec<u8>> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    let mut any = false;
    let all = match &mut message {
        Value::Array(messages) => messages.iter_mut().collect(),
        one => vec![one],
    };
    for message in all {
        if let Some(result) = message.get_mut("result") {
            any |= hide(result);
        }
    }
    any.then(|| [message.to_string().as_bytes(), b"\n"].concat())
}

/// Hides the secrets in all texts of a value, and reports whether there were any. A secret that is recognized by the
/// name of its member is found too.
fn hide(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let (plain, any) = redact(text);
            if any {
                *text = plain;
            }
            any
        }
        // `count` visits every element; `any` would stop at the first with a secret.
        Value::Array(elements) => elements.iter_mut().filter_map(|element| hide(element).then_some(())).count() > 0,
        Value::Object(members) => members.iter_mut().fold(false, |any, (name, member)| {
            let hidden = match member {
                Value::String(text) => {
                    let (_, is_secret) = redact(&format!("{name}={text}"));
                    let was = is_secret && !redact(text).1;
                    if was {
                        *text = HIDDEN.to_owned();
                    }
                    was
                }
                _ => false,
            };
            hidden || hide(member) || any
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns a response that reports a failed tool, with a text for the model.
pub(super) fn refusal(call: &ToolRequest, why: &str) -> Value {
    let mut result = json!({ "content": [{ "type": "text", "text": why }], "isError": true });
    if call.names_version {
        result["resultType"] = json!("complete");
    }
    json!({ "jsonrpc": "2.0", "id": call.id, "result": result })
}

/// Returns a JSON-RPC error response.
pub(super) fn error(id: &Value, code: i32, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

/// JSON without duplicate keys. Parsers differ in which of two values they use.
struct UniqueKeys(Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(MessageReader).map(Self)
    }
}

struct MessageReader;

impl<'de> Visitor<'de> for MessageReader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(UniqueKeys(element)) = elements.next_element()? {
            all.push(element);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let (mut all, mut names) = (Map::new(), HashSet::new());
        while let Some((name, UniqueKeys(member))) = members.next_entry::<String, UniqueKeys>()? {
            if !names.insert(name.clone()) {
                return Err(serde::de::Error::custom(format!("duplicate key {name:?}")));
            }
            all.insert(name, member);
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_from_all_else() {
        let line = br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":1},"_meta":{"progressToken":"p"}}}"#;
        let call = ToolRequest {
            id: json!(7),
            name: "x".to_owned(),
            arguments: json!({"a": 1}),
            progress: Some(json!("p")),
            names_version: false,
        };
        assert_eq!(read(line), Message::Calls(vec![call.clone()]));
        assert_eq!(
            refusal(&call, "no")["result"],
            json!({"content": [{"type": "text", "text": "no"}], "isError": true})
        );
        let own = br#"{"id":7,"method":"tools/call","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let Message::Calls(own) = read(own) else { panic!("a call") };
        assert_eq!(refusal(&own[0], "no")["result"]["resultType"], "complete");
        let batch = [b"[".as_slice(), line, b",{\"method\":\"ping\",\"id\":8}]"].concat();
        assert_eq!(read(&batch), Message::Calls(vec![call]));
        assert_eq!(read(b"{\"method\":\"tools/list\",\"id\":\"a\"}"), Message::List { id: json!("a") });
        assert_eq!(read(b"{\"method\":\"ping\",\"id\":1}"), Message::Other);
        assert_eq!(read(b"\r\n"), Message::Other);
        let cancelled = br#"{"method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert_eq!(read(cancelled), Message::Cancelled { id: json!(7) });
    }

    #[test]
    fn secrets_are_hidden_in_answers_alone() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let answer = json!({"id": 1, "result": {"content": [{"type": "text", "text": format!("token {token} end")}],
            "structuredContent": {"password": "hunter2-hunter2", "name": "x"}}});
        let out = String::from_utf8(without_secrets(answer.to_string().as_bytes()).unwrap()).unwrap();
        assert!(!out.contains(&token) && !out.contains("hunter2"), "{out}");
        assert!(out.contains("end") && out.contains(r#""name":"x""#) && out.ends_with("}\n"), "{out}");
        assert_eq!(without_secrets(json!({"id": 1, "result": {"content": "plain"}}).to_string().as_bytes()), None);
        assert_eq!(without_secrets(json!({"id": 1, "method": token}).to_string().as_bytes()), None);
        assert_eq!(without_secrets(b"nonsense"), None);
    }

    #[test]
    fn what_cannot_be_read_for_sure_is_not_passed_on() {
        for line in [
            br#"{"method":"ping","method":"tools/call","params":{"name":"x"}}"#.as_slice(),
            br#"{"method":"tools/call","params":{"name":"x","name":"y"}}"#,
            br#"{"method":"tools/call","params":{"name":"x","arguments":{"a":1,"\u0061":2}}}"#,
            br#"{"method":"tools/call","params":{}}"#,
            br#"{"Method":"tools/call","params":{"name":"x"}}"#,
            br#"{"method":"ping","METHOD":"tools/call","params":{"name":"x"}}"#,
            br#"{"method":"tools/call","params":{"name":"x","Name":"y"}}"#,
            br#"{"method":"tools/call","params":{"name":"x","ARGUMENTS":{}}}"#,
            "{\"method\":\"tools/call\",\"param\u{17f}\":{\"name\":\"x\"}}".as_bytes(),
            br#"{"id":1,"method":"Tools/Call","params":{"name":"x"}}"#,
            br#"{"id":1,"method":" tools/call","params":{"name":"x"}}"#,
            br#"{"id":1,"method":"tools/call\u0000","params":{"name":"x"}}"#,
            br#"{"method":"tools/call","params":{"name":"x"," name":"y"}}"#,
            br#"{"method":"tools/call""#,
            b"nonsense",
            b"{} {}",
            b"\xff",
        ] {
            assert!(matches!(read(line), Message::Wrong { .. }), "{}", String::from_utf8_lossy(line));
        }
        let deep = [vec![b'['; 1000], vec![b']'; 1000]].concat();
        assert!(matches!(read(&deep), Message::Wrong { .. }));
    }
}
