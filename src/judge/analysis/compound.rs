//! Compound commands: every body is walked, and the states after the branches are joined.

use std::collections::HashSet;

use super::act::{Effect, Operand, Piece, Taint, UnknownReason, Value};
use super::command_context::Context;
use super::expand::Field;
use super::state::{Build as _, State, unknown};
use super::walk::{Walker, depth};
use crate::judge::syntax::tree::{CaseArm, Compound, CompoundKind, CondToken, Redirect, Script, Word};

/// Maximum number of iterations of a loop over known words that are walked one by one.
const MAX_LOOP: usize = 16;

impl Walker<'_> {
    /// Walks a compound command with its redirections.
    pub fn compound(&mut self, state: &mut State, context: &Context, compound: &Compound) {
        let span = context.spans.map(compound.span);
        if !self.step(span) || !self.enter(depth::BODY, span) {
            return;
        }
        if compound.redirects.is_empty() {
            self.kind(state, context, &compound.kind);
        } else {
            self.redirected(state, context, compound);
        }
        self.leave(depth::BODY);
    }

    #[inline(never)]
    fn redirected(&mut self, state: &mut State, context: &Context, compound: &Compound) {
        let outer = state.streams.clone();
        let outer_readers = std::mem::take(&mut self.substituted.readers);
        let effects = self.redirects(state, context, &compound.redirects);
        let readers = std::mem::replace(&mut self.substituted.readers, outer_readers);
        self.redirect_acts(state, context, effects, None, false);
        self.kind(state, context, &compound.kind);
        state.streams = outer;
        self.read_back(state, context, readers);
    }

    /// Evaluates redirections in order, changing the descriptors of `state`.
    pub fn redirects(
        &mut self,
        state: &mut State,
        context: &Context,
        redirects: &[Redirect],
    ) -> Vec<(Effect, Operand)> {
        let mut effects = Vec::new();
        for redirect in redirects {
            if !self.input.inquiry.fuel.lasts() {
                break;
            }
            self.redirect(state, context, redirect, &mut effects);
        }
        effects
    }

    pub fn kind(&mut self, state: &mut State, context: &Context, kind: &CompoundKind) {
        match kind {
            CompoundKind::Group(script) => self.script(state, context, script),
            CompoundKind::Subshell(script) => {
                let mut child = state.subshell();
                self.script(&mut child, context, script);
                self.end_of_shell(&mut child);
            }
            CompoundKind::Arithmetic(arithmetic) => {
                self.expand().arithmetic(state, context, arithmetic);
            }
            CompoundKind::Conditional(tokens) => self.condition(state, context, tokens),
            CompoundKind::If { arms, otherwise } => self.branches(state, context, arms, otherwise.as_ref()),
            CompoundKind::Loop { condition, body, .. } => {
                self.repeated(state, context, &mut |walker, state, context| {
                    walker.script(state, context, condition);
                    walker.script(state, context, body);
                });
            }
            CompoundKind::For { names, words, body } => self.for_words(state, context, names, words.as_deref(), body),
            CompoundKind::ForArithmetic { header: [init, test, step], body } => {
                self.expand().arithmetic(state, context, init);
                self.repeated(state, context, &mut |walker, state, context| {
                    walker.expand().arithmetic(state, context, test);
                    walker.script(state, context, body);
                    walker.expand().arithmetic(state, context, step);
                });
            }
            CompoundKind::Select { name, words, body } => {
                self.for_words(state, context, std::slice::from_ref(name), words.as_deref(), body);
            }
            CompoundKind::Case { subject, arms } => self.case(state, context, subject, arms),
            CompoundKind::Repeat { count, body } => {
                self.expand().single(state, context, count);
                self.repeated(state, context, &mut |walker, state, context| walker.script(state, context, body));
            }
            CompoundKind::Always { body, finally } => {
                self.script(state, context, body);
                self.script(state, context, finally);
            }
        }
    }

    #[inline(never)]
    fn branches(
        &mut self,
        state: &mut State,
        context: &Context,
        arms: &[(Script, Script)],
        otherwise: Option<&Script>,
    ) {
        let mut inner = context.guarded();
        let mut ends: Vec<State> = Vec::new();
        let mut outputs = Outputs::start(self, state);
        for (index, (condition, body)) in arms.iter().enumerate() {
            if !self.has_fuel(context, condition.span) {
                break;
            }
            let told = self.condition_list(state, if index == 0 { context } else { &inner }, condition);
            outputs.condition(self);
            let mut branch = self.input.fork(state);
            branch.doubt.clear();
            self.script(&mut branch, &inner.without(&told.succeeded), body);
            outputs.branch(self);
            ends.push(*branch);
            inner = inner.without(&told.failed);
        }
        if let Some(body) = otherwise {
            self.script(state, &inner, body);
            outputs.branch(self);
        }
        outputs.finish(self);
        for end in &ends {
            state.join(end);
        }
    }

    #[inline(never)]
    fn case(&mut self, state: &mut State, context: &Context, subject: &Word, arms: &[CaseArm]) {
        self.expand().single(state, context, subject);
        let inner = context.guarded();
        let mut ends: Vec<State> = Vec::new();
        let mut fallen: Option<Box<State>> = None;
        let mut outputs = Outputs::start(self, state);
        for arm in arms {
            if !self.has_fuel(context, arm.span) {
                break;
            }
            for pattern in &arm.patterns {
                self.expand().single(state, context, pattern);
            }
            outputs.condition(self);
            let mut branch = self.input.fork(state);
            if let Some(fallen) = fallen.take() {
                branch.join(&fallen);
            }
            self.script(&mut branch, &inner, &arm.body);
            outputs.branch(self);
            if arm.falls_through {
                fallen = Some(branch.fork());
            }
            ends.push(*branch);
        }
        outputs.finish(self);
        for end in &ends {
            state.join(end);
        }
    }

    /// Walks a loop with an unknown number of iterations: its body once, and again if the first iteration changed the
    /// state.
    #[inline(never)]
    pub fn repeated(
        &mut self,
        state: &mut State,
        context: &Context,
        body: &mut dyn FnMut(&mut Self, &mut State, &Context),
    ) {
        let inner = context.perhaps();
        let before = self.input.fork(state);
        let first = self.facts.acts.len();
        body(self, state, &inner);
        let second = self.facts.acts.len();
        state.join(&before);
        let unchanged = state.has_variables_of(&before)
            && state.cwd == before.cwd
            && state.functions.len() == before.functions.len()
            && state.positional == before.positional;
        if unchanged || !self.limits.takes_rounds(1) {
            return;
        }
        let mut again = self.input.fork(state);
        body(self, &mut again, &inner);
        state.join(&again);
        self.forget_repetition(first, second);
    }

    /// Removes acts of the second iteration that are equal to those of the first.
    pub fn forget_repetition(&mut self, first: usize, second: usize) {
        let Some((old, new)) = self.facts.acts.split_at_checked(second) else { return };
        let same = old.len().checked_sub(first) == Some(new.len())
            && old.iter().skip(first).zip(new).all(|(a, b)| {
                a.verb == b.verb && a.args == b.args && a.cwd == b.cwd && a.env == b.env && a.code == b.code
            });
        if same {
            self.forget_acts_from(second);
        }
    }

    fn forget_acts_from(&mut self, length: usize) {
        self.facts.acts.truncate(length);
        self.files.builder.take();
        for act in &mut self.facts.acts {
            act.feeds.retain(|id| *id < length);
        }
        for sink in &mut self.sinks {
            sink.writers.retain(|id| *id < length);
        }
    }

    #[inline(never)]
    fn for_words(
        &mut self,
        state: &mut State,
        context: &Context,
        names: &[String],
        words: Option<&[Word]>,
        body: &Script,
    ) {
        let mut values: Vec<Value> = Vec::new();
        let mut known: HashSet<Value> = HashSet::new();
        match words {
            None => values.extend(state.positional.iter().cloned()),
            Some(words) => self.choices(state, &mut |walker, state| {
                let mut fields: Vec<Field> = Vec::new();
                for word in words {
                    walker.expand().fields(state, context, word, &mut fields);
                }
                for field in fields {
                    if known.insert(field.value.clone()) {
                        values.push(field.value);
                    }
                }
            }),
        }
        let Some(name) = names.first() else { return };
        let inner = context.perhaps();
        // The values are compared, and those that the loop assigns are copied.
        self.input.copies_all(values.iter().chain(&values));
        let many = values.len() > MAX_LOOP;
        let mut one_by_one = names.len() == 1 && !many;
        if one_by_one && values.len() > 1 {
            one_by_one = self.limits.takes_rounds(values.len());
        }
        if one_by_one {
            let before = self.input.fork(state);
            for value in values {
                state.set_scalar(name, found(value));
                self.script(state, &inner, body);
            }
            // If the list is empty, the body does not run.
            state.join(&before);
            return;
        }
        let taint = values.iter().fold(Taint::default(), |all, value| all.and(value.taint()));
        let value = in_common(&values).unwrap_or_else(|| unknown(UnknownReason::Found(None), taint));
        for name in names {
            state.set_scalar(name, value.clone());
        }
        self.repeated(state, context, &mut |walker, state, context| walker.script(state, context, body));
    }

    /// Expands the operands of `[[ … ]]`, and evaluates those of arithmetic comparisons.
    #[inline(never)]
    fn condition(&mut self, state: &mut State, context: &Context, tokens: &[CondToken]) {
        let mut numeric = false;
        let mut before: Option<Value> = None;
        for token in tokens {
            match token {
                CondToken::Operator(operator, _) => {
                    numeric = matches!(operator.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
                    if numeric && let Some(left) = before.take() {
                        self.expand().compute(state, context, &left);
                    }
                    if operator == "-v" {
                        numeric = true;
                    }
                }
                CondToken::Word(word) => {
                    let value = self.expand().single(state, context, word);
                    if numeric {
                        match value.known_text() {
                            Some(text) if text.contains('[') => {
                                self.walk_embedded(state, context, &text);
                                let subscript = text.split_once('[').map_or("", |(_, rest)| rest.trim_end_matches(']'));
                                self.expand().compute(state, context, &Value::text(subscript));
                            }
                            _ => {
                                self.expand().compute(state, context, &value);
                            }
                        }
                    }
                    numeric = false;
                    before = Some(value);
                }
            }
        }
    }
}

