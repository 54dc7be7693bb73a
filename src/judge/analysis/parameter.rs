//! Parameter expansion: `$x`, `${x:-y}` and all other forms, as far as the values are known.

use super::act::{NumberId, Piece, Taint, Unknown, UnknownReason, Value};
use super::command_context::Context;
use super::expand::{Tilde, push_expanded, unknown_atom};
use super::expander::{Expander, Walk};
use super::fuel::of_bytes;
use super::letter::MAX_NUMBERS;
use super::place::Place;
use super::secret_names::is_secret_name;
use super::split::{Atom, Quote};
use super::state::{Attribute, Build as _, State, VariableValue, unknown};
use crate::judge::reserved;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::{Dialect, Parameter, ParameterOp, Part, Word};

/// Reports whether a value is that of a variable which neither the command nor the environment sets. Variables with
/// names of secrets count as set.
pub(super) fn is_unset_marker(value: &Value) -> bool {
    matches!(value.pieces(), [Piece::Unknown(Unknown { why: UnknownReason::Variable(_), taint })]
        if !taint.has(Taint::NAMED))
}

/// Reports whether a value is that of `TMPDIR` if the command does not set it.
pub(super) fn is_unset_temporary(value: &Value) -> bool {
    matches!(value.pieces(), [Piece::Unknown(Unknown { why: UnknownReason::Temporary { variable: true }, .. })])
}

/// The value of a parameter.
enum ParameterValue {
    /// It is certainly unset.
    Unset,
    One(Value),
    /// All positional parameters, or all elements. For `*` in quotes they are joined to one word.
    Many(Vec<Value>, bool),
}

