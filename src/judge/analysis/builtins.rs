//! Builtins that change the state of the shell, or run other commands.

mod directory;

use std::rc::Rc;

use directory::popd;

use super::act::{OpaqueReason, Taint, UnknownReason, Value};
use super::builtin_output;
use super::command_context::Context;
use super::declare::{assignment, set, unset};
use super::expand::Field;
use super::function::suffix_alias;
use super::resolve::Lookup;
use super::state::{Build as _, State, unknown};
use super::walk::Walker;
use crate::judge::syntax::tree::{Dialect, Span};

/// The builtins that the walk performs.
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
    Enable,
    Unalias,
    Read,
    Mapfile,
    Printf,
    Let,
    Test,
    Hash,
    Shopt,
    Autoload,
    Jobs,
    History,
    Fc,
    AddHook,
    Compgen,
    Print,
    Zstyle,
    AddPath,
}

/// Other builtins, which are never searched in `PATH`.
const OTHERS: [&str; 26] = [
    ":", "bg", "bind", "break", "builtin", "caller", "compgen", "complete", "continue", "dirs", "disown", "echo",
    "exit", "false", "fc", "fg", "help", "history", "jobs", "kill", "logout", "pwd", "return", "times", "true", "type",
];

/// Reports whether the name is that of a builtin.
pub(super) fn is_builtin(name: &str) -> bool {
    Builtin::of(name, true).is_some() || OTHERS.contains(&name) || matches!(name, "ulimit" | "umask")
}

impl Builtin {
    /// Returns the builtin with this name. If no shell looks the name up, only builtins that run their arguments are
    /// returned.
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
            "enable" => Self::Enable,
            "unalias" => Self::Unalias,
            "read" | "getopts" | "vared" => Self::Read,
            "mapfile" | "readarray" => Self::Mapfile,
            "printf" => Self::Printf,
            "let" => Self::Let,
            "test" | "[" | "wait" => Self::Test,
            "hash" => Self::Hash,
            "shopt" | "setopt" => Self::Shopt,
            "autoload" => Self::Autoload,
            "jobs" => Self::Jobs,
            "history" => Self::History,
            "fc" => Self::Fc,
            "compgen" | "complete" => Self::Compgen,
            "add-zsh-hook" => Self::AddHook,
            "print" => Self::Print,
            "zstyle" => Self::Zstyle,
            "fish_add_path" => Self::AddPath,
            _ => return None,
        };
        (by_shell || found.runs()).then_some(found)
    }

    /// Reports whether it runs its arguments, so that its description as a wrapper is not needed.
    pub fn runs(self) -> bool {
        matches!(self, Self::Eval | Self::Source | Self::Exec | Self::Command | Self::Trap)
    }

    /// Reports whether its arguments may be names of variables with subscripts.
    fn names_variables(self) -> bool {
        matches!(
            self,
            Self::Declare | Self::Export | Self::Unset | Self::Read | Self::Printf | Self::Test | Self::Mapfile
        )
    }

    /// Reports whether its changes of variables outlast assignments before it.
    pub fn sets(self) -> bool {
        matches!(self, Self::Export | Self::Declare | Self::Set | Self::Unset | Self::Eval | Self::Source)
    }
}

