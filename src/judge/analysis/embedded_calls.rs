//! Walks calls in code of other languages as programs with the name `language:callee`.
//!
//! Out of scope: the effects of a call, which pattern files describe. An undescribed call is not an act.

use std::rc::Rc;

use self::words::{arguments, fed, is_worked_out, leave_out_content, leave_out_settings};
use super::act::{Act, Effect, OpaqueReason, Operand, Piece, Source, Taint, UnknownReason, Value, Verb};
use super::analysis_input::AnalysisInput;
use super::code;
use super::command_context::{Context, SpanMap};
use super::documents;
use super::expand::Field;
use super::indirection::downloads::language_of;
use super::paths::NormalPath;
use super::place::Place;
use super::program_run::CommandCall;
use super::progress::WalkProgress;
use super::question::{FileFacts, PathKind};
use super::recursion::{ActiveCall, Callee};
use super::resolve::Lookup;
use super::state::{Build as _, State};
use super::streams::Stream;
use super::walk::{Walker, depth};
use crate::judge::ledger::Ownership;
use crate::judge::rules::languages::last_part;
use crate::judge::rules::model::{ArgumentPlace, EffectSpec, Language, OutputTaint, Rule};
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// Maximum number of imported files that are read.
const MAX_IMPORTS: u32 = 12;

