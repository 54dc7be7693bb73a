//! Wrappers: commands inside commands, as far as the descriptions of programs name them.

use super::act::{Taint, UnknownReason, Value};
use super::arguments::{InnerCommand, InnerText, Reading};
use super::builtins::within;
use super::command::Lookup;
use super::expand::Field;
use super::frame::Frame;
use super::state::{Build, State, unknown};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::rules::model::Added;
use crate::judge::syntax::tree::{Dialect, Span};

/// Words of known input that a wrapper hands on one by one.
const MAX_INPUT_WORDS: usize = 64;

impl Walker<'_> {
    /// Walks the commands that a program runs.
    pub fn inner(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        reading: &Reading,
        env: &[(String, Value)],
        span: Span,
    ) {
        for (index, inner) in reading.inner.iter().enumerate() {
            // Two layers may describe one program the same way.
            let same = |other: &InnerCommand| {
                (&other.what, other.root, &other.replace) == (&inner.what, inner.root, &inner.replace)
            };
            if reading.inner.iter().take(index).any(same) {
                continue;
            }
            self.inner_command(state, frame, name, reading, inner, env, span);
        }
    }

    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn inner_command(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        reading: &Reading,
        inner: &InnerCommand,
        env: &[(String, Value)],
        span: Span,
    ) {
        let mut within = within(frame, name);
        within.root |= inner.root;
        if inner.remote.is_some() {
            within.remote.clone_from(&inner.remote);
            within.root = inner.root;
        }
        let set: Vec<(String, Value)> = env.iter().chain(&inner.env).cloned().collect();
        let mut child = if inner.remote.is_some() { state.elsewhere(&inner.env) } else { state.child(&set) };
        let input = self.stdin_of(state);
        if inner.adds == Added::Input {
            child.streams.stdin = Stream::Nothing;
        }
        let found = reading.operands.first().map(|start| start.value.clone());
        let added = match inner.adds {
            Added::Nothing => Vec::new(),
            Added::Found => {
                let start = found.and_then(|start| start.pattern()).filter(|start| !start.starts_with('-'));
                vec![unknown(UnknownReason::Found(start.or(Some(".".to_owned()))), Taint::default())]
            }
            Added::Input => input_words(&input.0, input.1, &Separator::of(reading)),
        };
        // `find` puts what it found where the braces stand and nowhere else.
        let appends = inner.replace.is_none() && !(inner.adds == Added::Found && name == "find");
        match &inner.what {
            InnerText::Argv(args) => {
                let mut fields: Vec<Field> = Vec::new();
                for arg in args {
                    let placed = inner.replace.as_deref().map(|mark| placed(&arg.value, mark, &added));
                    match placed {
                        Some(values) => {
                            fields.extend(values.into_iter().map(|value| Field {
                                value,
                                span: arg.span,
                                disguise: None,
                            }));
                        }
                        None => fields.push(Field { value: arg.value.clone(), span: arg.span, disguise: None }),
                    }
                }
                if appends {
                    let end = args.last().map_or(span, |arg| arg.span);
                    fields.extend(added.into_iter().map(|value| Field { value, span: end, disguise: None }));
                }
                let span = args.iter().map(|arg| arg.span).reduce(Span::to).unwrap_or(span);
                self.run(&mut child, &within, fields, set, span, Lookup::Programs);
            }
            InnerText::Line(line, at) => {
                let mut line = line.clone();
                if let Some(mark) = inner.replace.as_deref() {
                    if let Some(value) = placed(&line, mark, &added).into_iter().next() {
                        line = value;
                    }
                } else if appends {
                    for value in &added {
                        line.push_text(" ");
                        line.push_value(value);
                    }
                }
                let mut positional = inner.positional.iter().map(|operand| operand.value.clone());
                child.zero = positional.next().unwrap_or_else(|| Value::text("sh"));
                child.positional = positional.collect();
                within.spans = self.spans_of(frame, *at, &line);
                within.dialect = Dialect::Bash;
                self.read_value(&mut child, &within, &line, *at);
            }
            InnerText::BareShell => {
                within.dialect = Dialect::Bash;
                self.stdin_code(&mut child, &within, span);
            }
        }
    }
}

/// How standard input is cut into arguments.
enum Separator {
    /// At blanks, quotes and backslashes taken as in a shell.
    Blanks,
    /// Each line is one.
    Lines,
    /// At this character.
    Char(char),
}

impl Separator {
    fn of(reading: &Reading) -> Self {
        let flag = |names: &[&str]| reading.flags.iter().find(|flag| names.contains(&flag.name.as_str()));
        if flag(&["-0", "--null"]).is_some() {
            return Self::Char('\0');
        }
        if let Some(flag) = flag(&["-d", "--delimiter"]) {
            let text = flag.value.as_ref().and_then(Build::known_text).and_then(|text| super::output::escapes(&text));
            return text.and_then(|text| text.chars().next()).map_or(Self::Lines, Self::Char);
        }
        if flag(&["-I", "-i", "--replace", "-J"]).is_some() { Self::Lines } else { Self::Blanks }
    }
}

/// The words that come in on standard input, as far as they are known.
fn input_words(text: &Value, taint: Taint, separator: &Separator) -> Vec<Value> {
    if let Some(known) = text.known() {
        let words: Vec<String> = match separator {
            Separator::Blanks => quoted_words(&known),
            Separator::Lines => known.lines().map(|line| line.trim_start().to_owned()).collect(),
            Separator::Char(c) => known.strip_suffix(*c).unwrap_or(&known).split(*c).map(str::to_owned).collect(),
        };
        if words.len() <= MAX_INPUT_WORDS {
            return words.into_iter().map(Value::text).collect();
        }
    }
    vec![unknown(UnknownReason::Input, taint.and(text.taint()))]
}

/// Words separated by blanks, with quotes and backslashes.
fn quoted_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// A value with `mark` replaced by each of the added values in turn; itself where the mark does not stand in it.
fn placed(value: &Value, mark: &str, added: &[Value]) -> Vec<Value> {
    use super::act::Piece;
    let stands = value.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains(mark)));
    if !stands || mark.is_empty() {
        return vec![value.clone()];
    }
    added
        .iter()
        .map(|added| {
            let mut result = Value::default();
            for piece in &value.pieces {
                match piece {
                    Piece::Text(text) => {
                        for (index, part) in text.split(mark).enumerate() {
                            if index > 0 {
                                result.push_value(added);
                            }
                            result.push_text(part);
                        }
                    }
                    other => result.push_piece(other),
                }
            }
            result
        })
        .collect()
}
