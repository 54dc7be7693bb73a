//! The table `[reviewer]` of the user's or the machine's file: who gives an opinion where `mode = "smart"`.
//!
//! A project has no say in it, or it could send commands to a place of its own. The key itself never stands here: the
//! table names where it is found, and only the program that asks reads it. Out of scope: the network.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Who gives an opinion, and within which limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reviewer {
    /// One, or two that must both approve.
    pub voices: Vec<ReviewerModel>,
    /// Seconds for the whole of an opinion.
    pub timeout: u32,
    /// How often it is tried again after a failure that may pass.
    pub retries: u32,
    pub calls_per_day: u64,
    pub tokens_per_day: u64,
    /// In millionths of the unit that the prices are in; `None`: not counted.
    pub money_per_day: Option<u64>,
    /// Seconds for which an opinion is used again.
    pub cache: u32,
    /// A file with a text that is added to what the model is told.
    pub policy: Option<PathBuf>,
    /// Globs below the working directory: files of which it is told what they hold, where a command names them.
    pub contents: Vec<String>,
    /// How much of that, in KiB.
    pub contents_kib: u32,
    /// Globs over ids of rules that are sent to it below the threshold too.
    pub review: Vec<String>,
}

/// A model or program that gives an opinion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewerModel {
    pub provider: Provider,
    pub model: String,
    pub url: String,
    pub key: Option<KeySource>,
    /// Of [`Provider::Program`]: the program and its arguments.
    pub program: Vec<String>,
    pub max_tokens: u32,
    pub max_tokens_field: String,
    pub temperature: Option<f64>,
    /// Of a million tokens of input, and of output.
    pub prices: (f64, f64),
}

/// Whose protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// Chat completions, which many others speak too.
    Openai,
    OpenaiResponses,
    Anthropic,
    Gemini,
    Ollama,
    /// A program that reads the request and prints a verdict.
    Program,
}

impl Provider {
    /// Where it is found when nobody says where.
    #[must_use]
    pub const fn url(self) -> &'static str {
        match self {
            Self::Openai | Self::OpenaiResponses => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Ollama => "http://localhost:11434",
            Self::Program => "",
        }
    }
}

/// Where a key is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum KeySource {
    /// A file that only its owner can read.
    File(PathBuf),
    /// A variable of the environment.
    Env(String),
    /// What this prints.
    Command(Vec<String>),
    /// The account's keyring, under this name.
    Keyring(String),
}

impl Reviewer {
    /// Who it is, in a few words.
    #[must_use]
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.voices.iter().map(|voice| voice.model.as_str()).collect();
        names.join(" and ")
    }

    /// The table's fields with their values, for people. No key is among them, only where it is found.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (number, voice) in self.voices.iter().enumerate() {
            let jury = if number > 0 { "jury." } else { "" };
            let provider = provider_name(voice.provider);
            lines.push(format!("{jury}provider = {provider}"));
            lines.push(format!("{jury}model = {}", voice.model));
            match voice.provider {
                Provider::Program => lines.push(format!("{jury}program = {:?}", voice.program)),
                _ => lines.push(format!("{jury}url = {}", voice.url)),
            }
            lines.extend(voice.key.as_ref().map(|key| {
                let key = match key {
                    KeySource::File(path) => format!("file {}", path.display()),
                    KeySource::Env(name) => format!("variable {name}"),
                    KeySource::Keyring(name) => format!("keyring {name}"),
                    KeySource::Command(words) => format!("what {} prints", words.first().map_or("", String::as_str)),
                };
                format!("{jury}key = {key}")
            }));
        }
        lines.push(format!("timeout = {}", self.timeout));
        lines.push(format!("calls_per_day = {}", self.calls_per_day));
        lines.push(format!("tokens_per_day = {}", self.tokens_per_day));
        if let Some(money) = self.money_per_day {
            lines.push(format!("money_per_day = {}.{:02}", money / 1_000_000, money % 1_000_000 / 10_000));
        }
        lines.push(format!("cache = {}", self.cache));
        lines.extend(self.policy.as_ref().map(|path| format!("policy = {}", path.display())));
        lines.extend(self.contents.iter().map(|glob| format!("contents = {glob}")));
        if !self.contents.is_empty() {
            lines.push(format!("contents_kib = {}", self.contents_kib));
        }
        lines.extend(self.review.iter().map(|rule| format!("review = {rule}")));
        lines
    }
}

const fn provider_name(provider: Provider) -> &'static str {
    match provider {
        Provider::Openai => "openai",
        Provider::OpenaiResponses => "openai-responses",
        Provider::Anthropic => "anthropic",
        Provider::Gemini => "gemini",
        Provider::Ollama => "ollama",
        Provider::Program => "program",
    }
}
