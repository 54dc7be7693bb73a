//! The walk over the tree, which turns every simple command in every body, substitution and branch into acts.
//!
//! It is an abstract interpreter: it follows variables, directories, written files and the data in pipes as far as they
//! are known. Work is limited in steps and depth in levels. If a limit is reached, the facts contain an opaque part;
//! the rest is never assumed to be harmless.
//!
//! Functions of the walk that are large or have one caller are `#[inline(never)]`. Otherwise their locals would be on
//! the stack at each level of nesting, and the deepest nesting has to fit in 256 KiB
//! (`no_nesting_overflows_a_small_stack`).

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::rc::Rc;

use super::act::{Act, Disguise, Effect, Facts, Opaque, OpaqueReason, Operand, Piece, Source as From, Taint, Value};
use super::act_builder;
use super::analysis_input::AnalysisInput;
use super::arguments::DerivedEffect;
use super::command_context::{Context, SpanMap};
use super::expand::Field;
use super::expander::Expansion;
use super::files::{FileModel, FileUpdate};
use super::fuel::cost;
use super::homoglyphs;
use super::inquiry::Inquiry;
use super::lookup::Resolver;
use super::option_names::DashedFiles;
use super::place::Place;
use super::progress::WalkProgress;
use super::resolve::Lookup;
use super::script_lines::Lines;
use super::shells::translate;
use super::state::{Build as _, DefinedFunction, State};
use super::streams::{ProcessSubstitutions, Sink, SinkId, WaitingReader};
use super::walk_limits::Limits;
use crate::judge::invocation::{ChangeKind, FileChange, Invocation, Request, quote};
use crate::judge::rules::catalog::Catalog;
use crate::judge::syntax::tree::{Dialect, ParseError, Script, Span};
use crate::judge::syntax::{self, Source, lines_before};

/// The depth that each kind of nesting adds.
pub(super) mod depth {
    /// A compound command, or a list of statements.
    pub const BODY: u32 = 1;
    /// A command or process substitution, without the list in it.
    pub const SUBSTITUTION: u32 = 3;
    /// A command that another command runs.
    pub const COMMAND: u32 = 3;
    /// A text that is parsed as code, without the list in it.
    pub const TEXT: u32 = 5;
}

/// The detail of the opaque part if no fuel is left.
pub const TOO_LARGE: &str = "too large to analyse";

/// The number of last opaque parts that are compared with a new one to avoid duplicates.
const NEAR: usize = 64;

/// Analyses an invocation.
#[must_use]
pub fn work_out(invocation: &Invocation, catalog: &Catalog, inquiry: &Inquiry<'_>) -> Facts {
    let mut walker = Walker::new(invocation, catalog, inquiry);
    let mut state = State::at(invocation.cwd.to_str().map(Place::of));
    state.zero = Value::text("bash");
    match &invocation.request {
        Request::Argv(argv) => {
            let (context, span) = (Context::default(), argv_span(argv));
            let mut at = 0;
            let fields: Vec<Field> = argv
                .iter()
                .map(|word| {
                    let text = word.to_string_lossy();
                    let length = u32::try_from(quote(&text).len()).unwrap_or(u32::MAX);
                    let field = Field::text(text, Span::new(at, at.saturating_add(length)));
                    at = at.saturating_add(length).saturating_add(1);
                    field
                })
                .collect();
            walker.run(&mut state, &context, fields, Vec::new(), span, Lookup::Programs);
        }
        // By the agent's template, the command only prepares the agent's own files.
        Request::Line(line) if line.envelope.as_deref().is_some_and(|envelope| envelope.is_preparation) => {}
        Request::Line(line) => {
            let mut positional = line.positional.iter().map(|word| Value::text(word.to_string_lossy()));
            state.zero = positional.next().unwrap_or_else(|| {
                Value::text(line.shell.file_name().map_or("bash".into(), |name| name.to_string_lossy()))
            });
            state.positional = Rc::new(positional.collect());
            let context = Context { dialect: line.dialect, ..Context::default() };
            if let Some(displayed) = homoglyphs::displayed(&line.text) {
                let whole = Span::new(0, u32::try_from(line.text.len()).unwrap_or(u32::MAX));
                walker.as_displayed(&state, &context, &displayed, whole);
            }
            let first = walker.facts.acts.len();
            walker.sinks.clear();
            walker.files = FileModel::default();
            walker.waiting.clear();
            if !line.before.is_empty() {
                walker.what_came_before(&mut state, &context, &line.before);
            }
            walker.bytes(&mut state, &context, &line.text);
            if first > 0 {
                walker.facts.drop_displayed(first);
            }
        }
        Request::Files(changes) => walker.changes(&state, changes),
        Request::Tool(call) => walker.tool(&mut state, call),
    }
    walker.finish(&state);
    walker.facts.fetched = walker.progress().downloads();
    walker.facts.programs = walker.resolver.programs;
    walker.facts.expanded = walker.expansion.expanded;
    walker.facts
}

