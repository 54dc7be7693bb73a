//! The table `[reviewer]` of the user's or the machine's file: the reviewer for `mode = "smart"`.
//!
//! A project cannot set it, because it could send commands to another address. The table does not contain the API key,
//! but its source, which only the program that consults the model reads. Out of scope: the network.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The reviewer and its limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reviewer {
    /// One model, or two that must both approve.
    pub voices: Vec<ReviewerModel>,
    /// The time limit of an opinion, in seconds.
    pub timeout: u32,
    /// The number of retries after a temporary failure.
    pub retries: u32,
    pub calls_per_day: u64,
    pub tokens_per_day: u64,
    /// The budget per day, in millionths of the currency of the prices; `None`: no budget.
    pub money_per_day: Option<u64>,
    /// The time for which an opinion is cached, in seconds.
    pub cache: u32,
    /// A file with a text that is added to the instructions of the model.
    pub policy: Option<PathBuf>,
    /// Globs for files below the working directory whose content is sent if the command names them.
    pub contents: Vec<String>,
    /// Maximum size of this content, in KiB.
    pub contents_kib: u32,
    /// Globs for IDs of rules whose findings are sent below the threshold too.
    pub review: Vec<String>,
}

/// A model, or a program, that gives an opinion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewerModel {
    pub provider: Provider,
    pub model: String,
    pub url: String,
    pub key: Option<KeySource>,
    /// For [`Provider::Program`]: the program and its arguments.
    pub program: Vec<String>,
    pub max_tokens: u32,
    pub max_tokens_field: String,
    pub temperature: Option<f64>,
    /// The prices of a million tokens of input and of output.
    pub prices: (f64, f64),
}

/// The protocol of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// Chat completions, which many other servers support.
    Openai,
    OpenaiResponses,
    Anthropic,
    Gemini,
    Ollama,
    /// A program that reads the request and prints a verdict.
    Program,
}

impl Provider {
    /// Returns the default address.
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

/// The source of an API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum KeySource {
    /// A file that only its owner can read.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// The output of this command.
    Command(Vec<String>),
    /// The keyring of the account, under this name.
    Keyring(String),
}

impl Reviewer {
    /// Returns a short description of it.
    #[must_use]
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.voices.iter().map(|voice| voice.model.as_str()).collect();
        names.join(" and ")
    }

    /// Returns the fields of the table with their values, for display. They contain the source of the API key and not
    /// the key.
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