impl Walker<'_> {
    /// Performs a builtin. Returns whether its output was handled.
    pub fn builtin(
        &mut self,
        state: &mut State,
        context: &Context,
        builtin: Builtin,
        name: &str,
        args: &[Field],
        span: Span,
    ) -> bool {
        if builtin.names_variables() {
            // A subscript in a name is evaluated, including substitutions in it.
            for text in args.iter().filter_map(|field| field.value.known_text()).filter(|text| text.contains('[')) {
                let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
                self.walk_embedded(state, context, name);
                if let Some((_, subscript)) = name.split_once('[') {
                    self.expand().compute(state, context, &Value::text(subscript.trim_end_matches(']')));
                }
            }
        }
        match builtin {
            Builtin::Cd => self.cd(state, args),
            Builtin::Pushd => self.pushd(state, args),
            Builtin::Popd => popd(state, args),
            Builtin::Declare | Builtin::Export => self.declare_or_print(state, context, name, args, span),
            Builtin::Unset => unset(state, args),
            Builtin::Set if args.is_empty() => self.print_variables(state, context, &[], span),
            Builtin::Set => set(state, args),
            Builtin::Shift => {
                let count = operands(args).next().and_then(|field| field.value.known()?.parse().ok()).unwrap_or(1);
                let count = state.positional.len().min(count);
                Rc::make_mut(&mut state.positional).drain(..count);
            }
            Builtin::Eval => self.eval(state, context, args, span),
            Builtin::Source => self.source(state, context, args, span),
            Builtin::Exec => self.run_rest(state, context, name, after_options(args, "a"), Lookup::Programs, span),
            Builtin::Command => {
                let looks = args.iter().map_while(|field| field.value.known()).take_while(|t| t.starts_with('-'));
                if name == "command" && looks.into_iter().any(|option| option.contains(['v', 'V'])) {
                    return false;
                }
                let lookup = if matches!(name, "command" | "builtin") { Lookup::NoFunctions } else { Lookup::Shell };
                self.run_rest(state, context, name, after_options(args, ""), lookup, span);
            }
            Builtin::Trap => self.trap(state, context, args, span),
            Builtin::Alias => {
                // `alias name text` of fish.
                let words: Vec<&Field> = operands(args).collect();
                if let [name, text] = words.as_slice()
                    && let Some(name) = name.value.known_text().filter(|name| !name.contains('='))
                {
                    state.aliases.insert(name, text.value.clone());
                }
                let has =
                    |option: &str| context.dialect == Dialect::Zsh && args.iter().any(|field| field.value.is(option));
                for (name, _, value) in words.iter().filter_map(|field| assignment(&field.value)) {
                    if has("-s") {
                        state.aliases.insert(suffix_alias(&name), value);
                        continue;
                    }
                    // A global alias of zsh may contain operators of the shell, and applies to every word.
                    if has("-g") && value.rough().contains(['|', ';', '&', '<', '>', '`', '$', '(']) {
                        self.opaque(
                            OpaqueReason::Syntax,
                            format!("the global alias {name} hides the command that runs"),
                            span,
                        );
                    }
                    state.aliases.insert(name, value);
                }
            }
            // A function that is defined in a file.
            Builtin::Autoload => {
                let is_plain = |path: &String| {
                    path.contains('/') && path.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.+".contains(c))
                };
                for path in operands(args).filter_map(|field| field.value.known_text()).filter(is_plain) {
                    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                    state.aliases.insert(name, Value::text(format!("source {path}")));
                }
            }
            Builtin::Enable => {
                // A disabled builtin does nothing, but a program of that name may run.
                if args.iter().any(|field| field.value.is("-n")) {
                    let names = operands(args).filter_map(|field| field.value.known_text());
                    names.for_each(|name| state.aliases.insert(name, Value::text(":")));
                }
            }
            Builtin::Unalias => {
                for field in args {
                    match field.value.known().as_deref() {
                        Some("-a") => state.aliases.clear(),
                        Some(name) => state.aliases.remove(name),
                        None => {}
                    }
                }
            }
            Builtin::Read => self.read(state, name, args),
            Builtin::Mapfile => self.mapfile(state, context, args, span),
            Builtin::Printf => {
                if let [option, name, rest @ ..] = args
                    && option.value.is("-v")
                    && let Some(name) = name.value.known_text()
                {
                    let values: Vec<&Value> = rest.iter().map(|field| &field.value).collect();
                    self.input.copies(&values);
                    let value = builtin_output::printf(&values)
                        .unwrap_or_else(|| unknown(UnknownReason::CommandOutput, Taint::default()));
                    self.set_scalar(state, context, &name, value);
                    return true;
                }
                return false;
            }
            Builtin::Let => {
                for field in args {
                    self.expand().compute(state, context, &field.value);
                }
            }
            Builtin::Test => {}
            Builtin::Jobs => {
                if let Some((_, command)) = args.split_first().filter(|(option, _)| option.value.is("-x")) {
                    self.run_rest(state, context, name, command, Lookup::Shell, span);
                }
            }
            Builtin::History => {
                if let Some((_, words)) = args.split_first().filter(|(option, _)| option.value.is("-s")) {
                    Rc::make_mut(&mut state.history).push(Value::join(words.iter().map(|field| &field.value), " "));
                }
            }
            Builtin::Fc => {
                let runs = |field: &Field| field.value.leading().starts_with("-s") || field.value.leading() == "-e";
                if args.first().is_some_and(runs) {
                    for command in Rc::clone(&state.history).iter() {
                        self.read_value(state, &within(context, name).elsewhere(span), command, span);
                    }
                }
            }
            Builtin::Compgen => self.compgen(state, context, name, args, span),
            // `add-zsh-hook precmd function`: zsh calls the function later, as if it were in the hook's array.
            Builtin::AddHook => {
                let removes = |field: &Field| field.value.is("-d") || field.value.is("-D");
                if let Some(function) = operands(args).nth(1).filter(|_| !args.iter().any(removes)) {
                    self.call_by_name(state, context, name, &function.value, span);
                }
            }
            Builtin::Print => {
                let prompts =
                    |field: &Field| field.value.known().is_some_and(|text| text.starts_with('-') && text.contains('P'));
                if context.dialect == Dialect::Zsh && args.iter().any(prompts) {
                    for text in args.iter().filter_map(|field| field.value.known_text()) {
                        self.walk_embedded(&mut state.fork(), &within(&context.perhaps(), name).elsewhere(span), &text);
                    }
                }
                return false;
            }
            Builtin::Zstyle => {
                if args.first().is_some_and(|option| option.value.is("-e")) {
                    let code = Value::join(args.iter().skip(3).map(|field| &field.value), " ");
                    self.read_value(&mut state.fork(), &within(&context.perhaps(), name).elsewhere(span), &code, span);
                }
            }
            Builtin::AddPath => {
                let dirs: Vec<Value> = operands(args).map(|field| field.value.clone()).collect();
                self.front_of_path(state, &dirs);
            }
            Builtin::Hash => {
                // `hash name=path` of zsh
                for field in operands(args) {
                    if let Some((name, _, path)) = assignment(&field.value)
                        && let Some(path) = path.known_text()
                    {
                        state.hashed.insert(name, path);
                    }
                }
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
                set_glob_options(state, args);
                if args.iter().any(|field| field.value.is("lastpipe")) {
                    state.lastpipe = args.iter().any(|field| field.value.is("-s"));
                }
            }
        }
        // These print the output of the commands that they run; the output of the others is not analysed.
        builtin.runs()
    }

    /// Performs `declare` and similar builtins, which can also print variables.
    #[inline(never)]
    fn declare_or_print(&mut self, state: &mut State, context: &Context, name: &str, args: &[Field], span: Span) {
        self.declare(state, context, name, args);
        let prints =
            |field: &Field| field.value.known().is_some_and(|text| text.starts_with('-') && text.contains('p'));
        if args.is_empty() || args.iter().any(prints) {
            self.print_variables(state, context, &operands(args).collect::<Vec<_>>(), span);
        }
    }

    /// Walks the output of the values of these variables, or of all variables with a taint.
    #[inline(never)]
    fn print_variables(&mut self, state: &State, context: &Context, names: &[&Field], span: Span) {
        let is_name = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let names: Vec<String> = if names.is_empty() {
            state.tainted_names().collect()
        } else {
            names.iter().filter_map(|field| field.value.known_text()).collect()
        };
        for name in names.iter().filter(|name| is_name(name) && state.sets(name)) {
            let line = format!("printf %s \"${{{name}[@]}}\"");
            self.text(&mut state.fork(), &context.elsewhere(span), &line);
        }
    }

    /// Performs `compgen -W words`, which are expanded again, and `-C command`, which runs.
    fn compgen(&mut self, state: &mut State, context: &Context, name: &str, args: &[Field], span: Span) {
        let inside = within(context, name).elsewhere(span);
        for (at, field) in args.iter().enumerate() {
            let Some(next) = args.get(at + 1) else { return };
            match field.value.known().as_deref() {
                Some("-W") => {
                    if let Some(words) = next.value.known_text() {
                        self.walk_embedded(&mut state.fork(), &inside, &words);
                    }
                }
                Some("-C") => self.read_value(&mut state.fork(), &inside.perhaps(), &next.value, span),
                Some("-F") => self.call_by_name(state, context, name, &next.value, span),
                // `complete -a 'words (command)'` of fish
                Some("-a" | "--arguments" | "-xa" | "-fa") => {
                    let text = next.value.known_text().unwrap_or_default();
                    if let Some((_, rest)) = text.split_once('(')
                        && let Some((command, _)) = rest.rsplit_once(')')
                    {
                        self.read_value(&mut state.fork(), &inside.perhaps(), &Value::text(command), span);
                    }
                }
                // `complete -n 'command'` of fish: a condition.
                Some("-n" | "--condition") => self.read_value(&mut state.fork(), &inside.perhaps(), &next.value, span),
                _ => {}
            }
        }
    }

    /// Walks a function that the shell calls later, if it is known.
    fn call_by_name(&mut self, state: &State, context: &Context, name: &str, function: &Value, span: Span) {
        if let Some(function) = function.known_text().and_then(|name| state.functions.get(&name).cloned()) {
            self.call(&mut state.fork(), &within(context, name).elsewhere(span).perhaps(), &function, &[], span);
        }
    }

    fn front_of_path(&mut self, state: &mut State, dirs: &[Value]) {
        let outer = match self.expand().lookup(state, "PATH") {
            super::state::VariableValue::Scalar(value) => value,
            _ => Value::default(),
        };
        state.set_scalar("PATH", Value::join(dirs.iter().chain([&outer]), ":"));
    }

    #[inline(never)]
    fn eval(&mut self, state: &mut State, context: &Context, args: &[Field], span: Span) {
        let text = Value::join(args.iter().map(|field| &field.value), " ");
        let span = args.iter().map(|field| field.span).reduce(Span::to).unwrap_or(span);
        let spans = self.input.spans_of(context, span, &text);
        let context = Context { spans, ..context.clone() }.in_new_text();
        self.read_value(state, &context, &text, span);
    }

    #[inline(never)]
    fn run_rest(
        &mut self,
        state: &mut State,
        context: &Context,
        name: &str,
        rest: &[Field],
        lookup: Lookup,
        span: Span,
    ) {
        if !rest.is_empty() {
            self.run(state, &within(context, name), rest.to_vec(), Vec::new(), span, lookup);
        }
    }

    #[inline(never)]
    fn trap(&mut self, state: &mut State, context: &Context, args: &[Field], span: Span) {
        let rest = after_options(args, "");
        let [action, signals @ ..] = rest else { return };
        let names: Vec<Value> = signals.iter().map(|field| field.value.clone()).collect();
        if names.is_empty() {
            self.set_traps(state, context, None, std::slice::from_ref(&action.value), span);
            return;
        }
        if action.value.is("-") || action.value.is_empty() {
            self.set_traps(state, context, None, &names, span);
            return;
        }
        // It may run in the current state, and in every later one.
        let mut later = self.input.fork(state);
        let spans = self.input.spans_of(context, action.span, &action.value);
        let first = self.facts.acts.len();
        let inside = Context { spans, absent: Rc::default(), ..within(context, "trap") };
        self.read_value(&mut later, &inside.perhaps(), &action.value, span);
        self.interrupted(state, &later, &names, &action.value, span);
        self.set_traps(state, &inside, Some((&action.value, first)), &names, span);
    }

    /// Walks a value as code in this shell; its unknown parts remain unknown.
    pub fn read_value(&mut self, state: &mut State, context: &Context, value: &Value, span: Span) {
        let taint = value.taint();
        if let Some(text) = value.known() {
            self.text(state, context, &text);
            return;
        }
        let fetched = taint.has(Taint::FETCHED) || taint.has(Taint::DECODED);
        if fetched {
            let detail = if taint.has(Taint::FETCHED) {
                "the command runs code that it downloads"
            } else {
                "the command runs code that it decodes"
            };
            self.opaque(context.fetched_code(), detail, span);
        }
        let is_set_up = |piece: &super::act::Piece| match piece {
            super::act::Piece::Text(text) => text.trim().is_empty(),
            super::act::Piece::Unknown(unknown) => unknown.why == UnknownReason::ShellCode,
            super::act::Piece::Glob(_) => false,
        };
        if value.pieces().iter().all(is_set_up) {
            return;
        }
        let says_something = value.pieces().iter().any(|piece| match piece {
            super::act::Piece::Text(text) => !text.trim().is_empty(),
            _ => false,
        });
        if says_something {
            self.composed(state, &context.elsewhere(context.spans_at(span)), value);
        } else if !fetched {
            let detail = format!("the code that runs is not known: {}", super::command::describe(value));
            self.opaque(OpaqueReason::Code, detail, span);
        }
    }
}

#[inline(never)]
fn set_glob_options(state: &mut State, args: &[Field]) {
    args.iter().filter_map(|field| field.value.known()).for_each(|option| state.set_glob_option(&option));
}

/// Returns the context inside a wrapper with this name.
pub(super) fn within(context: &Context, wrapper: &str) -> Context {
    let mut context = context.clone();
    context.wrapped(wrapper);
    context
}

/// Returns the arguments that are not options.
pub(super) fn operands(args: &[Field]) -> impl Iterator<Item = &Field> {
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

/// Returns the arguments after the options, which end at the first operand; `valued` are the letters of options with a
/// value.
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