/// Returns the span of the arguments as they are displayed: quoted, and separated by blanks.
fn argv_span(argv: &[std::ffi::OsString]) -> Span {
    let length: usize = argv.iter().map(|word| word.as_bytes().len() + 1).sum();
    Span::new(0, u32::try_from(length.saturating_sub(1)).unwrap_or(u32::MAX))
}

/// The state of the walk that is shared by all shells of the command.
pub(super) struct Walker<'a> {
    pub input: AnalysisInput<'a>,
    pub facts: Facts,
    pub sinks: Vec<Sink>,
    pub files: FileModel,
    pub substituted: ProcessSubstitutions,
    /// The acts that read from descriptors which stay open.
    pub waiting: Vec<WaitingReader>,
    pub expansion: Expansion,
    /// The functions that were called.
    pub called: BTreeSet<String>,
    /// The files of the session that were read for a program: the file and program, whether as root, and the directory.
    pub staged: BTreeSet<(String, bool, String)>,
    pub resolver: Resolver<'a>,
    pub dashed: DashedFiles,
    pub limits: Limits,
    pub lines: Lines,
}

impl<'a> Walker<'a> {
    fn new(invocation: &'a Invocation, catalog: &'a Catalog, inquiry: &'a Inquiry<'a>) -> Self {
        let length = match &invocation.request {
            Request::Line(line) => line.text.len().saturating_add(line.before.len()),
            Request::Argv(argv) => argv.iter().map(|word| word.len()).sum(),
            Request::Files(changes) => changes.len(),
            Request::Tool(call) => call.display().len(),
        };
        inquiry.fuel.add_line(length);
        Self {
            input: AnalysisInput::new(invocation, catalog, inquiry),
            facts: Facts::default(),
            sinks: Vec::new(),
            files: FileModel::default(),
            substituted: ProcessSubstitutions::default(),
            waiting: Vec::new(),
            expansion: Expansion::default(),
            called: BTreeSet::new(),
            staged: BTreeSet::new(),
            resolver: Resolver::default(),
            dashed: DashedFiles::default(),
            limits: Limits::default(),
            lines: Lines::default(),
        }
    }

    /// Returns a view of the command up to the current position.
    pub fn progress(&self) -> WalkProgress<'_, 'a> {
        let Self { input, facts, sinks, files, substituted, .. } = self;
        WalkProgress { input, acts: &facts.acts, sinks, files, pipes: &substituted.pipes }
    }

    /// Stores changes of files.
    #[inline(never)]
    pub fn update_files(&mut self, updates: impl IntoIterator<Item = FileUpdate>) {
        updates.into_iter().for_each(|update| self.files.apply(&mut self.sinks, update));
    }

    /// Walks the command as it is displayed; `whole` is the span of the command.
    fn as_displayed(&mut self, state: &State, context: &Context, displayed: &str, whole: Span) {
        let context = Context { disguise: Some(Disguise::Characters), ..context.perhaps().elsewhere(whole) };
        let opaque = self.facts.opaque.len();
        self.text(&mut self.input.fork(state), &context, displayed);
        // No shell parses this text, so that a syntax error in it has no meaning.
        self.facts.opaque.truncate(opaque);
        self.limits.reached = false;
    }

