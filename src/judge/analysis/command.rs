//! Simple commands: assignments, words, redirections, and what the first word leads to.

use super::act::{Disguise, OpaqueReason, Piece, Unknown, UnknownReason, Value};
use super::disguise;
use super::enclosing::Context;
use super::expand::Field;
use super::fuel::cost;
use super::pattern::Pattern;
use super::recursion::Callee;
use super::state::State;
use super::walk::{Walker, depth};
use crate::judge::effect::Effect;
use crate::judge::syntax::tree::{Part, Simple, Span, Word};

/// The most programs that a glob in command position is tried as.
const MAX_CANDIDATES: usize = 8;

/// How many words are looked at of a command in which the fuel ends.
const MOST_LOOKED_AT: usize = 256;

/// Builtins whose arguments may be assignments.
pub(super) const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

/// How a command's first word is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    /// By a shell: functions, builtins, programs.
    Shell,
    /// By a shell, without functions (`command`).
    NoFunctions,
    /// By another program: programs alone.
    Programs,
}

/// What a command word leads to.
enum Resolved {
    /// These names, each with its path when one was written and the way it was disguised.
    Names(Vec<(String, Option<Value>, Option<Disguise>)>),
    Nothing,
    Unknown,
}

impl Walker<'_> {
    /// Walks a simple command, once for each way its variables may stand.
    pub fn simple(&mut self, state: &mut State, context: &Context, simple: &Simple) {
        if !self.step(context.spans.map(simple.span)) {
            return;
        }
        if let Some(line) = self.numbered.as_ref().and_then(|text| text.line(context, simple.span.start)) {
            self.line = Some(line);
        }
        self.choices(state, &mut |walker, state| walker.simple_once(state, context, simple));
    }

    fn simple_once(&mut self, state: &mut State, context: &Context, simple: &Simple) {
        let outer_pipes = std::mem::take(&mut self.pipes);
        let outer_readers = std::mem::take(&mut self.readers);
        let span = context.spans.map(simple.span);
        let mut fields: Vec<Field> = Vec::new();
        let declaring = simple.words.first().and_then(plain_text).is_some_and(|name| DECLARING.contains(&name));
        for (index, word) in simple.words.iter().enumerate() {
            if !self.setting.inquiry.fuel.lasts() {
                self.too_large(span, &mut fields);
                break;
            }
            let start = fields.len();
            if declaring && index > 0 && assignment_of(word).is_some() {
                self.declared(state, context, word, &mut fields);
            } else {
                self.fields(state, context, word, &mut fields);
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
            // Where a file cannot be opened, nothing changes the directory.
            if state.cwd != from && !state.doubt.is_empty() {
                state.fails |=
                    effects.iter().any(|(_, on)| !on.value.known().is_some_and(|to| to.starts_with("/dev/")));
            }
            act
        };
        let readers = std::mem::replace(&mut self.readers, outer_readers);
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
        self.pipes = outer_pipes;
    }

    /// A command in which the fuel ends: what it begins with is still looked at.
    #[inline(never)]
    fn too_large(&mut self, span: Span, fields: &mut Vec<Field>) {
        self.step(span);
        self.setting.inquiry.fuel.grace();
        fields.truncate(MOST_LOOKED_AT);
    }

    /// `$(<file)` and `>file`: redirections without a command. Whether they print what they read.
    #[inline(never)]
    fn bare_redirects(&mut self, state: &State, simple: &Simple) -> bool {
        use crate::judge::syntax::tree::RedirectOp;
        let reads = simple.assignments.is_empty()
            && matches!(simple.redirects.as_slice(), [redirect] if redirect.op == RedirectOp::Read);
        if reads && let Some(sink) = state.streams.stdout.sink() {
            let (text, taint, decoded) = self.so_far().stdin_of(state);
            if let Some(sink) = self.sinks.get_mut(sink) {
                sink.write(&text, taint, decoded);
            }
            return true;
        }
        false
    }

    /// Runs a command of known or unknown words; the act of the program, when one was made.
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
        let read = cost::READ * fields.len() as u64 + cost::GLOB * globs as u64;
        if !self.setting.spend(read) || !self.step(span) || !self.enter(depth::COMMAND, span) {
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
        match self.resolve(state, word) {
            Resolved::Nothing => None,
            Resolved::Names(names) => {
                let mut act = None;
                for (name, path, disguise) in names {
                    let made = self.by_name(state, context, (&name, path), args, &env, span, lookup, disguise);
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
                // An unset variable leaves the next word as the command.
                if !args.is_empty() && word.value.pieces().iter().all(|piece| matches!(piece, Piece::Unknown(_))) {
                    return self.run(state, &context.perhaps(), args.to_vec(), env, span, lookup);
                }
                None
            }
        }
    }

    /// Finds what a command word leads to.
    #[inline(never)]
    fn resolve(&mut self, state: &State, word: &Field) -> Resolved {
        let value = &word.value;
        if let Some(text) = value.known() {
            return self.plain(state, &text, word.disguise);
        }
        // Only the last component names the program.
        let tail = match value.pieces().last() {
            Some(Piece::Text(text)) => text.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty()),
            _ => None,
        };
        // A file that a search finds is known by its name alone where that is a program's.
        let is_found =
            |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if matches!(unknown.why, UnknownReason::Found(_)));
        let is_program =
            |name: &&str| !value.pieces().iter().any(is_found) || self.setting.catalog.program(name).is_some();
        if let Some(name) = tail.filter(is_program) {
            return Resolved::Names(vec![(name.to_owned(), Some(value.clone()), word.disguise)]);
        }
        // What the line itself wrote there, under a name with a number in it.
        if let Some(name) = self.so_far().made_here(state, value) {
            return Resolved::Names(vec![(name, Some(value.clone()), word.disguise)]);
        }
        if value.is_dynamic() {
            let is_unset =
                |piece: &&Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Variable(_), .. }));
            let left = Value::of(value.pieces().iter().filter(|piece| !is_unset(piece)).cloned().collect());
            if left.pieces().is_empty() || left.pieces().len() == value.pieces().len() {
                return Resolved::Unknown;
            }
            let left = Field { value: left, disguise: Some(Disguise::Assembly), ..word.clone() };
            return self.resolve(state, &left);
        }
        let Some(pattern) = value.pattern() else { return Resolved::Unknown };
        let (dir, base) = pattern.rsplit_once('/').map_or((None, pattern.as_str()), |(dir, base)| (Some(dir), base));
        if base.contains('(') || base.chars().all(|c| c == '*') {
            return Resolved::Unknown;
        }
        let pattern = Pattern::new(base);
        let mut names: Vec<String> = Vec::new();
        for program in self.setting.catalog.all_programs() {
            for name in &program.names {
                if !name.contains(['*', '?', '[', ':']) && pattern.matches(name) == Some(true) && !names.contains(name)
                {
                    names.push(name.clone());
                }
            }
        }
        if names.is_empty() || names.len() > MAX_CANDIDATES {
            return Resolved::Unknown;
        }
        let path = |name: &str| dir.map(|dir| Value::text(format!("{dir}/{name}")));
        Resolved::Names(names.into_iter().map(|n| (n.clone(), path(&n), Some(Disguise::Assembly))).collect())
    }

    /// A command word that is known text.
    #[inline(never)]
    fn plain(&self, state: &State, text: &str, disguise: Option<Disguise>) -> Resolved {
        // An earlier line that begins so, where there is a history; and what a program in front of it takes for a shell's.
        if text.len() > 1 && text.starts_with('!') {
            return Resolved::Unknown;
        }
        if let Some(path) = state.hashed.get(text) {
            let name = path.rsplit('/').next().unwrap_or(path).to_owned();
            return Resolved::Names(vec![(name, Some(Value::text(path.as_str())), Some(Disguise::Assembly))]);
        }
        let named = |text: &str, disguise| {
            let (name, path) = match text.rsplit_once('/') {
                Some((_, name)) => (name, Some(Value::text(text))),
                None => (text, None),
            };
            (!name.is_empty()).then(|| (name.to_owned(), path, disguise))
        };
        // What it looks like, beside the name that the shell looks for. Where nothing else is left, there is that alone.
        let plain_names = disguise::plain_characters(text).filter(|plain| !plain.is_empty() && !plain.ends_with('/'));
        let plain_names = plain_names.and_then(|plain| named(&plain, Some(Disguise::Characters)));
        let disguise = if plain_names.is_some() { Some(Disguise::Characters) } else { disguise };
        let names: Vec<_> = plain_names.into_iter().chain(named(text, disguise)).collect();
        if names.is_empty() { Resolved::Nothing } else { Resolved::Names(names) }
    }

    /// Runs what a name stands for.
    #[allow(clippy::too_many_arguments)]
    fn by_name(
        &mut self,
        state: &mut State,
        context: &Context,
        (name, path): (&str, Option<Value>),
        args: &[Field],
        env: &[(String, Value)],
        span: Span,
        lookup: Lookup,
        disguise: Option<Disguise>,
    ) -> Option<usize> {
        let by_shell = lookup != Lookup::Programs && path.is_none();
        let mut alias = None;
        if by_shell {
            if lookup == Lookup::Shell
                && let Some(text) = state.aliases.get(name).cloned()
                && !context.is_called(&Callee::Alias(name.to_owned()))
            {
                let mut replaced = self.setting.fork(state);
                self.alias(&mut replaced, context, name, &text, args, span);
                alias = Some(replaced);
            }
            if lookup == Lookup::Shell
                && let Some(function) = state.functions.get(name).cloned()
            {
                let outer = Self::set_for(state, env);
                self.call(state, context, &function, args, span);
                Self::put_back(state, outer);
                alias.iter().for_each(|replaced| state.join(replaced));
                return None;
            }
        }
        let disguise = disguise.or_else(|| option_disguise(args)).or(context.disguise);
        let path = match path {
            Some(path) => {
                path.known().iter().for_each(|path| self.remember_path(state, context, path));
                Some(path)
            }
            None if by_shell && super::builtins::is_builtin(name) => None,
            None => self.planted(state, context, name, env).map(Value::text),
        };
        let by_shell = by_shell && path.is_none();
        let other = path.as_ref().filter(|_| context.remote.is_none());
        if let Some(other) = other.and_then(|path| self.under_another_name(state, name, &path.known()?)) {
            let name = other.rsplit('/').next().unwrap_or(&other).to_owned();
            let mut child = state.child(&[]);
            let disguise = Some(Disguise::Assembly);
            self.program(&mut child, context, (&name, Some(Value::text(other))), args, env, span, false, disguise);
        }
        let act = self.program(state, context, (name, path), args, env, span, by_shell, disguise);
        alias.iter().for_each(|replaced| state.join(replaced));
        act
    }
}

