//! Guesses what an undescribed tool does, from the words of its name, its description and its input together.
//!
//! Each observation is a signal with two numbers (`patterns/guess/tools.toml`). Their sums determine whether the tool
//! does more than read, and whether it has tier 3. A description never lowers what the name says, and hints only raise.

use std::collections::BTreeSet;

use serde_json::Value;

use super::call::ToolCall;
use super::input_content;
use crate::judge::lexicon::LexiconIndex;
use crate::judge::name_words;
use crate::judge::tier::Tier;

/// The guess about a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    pub tier: Tier,
    /// The kind of the verb in the name; `None` if it has no verb.
    pub kind: Option<String>,
    /// The verb, and what it means, for people.
    pub says: Option<(String, String)>,
    /// The part of the call that decided, if not the name alone.
    pub by: GuessBasis,
    /// Whether the words do not determine what the tool does, because it runs something. Then only the input can.
    pub is_open: bool,
    /// Whether the name is about money, and the tool does more than read.
    pub pays: bool,
}

/// The part of a call that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuessBasis {
    Name,
    /// The name, which is not known to be a read.
    Unknown,
    /// The description or the input in addition to the name.
    Whole,
    /// The tool's own hint that it destroys, or requires confirmation.
    Hint,
    /// The tool's own hint that it does not only read.
    Acts,
    /// The name, which the host truncated.
    Cut,
    /// The input, which requests that secrets are shown.
    Reveals,
}

/// Maximum numbers of words that are read of a description, and of its first sentence.
const MOST_WORDS: usize = 250;
const MOST_OF_SENTENCE: usize = 40;
/// The number of words of the first sentence in which its verb is searched.
const VERB_WITHIN: usize = 12;
/// Maximum number of values of a list that are examined.
const MOST_VALUES: usize = 60;

/// Guesses what a tool does from its words.
#[must_use]
pub fn guess(call: &ToolCall, known: &LexiconIndex) -> Guess {
    let lexicon = &known.lexicon;
    let readings = call.readings();
    let reading = readings.first();
    let (tool, server) = reading.map_or((call.name.as_str(), None), |one| (one.tool, one.server.as_deref()));
    let (words, is_behind) = name_words::of_tool(tool, server, &|word| known.verb(word).is_some());
    let head = head(&words, is_behind, known);
    let name: Vec<String> = words.into_iter().map(|word| word.text).collect();
    let verb = head.and_then(|at| Some((name.get(at)?, known.verb(name.get(at)?)?)));
    let kind = verb.map_or(NONE, |(_, verbs)| verbs.kind.as_str());
    let is_about = name.len() > 1 && name.last().is_some_and(|last| lexicon.about.contains(last));

    let mut bare = Signals::default();
    let nouns = of_name(&mut bare, &name, head, kind, known);
    if is_about {
        bare.add("name about");
    }
    let chosen = of_input(&mut bare, call, known);
    let says_that_it_acts = hint(call, "readOnlyHint") == Some(false);
    if says_that_it_acts {
        bare.add("hint acts");
    }
    let by_name = bare.sums(known);
    let mut sums = by_name;
    let described = call.description.as_deref().filter(|text| !text.trim().is_empty());
    let mut begins = NONE;
    if let Some(text) = described {
        let mut all = bare.clone();
        begins = of_description(&mut all, text, kind, known);
        let (acts, high) = all.sums(known);
        let is_firm = lexicon.firm.iter().any(|firm| firm == kind);
        sums = if is_firm { (acts.max(by_name.0), high.max(by_name.1)) } else { (acts, high) };
    }
    let is_harmless = described.is_some() && lexicon.harmless.iter().any(|harmless| harmless == begins);
    let is_grave = verb.is_some_and(|(word, _)| lexicon.never_mild.contains(word));
    let is_mild = is_mild(kind, &nouns, known) && !is_grave || is_about && is_harmless;
    let is_change = lexicon.changes.iter().any(|change| change == kind) && !is_mild
        || name.iter().any(|word| lexicon.secrets.contains(word));
    let is_open = described.is_none() && lexicon.open.iter().any(|open| open == kind);
    let is_change = is_change || chosen.stands_for(kind, known) || is_elsewhere(kind, &name, server, known);
    let is_unknown = kind == NONE && !is_harmless && !(is_about && described.is_some());
    let acts = is_change || is_unknown || sums.0 >= lexicon.acts;
    let destroys = described.is_some_and(|text| says_that_it_destroys(text, known));
    let (tier, by) = match () {
        () if reveals(call, known) => (Tier::High, GuessBasis::Reveals),
        () if acts && sums.1 >= lexicon.high => {
            (Tier::High, if by_name.1 >= lexicon.high { GuessBasis::Name } else { GuessBasis::Whole })
        }
        () if acts => {
            let by = if is_change || by_name.0 >= lexicon.acts { GuessBasis::Name } else { GuessBasis::Whole };
            (Tier::Medium, if is_unknown { GuessBasis::Unknown } else { by })
        }
        () if call.is_cut() => (Tier::Medium, GuessBasis::Cut),
        () if destroys => (Tier::Medium, GuessBasis::Whole),
        () if is_warning(call) => (Tier::Medium, GuessBasis::Hint),
        // Many libraries set this hint for every tool, so that it does not outweigh the verb of a plain read.
        () if says_that_it_acts && kind != READ => (Tier::Medium, GuessBasis::Acts),
        () => (Tier::Low, GuessBasis::Name),
    };
    let says = verb.map(|(word, verbs)| (word.clone(), verbs.says.clone()));
    let pays = tier > Tier::Low && is_named(&lexicon.money, &name, server);
    Guess { tier, kind: verb.map(|_| kind.to_owned()), says, by, is_open, pays }
}

