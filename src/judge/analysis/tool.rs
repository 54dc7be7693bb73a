//! Walks commands, code, paths and URLs in the input of a tool as if they were in a command.
//!
//! Out of scope: the effects of a tool, which pattern files describe; see [`crate::judge::tools`].

use serde_json::Value as Json;

use super::act::{Act, Effect, Flag, OpaqueReason, Operand, Taint, Value, Verb};
use super::arguments::DerivedEffect;
use super::command_context::{Context, SpanMap};
use super::expand::Field;
use super::resolve::Lookup;
use super::state::State;
use super::walk::Walker;
use crate::judge::reserved;
use crate::judge::risk::Tier;
use crate::judge::rules::model::InputKind;
use crate::judge::syntax::tree::Span;
use crate::judge::tools::{self, ToolCall, address};

impl Walker<'_> {
    /// Walks a tool call and its input.
    pub fn tool(&mut self, state: &mut State, call: &ToolCall) {
        let verdict = tools::verdict(call, self.input.catalog);
        let span = Span::new(0, u32::try_from(call.display().len()).unwrap_or(u32::MAX));
        if !self.step(span) {
            return;
        }
        let context = Context { spans: SpanMap::At(span), ..Context::default() };
        let flag = |name: &String| Flag { name: name.clone(), value: None, span };
        let flags = call.input.as_object().map(|members| members.keys().map(flag).collect()).unwrap_or_default();
        let verb = Verb::Program { name: call.verb(), path: None };
        let act = Act { tier: verdict.base, flags, ..self.progress().blank(state, &context, verb, span) };
        self.emit(state, act);
        let effect = effect_on_path(verdict.kind.as_deref());
        for part in &verdict.parts {
            self.held_in(state, &context, &part.what, effect, &part.value, span);
        }
    }

    fn held_in(
        &mut self,
        state: &mut State,
        context: &Context,
        what: &InputKind,
        on_path: Effect,
        value: &Json,
        span: Span,
    ) {
        if !self.step(span) {
            return;
        }
        let mut inner = state.child(&[]);
        match (what, value) {
            (_, Json::Null | Json::Bool(_) | Json::Number(_)) => {}
            (InputKind::Command, Json::String(text)) => self.text(&mut inner, context, &reserved::taken_in(text)),
            (InputKind::Command, Json::Array(words)) => {
                let word = |word: &Json| Field::text(said(word), span);
                self.run(&mut inner, context, words.iter().map(word).collect(), Vec::new(), span, Lookup::Programs);
            }
            (InputKind::Code(language), Json::String(text)) => {
                self.embedded_code(state, context, None, language.name(), &Value::text(reserved::taken_in(text)), span);
            }
            (InputKind::Effect(effect), Json::String(text)) => self.touched(state, context, *effect, text, span),
            (InputKind::Path, Json::String(text)) => self.touched(state, context, on_path, text, span),
            (_, Json::Array(elements)) => {
                elements.iter().for_each(|element| self.held_in(state, context, what, on_path, element, span));
            }
            (_, Json::Object(_)) => {
                let detail = "a part of the input that should be a text is an object";
                self.opaque(OpaqueReason::Code, detail, span);
            }
        }
    }

    /// Adds an effect on a path or a host. A `file:` URL is a file that is read.
    fn touched(&mut self, state: &State, context: &Context, effect: Effect, text: &str, span: Span) {
        let file = address::file(text);
        let (text, effect) = match (&file, effect) {
            (Some(path), Effect::Fetch) => (path.as_str(), Effect::Show),
            (Some(path), effect) => (path.as_str(), effect),
            (None, effect) => (text, effect),
        };
        if text.is_empty() {
            return;
        }
        let on = vec![Operand { value: Value::text(reserved::taken_in(text)), span }];
        let id = self.effect(state, context, DerivedEffect::of(effect, on), None, span, Taint::default());
        // The tier of the call covers the request.
        if matches!(effect, Effect::Fetch | Effect::Send | Effect::Show | Effect::Load)
            && let Some(act) = self.facts.acts.get_mut(id)
        {
            act.tier = Tier::Safe;
        }
    }
}

/// Returns the effect on a path of a tool whose name has a verb of this kind.
fn effect_on_path(kind: Option<&str>) -> Effect {
    match kind {
        Some("delete") => Effect::Delete,
        Some("write" | "make") => Effect::Write,
        Some("run" | "operate") => Effect::Execute,
        _ => Effect::Show,
    }
}

/// Returns a word of a command: a string unchanged, another value in JSON syntax.
fn said(word: &Json) -> String {
    let text = word.as_str().map_or_else(|| word.to_string(), ToOwned::to_owned);
    reserved::taken_in(&text).into_owned()
}
