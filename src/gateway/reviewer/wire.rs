//! Implements the providers' protocols: one request, one response. The differences between them are in the data of a
//! request; what they share is in `ask`.
//!
//! Out of scope: HTTP itself, and the meaning of an answer.

use guard_config::config::reviewer::{Provider, ReviewerModel};
use serde_json::{Value, json};

use super::prompt::Prompt;

/// The ways to enforce the format of an answer, strictest first; each is tried if the one before is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseFormat {
    Schema,
    Json,
    Text,
}

impl ResponseFormat {
    /// Returns the next less strict format.
    #[must_use]
    pub const fn weaker(self) -> Option<Self> {
        match self {
            Self::Schema => Some(Self::Json),
            Self::Json => Some(Self::Text),
            Self::Text => None,
        }
    }
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRequest {
    pub url: String,
    /// The headers, including the one of the key.
    pub headers: Vec<(&'static str, String)>,
    pub body: Value,
}

/// The tokens that a call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
}

impl Usage {
    /// Returns the assumed usage of a call if the provider reports none.
    #[must_use]
    pub fn at_most(voice: &ReviewerModel, prompt: &Prompt) -> Self {
        // A token is about four bytes of English text, and fewer of most other text.
        let bytes = prompt.system.len() + prompt.user.len();
        Self { input: u64::try_from(bytes / 3).unwrap_or(u64::MAX), output: voice.max_tokens.into() }
    }

