//! Terminals that a session opened: the keys that it types into them are walked in the state that earlier input left
//! there.
//!
//! Out of scope: which programs open terminals and type into them (descriptions), and terminals of others, whose state
//! is unknown.

use super::act::{Act, Flag, Verb};
use super::analysis_input::AnalysisInput;
use super::arguments::Reading;
use super::builtins::within;
use super::command_context::Context;
use super::place::Place;
use super::state::State;
use super::walk::Walker;
use crate::judge::analysis::act::Value;
use crate::judge::ledger::NamedObject;
use crate::judge::rules::model::{Program, Terminal};
use crate::judge::rules::text::same_flag;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// Maximum size of the earlier input of one terminal, in bytes.
const MAX_TYPED: usize = 16 << 10;

/// Maximum number of interpreters that run in one terminal.
const MAX_INSIDE: usize = 4;

/// The flag of an act that types into a terminal of the session, if the input was analysed.
pub const OWN: &str = "--own-terminal";

/// Typed input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TypedText {
    Text(String),
    Enter,
    /// It deletes the current line.
    Clear,
    Escape,
    /// It moves in the line, or in the history.
    Edit,
}

impl TypedText {
    /// Returns the input for a program that reads commands line by line.
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Enter | Self::Escape => "\n",
            Self::Clear | Self::Edit => "",
        }
    }
}

/// The reader of typed input.
#[derive(Clone, Debug, Default)]
struct TypedInput {
    /// The input after the last Enter.
    pending: String,
    /// Whether the current line differs from the typed input.
    edited: bool,
    /// The programs that were started there and read the input themselves. One that was told to end may still read it.
    inside: Vec<StartedInterpreter>,
}

#[derive(Clone, Debug)]
struct StartedInterpreter {
    language: String,
    /// The input since it was started.
    given: String,
    left: bool,
}

impl TypedInput {
    fn is_shell(&self) -> bool {
        self.inside.iter().all(|inside| inside.left)
    }
}

impl Walker<'_> {
    /// Walks the keys that a program types into a terminal, and marks the act. If the terminal is not the session's
    /// own, or the input is unknown, the act is not marked.
    #[inline(never)]
    pub fn typed(
        &mut self,
        context: &Context,
        act: usize,
        name: &str,
        described: &Program,
        reading: &Reading,
        span: Span,
    ) {
        let Some(Terminal::Types(_)) = terminal(described, &reading.sub) else { return };
        if context.remote.is_some() || reading.dry_run {
            return;
        }
        let Some(own) = self.facts.acts.get(act).and_then(|act| named(act, name)) else { return };
        let Some(ledger) = self.input.inquiry.ledger() else { return };
        let before = self.facts.acts.iter().take(act).filter(|other| other.remote.is_none());
        let line = before.filter(|other| is_told(described, other)).filter_map(|other| named(other, name));
        let past: Vec<NamedObject> = ledger.named().filter(|past| past.program == name).cloned().chain(line).collect();
        let Some(place) = place(described, &own) else { return };
        let Some((opened, rest)) = opened(described, &past, &place) else { return };
        let there = opened.flags.iter().find(|(name, _)| name == "-c").and_then(|(_, dir)| dir.as_ref());
        let cwd = there.or(opened.cwd.as_ref()).filter(|dir| dir.starts_with('/')).cloned();
        let (Some(keys), Some(cwd)) = (keys(&own), cwd) else { return };
        let length = |named: &NamedObject| named.operands.iter().map(String::len).sum::<usize>();
        if rest.iter().copied().map(length).sum::<usize>() > MAX_TYPED {
            return;
        }
        let inside = within(context, name).elsewhere(span);
        let mut state = State::at(Some(Place::of(cwd)));
        state.zero = Value::text("bash");
        let mut screen = TypedInput::default();
        let start = opened.operands.join(" ");
        if !start.is_empty() {
            self.was_typed(&mut state, &inside, &mut screen, &[TypedText::Text(start), TypedText::Enter]);
        }
        for typed in rest {
            let Some(keys) = self::keys(typed) else { return };
            self.was_typed(&mut state, &inside, &mut screen, &keys);
        }
        if screen.inside.len() > MAX_INSIDE || screen.is_shell() && (screen.edited || keys.contains(&TypedText::Edit)) {
            return;
        }
        // There may be more acts of the same program, for other possible directories.
        for other in self.facts.acts.iter_mut().skip(act).filter(|other| other.verb.key() == name) {
            other.flags.push(Flag { name: OWN.to_owned(), value: None, span });
        }
        self.is_typed(&mut state, &inside, screen, &keys, span);
    }

    /// Walks earlier input.
    fn was_typed(&mut self, state: &mut State, context: &Context, screen: &mut TypedInput, keys: &[TypedText]) {
        for key in keys {
            let is_shell = screen.is_shell();
            for inside in &mut screen.inside {
                inside.given.push_str(key.text());
                inside.left |= *key == TypedText::Enter && inside.given.lines().last().is_some_and(leaves);
            }
            match key {
                _ if !is_shell => {}
                TypedText::Text(text) => screen.pending.push_str(text),
                TypedText::Clear => (screen.pending, screen.edited) = (String::new(), false),
                TypedText::Escape => {}
                TypedText::Edit => screen.edited = true,
                TypedText::Enter => {
                    let line = std::mem::take(&mut screen.pending);
                    let acts = self.ran_there(state, context, &line);
                    if std::mem::take(&mut screen.edited) {
                        // The command is unknown, and so is the directory after it.
                        state.move_to(None);
                    }
                    let started = acts.iter().filter_map(|act| self.input.stays(act));
                    let inside = |language| StartedInterpreter { language, given: String::new(), left: false };
                    screen.inside.extend(started.map(inside));
                }
            }
        }
    }

    /// Walks a line that ran there before: its effect on the state remains, its acts are dropped.
    fn ran_there(&mut self, state: &mut State, context: &Context, line: &str) -> Vec<Act> {
        let (sinks, files) = (self.sinks.clone(), self.files.clone());
        let acts = self.what_came_before(state, context, line.as_bytes());
        for (sink, was) in self.sinks.iter_mut().zip(sinks) {
            *sink = was;
        }
        self.files = files;
        acts
    }

    /// Walks new input: for the shell, which may be reading although a program was started, and for that program.
    fn is_typed(&mut self, state: &mut State, context: &Context, screen: TypedInput, keys: &[TypedText], span: Span) {
        let opaque = self.facts.opaque.len();
        let is_shell = screen.is_shell();
        let mut lines = screen.pending;
        let mut whole = 0;
        for key in keys {
            match key {
                TypedText::Text(text) => lines.push_str(text),
                TypedText::Enter => {
                    lines.push('\n');
                    whole = lines.len();
                }
                TypedText::Clear => lines.truncate(whole),
                TypedText::Escape | TypedText::Edit => {}
            }
        }
        lines.truncate(whole);
        self.text(state, context, &lines);
        self.end_of_shell(state);
        if !is_shell {
            // Input with a syntax error runs nothing in a shell.
            self.facts.opaque.truncate(opaque);
        }
        for mut inside in screen.inside {
            keys.iter().for_each(|key| inside.given.push_str(key.text()));
            self.embedded_code(state, context, None, &inside.language, &Value::text(inside.given), span);
        }
    }
}

