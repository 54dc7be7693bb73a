//! Simple commands: assignments, words, redirections, and the meaning of the command word.

use super::act::{Disguise, OpaqueReason, Piece, UnknownReason, Value};
use super::command_context::Context;
use super::expand::Field;
use super::fuel::cost;
use super::function::suffix_alias;
use super::lookup::ProgramLocation;
use super::program_run::CommandCall;
use super::progress::WalkProgress;
use super::recursion::Callee;
use super::resolve::{self, Lookup, Resolved};
use super::state::State;
use super::walk::{Walker, depth};
use crate::judge::effect::Effect;
use crate::judge::syntax::tree::{Dialect, Part, Simple, Span, Word};

/// Maximum number of words that are analysed of a command for which the fuel is not sufficient.
const MOST_LOOKED_AT: usize = 256;

/// The builtins whose arguments may be assignments.
pub(super) const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

impl Walker<'_> {
    /// Walks a simple command, once for each combination of the values of its variables.
    pub fn simple(&mut self, state: &mut State, context: &Context, simple: &Simple) {
        if !self.step(context.spans.map(simple.span)) {
            return;
        }
        self.lines.stand_at(context, simple.span.start);
        self.choices(state, &mut |walker, state| walker.simple_once(state, context, simple));
    }

    fn simple_once(&mut self, state: &mut State, context: &Context, simple: &Simple) {
        let outer_substituted = std::mem::take(&mut self.substituted);
        let span = context.spans.map(simple.span);
        let mut fields: Vec<Field> = Vec::new();
        let declaring = simple.words.first().and_then(plain_text).is_some_and(|name| DECLARING.contains(&name));
        for (index, word) in simple.words.iter().enumerate() {
            if !self.input.inquiry.fuel.lasts() {
                self.too_large(span, &mut fields);
                break;
            }
            let start = fields.len();
            if declaring && index > 0 && assignment_of(word).is_some() {
                self.declared(state, context, word, &mut fields);
            } else {
                self.expand().fields(state, context, word, &mut fields);
            }
            if start == 0
                && let Some(first) = fields.first_mut()
                && is_assembled(state, word)
            {
                first.disguise = first.disguise.or(Some(Disguise::Assembly));
            }
        }
        let mut env = Vec::new();
        for assignment in &simple.assignments {
            let value = self.assign(state, context, assignment, fields.is_empty());
            env.push((assignment.name.clone(), value));
        }
        if !simple.redirects.is_empty() {
            self.input.spend(state.streams.others.len() as u64 / 4);
        }
        let outer = (!simple.redirects.is_empty()).then(|| state.streams.clone());
        let mut effects = self.redirects(state, context, &simple.redirects);
        let act = if fields.is_empty() {
            if self.bare_redirects(state, simple) {
                effects
                    .iter_mut()
                    .filter(|(effect, _)| *effect == Effect::Load)
                    .for_each(|(effect, _)| *effect = Effect::Show);
            }
            None
        } else {
            let from = state.cwd.clone();
            let act = self.run(state, context, fields.clone(), env, span, Lookup::Shell);
            // If a redirection fails, the directory is not changed.
            if state.cwd != from && !state.doubt.is_empty() {
                state.fails |=
                    effects.iter().any(|(_, on)| !on.value.known().is_some_and(|to| to.starts_with("/dev/")));
            }
            act
        };
        let readers = std::mem::replace(&mut self.substituted.readers, outer_substituted.readers);
        self.redirect_acts(state, context, effects, act, simple.words.is_empty());
        if let Some(outer) = outer {
            if keeps_streams(&fields) {
                self.read_at_the_end(state, outer, context, readers);
            } else {
                self.read_back(state, context, readers);
                state.streams = outer;
            }
        } else {
            self.read_back(state, context, readers);
        }
        state.last_argument = fields.pop().map(|field| field.value);
        self.substituted.pipes = outer_substituted.pipes;
    }

    /// Walks the beginning of a command for which the fuel is not sufficient.
    #[inline(never)]
    fn too_large(&mut self, span: Span, fields: &mut Vec<Field>) {
        self.step(span);
        self.input.inquiry.fuel.grace();
        fields.truncate(MOST_LOOKED_AT);
    }

    /// Walks redirections without a command (`$(<file)`, `>file`). Returns whether they print their input.
    #[inline(never)]
    fn bare_redirects(&mut self, state: &State, simple: &Simple) -> bool {
        use crate::judge::syntax::tree::RedirectOp;
        let reads = simple.assignments.is_empty()
            && matches!(simple.redirects.as_slice(), [redirect] if redirect.op == RedirectOp::Read);
        if reads && let Some(sink) = state.streams.stdout.sink() {
            let (text, taint, decoded) = self.progress().stdin_of(state);
            if let Some(sink) = self.sinks.get_mut(sink) {
                sink.write(&text, taint, decoded);
            }
            return true;
        }
        false
    }

    /// Walks a command of these words. Returns the act of its program, if there is one.
    pub fn run(
        &mut self,
        state: &mut State,
        context: &Context,
        fields: Vec<Field>,
        env: Vec<(String, Value)>,
        span: Span,
        lookup: Lookup,
    ) -> Option<usize> {
        let globs = fields.iter().filter(|field| field.value.has_glob()).count();
        let options = fields.iter().filter(|field| field.value.leading().starts_with('-')).count();
        let read = cost::READ * (fields.len() + 4 * options) as u64 + cost::GLOB * globs as u64;
        let texts = self.input.reads_all(fields.iter().map(|field| &field.value));
        if !texts || !self.input.spend(read) || !self.step(span) || !self.enter(depth::COMMAND, span) {
            return None;
        }
        let act = self.run_here(state, context, fields, env, span, lookup);
        self.leave(depth::COMMAND);
        act
    }

    fn run_here(
        &mut self,
        state: &mut State,
        context: &Context,
        fields: Vec<Field>,
        env: Vec<(String, Value)>,
        span: Span,
        lookup: Lookup,
    ) -> Option<usize> {
        let (word, args) = fields.split_first()?;
        match resolve::names(self.progress(), state, word) {
            Resolved::Nothing => None,
            Resolved::Names(names) => {
                let mut act = None;
                for (name, path, disguise) in names {
                    let made = self.by_name(
                        state,
                        context,
                        CommandCall { name: &name, path, args, env: &env, span, disguise },
                        lookup,
                    );
                    act = act.or(made);
                }
                act
            }
            Resolved::Unknown => {
                let why = if word.value.taint().has(super::act::Taint::FETCHED) {
                    context.fetched_code()
                } else {
                    OpaqueReason::CommandWord
                };
                self.opaque(why, format!("the program that runs is not known: {}", describe(&word.value)), word.span);
                // If the variable is unset, the next word is the command word.
                if !args.is_empty() && word.value.pieces().iter().all(|piece| matches!(piece, Piece::Unknown(_))) {
                    return self.run(state, &context.perhaps(), args.to_vec(), env, span, lookup);
                }
                None
            }
        }
    }

    /// Walks the function, builtin or program with a name.
    fn by_name(
        &mut self,
        state: &mut State,
        context: &Context,
        called: CommandCall<'_>,
        lookup: Lookup,
    ) -> Option<usize> {
        let CommandCall { name, path, args, env, span, disguise } = called;
        let by_shell = lookup != Lookup::Programs && path.is_none();
        // The states after each alias that may apply.
        let mut replaced: Vec<Box<State>> = Vec::new();
        if context.dialect == Dialect::Zsh
            && lookup == Lookup::Shell
            && let Some((_, suffix)) = name.rsplit_once('.').filter(|(before, _)| !before.is_empty())
            && let suffix = suffix_alias(suffix)
            && let Some(text) = state.aliases.get(&suffix).cloned()
        {
            let file = Field::word(path.clone().unwrap_or_else(|| Value::text(name)), span);
            let mut behind = self.input.fork(state);
            let args: Vec<Field> = std::iter::once(file).chain(args.iter().cloned()).collect();
            self.alias(&mut behind, context, &suffix, &text, &args, span);
            replaced.push(behind);
        }
        if by_shell {
            if lookup == Lookup::Shell
                && let Some(text) = state.aliases.get(name).cloned()
                && !context.is_called(&Callee::Alias(name.to_owned()))
            {
                let mut behind = self.input.fork(state);
                self.alias(&mut behind, context, name, &text, args, span);
                replaced.push(behind);
            }
            if lookup == Lookup::Shell
                && let Some(function) = state.functions.get(name).cloned()
            {
                let outer = Self::set_for(state, env);
                self.call(state, context, &function, args, span);
                Self::put_back(state, outer);
                replaced.iter().for_each(|behind| state.join(behind));
                return None;
            }
        }
        let disguise = disguise.or_else(|| option_disguise(args)).or(context.disguise);
        let Self { input, facts, sinks, files, substituted, resolver, .. } = self;
        let progress = WalkProgress { input, acts: &facts.acts, sinks, files, pipes: &substituted.pipes };
        let is_remote = context.remote.is_some();
        let ProgramLocation { path, other } =
            resolver.leads_to(progress, state, (name, path), env, by_shell, is_remote);
        let by_shell = by_shell && path.is_none();
        if let Some(other) = other {
            let name = other.rsplit('/').next().unwrap_or(&other).to_owned();
            let mut child = state.child(&[]);
            let disguise = Some(Disguise::Assembly);
            let called = CommandCall { name: &name, path: Some(Value::text(other)), args, env, span, disguise };
            self.program(&mut child, context, &called, false);
        }
        let act = self.program(state, context, &CommandCall { name, path, args, env, span, disguise }, by_shell);
        replaced.iter().for_each(|behind| state.join(behind));
        act
    }
}

