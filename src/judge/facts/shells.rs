//! Shells and other interpreters: the code they are handed, from arguments, files, heredocs and pipes.

use super::act::{Code, Disguise, OpaqueReason, Operand, Piece, Taint, Unknown, UnknownReason, Value};
use super::arguments::{CodeFrom, CodeSource};
use super::builtins::within;
use super::expand::Field;
use super::frame::{Frame, Spans};
use super::program::is_shell;
use super::question::FileFacts;
use super::redirect::absolute;
use super::state::{Bound, Build as _, State};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::invocation::Request;
use crate::judge::syntax::tree::{Dialect, Span};

/// Scripts that one line may lead to, scripts in scripts counted.
const MAX_INCLUDES: u32 = 24;

/// The first of the private characters that stand for unknown parts of a text.
pub(super) const HOLES: u32 = 0xf_0000;

/// The most unknown parts that are told apart.
const MAX_HOLES: usize = 4096;

impl Walker<'_> {
    /// The character that stands for an unknown part in a text that is parsed.
    pub fn hole(&mut self, unknown: &Unknown) -> Option<char> {
        let at = match self.holes.iter().position(|known| known == unknown) {
            Some(at) => at,
            None => {
                if self.holes.len() >= MAX_HOLES {
                    return char::from_u32(HOLES);
                }
                self.holes.push(unknown.clone());
                self.holes.len() - 1
            }
        };
        char::from_u32(HOLES + u32::try_from(at).ok()?)
    }

    /// How spans in a text map onto the command, when the text stands there as it is.
    #[inline(never)]
    pub fn spans_of(&self, frame: &Frame, span: Span, text: &Value) -> Spans {
        let at = Spans::At(span);
        let (Request::Line(line), Some(text), Spans::Same | Spans::Shifted(_)) =
            (&self.invocation.request, text.known(), frame.spans)
        else {
            return at;
        };
        let written = line.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let inside = |quote: u8| {
            written.strip_prefix(&[quote]).and_then(|rest| rest.strip_suffix(&[quote])) == Some(text.as_bytes())
        };
        if inside(b'\'') || inside(b'"') {
            return Spans::Shifted(span.start + 1);
        }
        if written == text.as_bytes() { Spans::Shifted(span.start) } else { at }
    }

    /// Runs code that an interpreter is handed.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn code_source(
        &mut self,
        state: &State,
        frame: &Frame,
        act: usize,
        (name, _path): (&str, Option<&str>),
        source: &CodeSource,
        env: &[(String, Value)],
        span: Span,
    ) {
        if !is_shell(&source.language) {
            self.other_code(state, frame, act, source, span);
            return;
        }
        let mut child = state.child(env);
        let mut inside = within(frame, name);
        inside.dialect = dialect(name, &source.language);
        self.startup(&mut child, &inside, span);
        let mut positional = source.positional.iter().map(|operand| operand.value.clone());
        match &source.from {
            CodeFrom::Inline(value, at) => {
                child.zero = positional.next().unwrap_or_else(|| Value::text(name));
                child.positional = positional.collect();
                inside.spans = self.spans_of(frame, *at, value);
                self.read_value(&mut child, &inside, value, *at);
            }
            CodeFrom::Script(file) => {
                child.zero = file.value.clone();
                child.positional = positional.collect();
                self.script_file(&mut child, &inside, file, span, Some(act));
            }
            CodeFrom::Stdin => {
                child.zero = Value::text(name);
                child.positional = positional.collect();
                self.stdin_code(&mut child, &inside, span);
            }
        }
    }

    /// The file that a shell reads before anything else, where the line names it.
    #[inline(never)]
    fn startup(&mut self, state: &mut State, frame: &Frame, span: Span) {
        let name = if frame.dialect == Dialect::Sh { "ENV" } else { "BASH_ENV" };
        let file = state.variables.get(name).and_then(|variable| match variable.values.first() {
            Some(Bound::Scalar(value)) => Some(value.clone()),
            _ => None,
        });
        if let Some(value) = file.filter(|value| !value.is_empty()) {
            self.script_file(state, frame, &Operand { value, span }, span, None);
        }
    }

    /// A shell that reads its commands from standard input.
    #[inline(never)]
    pub fn stdin_code(&mut self, state: &mut State, frame: &Frame, span: Span) {
        let stdin = std::mem::replace(&mut state.streams.stdin, Stream::Nothing);
        match stdin {
            // Whoever sits there types it.
            Stream::Inherited => state.streams.stdin = Stream::Inherited,
            Stream::Nothing => {}
            Stream::File(operand, _) => self.script_file(state, frame, &operand, span, None),
            other => {
                state.streams.stdin = other;
                let (text, taint, decoded) = self.stdin_of(state);
                state.streams.stdin = Stream::Nothing;
                let fetched = taint.and(text.taint());
                let mut frame = frame.elsewhere(span);
                if decoded {
                    frame.disguise = Some(Disguise::Encoding);
                }
                if text.is_dynamic() && (fetched.has(Taint::FETCHED) || fetched.has(Taint::DECODED)) {
                    self.opaque(OpaqueReason::FetchedCode, "code that is fetched or decoded in this line is run", span);
                }
                self.read_value(state, &frame, &text, span);
            }
        }
    }

    /// `source` and `.`: a script in this shell.
    #[inline(never)]
    pub fn source(&mut self, state: &mut State, frame: &Frame, args: &[Field], span: Span) {
        let Some((file, rest)) = args.split_first() else { return };
        let outer = (!rest.is_empty())
            .then(|| std::mem::replace(&mut state.positional, rest.iter().map(|field| field.value.clone()).collect()));
        let file = Operand { value: file.value.clone(), span: file.span };
        let frame = within(frame, "source");
        self.script_file(state, &frame, &file, span, None);
        if let Some(outer) = outer {
            state.positional = outer;
        }
    }

    /// Walks a script file as shell code. `act` is the interpreter's, when there is one.
    #[inline(never)]
    pub fn script_file(&mut self, state: &mut State, frame: &Frame, file: &Operand, span: Span, act: Option<usize>) {
        let is_pipe = file
            .value
            .pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Pipe, .. })));
        if is_pipe {
            for pipe in self.pipes.clone() {
                let Some(sink) = self.sinks.get(pipe) else { continue };
                let (text, decoded) = (sink.text.clone(), sink.decoded);
                let mut frame = frame.elsewhere(span);
                if decoded {
                    frame.disguise = Some(Disguise::Encoding);
                }
                self.read_value(state, &frame, &text, span);
            }
            return;
        }
        let known = file.value.known_text();
        if matches!(known.as_deref(), Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0" | "-")) {
            self.stdin_code(state, frame, span);
            return;
        }
        if known.as_deref() == Some("/dev/null") {
            return;
        }
        let descriptor = known.as_deref().and_then(|path| {
            path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?.parse::<u32>().ok()
        });
        if let Some(number) = descriptor {
            let stream = state.streams.get(number);
            let outer = std::mem::replace(&mut state.streams.stdin, stream);
            self.stdin_code(state, frame, span);
            state.streams.stdin = outer;
            return;
        }
        if self.written_script(state, frame, &file.value, span, act) {
            return;
        }
        let Some(path) = known.as_deref().and_then(|path| absolute(state, path)) else {
            let detail = format!("which script is run is not known: {}", super::command::describe(&file.value));
            self.opaque(OpaqueReason::Script, detail, span);
            return;
        };
        self.file_at(state, frame, &path, span, act);
    }

    /// Walks a file of the world as shell code.
    #[inline(never)]
    fn file_at(&mut self, state: &mut State, frame: &Frame, path: &str, span: Span, act: Option<usize>) {
        match self.inquiry.file(path) {
            Some(FileFacts::Text { bytes, .. }) => self.script_bytes(state, frame, path, bytes, span, act),
            Some(FileFacts::Missing) => {}
            Some(FileFacts::TooLarge) => {
                self.opaque(OpaqueReason::Limit, format!("{path} is too large to analyse"), span);
            }
            Some(FileFacts::Unreadable) | None => {
                self.opaque(OpaqueReason::Script, format!("{path} cannot be read"), span);
            }
        }
    }

    /// Walks what the line itself wrote to a file before running it. `false`: it wrote nothing there.
    #[inline(never)]
    fn written_script(
        &mut self,
        state: &mut State,
        frame: &Frame,
        file: &Value,
        span: Span,
        act: Option<usize>,
    ) -> bool {
        let Some(written) = self.file_key(state, file).and_then(|key| self.files.get(&key)).cloned() else {
            return false;
        };
        let path = file.rough().into_owned();
        let mut older = false;
        for sink in &written.contents {
            let Some(sink) = self.sinks.get(*sink).cloned() else { continue };
            older |= sink.older;
            let mut frame = self.script_frame(frame, &path, span);
            if sink.decoded {
                frame.disguise = Some(Disguise::Encoding);
            }
            if !self.may_include(span) {
                return true;
            }
            match sink.text.known() {
                Some(text) => self.script_text(state, &frame, &text, act),
                None => self.read_value(state, &frame, &sink.text, span),
            }
        }
        for path in &written.copies {
            self.file_at(state, frame, path, span, act);
        }
        !older
    }

    fn may_include(&mut self, span: Span) -> bool {
        if self.includes >= MAX_INCLUDES {
            self.opaque(OpaqueReason::Limit, "more scripts in scripts than are followed", span);
            return false;
        }
        self.includes += 1;
        true
    }

    #[inline(never)]
    fn script_bytes(
        &mut self,
        state: &mut State,
        frame: &Frame,
        path: &str,
        bytes: &[u8],
        span: Span,
        act: Option<usize>,
    ) {
        let call = format!("file {path}");
        let mut inner = self.script_frame(frame, path, span);
        if inner.calls.contains(&call) {
            if frame.beside && !frame.under_condition {
                self.fork_bomb(state, frame, path, span);
            }
            return;
        }
        inner.calls.push(call);
        if !self.may_include(span) {
            return;
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.opaque(OpaqueReason::Script, format!("{path} is no text"), span);
            return;
        };
        self.script_text(state, &inner, text, act);
    }

    /// Walks the text of a script as what its first line says it is.
    #[inline(never)]
    fn script_text(&mut self, state: &mut State, frame: &Frame, text: &str, act: Option<usize>) {
        match interpreter(text) {
            Some(name) if !self.is_shell_name(&name) => {
                let language = self.language(&name);
                self.foreign(state, frame, None, &language, &Value::text(text), frame.spans.map(Span::default()));
                self.add_code(act, &language, Value::text(text));
            }
            Some(name) => {
                let dialect = dialect(&name, &name);
                self.text(state, &frame.reading(dialect), text);
            }
            None => self.text(state, frame, text),
        }
    }

    fn is_shell_name(&self, name: &str) -> bool {
        is_shell(&self.language(name))
    }

    /// The language of an interpreter, by its description.
    fn language(&self, name: &str) -> String {
        match self.catalog.program(name).and_then(|program| program.runs.as_ref()) {
            Some(runs) => runs.language.clone(),
            None => name.to_owned(),
        }
    }

    /// A program that is named by a path and that nothing describes: a script of the project, perhaps.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn executable(
        &mut self,
        state: &State,
        frame: &Frame,
        act: usize,
        path: &str,
        args: &[Field],
        env: &[(String, Value)],
        span: Span,
    ) {
        let mut child = state.child(env);
        child.zero = Value::text(path);
        child.positional = args.iter().map(|field| field.value.clone()).collect();
        let value = Value::text(path);
        let frame = Frame { dialect: Dialect::Bash, ..frame.clone() };
        if self.written_script(&mut child, &frame, &value, span, Some(act)) {
            return;
        }
        let Some(path) = absolute(state, path) else { return };
        if self.is_fetched(&path) {
            let detail = "a program that is fetched from the network in this line is run";
            self.opaque(OpaqueReason::FetchedCode, detail, span);
            return;
        }
        if let Some(FileFacts::Text { bytes, .. }) = self.inquiry.file(&path) {
            let bytes = bytes.clone();
            // A binary says nothing here; its name is judged.
            if !bytes.contains(&0) {
                self.script_bytes(&mut child, &frame, &path, &bytes, span, Some(act));
            }
        }
    }

    /// Whether a path lies below something that the line fetched.
    fn is_fetched(&self, path: &str) -> bool {
        let mut dir = path;
        while let Some((parent, _)) = dir.rsplit_once('/') {
            if parent.is_empty() {
                return false;
            }
            let fetched = self.files.get(parent).is_some_and(|written| {
                written
                    .contents
                    .iter()
                    .filter_map(|sink| self.sinks.get(*sink))
                    .any(|sink| sink.taint.and(sink.text.taint()).has(Taint::FETCHED))
            });
            if fetched {
                return true;
            }
            dir = parent;
        }
        false
    }

    #[inline(never)]
    fn other_code(&mut self, state: &State, frame: &Frame, act: usize, source: &CodeSource, span: Span) {
        let text = match &source.from {
            CodeFrom::Inline(value, _) => value.clone(),
            CodeFrom::Script(file) => {
                let pipe = file
                    .value
                    .pieces
                    .iter()
                    .any(|piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Pipe, .. })));
                if pipe {
                    let mut text = Value::default();
                    for sink in self.pipes.iter().filter_map(|id| self.sinks.get(*id)) {
                        text.push_value(&sink.text);
                    }
                    text
                } else {
                    match self.content_of(state, &file.value) {
                        Some(text) => text,
                        None => return,
                    }
                }
            }
            CodeFrom::Stdin => match &state.streams.stdin {
                Stream::Inherited | Stream::Nothing => return,
                Stream::File(operand, _) if self.content_of(state, &operand.value).is_none() => return,
                _ => self.stdin_of(state).0,
            },
        };
        let taint = text.taint();
        if taint.has(Taint::FETCHED) || taint.has(Taint::DECODED) {
            let detail = format!("{} code that is fetched or decoded in this line is run", source.language);
            self.opaque(OpaqueReason::FetchedCode, detail, span);
        }
        self.foreign(state, frame, Some(act), &source.language, &text, span);
        self.add_code(Some(act), &source.language, text);
    }

    #[inline(never)]
    fn add_code(&mut self, act: Option<usize>, language: &str, text: Value) {
        let Some(act) = act.and_then(|id| self.facts.acts.get_mut(id)) else { return };
        match &mut act.code {
            Some(code) if code.language == language => {
                code.text.push_text("\n");
                code.text.push_value(&text);
            }
            code => *code = Some(Code { language: language.to_owned(), text }),
        }
    }
}

/// The shell whose grammar a program of this name reads.
fn dialect(name: &str, language: &str) -> Dialect {
    match (name, language) {
        (_, "zsh") | ("zsh" | "rzsh", _) => Dialect::Zsh,
        ("sh" | "dash" | "ash", _) => Dialect::Sh,
        _ => Dialect::Bash,
    }
}

/// The name of the interpreter that the first line of a script gives.
fn interpreter(text: &str) -> Option<String> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let first = words.next()?;
    let name = first.rsplit('/').next()?;
    if name != "env" {
        return Some(name.to_owned());
    }
    let program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    program.rsplit('/').next().map(str::to_owned)
}

impl Frame {
    /// The span of a construct in the command as given.
    pub fn spans_at(&self, span: Span) -> Span {
        match self.spans {
            Spans::At(at) => at,
            _ => span,
        }
    }
}
