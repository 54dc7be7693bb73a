//! Streams: pipes, files, here-documents and captures, and the known data in them.

use std::rc::Rc;

use super::act::{ActId, Input, Operand, Output, Taint, UnknownReason, Value};
use super::command_context::Context;
use super::files::ExistingText;
use super::replacements::TextChange;
use super::state::{Build as _, State, unknown};
use crate::judge::syntax::tree::{Command, Script};

/// Maximum length of data that an editor changes, in bytes. Longer data is not followed.
const MAX_EDITED: usize = 256 << 10;

/// The index of a [`Sink`] in the walker.
pub(super) type SinkId = usize;

/// Something that commands write to, and that may be read later: a pipe, a capture, a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Sink {
    pub text: Value,
    pub taint: Taint,
    pub writers: Vec<ActId>,
    /// The content before it that the command did not write.
    pub base: Option<ExistingText>,
    /// Whether known data in it was decoded.
    pub decoded: bool,
    /// The number of commands that wrote to it.
    writes: u32,
    /// The existing files that the last writer printed unchanged.
    printed: Vec<String>,
}

impl Sink {
    /// Creates one whose data follows the content of an existing file.
    pub fn behind(base: ExistingText) -> Self {
        Self { base: Some(base), ..Self::default() }
    }

    /// Reports whether it adds nothing to an existing content.
    pub fn is_empty(&self) -> bool {
        self.base.is_some() && self.text.is_empty()
    }

    /// Changes the data, and the content before it, as an editor does.
    pub fn edit(&mut self, changes: &[TextChange], taint: Taint) {
        for change in changes {
            let (base, known) = (&mut self.base, self.text.known());
            match change {
                TextChange::Line(line) => {
                    if known.is_none_or(|text| !text.is_empty() && !text.ends_with('\n')) {
                        self.text.push_text("\n");
                    }
                    self.text.push_text(line);
                    self.text.push_text("\n");
                }
                TextChange::Replacement(change) => {
                    base.iter_mut().for_each(|base| base.changes.push(TextChange::Replacement(change.clone())));
                    if let Some(text) = known.filter(|text| !text.is_empty()) {
                        let changed = change.applied(&text).filter(|text| text.len() <= MAX_EDITED);
                        let unread = || unknown(UnknownReason::CommandOutput, Taint::default());
                        self.text = changed.map_or_else(unread, Value::text);
                    }
                }
            }
        }
        self.taint = self.taint.and(taint);
        self.writes = self.writes.saturating_add(1);
        self.printed.clear();
    }

    /// Appends the output of a command.
    pub fn write(&mut self, text: &Value, taint: Taint, decoded: bool) {
        self.text.push_value(text);
        self.taint = self.taint.and(taint).and(text.taint());
        self.decoded |= decoded;
        self.writes = self.writes.saturating_add(1);
        self.printed.clear();
    }

    /// Stores the files that the last writer printed.
    pub fn print(&mut self, files: Vec<String>) {
        self.printed = files;
    }

    /// Returns the files whose content is its whole content.
    pub fn files(&self) -> Option<&[String]> {
        (self.writes == 1 && !self.printed.is_empty()).then_some(self.printed.as_slice())
    }
}

/// An open descriptor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Stream {
    /// The descriptor of guard.
    #[default]
    Inherited,
    /// `/dev/null`, or closed.
    Nothing,
    /// A pipe or capture.
    Sink(SinkId, Output),
    /// A file; the sink contains the data that the command writes to it.
    File(Rc<Operand>, Option<SinkId>),
    /// A here-document or a here-string.
    Text(Rc<Value>),
}

impl Stream {
    /// Returns the output of an act that writes to it.
    pub fn output(&self) -> Output {
        match self {
            Self::Inherited => Output::Inherited,
            Self::Nothing => Output::Nothing,
            Self::Sink(_, kind) => *kind,
            Self::File(..) | Self::Text(_) => Output::File,
        }
    }

    /// Returns the sink to which it writes.
    pub fn sink(&self) -> Option<SinkId> {
        match self {
            Self::Sink(id, _) | Self::File(_, Some(id)) => Some(*id),
            _ => None,
        }
    }