/// Returns the value of a loop variable for a word. Unknown output stands for the names that it lists.
fn found(value: Value) -> Value {
    value
}

/// Returns the common beginning of values, followed by an unknown piece.
fn in_common(values: &[Value]) -> Option<Value> {
    let texts: Vec<String> = values.iter().map(Value::pattern).collect::<Option<_>>()?;
    let first = texts.first()?;
    let mut length = first.len();
    for text in &texts {
        length = first.bytes().zip(text.bytes()).take(length).take_while(|(a, b)| a == b).count();
    }
    while !first.is_char_boundary(length) {
        length -= 1;
    }
    let prefix = first.get(..length)?;
    let mut value = Value::default();
    value.push_text(prefix);
    value.push_value(&unknown(UnknownReason::Other("one of many words"), Taint::default()));
    Some(value)
}

/// The output of each branch of a command, of which only one runs.
struct Outputs {
    sink: Option<usize>,
    before: Value,
    branches: Vec<Value>,
}

impl Outputs {
    fn start(walker: &Walker<'_>, state: &State) -> Self {
        let sink = state.streams.stdout.sink();
        let before = sink.and_then(|id| walker.sinks.get(id)).map(|sink| sink.text.clone()).unwrap_or_default();
        Self { sink, before, branches: Vec::new() }
    }

