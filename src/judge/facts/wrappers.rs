//! Wrappers: commands inside commands, as far as the descriptions of programs name them.

use super::act::{RemoteKind, Taint, UnknownReason, Value};
use super::arguments::{InnerCommand, InnerText, Reading};
use super::builtins::within;
use super::command::Lookup;
use super::expand::Field;
use super::frame::Frame;
use super::state::{Build as _, State, unknown};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::rules::model::Added;
use crate::judge::syntax::tree::{Dialect, Span};

/// Words of known input that a wrapper hands on one by one.
const MAX_INPUT_WORDS: usize = 64;

impl Walker<'_> {
    /// Walks the commands that a program runs.
    pub fn inner(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        reading: &Reading,
        env: &[(String, Value)],
        span: Span,
    ) {
        for inner in &reading.inner {
            self.inner_command(state, frame, name, reading, inner, env, span);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn inner_command(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        reading: &Reading,
        inner: &InnerCommand,
        env: &[(String, Value)],
        span: Span,
    ) {
        let mut within = within(frame, name);
        within.root |= inner.root;
        if inner.remote.is_some() {
            within.remote.clone_from(&inner.remote);
            within.root = inner.root;
        }
        let set: Vec<(String, Value)> = env.iter().chain(&inner.env).cloned().collect();
        let mut child = if inner.remote.is_some() { state.elsewhere(&inner.env) } else { state.child(&set) };
        let input = self.stdin_of(state);
        if inner.adds == Added::Input {
            child.streams.stdin = Stream::Nothing;
        }
        let found = reading.operands.first().map(|start| start.value.clone());
        let added = match inner.adds {
            Added::Nothing => Vec::new(),
            Added::Found => {
                let start = found.and_then(|start| start.pattern()).filter(|start| !start.starts_with('-'));
                vec![unknown(UnknownReason::Found(start.or(Some(".".to_owned()))), Taint::default())]
            }
            Added::Input => input_words(&input.0, input.1),
        };
        match &inner.what {
            InnerText::Argv(args) => {
                let mut fields: Vec<Field> = Vec::new();
                for (index, arg) in args.iter().enumerate() {
                    let placed = inner.replace.as_deref().map(|mark| placed(&arg.value, mark, &added));
                    match placed {
                        Some(values) => {
                            fields.extend(values.into_iter().map(|value| Field {
                                value,
                                span: arg.span,
                                disguise: None,
                            }));
                        }
                        None => fields.push(Field { value: arg.value.clone(), span: arg.span, disguise: None }),
                    }
                    let _ = index;
                }
                if inner.replace.is_none() {
                    let end = args.last().map_or(span, |arg| arg.span);
                    fields.extend(added.into_iter().map(|value| Field { value, span: end, disguise: None }));
                }
                let span = args.iter().map(|arg| arg.span).reduce(Span::to).unwrap_or(span);
                self.run(&mut child, &within, fields, set, span, Lookup::Programs);
            }
            InnerText::Line(line, at) => {
                let mut line = line.clone();
                if let Some(mark) = inner.replace.as_deref() {
                    if let Some(value) = placed(&line, mark, &added).into_iter().next() {
                        line = value;
                    }
                } else {
                    for value in &added {
                        line.push_text(" ");
                        line.push_value(value);
                    }
                }
                let mut positional = inner.positional.iter().map(|operand| operand.value.clone());
                child.zero = positional.next().unwrap_or_else(|| Value::text("sh"));
                child.positional = positional.collect();
                within.spans = self.spans_of(frame, *at, &line);
                within.dialect = Dialect::Bash;
                self.read_value(&mut child, &within, &line, *at);
            }
            InnerText::BareShell => {
                within.dialect = Dialect::Bash;
                let known_remote = inner.remote.as_ref().is_some_and(|remote| remote.kind == RemoteKind::Ssh);
                let _ = known_remote;
                self.stdin_code(&mut child, &within, span);
            }
        }
    }
}

/// The words that come in on standard input, as far as they are known.
fn input_words(text: &Value, taint: Taint) -> Vec<Value> {
    if let Some(known) = text.known() {
        let words: Vec<Value> = known.split_whitespace().take(MAX_INPUT_WORDS + 1).map(Value::text).collect();
        if words.len() <= MAX_INPUT_WORDS {
            return words;
        }
    }
    vec![unknown(UnknownReason::Input, taint.and(text.taint()))]
}

/// A value with `mark` replaced by each of the added values in turn; itself where the mark does not stand in it.
fn placed(value: &Value, mark: &str, added: &[Value]) -> Vec<Value> {
    use super::act::Piece;
    let stands = value.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains(mark)));
    if !stands || mark.is_empty() {
        return vec![value.clone()];
    }
    added
        .iter()
        .map(|added| {
            let mut result = Value::default();
            for piece in &value.pieces {
                match piece {
                    Piece::Text(text) => {
                        for (index, part) in text.split(mark).enumerate() {
                            if index > 0 {
                                result.push_value(added);
                            }
                            result.push_text(part);
                        }
                    }
                    other => result.push_piece(other),
                }
            }
            result
        })
        .collect()
}
