//! Walks calls in code of other languages as programs with the name `language:callee`.
//!
//! Out of scope: finding the calls ([`super::embedded_source`]), and the effects of a call, which pattern files
//! describe. An undescribed call is not an act.

use std::rc::Rc;

use self::words::{arguments, fed};
use super::act::{OpaqueReason, Operand, Source, Value};
use super::code;
use super::command_context::{Context, SpanMap};
use super::documents;
use super::embedded_source::{CodeOwner, CodeText, ScriptCalls, verb};
use super::expand::Field;
use super::files::ExistingText;
use super::place::Place;
use super::program_run::CommandCall;
use super::question::FileFacts;
use super::recursion::{ActiveCall, Callee};
use super::resolve::Lookup;
use super::state::{Build as _, State};
use super::streams::Stream;
use super::walk::{Walker, depth};
use crate::judge::rules::model::Language;
use crate::judge::syntax::tree::Span;

/// Maximum number of imported files that are read.
const MAX_IMPORTS: u32 = 12;

pub(super) mod words;

impl Walker<'_> {
    /// Parses code and walks its described calls.
    #[inline(never)]
    pub fn embedded_code(
        &mut self,
        state: &State,
        context: &Context,
        act: Option<usize>,
        language: &str,
        text: &Value,
        span: Span,
    ) {
        if let Some(parts) = text.known().and_then(|text| documents::parts(language, &text)) {
            for (engine, code) in parts {
                match self.input.language_of_part(&engine) {
                    Some(part) => self.embedded_code(state, context, None, part.name(), &Value::text(code), span),
                    None if self.input.is_shell_name(&engine) => self.text(&mut state.child(&[]), context, &code),
                    None => {}
                }
            }
            return;
        }
        let home = self.home_text(state);
        let act = act.and_then(|id| self.facts.acts.get(id));
        let owner = CodeOwner { act, home: &home, all_known: self.facts.opaque.is_empty() };
        match self.progress().calls_in_text(state, context, owner, language, text) {
            CodeText::Calls { language, calls, cut } => {
                if cut {
                    let detail = format!("too many calls in the {} code to analyse", language.name());
                    self.opaque(OpaqueReason::Limit, detail, span);
                }
                self.calls(state, context, language, calls, span);
            }
            CodeText::Unknown => {
                self.opaque(OpaqueReason::Code, format!("the {language} code that runs is not known"), span);
            }
            CodeText::Nothing => {}
        }
    }

    /// Walks an existing script in another language: the calls with literal arguments. Computed arguments are ignored.
    /// Returns whether everything that it moves, links or runs was analysed.
    #[inline(never)]
    pub fn embedded_file(
        &mut self,
        state: &State,
        context: &Context,
        language: &str,
        file: &Operand,
        span: Span,
    ) -> bool {
        let Some(path) = file.value.known().and_then(|path| state.path(&path)) else { return false };
        let file = self.progress().existing(Place::of(path));
        self.existing_code(state, context, language, &file, span)
    }

    /// Walks a script like [`Self::embedded_file`], with the changes by the command.
    #[inline(never)]
    pub fn existing_code(
        &mut self,
        state: &State,
        context: &Context,
        language: &str,
        file: &ExistingText,
        span: Span,
    ) -> bool {
        let Some(path) = file.place.text() else { return false };
        let Some(FileFacts::Text { bytes, .. }) = self.input.inquiry.file(path) else { return false };
        let Some(text) = self.after_changes(file, bytes, span, |text| file.changed(text)) else { return false };
        let text = &*text;
        let reader = Language::of_scripts(language);
        let parts = documents::parts(language, text);
        if (reader.is_some() || parts.is_some()) && std::str::from_utf8(bytes).is_ok() && text.contains('\0') {
            self.opaque(OpaqueReason::Script, format!("{path} is not text"), span);
        }
        let Some(parts) = parts else {
            return reader.is_some_and(|it| self.embedded_text(state, context, it, path, text, span));
        };
        let mut read = true;
        for (engine, code) in parts {
            if self.input.is_shell_name(&engine) {
                self.text(&mut state.child(&[]), &self.script_context(context, path, span), &code);
                continue;
            }
            let reader = self.input.language_of_part(&engine);
            read &= reader.is_some_and(|it| self.embedded_text(state, context, it, path, &code, span));
        }
        read
    }

    /// Walks the text of such a script, or of a part of it.
    pub fn embedded_text(
        &mut self,
        state: &State,
        context: &Context,
        language: Language,
        path: &str,
        text: &str,
        span: Span,
    ) -> bool {
        let home = self.home_text(state);
        let ScriptCalls { calls, imports, is_whole } = self.input.calls_in_script(&home, language, path, text);
        let mut context = self.script_context(context, path, span);
        context.called(ActiveCall::of(Callee::File(path.to_owned())));
        self.calls(state, &context, language, calls, span);
        for module in imports {
            self.imported_file(state, &context, language, path, &module, span);
        }
        is_whole
    }

    /// Returns the home directory; empty if it is unknown.
    pub fn home_text(&mut self, state: &State) -> String {
        self.expand().home(state).and_then(|home| home.known_text()).unwrap_or_default()
    }

    /// Walks a module that a script imports, if it is in the directory of the script and changed in git.
    fn imported_file(
        &mut self,
        state: &State,
        context: &Context,
        language: Language,
        script: &str,
        module: &str,
        span: Span,
    ) {
        for path in self.input.paths_of_module(state, language, script, module) {
            let is_there = matches!(self.input.inquiry.file(&path), Some(FileFacts::Text { .. }));
            if context.is_called(&Callee::File(path.clone())) || !is_there {
                continue;
            }
            if self.input.is_changed(&path) && self.limits.takes_script(MAX_IMPORTS) {
                self.embedded_file(state, context, language.name(), &Operand { value: Value::text(path), span }, span);
            }
            return;
        }
    }

    fn calls(&mut self, state: &State, context: &Context, language: Language, calls: Vec<code::Call>, span: Span) {
        if !self.enter(depth::TEXT, span) {
            return;
        }
        let mut here = state.child(&[]);
        for call in calls {
            // Later paths are relative to the new directory.
            if call.callee.rsplit('.').next() == Some("chdir") {
                call.args.first().into_iter().for_each(|dir| here.enter(dir));
                continue;
            }
            if !self.input.knows(language, &call.callee) {
                continue;
            }
            let name = verb(language, &call.callee);
            if !self.step(span) {
                break;
            }
            let inside = Context {
                source: Source::Code(language.name().to_owned()),
                spans: SpanMap::At(span),
                ..context.clone()
            };
            // A call that is equivalent to a command is walked as that command.
            let command = self.input.catalog.program(&name).filter(|program| !program.command.is_empty());
            if let Some(words) = command.map(|program| code::words_of(&program.command, &call)) {
                let field = |word: code::CallWord| Field { operand: word.operand, ..Field::word(word.value, span) };
                let fields = words.into_iter().map(field).collect();
                self.run(&mut here.child(&[]), &inside, fields, Vec::new(), span, Lookup::Programs);
                continue;
            }
            let fed = fed(language, &call);
            let args = arguments(language, call, span);
            let mut child = here.child(&[]);
            if let Some(fed) = fed {
                child.streams.stdin = Stream::Text(Rc::new(fed));
            }
            let called = CommandCall { name: &name, path: None, args: &args, env: &[], span, disguise: None };
            self.program(&mut child, &inside, &called, false);
        }
        self.leave(depth::TEXT);
    }
}
