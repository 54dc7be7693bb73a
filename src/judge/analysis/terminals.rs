//! Terminals that a session opened for itself: what it types into them is read as what it is there, by what was typed
//! there before.
//!
//! Out of scope: which programs open terminals and type into them, which their descriptions say, and the terminals
//! of others, of which nothing is known.

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

/// The most text typed into one terminal that is looked back on, in bytes.
const MAX_TYPED: usize = 16 << 10;

/// The most programs that may be read for in one terminal.
const MAX_INSIDE: usize = 4;

/// Says of an act that it types into a terminal of the session's own, and that what it types was read.
pub const OWN: &str = "--own-terminal";

/// What is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TypedText {
    Text(String),
    Enter,
    /// It takes back what stands in the line.
    Clear,
    Escape,
    /// It moves about in the line or in what was typed before.
    Edit,
}

impl TypedText {
    /// As a program reads it that takes commands by the line.
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Enter | Self::Escape => "\n",
            Self::Clear | Self::Edit => "",
        }
    }
}

/// What reads the keys.
#[derive(Clone, Debug, Default)]
struct TypedInput {
    /// What was typed behind the last Enter.
    pending: String,
    /// What stands in the line is not what was typed.
    edited: bool,
    /// Programs that were started there and read keys themselves. One that was told to end may read them still.
    inside: Vec<StartedInterpreter>,
}

#[derive(Clone, Debug)]
struct StartedInterpreter {
    language: String,
    /// What was typed since it was started.
    given: String,
    left: bool,
}

impl TypedInput {
    fn is_shell(&self) -> bool {
        self.inside.iter().all(|inside| inside.left)
    }
}

impl Walker<'_> {
    /// Reads what a program types into a terminal, and says so on the act. Where it is not the session's own, or what is
    /// typed or what was typed before is not known, nothing is said.
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
        // The same act may stand there once more, as it would be in another directory.
        for other in self.facts.acts.iter_mut().skip(act).filter(|other| other.verb.key() == name) {
            other.flags.push(Flag { name: OWN.to_owned(), value: None, span });
        }
        self.is_typed(&mut state, &inside, screen, &keys, span);
    }

    /// Follows what was typed before.
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
                        // Nobody knows what ran, and so not where it left the shell.
                        state.move_to(None);
                    }
                    let started = acts.iter().filter_map(|act| self.input.stays(act));
                    let inside = |language| StartedInterpreter { language, given: String::new(), left: false };
                    screen.inside.extend(started.map(inside));
                }
            }
        }
    }

    /// What a line did that ran there: its state stays, the rest is past, and the world tells it.
    fn ran_there(&mut self, state: &mut State, context: &Context, line: &str) -> Vec<Act> {
        let (sinks, files) = (self.sinks.clone(), self.files.clone());
        let acts = self.what_came_before(state, context, line.as_bytes());
        for (sink, was) in self.sinks.iter_mut().zip(sinks) {
            *sink = was;
        }
        self.files = files;
        acts
    }

    /// Reads what is typed now: by the shell, which may stand there whatever was started, and by what else reads it.
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
            // What is no line of a shell runs nothing in one.
            self.facts.opaque.truncate(opaque);
        }
        for mut inside in screen.inside {
            keys.iter().for_each(|key| inside.given.push_str(key.text()));
            self.embedded_code(state, context, None, &inside.language, &Value::text(inside.given), span);
        }
    }
}

impl AnalysisInput<'_> {
    /// The language that a program of the terminal reads for as long as it runs.
    fn stays(&self, act: &Act) -> Option<String> {
        let Verb::Program { name, .. } = &act.verb else { return None };
        let runs = self.catalog.program(name)?.runs.as_ref()?;
        let scripted = runs.script_operand && !act.operands.is_empty();
        let at_once = act.dry_run || act.code.is_some() || scripted || super::program::is_shell(&runs.language);
        (!at_once).then(|| runs.language.clone())
    }
}

/// Whether a line ends the program that reads it.
fn leaves(line: &str) -> bool {
    let line = line.trim().trim_start_matches(':').trim_end_matches(';');
    word_lists::LEAVING_LINES.contains(&line) || line == ".quit"
}

fn terminal<'p>(described: &'p Program, sub: &[String]) -> Option<&'p Terminal> {
    described.subs.exact(sub)?.terminal.as_ref()
}

/// Whether an act is one by which terminals are told apart.
pub fn is_told(described: &Program, act: &Act) -> bool {
    match terminal(described, &act.sub) {
        Some(Terminal::Types(_)) => act.flags.iter().any(|flag| flag.name == OWN),
        Some(Terminal::Opens(_) | Terminal::Closes(_)) => !act.dry_run,
        None => false,
    }
}

/// An act as it is remembered by the names in it; `None` where one of them is not known.
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
    })
}

/// Which terminal is meant: options of the program itself, the session and the part of it.
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
    // What stands in front of the subcommand says whose terminals they are.
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

/// How the session opened that terminal, and what it typed into it since; `None` where it did not, or closed it again.
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
            // One that may have been there already is taken, and not made.
            Some(Terminal::Opens(_)) if named.flags.iter().any(|(name, _)| name == "-A") => found = None,
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

/// Whether two parts of one session may be the same: numbers tell them apart, and names do.
fn may_be_same(one: &[&str], other: &[&str]) -> bool {
    let number = |part: &str| part.parse::<u16>().ok();
    let apart = |(one, other): (&&str, &&str)| one != other && number(one).is_some() == number(other).is_some();
    !one.iter().zip(other).any(apart)
}

/// The keys that an act types; `None` where it types otherwise than by name and text.
fn keys(named: &NamedObject) -> Option<Vec<TypedText>> {
    let given = |name: &str| named.flags.iter().any(|flag| flag.0 == name);
    if ["-H", "-X", "-N", "-K", "-M", "-R", "-F", "-c"].into_iter().any(given) {
        return None;
    }
    let literal = given("-l");
    let mut keys = Vec::new();
    for word in &named.operands {
        match if literal { TypedText::Text(word.clone()) } else { key(word) } {
            // A line break in a text is the key.
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
