//! Expands a word of the tree to arguments, as far as they are known.
//!
//! The order is that of shells: braces, tilde, parameters, substitutions, arithmetic, splitting, globs, quote removal.
//! The commands in substitutions are walked through the trait `Walk`.

use std::borrow::Cow;

use super::act::{Disguise, NumberId, Piece, Taint, Unknown, UnknownReason, Value};
use super::arguments::Arg;
use super::braces::{self, Braces};
use super::command_context::Context;
use super::disguise;
use super::expander::{Expander, Walk};
use super::fuel::{cost, of_bytes};
use super::pattern::Pattern;
use super::place::Place;
use super::split::{self, Atom, Quote, split};
use super::state::{Build as _, State, VariableValue, unknown};
use crate::judge::syntax::tree::{ArrayElement, Dialect, Part, Span, Word};

/// An argument after expansion.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub value: Value,
    pub span: Span,
    /// The obfuscation of its word.
    pub disguise: Option<Disguise>,
    /// Whether it is an operand even if it looks like an option, because it is an argument of a call in code.
    pub operand: bool,
}

impl Field {
    /// Creates a known argument.
    pub fn text(text: impl Into<String>, span: Span) -> Self {
        Self::word(Value::text(text), span)
    }

    /// Returns it as an argument for the parser.
    pub fn arg(&self) -> Arg {
        Arg { value: self.value.clone(), span: self.span, operand: self.operand }
    }

    /// Creates an argument that the program parses.
    pub fn word(value: Value, span: Span) -> Self {
        Self { value, span, disguise: None, operand: false }
    }
}

/// Maximum number of arguments to which one word expands (`"$@"`, `${list[@]}`).
const MAX_FIELDS: usize = 1024;

