//! Builtins: what changes the state of the shell, and what runs more of the line.

use super::act::{OpaqueReason, Taint, UnknownReason, Value};
use super::command::Lookup;
use super::declare::{assignment, set, unset};
use super::expand::Field;
use super::frame::Frame;
use super::output;
use super::question::PathKind;
use super::redirect::absolute;
use super::state::{Bound, Build as _, State, unknown};
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
    Enable,
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
            "enable" => Self::Enable,
            "unalias" => Self::Unalias,
            "read" | "getopts" | "vared" => Self::Read,
            "mapfile" | "readarray" => Self::Mapfile,
            "printf" => Self::Printf,
            "let" => Self::Let,
            "test" | "[" | "wait" => Self::Test,
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
                let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
                self.embedded(state, frame, name);
                if let Some((_, subscript)) = name.split_once('[') {
                    self.compute(state, frame, &Value::text(subscript.trim_end_matches(']')));
                }
            }
        }
        match builtin {
            Builtin::Cd => self.cd(state, args),
            Builtin::Pushd => self.pushd(state, args),
            Builtin::Popd => popd(state, args),
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
            Builtin::Enable => {
                // What is switched off does nothing; another program of the name may.
                if args.iter().any(|field| field.value.is("-n")) {
                    let names = operands(args).filter_map(|field| field.value.known_text());
                    state.aliases.extend(names.map(|name| (name, Value::text(":"))));
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
    fn pushd(&mut self, state: &mut State, args: &[Field]) {
        let old = state.cwd.clone();
        if args.iter().any(|field| field.value.is("-n")) {
            // It goes on the stack and the shell nowhere.
            let rest: Vec<Field> = args.iter().filter(|field| !field.value.is("-n")).cloned().collect();
            let mut there = state.fork();
            self.cd(&mut there, &rest);
            state.stack.push(there.cwd);
        } else if args.is_empty() {
            if let Some(dir) = state.stack.pop() {
                state.move_to(dir);
                state.stack.push(old);
            }
        } else if rotates(args) {
            state.move_to(None);
            state.stack.push(old);
        } else {
            self.cd(state, args);
            state.stack.push(old);
        }
    }

    #[inline(never)]
    fn cd(&mut self, state: &mut State, args: &[Field]) {
        if state.doubt.is_empty() {
            state.fails = false;
        }
        let target = operands(args).next().or_else(|| args.iter().find(|field| field.value.is("-")));
        let old = state.cwd.clone();
        let dir = match target {
            None => self.home(state).and_then(|home| home.known_text()),
            Some(field) if field.value.is("-") => state.previous.clone(),
            Some(field) => match field.value.known() {
                Some(text) => absolute(state, &text),
                None => named_in_part(state, &field.value).or_else(|| self.likely_directory(state, &field.value)),
            },
        };
        // `-P` goes where links lead, so that `..` is what holds that.
        let physical = args.iter().any(|field| field.value.is("-P"));
        let links = dir.as_deref().filter(|_| physical).and_then(|dir| self.inquiry.path(dir));
        let dir = links.map(|facts| facts.canonical.clone()).or(dir);
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
        state.fails |= cannot_change(args);
        if let Some(text) = target.and_then(|field| field.value.known_text())
            && state.variables.contains_key("CDPATH")
            && !text.starts_with(['/', '.', '-'])
        {
            let searched = self.searched(state, &text);
            state.also.extend(searched);
        }
        state.forget_many_directories();
    }

    /// The directories of this name that `CDPATH` leads to.
    #[inline(never)]
    fn searched(&mut self, state: &State, name: &str) -> Vec<Option<String>> {
        let Bound::Scalar(value) = self.lookup(state, "CDPATH") else { return Vec::new() };
        let Some(path) = value.known() else { return vec![None] };
        let from = State { cwd: state.previous.clone(), ..State::default() };
        let is_there = |dir: &Option<String>| {
            let facts = dir.as_deref().and_then(|dir| self.inquiry.path(dir));
            facts.is_none_or(|facts| facts.kind == PathKind::Directory)
        };
        let entries = path.split(':').filter(|entry| !entry.is_empty());
        entries.map(|entry| absolute(&from, &format!("{entry}/{name}"))).filter(is_there).collect()
    }

    #[inline(never)]
    fn trap(&mut self, state: &mut State, frame: &Frame, args: &[Field], span: Span) {
        let rest = after_options(args, "");
        let [action, signals @ ..] = rest else { return };
        let names: Vec<Value> = signals.iter().map(|field| field.value.clone()).collect();
        if names.is_empty() {
            self.set_traps(state, frame, None, std::slice::from_ref(&action.value), span);
            return;
        }
        if action.value.is("-") || action.value.is_empty() {
            self.set_traps(state, frame, None, &names, span);
            return;
        }
        // It may run at once, in the state that the shell has now, and in each that follows.
        let mut later = state.fork();
        let spans = self.spans_of(frame, action.span, &action.value);
        let first = self.facts.acts.len();
        let inside = Frame { spans, conditional: frame.conditional, ..within(frame, "trap") };
        self.read_value(&mut later, &inside.perhaps(), &action.value, span);
        self.interrupted(state, &later, &names, &action.value, span);
        self.set_traps(state, &inside, Some((&action.value, first)), &names, span);
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
            self.opaque(frame.fetched_code(), detail, span);
        }
        let mut known = String::new();
        for piece in &value.pieces {
            match piece {
                super::act::Piece::Text(text) => known.push_str(text),
                // What was live outside stands for names, however it is quoted inside.
                hole => known.extend(self.hole(hole)),
            }
        }
        let is_set_up = |piece: &super::act::Piece| match piece {
            super::act::Piece::Text(text) => text.trim().is_empty(),
            super::act::Piece::Unknown(unknown) => unknown.why == UnknownReason::ShellCode,
            super::act::Piece::Glob(_) => false,
        };
        if value.pieces.iter().all(is_set_up) {
            return;
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

/// Whether a shell refuses to change its directory for these words.
fn cannot_change(args: &[Field]) -> bool {
    let is_option = |text: &str| text.starts_with('-') && text.len() > 1 && text != "--";
    let mut options = args.iter().map_while(|field| field.value.known()).take_while(|text| is_option(text));
    operands(args).count() > 1 || options.any(|text| text.chars().skip(1).any(|letter| !"LPe@qs".contains(letter)))
}

/// Whether the words name an entry of the directory stack by its number.
fn rotates(args: &[Field]) -> bool {
    let is_number = |text: &str| {
        text.strip_prefix(['+', '-']).is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
    };
    args.iter().any(|field| field.value.known().is_some_and(|text| is_number(&text)))
}

/// Takes an entry off the directory stack, and goes there unless it was another one that was taken off.
fn popd(state: &mut State, args: &[Field]) {
    if args.iter().any(|field| field.value.is("-n")) {
        state.stack.pop();
    } else if rotates(args) && !args.iter().any(|field| field.value.is("+0")) {
        let from = state.cwd.clone();
        let to = state.stack.pop().flatten();
        state.move_to(to);
        state.also.push(from);
    } else {
        let dir = state.stack.pop().flatten();
        state.move_to(dir);
    }
}

/// The frame inside a wrapper of this name.
pub(super) fn within(frame: &Frame, wrapper: &str) -> Frame {
    let mut frame = frame.clone();
    frame.wrappers.push(wrapper.to_owned());
    frame
}

/// Arguments that are no options.
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

/// The directory that a value comes to of which numbers are not known, or what `mktemp` made.
pub(super) fn named_in_part(state: &State, value: &Value) -> Option<String> {
    let is_number = |piece: &super::act::Piece| match piece {
        super::act::Piece::Text(_) => true,
        super::act::Piece::Unknown(unknown) => matches!(unknown.why, UnknownReason::Number(_)),
        super::act::Piece::Glob(_) => false,
    };
    let Some(text) = value.spelled().filter(|_| value.pieces.iter().all(is_number)) else { return temporary(value) };
    // A number alone may be empty after all.
    let whole = |name: &str| name.is_empty() || !name.chars().all(super::value::is_hole);
    text.split('/').all(whole).then(|| absolute(state, &text))?
}

/// The directory that a value with a temporary name in front comes to.
fn temporary(value: &Value) -> Option<String> {
    use super::act::{Piece, Unknown};
    let [Piece::Unknown(Unknown { why: UnknownReason::Temporary { variable }, .. }), rest @ ..] =
        value.pieces.as_slice()
    else {
        return None;
    };
    if *variable && rest.is_empty() {
        // `cd` without a word goes home, and with an empty one nowhere.
        return None;
    }
    below_temporary(value)
}

/// The path below the directory that stands for all that `mktemp` makes.
pub(super) fn below_temporary(value: &Value) -> Option<String> {
    use super::act::{Piece, Unknown};
    let [Piece::Unknown(Unknown { why: UnknownReason::Temporary { .. }, .. }), rest @ ..] = value.pieces.as_slice()
    else {
        return None;
    };
    let rest = Value { pieces: rest.to_vec() }.spelled()?;
    let state = State { cwd: Some(TEMPORARY.to_owned()), ..State::default() };
    let dir = absolute(&state, &format!("{TEMPORARY}{rest}"))?;
    (rest.is_empty() || dir.starts_with(TEMPORARY)).then_some(dir)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dump, facts};

    /// Where the line's `rm` may run.
    #[track_caller]
    fn stands(line: &str, expected: &[&str]) {
        let facts = facts(line);
        let mut dirs: Vec<String> = Vec::new();
        for act in &facts.acts {
            let is_rm = matches!(&act.verb, super::super::act::Verb::Program { name, .. } if name == "rm");
            let dir = act.cwd.clone().unwrap_or("?".to_owned());
            if is_rm && !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        assert_eq!(dirs, expected, "\n{line}\n{}", dump(&facts));
    }

    const HERE: &str = "/home/dev/project";

    #[test]
    fn what_does_not_change_the_directory_leaves_it() {
        stands("pushd -n /x; rm y", &[HERE]);
        stands("pushd -n /x; popd; rm y", &["/x"]);
        stands("pushd /x; pushd -n /z; popd -n; popd; rm y", &[HERE]);
        stands("pushd /x; pushd; rm y", &[HERE]);
        stands("pushd +1; rm y", &["?"]);
    }

    #[test]
    fn a_change_that_fails_leaves_the_directory_in_doubt() {
        stands("cd /x extra; rm y", &["/x", HERE]);
        stands("cd -z /x; rm y", &["/x", HERE]);
        stands("cd /x >/nowhere/z; rm y", &["/x", HERE]);
        stands("cd /x extra && rm y", &["/x"]);
        stands("cd /x >/nowhere/z && rm y", &["/x"]);
    }

    #[test]
    fn a_directory_that_is_looked_for_may_be_elsewhere() {
        stands("CDPATH=$(cat f); cd x && rm y", &["/home/dev/project/x", "?"]);
        stands("CDPATH=..; cd ./x && rm y", &["/home/dev/project/x"]);
    }

    #[test]
    fn a_name_that_is_taken_from_cd_may_go_nowhere() {
        stands("alias cd=true; cd /x && rm y", &["/x", HERE]);
        stands("enable -n cd; cd /x && rm y", &["/x", HERE]);
        stands("alias ll='ls -l'; ll; cd /x && rm y", &["/x"]);
    }
}