    /// Returns the input of an act that reads from it.
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

/// The number of the descriptor from which a shell reads the output of its coprocess.
pub(super) const COPROCESS_OUT: u32 = 63;

/// The number of the descriptor through which a shell writes to its coprocess.
pub(super) const COPROCESS_IN: u32 = 60;

/// A reader of a descriptor.
#[derive(Debug)]
pub(super) enum DescriptorReader {
    Script(Script),
    Coprocess(Box<Command>),
}

/// The process substitutions of the command that is being expanded.
#[derive(Debug, Default)]
pub(super) struct ProcessSubstitutions {
    /// The pipes of substitutions that it reads.
    pub pipes: Vec<SinkId>,
    /// The substitutions that read its output, which are walked after it.
    pub readers: Vec<(Script, SinkId)>,
}

/// A reader of the output of later commands.
#[derive(Debug)]
pub(super) struct WaitingReader {
    pub state: Box<State>,
    pub context: Context,
    pub reads: DescriptorReader,
    pub sink: SinkId,
}

/// The descriptors of a shell.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams {
    pub stdin: Stream,
    pub stdout: Stream,
    pub stderr: Stream,
    /// The descriptors with other numbers.
    pub others: Vec<(u32, Stream)>,
}

impl Streams {
    /// Returns the descriptor with this number.
    pub fn get(&self, fd: u32) -> Stream {
        match fd {
            0 => self.stdin.clone(),
            1 => self.stdout.clone(),
            2 => self.stderr.clone(),
            _ => self.others.iter().find(|(number, _)| *number == fd).map_or(Stream::Nothing, |(_, s)| s.clone()),
        }
    }

    /// Returns the descriptor that a path names, if it is one of the first three or the command opened it.
    pub fn named(&self, path: &str) -> Option<Stream> {
        match descriptor(path)? {
            fd @ 0..=2 => Some(self.get(fd)),
            fd => self.opened(fd),
        }
    }

    /// Returns the descriptor with this number, if the command opened it and it is not one of the first three.
    pub fn opened(&self, fd: u32) -> Option<Stream> {
        self.others.iter().find(|(number, _)| *number == fd).map(|(_, stream)| stream.clone())
    }

    /// Returns an unused number for a descriptor.
    pub fn unused(&self) -> u32 {
        (10..COPROCESS_IN).find(|fd| self.opened(*fd).is_none()).unwrap_or(u32::MAX)
    }