/// Whether this is `exec` without a command, whose redirections stay.
fn keeps_streams(fields: &[Field]) -> bool {
    let mut words = fields.iter().map(|field| field.value.known()).filter(|word| word.as_deref() != Some("--"));
    let mut word = words.next();
    while matches!(word, Some(Some(ref name)) if matches!(name.as_ref(), "command" | "builtin")) {
        word = words.next();
    }
    matches!(word, Some(Some(ref name)) if name == "exec") && words.next().is_none()
}

/// The text of a word that is one unquoted piece.
pub(super) fn plain_text(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Literal(text)] => Some(text),
        _ => None,
    }
}

/// The name that a word assigns to, when it is `name=…`; with its `+` for `name+=…`.
pub(super) fn assignment_of(word: &Word) -> Option<&str> {
    let Some(Part::Literal(text)) = word.parts.first() else { return None };
    let (name, _) = text.split_once('=')?;
    let plain = name.trim_end_matches('+');
    let valid = !plain.is_empty()
        && !plain.starts_with(|c: char| c.is_ascii_digit())
        && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then_some(name)
}

/// Whether the name of the program comes from variables of the line, or from substitutions.
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

/// The disguise of the first option that is disguised.
fn option_disguise(args: &[Field]) -> Option<Disguise> {
    args.iter()
        .filter(|field| matches!(field.value.pieces().first(), Some(Piece::Text(text)) if text.starts_with('-')))
        .find_map(|field| field.disguise.filter(|d| matches!(d, Disguise::Quoting | Disguise::Encoding)))
}

/// An unknown value in words.
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
            UnknownReason::Other(what) => format!("({what})"),
        },
    };
    value.pieces().iter().map(piece).collect()
}
