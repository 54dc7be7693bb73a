//! Builtins: what changes the state of the shell, and what runs more of the line.

use super::act::{OpaqueReason, Taint, UnknownReason, Value};
use super::command::Lookup;
use super::expand::Field;
use super::frame::Frame;
use super::output;
use super::redirect::absolute;
use super::state::{Attribute, Bound, Build as _, MAX_CHOICES, State, Variable, unknown};
use super::walk::Walker;
use crate::judge::syntax::tree::Span;

/// What stands for a directory that `mktemp -d` made.
const TEMPORARY: &str = "/tmp/tmp.XXXXXXXXXX";

/// The builtins that the walk knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    Cd,
    Pushd,
    Popd,
    Declare,
    Export,
    Unset,
    Set,
    Shift,
    Eval,
    Source,
    Exec,
    Command,
    Trap,
    Alias,
    Unalias,
    Read,
    Mapfile,
    Printf,
    Let,
    Test,
    Hash,
    Shopt,
}

impl Builtin {
    /// The builtin of this name. Where no shell looks it up, only those that run what follows them count.
    pub fn of(name: &str, by_shell: bool) -> Option<Self> {
        let found = match name {
            "cd" | "chdir" => Self::Cd,
            "pushd" => Self::Pushd,
            "popd" => Self::Popd,
            "declare" | "typeset" | "local" | "readonly" | "integer" | "float" => Self::Declare,
            "export" => Self::Export,
            "unset" => Self::Unset,
            "set" => Self::Set,
            "shift" => Self::Shift,
            "eval" => Self::Eval,
            "source" | "." => Self::Source,
            "exec" => Self::Exec,
            "command" | "builtin" | "noglob" | "nocorrect" | "-" => Self::Command,
            "trap" => Self::Trap,
            "alias" => Self::Alias,
            "unalias" => Self::Unalias,
            "read" | "getopts" | "vared" => Self::Read,
            "mapfile" | "readarray" => Self::Mapfile,
            "printf" => Self::Printf,
            "let" => Self::Let,
            "test" | "[" => Self::Test,
            "hash" => Self::Hash,
            "shopt" | "setopt" => Self::Shopt,
            _ => return None,
        };
        (by_shell || found.runs()).then_some(found)
    }

    /// It runs what it is given, so that a description of it as a wrapper says nothing more.
    pub fn runs(self) -> bool {
        matches!(self, Self::Eval | Self::Source | Self::Exec | Self::Command | Self::Trap)
    }

    /// Some of its arguments may be names of variables with subscripts.
    fn names_variables(self) -> bool {
        matches!(
            self,
            Self::Declare | Self::Export | Self::Unset | Self::Read | Self::Printf | Self::Test | Self::Mapfile
        )
    }

    /// It changes variables of the shell for good.
    pub fn sets(self) -> bool {
        matches!(self, Self::Export | Self::Declare | Self::Set | Self::Unset | Self::Eval | Self::Source)
    }
}

