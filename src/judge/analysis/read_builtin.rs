//! `read` and `mapfile`, which set variables from standard input.

use std::rc::Rc;

use super::act::{Taint, UnknownReason, Value};
use super::builtins::{operands, within};
use super::command_context::Context;
use super::expand::Field;
use super::state::{Build as _, MAX_CHOICES, State, VariableValue, unknown};
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
        let reading = Reading::of(args);
        let other = reading.descriptor.map(|number| state.streams.get(number));
        let outer = other.map(|stream| std::mem::replace(&mut state.streams.stdin, stream));
        let (text, taint, _) = self.progress().stdin_of(state);
        if let Some(outer) = outer {
            state.streams.stdin = outer;
        }
        let not_known = || unknown(UnknownReason::Input, taint.and(text.taint()));
        let separators = if state.sets("IFS") {
            match self.expand().lookup(state, "IFS") {
                VariableValue::Scalar(value) => value.known_text(),
                VariableValue::Array(_) => None,
                VariableValue::Unset | VariableValue::Inherited => Some(SEPARATORS.to_owned()),
            }
        } else {
            Some(SEPARATORS.to_owned())
        };
        let lines = text.known().filter(|text| reading.is_plain(text)).map(|text| {
            let text = text.strip_suffix(reading.delimiter).unwrap_or(&text);
            text.split(reading.delimiter).map(str::to_owned).collect::<Vec<_>>()
        });
        // The items of a list are whole names.
        if text.known().is_none()
            && let [name] = reading.names.as_slice()
            && let Some(names) = super::search_results::listed(&text).filter(|names| names.len() <= MAX_CHOICES)
        {
            return bind(state, name, names.into_iter().map(VariableValue::Scalar).collect(), None);
        }
        let (Some(lines), Some(separators)) = (lines.filter(|_| !text.is_empty()), separators) else {
            for name in reading.targets() {
                state.set_scalar(name, not_known());
            }
            return;
        };
        // Each line that a loop may read is a possible value; lines after the limit are unknown.
        let more = lines.len() > MAX_CHOICES;
        let followed = if more { MAX_CHOICES - 1 } else { lines.len() };
        let count = reading.array.is_none().then(|| reading.names.len().max(1));
        let lines: Vec<Vec<String>> = lines.iter().take(followed).map(|line| words(line, &separators, count)).collect();

        if let Some(array) = &reading.array {
            let elements = |words: Vec<String>| {
                words.into_iter().enumerate().map(|(at, word)| (at.to_string(), Value::text(word))).collect()
            };
            let values: Vec<VariableValue> =
                lines.into_iter().map(|words| VariableValue::Array(Rc::new(elements(words)))).collect();
            bind(state, array, values, more.then(not_known));
            return;
        }
        for (at, name) in reading.targets().enumerate() {
            let word =
                |words: &Vec<String>| VariableValue::Scalar(Value::text(words.get(at).map_or("", String::as_str)));
            bind(state, name, lines.iter().map(word).collect(), more.then(not_known));
        }
    }

    #[inline(never)]
    pub fn mapfile(&mut self, state: &mut State, context: &Context, args: &[Field], span: Span) {
        let callback = args.iter().position(|field| field.value.is("-C")).and_then(|at| args.get(at + 1));
        if let Some(callback) = callback {
            let mut line = callback.value.clone();
            line.push_text(" 0 ");
            line.push_value(&unknown(UnknownReason::Input, Taint::default()));
            self.read_value(state, &within(context, "mapfile").elsewhere(span), &line, span);
        }
        let name = operands(args).last().and_then(|field| field.value.known_text()).unwrap_or("MAPFILE".to_owned());
        let (text, taint, _) = self.progress().stdin_of(state);
        let bound = match text.known() {
            Some(text) => {
                let lines = text.lines().enumerate().map(|(at, line)| (at.to_string(), Value::text(line)));
                VariableValue::Array(Rc::new(lines.take(256).collect()))
            }
            None if let Some(names) = super::search_results::listed(&text) => VariableValue::Array(Rc::new(
                names.into_iter().enumerate().map(|(at, name)| (at.to_string(), name)).collect(),
            )),
            None => {
                let value = unknown(UnknownReason::Input, taint.and(text.taint()));
                VariableValue::Array(Rc::new(vec![("0".to_owned(), value)]))
            }
        };
        state.set(&name, bound);
    }
}

/// The default separators of `read`.
const SEPARATORS: &str = " \t\n";

/// The options of `read`.
struct Reading {
    names: Vec<String>,
    array: Option<String>,
    descriptor: Option<u32>,
    /// The character that ends a line.
    delimiter: char,
    raw: bool,
    /// Whether only a part of the line may be read, or an option is unknown.
    unclear: bool,
}