impl<W: Walk> Expander<'_, W> {
    /// Expands a word to arguments and appends them.
    pub fn fields(&mut self, state: &mut State, context: &Context, word: &Word, out: &mut Vec<Field>) {
        let span = context.spans.map(word.span);
        if let [Part::Literal(text)] = word.parts.as_slice()
            && !text.contains(['*', '?', '[', '{', '~', '='])
            && !(state.extended_glob && text.contains(['^', '#']))
        {
            self.walk.input().spend(cost::FIELD);
            out.push(Field::text(text.as_str(), span));
            return;
        }
        let disguise = disguise::of_word(word);
        match braces::expand(&word.parts) {
            Braces::None => {
                let parts: Vec<Cow<'_, Part>> = word.parts.iter().map(Cow::Borrowed).collect();
                self.fields_of(state, context, &parts, span, disguise, out);
            }
            Braces::Words(words) => {
                for parts in words {
                    if !self.walk.input().spend(cost::BRACES) {
                        break;
                    }
                    self.fields_of(state, context, &parts, span, disguise.or(Some(Disguise::Assembly)), out);
                }
            }
            Braces::TooMany => {
                let why = UnknownReason::Other("a brace expansion of many words");
                out.push(Field { disguise, ..Field::word(unknown(why, Taint::default()), span) });
            }
        }
    }

    fn fields_of(
        &mut self,
        state: &mut State,
        context: &Context,
        parts: &[Cow<'_, Part>],
        span: Span,
        disguise: Option<Disguise>,
        out: &mut Vec<Field>,
    ) {
        let mut atoms = Vec::new();
        self.atoms(state, context, parts.iter().map(Cow::as_ref), false, Tilde::Start, &mut atoms);
        let ifs = self.separators(state);
        if context.dialect == Dialect::Zsh && (state.extended_glob || state.ksh_glob) {
            split::widen(&mut atoms, state);
        }
        self.pay(&atoms);
        let mut values = split(atoms, &ifs, !state.noglob);
        self.walk.input().spend(cost::FIELD * values.len() as u64);
        if values.len() > MAX_FIELDS {
            self.walk.too_many_words(span);
            values.truncate(MAX_FIELDS);
        }
        out.extend(values.into_iter().map(|value| Field { disguise, ..Field::word(value, span) }));
    }

    /// Expands a word to one argument: the value of an assignment, the target of a redirection, the subject of `case`.
    pub fn single(&mut self, state: &mut State, context: &Context, word: &Word) -> Value {
        self.joined(state, context, &word.parts, Tilde::Start)
    }

    /// Like [`Self::single`], but keeps globs: a shell expands them in the target of a redirection if one name matches.
    pub fn target(&mut self, state: &mut State, context: &Context, word: &Word) -> Value {
        let mut atoms = Vec::new();
        self.atoms(state, context, word.parts.iter(), false, Tilde::Start, &mut atoms);
        self.pay(&atoms);
        // Without separators it remains one word.
        split(atoms, "", !state.noglob).into_iter().next().unwrap_or_default()
    }

    /// Like [`Self::single`], and also expands a tilde after each colon.
    pub fn assigned_value(&mut self, state: &mut State, context: &Context, word: &Word) -> Value {
        self.joined(state, context, &word.parts, Tilde::Colons)
    }

    /// Expands the body of a here-document, as in double quotes.
    #[inline(never)]
    pub fn heredoc(&mut self, state: &mut State, context: &Context, body: &Word) -> Value {
        let mut atoms = Vec::new();
        self.atoms(state, context, body.parts.iter(), true, Tilde::Never, &mut atoms);
        self.pay(&atoms);
        join(atoms)
    }

    fn joined(&mut self, state: &mut State, context: &Context, parts: &[Part], tilde: Tilde) -> Value {
        let mut atoms = Vec::new();
        self.atoms(state, context, parts.iter(), false, tilde, &mut atoms);
        self.pay(&atoms);
        join(atoms)
    }

    /// Charges splitting or joining atoms.
    fn pay(&mut self, atoms: &[Atom]) {
        self.walk.input().spend(atoms.iter().map(|atom| cost::COPY + of_bytes(atom.length()) * 2).sum());
    }

    /// Expands a word to a pattern, in which quoted parts match only themselves. `None` if a part is unknown.
    pub fn pattern(&mut self, state: &mut State, context: &Context, word: &Word) -> Option<String> {
        let mut atoms = Vec::new();
        self.atoms(state, context, word.parts.iter(), false, Tilde::Start, &mut atoms);
        let mut pattern = String::new();
        for atom in atoms {
            match atom {
                Atom::Text(text, Quote::Quoted) => pattern.push_str(&Pattern::quote(&text)),
                Atom::Text(text, _) => pattern.push_str(&text),
                Atom::Glob(text) if !text.contains('(') => pattern.push_str(&text),
                Atom::Break => pattern.push(' '),
                Atom::Glob(_) | Atom::Unknown(_) => return None,
            }
        }
        Some(pattern)
    }

    /// Expands adjacent parts to atoms.
    pub fn atoms<'p>(
        &mut self,
        state: &mut State,
        context: &Context,
        parts: impl Iterator<Item = &'p Part>,
        quoted: bool,
        tilde: Tilde,
        out: &mut Vec<Atom>,
    ) {
        let mut parts = parts.peekable();
        let mut first = true;
        while let Some(part) = parts.next() {
            let last = parts.peek().is_none();
            match part {
                Part::Literal(text) if quoted => out.push(Atom::Text(text.clone(), Quote::Quoted)),
                Part::Literal(text) => self.literal(state, text, first, last, tilde, out),
                Part::Escaped(text) | Part::Single(text) | Part::AnsiC(text) => {
                    out.push(Atom::Text(text.clone(), Quote::Quoted));
                }
                Part::Double { parts, .. } => {
                    // `""` is an empty argument, `"$@"` without parameters no argument.
                    let before = out.len();
                    self.atoms(state, context, parts.iter(), true, Tilde::Never, out);
                    if out.len() == before && !disguise::is_only_arguments(parts) {
                        out.push(Atom::Text(String::new(), Quote::Quoted));
                    }
                }
                Part::Parameter(parameter) => self.parameter(state, context, parameter, quoted, out),
                Part::Command(substitution) => {
                    let value = self.walk.capture(state, context, substitution);
                    push_expanded(&value, quoted, out);
                }
                Part::Process(substitution) => {
                    let value = self.walk.process(state, context, substitution);
                    push_expanded(&value, true, out);
                }
                Part::Arithmetic(arithmetic) => {
                    let value = match self.arithmetic(state, context, arithmetic) {
                        Some(number) => Value::text(number.to_string()),
                        None => unknown(UnknownReason::Number(NumberId::default()), self.taint_in(state, arithmetic)),
                    };
                    push_expanded(&value, quoted, out);
                }
                Part::ExtGlob { operator, alternatives } => {
                    let text = self.extended(state, context, *operator, alternatives);
                    out.push(if quoted { Atom::Text(text, Quote::Quoted) } else { Atom::Glob(text) });
                }
                Part::Array(elements) => self.array(state, context, elements, out),
                Part::Hole(hole) => out.push(match self.walk.expansion().holes.get(hole.0 as usize) {
                    Some(Piece::Glob(glob)) => Atom::Glob(glob.clone()),
                    Some(Piece::Unknown(unknown)) => Atom::Unknown(unknown.clone()),
                    _ => unknown_atom(UnknownReason::Other("an unknown part"), Taint::default()),
                }),
            }
            first = false;
        }
    }

    #[inline(never)]
    fn extended(&mut self, state: &mut State, context: &Context, operator: char, alternatives: &[Word]) -> String {
        let mut text = format!("{operator}(");
        for (index, word) in alternatives.iter().enumerate() {
            if index > 0 {
                text.push('|');
            }
            text.push_str(self.single(state, context, word).pattern().as_deref().unwrap_or("*"));
        }
        text.push(')');
        text
    }

    /// Expands `(…)` in a word. It is an array only for declaring builtins; elsewhere it is walked and becomes text.
    #[inline(never)]
    fn array(&mut self, state: &mut State, context: &Context, elements: &[ArrayElement], out: &mut Vec<Atom>) {
        out.push(Atom::Text("(".to_owned(), Quote::Quoted));
        for (index, element) in elements.iter().enumerate() {
            if index > 0 {
                out.push(Atom::Text(" ".to_owned(), Quote::Quoted));
            }
            if let Some(subscript) = &element.subscript {
                self.single(state, context, subscript);
            }
            let value = self.single(state, context, &element.value);
            push_expanded(&value, true, out);
        }
        out.push(Atom::Text(")".to_owned(), Quote::Quoted));
    }

    #[inline(never)]
    fn literal(&mut self, state: &mut State, text: &str, first: bool, last: bool, tilde: Tilde, out: &mut Vec<Atom>) {
        let mut rest = text;
        let mut at_start = first && tilde != Tilde::Never;
        loop {
            // The whole prefix must be unquoted: `~"x"` is not expanded.
            if at_start && let Some(after) = rest.strip_prefix('~') {
                let end = after.find(['/', ':']).unwrap_or(after.len());
                let (user, tail) = after.split_at(end);
                if (!tail.is_empty() || last)
                    && let Some(home) = self.tilde(state, user)
                {
                    push_expanded(&home, true, out);
                    rest = tail;
                }
            }
            match rest.find(':').filter(|_| tilde == Tilde::Colons) {
                Some(colon) => {
                    let (head, tail) = rest.split_at(colon + 1);
                    out.push(Atom::Text(head.to_owned(), Quote::Bare));
                    rest = tail;
                    at_start = true;
                }
                None => {
                    if !rest.is_empty() {
                        out.push(Atom::Text(rest.to_owned(), Quote::Bare));
                    }
                    return;
                }
            }
        }
    }

    /// Returns the home directory of `~user`, or `None` if the tilde is not expanded.
    #[inline(never)]
    fn tilde(&mut self, state: &State, user: &str) -> Option<Value> {
        match user {
            "" => self.home(state),
            "+" => state.cwd.as_ref().map(Place::value),
            "-" => state.previous.as_ref().map(Place::value),
            _ if user == self.walk.input().invocation.user && !state.elsewhere => {
                self.walk.input().invocation.home.as_ref().and_then(|home| home.to_str()).map(Value::text)
            }
            _ => None,
        }
    }

    /// Returns the home directory: the value of `HOME`, or that of the account.
    #[inline(never)]
    pub fn home(&mut self, state: &State) -> Option<Value> {
        match self.lookup(state, "HOME") {
            VariableValue::Scalar(value) if !super::parameter::is_unset_marker(&value) => Some(value),
            _ if state.elsewhere => None,
            _ => self.walk.input().invocation.home.as_ref().and_then(|home| home.to_str()).map(Value::text),
        }
    }

    /// Returns the characters at which unquoted expansions are split.
    #[inline(never)]
    pub fn separators(&mut self, state: &State) -> String {
        const DEFAULT: &str = " \t\n";
        match state.variable("IFS") {
            None => DEFAULT.to_owned(),
            Some(_) => match self.lookup(state, "IFS") {
                VariableValue::Scalar(value) => value.known_text().unwrap_or_else(|| DEFAULT.to_owned()),
                VariableValue::Unset => DEFAULT.to_owned(),
                _ => DEFAULT.to_owned(),
            },
        }
    }
}

