//! What an agent types into programs that it started: shells, interpreters, debuggers.
//!
//! Where a hook is told of it, it is judged as what the program takes it for, together with what was typed before into the
//! same line. Where no hook is told, nobody could judge it then, so it is what starts that is asked about. What may not
//! enter: names of programs; that one waits for something to run is in its description.

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

/// What changes of typing go by in the record. No program has this name.
const TYPING: &str = ":typing";
const STARTS: &str = "starts";
const TYPES: &str = "types";
const LANGUAGE: &str = "language";
const TO: &str = "to";

/// The tool that stands for what is typed into something else than a shell, and the language of what is not known.
const TOOL: &str = "type_into_program";
const UNKNOWN: &str = "unknown";

/// The most of an unfinished line that is kept, in bytes.
const MOST: usize = 16 << 10;

/// Judges a call. What waits for commands is judged as what runs commands that are not known, and is that from then on.
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

/// What is asked when something is typed into the program of this name, by what the session started and typed before;
/// `None` where nothing stands in the line.
///
/// # Errors
/// The shell that would read it cannot be told.
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

/// Adds to the changes of a call what it started that waits for something to run, or what it typed.
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
        cwd: None,
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

/// The input that was typed into a program so far.
#[derive(Debug, Default)]
struct TypedInput {
    /// Of what the session started that may be it.
    languages: BTreeSet<String>,
    /// What stands in the line.
    line: String,
    /// What the program is given now: whole lines, and what may follow as one.
    lines: String,
    /// What stands in the line is not what was typed.
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
                // A host that tells the name of what runs when it is typed into need not have told it at the start.
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
        // A line that ended ran, whatever stood in it.
        self.is_edited &= !self.line.is_empty();
        // A key that throws the line away, or breaks off what runs.
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

    /// The language of what listens, where there is but one that it may be.
    fn language(&self) -> Option<&str> {
        let shells = self.languages.iter().all(|language| consoles::is_shell(language));
        match self.languages.first() {
            Some(language) if shells || self.languages.len() == 1 => Some(language),
            _ => None,
        }
    }
}
