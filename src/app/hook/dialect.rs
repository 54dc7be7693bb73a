//! An agent's dialect, according to its description: parses its input and formats the answer.
//!
//! Out of scope: names of agents, and what a tool does ([`super::shape`]).

use std::path::PathBuf;

use serde_json::Value;

use super::call::{HookCall, HookReply, HookStage, InvalidCall, Reply};
use super::hosts::Host;
use super::shape;
use crate::judge::agents::model::{self, Hook, HookEvent, Words};

/// The longest session name, in bytes: longer than that of any host, and short enough to be in every row.
const LONGEST: usize = 200;

/// Parses an agent's input.
///
/// # Errors
/// The input does not tell what the agent is about to do.
pub fn read(host: Host, input: &Value) -> Result<HookCall, InvalidCall> {
    let hook = host.hook;
    let event = event(hook, input)?;
    let stage = match event.kind {
        HookEvent::Tool => HookStage::Tool,
        HookEvent::Permission => HookStage::Permission,
    };
    let wrong = |wrong: InvalidCall| wrong.at(stage);
    let tool = match &event.only {
        Some(only) => only.as_str(),
        None => first(input, &event.tool)
            .and_then(Value::as_str)
            .ok_or_else(|| wrong(InvalidCall::new("the input does not name a tool")))?,
    };
    let stage = if event.own.iter().any(|own| own == tool) { HookStage::OwnTool } else { stage };
    let wrong = |wrong: InvalidCall| wrong.at(stage);
    let arguments = first(input, &event.arguments).unwrap_or(&Value::Null);
    if hook.cut.iter().any(|field| at(input, field) == Some(&Value::Bool(true))) {
        return Err(wrong(InvalidCall::new(format!(
            "the agent truncated the input of {tool}, so guard cannot judge it"
        ))));
    }
    let action = shape::used(&hook.tools, tool, arguments).map_err(wrong)?;
    let session_directory = directory(input, &hook.cwd);
    Ok(HookCall {
        event: stage,
        action,
        cwd: match directory(&objects(arguments), &hook.inner) {
            Some(inner) if inner.is_absolute() => Some(inner),
            Some(inner) => Some(session_directory.unwrap_or_else(|| PathBuf::from(".")).join(inner)),
            None => session_directory,
        },
        session: first(input, &hook.session)
            .and_then(Value::as_str)
            .filter(|id| !id.is_empty())
            .map(|id| id.chars().take(LONGEST).collect()),
        to: shape::to(&hook.tools, tool, arguments),
        asks: asks(hook, event, input),
        is_left: hook.leaves.iter().any(|own| own == tool),
    })
}

/// Returns the value, parsed if it is an object in a text.
fn objects(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            serde_json::from_str(text).ok().filter(Value::is_object).unwrap_or_else(|| value.clone())
        }
        other => other.clone(),
    }
}

/// Returns the hook event of the input.
fn event<'a>(hook: &'a Hook, input: &Value) -> Result<&'a model::Event, InvalidCall> {
    let name = |event: &model::Event| event.field.iter().find_map(|field| at(input, field)?.as_str());
    let named = hook.events.iter().find_map(name);
    let fits = |event: &&model::Event| match named {
        Some(named) => event.names.iter().any(|known| known == named),
        None if event.names.is_empty() => {
            event.unnamed.is_empty() || event.unnamed.iter().any(|field| at(input, field).is_some())
        }
        None => false,
    };
    hook.events.iter().find(fits).ok_or_else(|| InvalidCall::event(named))
}

/// Reports whether the agent's own prompt reaches a person, according to the input.
fn asks(hook: &Hook, event: &model::Event, input: &Value) -> bool {
    let ask = &hook.ask;
    if ask.at.contains(&event.kind) {
        return true;
    }
    let here = |field: &String| at(input, field).is_some();
    if !ask.has.iter().all(here) || ask.lacks.iter().any(here) {
        return false;
    }
    let in_mode = ask.mode.as_ref().is_some_and(|(field, modes)| {
        at(input, field).and_then(Value::as_str).is_some_and(|mode| modes.iter().any(|known| known == mode))
    });
    in_mode || ask.field.as_ref().is_some_and(|field| at(input, field) == Some(&Value::Bool(true)))
}

/// Formats the answer for the agent.
#[must_use]
pub fn say(host: Host, event: HookStage, answer: &HookReply) -> Reply {
    let hook = host.hook;
    let say = match event {
        HookStage::Tool => &hook.say,
        HookStage::OwnTool => hook.say_own.as_ref().unwrap_or(&hook.say),
        HookStage::Permission => hook.say_permission.as_ref().unwrap_or(&hook.say),
        HookStage::Unknown => hook.say_unknown.as_ref().unwrap_or(&hook.say),
    };
    match answer {
        HookReply::NoOpinion => said(&say.nothing, ""),
        HookReply::Allow => said(&say.allow, ""),
        HookReply::Ask { reason } => said(say.ask.as_ref().unwrap_or(&say.deny), reason),
        HookReply::Deny { reason } => said(&say.deny, reason),
    }
}

fn said(words: &Words, reason: &str) -> Reply {
    let quoted = Value::from(reason).to_string();
    let inside = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    let line = |text: String| if text.is_empty() { text } else { format!("{text}\n") };
    Reply {
        stdout: line(words.out.replace("@REASON@", inside)),
        stderr: line(words.err.replace("@REASON@", reason)),
        code: words.code,
    }
}

/// Returns the value at a path: `a/b` is the member `b` of the member `a`, and an empty path is the value itself.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(value);
    }
    path.split('/').try_fold(value, |value, name| value.get(name)).filter(|value| !value.is_null())
}

/// Returns the value at the first of these paths that exists.
fn first<'a>(value: &'a Value, paths: &[String]) -> Option<&'a Value> {
    paths.iter().find_map(|path| at(value, path))
}

/// Returns a directory name that is not empty: a text, or the first of a list of texts or of objects with a path.
fn directory(value: &Value, paths: &[String]) -> Option<PathBuf> {
    paths.iter().find_map(|path| {
        let found = at(value, path)?;
        let found = found.as_array().map_or(Some(found), |list| list.first())?;
        found.as_str().or_else(|| found.get("path")?.as_str()).filter(|path| !path.is_empty()).map(PathBuf::from)
    })
}
