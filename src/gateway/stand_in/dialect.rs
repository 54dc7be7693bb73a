//! The four protocols that agents use to call a model: Anthropic's Messages, OpenAI's Responses and Chat Completions,
//! and Gemini.
//!
//! Out of scope: the content of the replies.

use serde_json::{Value, json};

/// A reply of the stand-in: text, or a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelReply {
    Text(String),
    /// A tool call. An input that is a string is for a tool that takes plain text.
    Call {
        name: String,
        input: Value,
        number: usize,
    },
}

impl ModelReply {
    /// Returns the reply with the number of this step, if it is a tool call.
    #[must_use]
    pub fn numbered(self, number: usize) -> Self {
        match self {
            Self::Call { name, input, .. } => Self::Call { name, input, number },
            text @ Self::Text(_) => text,
        }
    }

    /// Returns the reply with another argument, if it is a tool call with an object.
    #[must_use]
    pub fn with(mut self, argument: &str, value: &str) -> Self {
        if let Self::Call { input: Value::Object(input), .. } = &mut self {
            input.insert(argument.to_owned(), Value::String(value.to_owned()));
        }
        self
    }
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Messages,
    Responses,
    Chat,
    Gemini,
}

/// Returns the list of available models.
#[must_use]
pub fn models() -> Value {
    json!({ "object": "list", "models": [],
        "data": [{ "id": "stand-in", "object": "model", "created": 1, "owned_by": "guard", "context_length": 200_000 }] })
}

/// Returns the response to a request that counts tokens.
#[must_use]
pub fn counted() -> Value {
    json!({ "input_tokens": 100, "totalTokens": 100 })
}

const USAGE: (u32, u32) = (10, 5);