/// Reports whether this is `exec` without a command, whose redirections remain.
fn keeps_streams(fields: &[Field]) -> bool {
    let mut words = fields.iter().map(|field| field.value.known()).filter(|word| word.as_deref() != Some("--"));
    let mut word = words.next();
    while matches!(word, Some(Some(ref name)) if matches!(name.as_ref(), "command" | "builtin")) {
        word = words.next();
    }
    matches!(word, Some(Some(ref name)) if name == "exec") && words.next().is_none()
}

/// Returns the text of a word that is one unquoted literal.
pub(super) fn plain_text(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Literal(text)] => Some(text),
        _ => None,
    }
}

/// Returns the name in an assignment `name=…`, or with `+` in `name+=…`.
pub(super) fn assignment_of(word: &Word) -> Option<&str> {
    let Some(Part::Literal(text)) = word.parts.first() else { return None };
    let (name, _) = text.split_once('=')?;
    let plain = name.trim_end_matches('+');
    let valid = !plain.is_empty()
        && !plain.starts_with(|c: char| c.is_ascii_digit())
        && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then_some(name)
}

/// Reports whether the command word is composed of variables that the command sets, or of substitutions.
fn is_assembled(state: &State, word: &Word) -> bool {
    let dynamic = |part: &Part| match part {
        Part::Parameter(parameter) => {
            state.sets(&parameter.name)
                || parameter.operation.is_some()
                || word.parts.len() > 1
                || !parameter.name.starts_with(|c: char| c.is_ascii_alphabetic())
        }
        Part::Command(_) | Part::Arithmetic(_) | Part::Process(_) => true,
        _ => false,
    };
    let base_is_plain = match word.parts.last() {
        Some(Part::Literal(text)) => text.rsplit_once('/').is_some_and(|(_, base)| !base.is_empty()),
        Some(Part::Double { parts, .. }) => match parts.last() {
            Some(Part::Literal(text)) => text.rsplit_once('/').is_some_and(|(_, base)| !base.is_empty()),
            _ => false,
        },
        _ => false,
    };
    !base_is_plain
        && word.parts.iter().any(|part| match part {
            Part::Double { parts, .. } => parts.iter().any(dynamic),
            part => dynamic(part),
        })
}