/// Returns the position of the verb among the words of a name: the first word that is a verb in any position, else the
/// first word of the name, unless the server's name was before it.
fn head(words: &[name_words::NameWord], is_behind: bool, known: &LexiconIndex) -> Option<usize> {
    let is_verb = |word: &name_words::NameWord| !word.plural && known.verb(&word.text).is_some();
    let anywhere = words.iter().position(|word| is_verb(word) && !known.lexicon.only_first.contains(&word.text));
    anywhere.or_else(|| (!is_behind && words.first().is_some_and(is_verb)).then_some(0))
}

/// Reports whether all objects of a verb of this kind are of kinds in which it changes nothing.
fn is_mild(kind: &str, nouns: &BTreeSet<&str>, known: &LexiconIndex) -> bool {
    let of = known.lexicon.mild.iter().find(|(verb, _)| verb == kind);
    of.is_some_and(|(_, mild)| !nouns.is_empty() && nouns.iter().all(|noun| mild.iter().any(|one| one == noun)))
}

/// The kind if no word is known.
const NONE: &str = "none";
/// The kind of the verbs that only read.
const READ: &str = "read";

/// Returns the value of a boolean hint of the tool.
fn hint(call: &ToolCall, name: &str) -> Option<bool> {
    call.hints.as_ref().and_then(|hints| hints.get(name)).and_then(Value::as_bool)
}

/// Reports whether the tool says that it destroys or requires confirmation.
pub(super) fn is_warning(call: &ToolCall) -> bool {
    ["destructiveHint", "requires_confirmation", "requiresConfirmation"]
        .iter()
        .any(|name| hint(call, name) == Some(true))
}

/// The signals of a call, each once.
#[derive(Clone, Debug, Default)]
struct Signals(BTreeSet<String>);

impl Signals {
    fn add(&mut self, signal: impl Into<String>) {
        self.0.insert(signal.into());
    }

    fn sums(&self, known: &LexiconIndex) -> (f64, f64) {
        let worth = |signal: &String| known.lexicon.signals.get(signal).copied().unwrap_or_default();
        self.0.iter().map(worth).fold(known.lexicon.start, |sum, worth| (sum.0 + worth.0, sum.1 + worth.1))
    }
}

