//! A host's call and the answer, independent of the dialect: the values between the dialects and the engine.

use std::path::PathBuf;

use serde_json::Value;

use crate::judge::invocation::{ChangeKind, FileChange};

/// One call of a tool that a host asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    pub event: HookStage,
    pub action: ToolAction,
    /// The working directory, if the host names one.
    pub cwd: Option<PathBuf>,
    /// The host's name for its session.
    pub session: Option<String>,
    /// The host's name for the program that is started or typed into.
    pub to: Option<String>,
    /// Whether the host's own prompt reaches a person, according to the input.
    pub asks: bool,
    /// Whether the host's shell runs the command, so that guard judges it there if it replaces that shell.
    pub is_left: bool,
}

/// The hook event at which a host asks. The form of the answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookStage {
    /// Before a tool is used.
    Tool,
    /// Before a tool is used whose answer has a form of its own.
    OwnTool,
    /// Before the host asks its user or checks its own permissions.
    Permission,
    /// Unknown from the input: the answer must be valid at as many events as possible.
    Unknown,
}

/// The action of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToolAction {
    /// No action that guard judges.
    Other,
    /// Commands for a shell.
    Line(String),
    /// A program and its arguments.
    Argv(Vec<String>),
    /// Code for PowerShell.
    PowerShell(String),
    /// Changes of files.
    Files(Vec<FileChange>),
    /// Text that is typed into a running program.
    Typed(Typed),
    /// Any other call: the tool's name, and its arguments as compact JSON.
    Tool { name: String, input: String },
}

/// Text that is typed into a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Typed {
    /// The text, with its line ends.
    pub text: String,
    /// Whether it contains keys that edit the line or recall another, so that what the program reads is unknown.
    pub is_edited: bool,
}

/// The answer to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookReply {
    /// guard does not object and leaves the decision to the host's own permissions.
    NoOpinion,
    /// The call may run without the host asking.
    Allow,
    /// The host should ask its user.
    Ask { reason: String },
    /// The call must not run.
    Deny { reason: String },
}

/// The output and the exit code of the hook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub stdout: String,
    pub stderr: String,
    pub code: u8,
}

impl Reply {
    /// No output and exit code 0.
    pub const SILENCE: Self = Self { stdout: String::new(), stderr: String::new(), code: 0 };

    /// Returns the denial that most hosts understand: exit code 2, the reason on standard error, nothing on standard
    /// output.
    #[must_use]
    pub fn exit_2(reason: &str) -> Self {
        Self { stderr: format!("{reason}\n"), code: 2, ..Self::SILENCE }
    }
}

/// The reason why a hook's input is invalid and therefore denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCall {
    pub event: HookStage,
    pub why: String,
}

impl InvalidCall {
    /// Creates it for an event before a tool is used.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self { event: HookStage::Tool, why: why.into() }
    }

    /// Creates it for an event for which guard has no answer.
    #[must_use]
    pub fn event(name: Option<&str>) -> Self {
        match name {
            Some(name) => Self::new(format!("unknown event {name:?}")),
            None => Self::new("the input names no event; check the agent's name"),
        }
        .at(HookStage::Unknown)
    }

    /// Creates it for a tool whose input does not have the expected form.
    #[must_use]
    pub fn input(tool: &str, expected: &str) -> Self {
        Self::new(format!("the call of {tool} has no {expected}, so guard cannot judge it"))
    }

    /// Changes the event.
    #[must_use]
    pub fn at(self, event: HookStage) -> Self {
        Self { event, ..self }
    }
}

/// Returns the text of the first of these fields that exists in an object.
#[must_use]
pub fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(name)?.as_str())
}

/// Reads a command: a text for a shell, or a list with a program and its arguments.
///
/// # Errors
/// There is neither.
pub fn command(tool: &str, input: &Value, names: &[&str]) -> Result<ToolAction, InvalidCall> {
    let Some(found) = names.iter().find_map(|name| input.get(name)) else {
        return Err(InvalidCall::input(tool, "command"));
    };
    if let Some(text) = found.as_str() {
        return Ok(ToolAction::Line(text.to_owned()));
    }
    match words(found) {
        Some(words) if !words.is_empty() => Ok(ToolAction::Argv(words)),
        _ => Err(InvalidCall::input(tool, "command")),
    }
}

/// Reads a list of texts.
#[must_use]
pub fn words(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| word.as_str().map(ToOwned::to_owned)).collect()
}

/// Reads the one file that a tool changes.
///
/// # Errors
/// The call names none.
pub fn file(tool: &str, input: &Value, names: &[&str], kind: ChangeKind) -> Result<ToolAction, InvalidCall> {
    match text(input, names) {
        Some(path) if !path.is_empty() => Ok(ToolAction::Files(vec![FileChange { kind, path: path.to_owned() }])),
        _ => Err(InvalidCall::input(tool, "file name")),
    }
}

/// Reads the files that a patch in the form `*** Begin Patch` changes.
///
/// # Errors
/// It names none, so it is not such a patch.
pub fn patch(tool: &str, text: &str) -> Result<ToolAction, InvalidCall> {
    let change = |kind, path: &str| FileChange { kind, path: path.trim().to_owned() };
    let mut changes: Vec<FileChange> = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("*** ") else { continue };
        if let Some(path) = rest.strip_prefix("Add File:") {
            changes.push(change(ChangeKind::Write, path));
        } else if let Some(path) = rest.strip_prefix("Update File:") {
            changes.push(change(ChangeKind::Edit, path));
        } else if let Some(path) = rest.strip_prefix("Delete File:") {
            changes.push(change(ChangeKind::Delete, path));
        } else if let Some(path) = rest.strip_prefix("Move to:") {
            if let Some(last) = changes.last_mut() {
                last.kind = ChangeKind::Move;
            }
            changes.push(change(ChangeKind::Write, path));
        }
    }
    if changes.is_empty() {
        Err(InvalidCall::input(tool, "patch that names a file"))
    } else {
        Ok(ToolAction::Files(changes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_tells_its_files_and_where_they_go() {
        let text = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-x\n+y\n\
                    *** Delete File: d e.txt\n*** End Patch\n";
        let Ok(ToolAction::Files(changes)) = patch("apply_patch", text) else { panic!("no files") };
        let said: Vec<_> = changes.iter().map(|change| format!("{} {}", change.kind.word(), change.path)).collect();
        assert_eq!(said, ["write a.txt", "move b.txt", "write c.txt", "delete d e.txt"]);
    }

    #[test]
    fn a_patch_that_names_no_file_is_not_passed_over() {
        assert!(patch("apply_patch", "--- a\n+++ b\n").is_err());
    }
}
