//! Judges what an agent types into programs that it started: shells, interpreters, debuggers.
//!
//! If a hook sees the typed text, it is judged in the language of the program, together with the text already typed in
//! the same line. If no hook sees it, guard asks about the start of the program instead. Out of scope: names of
//! programs; a program's description says that it reads commands.

use std::collections::BTreeSet;

use serde_json::json;

use super::call::{HookCall, ToolAction, Typed};
use super::hosts::Host;
use crate::app::engine::{Engine, EngineError, JudgedCommand};
use crate::judge::agents::model::KnownToolUse;
use crate::judge::invocation::{Invocation, Request};
use crate::judge::ledger::{CommandChanges, Ledger, NamedObject};
use crate::judge::tools::ToolCall;
use crate::judge::{Judgment, consoles};

/// The name under which the record keeps the state of typed text. No program has this name.
const TYPING: &str = ":typing";
const STARTS: &str = "starts";
const TYPES: &str = "types";
const LANGUAGE: &str = "language";
const TO: &str = "to";

/// The tool name for text typed into a program other than a shell, and the language name for unknown languages.
const TOOL: &str = "type_into_program";
const UNKNOWN: &str = "unknown";

/// The longest unfinished line that is kept, in bytes.
const MOST: usize = 16 << 10;

/// Judges a call. A program that reads commands which no hook sees is judged as one that runs unknown commands.
pub(super) fn judged(engine: &Engine, host: Host, invocation: Invocation) -> (Invocation, JudgedCommand) {
    let judged = engine.judge(&invocation);
    let is_line = matches!(invocation.request, Request::Line(_));
    if !is_line || !host.hook.types_unseen || consoles::listener(&judged.judgment.facts, &engine.catalog).is_none() {
        return (invocation, judged);
    }
    let typed = invocation.typed_into();
    let mut later = engine.judge(&typed);
    if later.judgment.risk.tier <= judged.judgment.risk.tier {
        return (invocation, judged);
    }
    let known = |rule: &str| judged.judgment.risk.findings.iter().any(|finding| finding.rule == rule);
    for finding in later.judgment.risk.findings.iter_mut().filter(|finding| !known(&finding.rule)) {
        finding.reason = format!(
            "The program reads commands that are typed into it later, and {} does not report those.",
            host.agent.title
        );
    }
    (typed, later)
}

/// Returns the request to judge when text is typed into the program of this name, given what the session started and
/// typed before. Returns `None` if the line is empty.
///
/// # Errors
/// The shell that would read it cannot be determined.
pub(super) fn request(
    engine: &Engine,
    invocation: &Invocation,
    to: Option<&str>,
    typed: &Typed,
) -> Result<Option<Request>, EngineError> {
    let ledger = engine.ledger(invocation);
    let mut heard = ledger.as_ref().map(|ledger| TypedInput::of(ledger, to)).unwrap_or_default();
    heard.take(&typed.text, typed.is_edited);
    let text = heard.lines.trim_end_matches('\n');
    if text.is_empty() && !heard.is_edited {
        return Ok(None);
    }
    let language = match heard.language() {
        Some(language) if !heard.is_edited => language,
        _ => UNKNOWN,
    };
    if consoles::is_shell(language) {
        return engine.plain_line(text.into()).map(Some);
    }
    Ok(Some(engine.tool(ToolCall::new(TOOL, json!({ "language": language, "text": text })))))
}

/// Adds to the changes of a call the programs that it started which read commands, or the text that it typed.
pub(super) fn remember(
    engine: &Engine,
    host: Host,
    call: &HookCall,
    judgment: &Judgment,
    changes: &mut CommandChanges,
) {
    let named = |sub: &str, language: Option<String>, text: Option<String>| NamedObject {
        program: TYPING.to_owned(),
        sub: vec![sub.to_owned()],
        flags: [(LANGUAGE, language), (TO, call.to.clone())]
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), Some(value?))))
            .collect(),
        operands: text.into_iter().collect(),
        ..NamedObject::default()
    };
    if !host.hook.tools.known.iter().any(|known| known.does == KnownToolUse::Typed) {
        return;
    }
    let language = consoles::listener(&judgment.facts, &engine.catalog);
    changes.named.extend(language.map(|language| named(STARTS, Some(language), None)));
    if let ToolAction::Typed(typed) = &call.action {
        let mark = if typed.is_edited { "\u{0}" } else { "" };
        changes.named.push(named(TYPES, None, Some(format!("{mark}{}", typed.text))));
    }
}

/// The text that was typed into a program so far.
#[derive(Debug, Default)]
struct TypedInput {
    /// The languages of the programs that the session started which it may be.
    languages: BTreeSet<String>,
    /// The unfinished line.
    line: String,
    /// The new input of the program: complete lines, and an unfinished one.
    lines: String,
    /// Whether the line was edited, so that its text is not what was typed.
    is_edited: bool,
}

impl TypedInput {
    fn of(ledger: &Ledger, to: Option<&str>) -> Self {
        let mut heard = Self::default();
        for past in ledger.named().filter(|past| past.program == TYPING) {
            let flag = |name: &str| past.flags.iter().find(|(flag, _)| flag == name)?.1.as_deref();
            let is_it = match (flag(TO), to) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            };
            let sub = past.sub.first().map(String::as_str);
            match (sub, flag(LANGUAGE)) {
                // A host that names the program when typing into it may not have named it at its start.
                (Some(STARTS), Some(language)) if is_it => {
                    heard.languages.insert(language.to_owned());
                }
                (Some(TYPES), _) if is_it => {
                    let text = past.operands.concat();
                    heard.take(text.trim_start_matches('\u{0}'), text.starts_with('\u{0}'));
                }
                _ => {}
            }
        }
        heard
    }

    fn take(&mut self, text: &str, is_edited: bool) {
        // A finished line has run, whatever it contained.
        self.is_edited &= !self.line.is_empty();
        // A key that discards the line or interrupts the program.
        let rest = text.rfind(['\u{3}', '\u{15}', '\u{1c}']).map(|at| text.get(at + 1..).unwrap_or_default());
        if rest.is_some() {
            (self.line, self.is_edited) = (String::new(), false);
        }
        self.lines = format!("{}{}", self.line, rest.unwrap_or(text).replace('\u{4}', "\n"));
        self.line = self.lines.rsplit('\n').next().unwrap_or_default().to_owned();
        self.is_edited |= is_edited || self.line.len() > MOST;
        if self.is_edited {
            self.line = self.line.chars().take(MOST).collect();
        }
    }

    /// Returns the language of the program, if only one is possible.
    fn language(&self) -> Option<&str> {
        let shells = self.languages.iter().all(|language| consoles::is_shell(language));
        match self.languages.first() {
            Some(language) if shells || self.languages.len() == 1 => Some(language),
            _ => None,
        }
    }
}