    /// Keeps the output of a condition, which always runs.
    fn condition(&mut self, walker: &Walker<'_>) {
        if let Some(sink) = self.sink.and_then(|id| walker.sinks.get(id)) {
            self.before = sink.text.clone();
        }
    }

    fn branch(&mut self, walker: &mut Walker<'_>) {
        if let Some(sink) = self.sink.and_then(|id| walker.sinks.get_mut(id)) {
            let whole = std::mem::replace(&mut sink.text, self.before.clone());
            if whole != self.before {
                self.branches.push(written_after(&self.before, whole));
            }
        }
    }

    fn finish(self, walker: &mut Walker<'_>) {
        let Some(sink) = self.sink.and_then(|id| walker.sinks.get_mut(id)) else { return };
        match self.branches.as_slice() {
            [] => {}
            [first, rest @ ..] if rest.iter().all(|other| other == first) => sink.text.push_value(first),
            branches => {
                let taint = branches.iter().fold(Taint::default(), |all, value| all.and(value.taint()));
                sink.text.push_value(&unknown(UnknownReason::CommandOutput, taint));
            }
        }
    }
}

/// Returns the part of `whole` after `before`.
fn written_after(before: &Value, whole: Value) -> Value {
    let mut pieces = whole.into_pieces().into_iter();
    for old in before.pieces() {
        match (old, pieces.next()) {
            (Piece::Text(old), Some(Piece::Text(new))) if new.len() > old.len() => {
                let mut rest = Value::text(new.get(old.len()..).unwrap_or(""));
                pieces.for_each(|piece| rest.push_piece(&piece));
                return rest;
            }
            _ => {}
        }
    }
    Value::of(pieces.collect())
}
