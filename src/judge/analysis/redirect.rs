//! Redirections: the descriptors, and the effects on files.

use std::rc::Rc;

use super::act::{Effect, Operand, Output, Taint, UnknownReason, Value, Verb};
use super::arguments::{Arg, DerivedEffect};
use super::command::plain_text;
use super::command_context::Context;
use super::fuel::cost;
use super::place::Place;
use super::progress::WalkProgress;
use super::state::{Build as _, State, VariableValue, unknown};
use super::streams::{COPROCESS_IN, COPROCESS_OUT, DescriptorReader, Stream, Streams, WaitingReader};
use super::walk::Walker;
use crate::judge::syntax::tree::{Dialect, Redirect, RedirectFd, RedirectOp, RedirectTarget, Script};

impl Walker<'_> {
    /// Evaluates one redirection.
    #[inline(never)]
    pub fn redirect(
        &mut self,
        state: &mut State,
        context: &Context,
        redirect: &Redirect,
        effects: &mut Vec<(Effect, Operand)>,
    ) {
        self.input.spend(cost::LOOK_UP + state.streams.others.len() as u64 / 32);
        let span = context.spans.map(redirect.span);
        let reads = matches!(
            redirect.op,
            RedirectOp::Read
                | RedirectOp::ReadWrite
                | RedirectOp::DuplicateIn
                | RedirectOp::Heredoc
                | RedirectOp::HereString
        );
        let fd = match &redirect.fd {
            RedirectFd::Default => u32::from(!reads),
            RedirectFd::Number(number) => *number,
            RedirectFd::Variable(name) => self.named_descriptor(state, context, redirect, name),
        };
        let word = match &redirect.target {
            RedirectTarget::Heredoc(heredoc) => {
                let text = self.expand().heredoc(state, context, &heredoc.body);
                state.streams.set(fd, Stream::Text(Rc::new(text)));
                return;
            }
            RedirectTarget::Word(word) => word,
        };
        let pipes = self.substituted.pipes.len();
        let readers = self.substituted.readers.len();
        let value = match redirect.op {
            RedirectOp::HereString | RedirectOp::Heredoc => self.expand().single(state, context, word),
            _ => self.expand().target(state, context, word),
        };
        let text = value.known_text();
        let operand = || Operand { value: value.clone(), span };
        match redirect.op {
            RedirectOp::HereString | RedirectOp::Heredoc => {
                let mut text = value;
                text.push_text("\n");
                state.streams.set(fd, Stream::Text(Rc::new(text)));
            }
            RedirectOp::DuplicateIn | RedirectOp::DuplicateOut => {
                let target =
                    text.as_deref().map(|text| text.strip_suffix('-').filter(|t| !t.is_empty()).unwrap_or(text));
                match target {
                    Some("-") => state.streams.set(fd, Stream::Nothing),
                    Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() => {
                        let from = state.streams.get(number.parse().unwrap_or(u32::MAX));
                        state.streams.set(fd, from);
                    }
                    // The coprocess of zsh.
                    Some("p") if context.dialect == Dialect::Zsh => {
                        let from = state.streams.get(if reads { COPROCESS_OUT } else { COPROCESS_IN });
                        state.streams.set(fd, from);
                    }
                    _ if redirect.op == RedirectOp::DuplicateOut && redirect.fd == RedirectFd::Default => {
                        let stream = if self.substituted.readers.len() > readers
                            && let Some((_, sink)) = self.substituted.readers.last()
                        {
                            Stream::Sink(*sink, Output::Pipe)
                        } else {
                            effects.push((Effect::Write, operand()));
                            self.written_to(state, context, &operand(), false)
                        };
                        state.streams.set(1, stream.clone());
                        state.streams.set(2, stream);
                    }
                    _ => {}
                }
            }
            RedirectOp::Read | RedirectOp::ReadWrite => {
                let stream = if self.substituted.pipes.len() > pipes
                    && let Some(pipe) = self.substituted.pipes.last()
                {
                    Stream::Sink(*pipe, Output::Pipe)
                } else if let Some(host) = text.as_deref().and_then(network) {
                    effects.push((Effect::Fetch, Operand { value: Value::text(host), span }));
                    let mut fetched = Value::default();
                    fetched.push_value(&unknown(UnknownReason::Input, Taint::FETCHED));
                    Stream::Text(Rc::new(fetched))
                } else {
                    effects.push((Effect::Load, operand()));
                    // A file that is opened for reading and writing is overwritten from its beginning and not
                    // truncated. If it is standard input, it is rarely written to.
                    if redirect.op == RedirectOp::ReadWrite {
                        let effect = if fd == 0 { Effect::Append } else { Effect::Write };
                        effects.push((effect, operand()));
                    }
                    if redirect.op == RedirectOp::ReadWrite && fd != 0 {
                        self.written_to(state, context, &operand(), true)
                    } else {
                        self.progress().read_from(state, &operand())
                    }
                };
                state.streams.set(fd, stream);
            }
            RedirectOp::Write
            | RedirectOp::Clobber
            | RedirectOp::Append
            | RedirectOp::WriteBoth
            | RedirectOp::AppendBoth => {
                let append = matches!(redirect.op, RedirectOp::Append | RedirectOp::AppendBoth);
                let stream = if self.substituted.readers.len() > readers
                    && let Some((_, sink)) = self.substituted.readers.last()
                {
                    Stream::Sink(*sink, Output::Pipe)
                } else if let Some(host) = text.as_deref().and_then(network) {
                    effects.push((Effect::Send, Operand { value: Value::text(host), span }));
                    Stream::File(Rc::new(operand()), None)
                } else {
                    effects.push((if append { Effect::Append } else { Effect::Write }, operand()));
                    self.written_to(state, context, &operand(), append)
                };
                if matches!(redirect.op, RedirectOp::WriteBoth | RedirectOp::AppendBoth) {
                    state.streams.set(2, stream.clone());
                    state.streams.set(1, stream);
                } else {
                    state.streams.set(fd, stream);
                }
            }
        }
    }

    /// Returns the number of a descriptor that a variable names.
    fn named_descriptor(&mut self, state: &mut State, context: &Context, redirect: &Redirect, name: &str) -> u32 {
        // The subscript of an element is evaluated.
        if let Some((_, subscript)) = name.split_once('[') {
            let subscript = subscript.strip_suffix(']').unwrap_or(subscript);
            self.expand().compute(state, context, &Value::text(subscript));
        }
        let closes = matches!(redirect.op, RedirectOp::DuplicateIn | RedirectOp::DuplicateOut)
            && matches!(&redirect.target, RedirectTarget::Word(word) if plain_text(word) == Some("-"));
        if closes {
            return match self.expand().lookup(state, name) {
                VariableValue::Scalar(value) => {
                    value.known().and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
                }
                _ => u32::MAX,
            };
        }
        let number = state.streams.unused();
        state.set_scalar(name, Value::text(number.to_string()));
        number
    }

    /// Returns a descriptor for writing this file, whose content is stored.
    #[inline(never)]
    pub fn written_to(&mut self, state: &State, context: &Context, operand: &Operand, append: bool) -> Stream {
        match operand.value.known().as_deref() {
            Some("/dev/null") => return Stream::Nothing,
            Some("/dev/tty") => return Stream::Inherited,
            Some(path) if let Some(stream) = state.streams.named(path) => return stream,
            _ => {}
        }
        // What replaces a whole file of unknown name is not followed.
        let files = || Place::of_files(state.cwd.as_ref(), &operand.value).filter(|_| append);
        let key = state.file(&operand.value).or_else(files);
        let sink = key.map(|key| self.files.open(&mut self.sinks, key, append, context.conditional));
        Stream::File(Rc::new(operand.clone()), sink)
    }

    /// Adds the effects of redirections as acts; `alone`: there is no command.
    #[inline(never)]
    pub fn redirect_acts(
        &mut self,
        state: &State,
        context: &Context,
        effects: Vec<(Effect, Operand)>,
        parent: Option<usize>,
        alone: bool,
    ) {
        for (effect, operand) in effects {
            let span = operand.span;
            let taint = match state.streams.stdout.sink().and_then(|id| self.sinks.get(id)) {
                Some(sink) if effect.writes() || effect == Effect::Send => sink.taint.and(sink.text.taint()),
                _ => Taint::default(),
            };
            let empties = effect == Effect::Write
                && self.progress().prints_nothing(parent, alone)
                && !operand.value.is("/dev/null");
            if empties {
                self.emptied(state, context, &operand);
            }
            self.effect(state, context, DerivedEffect::of(effect, vec![operand]), parent, span, taint);
        }
    }

    /// Adds the effects of emptying a file: `: > file` and `> file` are equivalent to `truncate -s 0 file`.
    pub fn emptied(&mut self, state: &State, context: &Context, file: &Operand) {
        let word = |text: &str| Arg::word(Value::text(text), file.span);
        self.stands_for(state, context, ":", "truncate", &[word("-s"), word("0"), Arg::of(file)], file.span);
    }

    /// Stores the process substitutions that read the output of later commands.
    #[inline(never)]
    pub fn read_at_the_end(&mut self, state: &State, outer: Streams, context: &Context, readers: Vec<(Script, usize)>) {
        for (script, sink) in readers {
            let mut state = state.subshell();
            state.streams = outer.clone();
            self.waiting.push(WaitingReader {
                state,
                context: context.perhaps(),
                reads: DescriptorReader::Script(script),
                sink,
            });
        }
    }

    /// Walks the readers of descriptors that remained open, after everything was written.
    #[inline(never)]
    pub fn read_what_was_written(&mut self) {
        // A reader may open another descriptor.
        while !self.waiting.is_empty() {
            for waiting in std::mem::take(&mut self.waiting) {
                let WaitingReader { mut state, context, reads, sink } = waiting;
                state.streams.stdin = Stream::Sink(sink, Output::Pipe);
                match reads {
                    DescriptorReader::Script(script) => self.script(&mut state, &context, &script),
                    // It was walked when it started; only its input since then is new.
                    DescriptorReader::Coprocess(command) => {
                        if self.sinks.get(sink).is_some_and(|sink| !sink.text.is_empty() || !sink.writers.is_empty()) {
                            self.command(&mut state, &context, &command);
                        }
                    }
                }
                self.end_of_shell(&mut state);
            }
        }
    }

    /// Walks the process substitutions that read the output of a command.
    #[inline(never)]
    pub fn read_back(&mut self, state: &State, context: &Context, readers: Vec<(Script, usize)>) {
        for (script, sink) in readers {
            let mut child = state.subshell();
            child.streams.stdin = Stream::Sink(sink, Output::Pipe);
            self.script(&mut child, context, &script);
            self.end_of_shell(&mut child);
        }
    }
}

