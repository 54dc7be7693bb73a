//! The calls in code of other languages, in a command or in a script.
//!
//! Out of scope: walking the calls, and their effects, which pattern files describe.

use super::act::{Act, Effect, Operand, Piece, Source, Taint, UnknownReason, Value, Verb};
use super::analysis_input::AnalysisInput;
use super::code;
use super::command_context::Context;
use super::embedded_calls::words::{is_worked_out, leave_out_content, leave_out_settings};
use super::indirection::downloads::language_of;
use super::paths::NormalPath;
use super::place::Place;
use super::progress::WalkProgress;
use super::question::PathKind;
use super::state::{Build as _, State};
use crate::judge::ledger::Ownership;
use crate::judge::rules::languages::last_part;
use crate::judge::rules::model::{ArgumentPlace, EffectSpec, Language, OutputTaint, Rule};
use crate::judge::rules::word_lists;

/// The act that runs code, and what is known about the command.
#[derive(Clone, Copy)]
pub(super) struct CodeOwner<'a> {
    pub act: Option<&'a Act>,
    /// The home directory; empty if it is unknown.
    pub home: &'a str,
    /// Whether no part of the command is opaque so far.
    pub all_known: bool,
}

/// The code that a command contains.
pub(super) enum CodeText {
    /// The described calls in it; `cut`: there are more of them than are read.
    Calls { language: Language, calls: Vec<code::Call>, cut: bool },
    /// The text is not known.
    Unknown,
    /// There is nothing to read, or nothing of its own.
    Nothing,
}

/// The calls in a script.
pub(super) struct ScriptCalls {
    /// Those with literal arguments.
    pub calls: Vec<code::Call>,
    /// The names of modules that it imports.
    pub imports: Vec<String>,
    /// Whether everything that it moves, links or runs is among the calls.
    pub is_whole: bool,
}

/// Returns code together with the words of the act that are part of it.
fn with_words(language: Option<Language>, act: Option<&Act>, text: &Value) -> Value {
    let mut all = Value::default();
    match (language, act) {
        // The words of a redis command are the operands.
        (Some(Language::Redis), Some(act)) if !act.operands.is_empty() => {
            for operand in &act.operands {
                all.push_value(&operand.value);
                all.push_text(" ");
            }
            return all;
        }
        // Variables that options set before the program runs.
        (Some(Language::Awk), Some(act)) => {
            for flag in act.flags.iter().filter(|flag| flag.name == "-v") {
                let set = flag.value.as_ref().and_then(Value::known);
                if let Some((name, text)) = set.as_deref().and_then(|set| set.split_once('=')) {
                    all.push_text(&format!("{name}=\"{}\";", text.replace('"', "\\\"")));
                }
            }
        }
        _ => {}
    }
    all.push_value(text);
    all
}

