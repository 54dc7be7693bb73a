//! Parses the parts of a message that HTTP needs: the responses that it expects, the requests that it answers, and the
//! fields that its headers repeat.
//!
//! Out of scope: the content of requests.

use base64ct::{Base64, Encoding as _};
use serde::Deserialize;
use serde_json::{Value, json};

/// The key under which a request names its protocol version, in versions without sessions.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The code of an error that has none of its own, and that of an unknown method.
pub const FAILED: i32 = -32000;
pub const NO_METHOD: i32 = -32601;

/// The fields of a message that are needed.
#[derive(Debug, Deserialize)]
struct MessageHead {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Params>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Option<Value>,
    name: Option<Value>,
    uri: Option<Value>,
    arguments: Option<Value>,
    #[serde(rename = "requestId")]
    request: Option<Value>,
}

/// The properties of a client's message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MessageInfo {
    /// The IDs of its requests.
    pub ids: Vec<Value>,
    /// Whether it starts a session.
    pub is_initialize: bool,
    /// Whether it reports that the session has started.
    pub is_initialized: bool,
    /// The request that it cancels.
    pub cancels: Option<Value>,
    /// The fields that its headers repeat, if it uses a protocol version without sessions.
    pub repeats: Option<MirroredFields>,
    /// Whether it requests the list of tools.
    pub is_list: bool,
    /// The progress tokens of its requests.
    pub progress: Vec<Value>,
}

/// The fields of a request that its headers repeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MirroredFields {
    pub version: String,
    pub method: String,
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: Option<String>,
    /// The arguments of a tool call.
    pub arguments: Option<Value>,
}

/// Parses a batch or a single message; `None` if it is not a message or has duplicate keys.
fn parts(text: &[u8]) -> Option<Vec<MessageHead>> {
    if text.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(text).ok();
    }
    serde_json::from_slice(text).map(|one| vec![one]).ok()
}

impl MessageInfo {
    /// Parses a message; returns the default if it cannot be parsed.
    pub fn of(text: &[u8]) -> Self {
        Self::read(text).unwrap_or_default()
    }

    /// Parses a message; returns `None` if it cannot be parsed.
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut asks = Self::default();
        for part in parts(text)? {
            let method = part.method.unwrap_or_default();
            let params = part.params.unwrap_or_default();
            asks.is_initialize |= method == "initialize";
            asks.is_initialized |= method == "notifications/initialized";
            asks.is_list |= method == "tools/list";
            if method == "notifications/cancelled" {
                asks.cancels = params.request.clone();
            }
            let meta = |name: &str| params.meta.as_ref().and_then(|meta| meta.get(name));
            asks.progress.extend(meta("progressToken").filter(|_| part.id.is_some()).cloned());
            let version = meta(VERSION).and_then(Value::as_str);
            if let Some(version) = version {
                let name = if method == "resources/read" { params.uri } else { params.name };
                let is_call = method == "tools/call";
                let name = name.filter(|_| is_call || matches!(method.as_str(), "prompts/get" | "resources/read"));
                asks.repeats = Some(MirroredFields {
                    version: version.to_owned(),
                    method: method.clone(),
                    name: name.and_then(|name| name.as_str().map(str::to_owned)),
                    arguments: params.arguments.filter(|_| is_call),
                });
            }
            asks.ids.extend(part.id.filter(|id| !method.is_empty() && !id.is_null()));
        }
        Some(asks)
    }

    /// Removes the requests that a message of the server answers. Returns whether there were any.
    pub fn answered(&mut self, text: &[u8]) -> bool {
        let before = self.ids.len();
        for part in parts(text).unwrap_or_default().into_iter().filter(|part| part.method.is_none()) {
            let at = self.ids.iter().position(|id| Some(id) == part.id.as_ref());
            at.map(|at| self.ids.swap_remove(at));
        }
        self.ids.len() < before
    }
}

/// Returns the protocol version that a server agrees to in its response to `initialize`.
pub fn version(text: &[u8]) -> Option<String> {
    let answer: Value = serde_json::from_slice(text).ok()?;
    Some(answer.pointer("/result/protocolVersion")?.as_str()?.to_owned())
}

/// The arguments of a tool that headers repeat: the path of each, and the name of its header.
pub type MirroredArguments = Vec<(Vec<String>, String)>;

/// Returns the arguments that headers repeat, for each tool in a response to `tools/list`.
pub fn mirrored(text: &[u8]) -> Vec<(String, MirroredArguments)> {
    let answer: Value = serde_json::from_slice(text).unwrap_or_default();
    let tools = answer.pointer("/result/tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of = |tool: &Value| {
        let mut found = Vec::new();
        collect(tool.get("inputSchema")?, &mut Vec::new(), &mut found);
        Some((tool.get("name")?.as_str()?.to_owned(), found))
    };
    tools.iter().filter_map(of).collect()
}