    /// Returns the sum of both.
    #[must_use]
    pub const fn tokens(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Returns the sum with another call.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { input: self.input.saturating_add(other.input), output: self.output.saturating_add(other.output) }
    }
}

/// Returns the usage that a response with status 200 reports, regardless of the rest of it; `None` if it reports none.
#[must_use]
pub fn usage(provider: Provider, body: &Value) -> Option<Usage> {
    let count = |at: &str| body.pointer(at).and_then(Value::as_u64).unwrap_or_default();
    let (input, output) = match provider {
        Provider::Openai | Provider::Program => (count("/usage/prompt_tokens"), count("/usage/completion_tokens")),
        Provider::OpenaiResponses | Provider::Anthropic => {
            (count("/usage/input_tokens"), count("/usage/output_tokens"))
        }
        // Thinking tokens are billed too, but are counted separately.
        Provider::Gemini => {
            let thought = count("/usageMetadata/thoughtsTokenCount");
            let output = count("/usageMetadata/candidatesTokenCount").saturating_add(thought);
            (count("/usageMetadata/promptTokenCount"), output)
        }
        Provider::Ollama => (count("/prompt_eval_count"), count("/eval_count")),
    };
    (input > 0 || output > 0).then_some(Usage { input, output })
}

/// Returns the request to a model.
#[must_use]
pub fn call(voice: &ReviewerModel, key: Option<&str>, prompt: &Prompt, bound: ResponseFormat) -> ModelRequest {
    let ReviewerModel { model, url, max_tokens, .. } = voice;
    let (system, user, schema) = (&prompt.system, &prompt.user, Prompt::schema());
    let bearer = || key.map(|key| ("authorization", format!("Bearer {key}"))).into_iter().collect::<Vec<_>>();
    let named = |name: &'static str| key.map(|key| (name, key.to_owned())).into_iter().collect::<Vec<_>>();
    let messages = json!([{ "role": "system", "content": system }, { "role": "user", "content": user }]);
    let (url, headers, mut body) = match voice.provider {
        Provider::Openai | Provider::Program => {
            let mut body = json!({ "model": model, "messages": messages });
            body[&voice.max_tokens_field] = json!(max_tokens);
            match bound {
                ResponseFormat::Schema => {
                    let named = json!({ "name": "verdict", "strict": true, "schema": schema });
                    body["response_format"] = json!({ "type": "json_schema", "json_schema": named });
                }
                ResponseFormat::Json => body["response_format"] = json!({ "type": "json_object" }),
                ResponseFormat::Text => {}
            }
            (format!("{url}/chat/completions"), bearer(), body)
        }
        Provider::OpenaiResponses => {
            let mut body = json!({ "model": model, "instructions": system, "input": user, "store": false });
            body[&voice.max_tokens_field] = json!(max_tokens);
            match bound {
                ResponseFormat::Schema => {
                    let format = json!({ "type": "json_schema", "name": "verdict", "strict": true, "schema": schema });
                    body["text"] = json!({ "format": format });
                }
                ResponseFormat::Json => body["text"] = json!({ "format": { "type": "json_object" } }),
                ResponseFormat::Text => {}
            }
            (format!("{url}/responses"), bearer(), body)
        }
        Provider::Anthropic => {
            let messages = json!([{ "role": "user", "content": user }]);
            let mut body = json!({ "model": model, "max_tokens": max_tokens, "system": system, "messages": messages });
            if bound == ResponseFormat::Schema {
                body["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } });
            }
            let mut headers = named("x-api-key");
            headers.push(("anthropic-version", "2023-06-01".to_owned()));
            (format!("{url}/messages"), headers, body)
        }
        Provider::Gemini => {
            let mut config = json!({ "maxOutputTokens": max_tokens });
            if bound != ResponseFormat::Text {
                config["responseMimeType"] = json!("application/json");
            }
            if bound == ResponseFormat::Schema {
                config["responseJsonSchema"] = schema;
            }
            if let Some(temperature) = voice.temperature {
                config["temperature"] = json!(temperature);
            }
            let body = json!({
                "systemInstruction": { "role": "user", "parts": [{ "text": system }] },
                "contents": [{ "role": "user", "parts": [{ "text": user }] }],
                "generationConfig": config,
            });
            let model = model.strip_prefix("models/").unwrap_or(model);
            return ModelRequest {
                url: format!("{url}/models/{model}:generateContent"),
                headers: named("x-goog-api-key"),
                body,
            };
        }
        Provider::Ollama => {
            let mut options = json!({ "num_predict": max_tokens });
            options["temperature"] = json!(voice.temperature.unwrap_or(0.0));
            let mut body = json!({ "model": model, "stream": false, "messages": messages, "options": options, "keep_alive": "30m" });
            match bound {
                ResponseFormat::Schema => body["format"] = schema,
                ResponseFormat::Json => body["format"] = json!("json"),
                ResponseFormat::Text => {}
            }
            return ModelRequest { url: format!("{url}/api/chat"), headers: bearer(), body };
        }
    };
    if let Some(temperature) = voice.temperature {
        body["temperature"] = json!(temperature);
    }
    ModelRequest { url, headers, body }
}

/// The reason why a response with status 200 contains no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmptyAnswer {
    #[error("its answer was truncated")]
    Cut,
    #[error("it refused to answer")]
    Refused,
    #[error("its answer is incomplete")]
    Incomplete,
    #[error("its answer contains no text")]
    NoText,
}

/// Returns the text of a response with status 200.
///
/// # Errors
/// The model refused, or the answer is truncated or missing.
pub fn reply_text(provider: Provider, body: &Value) -> Result<String, EmptyAnswer> {
    let text = |at: &str| body.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let cut = || Err(EmptyAnswer::Cut);
    let refused = || Err(EmptyAnswer::Refused);
    let text = match provider {
        Provider::Openai | Provider::Program => {
            let message = "/choices/0/message";
            if body.pointer(&format!("{message}/refusal")).is_some_and(|refusal| !refusal.is_null()) {
                return refused();
            }
            match text("/choices/0/finish_reason").as_deref() {
                Some("stop") => {}
                Some("length") => return cut(),
                Some("content_filter") => return refused(),
                _ => return Err(EmptyAnswer::Incomplete),
            }
            text(&format!("{message}/content"))
        }
        Provider::OpenaiResponses => {
            if text("/status").as_deref() != Some("completed") {
                return if text("/status").as_deref() == Some("incomplete") { cut() } else { refused() };
            }
            let parts = body.get("output").and_then(Value::as_array).into_iter().flatten();
            let parts: Vec<&Value> = parts.filter_map(|item| item.get("content")?.as_array()).flatten().collect();
            if parts.iter().any(|part| part["type"] == "refusal") {
                return refused();
            }
            let mut texts = parts.iter().filter(|part| part["type"] == "output_text");
            let only = texts.next().and_then(|part| part["text"].as_str()).map(str::to_owned);
            only.filter(|_| texts.next().is_none())
        }
        Provider::Anthropic => {
            match text("/stop_reason").as_deref() {
                Some("end_turn" | "stop_sequence") => {}
                Some("max_tokens") => return cut(),
                Some("refusal") => return refused(),
                _ => return Err(EmptyAnswer::Incomplete),
            }
            let parts = body.get("content").and_then(Value::as_array).into_iter().flatten();
            let mut texts = parts.filter(|part| part["type"] == "text");
            let only = texts.next().and_then(|part| part["text"].as_str()).map(str::to_owned);
            only.filter(|_| texts.next().is_none())
        }
        Provider::Gemini => {
            if body.pointer("/promptFeedback/blockReason").is_some() {
                return refused();
            }
            match text("/candidates/0/finishReason").as_deref() {
                Some("STOP") => {}
                Some("MAX_TOKENS") => return cut(),
                _ => return refused(),
            }
            // The vendor's own client does the same: it joins all parts of the answer and leaves out the model's
            // thoughts.
            let parts = body.pointer("/candidates/0/content/parts").and_then(Value::as_array);
            let spoken = parts.into_iter().flatten().filter(|part| part["thought"] != true);
            let texts: Vec<&str> = spoken.filter_map(|part| part["text"].as_str()).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        Provider::Ollama => {
            match text("/done_reason").as_deref() {
                Some("stop") => {}
                Some("length") => return cut(),
                _ => return Err(EmptyAnswer::Incomplete),
            }
            text("/message/content")
        }
    };
    text.ok_or(EmptyAnswer::NoText)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> Prompt {
        let text = str::to_owned;
        Prompt { system: text("policy"), user: text("hello"), canary: text("c"), digest: text("d"), version: text("v") }
    }

    /// Checks the request against the one that google-genai 3.6.1 sends for `generate_content("gemini-2.5-flash",
    /// "hello")` with a system instruction, at most 1024 tokens, temperature 0 and `response_json_schema`, as recorded
    /// from that client.
    #[test]
    fn a_request_to_gemini_is_the_one_of_its_vendors_client() {
        let voice = ReviewerModel {
            provider: Provider::Gemini,
            model: "gemini-2.5-flash".to_owned(),
            url: "http://127.0.0.1:18431/v1beta".to_owned(),
            key: None,
            program: Vec::new(),
            max_tokens: 1024,
            max_tokens_field: String::new(),
            temperature: Some(0.0),
            prices: (0.0, 0.0),
        };
        let mut request = call(&voice, Some("sk-secret-1"), &prompt(), ResponseFormat::Schema);
        assert_eq!(request.url, "http://127.0.0.1:18431/v1beta/models/gemini-2.5-flash:generateContent");
        assert_eq!(request.headers, [("x-goog-api-key", "sk-secret-1".to_owned())]);
        let schema = request.body["generationConfig"]["responseJsonSchema"].take();
        assert_eq!(schema, Prompt::schema());
        let recorded = json!({
            "contents": [{ "parts": [{ "text": "hello" }], "role": "user" }],
            "systemInstruction": { "parts": [{ "text": "policy" }], "role": "user" },
            "generationConfig": {
                "temperature": 0.0, "maxOutputTokens": 1024, "responseMimeType": "application/json",
                "responseJsonSchema": null,
            },
        });
        assert_eq!(request.body, recorded);
    }

    #[test]
    fn of_gemini_what_it_thought_is_no_part_of_its_answer() {
        let of = |parts: Value| {
            reply_text(
                Provider::Gemini,
                &json!({ "candidates": [{ "finishReason": "STOP", "content": { "parts": parts } }] }),
            )
        };
        assert_eq!(
            of(json!([{ "text": "hm", "thought": true }, { "text": "{\"a\":" }, { "text": "1}" }])).unwrap(),
            "{\"a\":1}"
        );
        assert_eq!(of(json!([{ "text": "hm", "thought": true }])), Err(EmptyAnswer::NoText));
        assert_eq!(of(json!([])), Err(EmptyAnswer::NoText));
    }
}
