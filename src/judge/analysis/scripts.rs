//! Scripts: files that are walked as code, which exist or which the command writes.

use std::borrow::Cow;
use std::rc::Rc;

use super::act::{Disguise, OpaqueReason, Operand, Piece, Taint, Unknown, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::builtins::within;
use super::command_context::Context;
use super::expand::Field;
use super::files::ExistingText;
use super::indirection::archives::is_unread;
use super::place::Place;
use super::program_run::ProgramRun;
use super::progress::WalkProgress;
use super::question::FileFacts;
use super::recursion::{ActiveCall, Callee, NestedCalls};
use super::resolve::Lookup;
use super::script_lines::NumberedScript;
use super::secret_names::is_secret_name;
use super::state::{Build as _, State};
use super::streams::descriptor;
use super::walk::Walker;
use crate::judge::rules::model::Language;
use crate::judge::syntax::tree::{Dialect, Span};

/// Maximum number of scripts that are walked for a command, including nested ones.
const MAX_INCLUDES: u32 = 24;

impl Walker<'_> {
    /// Performs `source` and `.`: a script in this shell.
    #[inline(never)]
    pub fn source(&mut self, state: &mut State, context: &Context, args: &[Field], span: Span) {
        let Some((file, rest)) = args.split_first() else {
            // `… | source` of fish.
            return self.stdin_code(state, &within(context, "source"), span);
        };
        let outer = (!rest.is_empty())
            .then(|| rest.iter().map(|field| field.value.clone()).collect())
            .map(|values| std::mem::replace(&mut state.positional, Rc::new(values)));
        let file = Operand { value: file.value.clone(), span: file.span };
        let context = within(context, "source");
        let secret = self.progress().is_secret(state, &file.value);
        if let Some(path) = file.value.known().filter(|path| secret && state.traces && !path.contains('\'')) {
            self.text(&mut state.fork(), &context.elsewhere(span), &format!("printf %s \"$(< '{path}')\""));
        }
        self.script_file(state, &context, &file, span, None);
        // A variable with such a name that a file of secrets sets is a secret.
        let named: Vec<String> =
            state.names().filter(|name| secret && is_secret_name(name)).map(str::to_owned).collect();
        for name in named {
            let hidden = Unknown { why: UnknownReason::Variable(name.clone()), taint: Taint::NAMED };
            state.set_scalar(&name, Value::of(vec![Piece::Unknown(hidden)]));
        }
        if let Some(outer) = outer {
            state.positional = outer;
        }
    }

    /// Walks a script file as shell code. `act` is that of the interpreter, if there is one.
    #[inline(never)]
    pub fn script_file(
        &mut self,
        state: &mut State,
        context: &Context,
        file: &Operand,
        span: Span,
        act: Option<usize>,
    ) {
        let is_pipe = file
            .value
            .pieces()
            .iter()
            .any(|piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Pipe, .. })));
        if is_pipe {
            for pipe in self.substituted.pipes.clone() {
                let Some(sink) = self.sinks.get(pipe) else { continue };
                let (text, decoded) = (sink.text.clone(), sink.decoded);
                let mut context = context.elsewhere(span);
                if decoded {
                    context.disguise = Some(Disguise::Encoding);
                }
                self.read_value(state, &context, &text, span);
            }
            return;
        }
        let known = file.value.known_text();
        let descriptor = known.as_deref().and_then(descriptor);
        if descriptor == Some(0) || known.as_deref() == Some("-") {
            self.stdin_code(state, context, span);
            return;
        }
        if known.as_deref() == Some("/dev/null") {
            return;
        }
        if let Some(path) = known.as_deref().filter(|_| descriptor.is_some()) {
            let Some(stream) = state.streams.named(path) else {
                self.opaque(OpaqueReason::Script, format!("what can be read from {path} is not known"), span);
                return;
            };
            let outer = std::mem::replace(&mut state.streams.stdin, stream);
            self.stdin_code(state, context, span);
            state.streams.stdin = outer;
            return;
        }
        if let Some((value, _)) = self.progress().behind(state, &file.value) {
            return self.script_file(state, context, &Operand { value, span: file.span }, span, act);
        }
        if self.written_script(state, context, &file.value, span, act) || is_of_installation(&file.value) {
            return;
        }
        let before = self.facts.acts.get(..act.unwrap_or(usize::MAX)).unwrap_or(&self.facts.acts);
        let in_part = || WalkProgress::below_made(state, before, &file.value);
        let Some(place) = known.as_deref().and_then(|path| state.place(path)).or_else(in_part) else {
            let detail = format!("the script that runs is not known: {}", super::command::describe(&file.value));
            self.opaque(OpaqueReason::Script, detail, span);
            return;
        };
        let file = self.progress().existing(place);
        self.file_at(state, context, &file, span, act);
    }

    /// Walks an existing file as shell code, with the changes by the command.
    #[inline(never)]
    pub fn file_at(
        &mut self,
        state: &mut State,
        context: &Context,
        file: &ExistingText,
        span: Span,
        act: Option<usize>,
    ) {
        let place = &file.place;
        if self.progress().is_download(place) {
            self.opaque(context.fetched_code(), "the command runs a script that it downloads", span);
            return;
        }
        // The command creates the parent under a partly known name, so that the file did not exist before.
        let Some(path) = place.text() else {
            self.not_there(state, context, place, span, act);
            return;
        };
        match self.input.inquiry.file(path) {
            Some(FileFacts::Text { bytes, digest }) => {
                self.facts.scripts.insert(path.to_owned(), *digest);
                if file.changes.is_empty() {
                    return self.script_bytes(state, context, path, bytes, span, act);
                }
                let texts = self.after_changes(file, bytes, span, |text| file.stages(&text));
                let Some((last, others)) = texts.as_deref().and_then(<[String]>::split_last) else { return };
                for text in others {
                    self.script_bytes(&mut state.fork(), context, path, text.as_bytes(), span, act);
                }
                self.script_bytes(state, context, path, last.as_bytes(), span, act);
            }
            Some(FileFacts::Missing) => {
                self.not_there(state, context, place, span, act);
            }
            Some(FileFacts::TooLarge) => self.unread_script(context, path, span),
            Some(FileFacts::Unreadable) | None => {
                self.opaque(OpaqueReason::Script, format!("{path} cannot be read"), span);
            }
        }
    }

    /// Returns what the changes by the command leave of an existing file; reports them if they cannot be followed.
    pub fn after_changes<'t, T>(
        &mut self,
        file: &ExistingText,
        bytes: &'t [u8],
        span: Span,
        changed: impl FnOnce(Cow<'t, str>) -> Option<T>,
    ) -> Option<T> {
        // Interpreters accept invalid UTF-8 in comments and strings.
        let text = String::from_utf8_lossy(bytes);
        let is_paid = file.changes.is_empty() || self.input.replaces(file.changes.len(), bytes.len());
        let left = if is_paid { changed(text) } else { None };
        if left.is_none() {
            let detail = format!("what this line replaces in {} is not known", file.place.shown());
            self.opaque(OpaqueReason::Script, detail, span);
        }
        left
    }

    /// Walks a file that the command creates by copying a directory, or by unpacking an archive. `false`: it does not.
    fn not_there(
        &mut self,
        state: &mut State,
        context: &Context,
        place: &Place,
        span: Span,
        act: Option<usize>,
    ) -> bool {
        let origins = self.progress().origins(place);
        for origin in &origins {
            match origin.text().map(|path| (path, self.input.inquiry.file(path))) {
                Some((path, Some(FileFacts::Text { bytes, .. }))) => {
                    self.script_bytes(state, context, path, bytes, span, act);
                }
                _ => self.opaque(OpaqueReason::Script, format!("{} cannot be read", origin.shown()), span),
            }
        }
        let unpacked = self.progress().is_unpacked(place);
        if unpacked {
            self.opaque(OpaqueReason::Script, format!("{} comes out of an archive of this line", place.shown()), span);
        }
        unpacked || !origins.is_empty()
    }

    /// Walks the text that the command wrote to a file before it runs the file. Returns `false` if it wrote nothing.
    #[inline(never)]
    pub fn written_script(
        &mut self,
        state: &mut State,
        context: &Context,
        file: &Value,
        span: Span,
        act: Option<usize>,
    ) -> bool {
        let Some((existing, sinks)) = self.progress().possible_contents(state, file) else { return false };
        let path = file.rough().into_owned();
        for sink in sinks {
            let by_first_line = context.by_first_line;
            let mut context = self.script_context(context, &path, span);
            if sink.decoded {
                context.disguise = Some(Disguise::Encoding);
            }
            if !self.may_include(span) {
                return true;
            }
            match sink.text.known() {
                Some(text) if is_binary(text.as_bytes()) => {
                    self.opaque(OpaqueReason::Script, format!("{path} is a binary that this line writes"), span);
                }
                Some(text) => self.script_text(state, &context, &text, act, by_first_line),
                None if is_unread(&sink.text) && !sink.taint.has(Taint::FETCHED) => {
                    self.opaque(OpaqueReason::Script, format!("{path} comes out of an archive of this line"), span);
                }
                None if let Some(files) = sink.files().filter(|files| self.progress().are_read(files)) => {
                    for path in files {
                        let file = ExistingText::of(Place::of(path.as_str()));
                        self.file_at(state, &Context { by_first_line, ..context.clone() }, &file, span, act);
                    }
                }
                None => self.read_value(state, &context, &sink.text, span),
            }
        }
        // The caller walks the file itself.
        let own = state.file(file).map(|place| self.progress().existing(place));
        let (own, others): (Vec<_>, Vec<_>) = existing.into_iter().partition(|file| Some(file) == own.as_ref());
        for file in &others {
            self.file_at(state, context, file, span, act);
        }
        own.is_empty()
    }

    pub fn may_include(&mut self, span: Span) -> bool {
        let fits = self.limits.takes_script(MAX_INCLUDES);
        if !fits {
            self.opaque(OpaqueReason::Limit, "too many nested scripts to analyse", span);
        }
        fits
    }

    #[inline(never)]
    pub fn script_bytes(
        &mut self,
        state: &mut State,
        context: &Context,
        path: &str,
        bytes: &[u8],
        span: Span,
        act: Option<usize>,
    ) {
        let call = Callee::File(path.to_owned());
        let mut inner = self.script_context(context, path, span).in_new_text();
        if inner.is_called(&call) && context.beside && !context.under_condition {
            self.fork_bomb(state, context, path, span);
            return;
        }
        let mut changed;
        let state = match self.progress().nested(state, &inner, &call) {
            NestedCalls::Outermost => state,
            NestedCalls::Repeats => return,
            NestedCalls::Changed(child) => {
                changed = child;
                &mut changed
            }
        };
        inner.called(ActiveCall::within(call, state));
        if !self.may_include(span) {
            return;
        }
        let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) else {
            self.opaque(OpaqueReason::Script, format!("{path} is not text"), span);
            return;
        };
        self.input.add_file(path, bytes.len());
        // The content of the file is everything that the program does.
        act.and_then(|id| self.facts.acts.get_mut(id)).into_iter().for_each(|act| act.read = true);
        if self.progress().is_generated(path, text) {
            // The description with its name applies to its arguments.
            let name = path.rsplit('/').next().unwrap_or(path);
            let words = std::iter::once(Value::text(name)).chain(state.positional.iter().cloned());
            let fields = words.map(|value| Field::word(value, span)).collect();
            self.run(&mut state.subshell(), &inner, fields, Vec::new(), span, Lookup::Programs);
            self.lines.announce(NumberedScript::of(&inner, text));
            self.skim(state, &inner, text);
            self.lines.announce(None);
            return;
        }
        // Code in another language is walked as if its interpreter were called with the file.
        let foreign = interpreter(text).filter(|name| context.by_first_line && !self.reads_script(name, text));
        if let Some(name) = foreign {
            let language = self.input.language(&name);
            match Language::of_scripts(&language) {
                Some(reader) => _ = self.embedded_text(state, context, reader, path, text, span),
                None => self.first_line(state, &inner, path, text, span),
            }
            self.add_code(act, &language, Value::text(text));
            return;
        }
        self.script_text(state, &inner, text, act, context.by_first_line);
    }

    /// Reports whether the program in the first line of a script is a shell that reads the script.
    fn reads_script(&self, name: &str, text: &str) -> bool {
        let line = text.lines().next().unwrap_or_default();
        self.input.is_shell_name(name) && !line.split_whitespace().any(|word| word == "-c")
    }

    /// Walks the program in the first line of a script, with the script and its arguments.
    #[inline(never)]
    fn first_line(&mut self, state: &State, context: &Context, path: &str, text: &str, span: Span) {
        let line = text.lines().next().unwrap_or_default().trim_start_matches("#!").trim();
        // What follows the program is one argument.
        let (program, argument) = line
            .split_once(char::is_whitespace)
            .map_or((line, None), |(program, rest)| (program, Some(rest.trim_start())));
        let words = std::iter::once(program).chain(argument).chain([path]).map(Value::text);
        let fields = words.chain(state.positional.iter().cloned()).map(|value| Field::word(value, span)).collect();
        self.run(&mut state.subshell(), context, fields, Vec::new(), span, Lookup::Programs);
    }

    /// Walks the text of a script that the command contains. `by_first_line`: the system starts it, by its first line.
    #[inline(never)]
    fn script_text(
        &mut self,
        state: &mut State,
        context: &Context,
        text: &str,
        act: Option<usize>,
        by_first_line: bool,
    ) {
        match interpreter(text) {
            Some(name) if !self.input.is_shell_name(&name) && !by_first_line => {
                self.numbered_text(state, context, text);
            }
            Some(name) if !self.input.is_shell_name(&name) => {
                let language = self.input.language(&name);
                self.embedded_code(
                    state,
                    context,
                    None,
                    &language,
                    &Value::text(text),
                    context.spans.map(Span::default()),
                );
                self.add_code(act, &language, Value::text(text));
            }
            Some(name) => {
                let own = context.read_by(&name, &name);
                // A shell with a grammar of its own ignores the first line, and other shells ignore that of such a shell.
                let is_own = own.translation.is_none() && context.translation.is_none();
                if by_first_line && own.dialect == Dialect::Bash {
                    self.startup(state, &own, context.spans.map(Span::default()));
                }
                self.numbered_text(state, if by_first_line || is_own { &own } else { context }, text);
            }
            None => self.numbered_text(state, context, text),
        }
    }

    /// Walks the text of a script as shell code with line numbers.
    fn numbered_text(&mut self, state: &mut State, context: &Context, text: &str) {
        self.lines.announce(NumberedScript::of(context, text));
        self.text(state, context, text);
        self.lines.announce(None);
    }

    /// Walks an undescribed program that is called by its path, which may be a script.
    #[inline(never)]
    pub fn executable(&mut self, state: &State, context: &Context, act: usize, path: &Value, ran: ProgramRun<'_>) {
        let ProgramRun { args, env, span, .. } = ran;
        let mut child = state.child(env);
        child.zero = path.clone();
        child.positional = Rc::new(args.iter().map(|field| field.value.clone()).collect());
        let value = self.progress().behind(state, path).map_or_else(|| path.clone(), |(behind, _)| behind);
        let context = context.reading(Dialect::Bash).by_first_line();
        let before = self.facts.acts.len();
        let is_whole = self.written_script(&mut child, &context, &value, span, Some(act));
        if self.facts.acts.len() > before {
            self.facts.acts.get_mut(act).into_iter().for_each(|act| act.read = true);
        }
        if is_whole {
            return;
        }
        let place = value.spelled().map(|path| Place::spelled_at(state.cwd.as_ref(), &path));
        // The path is relative to an unknown directory.
        if place == Some(None) {
            return;
        }
        let place = place.flatten();
        if place.as_ref().is_some_and(|place| self.progress().is_download(place)) {
            let detail = "the command runs a program that it downloads";
            self.opaque(context.fetched_code(), detail, span);
            return;
        }
        let path = place.as_ref().and_then(Place::text);
        let file = path.and_then(|path| self.input.inquiry.file(path));
        if let (Some(path), Some(FileFacts::Text { digest, .. })) = (path, file) {
            self.facts.scripts.insert(path.to_owned(), *digest);
        }
        let is_missing = matches!(file, Some(FileFacts::Missing));
        if let Some(place) = place.as_ref().filter(|place| is_missing || place.text().is_none())
            && self.not_there(&mut child, &context, place, span, Some(act))
        {
            return;
        }
        // A file in the temporary directory is a program only if something created it.
        if value.leading().starts_with('/')
            && (is_missing || place.is_none())
            && self.input.is_temporary(&value)
            && !place.as_ref().is_some_and(|place| self.progress().is_spoken_of(state, act, place))
            && !path.is_some_and(|path| self.input.has_made(path))
        {
            self.opaque(OpaqueReason::Script, format!("{} does not exist and cannot be read", value.rough()), span);
            return;
        }
        let Some(path) = path else { return };
        match file {
            // A binary is judged by its name.
            Some(FileFacts::Text { bytes, .. }) if is_binary(bytes) => {}
            Some(FileFacts::Text { .. }) => {
                let file = self.progress().existing(Place::of(path));
                self.file_at(&mut child, &context, &file, span, Some(act));
                self.end_of_shell(&mut child);
            }
            Some(FileFacts::TooLarge) => self.unread_script(&context, path, span),
            Some(FileFacts::Missing | FileFacts::Unreadable) | None => {}
        }
    }

    /// Adds an opaque part for a script that is too large, with a more severe reason as root.
    fn unread_script(&mut self, context: &Context, path: &str, span: Span) {
        let why = if context.root { OpaqueReason::Limit } else { OpaqueReason::Script };
        self.opaque(why, format!("{path} is too large to analyse"), span);
    }
}

/// Reports whether the file at a path is a binary.
pub(super) fn is_binary_at(input: &AnalysisInput<'_>, state: &State, path: &Value) -> bool {
    let file = path.known().and_then(|path| state.path(&path)).and_then(|path| input.inquiry.file(&path));
    matches!(file, Some(FileFacts::Text { bytes, .. }) if is_binary(bytes))
}

/// Reports whether a file is a binary and not a script: its first line is not text. A NUL later in the file is not
/// sufficient, because some shells read beyond it.
fn is_binary(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_loaded = || bytes.starts_with(b"\x7fELF") || std::str::from_utf8(bytes).is_err();
    line.contains(&0) && !line.starts_with(b"#!") && is_loaded()
}

/// Returns the name of the interpreter in the first line of a script.
pub(super) fn interpreter(text: &str) -> Option<String> {
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

/// Reports whether a path is in a directory of installed programs, which one of them printed.
fn is_of_installation(path: &Value) -> bool {
    let [Piece::Unknown(Unknown { why: UnknownReason::Installation, taint }), Piece::Text(below)] = path.pieces()
    else {
        return false;
    };
    *taint == Taint::default() && below.starts_with('/') && !below.split('/').any(|name| name == "..")
}

#[cfg(test)]
mod tests;