/// The positions at which a tilde is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tilde {
    Never,
    Start,
    /// At the beginning and after each colon, as in assignments.
    Colons,
}

/// Appends the result of an expansion.
pub(super) fn push_expanded(value: &Value, quoted: bool, out: &mut Vec<Atom>) {
    let quote = if quoted { Quote::Quoted } else { Quote::Split };
    if value.pieces().is_empty() {
        out.push(Atom::Text(String::new(), quote));
    }
    for piece in value.pieces() {
        out.push(match piece {
            Piece::Text(text) => Atom::Text(text.clone(), quote),
            Piece::Glob(glob) => Atom::Glob(glob.clone()),
            Piece::Unknown(unknown) => Atom::Unknown(unknown.clone()),
        });
    }
}

/// Joins atoms to one value without splitting; globs become text.
pub(super) fn join(atoms: Vec<Atom>) -> Value {
    let mut value = Value::default();
    for atom in atoms {
        match atom {
            Atom::Text(text, _) => value.push_text(&text),
            Atom::Glob(text) => value.push_piece(&Piece::Glob(text)),
            Atom::Unknown(unknown) => value.push_piece(&Piece::Unknown(unknown)),
            Atom::Break => value.push_text(" "),
        }
    }
    value
}

/// Creates an unknown atom with this reason and taint.
pub(super) fn unknown_atom(why: UnknownReason, taint: Taint) -> Atom {
    Atom::Unknown(Unknown { why, taint })
}

#[cfg(test)]
mod tests;
