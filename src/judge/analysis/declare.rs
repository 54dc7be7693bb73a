//! `declare` and similar builtins, `set` and `unset`: attributes of variables, and options.

use std::rc::Rc;

use super::act::Value;
use super::builtins::operands;
use super::command_context::Context;
use super::expand::Field;
use super::state::{Attribute, Build as _, State, Variable, VariableValue};
use super::walk::Walker;

impl Walker<'_> {
    #[inline(never)]
    pub fn declare(&mut self, state: &mut State, context: &Context, builtin: &str, args: &[Field]) {
        let mut exported = builtin == "export";
        let mut attribute = None;
        let mut global = false;
        let mut functions = false;
        let mut compound = false;
        for field in args {
            let Some(text) = field.value.known().filter(|text| text.starts_with(['-', '+'])) else { break };
            for letter in text.chars().skip(1) {
                match letter {
                    'x' => exported = true,
                    'l' => attribute = Some(Attribute::Lower),
                    'u' => attribute = Some(Attribute::Upper),
                    'i' => attribute = Some(Attribute::Integer),
                    'n' if builtin != "export" => attribute = Some(Attribute::Reference),
                    'g' => global = true,
                    'f' => functions = true,
                    'a' | 'A' => compound = true,
                    _ => {}
                }
            }
        }
        for field in operands(args) {
            let assigned = assignment(&field.value);
            let name = match &assigned {
                Some((name, _, _)) => name.clone(),
                None => match field.value.known_text() {
                    Some(name) => name,
                    None => continue,
                },
            };
            if functions {
                state.exported_functions.insert(name, ());
                continue;
            }
            // `a=(…)` was assigned during expansion.
            let array = matches!(state.variable(&name).and_then(|v| v.values.first()), Some(VariableValue::Array(_)));
            if builtin != "export" && builtin != "readonly" && !global && !array {
                state.localize_if(&name, context);
            }
            if let Some(attribute) = attribute {
                if !state.sets(&name) {
                    state.put(&name, Some(Variable::of(VariableValue::Inherited)));
                }
                let now = if attribute == Attribute::Reference { Attribute::Plain } else { attribute };
                state.change(&name, |variable| variable.attribute = now);
            }
            let held = |value: &Value| !state.sets(&name) && self.input.holds_already(&name, value);
            let assigned = assigned.filter(|(_, append, value)| *append || !held(value));
            let assigned = match assigned {
                // The quoted list of an array is evaluated again: `declare -a 'a=($(ls))'`.
                Some((_, append, value)) if (compound || array) && value.leading().trim_start().starts_with('(') => {
                    let mut code = Value::text(format!("{name}{}", if append { "+=" } else { "=" }));
                    code.push_value(&value);
                    self.read_value(state, &context.elsewhere(field.span), &code, field.span);
                    continue;
                }
                assigned => assigned,
            };
            if let Some((_, append, value)) = assigned.filter(|_| !array) {
                let value = if append { self.added(state, &name, &value) } else { value };
                self.set_scalar(state, context, &name, value);
            }
            if attribute == Some(Attribute::Reference) {
                state.change(&name, |variable| variable.attribute = Attribute::Reference);
                // A subscript in the referenced name is evaluated, including substitutions in it.
                let target = match state.variable(&name).and_then(|variable| variable.values.first()) {
                    Some(VariableValue::Scalar(value)) => value.known_text().filter(|text| text.contains('[')),
                    _ => None,
                };
                if let Some(text) = target {
                    self.walk_embedded(state, context, &text);
                }
            }
            if exported {
                let held = state.variable(&name).and_then(|variable| match variable.values.first() {
                    Some(VariableValue::Scalar(value)) => Some(value.clone()),
                    _ => None,
                });
                if let Some(value) = held {
                    self.command_variable(state, context, &name, &value, field.span);
                }
                state.export(&name);
            }
        }
    }

    pub fn added(&mut self, state: &State, name: &str, value: &Value) -> Value {
        match self.expand().lookup(state, name) {
            VariableValue::Scalar(mut old) if !super::parameter::is_unset_marker(&old) => {
                old.push_value(value);
                old
            }
            _ => value.clone(),
        }
    }
}

/// Splits `name=value` into the name, whether it appends, and the value.
pub(super) fn assignment(value: &Value) -> Option<(String, bool, Value)> {
    let leading = value.leading();
    let at = leading.find('=')?;
    let name = leading.get(..at)?;
    let (name, append) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    (!name.is_empty()).then(|| (name.to_owned(), append, value.without_leading(at + 1)))
}

/// Returns the positional parameters that `set` defines.
fn values(fields: &[Field]) -> Rc<Vec<Value>> {
    Rc::new(fields.iter().map(|field| field.value.clone()).collect())
}

pub(super) fn unset(state: &mut State, args: &[Field]) {
    let functions = args.iter().any(|field| field.value.is("-f"));
    for field in operands(args) {
        let Some(name) = field.value.known_text() else { continue };
        if functions {
            state.functions.remove(&name);
        } else if let Some((array, subscript)) = name.split_once('[') {
            let key = subscript.trim_end_matches(']');
            state.change(array, |variable| {
                for bound in &mut variable.values {
                    if let VariableValue::Array(elements) = bound {
                        Rc::make_mut(elements).retain(|(own, _)| own != key);
                    }
                }
            });
        } else {
            state.set(&name, VariableValue::Unset);
            state.functions.remove(&name);
        }
    }
}

pub(super) fn set(state: &mut State, args: &[Field]) {
    let mut rest = args;
    while let Some((first, others)) = rest.split_first() {
        let Some(text) = first.value.known_text() else { break };
        match text.as_str() {
            "--" => {
                state.positional = values(others);
                return;
            }
            "-o" | "+o" => {
                if let Some(option) = others.first().and_then(|field| field.value.known_text()) {
                    if text == "-o" {
                        state.set_glob_option(&option);
                    }
                    match option.as_str() {
                        "errexit" => state.errexit = text == "-o",
                        "noglob" => state.noglob = text == "-o",
                        "allexport" => state.allexport = text == "-o",
                        "xtrace" | "verbose" => state.traces = text == "-o",
                        _ => {}
                    }
                }
                rest = others.get(1..).unwrap_or_default();
            }
            option if option.starts_with(['-', '+']) && option.len() > 1 => {
                let on = option.starts_with('-');
                for letter in option.chars().skip(1) {
                    match letter {
                        'e' => state.errexit = on,
                        'f' => state.noglob = on,
                        'a' => state.allexport = on,
                        'x' | 'v' => state.traces = on,
                        _ => {}
                    }
                }
                let named = option.ends_with('o');
                if named && others.first().is_some_and(|field| field.value.is("errexit")) {
                    state.errexit = on;
                }
                rest = if named { others.get(1..).unwrap_or_default() } else { others };
            }
            _ => break,
        }
    }
    if !rest.is_empty() {
        state.positional = values(rest);
    }
}