impl WalkProgress<'_, '_> {
    /// Returns a descriptor for reading this file.
    fn read_from(&self, state: &State, operand: &Operand) -> Stream {
        match operand.value.known().as_deref() {
            Some("/dev/null") => Stream::Nothing,
            Some(path) if let Some(stream) = state.streams.named(path) => stream,
            _ => {
                let written = state.file(&operand.value).and_then(|key| self.files.written.get(&key));
                match written.and_then(|written| written.contents.last()) {
                    // Other contents are possible too.
                    Some(sink)
                        if written.is_some_and(|written| !written.is_one()) || self.goes_on(state, &operand.value) =>
                    {
                        Stream::File(Rc::new(operand.clone()), Some(*sink))
                    }
                    Some(sink) => Stream::Sink(*sink, Output::File),
                    None => Stream::File(Rc::new(operand.clone()), None),
                }
            }
        }
    }

    /// Reports whether a command before a redirection certainly prints nothing.
    fn prints_nothing(&self, act: Option<usize>, alone: bool) -> bool {
        let Some(act) = act.and_then(|id| self.acts.get(id)) else { return alone };
        let Verb::Program { name, .. } = &act.verb else { return false };
        match name.as_str() {
            ":" | "true" => true,
            // An empty line counts as no output.
            "echo" => act.args.iter().all(|arg| arg.is("-n") || arg.is("-e") || arg.is_empty()),
            "printf" => act.operands.iter().all(|operand| operand.value.is_empty()),
            name => {
                let nothing = || act.operands.iter().all(|operand| operand.value.is("/dev/null"));
                !act.operands.is_empty() && self.input.prints_files(name) && nothing()
            }
        }
    }
}

/// Returns the address to which bash connects if this path is opened.
fn network(path: &str) -> Option<String> {
    for (prefix, scheme) in [("/dev/tcp/", "tcp"), ("/dev/udp/", "udp")] {
        if let Some((host, port)) = path.strip_prefix(prefix).and_then(|rest| rest.split_once('/')) {
            return Some(format!("{scheme}://{host}:{port}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_devices_are_addresses() {
        assert_eq!(network("/dev/tcp/evil.example/443").as_deref(), Some("tcp://evil.example:443"));
        assert_eq!(network("/dev/null"), None);
    }
}