/// Adds the signals of the words of the name, and returns the kinds of its nouns.
fn of_name<'k>(
    signals: &mut Signals,
    name: &[String],
    head: Option<usize>,
    kind: &str,
    known: &'k LexiconIndex,
) -> BTreeSet<&'k str> {
    signals.add(format!("verb {kind}"));
    let mut nouns = BTreeSet::new();
    for (_, word) in name.iter().enumerate().filter(|(at, _)| Some(*at) != head) {
        nouns.extend(known.nouns(word));
        if let Some(also) = known.verb(word) {
            signals.add(format!("also {}", also.kind));
            signals.add(format!("verb {kind} also {}", also.kind));
        }
    }
    if nouns.is_empty() {
        signals.add(format!("verb {kind} noun -"));
    }
    for noun in &nouns {
        signals.add(format!("noun {noun}"));
        signals.add(format!("verb {kind} noun {noun}"));
    }
    nouns
}

/// The kinds of the verbs among the values that select the action.
#[derive(Debug, Default)]
struct ValueVerbs {
    /// The kinds for the tool itself.
    own: BTreeSet<String>,
    /// The kinds for each of several actions of one call.
    each: BTreeSet<String>,
}

impl ValueVerbs {
    /// Reports whether they include a change that the tool's name does not contain, because it has no verb or a verb
    /// for any change.
    fn stands_for(&self, kind: &str, known: &LexiconIndex) -> bool {
        let changes = |kinds: &BTreeSet<String>| known.lexicon.changes.iter().any(|change| kinds.contains(change));
        kind == NONE && changes(&self.own) || [NONE, "write", "run"].contains(&kind) && changes(&self.each)
    }
}

/// Adds the signals of the properties' names, which are those of the schema or else those of the input. Returns the
/// verbs of the values that select the action.
fn of_input(signals: &mut Signals, call: &ToolCall, known: &LexiconIndex) -> ValueVerbs {
    let mut chosen = ValueVerbs::default();
    let described = call.schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let Some(properties) = described.or_else(|| call.input.as_object()).filter(|all| !all.is_empty()) else {
        signals.add("input none");
        return chosen;
    };
    for (name, property) in properties {
        let words = name_words::of_name(name);
        for noun in words.iter().flat_map(|word| known.nouns(word)) {
            signals.add(format!("input {noun}"));
        }
        let pages = &known.lexicon.page;
        if words.first().is_some_and(|first| pages.contains(first)) || pages.contains(&words.concat()) {
            signals.add("input page");
        }
        let is_body = if described.is_some() {
            matches!(property.get("type").and_then(Value::as_str), Some("object" | "array"))
        } else {
            property.is_object() || property.is_array()
        };
        if is_body {
            signals.add("input body");
        }
        if known.is_action(&words) {
            signals.add("input action");
            for value in actions(call, name, property, described.is_some(), known) {
                let kind = kind_of_value(value, known);
                // A command with a word for reading in it does not count as a read, because it is judged by itself.
                let is_line =
                    input_content::is_command(name, known) && value.contains(|letter: char| !is_of_word(letter));
                let is_harmless = known.lexicon.harmless.iter().any(|harmless| harmless == kind);
                let kind = if is_line && is_harmless { NONE } else { kind };
                signals.add(format!("action {kind}"));
                chosen.own.insert(kind.to_owned());
            }
        }
        let each = property.pointer("/items/properties").and_then(Value::as_object).filter(|_| described.is_some());
        for (_, part) in each.into_iter().flatten().filter(|(name, _)| known.is_action(&name_words::of_name(name))) {
            chosen.each.extend(offered(part).map(|value| kind_of_value(value, known).to_owned()));
        }
    }
    chosen
}

/// Reports whether a word for an action may contain this character.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-".contains(letter)
}

/// Returns the kind of the verb of a value that selects the action.
fn kind_of_value<'k>(value: &str, known: &'k LexiconIndex) -> &'k str {
    let words = name_words::of_name(value);
    let verb = known.head(&words).and_then(|at| known.verb(words.get(at)?));
    verb.map_or(NONE, |verb| verb.kind.as_str())
}