impl Walker<'_> {
    /// Does what a builtin does. Whether what it prints is dealt with.
    pub fn builtin(
        &mut self,
        state: &mut State,
        frame: &Frame,
        builtin: Builtin,
        name: &str,
        args: &[Field],
        span: Span,
    ) -> bool {
        if builtin.names_variables() {
            // A subscript in a name is evaluated, with what it substitutes.
            for text in args.iter().filter_map(|field| field.value.known_text()).filter(|text| text.contains('[')) {
                self.embedded(state, frame, text.split_once('=').map_or(&text, |(name, _)| name));
            }
        }
        match builtin {
            Builtin::Cd => self.cd(state, args),
            Builtin::Pushd => {
                let old = state.cwd.clone();
                self.cd(state, args);
                state.stack.push(old);
            }
            Builtin::Popd => {
                let dir = state.stack.pop().flatten();
                state.move_to(dir);
            }
            Builtin::Declare | Builtin::Export => self.declare(state, frame, name, args),
            Builtin::Unset => unset(state, args),
            Builtin::Set => set(state, args),
            Builtin::Shift => {
                let count = operands(args).next().and_then(|field| field.value.known()?.parse().ok()).unwrap_or(1);
                let count = state.positional.len().min(count);
                state.positional.drain(..count);
            }
            Builtin::Eval => self.eval(state, frame, args, span),
            Builtin::Source => self.source(state, frame, args, span),
            Builtin::Exec => self.run_rest(state, frame, name, after_options(args, "a"), Lookup::Programs, span),
            Builtin::Command => {
                let looks = args.iter().map_while(|field| field.value.known()).take_while(|t| t.starts_with('-'));
                if name == "command" && looks.into_iter().any(|option| option.contains(['v', 'V'])) {
                    return false;
                }
                let lookup = if matches!(name, "command" | "builtin") { Lookup::NoFunctions } else { Lookup::Shell };
                self.run_rest(state, frame, name, after_options(args, ""), lookup, span);
            }
            Builtin::Trap => self.trap(state, frame, args, span),
            Builtin::Alias => {
                for field in operands(args) {
                    if let Some((name, _, value)) = assignment(&field.value) {
                        state.aliases.insert(name, value);
                    }
                }
            }
            Builtin::Unalias => {
                for field in args {
                    match field.value.known().as_deref() {
                        Some("-a") => state.aliases.clear(),
                        Some(name) => {
                            state.aliases.remove(name);
                        }
                        None => {}
                    }
                }
            }
            Builtin::Read => self.read(state, name, args),
            Builtin::Mapfile => self.mapfile(state, frame, args, span),
            Builtin::Printf => {
                if let [option, name, rest @ ..] = args
                    && option.value.is("-v")
                    && let Some(name) = name.value.known_text()
                {
                    let values: Vec<&Value> = rest.iter().map(|field| &field.value).collect();
                    let value = output::printf(&values)
                        .unwrap_or_else(|| unknown(UnknownReason::CommandOutput, Taint::default()));
                    self.set_scalar(state, frame, &name, value);
                    return true;
                }
                return false;
            }
            Builtin::Let => {
                for field in args {
                    self.compute(state, frame, &field.value);
                }
            }
            Builtin::Test => {}
            Builtin::Hash => {
                if let [option, path, names @ ..] = args
                    && option.value.is("-p")
                    && let Some(path) = path.value.known_text()
                {
                    for name in names {
                        if let Some(name) = name.value.known_text() {
                            state.hashed.insert(name, path.clone());
                        }
                    }
                }
            }
            Builtin::Shopt => {
                if args.iter().any(|field| field.value.is("lastpipe")) {
                    state.lastpipe = args.iter().any(|field| field.value.is("-s"));
                }
            }
        }
        // What these print comes from what they run; the others print nothing that is followed.
        builtin.runs()
    }

    #[inline(never)]
    fn eval(&mut self, state: &mut State, frame: &Frame, args: &[Field], span: Span) {
        let text = Value::join(args.iter().map(|field| &field.value), " ");
        let span = args.iter().map(|field| field.span).reduce(Span::to).unwrap_or(span);
        let spans = self.spans_of(frame, span, &text);
        let frame = Frame { spans, ..frame.clone() };
        self.read_value(state, &frame, &text, span);
    }

    #[inline(never)]
    fn run_rest(&mut self, state: &mut State, frame: &Frame, name: &str, rest: &[Field], lookup: Lookup, span: Span) {
        if !rest.is_empty() {
            self.run(state, &within(frame, name), rest.to_vec(), Vec::new(), span, lookup);
        }
    }

    #[inline(never)]
    fn cd(&mut self, state: &mut State, args: &[Field]) {
        let target = operands(args).next().or_else(|| args.iter().find(|field| field.value.is("-")));
        let old = state.cwd.clone();
        let dir = match target {
            None => self.home(state).and_then(|home| home.known_text()),
            Some(field) if field.value.is("-") => state.previous.clone(),
            Some(field) => match field.value.known() {
                Some(text) => absolute(state, &text),
                None => temporary(&field.value),
            },
        };
        let relative = target.is_none_or(|field| !field.value.leading().starts_with('/'));
        let also: Vec<Option<String>> = if relative {
            let from = std::mem::take(&mut state.also);
            let text = target.and_then(|field| field.value.known_text());
            let to = |dir: Option<String>| absolute(&State { cwd: dir, ..State::default() }, text.as_deref()?);
            from.into_iter().map(to).collect()
        } else {
            Vec::new()
        };
        let mut doubt = std::mem::take(&mut state.doubt);
        if dir != old && !doubt.contains(&old) {
            doubt.push(old);
        }
        state.move_to(dir);
        state.doubt = doubt;
        state.also = also;
        state.forget_many_directories();
    }

    #[inline(never)]
    fn declare(&mut self, state: &mut State, frame: &Frame, builtin: &str, args: &[Field]) {
        let mut exported = builtin == "export";
        let mut attribute = None;
        let mut global = false;
        let mut functions = false;
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
                state.exported_functions.insert(name);
                continue;
            }
            // `a=(…)` was assigned when it was expanded.
            let array = matches!(state.variables.get(&name).and_then(|v| v.values.first()), Some(Bound::Array(_)));
            if builtin != "export" && builtin != "readonly" && !global && !array {
                state.localize_if(&name, frame);
            }
            if let Some(attribute) = attribute {
                let entry = state.variables.entry(name.clone()).or_insert_with(|| Variable::of(Bound::Inherited));
                entry.attribute = if attribute == Attribute::Reference { Attribute::Plain } else { attribute };
            }
            if let Some((_, append, value)) = assigned.filter(|_| !array) {
                let value = if append { self.added(state, &name, &value) } else { value };
                self.set_scalar(state, frame, &name, value);
            }
            if attribute == Some(Attribute::Reference)
                && let Some(variable) = state.variables.get_mut(&name)
            {
                variable.attribute = Attribute::Reference;
            }
            if exported {
                let held = state.variables.get(&name).and_then(|variable| match variable.values.first() {
                    Some(Bound::Scalar(value)) => Some(value.clone()),
                    _ => None,
                });
                if let Some(value) = held {
                    self.command_variable(state, frame, &name, &value, field.span);
                }
                match state.variables.get_mut(&name) {
                    Some(variable) => variable.exported = true,
                    None => {
                        state.exports.insert(name);
                    }
                }
            }
        }
    }

    fn added(&mut self, state: &State, name: &str, value: &Value) -> Value {
        match self.lookup(state, name) {
            Bound::Scalar(mut old) if !super::parameter::is_unset_marker(&old) => {
                old.push_value(value);
                old
            }
            _ => value.clone(),
        }
    }

    #[inline(never)]
    fn trap(&mut self, state: &mut State, frame: &Frame, args: &[Field], span: Span) {
        let rest = after_options(args, "");
        let [action, signals @ ..] = rest else { return };
        if signals.is_empty() || action.value.is("-") || action.value.is_empty() {
            return;
        }
        // It runs later, in whatever state the shell then is; what is known now is what there is to say.
        let mut later = state.fork();
        let spans = self.spans_of(frame, action.span, &action.value);
        let frame = Frame { spans, ..within(&frame.perhaps(), "trap") };
        self.read_value(&mut later, &frame, &action.value, span);
    }

    #[inline(never)]
    fn read(&mut self, state: &mut State, builtin: &str, args: &[Field]) {
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
    fn mapfile(&mut self, state: &mut State, frame: &Frame, args: &[Field], span: Span) {
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

    /// Walks a value that a shell reads as code, in this shell: parts that are not known stay so.
    pub fn read_value(&mut self, state: &mut State, frame: &Frame, value: &Value, span: Span) {
        let taint = value.taint();
        if let Some(text) = value.known() {
            self.text(state, frame, &text);
            return;
        }
        let fetched = taint.has(Taint::FETCHED) || taint.has(Taint::DECODED);
        if fetched {
            let detail = if taint.has(Taint::FETCHED) {
                "code that is fetched from the network in this line is run"
            } else {
                "code that is decoded in this line is run"
            };
            self.opaque(OpaqueReason::FetchedCode, detail, span);
        }
        let mut known = String::new();
        for piece in &value.pieces {
            match piece {
                super::act::Piece::Text(text) | super::act::Piece::Glob(text) => known.push_str(text),
                super::act::Piece::Unknown(hole) => known.extend(self.hole(hole)),
            }
        }
        let says_something = value.pieces.iter().any(|piece| match piece {
            super::act::Piece::Text(text) => !text.trim().is_empty(),
            _ => false,
        });
        if says_something {
            self.text(state, &frame.elsewhere(frame.spans_at(span)), &known);
        } else if !fetched {
            let detail = format!("code that is run is not known: {}", super::command::describe(value));
            self.opaque(OpaqueReason::Code, detail, span);
        }
    }
}

/// The frame inside a wrapper of this name.
pub(super) fn within(frame: &Frame, wrapper: &str) -> Frame {
    let mut frame = frame.clone();
    frame.wrappers.push(wrapper.to_owned());
    frame
}

/// Arguments that are no options.
fn operands(args: &[Field]) -> impl Iterator<Item = &Field> {
    let mut ended = false;
    args.iter().filter(move |field| {
        if ended {
            return true;
        }
        match field.value.known().as_deref() {
            Some("--") => {
                ended = true;
                false
            }
            Some(text) => !(text.starts_with(['-', '+']) && text.len() > 1),
            None => true,
        }
    })
}

/// What follows the options, which end at the first operand; `valued` are letters that take a value.
fn after_options<'f>(args: &'f [Field], valued: &str) -> &'f [Field] {
    let mut rest = args;
    while let Some((first, others)) = rest.split_first() {
        match first.value.known().as_deref() {
            Some("--") => return others,
            Some(option) if option.starts_with('-') && option.len() > 1 => {
                let takes_value = option.chars().last().is_some_and(|letter| valued.contains(letter));
                rest = if takes_value { others.get(1..).unwrap_or_default() } else { others };
            }
            _ => return rest,
        }
    }
    rest
}