impl AnalysisInput<'_> {
    /// Returns the language of a part of a document, by its name or that of the program that runs it.
    pub(super) fn language_of_part(&self, engine: &str) -> Option<Language> {
        let by_file = || Language::of(language_of(&format!("part.{engine}"))?);
        let by_program = || Language::of(&self.language(engine));
        Language::of(engine).or_else(by_file).or_else(by_program).filter(|language| language.has_scripts())
    }

    /// Returns the calls with literal arguments in a script, and the modules that it imports.
    pub(super) fn calls_in_script(&self, home: &str, language: Language, path: &str, text: &str) -> ScriptCalls {
        let mut read = code::read(
            language,
            &code::Source::known(text),
            code::World {
                home,
                file: path,
                fetches: &|_| false,
                knows: &|callee| self.knows(language, callee),
                acts: &|callee| self.acts(language, callee),
                spend: &|units| self.spend(units),
            },
        );
        let imports = read.calls.iter().filter(|call| is_import(&call.callee));
        let imports = imports.filter_map(|call| call.args.first()?.known_text()).collect();
        // Values that a script passes on belong to the project.
        let own = |callee: &str| matches!(callee, "computed" | "function-value" | "import-module" | "run-file");
        for call in &mut read.calls {
            if word_lists::COMMAND_CALLS.contains(&last_part(&call.callee)) || self.acts(language, &call.callee) {
                let program = self.catalog.program(&verb(language, &call.callee));
                leave_out_settings(language, call, program.map(|program| &*program.chdir).unwrap_or_default());
            } else if self.writes_first(language, &call.callee) {
                leave_out_content(call);
            }
        }
        let hidden = |arg: &Value| is_worked_out(arg) && !arg.taint().has(Taint::SECRET);
        let is_said = |call: &code::Call| !own(&call.callee) && !call.args.iter().any(hidden);
        let hands_on = |callee: &str| own(callee) && !is_import(callee);
        let is_lost =
            |call: &code::Call| !is_said(call) && (hands_on(&call.callee) || self.moves(language, &call.callee));
        let is_whole = !read.cut && !read.calls.iter().any(is_lost);
        read.calls.retain(is_said);
        ScriptCalls { calls: read.calls, imports, is_whole }
    }

    /// Returns the possible paths of a module that a script imports from its own directory.
    pub(super) fn paths_of_module(&self, state: &State, language: Language, script: &str, module: &str) -> Vec<String> {
        let is_path = language == Language::Js;
        let callee = verb(language, if is_path { "run-file" } else { "import-module" });
        let loads = self.catalog.program(&callee).map(|program| program.loads.as_slice()).unwrap_or_default();
        let Some((dir, _)) = script.rsplit_once('/') else { return Vec::new() };
        let module = if is_path { module.to_owned() } else { module.replace('.', "/") };
        let ends = loads.iter().flat_map(|load| &load.endings).map(String::as_str);
        let ends = std::iter::once("").filter(|_| is_path).chain(ends);
        ends.filter_map(|end| state.path(&format!("{dir}/{module}{end}"))).collect()
    }

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
    pub(super) fn knows(&self, language: Language, callee: &str) -> bool {
        let name = verb(language, callee);
        // A rule for all verbs does not name the calls of a language.
        let of_calls = |rule: &Rule| rule.when.verbs.iter().any(|verb| verb.contains(':'));
        self.catalog.program(&name).is_some() || self.catalog.rules(&name).any(of_calls)
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the calls in code that a command contains.
    pub(super) fn calls_in_text(
        &self,
        state: &State,
        context: &Context,
        owner: CodeOwner<'_>,
        language: &str,
        text: &Value,
    ) -> CodeText {
        let CodeOwner { act, home, .. } = owner;
        let reader = Language::of(language);
        let text = &with_words(reader, act, text);
        // Code that is composed by code is either completely known or not analysed.
        let by_call = act.is_some_and(|act| act.verb.key().contains(':'));
        let is_sql = reader == Some(Language::Sql);
        let made = by_call && !is_sql && text.pieces().iter().any(is_made);
        let Some(source) = code::Source::of(text).filter(|_| !made) else {
            // A statement that a program composes belongs to that program.
            let own = is_sql && matches!(context.source, Source::Code(_));
            return if text.pieces().is_empty() || own { CodeText::Nothing } else { CodeText::Unknown };
        };
        let Some(language) = reader else { return CodeText::Nothing };
        let file = match &context.source {
            Source::Script(path) => path.as_str(),
            _ => "",
        };
        let world = code::World {
            home,
            file,
            fetches: &|callee| {
                let described = self.input.catalog.program(&verb(language, callee));
                described.is_some_and(|program| program.output == OutputTaint::Fetched)
            },
            knows: &|callee| self.input.knows(language, callee),
            acts: &|callee| self.input.acts(language, callee),
            spend: &|units| self.input.spend(units),
        };
        let read = code::read(language, &source, world);
        if read.unknown {
            return CodeText::Unknown;
        }
        let (mut calls, cut) = (read.calls, read.cut);
        let given = act.map(|act| act.args.as_slice()).unwrap_or_default();
        let leaves =
            leaves_scratch(source.rough()) || given.iter().any(|arg| leaves_scratch(&arg.rough()) || arg.is("-init"));
        if is_sql && !leaves && self.is_scratch(state, owner) {
            calls.iter_mut().for_each(|call| call.facts.push(Value::text("--scratch")));
        } else if is_sql && by_call {
            let flag = act.and_then(|act| act.flags.iter().find(|flag| flag.name == "--made"));
            let names = flag.and_then(|flag| flag.value.as_ref()?.known_text());
            let names = names.map(|names| names.split(',').map(str::to_owned).collect());
            code::spare_own_tables(&mut calls, names.unwrap_or_default(), flag.is_some());
        }
        CodeText::Calls { language, calls, cut }
    }

    /// Reports whether a database client opens a database in memory or in the temporary directory.
    fn is_scratch(&self, state: &State, owner: CodeOwner<'_>) -> bool {
        let home = owner.home;
        let Some(act) = owner.act.filter(|act| act.remote.is_none()) else { return false };
        let named = act.flags.iter().find(|flag| flag.name == "--database" && act.verb.key().contains(':'));
        let first = act.operands.first().filter(|_| matches!(act.verb.key(), "sqlite3" | "duckdb"));
        let database = named.and_then(|flag| flag.value.as_ref()).or(first.map(|first| &first.value));
        let Some(value) = database else { return false };
        if value.is(":memory:") || Place::below_temporary(value).is_some() {
            return true;
        }
        // A work tree or a home directory below the temporary directory is not temporary.
        let is_work = |path: &str| {
            let place = Place::of(path);
            let below = |dir: &str| !dir.is_empty() && dir != "/tmp" && place.below(&Place::of(dir)).is_some();
            state.dir().is_some_and(below) || below(home)
        };
        let own = |path: String| {
            self.is_deleted(&path) || owner.all_known && self.is_new(act, &path) || self.input.is_own_file(&path)
        };
        if value.known().and_then(|path| state.path(&path)).is_some_and(own) {
            return true;
        }
        let place = value.spelled().filter(|path| path.rough().starts_with("/tmp/"));
        let place = place.and_then(|path| Place::spelled_at(state.cwd.as_ref(), &path));
        let is_temporary = |path: &str| path.starts_with("/tmp/") && !is_work(path);
        place.filter(|place| is_temporary(place.shown()) && self.behind(state, value).is_none()).is_some_and(|place| {
            // A file with a generated name did not exist before.
            let Some(path) = place.text() else { return true };
            let there = self.input.inquiry.path(path);
            // On macOS, `/tmp` is a link to `/private/tmp`.
            let is_here = |canonical: &str| canonical.strip_prefix("/private").unwrap_or(canonical) == path;
            there.is_some_and(|facts| facts.kind == PathKind::Missing || is_here(&facts.canonical))
        })
    }

    /// Reports whether a file did not exist before the command, an earlier act created it, and nothing was moved there.
    fn is_new(&self, act: &Act, path: &str) -> bool {
        let brings = |act: &Act| matches!(act.verb, Verb::Effect(Effect::Move | Effect::Link));
        let acts = self.acts;
        acts.iter().any(|before| before.span.end <= act.span.start && before.remote.is_none() && names(before, path))
            && !acts.iter().any(brings)
            && self.input.inquiry.path(path).is_some_and(|facts| facts.kind == PathKind::Missing && !facts.symlink)
    }

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
pub(super) fn verb(language: Language, callee: &str) -> String {
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