/// Returns the values that select the action: the given one, or else all that the schema offers. A given value without
/// a known verb counts only if it is a command, which is judged by itself.
fn actions<'a>(
    call: &'a ToolCall,
    name: &str,
    property: &'a Value,
    described: bool,
    known: &LexiconIndex,
) -> Vec<&'a str> {
    match call.input.get(name).and_then(Value::as_str) {
        Some(given) if kind_of_value(given, known) != NONE || input_content::is_command(name, known) => vec![given],
        _ if described => offered(property).collect(),
        _ => Vec::new(),
    }
}

/// Returns the values that a schema offers.
fn offered(property: &Value) -> impl Iterator<Item = &str> {
    let all = property.get("enum").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str).take(MOST_VALUES)
}

/// Reports whether the tool runs something on another machine or as another account, to which the facts about this one
/// do not apply.
fn is_elsewhere(kind: &str, name: &[String], server: Option<&str>, known: &LexiconIndex) -> bool {
    known.lexicon.open.iter().any(|open| open == kind) && is_named(&known.lexicon.elsewhere, name, server)
}

/// Reports whether a word of the name or of the server's name is in this list.
fn is_named(list: &[String], name: &[String], server: Option<&str>) -> bool {
    let served = server.map(name_words::of_name).unwrap_or_default();
    name.iter().chain(&served).any(|word| list.contains(word))
}

/// Reports whether the input requests that secrets are shown.
fn reveals(call: &ToolCall, known: &LexiconIndex) -> bool {
    let is_on = |value: &Value| value.as_bool() == Some(true) || value.as_str() == Some("true");
    let names = |name: &String| known.lexicon.reveal.contains(&name_words::plain(name).replace('_', ""));
    call.input.as_object().into_iter().flatten().any(|(name, value)| is_on(value) && names(name))
}

/// Reports whether a description says that the tool destroys, without a negation.
fn says_that_it_destroys(text: &str, known: &LexiconIndex) -> bool {
    let words = name_words::of_text(text, MOST_WORDS);
    let text = format!(" {} ", words.join(" "));
    known.lexicon.destroys.iter().any(|said| {
        text.match_indices(&format!(" {said} ")).any(|(at, _)| {
            let before: Vec<&str> = text.get(..at).unwrap_or_default().split_whitespace().rev().take(2).collect();
            !before.iter().any(|word| known.lexicon.denies.iter().any(|denial| denial == word))
        })
    })
}

/// Adds the signals of the words of the description, and returns the kind of the verb with which it begins.
fn of_description<'k>(signals: &mut Signals, text: &str, kind: &str, known: &'k LexiconIndex) -> &'k str {
    signals.add("described");
    let first = name_words::of_text(name_words::first_sentence(text), MOST_OF_SENTENCE);
    let opening = first.get(..first.len().min(VERB_WITHIN)).unwrap_or_default();
    let kind_of = |word: &String| known.verb(word).map(|verb| verb.kind.as_str());
    let says = known.head(opening).and_then(|at| kind_of(opening.get(at)?)).unwrap_or(NONE);
    signals.add(format!("says {says}"));
    signals.add(format!("verb {kind} says {says}"));
    if let Some(word) = first.first() {
        signals.add(format!("begins {}", kind_of(word).unwrap_or(NONE)));
    }
    for word in &first {
        if let Some(kind) = kind_of(word) {
            signals.add(format!("sentence {kind}"));
        }
        for noun in known.nouns(word) {
            signals.add(format!("sentence noun {noun}"));
        }
    }
    for kind in name_words::of_text(text, MOST_WORDS).iter().filter_map(kind_of) {
        signals.add(format!("text {kind}"));
    }
    for (method, signal) in [
        ("GET", "request read"),
        ("POST", "request write"),
        ("PUT", "request write"),
        ("PATCH", "request write"),
        ("DELETE", "request write"),
    ] {
        if text.contains(&format!("{method} request")) {
            signals.add(signal);
        }
    }
    says
}

#[cfg(test)]
mod tests;