    /// Sets the descriptor with this number.
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

/// Returns the number of the descriptor that a path names: `/dev/fd/3`, `/proc/self/fd/3`, `/dev/stdin`.
pub(super) fn descriptor(path: &str) -> Option<u32> {
    let mut names = path.strip_prefix('/')?.split('/').filter(|name| !matches!(*name, "" | "."));
    let number = match (names.next()?, names.next()?) {
        ("dev", "stdin") => "0",
        ("dev", "stdout") => "1",
        ("dev", "stderr") => "2",
        ("dev", "fd") => names.next()?,
        ("proc", "self" | "thread-self") if names.next()? == "fd" => names.next()?,
        _ => return None,
    };
    let is_whole = names.next().is_none() && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::super::act::OpaqueReason;
    use super::super::testing::{dump, facts, programs, removes};

    #[test]
    fn what_exec_opens_reads_what_the_rest_of_the_line_writes() {
        removes("exec > >(sh); echo 'rm x'", &["rm x"]);
        removes("exec >& >(sh); echo 'rm x'", &["rm x"]);
        removes("exec 3> >(sh); echo 'rm x' >&3", &["rm x"]);
        removes("exec 3> >(sh); echo 'rm x' > /dev/fd/3", &["rm x"]);
        removes("exec {fd}> >(sh); echo 'rm x' >&$fd", &["rm x"]);
        removes("command exec > >(sh); echo 'rm x'", &["rm x"]);
        removes("f() { exec 3> >(sh); }; f; echo 'rm x' >&3", &["rm x"]);
        removes("(exec > >(tee >(sh)); echo 'rm x')", &["rm x"]);
    }

    #[test]
    fn an_operand_that_names_a_descriptor_is_the_file_behind_it() {
        for text in ["exec 7< notes; rm /dev/fd/7", "rm /dev/fd/9 9< notes", "rm /proc/self/fd/3 3< notes"] {
            assert!(programs(&facts(text)).contains(&"rm notes".to_owned()), "{text}");
        }
        removes("rm /dev/fd/5", &["rm /dev/fd/5"]);
    }

    #[test]
    fn a_descriptor_has_several_paths() {
        let named = [
            ("/dev/stdin", Some(0)),
            ("/dev/stdout", Some(1)),
            ("//dev/./stderr", Some(2)),
            ("/dev/fd/13", Some(13)),
            ("/dev/fd//3", Some(3)),
            ("/proc/self/fd/4", Some(4)),
            ("/proc/thread-self/fd/4", Some(4)),
            ("/dev/fd/+3", None),
            ("/dev/fd/3/x", None),
            ("/dev/fd", None),
            ("/dev/stdin/x", None),
            ("dev/fd/3", None),
            ("/proc/1/fd/3", None),
        ];
        for (path, number) in named {
            assert_eq!(super::descriptor(path), number, "{path}");
        }
    }

    #[test]
    fn a_descriptor_is_the_same_by_each_of_its_paths() {
        for path in ["/dev/fd/3", "/dev/./fd/3", "//dev/fd//3", "/proc/self/fd/3", "/proc/thread-self/fd/3"] {
            removes(&format!("exec 3> >(sh); echo 'rm x' > {path}"), &["rm x"]);
            removes(&format!("exec 3<<< 'rm x'; sh {path}"), &["rm x"]);
            removes(&format!("exec 3<<< 'rm x'; sh < {path}"), &["rm x"]);
            removes(&format!("exec 3<<< 'rm x'; . {path}"), &["rm x"]);
        }
        for path in ["/dev/stdin", "/dev/./stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0"] {
            removes(&format!("echo 'rm x' | sh {path}"), &["rm x"]);
            removes(&format!("echo 'rm x' | sh < {path}"), &["rm x"]);
            removes(&format!("echo 'rm x' | eval \"$(cat {path})\""), &["rm x"]);
        }
    }

    #[test]
    fn a_script_on_a_descriptor_that_the_line_did_not_open_is_not_known() {
        for line in ["sh /dev/fd/9", ". /proc/self/fd/7"] {
            let facts = facts(line);
            assert!(facts.opaque.iter().any(|opaque| opaque.why == OpaqueReason::Script), "{line}\n{}", dump(&facts));
        }
        assert!(facts("exec 9<&-; sh /dev/fd/9").opaque.is_empty());
    }

    #[test]
    fn what_exec_opens_reads_nothing_else() {
        removes("exec 3> >(sh); echo 'rm x'", &[]);
        removes("exec 3> >(sh); exec 3>&-; echo 'rm x' >&3", &[]);
        removes("exec > >(cat); echo 'rm x'", &[]);
        assert!(facts("exec > >(tee log); make").opaque.is_empty());
        assert!(facts("exec {fd}> >(sh); exec {fd}>&-; make").opaque.is_empty());
    }

    #[test]
    fn a_coprocess_reads_what_the_line_writes_to_it() {
        removes("coproc sh; echo 'rm x' >&${COPROC[1]}", &["rm x"]);
        removes("coproc P { sh; }; echo 'rm x' >&\"${P[1]}\"", &["rm x"]);
        removes("coproc sh; exec 3>&${COPROC[1]}; echo 'rm x' >&3", &["rm x"]);
        removes("coproc rm x; echo y >&${COPROC[0]}", &["rm x"]);
    }

    #[test]
    fn what_a_coprocess_prints_is_not_known() {
        for line in [
            "coproc cat; echo 'rm x' >&${COPROC[1]}; sh <&${COPROC[0]}",
            "coproc P { cat f; }; sh <&${P[0]}",
            "exec 3> >(sh); cat f >&3",
        ] {
            let facts = facts(line);
            assert!(facts.opaque.iter().any(|opaque| opaque.why == OpaqueReason::Code), "{line}\n{}", dump(&facts));
        }
        assert!(facts("coproc make; cat <&${COPROC[0]}").opaque.is_empty());
    }
}
