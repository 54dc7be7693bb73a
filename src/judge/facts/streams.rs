//! Where bytes come from and go to: pipes, files, heredocs, captures, and what is known of what flows there.

use std::rc::Rc;

use super::act::{ActId, Input, Operand, Output, Taint, Value};
use super::state::Build as _;

/// Index of a [`Sink`] in the walker.
pub(super) type SinkId = usize;

/// A place that commands write to and that something may read later: a pipe, a capture, a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Sink {
    pub text: Value,
    pub taint: Taint,
    pub writers: Vec<ActId>,
    /// It goes on after content that the line did not write.
    pub older: bool,
    /// Known bytes in it were decoded from something unreadable.
    pub decoded: bool,
}

impl Sink {
    /// Adds what a command wrote.
    pub fn write(&mut self, text: &Value, taint: Taint, decoded: bool) {
        self.text.push_value(text);
        self.taint = self.taint.and(taint).and(text.taint());
        self.decoded |= decoded;
    }
}

/// One descriptor.
#[derive(Clone, Debug, Default)]
pub(super) enum Stream {
    /// guard's own.
    #[default]
    Inherited,
    /// `/dev/null`, or closed.
    Nothing,
    /// A pipe or capture.
    Sink(SinkId, Output),
    /// A file; the sink holds what the line writes to it.
    File(Rc<Operand>, Option<SinkId>),
    /// A heredoc, a here-string.
    Text(Rc<Value>),
}

impl Stream {
    /// Where an act that writes here sends its output.
    pub fn output(&self) -> Output {
        match self {
            Self::Inherited => Output::Inherited,
            Self::Nothing => Output::Nothing,
            Self::Sink(_, kind) => *kind,
            Self::File(..) | Self::Text(_) => Output::File,
        }
    }

    /// The sink that is written to.
    pub fn sink(&self) -> Option<SinkId> {
        match self {
            Self::Sink(id, _) | Self::File(_, Some(id)) => Some(*id),
            _ => None,
        }
    }

    /// What an act that reads here gets.
    pub fn input(&self, sinks: &[Sink]) -> Input {
        match self {
            Self::Inherited => Input::Inherited,
            Self::Nothing => Input::Nothing,
            Self::Sink(id, _) => match sinks.get(*id) {
                Some(sink) if !sink.text.is_dynamic() => Input::Text(sink.text.clone()),
                Some(sink) => Input::Pipe(sink.writers.clone()),
                None => Input::Inherited,
            },
            Self::File(operand, _) => Input::File((**operand).clone()),
            Self::Text(value) => Input::Text((**value).clone()),
        }
    }
}

/// The descriptors of a shell.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    pub stdin: Stream,
    pub stdout: Stream,
    pub stderr: Stream,
    /// Other numbers.
    pub others: Vec<(u32, Stream)>,
}

impl Streams {
    /// The descriptor of this number.
    pub fn get(&self, fd: u32) -> Stream {
        match fd {
            0 => self.stdin.clone(),
            1 => self.stdout.clone(),
            2 => self.stderr.clone(),
            _ => self.others.iter().find(|(number, _)| *number == fd).map_or(Stream::Nothing, |(_, s)| s.clone()),
        }
    }

    /// Makes this number that descriptor.
    pub fn set(&mut self, fd: u32, stream: Stream) {
        match fd {
            0 => self.stdin = stream,
            1 => self.stdout = stream,
            2 => self.stderr = stream,
            _ => {
                self.others.retain(|(number, _)| *number != fd);
                self.others.push((fd, stream));
            }
        }
    }
}
