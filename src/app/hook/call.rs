//! What a host says and what it is told, in no dialect: the values between the dialects and the engine.

use std::path::PathBuf;

use serde_json::Value;

use crate::judge::invocation::{ChangeKind, FileChange};

/// One call of a tool that a host asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    pub event: HookStage,
    pub action: ToolAction,
    /// The working directory, where the host names one.
    pub cwd: Option<PathBuf>,
    /// The host's name for its session.
    pub session: Option<String>,
    /// The host's name for the program that is started, or typed into.
    pub to: Option<String>,
    /// Whether the host's own prompt reaches a person, as far as the input tells.
    pub asks: bool,
    /// The host's shell runs the command, and guard judges it there where it stands in for that.
    pub is_left: bool,
}

/// The hook event at which a host asks. The form of the answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookStage {
    /// Before a tool is used.
    Tool,
    /// The same, for a tool that is answered in words of its own.
    OwnTool,
    /// Before the host would ask its user, or weighs its own permissions.
    Permission,
    /// The input does not tell, or could not be read: what is said must hold at as many events as possible.
    Unknown,
}

/// What the tool call would do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToolAction {
    /// Nothing that guard judges.
    Other,
    /// Commands for a shell.
    Line(String),
    /// A program and its arguments.
    Argv(Vec<String>),
    /// Code for PowerShell.
    PowerShell(String),
    /// Changes of files.
    Files(Vec<FileChange>),
    /// What is typed into a program that runs already.
    Typed(Typed),
    /// Something else: the tool's name, and its arguments as compact JSON.
    Tool { name: String, input: String },
}

/// What is typed into a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Typed {
    /// As it is typed, with its line ends.
    pub text: String,
    /// There are keys in it that change the line, or bring back another: what the program reads is not known.
    pub is_edited: bool,
}

/// What a host is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookReply {
    /// guard has nothing against it and leaves the rest to the host's own permissions.
    NoOpinion,
    /// It may run, and the host need not ask.
    Allow,
    /// The host is to ask its user.
    Ask { reason: String },
    /// It must not run.
    Deny { reason: String },
}

/// What is printed, and the exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub stdout: String,
    pub stderr: String,
    pub code: u8,
}

impl Reply {
    /// Nothing at all.
    pub const SILENCE: Self = Self { stdout: String::new(), stderr: String::new(), code: 0 };

    /// The denial that most hosts share: exit code 2, the reason on standard error, nothing on standard output.
    #[must_use]
    pub fn exit_2(reason: &str) -> Self {
        Self { stderr: format!("{reason}\n"), code: 2, ..Self::SILENCE }
    }
}

/// Why a hook's input is invalid and therefore denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidCall {
    pub event: HookStage,
    pub why: String,
}

impl InvalidCall {
    /// At a tool's use.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self { event: HookStage::Tool, why: why.into() }
    }

    /// An event that guard has no answer for.
    #[must_use]
    pub fn event(name: Option<&str>) -> Self {
        match name {
            Some(name) => Self::new(format!("unknown event {name:?}")),
            None => Self::new("the input names no event; check the agent's name"),
        }
        .at(HookStage::Unknown)
    }

    /// A tool whose input is not what the tool takes.
    #[must_use]
    pub fn input(tool: &str, expected: &str) -> Self {
        Self::new(format!("the call of {tool} has no {expected}, so guard cannot judge it"))
    }

    /// The same, at another event.
    #[must_use]
    pub fn at(self, event: HookStage) -> Self {
        Self { event, ..self }
    }
}

/// A text in an object, under the first of these names that is there.
#[must_use]
pub fn text<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| value.get(name)?.as_str())
}

/// A command: a text for a shell, or a list: of one program's arguments.
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

/// A list of texts.
#[must_use]
pub fn words(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|word| word.as_str().map(ToOwned::to_owned)).collect()
}

/// One file that a tool changes.
///
/// # Errors
/// The call names none.
pub fn file(tool: &str, input: &Value, names: &[&str], kind: ChangeKind) -> Result<ToolAction, InvalidCall> {
    match text(input, names) {
        Some(path) if !path.is_empty() => Ok(ToolAction::Files(vec![FileChange { kind, path: path.to_owned() }])),
        _ => Err(InvalidCall::input(tool, "file name")),
    }
}

/// The files that a patch in the form `*** Begin Patch` changes.
///
/// # Errors
/// It names none: then it is no such patch.
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
