//! Tool calls as a person or a program describes them, on the command line or in a batch.

use std::io::Read as _;

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::engine::Engine;
use super::failure::Failure;
use crate::judge::invocation::Request;
use crate::judge::tools::ToolCall;

/// A tool's call on the command line.
#[derive(Debug, Args)]
pub struct ToolArgs {
    /// Judge a call of this tool instead of a command: mcp__SERVER__TOOL, SERVER.TOOL, or only the tool's name
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    tool: Option<String>,
    /// The input of the tool, as JSON; `-` reads it from standard input
    #[arg(long, value_name = "JSON", requires = "tool")]
    input: Option<String>,
    /// The name of the tool's server
    #[arg(long, value_name = "NAME", requires = "tool")]
    server: Vec<String>,
    /// The tool's description as its server lists it: {"description": …, "inputSchema": {…}, "annotations": {…}}
    #[arg(long, value_name = "JSON", requires = "tool")]
    described: Option<String>,
}

/// The details of a tool call besides its name: its input, its servers and its description.
#[derive(Debug, Default, Deserialize)]
pub struct ToolDetails {
    #[serde(default)]
    pub input: Value,
    /// One or several names of the server.
    #[serde(default)]
    pub server: Servers,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default, alias = "inputSchema")]
    pub schema: Option<Value>,
    #[serde(default)]
    pub annotations: Option<Value>,
}

/// The names of a server.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
pub enum Servers {
    #[default]
    None,
    One(String),
    Several(Vec<String>),
}

impl ToolArgs {
    /// Returns the tool call, or `None` if no tool is named.
    ///
    /// # Errors
    /// An argument is not valid JSON.
    pub fn request(&self, engine: &Engine) -> Result<Option<Request>, Failure> {
        let Some(name) = &self.tool else { return Ok(None) };
        let described = self.described.as_deref().map(|text| json("--described", text)).transpose()?;
        let mut told: ToolDetails =
            described.map(serde_json::from_value).transpose().map_err(wrong("--described"))?.unwrap_or_default();
        told.input = match self.input.as_deref() {
            None => Value::Null,
            Some("-") => {
                let mut text = String::new();
                std::io::stdin().lock().read_to_string(&mut text)?;
                json("standard input", &text)?
            }
            Some(text) => json("--input", text)?,
        };
        if !self.server.is_empty() {
            told.server = Servers::Several(self.server.clone());
        }
        Ok(Some(told.request(engine, name.clone())))
    }
}

impl ToolDetails {
    /// Returns the request for a call of this tool.
    #[must_use]
    pub fn request(self, engine: &Engine, name: String) -> Request {
        let servers = match self.server {
            Servers::None => Vec::new(),
            Servers::One(name) => vec![name],
            Servers::Several(names) => names,
        };
        engine.tool(ToolCall {
            name,
            servers,
            input: self.input,
            description: self.description,
            schema: self.schema,
            hints: self.annotations,
            ..ToolCall::default()
        })
    }
}

fn json(what: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(wrong(what))
}

fn wrong(what: &str) -> impl Fn(serde_json::Error) -> Failure {
    move |error| Failure::Message(format!("{what} is not the expected JSON: {error}"))
}