impl Dialect {
    /// Returns the protocol of a request by its path; `None` if the request is not a turn of a conversation.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let ends = |end: &str| path.ends_with(end);
        match () {
            () if ends("/messages") => Some(Self::Messages),
            () if ends("/responses") => Some(Self::Responses),
            () if ends("/chat/completions") => Some(Self::Chat),
            () if ends(":generateContent") || ends(":streamGenerateContent") => Some(Self::Gemini),
            () => None,
        }
    }

    /// Reports whether the client expects a streamed response.
    #[must_use]
    pub fn streams(self, path: &str, body: &Value) -> bool {
        if self == Self::Gemini { path.ends_with(":streamGenerateContent") } else { body["stream"] == true }
    }

    /// Returns the results of the tool calls so far, in order.
    #[must_use]
    pub fn results(self, body: &Value) -> Vec<String> {
        let list = |name: &str| body.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        let inner = |of: &Value, name: &str| of.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
        match self {
            Self::Messages => {
                let parts = list("messages").iter().flat_map(|message| inner(message, "content")).collect::<Vec<_>>();
                parts.iter().filter(|part| part["type"] == "tool_result").map(|part| text(&part["content"])).collect()
            }
            Self::Responses => {
                let is_result =
                    |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output"));
                list("input").iter().filter(is_result).map(|item| text(&item["output"])).collect()
            }
            Self::Chat => list("messages")
                .iter()
                .filter(|message| message["role"] == "tool")
                .map(|one| text(&one["content"]))
                .collect(),
            Self::Gemini => {
                let parts = list("contents").iter().flat_map(|content| inner(content, "parts")).collect::<Vec<_>>();
                parts.iter().filter_map(|part| part.get("functionResponse")).map(|one| text(&one["response"])).collect()
            }
        }
    }

    /// Returns the whole conversation as JSON.
    #[must_use]
    pub fn conversation(self, body: &Value) -> String {
        let name = match self {
            Self::Messages | Self::Chat => "messages",
            Self::Responses => "input",
            Self::Gemini => "contents",
        };
        body[name].to_string()
    }

    /// Returns the reply to a request outside of the conversation: JSON if the client requires it.
    #[must_use]
    pub fn aside(self, body: &Value) -> String {
        let settings = &body["generationConfig"];
        if self == Self::Gemini
            && (settings["responseMimeType"] == "application/json" || !settings["responseJsonSchema"].is_null())
        {
            return json!({ "reasoning": "a trial", "next_speaker": "user", "model_choice": "flash",
                "complexity_reasoning": "a trial", "complexity_score": 10 })
            .to_string();
        }
        "ok".to_owned()
    }

    /// Returns the response in one piece.
    #[must_use]
    pub fn whole(self, body: &Value, said: &ModelReply) -> Value {
        let model = body["model"].as_str().unwrap_or("stand-in");
        let (used, made) = USAGE;
        match self {
            Self::Messages => {
                let (part, why) = match said {
                    ModelReply::Text(text) => (json!({ "type": "text", "text": text }), "end_turn"),
                    ModelReply::Call { name, input, number } => (
                        json!({ "type": "tool_use", "id": format!("toolu_{number}"), "name": name, "input": input }),
                        "tool_use",
                    ),
                };
                json!({ "id": "msg_0", "type": "message", "role": "assistant", "model": model, "content": [part],
                    "stop_reason": why, "stop_sequence": null, "usage": { "input_tokens": used, "output_tokens": made,
                    "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 } })
            }
            Self::Responses => {
                let item = match said {
                    ModelReply::Text(text) => {
                        json!({ "type": "message", "id": "msg_0", "status": "completed", "role": "assistant",
                        "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
                    }
                    ModelReply::Call { name, input: Value::String(text), number } => {
                        json!({ "type": "custom_tool_call", "name": name,
                        "id": format!("ctc_{number}"), "call_id": format!("call_{number}"), "status": "completed", "input": text })
                    }
                    ModelReply::Call { name, input, number } => json!({ "type": "function_call", "name": name,
                        "id": format!("fc_{number}"), "call_id": format!("call_{number}"), "status": "completed",
                        "arguments": input.to_string() }),
                };
                json!({ "id": "resp_0", "object": "response", "created_at": 1, "status": "completed", "model": model,
                    "output": [item], "usage": { "input_tokens": used, "input_tokens_details": { "cached_tokens": 0 },
                    "output_tokens": made, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": used + made },
                    "error": null, "incomplete_details": null, "instructions": null, "metadata": {}, "parallel_tool_calls": false,
                    "tool_choice": "auto", "tools": [], "temperature": 1, "top_p": 1 })
            }
            Self::Chat => {
                let (message, why) = match said {
                    ModelReply::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
                    ModelReply::Call { name, input, number } => {
                        let arguments = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
                        let call = json!({ "id": format!("call_{number}"), "type": "function",
                            "function": { "name": name, "arguments": arguments } });
                        (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
                    }
                };
                json!({ "id": "chatcmpl-0", "object": "chat.completion", "created": 1, "model": model,
                    "choices": [{ "index": 0, "message": message, "finish_reason": why, "logprobs": null }],
                    "usage": { "prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made } })
            }
            Self::Gemini => {
                let part = match said {
                    ModelReply::Text(text) => json!({ "text": text }),
                    ModelReply::Call { name, input, .. } => {
                        json!({ "functionCall": { "name": name, "args": input }, "thoughtSignature": "c2tpcA==" })
                    }
                };
                json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "finishReason": "STOP", "index": 0 }],
                    "usageMetadata": { "promptTokenCount": used, "candidatesTokenCount": made, "totalTokenCount": used + made },
                    "modelVersion": model })
            }
        }
    }

    /// Returns the response as a stream of events.
    #[must_use]
    pub fn stream(self, body: &Value, said: &ModelReply) -> String {
        let whole = self.whole(body, said);
        match self {
            Self::Messages => messages(&whole),
            Self::Responses => responses(&whole),
            Self::Chat => chat(&whole),
            Self::Gemini => format!("data: {whole}\n\n"),
        }
    }
}

/// Returns the text in the result of a tool call, whatever its structure.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Object(fields) => match fields.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => value.to_string(),
        },
        _ => String::new(),
    }
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
}

fn messages(whole: &Value) -> String {
    let part = &whole["content"][0];
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let (empty, delta) = if part["type"] == "text" {
        (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": part["text"] }))
    } else {
        let mut empty = part.clone();
        empty["input"] = json!({});
        (empty, json!({ "type": "input_json_delta", "partial_json": part["input"].to_string() }))
    };
    [
        json!({ "type": "message_start", "message": begun }),
        json!({ "type": "content_block_start", "index": 0, "content_block": empty }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": whole["stop_reason"], "stop_sequence": null },
            "usage": whole["usage"] }),
        json!({ "type": "message_stop" }),
    ]
    .iter()
    .map(event)
    .collect()
}

fn responses(whole: &Value) -> String {
    let item = &whole["output"][0];
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut added = item.clone();
    added["status"] = json!("in_progress");
    let at = json!({ "output_index": 0, "item_id": item["id"] });
    let with = |kind: &str, more: Value| {
        let mut value = at.clone();
        value["type"] = json!(kind);
        for (name, field) in more.as_object().into_iter().flatten() {
            value[name] = field.clone();
        }
        value
    };
    let mut events = vec![
        json!({ "type": "response.created", "response": begun }),
        json!({ "type": "response.in_progress", "response": begun }),
    ];
    let kind = item["type"].as_str().unwrap_or_default();
    let field = match kind {
        "message" => "content",
        "function_call" => "arguments",
        _ => "input",
    };
    added[field] = if kind == "message" { json!([]) } else { json!("") };
    events.push(with("response.output_item.added", json!({ "item": added })));
    if kind == "message" {
        let part = &item["content"][0];
        let empty = json!({ "type": "output_text", "text": "", "annotations": [] });
        events.extend([
            with("response.content_part.added", json!({ "content_index": 0, "part": empty })),
            with("response.output_text.delta", json!({ "content_index": 0, "delta": part["text"] })),
            with("response.output_text.done", json!({ "content_index": 0, "text": part["text"] })),
            with("response.content_part.done", json!({ "content_index": 0, "part": part })),
        ]);
    } else if kind == "function_call" {
        events.extend([
            with("response.function_call_arguments.delta", json!({ "delta": item["arguments"] })),
            with("response.function_call_arguments.done", json!({ "arguments": item["arguments"] })),
        ]);
    }
    events.push(with("response.output_item.done", json!({ "item": item })));
    events.push(json!({ "type": "response.completed", "response": whole }));
    let numbered = events.into_iter().enumerate().map(|(number, mut value)| {
        value["sequence_number"] = json!(number);
        event(&value)
    });
    numbered.collect()
}

fn chat(whole: &Value) -> String {
    let choice = &whole["choices"][0];
    let mut delta = choice["message"].clone();
    if let Some(call) = delta.pointer_mut("/tool_calls/0") {
        call["index"] = json!(0);
    }
    let chunk = |choices: Value, usage: Value| {
        json!({ "id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"],
            "choices": choices, "usage": usage })
    };
    let pieces = [
        chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": choice["finish_reason"] }]), Value::Null),
        chunk(json!([]), whole["usage"].clone()),
    ];
    let pieces: String = pieces.iter().map(|piece| format!("data: {piece}\n\n")).collect();
    format!("{pieces}data: [DONE]\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Dialect, &str); 4] = [
        (Dialect::Messages, "/v1/messages"),
        (Dialect::Responses, "/v1/responses"),
        (Dialect::Chat, "/v1/chat/completions"),
        (Dialect::Gemini, "/v1beta/models/m:streamGenerateContent"),
    ];

    #[test]
    fn a_dialect_is_known_by_its_path() {
        for (dialect, path) in ALL {
            assert_eq!(Dialect::of(path), Some(dialect));
        }
        assert_eq!(Dialect::of("/v1/messages/count_tokens"), None);
        assert!(Dialect::Gemini.streams("/m:streamGenerateContent", &json!({})));
        assert!(!Dialect::Gemini.streams("/m:generateContent", &json!({ "stream": true })));
        assert!(Dialect::Chat.streams("/x", &json!({ "stream": true })) && !Dialect::Chat.streams("/x", &json!({})));
    }

    #[test]
    fn results_are_read_in_order() {
        let bodies = [
            json!({ "messages": [{ "role": "user", "content": "do it" }, { "role": "assistant", "content": [] },
                { "role": "user", "content": [{ "type": "tool_result", "content": "one" }] },
                { "role": "user", "content": [{ "type": "tool_result", "content": [{ "type": "text", "text": "two" }] }] }] }),
            json!({ "input": [{ "role": "assistant" }, { "type": "function_call_output", "output": "one" },
                { "type": "custom_tool_call_output", "output": "two" }] }),
            json!({ "messages": [{ "role": "assistant" }, { "role": "tool", "content": "one" }, { "role": "tool", "content": "two" }] }),
            json!({ "contents": [{ "role": "model", "parts": [{ "functionResponse": { "response": "one" } }] },
                { "parts": [{ "functionResponse": { "response": "two" } }] }] }),
        ];
        for ((dialect, _), body) in ALL.iter().zip(&bodies) {
            assert_eq!(dialect.results(body), ["one", "two"], "{dialect:?}");
            assert!(["one", "two"].iter().all(|said| dialect.conversation(body).contains(said)), "{dialect:?}");
            assert!(dialect.results(&json!({})).is_empty());
        }
    }

    #[test]
    fn a_stream_holds_what_the_whole_holds() {
        let call = ModelReply::Call { name: "sh".to_owned(), input: json!({ "command": "ls \"x\"" }), number: 3 };
        for (dialect, _) in ALL {
            for said in [call.clone(), ModelReply::Text("the words".to_owned())] {
                let stream = dialect.stream(&json!({ "model": "m" }), &said);
                let pieces: Vec<Value> =
                    stream.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok()).collect();
                let text = pieces.iter().map(Value::to_string).collect::<String>();
                let marks: &[&str] = if said == call { &["sh", "ls"] } else { &["the words"] };
                assert!(marks.iter().all(|mark| text.contains(mark)), "{dialect:?}: {stream}");
                assert!(stream.ends_with("\n\n"));
                let whole = dialect.whole(&json!({}), &said).to_string();
                assert!(marks.iter().all(|mark| whole.contains(mark)), "{dialect:?}: {whole}");
            }
        }
        // A string is passed unchanged to a tool that takes plain text.
        let patch = ModelReply::Call { name: "patch".to_owned(), input: json!("*** Begin"), number: 0 };
        assert_eq!(Dialect::Responses.whole(&json!({}), &patch)["output"][0]["type"], "custom_tool_call");
        assert_eq!(Dialect::Responses.whole(&json!({}), &patch)["output"][0]["input"], "*** Begin");
    }

    #[test]
    fn an_aside_is_json_where_json_is_asked_for() {
        let asked = json!({ "generationConfig": { "responseMimeType": "application/json" } });
        assert!(serde_json::from_str::<Value>(&Dialect::Gemini.aside(&asked)).is_ok());
        assert_eq!(Dialect::Gemini.aside(&json!({})), "ok");
    }
}
