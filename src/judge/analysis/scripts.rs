//! Scripts: files that are read as code, of the world or written by the line itself.

use std::ops::Bound;
use std::rc::Rc;

use super::act::{Act, Disguise, OpaqueReason, Operand, Piece, Taint, Unknown, UnknownReason, Value};
use super::builtins::within;
use super::command::Lookup;
use super::enclosing::Context;
use super::expand::Field;
use super::indirection::unpacked::is_unread;
use super::numbered::Numbered;
use super::paths::NormalPath;
use super::place::Place;
use super::question::FileFacts;
use super::recursion::{Callee, Calling, Nested};
use super::secret_names::is_secret_name;
use super::shells::dialect;
use super::state::{Build as _, State};
use super::streams::descriptor;
use super::walk::Walker;
use crate::judge::syntax::tree::{Dialect, Span};

/// Scripts that one line may lead to, scripts in scripts counted.
const MAX_INCLUDES: u32 = 24;

impl Walker<'_> {
    /// `source` and `.`: a script in this shell.
    #[inline(never)]
    pub fn source(&mut self, state: &mut State, context: &Context, args: &[Field], span: Span) {
        let Some((file, rest)) = args.split_first() else {
            // `… | source` of fish
            return self.stdin_code(state, &within(context, "source"), span);
        };
        let outer = (!rest.is_empty())
            .then(|| rest.iter().map(|field| field.value.clone()).collect())
            .map(|values| std::mem::replace(&mut state.positional, Rc::new(values)));
        let file = Operand { value: file.value.clone(), span: file.span };
        let context = within(context, "source");
        let secret = self.is_secret(state, &file.value);
        self.script_file(state, &context, &file, span, None);
        // What a file of secrets sets under such a name is one.
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

    /// Walks a script file as shell code. `act` is the interpreter's, when there is one.
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
            for pipe in self.pipes.clone() {
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
        if let Some((value, _)) = self.behind(state, &file.value) {
            return self.script_file(state, context, &Operand { value, span: file.span }, span, act);
        }
        if self.written_script(state, context, &file.value, span, act) {
            return;
        }
        let before = self.facts.acts.get(..act.unwrap_or(usize::MAX)).unwrap_or(&self.facts.acts);
        let in_part = || Self::below_made(state, before, &file.value);
        let Some(place) = known.as_deref().and_then(|path| state.place(path)).or_else(in_part) else {
            let detail = format!("the script that runs is not known: {}", super::command::describe(&file.value));
            self.opaque(OpaqueReason::Script, detail, span);
            return;
        };
        self.file_at(state, context, &place, span, act);
    }

    /// Walks a file of the world as shell code.
    #[inline(never)]
    pub fn file_at(&mut self, state: &mut State, context: &Context, place: &Place, span: Span, act: Option<usize>) {
        if self.is_fetched(place) {
            self.opaque(context.fetched_code(), "the command runs a script that it downloads", span);
            return;
        }
        // Below what the line makes under a name that is known in part, so that nothing lay there before.
        let Some(path) = place.text() else {
            self.not_there(state, context, place, span, act);
            return;
        };
        match self.inquiry.file(path) {
            Some(FileFacts::Text { bytes, digest }) => {
                self.facts.scripts.insert(path.to_owned(), *digest);
                self.script_bytes(state, context, path, bytes, span, act);
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

    /// A file that is not there until the line brings it: in a copy of a directory, or out of an archive. `false`: the
    /// line does not.
    fn not_there(
        &mut self,
        state: &mut State,
        context: &Context,
        place: &Place,
        span: Span,
        act: Option<usize>,
    ) -> bool {
        let origins = self.origins(place);
        for origin in &origins {
            match origin.text().map(|path| (path, self.inquiry.file(path))) {
                Some((path, Some(FileFacts::Text { bytes, .. }))) => {
                    self.script_bytes(state, context, path, bytes, span, act);
                }
                _ => self.opaque(OpaqueReason::Script, format!("{} cannot be read", origin.shown()), span),
            }
        }
        let unpacked = self.is_unpacked(place);
        if unpacked {
            self.opaque(OpaqueReason::Script, format!("{} comes out of an archive of this line", place.shown()), span);
        }
        unpacked || !origins.is_empty()
    }

    /// Walks what the line itself wrote to a file before running it. `false`: it wrote nothing there.
    #[inline(never)]
    pub fn written_script(
        &mut self,
        state: &mut State,
        context: &Context,
        file: &Value,
        span: Span,
        act: Option<usize>,
    ) -> bool {
        let Some(written) = Self::file_key(state, file).and_then(|key| self.files.get(&key)).cloned() else {
            return false;
        };
        let path = file.rough().into_owned();
        let mut older = false;
        for sink in &written.contents {
            let Some(sink) = self.sinks.get(*sink).cloned() else { continue };
            older |= sink.older;
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
                Some(text) => self.script_text(state, &context, &text, act),
                None if is_unread(&sink.text) && !sink.taint.has(Taint::FETCHED) => {
                    self.opaque(OpaqueReason::Script, format!("{path} comes out of an archive of this line"), span);
                }
                None if let Some(files) = sink.files().filter(|files| self.are_read(files)) => {
                    files.iter().for_each(|path| self.file_at(state, &context, &Place::of(path.as_str()), span, act));
                }
                None => self.read_value(state, &context, &sink.text, span),
            }
        }
        for place in &written.copies {
            self.file_at(state, context, place, span, act);
        }
        !older
    }

    /// Whether these are files of the world that can be read.
    pub fn are_read(&self, files: &[String]) -> bool {
        let is_read = |path: &String| {
            !self.files.contains_key(&Place::of(path.as_str()))
                && matches!(self.inquiry.file(path), Some(FileFacts::Text { .. }))
        };
        files.iter().all(is_read)
    }

    pub fn may_include(&mut self, span: Span) -> bool {
        if self.includes >= MAX_INCLUDES {
            self.opaque(OpaqueReason::Limit, "too many nested scripts to analyse", span);
            return false;
        }
        self.includes += 1;
        true
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
        let state = match self.nested(state, &inner, &call) {
            Nested::Outermost => state,
            Nested::Repeats => return,
            Nested::Changed(child) => {
                changed = child;
                &mut changed
            }
        };
        inner.called(Calling::within(call, state));
        if !self.may_include(span) {
            return;
        }
        let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')) else {
            self.opaque(OpaqueReason::Script, format!("{path} is not text"), span);
            return;
        };
        // Whoever reads it pays with what it brings, once however often it is run.
        if self.read.insert(path.to_owned()) {
            self.inquiry.fuel.add_file(bytes.len());
        }
        // All that the program does is what its file says.
        act.and_then(|id| self.facts.acts.get_mut(id)).into_iter().for_each(|act| act.read = true);
        if self.is_generated(path, text) {
            // What its arguments are to it is said of it under its name.
            let name = path.rsplit('/').next().unwrap_or(path);
            let words = std::iter::once(Value::text(name)).chain(state.positional.iter().cloned());
            let fields = words.map(|value| Field::word(value, span)).collect();
            self.run(&mut state.subshell(), &inner, fields, Vec::new(), span, Lookup::Programs);
            self.next_numbered = Numbered::of(&inner, text).map(Rc::new);
            self.skim(state, &inner, text);
            self.next_numbered = None;
            return;
        }
        // Code of another language is read as where its interpreter is given the file.
        if let Some(name) = interpreter(text).filter(|name| !self.is_shell_name(name)) {
            let language = self.language(&name);
            self.embedded_text(state, context, &language, path, text, span);
            self.add_code(act, &language, Value::text(text));
            return;
        }
        self.script_text(state, &inner, text, act);
    }

    /// Walks the text of a script that the line itself holds as what its first line says it is.
    #[inline(never)]
    fn script_text(&mut self, state: &mut State, context: &Context, text: &str, act: Option<usize>) {
        match interpreter(text) {
            Some(name) if !self.is_shell_name(&name) => {
                let language = self.language(&name);
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
                let dialect = dialect(&name, &name);
                self.numbered_text(state, &context.reading(dialect), text);
            }
            None => self.numbered_text(state, context, text),
        }
    }

    /// Walks the text of a script as shell code whose lines are counted.
    fn numbered_text(&mut self, state: &mut State, context: &Context, text: &str) {
        self.next_numbered = Numbered::of(context, text).map(Rc::new);
        self.text(state, context, text);
        self.next_numbered = None;
    }

    /// A program that is named by a path and that nothing describes: a script of the project, perhaps.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub fn executable(
        &mut self,
        state: &State,
        context: &Context,
        act: usize,
        path: &Value,
        args: &[Field],
        env: &[(String, Value)],
        span: Span,
    ) {
        let before = self.facts.acts.len();
        self.file_of_program(state, context, act, path, args, env, span);
        let is_read = self.facts.acts.len() > before;
        self.facts.acts.get_mut(act).into_iter().for_each(|act| act.read = is_read);
    }

    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn file_of_program(
        &mut self,
        state: &State,
        context: &Context,
        act: usize,
        path: &Value,
        args: &[Field],
        env: &[(String, Value)],
        span: Span,
    ) {
        let mut child = state.child(env);
        child.zero = path.clone();
        child.positional = Rc::new(args.iter().map(|field| field.value.clone()).collect());
        let value = self.behind(state, path).map_or_else(|| path.clone(), |(behind, _)| behind);
        let context = Context { dialect: Dialect::Bash, ..context.clone() };
        if self.written_script(&mut child, &context, &value, span, Some(act)) {
            return;
        }
        let place = value.spelled().map(|path| Place::spelled_at(state.cwd.as_ref(), &path));
        // Relative to a directory that is not known.
        if place == Some(None) {
            return;
        }
        let place = place.flatten();
        if place.as_ref().is_some_and(|place| self.is_fetched(place)) {
            let detail = "the command runs a program that it downloads";
            self.opaque(context.fetched_code(), detail, span);
            return;
        }
        let path = place.as_ref().and_then(Place::text);
        let file = path.and_then(|path| self.inquiry.file(path));
        if let (Some(path), Some(FileFacts::Text { digest, .. })) = (path, file) {
            self.facts.scripts.insert(path.to_owned(), *digest);
        }
        let is_missing = matches!(file, Some(FileFacts::Missing));
        if let Some(place) = place.as_ref().filter(|place| is_missing || place.text().is_none())
            && self.not_there(&mut child, &context, place, span, Some(act))
        {
            return;
        }
        // What lies among temporary files is nobody's program until something puts it there.
        if value.leading().starts_with('/')
            && (is_missing || place.is_none())
            && self.is_temporary(&value)
            && !place.as_ref().is_some_and(|place| self.is_spoken_of(state, act, place))
            && !path.is_some_and(|path| self.has_made(path))
        {
            self.opaque(OpaqueReason::Script, format!("{} does not exist and cannot be read", value.rough()), span);
            return;
        }
        let Some(path) = path else { return };
        match file {
            // A binary says nothing here; its name is judged.
            Some(FileFacts::Text { bytes, .. }) if is_binary(bytes) => {}
            Some(FileFacts::Text { bytes, .. }) => {
                self.script_bytes(&mut child, &context, path, bytes, span, Some(act));
                self.end_of_shell(&mut child);
            }
            Some(FileFacts::TooLarge) => self.unread_script(&context, path, span),
            Some(FileFacts::Missing | FileFacts::Unreadable) | None => {}
        }
    }

    /// Whether this session made something at the path where nothing was.
    fn has_made(&self, path: &str) -> bool {
        let both = || Some((self.inquiry.path(path)?, self.inquiry.ledger()?));
        let plain = |path: &str| NormalPath::absolute(path).map_or_else(|| path.to_owned(), |path| path.rough());
        both().is_some_and(|(facts, ledger)| ledger.has_made(&plain(&facts.canonical)))
    }

    /// A script that is longer than what is read: worse as root.
    fn unread_script(&mut self, context: &Context, path: &str, span: Span) {
        let why = if context.root { OpaqueReason::Limit } else { OpaqueReason::Script };
        self.opaque(why, format!("{path} is too large to analyse"), span);
    }

    /// What lies below a place that an act before this one names, under a name with a number in it.
    fn below_made(state: &State, acts: &[Act], file: &Value) -> Option<Place> {
        let file = Self::file_key(state, file).filter(|place| file.known().is_none() && place.path().is_some())?;
        let above = |value: &Value| {
            let place = Self::file_key(state, value).filter(|_| value.known().is_none());
            place.and_then(|place| file.below(&place)).is_some_and(|rest| !rest.rough().is_empty())
        };
        acts.iter().flat_map(|act| &act.args).any(above).then_some(file)
    }

    /// Whether the line itself wrote, copied, linked or fetched what a path names.
    pub fn is_made_here(&self, state: &State, path: &Value) -> bool {
        let is_copy = |place: &Place| self.files.get(place).is_some_and(|file| !file.copies.is_empty());
        self.content_of(state, path).is_some()
            || Self::file_key(state, path).is_some_and(|place| {
                self.is_fetched(&place)
                    || self.is_unpacked(&place)
                    || is_copy(&place)
                    || self.links.contains_key(&place)
            })
    }

    /// Whether the line may have made something in a directory, by its name or by that of one above it.
    pub fn may_make_in(&self, dir: &str) -> bool {
        let dir = Place::of(dir.trim_end_matches('/'));
        let is_below = |place: &Place| place.path().is_some_and(|path| path.rough().starts_with(dir.shown()));
        let from = (Bound::Included(&dir), Bound::Unbounded);
        let below = self.files.range::<Place, _>(from).next().is_some_and(|(place, _)| is_below(place));
        let linked = self.links.range::<Place, _>(from).next().is_some_and(|(place, _)| is_below(place));
        let holds = |place: &Place| self.files.contains_key(place) || self.links.contains_key(place);
        let any_in = || dir.any_in().is_some_and(|any| holds(&any));
        below || linked || any_in() || dir.any_above(|above, any| holds(above) || holds(any))
    }

    /// Whether there is nothing at the path that could be read, and the line makes nothing there.
    pub fn is_absent(&self, state: &State, path: &Value) -> bool {
        let missing = |path: &str| matches!(self.inquiry.file(path), Some(FileFacts::Missing));
        let place = path.spelled().map(|path| Place::spelled_at(state.cwd.as_ref(), &path));
        let is_there = || place.is_some_and(|place| !place.as_ref().and_then(Place::text).is_some_and(missing));
        !self.is_made_here(state, path) && !is_there()
    }

    /// Whether an act before this one names the place, so that it may make it.
    fn is_spoken_of(&self, state: &State, act: usize, place: &Place) -> bool {
        let in_part = |value: &Value| value.known().is_none() && Self::file_key(state, value).as_ref() == Some(place);
        let names = |value: &Value| place.text().is_some_and(|path| value.is(path)) || in_part(value);
        self.facts.acts.iter().take(act).any(|other| other.args.iter().any(names))
    }

    /// Whether a place is something that the line fetched, or lies below it.
    pub fn is_fetched(&self, place: &Place) -> bool {
        let fetched = |place: &Place| {
            let sinks = self.files.get(place).into_iter().flat_map(|written| &written.contents);
            sinks.filter_map(|id| self.sinks.get(*id)).any(|sink| sink.taint.and(sink.text.taint()).has(Taint::FETCHED))
        };
        if self.files.is_empty() || fetched(place) {
            return !self.files.is_empty();
        }
        // What was there before is not what came under a name that nothing says.
        let is_new = || self.is_not_there(place);
        place.any_above(|dir, any| !dir.is_root() && (fetched(dir) || fetched(any) && is_new()))
    }
}

/// Whether a file is a program that the system loads, and no script: its first line, which says what runs it, is no
/// text. A NUL alone does not make it one: there are shells that read on behind it.
fn is_binary(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_loaded = || bytes.starts_with(b"\x7fELF") || std::str::from_utf8(bytes).is_err();
    line.contains(&0) && !line.starts_with(b"#!") && is_loaded()
}

/// The name of the interpreter that the first line of a script gives.
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

#[cfg(test)]
mod tests;