impl AnalysisInput<'_> {
    /// Returns the language that a program in the terminal reads while it runs.
    fn stays(&self, act: &Act) -> Option<String> {
        let Verb::Program { name, .. } = &act.verb else { return None };
        let runs = self.catalog.program(name)?.runs.as_ref()?;
        let scripted = runs.script_operand && !act.operands.is_empty();
        let at_once = act.dry_run || act.code.is_some() || scripted || super::program::is_shell(&runs.language);
        (!at_once).then(|| runs.language.clone())
    }
}

/// Reports whether a line ends the program that reads it.
fn leaves(line: &str) -> bool {
    let line = line.trim().trim_start_matches(':').trim_end_matches(';');
    word_lists::LEAVING_LINES.contains(&line) || line == ".quit"
}

fn terminal<'p>(described: &'p Program, sub: &[String]) -> Option<&'p Terminal> {
    described.subs.exact(sub)?.terminal.as_ref()
}

/// Reports whether an act affects a named terminal.
pub fn is_told(described: &Program, act: &Act) -> bool {
    match terminal(described, &act.sub) {
        Some(Terminal::Types(_)) => act.flags.iter().any(|flag| flag.name == OWN),
        Some(Terminal::Opens(_) | Terminal::Closes(_)) => !act.dry_run,
        None => false,
    }
}

/// Returns an act with its names, for the ledger; `None` if one of them is unknown.
pub fn named(act: &Act, program: &str) -> Option<NamedObject> {
    let text = |value: &Value| value.known().map(std::borrow::Cow::into_owned);
    let told = act.flags.iter().filter(|flag| flag.name != OWN);
    let flags: Option<Vec<(String, Option<String>)>> = told
        .map(|flag| match &flag.value {
            Some(value) => Some((flag.name.clone(), Some(text(value)?))),
            None => Some((flag.name.clone(), None)),
        })
        .collect();
    Some(NamedObject {
        program: program.to_owned(),
        sub: act.sub.clone(),
        flags: flags?,
        operands: act.operands.iter().map(|operand| text(&operand.value)).collect::<Option<_>>()?,
        cwd: act.cwd.as_ref().and_then(Place::text).map(str::to_owned),
        ..NamedObject::default()
    })
}

/// The identity of a terminal: options of the program, the session, and the part of it.
#[derive(Debug, PartialEq, Eq)]
struct TerminalTarget<'n> {
    server: Vec<(&'n str, Option<&'n str>)>,
    session: &'n str,
    part: Vec<&'n str>,
}

