//! Lists and pipelines: statements in order, `&&` and `||`, pipes, coprocesses, definitions of functions.

use std::rc::Rc;

use super::act::{Output, Taint, UnknownReason, Value};
use super::command_context::Context;
use super::file_tests::{ConditionFacts, bracket_test};
use super::state::{DefinedFunction, State, VariableValue, unknown};
use super::streams::{COPROCESS_IN, COPROCESS_OUT, DescriptorReader, Stream, WaitingReader};
use super::walk::{Walker, depth};
use crate::judge::syntax::tree::{Command, Coprocess, Dialect, Function, Item, Join, Pipeline, Script, Span};

impl Walker<'_> {
    /// Walks statements in order.
    pub fn script(&mut self, state: &mut State, context: &Context, script: &Script) {
        self.condition_list(state, context, script);
    }

    /// Walks statements in order. Returns the facts about files that the exit status of the last one implies.
    pub fn condition_list(&mut self, state: &mut State, context: &Context, script: &Script) -> ConditionFacts {
        let mut told = ConditionFacts::default();
        if !self.enter(depth::BODY, context.spans.map(script.span)) {
            return told;
        }
        for item in &script.items {
            if !self.has_fuel(context, script.span) {
                break;
            }
            if item.background {
                let mut child = state.subshell();
                self.chain(&mut child, &context.forked(), item);
                self.end_of_shell(&mut child);
                told = ConditionFacts::default();
            } else {
                told = self.chain(state, context, item);
            }
        }
        self.leave(depth::BODY);
        told
    }

    /// Reports whether there is fuel for the next part; otherwise it adds an opaque part.
    pub fn has_fuel(&mut self, context: &Context, span: Span) -> bool {
        self.input.inquiry.fuel.lasts() || self.step(context.spans.map(span))
    }

    /// Returns the facts about files after a pipeline whose first act is `first`.
    #[inline(never)]
    fn what_is_told(
        &mut self,
        state: &mut State,
        context: &Context,
        pipeline: &Pipeline,
        first: usize,
    ) -> ConditionFacts {
        let test = bracket_test(pipeline).filter(|_| context.remote.is_none());
        let file = test.map(|test| (test, self.expand().single(state, context, test.word)));
        let in_brackets = file.as_ref().map(|(test, file)| (*test, file));
        self.progress().told_by(state, pipeline, first, in_brackets)
    }

    /// Walks pipelines joined by `&&` and `||`.
    fn chain(&mut self, state: &mut State, context: &Context, item: &Item) -> ConditionFacts {
        let first = self.facts.acts.len();
        self.pipeline(state, context, &item.first);
        let mut told = self.what_is_told(state, context, &item.first, first);
        if item.rest.is_empty() {
            return told;
        }
        let inner = context.guarded();
        // The states in which the list may end early.
        let mut ends: Vec<State> = Vec::new();
        // Where the list may end matters most for what it assigns.
        let assigns = item.rest.iter().any(|(_, pipeline)| assigns(pipeline));
        let mut previous = &item.first;
        for (join, pipeline) in &item.rest {
            if !self.has_fuel(context, pipeline.span) {
                break;
            }
            let before = self.input.fork(state);
            let first = self.facts.acts.len();
            match join {
                Join::And => {
                    let succeeds = assigns && self.input.certainly_succeeds(state, previous);
                    // The previous pipeline succeeded, so a `cd` in it did too.
                    state.doubt.clear();
                    self.pipeline(state, &inner.without(&told.succeeded), pipeline);
                    let next = self.what_is_told(state, &inner, pipeline, first);
                    let prints = matches!(state.streams.stdout, Stream::Inherited);
                    told = told.joined(*join, next, prints && self.input.certainly_succeeds(state, pipeline));
                    if !succeeds {
                        ends.push(*before);
                    }
                }
                Join::Or => {
                    state.stay();
                    for mut end in ends.drain(..) {
                        end.stay();
                        state.join(&end);
                    }
                    self.pipeline(state, &inner.without(&told.failed), pipeline);
                    told = told.joined(*join, self.what_is_told(state, &inner, pipeline, first), false);
                    if leaves(pipeline) {
                        *state = *before;
                        state.doubt.clear();
                    } else {
                        let after = std::mem::replace(state, *before);
                        state.join(&after);
                    }
                }
            }
            previous = pipeline;
        }
        for end in &ends {
            state.join(end);
        }
        told
    }

    pub fn pipeline(&mut self, state: &mut State, context: &Context, pipeline: &Pipeline) {
        let mut timed;
        let context = if pipeline.timed {
            timed = context.clone();
            timed.wrapped("time");
            &timed
        } else {
            context
        };
        if let [command] = pipeline.commands.as_slice() {
            self.command(state, context, command);
            return;
        }
        let last = pipeline.commands.len().saturating_sub(1);
        let forked = context.forked();
        let mut stdin = state.streams.stdin.clone();
        for (index, command) in pipeline.commands.iter().enumerate() {
            if !self.has_fuel(context, pipeline.span) {
                break;
            }
            if index == last && (state.lastpipe || context.dialect == Dialect::Zsh) {
                let outer = std::mem::replace(&mut state.streams.stdin, stdin);
                self.command(state, &forked, command);
                state.streams.stdin = outer;
                return;
            }
            let mut child = state.subshell();
            child.streams.stdin = stdin;
            let sink = self.new_sink();
            if index < last {
                child.streams.stdout = Stream::Sink(sink, Output::Pipe);
            }
            self.command(&mut child, &forked, command);
            self.end_of_shell(&mut child);
            stdin = Stream::Sink(sink, Output::Pipe);
        }
    }

    pub fn command(&mut self, state: &mut State, context: &Context, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(state, context, simple),
            Command::Compound(compound) => self.compound(state, context, compound),
            Command::Function(function) => self.define(state, context, function),
            Command::Coprocess(coprocess) => self.coprocess(state, context, coprocess),
        }
    }

    #[inline(never)]
    fn coprocess(&mut self, state: &mut State, context: &Context, coprocess: &Coprocess) {
        let mut child = state.subshell();
        let (into, out) = (self.new_sink(), self.new_sink());
        child.streams.stdin = Stream::Sink(into, Output::Pipe);
        child.streams.stdout = Stream::Sink(out, Output::Pipe);
        let reads = DescriptorReader::Coprocess(coprocess.body.clone());
        self.waiting.push(WaitingReader { state: child.fork(), context: context.perhaps(), reads, sink: into });
        if self.enter(depth::BODY, context.spans.map(coprocess.span)) {
            self.command(&mut child, context, &coprocess.body);
            self.end_of_shell(&mut child);
            self.leave(depth::BODY);
        }
        let name = coprocess.name.as_deref().unwrap_or("COPROC");
        // Its output depends on its input.
        if let Some(out) = self.sinks.get_mut(out) {
            out.write(&unknown(UnknownReason::CommandOutput, Taint::default()), Taint::default(), false);
        }
        state.streams.set(COPROCESS_OUT, Stream::Sink(out, Output::Pipe));
        state.streams.set(COPROCESS_IN, Stream::Sink(into, Output::Pipe));
        let number = |at: u32, fd: u32| (at.to_string(), Value::text(fd.to_string()));
        state.set(name, VariableValue::Array(Rc::new(vec![number(0, COPROCESS_OUT), number(1, COPROCESS_IN)])));
    }

    #[inline(never)]
    fn define(&mut self, state: &mut State, context: &Context, function: &Function) {
        for name in &function.names {
            // When the function is called, the condition may no longer be true.
            let context = Context { absent: Rc::default(), ..context.clone() };
            let defined = DefinedFunction { name: name.clone(), body: (*function.body).clone(), context };
            state.functions.insert(name, Rc::new(defined));
        }
        if function.names.is_empty() {
            // An anonymous function of zsh runs immediately.
            let mut fields = Vec::new();
            for word in &function.arguments {
                self.expand().fields(state, context, word, &mut fields);
            }
            let values = Rc::new(fields.into_iter().map(|field| field.value).collect());
            let outer = std::mem::replace(&mut state.positional, values);
            self.compound(state, context, &function.body);
            state.positional = outer;
        }
    }
}

/// Reports whether a pipeline only assigns variables.
fn assigns(pipeline: &Pipeline) -> bool {
    matches!(pipeline.commands.as_slice(), [Command::Simple(simple)] if simple.words.is_empty() && !simple.assignments.is_empty())
}

/// Reports whether nothing after this pipeline runs: `exit`, `return` and similar commands.
fn leaves(pipeline: &Pipeline) -> bool {
    let [command] = pipeline.commands.as_slice() else { return false };
    match command {
        Command::Simple(simple) => simple.words.first().is_some_and(|word| {
            use crate::judge::syntax::tree::Part;
            matches!(word.parts.as_slice(),
                [Part::Literal(name)] if matches!(name.as_str(), "exit" | "return" | "break" | "continue" | "exec"))
        }),
        Command::Compound(compound) => match &compound.kind {
            crate::judge::syntax::tree::CompoundKind::Group(script) => {
                script.items.last().is_some_and(|item| item.rest.is_empty() && !item.background && leaves(&item.first))
            }
            _ => false,
        },
        _ => false,
    }
}
