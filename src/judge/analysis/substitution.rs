//! Substitutions: what a command prints into a word, and pipes that stand as file names.

use super::act::{Output, Taint, UnknownReason, Value};
use super::enclosing::Context;
use super::state::{State, unknown};
use super::streams::Stream;
use super::walk::{Walker, depth};
use crate::judge::syntax::tree::{CommandSubstitution, ProcessSubstitution};

impl Walker<'_> {
    /// Walks a command substitution and says what it comes to.
    pub fn capture(&mut self, state: &mut State, context: &Context, substitution: &CommandSubstitution) -> Value {
        if !self.enter(depth::SUBSTITUTION, context.spans.map(substitution.span)) {
            return unknown(UnknownReason::CommandOutput, Taint::default());
        }
        let sink = self.new_sink();
        let stdout = Stream::Sink(sink, Output::Captured);
        let outer_pipes = std::mem::take(&mut self.pipes);
        let outer_readers = std::mem::take(&mut self.readers);
        if substitution.in_current_shell {
            let outer = std::mem::replace(&mut state.streams.stdout, stdout);
            self.script(state, context, &substitution.script);
            state.streams.stdout = outer;
        } else {
            let mut child = state.subshell();
            child.streams.stdout = stdout;
            self.script(&mut child, context, &substitution.script);
            self.end_of_shell(&mut child);
        }
        self.leave(depth::SUBSTITUTION);
        self.pipes = outer_pipes;
        self.readers = outer_readers;
        let value = self.sinks.get(sink).map(|sink| sink.text.clone()).unwrap_or_default();
        value.without_last_lines()
    }

    /// Walks a process substitution; its value is the pipe.
    #[inline(never)]
    pub fn process(&mut self, state: &mut State, context: &Context, substitution: &ProcessSubstitution) -> Value {
        let sink = self.new_sink();
        if substitution.direction == '>' {
            self.readers.push((substitution.script.clone(), sink));
            return unknown(UnknownReason::Pipe, Taint::default());
        }
        if !self.enter(depth::SUBSTITUTION, context.spans.map(substitution.span)) {
            return unknown(UnknownReason::Pipe, Taint::default());
        }
        let outer_pipes = std::mem::take(&mut self.pipes);
        let outer_readers = std::mem::take(&mut self.readers);
        let mut child = state.subshell();
        child.streams.stdout = Stream::Sink(sink, Output::Pipe);
        self.script(&mut child, context, &substitution.script);
        self.end_of_shell(&mut child);
        self.leave(depth::SUBSTITUTION);
        self.pipes = outer_pipes;
        self.readers = outer_readers;
        self.pipes.push(sink);
        let taint = self.sinks.get(sink).map(|sink| sink.taint.and(sink.text.taint())).unwrap_or_default();
        unknown(UnknownReason::Pipe, taint)
    }
}