fn collect(schema: &Value, way: &mut Vec<String>, found: &mut MirroredArguments) {
    if let Some(name) = schema.get("x-mcp-header").and_then(Value::as_str).filter(|_| !way.is_empty()) {
        found.push((way.clone(), name.to_owned()));
    }
    for (name, part) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        way.push(name.clone());
        collect(part, way, found);
        way.pop();
    }
}

/// Returns the value of an argument in the format of a header; `None` if there is none.
pub fn header(arguments: &Value, way: &[String]) -> Option<String> {
    match way.iter().try_fold(arguments, |value, name| value.get(name))? {
        Value::String(text) => Some(plain(text)),
        Value::Bool(is) => Some(is.to_string()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Encodes a text for use in a header: as base64 if it is not plain ASCII.
pub fn plain(text: &str) -> String {
    let is_coded = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) && text.trim() == text && !is_coded;
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", Base64::encode_string(text.as_bytes())) }
}

/// Returns the token of a progress notification; `None` for any other message.
pub fn progress(text: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(text).ok()?;
    let is_progress = message.get("method")?.as_str()? == "notifications/progress";
    message.pointer("/params/progressToken").filter(|_| is_progress).cloned()
}

/// Returns a notification that cancels a request.
pub fn cancelled(id: &Value) -> Vec<u8> {
    let reason = "the client closed the connection";
    let params = json!({ "requestId": id, "reason": reason });
    line(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }).to_string().into_bytes())
}

/// Returns an error response to a request.
pub fn error(id: &Value, code: i32, why: &str) -> Vec<u8> {
    let message = format!("guard: {why}");
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string().into_bytes()
}

/// Adds the ID of a request to an error response without one, which a server sends if it could not parse the ID.
pub fn adopted(text: &[u8], id: &Value) -> Option<Vec<u8>> {
    let mut answer: Value = serde_json::from_slice(text).ok()?;
    answer.get("error")?.as_object()?;
    if !answer.get("id").is_none_or(Value::is_null) {
        return None;
    }
    answer.as_object_mut()?.insert("id".to_owned(), id.clone());
    Some(answer.to_string().into_bytes())
}