mod words;

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
                match self.language_of_part(&engine) {
                    Some(part) => self.embedded_code(state, context, None, part.name(), &Value::text(code), span),
                    None if self.input.is_shell_name(&engine) => self.text(&mut state.child(&[]), context, &code),
                    None => {}
                }
            }
            return;
        }
        let reader = Language::of(language);
        let operands = act.and_then(|id| self.facts.acts.get(id)).map(|act| &act.operands);
        let text = match (reader, operands) {
            // The words of a redis command are the operands.
            (Some(Language::Redis), Some(operands)) if !operands.is_empty() => {
                let mut all = Value::default();
                for operand in operands {
                    all.push_value(&operand.value);
                    all.push_text(" ");
                }
                all
            }
            // Variables that options set before the program runs.
            (Some(Language::Awk), _) => {
                let flags = act.and_then(|id| self.facts.acts.get(id)).map(|act| act.flags.as_slice());
                let mut all = Value::default();
                for flag in flags.unwrap_or_default().iter().filter(|flag| flag.name == "-v") {
                    let set = flag.value.as_ref().and_then(Value::known);
                    if let Some((name, text)) = set.as_deref().and_then(|set| set.split_once('=')) {
                        all.push_text(&format!("{name}=\"{}\";", text.replace('"', "\\\"")));
                    }
                }
                all.push_value(text);
                all
            }
            _ => text.clone(),
        };
        // Code that is composed by code is either completely known or not analysed.
        let by_call = act.and_then(|id| self.facts.acts.get(id)).is_some_and(|act| act.verb.key().contains(':'));
        let is_sql = reader == Some(Language::Sql);
        let made = by_call && !is_sql && text.pieces().iter().any(is_made);
        let Some(source) = code::Source::of(&text).filter(|_| !made) else {
            // A statement that a program composes belongs to that program.
            let own = is_sql && matches!(context.source, Source::Code(_));
            if !text.pieces().is_empty() && !own {
                self.opaque(OpaqueReason::Code, format!("the {language} code that runs is not known"), span);
            }
            return;
        };
        let Some(language) = reader else { return };
        let home = self
            .expand()
            .home(state)
            .and_then(|home| home.known().map(std::borrow::Cow::into_owned))
            .unwrap_or_default();
        let fetches = |callee: &str| {
            let described = self.input.catalog.program(&verb(language, callee));
            described.is_some_and(|program| program.output == OutputTaint::Fetched)
        };
        let knows = |callee: &str| self.input.knows(language, callee);
        let acts = |callee: &str| self.input.acts(language, callee);
        let file = match &context.source {
            Source::Script(path) => path.as_str(),
            _ => "",
        };
        let world = code::World { home: &home, file, fetches: &fetches, knows: &knows, acts: &acts };
        let read = code::read(language, &source, world);
        if read.cut {
            self.opaque(
                OpaqueReason::Limit,
                format!("too many calls in the {} code to analyse", language.name()),
                span,
            );
        }
        let mut calls = read.calls;
        let given = act.and_then(|id| self.facts.acts.get(id)).map(|act| act.args.as_slice()).unwrap_or_default();
        let leaves =
            leaves_scratch(source.rough()) || given.iter().any(|arg| leaves_scratch(&arg.rough()) || arg.is("-init"));
        if is_sql && !leaves && self.is_scratch(state, act, &home) {
            calls.iter_mut().for_each(|call| call.facts.push(Value::text("--scratch")));
        } else if is_sql && by_call {
            let act = act.and_then(|id| self.facts.acts.get(id));
            let flag = act.and_then(|act| act.flags.iter().find(|flag| flag.name == "--made"));
            let names = flag.and_then(|flag| flag.value.as_ref()?.known().map(std::borrow::Cow::into_owned));
            let names = names.as_deref().map(|names| names.split(',').map(str::to_owned).collect());
            code::spare_own_tables(&mut calls, names.unwrap_or_default(), flag.is_some());
        }
        self.calls(state, context, language, calls, span);
    }

    /// Reports whether a database client opens a database in memory or in the temporary directory.
    fn is_scratch(&self, state: &State, act: Option<usize>, home: &str) -> bool {
        let Some(act) = act.and_then(|id| self.facts.acts.get(id)).filter(|act| act.remote.is_none()) else {
            return false;
        };
        let named = act.flags.iter().find(|flag| flag.name == "--database" && act.verb.key().contains(':'));
        let first = act.operands.first().filter(|_| matches!(act.verb.key(), "sqlite3" | "duckdb"));
        let database = named.and_then(|flag| flag.value.as_ref()).or(first.map(|first| &first.value));
        let Some(value) = database else { return false };
        if value.is(":memory:") || Place::below_temporary(value).is_some() {
            return true;
        }
        // A work tree or a home directory below the temporary directory is not temporary.
        let is_work = |path: &str| {
            let below = |dir: &str| !dir.is_empty() && dir != "/tmp" && path.starts_with(dir);
            state.dir().is_some_and(below) || below(home)
        };
        let own = |path: String| {
            self.progress().is_deleted(&path) || self.is_new(act, &path) || self.input.is_own_file(&path)
        };
        if value.known().and_then(|path| state.path(&path)).is_some_and(own) {
            return true;
        }
        let place = value.spelled().filter(|path| path.rough().starts_with("/tmp/"));
        let place = place.and_then(|path| Place::spelled_at(state.cwd.as_ref(), &path));
        let is_temporary = |path: &str| path.starts_with("/tmp/") && !is_work(path);
        place.filter(|place| is_temporary(place.shown()) && self.progress().behind(state, value).is_none()).is_some_and(
            |place| {
                // A file with a generated name did not exist before.
                let Some(path) = place.text() else { return true };
                let there = self.input.inquiry.path(path);
                // On macOS, `/tmp` is a link to `/private/tmp`.
                let is_here = |canonical: &str| canonical.strip_prefix("/private").unwrap_or(canonical) == path;
                there.is_some_and(|facts| facts.kind == PathKind::Missing || is_here(&facts.canonical))
            },
        )
    }

    /// Reports whether a file did not exist before the command, an earlier act created it, and nothing was moved there.
    fn is_new(&self, act: &Act, path: &str) -> bool {
        let brings = |act: &Act| matches!(act.verb, Verb::Effect(Effect::Move | Effect::Link));
        let acts = &self.facts.acts;
        acts.iter().any(|before| before.span.end <= act.span.start && before.remote.is_none() && names(before, path))
            && self.facts.opaque.is_empty()
            && !acts.iter().any(brings)
            && self.input.inquiry.path(path).is_some_and(|facts| facts.kind == PathKind::Missing && !facts.symlink)
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
        let Some(FileFacts::Text { bytes, .. }) = self.input.inquiry.file(&path) else { return false };
        // Interpreters accept invalid UTF-8 in comments and strings.
        let text = &*String::from_utf8_lossy(bytes);
        let reader = Language::of_scripts(language);
        let parts = documents::parts(language, text);
        if (reader.is_some() || parts.is_some()) && std::str::from_utf8(bytes).is_ok() && text.contains('\0') {
            self.opaque(OpaqueReason::Script, format!("{path} is not text"), span);
        }
        let Some(parts) = parts else {
            return reader.is_some_and(|it| self.embedded_text(state, context, it, &path, text, span));
        };
        let mut read = true;
        for (engine, code) in parts {
            if self.input.is_shell_name(&engine) {
                self.text(&mut state.child(&[]), &self.script_context(context, &path, span), &code);
                continue;
            }
            let reader = self.language_of_part(&engine);
            read &= reader.is_some_and(|it| self.embedded_text(state, context, it, &path, &code, span));
        }
        read
    }

    /// Returns the language of a part of a document, by its name or that of the program that runs it.
    fn language_of_part(&self, engine: &str) -> Option<Language> {
        let by_file = || Language::of(language_of(&format!("part.{engine}"))?);
        let by_program = || Language::of(&self.input.language(engine));
        Language::of(engine).or_else(by_file).or_else(by_program).filter(|language| language.has_scripts())
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
        let home = self
            .expand()
            .home(state)
            .and_then(|home| home.known().map(std::borrow::Cow::into_owned))
            .unwrap_or_default();
        let mut read = code::read(
            language,
            &code::Source::known(text),
            code::World {
                home: &home,
                file: path,
                fetches: &|_| false,
                knows: &|callee: &str| self.input.knows(language, callee),
                acts: &|callee: &str| self.input.acts(language, callee),
            },
        );
        let imported: Vec<String> = read
            .calls
            .iter()
            .filter(|call| is_import(&call.callee))
            .filter_map(|call| call.args.first()?.known_text())
            .collect();
        // Values that a script passes on belong to the project.
        let own = |callee: &str| matches!(callee, "computed" | "function-value" | "import-module" | "run-file");
        for call in &mut read.calls {
            if word_lists::COMMAND_CALLS.contains(&last_part(&call.callee)) || self.input.acts(language, &call.callee) {
                let program = self.input.catalog.program(&verb(language, &call.callee));
                leave_out_settings(language, call, program.map(|program| &*program.chdir).unwrap_or_default());
            } else if self.input.writes_first(language, &call.callee) {
                leave_out_content(call);
            }
        }
        let hidden = |arg: &Value| is_worked_out(arg) && !arg.taint().has(Taint::SECRET);
        let is_said = |call: &code::Call| !own(&call.callee) && !call.args.iter().any(hidden);
        let hands_on = |callee: &str| own(callee) && !is_import(callee);
        let is_lost =
            |call: &code::Call| !is_said(call) && (hands_on(&call.callee) || self.input.moves(language, &call.callee));
        let is_whole = !read.cut && !read.calls.iter().any(is_lost);
        read.calls.retain(is_said);
        let mut context = self.script_context(context, path, span);
        context.called(ActiveCall::of(Callee::File(path.to_owned())));
        self.calls(state, &context, language, read.calls, span);
        for module in imported {
            self.imported_file(state, &context, language, path, &module, span);
        }
        is_whole
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
        let loads = if language == Language::Js { "run-file" } else { "import-module" };
        let callee = verb(language, loads);
        let loads = self.input.catalog.program(&callee).map(|program| program.loads.clone()).unwrap_or_default();
        let Some((dir, _)) = script.rsplit_once('/') else { return };
        let module = if language == Language::Js { module.to_owned() } else { module.replace('.', "/") };
        let ends = loads.iter().flat_map(|load| &load.endings).map(String::as_str);
        for end in std::iter::once("").filter(|_| language == Language::Js).chain(ends) {
            let Some(path) = state.path(&format!("{dir}/{module}{end}")) else { continue };
            if context.is_called(&Callee::File(path.clone()))
                || !matches!(self.input.inquiry.file(&path), Some(FileFacts::Text { .. }))
            {
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

impl AnalysisInput<'_> {
    /// Reports whether the session created the file, and it is unchanged since.
    fn is_own_file(&self, path: &str) -> bool {
        let look = || Some((self.inquiry.path(path)?, self.inquiry.look(path)?, self.inquiry.ledger()?));
        look().is_some_and(|(facts, look, ledger)| !facts.symlink && ledger.owns(path, look) == Some(Ownership::Made))
    }

    /// Reports whether a call with exactly this name runs programs or code, or deletes.
    fn acts(&self, language: Language, callee: &str) -> bool {
        let name = verb(language, callee);
        self.catalog.program(&name).filter(|program| program.names.contains(&name)).is_some_and(|program| {
            let deletes = program.effects.iter().any(|effect| effect.does == Effect::Delete);
            deletes || !program.wraps.is_empty() || program.runs.is_some()
        })
    }

    /// Reports whether a call moves or links files, or runs something that may.
    fn moves(&self, language: Language, callee: &str) -> bool {
        self.catalog.program(&verb(language, callee)).is_some_and(|program| {
            let moves = |effect: &EffectSpec| matches!(effect.does, Effect::Move | Effect::Link);
            program.effects.iter().any(moves) || !program.wraps.is_empty() || program.runs.is_some()
        })
    }

    /// Reports whether the only effect of a call is to write the file of its first argument.
    fn writes_first(&self, language: Language, callee: &str) -> bool {
        self.catalog.program(&verb(language, callee)).is_some_and(|program| {
            let first = |effect: &EffectSpec| effect.does.writes() && effect.to == ArgumentPlace::First;
            !program.effects.is_empty() && program.effects.iter().all(first)
        })
    }

    /// Reports whether a call is described, or named by a rule.
    fn knows(&self, language: Language, callee: &str) -> bool {
        let name = verb(language, callee);
        // A rule for all verbs does not name the calls of a language.
        let of_calls = |rule: &Rule| rule.when.verbs.iter().any(|verb| verb.contains(':'));
        self.catalog.program(&name).is_some() || self.catalog.rules(&name).any(of_calls)
    }
}

impl WalkProgress<'_, '_> {
    /// Reports whether an earlier act deleted the file, so that a later file at the path belongs to the command.
    fn is_deleted(&self, path: &str) -> bool {
        let deletes = |act: &&Act| act.verb == Verb::Effect(Effect::Delete) && act.remote.is_none() && !act.dry_run;
        self.acts.iter().filter(deletes).any(|act| names(act, path))
    }
}

/// Reports whether an operand of an act is this path.
fn names(act: &Act, path: &str) -> bool {
    let named = |operand: &Operand| {
        let named = operand.value.known()?;
        let whole = Place::at(act.cwd.as_ref(), &named)?;
        Some(NormalPath::absolute(whole.text()?)?.rough() == NormalPath::absolute(path)?.rough())
    };
    act.operands.iter().any(|operand| named(operand).unwrap_or_default())
}

/// Reports whether statements open another database than the given one.
fn leaves_scratch(source: &str) -> bool {
    let source = source.to_ascii_lowercase();
    ["attach", ".open", ".restore", ".read", "include"].iter().any(|word| source.contains(word))
}

/// Reports whether a piece is computed by code.
fn is_made(piece: &Piece) -> bool {
    matches!(piece, Piece::Unknown(unknown) if matches!(unknown.why, UnknownReason::Installation | UnknownReason::Other(_)) && unknown.taint == Taint::default())
}

/// Reports whether a call imports a module.
fn is_import(callee: &str) -> bool {
    matches!(callee, "import-module" | "run-file")
}

/// Returns the name under which a call is described.
fn verb(language: Language, callee: &str) -> String {
    format!("{}:{callee}", language.name())
}

#[cfg(test)]
mod tests {
    use crate::judge::analysis::inquiry::Answers;
    use crate::judge::analysis::question::{PathFacts, PathKind, Question, WorldAnswer};
    use crate::judge::analysis::testing::line;
    use crate::judge::judge;
    use crate::judge::policy::Policy;
    use crate::judge::risk::Tier;
    use crate::judge::rules::catalog::Catalog;

    #[test]
    fn a_link_among_temporary_files_is_the_database_that_it_leads_to() {
        let tier = |canonical: &str| {
            let answer = |question: &Question| match question {
                Question::Path(asked) if asked == "/tmp/app.db" => {
                    let (canonical, symlink) = (canonical.to_owned(), asked != canonical);
                    WorldAnswer::Path(PathFacts { kind: PathKind::File, canonical, symlink, bytes: 1 })
                }
                _ => WorldAnswer::Unavailable,
            };
            let invocation = line("sqlite3 /tmp/app.db 'drop table t'");
            judge(&invocation, &Catalog::builtin(), &Policy::default(), &Answers::of(&answer)).risk.tier
        };
        assert_eq!(tier("/tmp/app.db"), Tier::Low);
        assert_eq!(tier("/private/tmp/app.db"), Tier::Low);
        assert_eq!(tier("/srv/tmp/app.db"), Tier::High);
    }
}
