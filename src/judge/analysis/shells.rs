//! Shells and other interpreters: the code that they get from arguments, files, here-documents and pipes.

use std::rc::Rc;

use super::act::{Code, Disguise, OpaqueReason, Operand, Piece, Taint, Unknown, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::arguments::{Arg, CodeFrom, CodeSource};
use super::builtins::within;
use super::command_context::{Context, SpanMap};
use super::indirection::archives::is_unread;
use super::place::Place;
use super::program::is_shell;
use super::program_run::ProgramRun;
use super::progress::{WalkProgress, edited_file};
use super::state::{Build as _, State, VariableValue};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::invocation::Request;
use crate::judge::rules::catalog::shell_languages;
use crate::judge::rules::shell_languages::{Grammar, ShellLanguage};
use crate::judge::syntax;
use crate::judge::syntax::structured::{self, Commands};
use crate::judge::syntax::tree::{Dialect, Span};

/// Translates code of a shell to the grammar of bash.
pub(super) fn translate(shell: &ShellLanguage, code: &[u8]) -> Vec<u8> {
    match shell.grammar {
        Grammar::Fish => syntax::fish::as_bash(code),
        Grammar::Structured => {
            let commands = Commands {
                computing: &shell.computing,
                own: &shell.own,
                unreadable: &shell.unreadable,
                prefix: &shell.prefix,
                external: &shell.external,
                redirects: shell.redirects,
            };
            structured::as_bash(code, &commands)
        }
        Grammar::Python => structured::python_shell_as_bash(code, &shell.statements, &shell.prefix),
    }
}

impl Walker<'_> {
    /// Walks the code of an interpreter.
    #[inline(never)]
    pub fn code_source(
        &mut self,
        state: &State,
        context: &Context,
        act: usize,
        ran: ProgramRun<'_>,
        source: &CodeSource,
    ) {
        let ProgramRun { name, env, span, .. } = ran;
        if !is_shell(&source.language) {
            self.other_code(state, context, act, source, span);
            if let CodeFrom::Script(file) = &source.from
                && let Some(path) = file.value.known()
                && let Some(script) = path.rsplit('/').next()
            {
                let child = state.child(env);
                let word = |operand: &Operand| Arg::word(operand.value.clone(), operand.span);
                let words: Vec<Arg> = source.positional.iter().map(word).collect();
                self.stands_for(&child, context, name, script, &words, span);
            }
            return;
        }
        let mut child = state.child(env);
        let mut inside = within(context, name).read_by(name, &source.language);
        self.set_options(&mut child, &inside, act);
        self.startup(&mut child, &inside, span);
        let mut positional = source.positional.iter().map(|operand| operand.value.clone());
        match &source.from {
            CodeFrom::Inline(value, at) => {
                child.zero = positional.next().unwrap_or_else(|| Value::text(name));
                child.positional = Rc::new(positional.collect());
                let is_translated = inside.translation.is_some();
                inside.spans = if is_translated { SpanMap::At(*at) } else { self.input.spans_of(context, *at, value) };
                self.read_value(&mut child, &inside, value, *at);
            }
            CodeFrom::Script(file) => {
                child.zero = file.value.clone();
                child.positional = Rc::new(positional.collect());
                self.script_file(&mut child, &inside, file, span, Some(act));
            }
            CodeFrom::Stdin => {
                child.zero = Value::text(name);
                child.positional = Rc::new(positional.collect());
                self.stdin_code(&mut child, &inside, span);
            }
        }
        self.end_of_shell(&mut child);
    }

    /// Sets the options of a shell that its command line gives: `bash -xc code`, `zsh -o option`, `zsh --option`.
    #[inline(never)]
    fn set_options(&self, child: &mut State, inside: &Context, act: usize) {
        let Some(act) = self.facts.acts.get(act) else { return };
        child.traces = act.flags.iter().any(|flag| matches!(flag.name.as_str(), "-x" | "-v"));
        if inside.dialect == Dialect::Zsh {
            let options = act.args.iter().map_while(Value::known);
            options.for_each(|option| child.set_glob_option(option.trim_start_matches('-')));
        }
    }

    /// Defines the functions that the environment contains.
    #[inline(never)]
    fn imported_functions(&mut self, state: &mut State, context: &Context) {
        let named = |name: &str| Some(name.strip_prefix("BASH_FUNC_")?.trim_end_matches("%%").to_owned());
        let functions: Vec<String> = state
            .names()
            .filter_map(|variable| {
                let name = named(variable)?;
                let Some([VariableValue::Scalar(body)]) =
                    state.variable(variable).map(|variable| variable.values.as_slice())
                else {
                    return None;
                };
                Some(format!("{name} {}", body.known_text().filter(|body| body.starts_with("() {"))?))
            })
            .collect();
        for definition in functions {
            self.text(state, context, &definition);
        }
    }

    /// Walks the start-up file of a shell that the command names.
    #[inline(never)]
    pub fn startup(&mut self, state: &mut State, context: &Context, span: Span) {
        if context.dialect == Dialect::Bash {
            self.imported_functions(state, context);
        }
        let name = if context.dialect == Dialect::Sh { "ENV" } else { "BASH_ENV" };
        let file = state.variable(name).and_then(|variable| match variable.values.first() {
            Some(VariableValue::Scalar(value)) => Some(value.clone()),
            _ => None,
        });
        if let Some(value) = file.filter(|value| !value.is_empty()) {
            // Its value is expanded before it names a file.
            if name == "ENV"
                && let Some(text) = value.known_text().filter(|text| text.contains(['$', '`']))
            {
                self.walk_embedded(state, &context.elsewhere(span), &text);
                return;
            }
            self.script_file(state, context, &Operand { value, span }, span, None);
        }
    }

    /// Walks the commands that a shell reads from standard input.
    #[inline(never)]
    pub fn stdin_code(&mut self, state: &mut State, context: &Context, span: Span) {
        let stdin = std::mem::replace(&mut state.streams.stdin, Stream::Nothing);
        match stdin {
            // The user types the commands.
            Stream::Inherited => state.streams.stdin = Stream::Inherited,
            Stream::Nothing => {}
            Stream::File(operand, _) => self.script_file(state, context, &operand, span, None),
            other => {
                if let Some(files) =
                    self.progress().files_that_come_in(&other).filter(|files| self.progress().are_read(files))
                {
                    for path in files {
                        let file = Operand { value: Value::text(path), span };
                        self.script_file(state, context, &file, span, None);
                    }
                    return;
                }
                state.streams.stdin = other;
                let (text, taint, decoded) = self.progress().stdin_of(state);
                state.streams.stdin = Stream::Nothing;
                let fetched = taint.and(text.taint());
                let mut context = context.elsewhere(span);
                if decoded {
                    context.disguise = Some(Disguise::Encoding);
                }
                let of_stranger = |taint: Taint| taint.has(Taint::FETCHED) || taint.has(Taint::DECODED);
                if let Some((file, lines)) = edited_file(&text) {
                    self.file_at(state, &context, &file, span, None);
                    return self.read_value(state, &context, &lines, span);
                }
                // Otherwise walking the code adds an opaque part for this.
                if text.is_dynamic() && of_stranger(fetched) && !of_stranger(text.taint()) {
                    self.opaque(context.fetched_code(), "the command runs code that it downloads or decodes", span);
                }
                self.read_value(state, &context, &text, span);
            }
        }
    }

    #[inline(never)]
    fn other_code(&mut self, state: &State, context: &Context, act: usize, source: &CodeSource, span: Span) {
        let text = match &source.from {
            CodeFrom::Inline(value, _) => match self.progress().windows_code(state, act, source) {
                Some(text) => text,
                None => value.clone(),
            },
            CodeFrom::Script(file) => {
                let pipe = file
                    .value
                    .pieces()
                    .iter()
                    .any(|piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Pipe, .. })));
                if pipe {
                    let mut text = Value::default();
                    for sink in self.substituted.pipes.iter().filter_map(|id| self.sinks.get(*id)) {
                        text.push_value(&sink.text);
                    }
                    text
                } else {
                    let written = state.file(&file.value).and_then(|key| self.files.written.get(&key));
                    let sink = written.and_then(|written| self.sinks.get(*written.contents.last()?));
                    if let Some(files) = sink.and_then(|sink| sink.files()).map(<[String]>::to_vec)
                        && self.progress().are_read(&files)
                    {
                        for path in files {
                            let file = Operand { value: Value::text(path), span };
                            self.embedded_file(state, context, &source.language, &file, span);
                        }
                        return;
                    }
                    if self.walks_written(state, context, act, &source.language, &file.value, span) {
                        return;
                    }
                    match self.progress().content_of(state, &file.value) {
                        Some(text) => text,
                        None => {
                            let read = self.code_file(state, context, &source.language, file, span);
                            self.facts.acts.get_mut(act).into_iter().for_each(|act| act.read |= read);
                            return;
                        }
                    }
                }
            }
            CodeFrom::Stdin => match &state.streams.stdin {
                Stream::Inherited | Stream::Nothing => return,
                Stream::File(operand, _) => {
                    let file = Operand::clone(operand);
                    if self.walks_written(state, context, act, &source.language, &file.value, span) {
                        return;
                    }
                    if self.progress().content_of(state, &file.value).is_none() {
                        self.code_file(state, context, &source.language, &file, span);
                        return;
                    }
                    self.progress().stdin_of(state).0
                }
                stream if let Some(files) = self.progress().files_that_come_in(stream) => {
                    for path in files {
                        let file = Operand { value: Value::text(path), span };
                        self.code_file(state, context, &source.language, &file, span);
                    }
                    return;
                }
                _ => self.progress().stdin_of(state).0,
            },
        };
        self.code_text(state, context, act, &source.language, text, span);
    }

    /// Walks code that the command contains or wrote. `act` is that of the interpreter.
    fn code_text(&mut self, state: &State, context: &Context, act: usize, language: &str, text: Value, span: Span) {
        if let Some((file, lines)) = edited_file(&text) {
            self.existing_code(state, context, language, &file, span);
            return self.code_text(state, context, act, language, lines, span);
        }
        let taint = text.taint();
        if is_unread(&text) && !taint.has(Taint::FETCHED) {
            self.unread_code(language, "it comes out of an archive", span);
            return;
        }
        if taint.has(Taint::FETCHED) || taint.has(Taint::DECODED) {
            let detail = format!("the command runs {} code that it downloads or decodes", language);
            self.opaque(context.fetched_code(), detail, span);
        }
        self.embedded_code(state, context, Some(act), language, &text, span);
        self.add_code(Some(act), language, text);
    }

    /// Walks the contents of a file that the command wrote, copied or changed. Returns whether it did. `act` is that of the
    /// interpreter.
    fn walks_written(
        &mut self,
        state: &State,
        context: &Context,
        act: usize,
        language: &str,
        file: &Value,
        span: Span,
    ) -> bool {
        let Some(texts) = self.written_code(state, context, language, file, span) else { return false };
        for text in texts {
            self.code_text(state, context, act, language, text, span);
        }
        true
    }

    /// Walks the existing contents of a file that the command wrote, copied or changed, and returns the texts that it
    /// wrote; `None` if it did not.
    pub fn written_code(
        &mut self,
        state: &State,
        context: &Context,
        language: &str,
        file: &Value,
        span: Span,
    ) -> Option<Vec<Value>> {
        let (existing, sinks) = self.progress().possible_contents(state, file)?;
        for file in existing {
            self.existing_code(state, context, language, &file, span);
        }
        Some(sinks.into_iter().map(|sink| sink.text).collect())
    }

    /// Walks code in a file that the command did not write. Returns whether everything that it moves or links was
    /// analysed.
    #[inline(never)]
    pub fn code_file(&mut self, state: &State, context: &Context, language: &str, file: &Operand, span: Span) -> bool {
        let place = file.value.known().and_then(|path| state.place(&path));
        let is_unsaid = |piece: &Piece| match piece {
            Piece::Unknown(unknown) => {
                !matches!(unknown.why, UnknownReason::Found(_) | UnknownReason::Temporary { .. })
            }
            Piece::Text(_) | Piece::Glob(_) => false,
        };
        if !file.value.pieces().is_empty() && file.value.pieces().iter().all(is_unsaid) {
            self.unread_code(language, "its file is only known when it runs", span);
        }
        if let Some(place) = &place {
            if self.progress().is_download(place) {
                let detail = format!("the command runs {language} code that it downloads");
                self.opaque(context.fetched_code(), detail, span);
                return false;
            }
            if self.progress().is_unpacked(place) {
                self.unread_code(language, "it comes out of an archive", span);
            }
            for origin in self.progress().origins(place) {
                let file = self.progress().existing(origin);
                self.existing_code(state, context, language, &file, span);
            }
        }
        self.embedded_file(state, context, language, file, span)
    }

    /// Adds an opaque part for code that cannot be read, except for database statements in a file.
    fn unread_code(&mut self, language: &str, why: &str, span: Span) {
        if !matches!(language, "sql" | "redis" | "mongo") {
            let detail = format!("the {language} code that runs cannot be read: {why}");
            self.opaque(OpaqueReason::Script, detail, span);
        }
    }

    #[inline(never)]
    pub fn add_code(&mut self, act: Option<usize>, language: &str, text: Value) {
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

impl AnalysisInput<'_> {
    /// Returns how positions in a text correspond to the command, if the command contains the text literally.
    #[inline(never)]
    pub fn spans_of(&self, context: &Context, span: Span, text: &Value) -> SpanMap {
        let at = SpanMap::At(span);
        let (Request::Line(line), Some(text), SpanMap::Same | SpanMap::Shifted(_)) =
            (&self.invocation.request, text.known(), context.spans)
        else {
            return at;
        };
        let written = line.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        let inside = |quote: u8| {
            written.strip_prefix(&[quote]).and_then(|rest| rest.strip_suffix(&[quote])) == Some(text.as_bytes())
        };
        if inside(b'\'') || inside(b'"') {
            return SpanMap::Shifted(span.start + 1);
        }
        if written == text.as_bytes() { SpanMap::Shifted(span.start) } else { at }
    }

    pub fn is_shell_name(&self, name: &str) -> bool {
        is_shell(&self.language(name))
    }

    /// Returns the language of an interpreter, by its description.
    pub fn language(&self, name: &str) -> String {
        match self.catalog.program(name).and_then(|program| program.runs.as_ref()) {
            Some(runs) => runs.language.clone(),
            None => name.to_owned(),
        }
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the files that are the standard input; `None` if it is something else, or they cannot be read.
    pub fn files_on_stdin(&self, state: &State) -> Option<Vec<Value>> {
        if let Stream::File(operand, _) = &state.streams.stdin {
            return Some(vec![operand.value.clone()]);
        }
        let files = self.files_that_come_in(&state.streams.stdin).filter(|files| self.are_read(files))?;
        Some(files.into_iter().map(Value::text).collect())
    }

    /// Returns the existing files whose content is the input, in order.
    fn files_that_come_in(&self, stream: &Stream) -> Option<Vec<String>> {
        let Stream::Sink(id, _) = stream else { return None };
        let files = self.sinks.get(*id)?.files()?;
        files.iter().all(|path| !self.files.written.contains_key(&Place::of(path.as_str()))).then(|| files.to_vec())
    }
}

/// Returns the shell whose grammar a program with this name uses.
fn dialect(name: &str, language: &str) -> Dialect {
    match (name, language) {
        (_, "zsh") | ("zsh" | "rzsh", _) => Dialect::Zsh,
        ("sh" | "dash" | "ash", _) => Dialect::Sh,
        _ => Dialect::Bash,
    }
}

impl Context {
    /// Returns the context of a text that a program with this name parses, in this language.
    pub fn read_by(&self, name: &str, language: &str) -> Self {
        Self { dialect: dialect(name, language), translation: shell_languages().of(language), ..self.clone() }
    }

    /// Returns the position of a construct in the command as given.
    pub fn spans_at(&self, span: Span) -> Span {
        match self.spans {
            SpanMap::At(at) => at,
            _ => span,
        }
    }
}