fn place<'n>(described: &Program, named: &'n NamedObject) -> Option<TerminalTarget<'n>> {
    let (Terminal::Types(option) | Terminal::Opens(option) | Terminal::Closes(option)) =
        terminal(described, &named.sub)?;
    let is_it = |flag: &&(String, Option<String>)| same_flag(option, &flag.0);
    let target = named.flags.iter().find(is_it)?.1.as_deref()?;
    // Options before the subcommand select the server of the terminals.
    let options = described.subs.exact(&named.sub).map(|sub| sub.options.as_slice()).unwrap_or_default();
    let is_own = |name: &String| options.iter().any(|option| option.names.contains(name));
    let global = named.flags.iter().filter(|(name, value)| value.is_some() && !is_own(name));
    let (session, part) = target.split_once([':', '.']).unwrap_or((target, ""));
    let session = session.strip_prefix('=').unwrap_or(session);
    (!session.is_empty() && !session.contains(['%', '@', '$', '*', '?', '[', '{'])).then(|| TerminalTarget {
        server: global.map(|(name, value)| (name.as_str(), value.as_deref())).collect(),
        session,
        part: part.split('.').filter(|part| !part.is_empty()).collect(),
    })
}

/// Returns how the session opened that terminal, and its input since then; `None` if the session did not open it, or
/// closed it.
fn opened<'n>(
    described: &Program,
    past: &'n [NamedObject],
    place: &TerminalTarget<'_>,
) -> Option<(&'n NamedObject, Vec<&'n NamedObject>)> {
    let mut found = None;
    for named in past {
        let Some(other) = self::place(described, named) else { continue };
        if other.server != place.server || other.session != place.session {
            continue;
        }
        match terminal(described, &named.sub) {
            // An option may attach to an existing terminal instead of creating one.
            Some(Terminal::Opens(_)) if named.doubtful || named.flags.iter().any(|(name, _)| name == "-A") => {
                found = None;
            }
            Some(Terminal::Opens(_)) if found.is_none() => found = Some((named, Vec::new())),
            Some(Terminal::Closes(_)) => found = None,
            Some(Terminal::Types(_)) if may_be_same(&other.part, &place.part) => {
                found.iter_mut().for_each(|(_, typed)| typed.push(named));
            }
            _ => {}
        }
    }
    found
}

/// Reports whether two parts of a session may be the same: they differ by number or name.
fn may_be_same(one: &[&str], other: &[&str]) -> bool {
    let number = |part: &str| part.parse::<u16>().ok();
    let apart = |(one, other): (&&str, &&str)| one != other && number(one).is_some() == number(other).is_some();
    !one.iter().zip(other).any(apart)
}

/// Returns the keys that an act types; `None` if it types in another form than names of keys and text.
fn keys(named: &NamedObject) -> Option<Vec<TypedText>> {
    let given = |name: &str| named.flags.iter().any(|flag| flag.0 == name);
    if ["-H", "-X", "-N", "-K", "-M", "-R", "-F", "-c"].into_iter().any(given) {
        return None;
    }
    let literal = given("-l");
    let mut keys = Vec::new();
    for word in &named.operands {
        match if literal { TypedText::Text(word.clone()) } else { key(word) } {
            // A line break in a text is the Enter key.
            TypedText::Text(text) => {
                for (index, part) in text.split(['\r', '\n']).enumerate() {
                    keys.extend((index > 0).then_some(TypedText::Enter));
                    keys.extend((!part.is_empty()).then(|| TypedText::Text(part.to_owned())));
                }
            }
            key => keys.push(key),
        }
    }
    Some(keys)
}

fn key(word: &str) -> TypedText {
    let folded = |known: &&str| known.eq_ignore_ascii_case(word);
    match word {
        _ if ["Enter", "C-m", "C-j", "^M", "^J", "KPEnter"].iter().any(folded) => TypedText::Enter,
        _ if ["C-c", "C-u", "^C", "^U", "C-d", "^D"].iter().any(folded) => TypedText::Clear,
        _ if ["Escape", "C-[", "^["].iter().any(folded) => TypedText::Escape,
        _ if folded(&"Space") => TypedText::Text(" ".to_owned()),
        _ if word_lists::EDITING_KEYS.iter().any(folded) => TypedText::Edit,
        _ => {
            let front = word.get(..2).unwrap_or_default();
            let modified = ["C-", "M-", "S-", "KP"].contains(&front) && word.len() < 12 && !word.contains(' ');
            let function = word.strip_prefix('F').is_some_and(|number| number.parse::<u8>().is_ok());
            let control = word.len() == 2 && word.starts_with('^');
            if modified || function || control { TypedText::Edit } else { TypedText::Text(word.to_owned()) }
        }
    }
}

#[cfg(test)]
mod tests;