    /// Adds the effects of a file tool of an agent.
    fn changes(&mut self, state: &State, changes: &[FileChange]) {
        let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
        let mut at: u32 = 0;
        for change in changes {
            let start = at.saturating_add(length(change.kind.word())).saturating_add(1);
            let end = start.saturating_add(length(&quote(&change.path)));
            at = end.saturating_add(2);
            let span = Span::new(start, end);
            if !self.step(span) {
                return;
            }
            let effect = match change.kind {
                ChangeKind::Write => Effect::Write,
                ChangeKind::Edit => Effect::Edit,
                ChangeKind::Delete => Effect::Delete,
                ChangeKind::Move => Effect::Move,
            };
            let on = vec![Operand { value: Value::text(change.path.as_str()), span }];
            self.effect(state, &Context::default(), DerivedEffect::of(effect, on), None, span, Taint::default());
        }
    }

    /// Spends one step. Returns `false` if no steps are left; an opaque part was then added.
    pub fn step(&mut self, span: Span) -> bool {
        let lasts = self.input.spend(cost::STEP);
        if !lasts {
            self.limit(span, TOO_LARGE);
        }
        lasts
    }

    /// Increases the depth. Returns `false` if the limit is reached; an opaque part was then added. After `true` the
    /// caller has to call [`Self::leave`] with the same amount.
    pub fn enter(&mut self, by: u32, span: Span) -> bool {
        let fits = self.limits.enter(by);
        if !fits {
            self.limit(span, "too deeply nested to analyse");
        }
        fits
    }

    /// Decreases the depth.
    pub fn leave(&mut self, by: u32) {
        self.limits.leave(by);
    }

    #[inline(never)]
    pub fn limit(&mut self, span: Span, detail: &str) {
        if !std::mem::replace(&mut self.limits.reached, true) {
            self.opaque(OpaqueReason::Limit, detail, span);
        }
    }

    /// Adds an opaque part. `span` is in the command as given.
    #[inline(never)]
    pub fn opaque(&mut self, why: OpaqueReason, detail: impl Into<String>, span: Span) {
        let opaque = Opaque { why, detail: detail.into(), span };
        // A duplicate comes from a second reading of the same part, soon after the first.
        if !self.facts.opaque.iter().rev().take(NEAR).any(|other| *other == opaque) {
            self.facts.opaque.push(opaque);
        }
    }

    /// Parses and walks a text in this shell.
    pub fn text(&mut self, state: &mut State, context: &Context, text: &str) {
        self.bytes(state, context, text.as_bytes());
    }

    /// Parses and walks bytes in this shell.
    pub fn bytes(&mut self, state: &mut State, context: &Context, text: &[u8]) {
        let translated = context.translation.map(|translation| translate(translation, text));
        let mut text = translated.as_deref().unwrap_or(text);
        while self.reads(context, text.len()) {
            match syntax::parse(text, context.dialect) {
                // A shell executes the lines before the one with the syntax error.
                Err(error) if context.takes_for_no_command(&error) => match lines_before(text, error.begins()) {
                    Some(lines) => text = lines,
                    None => return,
                },
                script => return self.parsed(state, context, script),
            }
        }
    }

    /// Parses and walks a partly known text in this shell.
    #[inline(never)]
    pub fn composed(&mut self, state: &mut State, context: &Context, text: &Value) {
        if !self.reads(context, text.size()) {
            return;
        }
        let mut source = Source::default();
        for piece in text.pieces() {
            match piece {
                Piece::Text(text) => source.push_text(text),
                // A glob was expanded outside, so it stands for names even if it is quoted here.
                hole => source.push_hole(self.expansion.hole(hole)),
            }
        }
        if let Some(translation) = context.translation {
            source = source.translated(|text| translate(translation, text));
        }
        loop {
            match syntax::parse_source(&source, context.dialect) {
                // A shell executes the lines before the one with the syntax error.
                Err(error) if context.takes_for_no_command(&error) => match source.lines_before(error.begins()) {
                    Some(lines) if self.reads(context, lines.size()) => source = lines,
                    _ => return,
                },
                script => return self.parsed(state, context, script),
            }
        }
    }