/// Converts a message to one line. Only the line breaks between its parts change.
pub fn line(mut text: Vec<u8>) -> Vec<u8> {
    while text.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        text.pop();
    }
    for byte in text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        // A JSON string contains no raw line break, so this one is between two parts.
        *byte = b' ';
    }
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_waited_for_is_what_is_asked() {
        let ids = |text: &str| MessageInfo::of(text.as_bytes()).ids;
        assert_eq!(ids(r#"{"id":1,"method":"ping"}"#), [json!(1)]);
        assert_eq!(ids(r#" [{"id":"a","method":"ping"},{"method":"x"},{"id":3,"result":{}}]"#), [json!("a")]);
        assert_eq!(ids(r#"{"id":1,"result":{}}"#), Vec::<Value>::new());
        assert_eq!(ids(r#"{"id":null,"method":"ping"}"#), Vec::<Value>::new());
        assert_eq!(ids("nonsense"), Vec::<Value>::new());
        assert_eq!(MessageInfo::read(br#"{"id":1,"method":"ping","id":2}"#), None, "said twice");
        let told = br#"{"id":1,"method":"ping","params":{"_meta":{"progressToken":"p"}}}"#;
        assert_eq!(MessageInfo::of(told).progress, [json!("p")]);
        assert_eq!(
            MessageInfo::of(br#"{"method":"x","params":{"_meta":{"progressToken":"p"}}}"#).progress,
            Vec::<Value>::new()
        );
        assert!(MessageInfo::of(br#"{"id":0,"method":"initialize"}"#).is_initialize);
        assert!(MessageInfo::of(br#"{"method":"notifications/initialized"}"#).is_initialized);
        assert!(MessageInfo::of(br#"{"id":0,"method":"tools/list"}"#).is_list);
        let cancelled = br#"{"method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert_eq!(MessageInfo::of(cancelled).cancels, Some(json!(7)));
        assert_eq!(MessageInfo::of(br#"{"id":1,"method":"x","params":{"requestId":7}}"#).cancels, None);
    }

    #[test]
    fn an_answer_is_that_of_its_request_alone() {
        let mut asks = MessageInfo::of(br#"[{"id":1,"method":"a"},{"id":"1","method":"b"}]"#);
        assert!(!asks.answered(br#"{"id":2,"result":{}}"#));
        assert!(!asks.answered(br#"{"id":1,"method":"ping"}"#), "the server's own request");
        assert!(asks.answered(br#"{"id":"1","error":{}}"#) && asks.ids == [json!(1)]);
        assert!(asks.answered(br#"[{"id":1,"result":{}}]"#) && asks.ids.is_empty());
    }

    #[test]
    fn headers_repeat_what_a_request_without_a_session_says() {
        let of = |method: &str, more: &str| {
            let meta = format!(r#""_meta":{{"{VERSION}":"2026-07-28"}}"#);
            MessageInfo::of(format!(r#"{{"id":1,"method":"{method}","params":{{{meta}{more}}}}}"#).as_bytes())
                .repeats
                .unwrap()
        };
        let call = of("tools/call", r#","name":"x","arguments":{"a":1}"#);
        assert_eq!((call.version.as_str(), call.method.as_str()), ("2026-07-28", "tools/call"));
        assert_eq!((call.name.as_deref(), call.arguments), (Some("x"), Some(json!({"a": 1}))));
        assert_eq!(of("resources/read", r#","uri":"u","name":"n""#).name.as_deref(), Some("u"));
        assert_eq!(of("prompts/get", r#","name":"n","arguments":{}"#).arguments, None);
        assert_eq!(of("tools/list", r#","name":"n""#).name, None);
        assert_eq!(MessageInfo::of(br#"{"id":1,"method":"tools/list","params":{"_meta":{}}}"#).repeats, None);
    }

    #[test]
    fn a_header_says_what_the_argument_says() {
        let list = json!({"result": {"tools": [{"name": "t", "inputSchema": {"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "in": {"properties": {"n": {"x-mcp-header": "N"}}},
            "list": {"items": {"x-mcp-header": "No"}}}}}]}});
        let found = mirrored(list.to_string().as_bytes());
        let mut ways = found[0].1.clone();
        ways.sort();
        let way = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
        assert_eq!((found[0].0.as_str(), found.len()), ("t", 1));
        assert_eq!(ways, [(way(&["in", "n"]), "N".to_owned()), (way(&["region"]), "Region".to_owned())]);
        let arguments = json!({"region": "é", "in": {"n": 7}, "is": true, "no": null, "list": []});
        let said = |names: &[&str]| header(&arguments, &way(names));
        assert_eq!(said(&["region"]).as_deref(), Some("=?base64?w6k=?="));
        assert_eq!((said(&["in", "n"]).as_deref(), said(&["is"]).as_deref()), (Some("7"), Some("true")));
        assert_eq!((said(&["no"]), said(&["list"]), said(&["x", "y"])), (None, None, None));
        assert_eq!(
            (plain("a b"), plain(" a"), plain("=?base64?x?=").len()),
            ("a b".into(), "=?base64?IGE=?=".into(), 27)
        );
    }

    #[test]
    fn an_error_before_the_request_was_read_is_that_of_the_request() {
        let own = adopted(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022}}"#, &json!("a")).unwrap();
        let own: Value = serde_json::from_slice(&own).unwrap();
        assert_eq!((&own["id"], &own["error"]["code"]), (&json!("a"), &json!(-32022)));
        assert_eq!(adopted(br#"{"id":5,"error":{}}"#, &json!(1)), None);
        assert_eq!(adopted(br#"{"id":null,"error":"no"}"#, &json!(1)), None);
        assert_eq!(adopted(b"no", &json!(1)), None);
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(line(b"{\r\n  \"a\": 1.50\n}\n".to_vec()), b"{    \"a\": 1.50 }\n");
        assert_eq!(line(b"{}".to_vec()), b"{}\n");
        assert_eq!(version(br#"{"id":1,"result":{"protocolVersion":"2025-06-18"}}"#).as_deref(), Some("2025-06-18"));
        assert_eq!(version(br#"{"id":1,"error":{}}"#), None);
    }

    proptest! {
        /// Checks that arbitrary text is parsed without a panic, and that each ID that is waited for occurs in it.
        #[test]
        fn anything_is_read_without_a_panic(text in prop_oneof![
            "\\PC{0,60}",
            r#"\[?\{"(id|method|params|result)":("ping"|"tools/list"|\{"_meta":\{\}\}|[0-9]{1,3}|null)(,"(id|method)":("x"|[0-9]))?\}\]?"#,
        ]) {
            let bytes = text.as_bytes();
            let mut asks = MessageInfo::of(bytes);
            for id in &asks.ids {
                prop_assert!(text.contains(&id.to_string()), "{id}");
            }
            let _ = (asks.answered(bytes), version(bytes), mirrored(bytes), progress(bytes), adopted(bytes, &json!(1)));
            prop_assert!(!plain(&text).contains(['\r', '\n']));
        }
    }
}
