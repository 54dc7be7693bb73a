//! Calls in code of other languages, walked as programs of the name `language:callee`.
//!
//! What may not enter: what a call does. That is data, in the pattern files; a call that nothing describes is no act.

use super::act::{OpaqueReason, Operand, Piece, Source, UnknownReason, Value};
use super::code;
use super::expand::Field;
use super::frame::{Frame, Spans};
use super::question::FileFacts;
use super::redirect::absolute;
use super::state::{Build as _, State};
use super::walk::{Walker, depth};
use crate::judge::rules::model::{OutputTaint, Rule};
use crate::judge::syntax::tree::Span;

impl Walker<'_> {
    /// Reads code and walks the calls in it that the catalog knows.
    #[inline(never)]
    pub fn foreign(
        &mut self,
        state: &State,
        frame: &Frame,
        act: Option<usize>,
        language: &str,
        text: &Value,
        span: Span,
    ) {
        let operands = act.and_then(|id| self.facts.acts.get(id)).map(|act| &act.operands);
        let text = match (language, operands) {
            // A command of redis is spread over the operands.
            ("redis", Some(operands)) if !operands.is_empty() => {
                let mut all = Value::default();
                for operand in operands {
                    all.push_value(&operand.value);
                    all.push_text(" ");
                }
                all
            }
            _ => text.clone(),
        };
        let Some(source) = code::with_holes(&text) else {
            // A statement that a program puts together is its own affair.
            let own = language == "sql" && matches!(frame.source, Source::Code(_));
            if !text.pieces.is_empty() && !own {
                self.opaque(OpaqueReason::Code, format!("the {language} code that is run is not known"), span);
            }
            return;
        };
        let home = self.home(state).and_then(|home| home.known().map(std::borrow::Cow::into_owned)).unwrap_or_default();
        let fetches = |callee: &str| {
            let described = self.catalog.program(&format!("{language}:{callee}"));
            described.is_some_and(|program| program.output == OutputTaint::Fetched)
        };
        let read = code::read(language, &source, code::World { home: &home, fetches: &fetches });
        if read.cut {
            self.opaque(OpaqueReason::Limit, format!("more calls in the {language} code than are analysed"), span);
        }
        self.calls(state, frame, language, read.calls, span);
    }

    /// A script of the world in another language: the calls in it whose arguments are written out. What a script works
    /// out for itself is not known and says nothing.
    #[inline(never)]
    pub fn foreign_file(&mut self, state: &State, frame: &Frame, language: &str, file: &Operand, span: Span) {
        const READ: [&str; 6] = ["python", "js", "ruby", "perl", "php", "lua"];
        let Some(path) = file.value.known().and_then(|path| absolute(state, &path)) else { return };
        if !READ.contains(&language) {
            return;
        }
        let Some(FileFacts::Text { bytes, .. }) = self.inquiry.file(&path) else { return };
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let home = self.home(state).and_then(|home| home.known().map(std::borrow::Cow::into_owned)).unwrap_or_default();
        let mut read = code::read(language, text, code::World { home: &home, fetches: &|_| false });
        read.calls.retain(|call| !call.args.iter().any(is_worked_out));
        let frame = self.script_frame(frame, &path, span);
        self.calls(state, &frame, language, read.calls, span);
    }

    fn calls(&mut self, state: &State, frame: &Frame, language: &str, calls: Vec<code::Call>, span: Span) {
        if !self.enter(depth::TEXT, span) {
            return;
        }
        for call in calls {
            let name = format!("{language}:{}", call.callee);
            // A rule for all of a language's programs is none for its calls.
            let of_calls = |rule: &Rule| rule.when.verbs.iter().any(|verb| verb.contains(':'));
            if self.catalog.program(&name).is_none() && !self.catalog.rules(&name).any(of_calls) {
                continue;
            }
            if !self.step(span) {
                break;
            }
            let inside = Frame { source: Source::Code(language.to_owned()), spans: Spans::At(span), ..frame.clone() };
            let args: Vec<Field> =
                arguments(call.args).into_iter().map(|value| Field { value, span, disguise: None }).collect();
            let mut child = state.child(&[]);
            self.program(&mut child, &inside, (&name, None), &args, &[], span, false, None);
        }
        self.leave(depth::TEXT);
    }
}

/// Whether a value is more than text and what a search finds.
fn is_worked_out(value: &Value) -> bool {
    value.pieces.iter().any(|piece| match piece {
        Piece::Unknown(unknown) => {
            !matches!(unknown.why, UnknownReason::Found(Some(_)) | UnknownReason::Temporary { .. })
        }
        Piece::Text(_) | Piece::Glob(_) => false,
    })
}

/// A call's arguments as a program reads them: what is named (`recursive: true`, `shell=True`) in front, as options, and
/// `--line` when the rest is one string for a shell or stands for a whole command.
fn arguments(given: Vec<Value>) -> Vec<Value> {
    let is_option = |value: &Value| value.known().is_some_and(|text| text.starts_with("--") && text.contains('='));
    let (mut options, rest): (Vec<Value>, Vec<Value>) = given.into_iter().partition(is_option);
    let shell = options.iter().any(|option| {
        option.known().is_some_and(|text| matches!(&*text.to_ascii_lowercase(), "--shell=true" | "--shell=/bin/bash"))
    });
    if shell || rest.len() == 1 {
        options.push(Value::text("--line"));
    }
    // What a walk over a directory finds goes with all that is below.
    let is_found =
        |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if matches!(unknown.why, UnknownReason::Found(_)));
    if rest.iter().any(|value| value.pieces.first().is_some_and(is_found)) {
        options.push(Value::text("--recursive=true"));
    }
    options.into_iter().chain(rest).collect()
}
