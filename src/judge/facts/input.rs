//! `read` and `mapfile`: variables that are set from standard input.

use super::act::{Taint, UnknownReason, Value};
use super::builtins::{operands, within};
use super::expand::Field;
use super::frame::Frame;
use super::state::{Bound, Build as _, MAX_CHOICES, State, unknown};
use super::walk::Walker;
use crate::judge::syntax::tree::Span;

impl Walker<'_> {
    #[inline(never)]
    pub fn read(&mut self, state: &mut State, builtin: &str, args: &[Field]) {
        if builtin == "getopts" {
            if let Some(name) = args.get(1).and_then(|field| field.value.known_text()) {
                state.set_scalar(&name, unknown(UnknownReason::Input, Taint::default()));
            }
            state.set_scalar("OPTARG", unknown(UnknownReason::Input, Taint::default()));
            return;
        }
        let mut array = None;
        let mut names = Vec::new();
        let mut index = 0;
        while let Some(text) = args.get(index).and_then(|field| field.value.known_text()) {
            index += 1;
            match text.strip_prefix('-') {
                Some(options) if !options.is_empty() && names.is_empty() => {
                    let takes_value = options.ends_with(['a', 'd', 'i', 'n', 'N', 'p', 't', 'u']);
                    if takes_value {
                        if options.ends_with('a') {
                            array = args.get(index).and_then(|field| field.value.known_text());
                        }
                        index += 1;
                    }
                }
                _ => names.push(text),
            }
        }
        let (text, taint, _) = self.stdin_of(state);
        let lines: Option<Vec<String>> =
            text.known().map(|text| text.lines().take(MAX_CHOICES).map(str::to_owned).collect());
        let Some(lines) = lines.filter(|lines| !lines.is_empty()) else {
            let value = unknown(UnknownReason::Input, taint.and(text.taint()));
            let reply = "REPLY".to_owned();
            for name in names.iter().chain(&array).chain(names.is_empty().then_some(&reply)) {
                state.set_scalar(name, value.clone());
            }
            return;
        };
        if let Some(array) = array {
            let words = lines.first().map(|line| line.split_whitespace()).into_iter().flatten();
            let elements = words.enumerate().map(|(at, word)| (at.to_string(), Value::text(word))).collect();
            state.set(&array, Bound::Array(elements));
            return;
        }
        if names.is_empty() {
            names.push("REPLY".to_owned());
        }
        // Each line that a loop may read is one of the values.
        for (at, name) in names.iter().enumerate() {
            let last = at + 1 == names.len();
            let mut values: Vec<Bound> = Vec::new();
            for line in &lines {
                let value = Bound::Scalar(Value::text(nth_word(line, at, last)));
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            state.set_scalar(name, Value::default());
            if let Some(variable) = state.variables.get_mut(name) {
                variable.values = values;
            }
        }
    }

    #[inline(never)]
    pub fn mapfile(&mut self, state: &mut State, frame: &Frame, args: &[Field], span: Span) {
        let callback = args.iter().position(|field| field.value.is("-C")).and_then(|at| args.get(at + 1));
        if let Some(callback) = callback {
            let mut line = callback.value.clone();
            line.push_text(" 0 ");
            line.push_value(&unknown(UnknownReason::Input, Taint::default()));
            self.read_value(state, &within(frame, "mapfile").elsewhere(span), &line, span);
        }
        let name = operands(args).last().and_then(|field| field.value.known_text()).unwrap_or("MAPFILE".to_owned());
        let (text, taint, _) = self.stdin_of(state);
        let bound = match text.known() {
            Some(text) => Bound::Array(
                text.lines().enumerate().map(|(at, line)| (at.to_string(), Value::text(line))).take(256).collect(),
            ),
            None => {
                let value = unknown(UnknownReason::Input, taint.and(text.taint()));
                Bound::Array(vec![("0".to_owned(), value)])
            }
        };
        state.set(&name, bound);
    }
}

/// One blank-separated word of a line, or all from there on.
pub(super) fn nth_word(line: &str, at: usize, to_the_end: bool) -> String {
    let mut rest = line.trim();
    for _ in 0..at {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    if to_the_end { rest.to_owned() } else { rest.split_whitespace().next().unwrap_or("").to_owned() }
}