/// Name, whether it appends, and value of `name=value`.
pub(super) fn assignment(value: &Value) -> Option<(String, bool, Value)> {
    let leading = value.leading();
    let at = leading.find('=')?;
    let name = leading.get(..at)?;
    let (name, append) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
    (!name.is_empty()).then(|| (name.to_owned(), append, value.without_leading(at + 1)))
}

fn unset(state: &mut State, args: &[Field]) {
    let functions = args.iter().any(|field| field.value.is("-f"));
    for field in operands(args) {
        let Some(name) = field.value.known_text() else { continue };
        if functions {
            state.functions.remove(&name);
        } else if let Some((array, subscript)) = name.split_once('[') {
            let key = subscript.trim_end_matches(']');
            if let Some(variable) = state.variables.get_mut(array) {
                for bound in &mut variable.values {
                    if let Bound::Array(elements) = bound {
                        elements.retain(|(own, _)| own != key);
                    }
                }
            }
        } else {
            state.set(&name, Bound::Unset);
            state.functions.remove(&name);
        }
    }
}

fn set(state: &mut State, args: &[Field]) {
    let mut rest = args;
    while let Some((first, others)) = rest.split_first() {
        let Some(text) = first.value.known_text() else { break };
        match text.as_str() {
            "--" => {
                state.positional = others.iter().map(|field| field.value.clone()).collect();
                return;
            }
            "-o" | "+o" => {
                if let Some(option) = others.first().and_then(|field| field.value.known_text()) {
                    match option.as_str() {
                        "errexit" => state.errexit = text == "-o",
                        "noglob" => state.noglob = text == "-o",
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
        state.positional = rest.iter().map(|field| field.value.clone()).collect();
    }
}

/// The directory that a value with a temporary name in front comes to.
fn temporary(value: &Value) -> Option<String> {
    use super::act::{Piece, Unknown};
    let [Piece::Unknown(Unknown { why: UnknownReason::Temporary, .. }), rest @ ..] = value.pieces.as_slice() else {
        return None;
    };
    let rest = Value { pieces: rest.to_vec() }.known_text()?;
    let state = State { cwd: Some(TEMPORARY.to_owned()), ..State::default() };
    let dir = absolute(&state, &format!("{TEMPORARY}{rest}"))?;
    (rest.is_empty() || dir.starts_with(TEMPORARY)).then_some(dir)
}

/// One blank-separated word of a line, or all from there on.
fn nth_word(line: &str, at: usize, to_the_end: bool) -> String {
    let mut rest = line.trim();
    for _ in 0..at {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    if to_the_end { rest.to_owned() } else { rest.split_whitespace().next().unwrap_or("").to_owned() }
}