impl Reading {
    fn of(args: &[Field]) -> Self {
        let mut reading =
            Self { names: Vec::new(), array: None, descriptor: None, delimiter: '\n', raw: false, unclear: false };
        let mut args = args.iter().map(|field| field.value.known_text());
        let mut ended = false;
        while let Some(arg) = args.next() {
            let Some(text) = arg else {
                reading.unclear = true;
                continue;
            };
            let options = text.strip_prefix('-').filter(|options| !options.is_empty() && !ended);
            let Some(options) = options.filter(|_| reading.names.is_empty()) else {
                reading.names.push(text);
                continue;
            };
            ended = options == "-";
            for (at, option) in options.char_indices() {
                if !matches!(option, 'a' | 'd' | 'i' | 'n' | 'N' | 'p' | 't' | 'u') {
                    reading.raw |= option == 'r';
                    continue;
                }
                let attached = options.get(at + 1..).filter(|rest| !rest.is_empty()).map(str::to_owned);
                let value = attached.or_else(|| args.next().flatten());
                match (option, value) {
                    ('p', _) => {}
                    ('a', Some(name)) => reading.array = Some(name),
                    ('d', Some(delimiter)) => reading.delimiter = delimiter.chars().next().unwrap_or('\0'),
                    ('u', Some(number)) => match number.parse() {
                        Ok(number) => reading.descriptor = Some(number),
                        Err(_) => reading.unclear = true,
                    },
                    _ => reading.unclear = true,
                }
                break;
            }
        }
        reading
    }

    /// Reports whether `read` returns the lines of this text unchanged.
    fn is_plain(&self, text: &str) -> bool {
        !self.unclear && (self.raw || !text.contains('\\'))
    }

    /// Returns the variables that are set.
    fn targets(&self) -> impl Iterator<Item = &str> {
        let reply = (self.names.is_empty() && self.array.is_none()).then_some("REPLY");
        self.names.iter().map(String::as_str).chain(self.array.as_deref()).chain(reply)
    }
}

/// Sets a variable to one of several values.
fn bind(state: &mut State, name: &str, values: Vec<VariableValue>, more: Option<Value>) {
    let mut different: Vec<VariableValue> = Vec::new();
    for value in values.into_iter().chain(more.map(VariableValue::Scalar)) {
        if !different.contains(&value) {
            different.push(value);
        }
    }
    // The name is that of an element of an array.
    if name.ends_with(']') {
        different.into_iter().for_each(|value| state.set(name, value));
        return;
    }
    state.set_scalar(name, Value::default());
    state.change(name, |variable| variable.values = different);
    state.several.insert(name, ());
}

/// Splits a line into words like `read`; the last of `count` words gets the rest of the line.
fn words(line: &str, separators: &str, count: Option<usize>) -> Vec<String> {
    let separates = |c: char| separators.contains(c);
    let blank = |c: char| separates(c) && matches!(c, ' ' | '\t' | '\n');
    let mut words: Vec<String> = Vec::new();
    let mut rest = line.trim_matches(blank);
    while !rest.is_empty() {
        if count == Some(words.len() + 1) {
            // A separator after a single word is removed.
            let alone = rest.strip_suffix(separates).map(|word| word.trim_end_matches(blank));
            words.push(alone.filter(|word| !word.contains(separates)).unwrap_or(rest).to_owned());
            break;
        }
        let (word, after) = rest.split_at(rest.find(separates).unwrap_or(rest.len()));
        words.push(word.to_owned());
        let after = after.trim_start_matches(blank);
        rest = after.strip_prefix(separates).unwrap_or(after).trim_start_matches(blank);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::testing::removes;
    use super::*;

    #[test]
    fn lines_are_split_as_read_splits_them() {
        assert_eq!(words(" a  b c ", SEPARATORS, Some(2)), ["a", "b c"]);
        assert_eq!(words("a,b,c", ",", Some(2)), ["a", "b,c"]);
        assert_eq!(words("a,b,", ",", Some(2)), ["a", "b"]);
        assert_eq!(words("a,,b", ",", None), ["a", "", "b"]);
        assert_eq!(words(",b", ",", Some(2)), ["", "b"]);
        assert_eq!(words("a , b", " ,", Some(2)), ["a", "b"]);
        assert_eq!(words("  a b ", "", Some(1)), ["  a b "]);
    }

    #[test]
    fn read_splits_at_what_stands_in_front_of_it() {
        removes("IFS=, read x y <<< a,data; rm $y", &["rm data"]);
        removes("IFS=, read -ra a <<< rm,-r,data; \"${a[@]}\"", &["rm -r data"]);
        removes("while IFS=, read a b; do rm $b; done <<< x,data", &["rm data"]);
        removes("IFS=: read -r x y <<< 'a b:c d'; rm \"$y\"", &["rm c d"]);
        removes("read x y <<< 'a data'; rm $y", &["rm data"]);
        removes("IFS=, read x <<< a; read x y <<< 'a,b c'; rm $y", &["rm c"]);
    }

    #[test]
    fn read_reads_the_descriptor_it_is_told() {
        removes("read -u 3 x 3<<< data; rm $x", &["rm data"]);
        removes("read -ru3 x 3<<< data; rm $x", &["rm data"]);
        removes("read -rd, x <<< data,y; rm $x", &["rm data", "rm y"]);
    }

    #[test]
    fn what_read_may_not_fill_so_is_unknown() {
        removes("read x <<< 'da\\ta'; rm $x", &["rm ?"]);
        removes("read -n 4 x <<< datax; rm $x", &["rm ?"]);
        removes("IFS=$(cat f) read x y <<< a,data; rm $y", &["rm ?"]);
        removes("read $O x y <<< 'a data'; rm $y", &["rm ?"]);
    }
}