/// Returns the obfuscation of the first obfuscated option.
fn option_disguise(args: &[Field]) -> Option<Disguise> {
    args.iter()
        .filter(|field| matches!(field.value.pieces().first(), Some(Piece::Text(text)) if text.starts_with('-')))
        .find_map(|field| field.disguise.filter(|d| matches!(d, Disguise::Quoting | Disguise::Encoding)))
}

/// Describes an unknown value for the user.
pub(super) fn describe(value: &Value) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) | Piece::Glob(text) => text.clone(),
        Piece::Unknown(unknown) => match &unknown.why {
            UnknownReason::Variable(name) => format!("${name}"),
            UnknownReason::CommandOutput => "(the output of a command)".to_owned(),
            UnknownReason::ShellCode => "(the set-up code of a program)".to_owned(),
            UnknownReason::Input => "(read from standard input)".to_owned(),
            UnknownReason::Number(_) => "(a number)".to_owned(),
            UnknownReason::Temporary { .. } => "(a temporary name)".to_owned(),
            UnknownReason::Pipe => "(a pipe)".to_owned(),
            UnknownReason::Found(_) => "(a file that is found)".to_owned(),
            UnknownReason::Installation => "(a directory of installed programs)".to_owned(),
            UnknownReason::FileText(edited) => format!("(the text of {})", edited.path),
            UnknownReason::Other(what) => format!("({what})"),
        },
    };
    value.pieces().iter().map(piece).collect()
}
