//! Wrappers: walks the commands that described programs run.

use std::rc::Rc;

use super::act::{Operand, Piece, Taint, UnknownReason, Value};
use super::analysis_input::AnalysisInput;
use super::arguments::{Arg, InnerCommand, InnerText, Reading};
use super::builtins::within;
use super::command_context::Context;
use super::expand::Field;
use super::follow::Step;
use super::heuristic_wrappers::PossibleCommand;
use super::program_run::ProgramRun;
use super::resolve::Lookup;
use super::search_results;
use super::state::{Build, State, unknown};
use super::streams::Stream;
use super::walk::Walker;
use crate::judge::rules::model::Added;
use crate::judge::syntax;
use crate::judge::syntax::tree::{Dialect, Span};

/// Maximum number of words of known input that a wrapper passes on.
const MAX_INPUT_WORDS: usize = 64;

impl Walker<'_> {
    /// Walks the commands that a program runs.
    pub fn inner(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let reading = ran.reading;
        for (index, inner) in reading.inner.iter().enumerate() {
            // Several layers may describe the same command.
            let same = |other: &InnerCommand| {
                (&other.what, other.root, &other.replace) == (&inner.what, inner.root, &inner.replace)
            };
            // The arguments of the wrapper are visited for each command.
            if !self.input.spend((reading.flags.len() + reading.operands.len() + index) as u64 / 4) {
                break;
            }
            if reading.inner.iter().take(index).any(same) {
                continue;
            }
            self.inner_command(state, context, ran, inner);
        }
    }

    #[inline(never)]
    fn inner_command(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>, inner: &InnerCommand) {
        let ProgramRun { name, reading, env, span, .. } = ran;
        let mut within = within(context, name);
        within.root |= inner.root;
        if inner.remote.is_some() {
            within.remote.clone_from(&inner.remote);
            within.root = inner.root;
        }
        let set: Vec<(String, Value)> = env.iter().chain(&inner.env).cloned().collect();
        let mut child = match inner.remote.is_some() {
            true => state.elsewhere(&inner.env),
            false => self.input.with_bins(state, name, &set),
        };
        self.input.other_directory(&mut child, name, reading);
        // The file may be in the first start directory of the search.
        if inner.adds == Added::Found
            && reading.flags.iter().any(|flag| matches!(flag.name.as_str(), "-execdir" | "-okdir"))
        {
            let start = reading.operands.first().and_then(|start| start.value.known_text());
            let dir = child.place(start.as_deref().unwrap_or("."));
            child.move_to(dir);
        }
        if inner.adds == Added::Input && self.listed(&mut child, &within, reading, inner, span) {
            return;
        }
        let input = self.progress().stdin_of(state);
        if inner.adds == Added::Input {
            child.streams.stdin = Stream::Nothing;
        }
        let added = match inner.adds {
            Added::Nothing => Vec::new(),
            Added::Found => search_results::found(reading),
            Added::Input => input_words(&input.0, input.1, &Separator::of(reading)),
        };
        // `find` inserts files only for the braces.
        let appends = inner.replace.is_none() && !(inner.adds == Added::Found && reading.expression);
        for added in self.input.rounds_of(reading, inner, added) {
            self.inner_once(&mut child, (context, &within), inner, (&added, appends), &set, span);
        }
    }

    /// Walks one run of a wrapper's command.
    #[inline(never)]
    fn inner_once(
        &mut self,
        child: &mut State,
        (context, within): (&Context, &Context),
        inner: &InnerCommand,
        (added, appends): (&[Value], bool),
        set: &[(String, Value)],
        span: Span,
    ) {
        let mut child = child.fork();
        let mut within = within.clone();
        match &inner.what {
            InnerText::Argv(args) => {
                let mut fields: Vec<Field> = Vec::new();
                for arg in args {
                    let placed = inner.replace.as_deref().map(|mark| placed(&arg.value, mark, added));
                    match placed {
                        Some(values) => {
                            fields.extend(values.into_iter().map(|value| Field::word(value, arg.span)));
                        }
                        None => fields.push(Field { operand: arg.operand, ..Field::word(arg.value.clone(), arg.span) }),
                    }
                }
                if appends {
                    let end = args.last().map_or(span, |arg| arg.span);
                    fields.extend(added.iter().cloned().map(|value| Field::word(value, end)));
                }
                let span = args.iter().map(|arg| arg.span).reduce(Span::to).unwrap_or(span);
                self.run(&mut child, &within, fields, set.to_vec(), span, Lookup::Programs);
            }
            InnerText::Line(line, at) => {
                let mut line = line.clone();
                // A value that is inserted after a word is quoted, so that it is data.
                let behind = !line.leading().split("{}").next().unwrap_or_default().trim().is_empty();
                let added: Vec<Value> =
                    added.iter().map(|value| if behind { as_data(value.clone()) } else { value.clone() }).collect();
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
                child.positional = Rc::new(positional.collect());
                within.spans = self.input.spans_of(context, *at, &line);
                within.reads(Dialect::Bash);
                self.read_value(&mut child, &within, &line, *at);
                self.end_of_shell(&mut child);
            }
            InnerText::Somewhere(args) => {
                let commands = self.input.commands_somewhere(args, span);
                self.possible_commands(&child, &within, commands, set);
            }
            InnerText::BareShell => {
                within.reads(Dialect::Bash);
                self.stdin_code(&mut child, &within, span);
                self.end_of_shell(&mut child);
            }
        }
    }

    /// Walks commands that the arguments of a program may contain, as this step finds them.
    #[inline(never)]
    pub fn perhaps_wrapped(
        &mut self,
        state: &State,
        context: &Context,
        ran: &ProgramRun<'_>,
        step: Step,
        words: &[Arg],
    ) {
        let commands = match step {
            Step::EscapesAsRoot => self.input.shell_escapes(words),
            _ => self.input.possible_commands(words, ran.span),
        };
        if !commands.is_empty() {
            let context = within(context, ran.name);
            self.possible_commands(&state.child(ran.env), &context, commands, ran.env);
        }
    }

    /// Walks commands that the arguments of a program may contain. `env`: the variables of the command.
    fn possible_commands(
        &mut self,
        state: &State,
        context: &Context,
        commands: Vec<PossibleCommand>,
        env: &[(String, Value)],
    ) {
        let context = context.perhaps();
        for command in commands {
            match command {
                PossibleCommand::Argv(fields, span) => {
                    let mut child = self.input.fork(state);
                    self.run(&mut child, &context, fields, env.to_vec(), span, Lookup::Programs);
                }
                PossibleCommand::Shell(shell, span) => self.possible_shell(state, &context, *shell, span),
                PossibleCommand::Line(line, span) => self.possible_line(state, &context, &line, span),
            }
        }
    }

    #[inline(never)]
    fn possible_shell(&mut self, state: &State, context: &Context, shell: Field, span: Span) {
        let mut child = self.input.fork(state);
        self.run(&mut child, &context.elsewhere(span), vec![shell], Vec::new(), span, Lookup::Programs);
    }

    #[inline(never)]
    fn possible_line(&mut self, state: &State, context: &Context, line: &str, span: Span) {
        self.text(&mut self.input.fork(state), &context.elsewhere(span), line);
    }
}

