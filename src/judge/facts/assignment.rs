//! Assignments: scalars, arrays and their elements, as the variable was declared to take them.

use super::act::{NumberId, UnknownReason, Value};
use super::change::with_attribute;
use super::command::assignment_of;
use super::expand::Field;
use super::frame::Frame;
use super::state::{Attribute, Bound, Build as _, State, unknown};
use super::walk::Walker;
use crate::judge::order;
use crate::judge::syntax::tree::{ArrayElement, Assignment, AssignmentValue, Dialect, Part, Span, Word};

/// Variables whose value a shell runs by itself.
const RUN_BY_SHELLS: [&str; 3] = ["NULLCMD", "PROMPT_COMMAND", "READNULLCMD"];

/// Variables of the shell that take numbers: what they are set to is evaluated.
const NUMBERS: [&str; 7] = ["EPOCHSECONDS", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"];

impl Walker<'_> {
    /// An array of zsh that is one of its own tables: aliases, functions, paths of commands.
    fn zsh_table(&mut self, state: &mut State, frame: &Frame, name: &str, elements: &[(String, Value)]) {
        for (key, value) in elements {
            match name {
                "aliases" | "galiases" => drop(state.aliases.insert(key.clone(), value.clone())),
                "commands" => drop(value.known_text().and_then(|path| state.hashed.insert(key.clone(), path))),
                "functions" => {
                    let text = value.known_text().unwrap_or_default();
                    if key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)) {
                        let frame = frame.elsewhere(frame.spans.map(Span::default()));
                        self.text(state, &frame, &format!("{key}() {{\n{text}\n}}"));
                    }
                }
                _ => {}
            }
        }
    }

    /// Makes an assignment, or only works out its value where a command follows.
    #[inline(never)]
    pub fn assign(&mut self, state: &mut State, frame: &Frame, assignment: &Assignment, lasting: bool) -> Value {
        let subscript = assignment.subscript.as_ref().map(|word| {
            let value = self.single(state, frame, word);
            if let Some(text) = value.known_text() {
                self.embedded(state, frame, &text);
            }
            self.compute(state, frame, &value);
            value.known_text()
        });
        let name = assignment.name.as_str();
        match &assignment.value {
            AssignmentValue::Array(elements) => {
                let array = self.elements(state, frame, name, elements, assignment.append);
                if lasting {
                    if frame.dialect == Dialect::Zsh {
                        self.zsh_table(state, frame, name, &array);
                    }
                    state.set(name, Bound::Array(array));
                }
                Value::default()
            }
            AssignmentValue::Scalar(word) => {
                let mut value = self.assigned_value(state, frame, word);
                if !lasting {
                    return value;
                }
                match subscript {
                    None => {
                        if assignment.append {
                            value = self.appended(state, name, &value);
                        }
                        self.set_scalar(state, frame, name, value.clone());
                        // What the environment has is handed on as it is now.
                        if self.invocation.env.get(name).is_some()
                            && let Some(variable) = state.variables.get_mut(name)
                        {
                            variable.exported = true;
                        }
                        if name.starts_with("PS") || RUN_BY_SHELLS.contains(&name) {
                            self.command_variable(state, frame, name, &value, frame.spans.map(assignment.span));
                        }
                    }
                    Some(None) => state.set_scalar(name, unknown(UnknownReason::Other("an array"), value.taint())),
                    Some(Some(key)) => {
                        let mut array = match self.lookup(state, name) {
                            Bound::Array(array) => array,
                            Bound::Scalar(old) if !super::parameter::is_unset_marker(&old) => {
                                vec![("0".to_owned(), old)]
                            }
                            _ => Vec::new(),
                        };
                        let old = array.iter().position(|(other, _)| *other == key);
                        match old.and_then(|at| array.get_mut(at)) {
                            Some((_, old)) if assignment.append => old.push_value(&value),
                            Some((_, old)) => *old = value.clone(),
                            None => array.push((key, value.clone())),
                        }
                        if frame.dialect == Dialect::Zsh {
                            self.zsh_table(state, frame, name, &array);
                        }
                        state.set(name, Bound::Array(array));
                    }
                }
                value
            }
        }
    }

    #[inline(never)]
    pub fn appended(&mut self, state: &State, name: &str, value: &Value) -> Value {
        match self.lookup(state, name) {
            Bound::Scalar(mut old) if !super::parameter::is_unset_marker(&old) => {
                old.push_value(value);
                old
            }
            _ => value.clone(),
        }
    }

    /// Sets a scalar as its variable was declared: in lower case, as a number, through a reference.
    #[inline(never)]
    pub fn set_scalar(&mut self, state: &mut State, frame: &Frame, name: &str, value: Value) {
        let attribute = state.variables.get(name).map_or(Attribute::Plain, |variable| variable.attribute);
        if NUMBERS.contains(&name) {
            self.compute(state, frame, &value);
        }
        match attribute {
            Attribute::Reference => {
                let target = state.variables.get(name).and_then(|variable| match variable.values.first() {
                    Some(Bound::Scalar(target)) => target.known_text(),
                    _ => None,
                });
                match target.filter(|target| target != name) {
                    Some(target) => state.set_scalar(&target, value),
                    None => state.set_scalar(name, value),
                }
            }
            Attribute::Integer => {
                let number = self.compute(state, frame, &value);
                let value = number.map_or_else(
                    || unknown(UnknownReason::Number(NumberId::default()), value.taint()),
                    |number| Value::text(number.to_string()),
                );
                state.set_scalar(name, value);
            }
            attribute => state.set_scalar(name, with_attribute(value, attribute)),
        }
    }

    /// The elements of `( … )`.
    #[inline(never)]
    pub fn elements(
        &mut self,
        state: &mut State,
        frame: &Frame,
        name: &str,
        elements: &[ArrayElement],
        append: bool,
    ) -> Vec<(String, Value)> {
        let mut array = match self.lookup(state, name) {
            Bound::Array(old) if append => old,
            Bound::Scalar(old) if append && !super::parameter::is_unset_marker(&old) => vec![("0".to_owned(), old)],
            _ => Vec::new(),
        };
        let mut next = array.iter().filter_map(|(key, _)| key.parse::<u64>().ok()).max().map_or(0, |last| last + 1);
        for element in elements {
            match &element.subscript {
                Some(subscript) => {
                    let key = self.single(state, frame, subscript);
                    let value = self.single(state, frame, &element.value);
                    let key = key.known_text().unwrap_or_default();
                    if let Ok(number) = key.parse::<u64>() {
                        next = number.saturating_add(1);
                    }
                    array.retain(|(other, _)| *other != key);
                    array.push((key, value));
                }
                None => {
                    let mut fields = Vec::new();
                    self.fields(state, frame, &element.value, &mut fields);
                    for field in fields {
                        array.push((next.to_string(), field.value));
                        next = next.saturating_add(1);
                    }
                }
            }
        }
        order::sort_by_key(&mut array, |(key, _)| key.parse::<u64>().unwrap_or(u64::MAX));
        array
    }

    /// An argument of a declaring builtin that is an assignment: it is not split, and made by the builtin later.
    #[inline(never)]
    pub fn declared(&mut self, state: &mut State, frame: &Frame, word: &Word, out: &mut Vec<Field>) {
        let value = self.assigned_value(state, frame, word);
        out.push(Field { value, span: frame.spans.map(word.span), disguise: None });
        if let (Some(name), Some(Part::Array(elements))) = (assignment_of(word), word.parts.last()) {
            let name = name.trim_end_matches('+').to_owned();
            let array = self.elements(state, frame, &name, elements, false);
            state.localize_if(&name, frame);
            state.set(&name, Bound::Array(array));
        }
    }

    /// Sets the assignments in front of a function or builtin; what they hide.
    pub fn set_for(state: &mut State, env: &[(String, Value)]) -> Vec<(String, Option<super::state::Variable>)> {
        env.iter()
            .map(|(name, value)| {
                let old = state.variables.get(name).cloned();
                state.set_scalar(name, value.clone());
                (name.clone(), old)
            })
            .collect()
    }

    /// Puts back what [`Self::set_for`] hid.
    pub fn put_back(state: &mut State, outer: Vec<(String, Option<super::state::Variable>)>) {
        for (name, old) in outer {
            match old {
                Some(old) => state.variables.insert(name, old),
                None => state.variables.remove(&name),
            };
        }
    }
}