    /// Charges parsing and walking a text. `false`: there is not enough fuel.
    fn reads(&mut self, context: &Context, bytes: usize) -> bool {
        let lasts = self.input.spend(bytes as u64 / 4);
        if !lasts {
            self.limit(context.spans.map(Span::default()), TOO_LARGE);
        }
        lasts
    }

    fn parsed(&mut self, state: &mut State, context: &Context, script: Result<Script, ParseError>) {
        if !self.enter(depth::TEXT, context.spans.map(Span::default())) {
            return;
        }
        let outer = self.lines.begin();
        match script {
            Ok(script) => self.script(state, context, &script),
            Err(error) => self.unreadable(context, &error),
        }
        self.lines = outer;
        self.leave(depth::TEXT);
    }

    /// Walks the commands that the shell executed before. Their effect on the state remains; their acts are removed and
    /// returned, and opaque parts remain.
    #[inline(never)]
    pub fn what_came_before(&mut self, state: &mut State, context: &Context, text: &[u8]) -> Vec<Act> {
        let (acts, opaque) = (self.facts.acts.len(), self.facts.opaque.len());
        self.bytes(state, &context.elsewhere(Span::default()), text);
        let past = self.facts.acts.split_off(acts);
        self.facts.lines.clear();
        self.files.builder.take();
        let unknown = self.facts.opaque.split_off(opaque);
        let hides = |why: OpaqueReason| matches!(why, OpaqueReason::Limit | OpaqueReason::Syntax);
        self.facts.opaque.extend(unknown.into_iter().filter(|part| hides(part.why)));
        self.sinks.iter_mut().for_each(|sink| sink.writers.clear());
        // The traps were judged when they were set.
        state.traps.clear();
        // The acts of these readers were judged before.
        for waiting in &self.waiting {
            if let Some(sink) = self.sinks.get_mut(waiting.sink) {
                *sink = Sink::default();
            }
        }
        past
    }

    #[inline(never)]
    pub fn unreadable(&mut self, context: &Context, error: &ParseError) {
        let why = if error.kind.is_limit() { OpaqueReason::Limit } else { OpaqueReason::Syntax };
        let span = context.spans.map(Span::new(error.at, error.at.saturating_add(1)));
        self.opaque(why, error.to_string(), span);
    }

    /// Creates a sink for a pipe, a capture or a file.
    pub fn new_sink(&mut self) -> SinkId {
        self.sinks.push(Sink::default());
        self.sinks.len() - 1
    }

    /// Adds an act, and links it to the source of its input and the readers of its output.
    #[inline(never)]
    pub fn emit(&mut self, state: &State, mut act: Act) -> usize {
        let id = self.facts.acts.len();
        self.input.pay(&act);
        act_builder::link(&mut self.facts, &mut self.sinks, state, &act, id);
        self.input.leave_out_what_holds_already(&mut act);
        if let Some(line) = self.lines.line.filter(|_| matches!(act.source, From::Script(_))) {
            self.facts.lines.insert(id, line);
        }
        self.facts.acts.push(act);
        id
    }

    /// Walks functions that were defined but not called, if an opaque part could call them.
    fn finish(&mut self, state: &State) {
        self.end_of_shell(&mut state.fork());
        self.read_what_was_written();
        if !self.input.inquiry.fuel.lasts() {
            self.limit(Span::default(), TOO_LARGE);
        }
        if self.facts.opaque.is_empty() {
            return;
        }
        let uncalled: Vec<Rc<DefinedFunction>> =
            state.functions.values().filter(|function| !self.called.contains(&function.name)).cloned().collect();
        for function in uncalled {
            let mut child = state.fork();
            self.compound(&mut child, &function.context.perhaps(), &function.body);
        }
    }
}

impl Context {
    /// Returns the context of a text that is not part of the command: all its positions are `span`.
    pub fn elsewhere(&self, span: Span) -> Self {
        Self { spans: SpanMap::At(span), ..self.clone() }
    }

    /// Returns the context of a script that the system starts.
    pub fn by_first_line(&self) -> Self {
        Self { by_first_line: true, ..self.clone() }
    }

    /// Returns the context of a text that another shell parses.
    pub fn reading(&self, dialect: Dialect) -> Self {
        Self { dialect, translation: None, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