impl<W: Walk> Expander<'_, W> {
    /// Returns the value of a variable in the shell, or in the environment. A variable that neither sets is unknown,
    /// because the start-up files of the shell, or the caller, may set it.
    #[inline(never)]
    pub fn lookup(&mut self, state: &State, name: &str) -> VariableValue {
        let mut name = name;
        for _ in 0..8 {
            let Some(variable) = state.variable(name) else { return self.inherited(state, name) };
            let bound = if variable.values.len() > 1 {
                let index = state.chosen.get(name).copied().unwrap_or(0);
                self.walk.expansion().seen.insert(name, ());
                variable.values.get(index)
            } else {
                variable.values.first()
            };
            match bound {
                None | Some(VariableValue::Inherited) => return self.inherited(state, name),
                Some(VariableValue::Scalar(value)) if variable.attribute == Attribute::Reference => {
                    match value.pieces() {
                        [Piece::Text(target)] if target != name => name = target,
                        _ => return VariableValue::Scalar(value.clone()),
                    }
                }
                Some(bound) => {
                    if let VariableValue::Scalar(value) = bound {
                        self.walk.input().spend(of_bytes(value.size()));
                    }
                    return bound.clone();
                }
            }
        }
        VariableValue::Scalar(unknown(UnknownReason::Other("a chain of references"), Taint::default()))
    }

    /// Creates an unknown number with its own identity.
    pub fn number(&mut self, plain: bool) -> Value {
        // The first one is the number of the shell's process.
        let id = self.walk.expansion().readings.saturating_add(2);
        let id = if id <= MAX_NUMBERS { id } else { 0 };
        self.walk.expansion().readings = self.walk.expansion().readings.saturating_add(1).min(MAX_NUMBERS);
        unknown(UnknownReason::Number(NumberId { id, plain }), Taint::default())
    }

    /// Returns the value of a variable in the environment, or the one that the shell sets.
    #[inline(never)]
    fn inherited(&mut self, state: &State, name: &str) -> VariableValue {
        let known = |text: String| VariableValue::Scalar(Value::text(text));
        match name {
            "PWD" => {
                return VariableValue::Scalar(state.cwd.as_ref().map_or_else(|| marker(name), Place::value));
            }
            "OLDPWD" => {
                if let Some(dir) = &state.previous {
                    return VariableValue::Scalar(dir.value());
                }
            }
            "IFS" => return known(" \t\n".to_owned()),
            "RANDOM" | "SRANDOM" | "SECONDS" | "EPOCHSECONDS" | "EPOCHREALTIME" | "LINENO" | "BASHPID" | "PPID"
            | "BASH_SUBSHELL" | "SHLVL" | "OPTIND" => {
                let taint = if name == "PPID" { Taint::PARENT } else { Taint::default() };
                return VariableValue::Scalar(self.number(name != "EPOCHREALTIME").tainted(taint));
            }
            "UID" | "EUID" if !state.elsewhere => return known(self.walk.input().invocation.uid.to_string()),
            "REPLY" => return VariableValue::Scalar(unknown(UnknownReason::Input, Taint::default())),
            "BASH" if !state.elsewhere => {
                if let Some(shell) = self.walk.input().shell_path() {
                    return known(shell);
                }
            }
            _ => {}
        }
        if state.elsewhere {
            return VariableValue::Scalar(marker(name));
        }
        if word_lists::SHELL_VARIABLES.contains(&name) && self.walk.input().invocation.env.get(name).is_none() {
            return VariableValue::Scalar(unknown(UnknownReason::Other("what the shell sets"), Taint::default()));
        }
        if is_secret_name(name) {
            // The value is private, and no judgment depends on it.
            return VariableValue::Scalar(unknown(UnknownReason::Variable(name.to_owned()), Taint::NAMED));
        }
        let given = self.walk.input().invocation.env.get(name).map(|value| reserved::taken_in(value).into_owned());
        match given {
            Some(value) => {
                self.walk.expansion().expanded.insert(name.to_owned());
                known(value)
            }
            None if name == "TMPDIR" => {
                VariableValue::Scalar(unknown(UnknownReason::Temporary { variable: true }, Taint::default()))
            }
            None => VariableValue::Scalar(marker(name)),
        }
    }

    /// Expands a parameter.
    #[inline(never)]
    pub fn parameter(
        &mut self,
        state: &mut State,
        context: &Context,
        parameter: &Parameter,
        quoted: bool,
        out: &mut Vec<Atom>,
    ) {
        if let Some(ParameterOp::NamesWithPrefix(_)) = parameter.operation {
            out.push(unknown_atom(UnknownReason::Other("names of variables"), Taint::default()));
            return;
        }
        let held = self.held(state, context, parameter);
        if let ParameterValue::Many(values, _) = &held {
            self.walk.input().copies_all(values);
        }
        if parameter.length {
            out.push(length(&held));
            return;
        }
        match &parameter.operation {
            None => push_held(held, quoted, &self.joiner(state), out),
            Some(ParameterOp::Default { colon, word }) => {
                if is_missing(&held, *colon) {
                    self.operand(state, context, word, quoted, out);
                } else {
                    self.perhaps_operand(state, context, &held, word);
                    push_held(held, quoted, &self.joiner(state), out);
                }
            }
            Some(ParameterOp::AssignDefault { colon, word }) => {
                if is_missing(&held, *colon) {
                    let value = self.single(state, context, word);
                    state.set_scalar(&parameter.name, value.clone());
                    push_expanded(&value, quoted, out);
                } else {
                    self.perhaps_operand(state, context, &held, word);
                    push_held(held, quoted, &self.joiner(state), out);
                }
            }
            Some(ParameterOp::Error { colon, word }) => {
                if is_missing(&held, *colon) {
                    self.single(state, &context.perhaps(), word);
                }
                push_held(held, quoted, &self.joiner(state), out);
            }
            Some(ParameterOp::Alternative { colon, word }) => {
                if is_missing(&held, *colon) && !may_be_set_by_shell(&held, context.dialect) {
                    out.push(Atom::Text(String::new(), if quoted { Quote::Quoted } else { Quote::Split }));
                } else {
                    self.operand(state, context, word, quoted, out);
                }
            }
            Some(operation) => {
                let held = match held {
                    ParameterValue::Unset => ParameterValue::Unset,
                    ParameterValue::One(value) => {
                        ParameterValue::One(self.transform(state, context, &value, operation))
                    }
                    ParameterValue::Many(values, star) => {
                        if let ParameterOp::Substring { offset, length } = operation {
                            ParameterValue::Many(
                                self.slice(state, context, parameter, values, offset, length.as_ref()),
                                star,
                            )
                        } else {
                            let values =
                                values.iter().map(|value| self.transform(state, context, value, operation)).collect();
                            ParameterValue::Many(values, star)
                        }
                    }
                };
                push_held(held, quoted, &self.joiner(state), out);
            }
        }
    }

    /// Returns the separator in `"$*"`.
    fn joiner(&mut self, state: &State) -> String {
        self.separators(state).chars().take(1).collect()
    }

    #[inline(never)]
    fn held(&mut self, state: &mut State, context: &Context, parameter: &Parameter) -> ParameterValue {
        let held = self.named(state, context, &parameter.name, parameter.subscript.as_ref(), parameter.indirect);
        if !parameter.indirect || matches!(held, ParameterValue::Many(..)) {
            return held;
        }
        let ParameterValue::One(value) = held else { return ParameterValue::Unset };
        match value.known_text() {
            Some(name) => match name.split_once('[') {
                Some((array, subscript)) => {
                    self.walk.embedded(state, context, subscript);
                    let word = Word {
                        parts: vec![Part::Literal(subscript.trim_end_matches(']').to_owned())],
                        span: parameter.span,
                    };
                    self.named(state, context, array, Some(&word), false)
                }
                None => self.named(state, context, &name, None, false),
            },
            None => ParameterValue::One(unknown(UnknownReason::Other("an indirect variable"), value.taint())),
        }
    }

    #[inline(never)]
    fn named(
        &mut self,
        state: &mut State,
        context: &Context,
        name: &str,
        subscript: Option<&Word>,
        indirect: bool,
    ) -> ParameterValue {
        let number = || ParameterValue::One(unknown(UnknownReason::Number(NumberId::default()), Taint::default()));
        match name {
            "@" => return ParameterValue::Many(state.positional.to_vec(), false),
            "*" => return ParameterValue::Many(state.positional.to_vec(), true),
            "#" => {
                self.walk.input().spend(state.positional.len() as u64 / 8);
                let exact = state.positional.iter().all(|value| !value.is_dynamic());
                return if exact {
                    ParameterValue::One(Value::text(state.positional.len().to_string()))
                } else {
                    number()
                };
            }
            // `$$` is the same number in the whole command.
            "$" if !state.inner => {
                let own = NumberId { id: 1, plain: true };
                return ParameterValue::One(unknown(UnknownReason::Number(own), Taint::default()));
            }
            "$" | "!" => return ParameterValue::One(self.number(true)),
            "?" => return number(),
            "-" => return ParameterValue::One(unknown(UnknownReason::Other("shell options"), Taint::default())),
            "0" => return ParameterValue::One(state.zero.clone()),
            "_" => {
                // Before the first command it is the path of the shell.
                let path = || unknown(UnknownReason::Other("what the shell sets"), Taint::default());
                return ParameterValue::One(state.last_argument.clone().unwrap_or_else(path));
            }
            _ => {}
        }
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            let index: usize = name.parse().unwrap_or(usize::MAX);
            return match state.positional.get(index.saturating_sub(1)) {
                Some(value) => ParameterValue::One(value.clone()),
                None if state.positional.iter().any(Value::is_dynamic) => ParameterValue::One(marker(name)),
                None => ParameterValue::Unset,
            };
        }
        let subscript = subscript.map(|word| self.single(state, context, word));
        if let Some(at) = subscript.as_ref().filter(|at| !at.is("@") && !at.is("*")) {
            // A name in a subscript is replaced by its value, which is evaluated again.
            self.compute(state, context, at);
        }
        match (self.lookup(state, name), subscript) {
            (VariableValue::Unset | VariableValue::Inherited, _) => ParameterValue::Unset,
            (VariableValue::Scalar(value), None) => ParameterValue::One(value),
            (VariableValue::Scalar(value), Some(at)) => match at.known().as_deref() {
                Some("@" | "*") if indirect => ParameterValue::Many(vec![Value::text("0")], false),
                Some("@") => ParameterValue::Many(vec![value], false),
                Some("*") => ParameterValue::Many(vec![value], true),
                Some("0") => ParameterValue::One(value),
                Some(at) => {
                    self.walk.embedded(state, context, at);
                    if is_unset_marker(&value) { ParameterValue::One(value) } else { ParameterValue::Unset }
                }
                None => ParameterValue::One(value),
            },
            // All elements that are not empty.
            (VariableValue::Array(elements), None) if context.dialect == Dialect::Zsh => ParameterValue::Many(
                elements.iter().map(|(_, value)| value).filter(|value| !value.is_empty()).cloned().collect(),
                false,
            ),
            (VariableValue::Array(elements), None) => {
                self.walk.input().spend(elements.len() as u64 / 8);
                let first = elements.iter().find(|(key, _)| key == "0");
                first.map_or(ParameterValue::Unset, |(_, value)| ParameterValue::One(value.clone()))
            }
            (VariableValue::Array(elements), Some(at)) => match at.known().as_deref() {
                Some(at @ ("@" | "*")) => {
                    let pick = |(key, value): &(String, Value)| {
                        if indirect { Value::text(key.as_str()) } else { value.clone() }
                    };
                    ParameterValue::Many(elements.iter().map(pick).collect(), at == "*")
                }
                Some(at) => {
                    self.walk.input().spend(elements.len() as u64 / 8);
                    let exact = elements.iter().find(|(key, _)| key == at).map(|(_, value)| value.clone());
                    let value = exact.or_else(|| {
                        let index = self.compute(state, context, &Value::text(at))?;
                        let index = if index < 0 { elements.len() as i64 + index } else { index }.to_string();
                        elements.iter().find(|(key, _)| *key == index).map(|(_, value)| value.clone())
                    });
                    value.map_or(ParameterValue::Unset, ParameterValue::One)
                }
                None => {
                    let taint = elements.iter().fold(Taint::default(), |all, (_, value)| all.and(value.taint()));
                    ParameterValue::One(unknown(UnknownReason::Other("an element of an array"), taint))
                }
            },
        }
    }

    /// Expands the word after `:-` and similar operators.
    #[inline(never)]
    fn operand(&mut self, state: &mut State, context: &Context, word: &Word, quoted: bool, out: &mut Vec<Atom>) {
        let start = out.len();
        self.atoms(state, context, word.parts.iter(), quoted, if quoted { Tilde::Never } else { Tilde::Start }, out);
        // Literal text there is split like the result of an expansion.
        for atom in out.iter_mut().skip(start) {
            if let Atom::Text(_, quote @ Quote::Bare) = atom {
                *quote = Quote::Split;
            }
        }
    }

    /// Walks the word after `:-` if the parameter may be empty.
    #[inline(never)]
    fn perhaps_operand(&mut self, state: &mut State, context: &Context, held: &ParameterValue, word: &Word) {
        if matches!(held, ParameterValue::One(value) if value.is_dynamic()) {
            let mut other = self.walk.input().fork(state);
            self.single(&mut other, &context.perhaps(), word);
        }
    }
}

