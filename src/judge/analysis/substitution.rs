//! Command and process substitutions.

use super::act::{Output, Taint, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::command_context::Context;
use super::expander::{Expander, Expansion, Walk};
use super::state::{State, unknown};
use super::streams::Stream;
use super::walk::{Walker, depth};
use crate::judge::syntax::tree::{CommandSubstitution, ProcessSubstitution, Span};

impl Walk for Walker<'_> {
    fn input(&self) -> &AnalysisInput<'_> {
        &self.input
    }

    fn expansion(&mut self) -> &mut Expansion {
        &mut self.expansion
    }

    /// Walks a command substitution and returns its output.
    fn capture(&mut self, state: &mut State, context: &Context, substitution: &CommandSubstitution) -> Value {
        if !self.enter(depth::SUBSTITUTION, context.spans.map(substitution.span)) {
            return unknown(UnknownReason::CommandOutput, Taint::default());
        }
        let sink = self.new_sink();
        let stdout = Stream::Sink(sink, Output::Captured);
        let outer = std::mem::take(&mut self.substituted);
        if substitution.in_current_shell {
            let printed_to = std::mem::replace(&mut state.streams.stdout, stdout);
            self.script(state, context, &substitution.script);
            state.streams.stdout = printed_to;
        } else {
            let mut child = state.subshell();
            child.streams.stdout = stdout;
            self.script(&mut child, context, &substitution.script);
            self.end_of_shell(&mut child);
        }
        self.leave(depth::SUBSTITUTION);
        self.substituted = outer;
        let value = self.sinks.get(sink).map(|sink| sink.text.clone()).unwrap_or_default();
        value.without_last_lines()
    }

    /// Walks a process substitution and returns the name of its pipe.
    #[inline(never)]
    fn process(&mut self, state: &mut State, context: &Context, substitution: &ProcessSubstitution) -> Value {
        let sink = self.new_sink();
        if substitution.direction == '>' {
            self.substituted.readers.push((substitution.script.clone(), sink));
            return unknown(UnknownReason::Pipe, Taint::default());
        }
        if !self.enter(depth::SUBSTITUTION, context.spans.map(substitution.span)) {
            return unknown(UnknownReason::Pipe, Taint::default());
        }
        let outer = std::mem::take(&mut self.substituted);
        let mut child = state.subshell();
        child.streams.stdout = Stream::Sink(sink, Output::Pipe);
        self.script(&mut child, context, &substitution.script);
        self.end_of_shell(&mut child);
        self.leave(depth::SUBSTITUTION);
        self.substituted = outer;
        self.substituted.pipes.push(sink);
        let taint = self.sinks.get(sink).map(|sink| sink.taint.and(sink.text.taint())).unwrap_or_default();
        unknown(UnknownReason::Pipe, taint)
    }

    fn embedded(&mut self, state: &mut State, context: &Context, text: &str) {
        self.walk_embedded(state, context, text);
    }

    fn too_many_words(&mut self, span: Span) {
        self.limit(span, "too many words to analyse");
    }
}

impl Walker<'_> {
    /// Walks the substitutions in a text that a shell expands again.
    #[inline(never)]
    pub fn walk_embedded(&mut self, state: &mut State, context: &Context, text: &str) {
        if text.contains("$(") || text.contains('`') {
            let line = format!(": \"{}\"", text.replace('"', "\\\""));
            self.text(state, context, &line);
        }
    }

    /// Returns the expander of words for this walk.
    pub fn expand(&mut self) -> Expander<'_, Self> {
        Expander { walk: self }
    }
}