impl AnalysisInput<'_> {
    /// Returns the additions of each run of the command. They are divided into runs only if the command can distinguish
    /// these.
    fn rounds_of(&self, reading: &Reading, inner: &InnerCommand, added: Vec<Value>) -> Vec<Vec<Value>> {
        let one = |name: &str| {
            reading.flags.iter().any(|flag| flag.name == name && flag.value.as_ref().is_some_and(|n| n.is("1")))
        };
        let first = match &inner.what {
            InnerText::Argv(args) => args.first().map(|arg| arg.value.leading()).unwrap_or_default(),
            _ => "".into(),
        };
        let is_shell = self.is_shell_name(first.rsplit('/').next().unwrap_or_default());
        let apart = match (&inner.what, inner.replace.as_deref()) {
            (InnerText::Line(..), mark) => mark.is_some(),
            (InnerText::Argv(_), Some(_)) => is_shell,
            (InnerText::Argv(_), None) => is_shell && ["-n", "--max-args", "-L", "--max-lines"].into_iter().any(one),
            _ => false,
        };
        if apart && added.len() > 1 { added.into_iter().map(|value| vec![value]).collect() } else { vec![added] }
    }
}

impl Walker<'_> {
    /// Walks `command ::: values` once for each value. `false`: there is no such list.
    #[inline(never)]
    fn listed(
        &mut self,
        child: &mut State,
        context: &Context,
        reading: &Reading,
        inner: &InnerCommand,
        span: Span,
    ) -> bool {
        let mark = |value: &Value| [":::", ":::+", "::::", "::::+"].iter().any(|mark| value.is(mark));
        let Some(at) = reading.operands.iter().position(|operand| mark(&operand.value)) else { return false };
        let (command, listed) = reading.operands.split_at(at);
        // `::::` is followed by files with values.
        let from_files = listed.iter().any(|operand| operand.value.is("::::") || operand.value.is("::::+"));
        let values: Vec<Value> = if from_files || listed.len() > MAX_INPUT_WORDS {
            vec![unknown(UnknownReason::Input, Taint::default())]
        } else {
            listed.iter().map(|operand| &operand.value).filter(|value| !mark(value)).cloned().collect()
        };
        // The list may be empty because its values are unknown.
        let values = if values.is_empty() { vec![Value::default()] } else { values };
        let line = Value::join(command.iter().map(|operand| &operand.value), " ");
        let quoted = quoted(command.iter().map(|operand| &operand.value));
        // A word with blanks is a command string and not the name of a program.
        let is_line = |operand: &&Operand| operand.value.leading().contains(' ');
        let one_line = command.len() == 1 && command.first().is_some_and(|operand| is_line(&operand));
        let positional = inner.positional.iter().map(|operand| operand.value.clone()).collect();
        child.positional = Rc::new(positional);
        child.streams.stdin = Stream::Nothing;
        let context = context.elsewhere(span);
        for value in values {
            if command.is_empty() {
                self.read_value(&mut child.fork(), &context, &value, span);
                continue;
            }
            // A shell parses the words again, unless an option quotes them. Both are assumed.
            let text = substituted(&line, &value);
            let both = quoted != line;
            if !both || text.known().is_none_or(|text| syntax::parse(text.as_bytes(), context.dialect).is_ok()) {
                self.read_value(&mut child.fork(), &context, &text, span);
            }
            if both && !one_line {
                self.read_value(&mut child.fork(), &context, &substituted(&quoted, &value), span);
            }
        }
        true
    }
}