fn marker(name: &str) -> Value {
    unknown(UnknownReason::Variable(name.to_owned()), Taint::default())
}

/// Reports whether a shell may set the variable itself that neither the command nor the environment sets.
fn may_be_set_by_shell(held: &ParameterValue, dialect: Dialect) -> bool {
    let ParameterValue::One(value) = held else { return false };
    let [Piece::Unknown(Unknown { why: UnknownReason::Variable(name), .. })] = value.pieces() else { return false };
    let of_zsh = name.starts_with(|c: char| c.is_ascii_lowercase());
    let own = word_lists::OTHER_SHELL_VARIABLES.contains(&name.as_str()) && (dialect == Dialect::Zsh || !of_zsh);
    own || word_lists::SHELL_VARIABLES.contains(&name.as_str())
}

/// Reports whether the default applies: the parameter is unset or, with a colon, empty.
fn is_missing(held: &ParameterValue, colon: bool) -> bool {
    match held {
        ParameterValue::Unset => true,
        ParameterValue::One(value) => {
            is_unset_marker(value)
                || is_unset_temporary(value)
                || (colon && value.known().is_some_and(|text| text.is_empty()))
        }
        ParameterValue::Many(values, _) => {
            values.is_empty() || (colon && values.iter().all(|value| value.known().is_some_and(|text| text.is_empty())))
        }
    }
}

fn length(held: &ParameterValue) -> Atom {
    let count = match held {
        ParameterValue::Unset => Some(0),
        ParameterValue::One(value) => value.known().map(|text| text.chars().count()),
        ParameterValue::Many(values, _) => Some(values.len()),
    };
    match count {
        Some(count) => Atom::Text(count.to_string(), Quote::Split),
        None => unknown_atom(UnknownReason::Number(NumberId::default()), Taint::default()),
    }
}

fn push_held(held: ParameterValue, quoted: bool, joiner: &str, out: &mut Vec<Atom>) {
    match held {
        ParameterValue::Unset => {
            out.push(Atom::Text(String::new(), if quoted { Quote::Quoted } else { Quote::Split }));
        }
        ParameterValue::One(value) => push_expanded(&value, quoted, out),
        ParameterValue::Many(values, star) => {
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(if star && quoted { Atom::Text(joiner.to_owned(), Quote::Quoted) } else { Atom::Break });
                }
                push_expanded(value, quoted, out);
            }
        }
    }
}