impl AnalysisInput<'_> {
    /// Applies an option of a wrapper that names the working directory of its command.
    #[inline(never)]
    fn other_directory(&self, child: &mut State, name: &str, reading: &Reading) {
        let Some(program) = self.catalog.program(name) else { return };
        let is_chdir = |names: &[String]| names.iter().any(|name| name == "--chdir");
        let Some(option) = program.options.iter().find(|option| is_chdir(&option.names)) else { return };
        let canonical = option.names.first().map_or("", String::as_str);
        let given = reading.flags.iter().rev().find(|flag| flag.name == canonical).and_then(|flag| flag.value.as_ref());
        if let Some(dir) = given {
            let dir = dir.known().and_then(|dir| child.place(&dir));
            child.move_to(dir);
        }
    }
}

/// Joins words to a line, with quotes where necessary.
fn quoted<'v>(words: impl Iterator<Item = &'v Value>) -> Value {
    let mut line = Value::default();
    for (index, word) in words.enumerate() {
        if index > 0 {
            line.push_text(" ");
        }
        for piece in word.pieces() {
            match piece {
                Piece::Text(text)
                    if text.contains(|c: char| c.is_whitespace() || "'\"`\\()<>|&;#$*?[!~".contains(c)) =>
                {
                    line.push_text(&crate::judge::invocation::quote(text));
                }
                other => line.push_piece(other),
            }
        }
    }
    line
}

/// Replaces the replacement strings in a line (`{}`, `{.}`, `{1}`, …) by a quoted value, or appends it if there are
/// none.
fn substituted(line: &Value, value: &Value) -> Value {
    let mut result = Value::default();
    let mut replaced = false;
    for piece in line.pieces() {
        let Piece::Text(text) = piece else {
            result.push_piece(piece);
            continue;
        };
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let inside = after.split_once('}').filter(|(inside, _)| {
                inside.chars().all(|c| c.is_ascii_digit() || "./#%".contains(c)) && inside.len() < 6
            });
            result.push_text(before);
            match inside {
                Some((_, after)) => {
                    result.push_quoted(value);
                    replaced = true;
                    rest = after;
                }
                None => {
                    result.push_text("{");
                    rest = after;
                }
            }
        }
        result.push_text(rest);
    }
    if !replaced {
        result.push_text(" ");
        result.push_quoted(value);
    }
    result
}

/// Removes taints that matter only for code from a value that is data.
fn as_data(value: Value) -> Value {
    let plain = |piece| match piece {
        Piece::Unknown(mut unknown) => {
            unknown.taint.0 &= !(Taint::FETCHED.0 | Taint::DECODED.0);
            Piece::Unknown(unknown)
        }
        known => known,
    };
    Value::of(value.into_pieces().into_iter().map(plain).collect())
}

/// The way in which standard input is split into arguments.
enum Separator {
    /// At blanks, with quotes and backslashes.
    Blanks,
    /// At line breaks.
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
            let text = flag.value.as_ref().and_then(Build::known_text).and_then(|text| super::decode::escapes(&text));
            return text.and_then(|text| text.chars().next()).map_or(Self::Lines, Self::Char);
        }
        if flag(&["-I", "-i", "--replace", "-J"]).is_some() { Self::Lines } else { Self::Blanks }
    }
}

/// Returns the words of standard input, as far as they are known.
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
    if let Some(values) = search_results::listed(text) {
        return values;
    }
    vec![unknown(UnknownReason::Input, taint.and(text.taint()))]
}

/// Splits a text at blanks, with quotes and backslashes.
pub(super) fn quoted_words(text: &str) -> Vec<String> {
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

/// Replaces `mark` in a value by each of the added values; returns the value if it does not contain the mark.
fn placed(value: &Value, mark: &str, added: &[Value]) -> Vec<Value> {
    let stands = value.pieces().iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains(mark)));
    if !stands || mark.is_empty() {
        return vec![value.clone()];
    }
    added
        .iter()
        .map(|added| {
            let mut result = Value::default();
            for piece in value.pieces() {
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
