//! The guess at a tool that nothing describes: by the words of its name, its description and its input together.
//!
//! Each thing that is noticed is a signal with two numbers (`patterns/guess/tools.toml`); their sums say whether it is
//! no plain read, and whether it is of tier 3. A description never lowers what the name says, and hints only raise.

use std::collections::BTreeSet;

use serde_json::Value;

use super::call::ToolCall;
use super::input_content;
use crate::judge::lexicon::LexiconIndex;
use crate::judge::name_words;
use crate::judge::tier::Tier;

/// What is made of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Guess {
    pub tier: Tier,
    /// The kind of its verb; `None` where its name has none.
    pub kind: Option<String>,
    /// The words that say it, and what they say it does: for a person.
    pub says: Option<(String, String)>,
    /// What of it decided, where its name alone did not.
    pub by: GuessBasis,
    /// What it does is not in its words: it runs something. Where what it is given does not say it either, nothing does.
    pub is_open: bool,
    /// Its name is of money, and it is no plain read.
    pub pays: bool,
}

/// What decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuessBasis {
    Name,
    /// Its name is no plain read.
    Unknown,
    /// What the description or the input says beside the name.
    Whole,
    /// The tool itself says that it destroys, or that it wants to be confirmed.
    Hint,
    /// The tool itself says that it is no plain read.
    Acts,
    /// The host cut its name.
    Cut,
    /// The input has secrets shown.
    Reveals,
}

/// The most words of a description that are read, and of its first sentence.
const MOST_WORDS: usize = 250;
const MOST_OF_SENTENCE: usize = 40;
/// Among how many words of the first sentence its verb is looked for.
const VERB_WITHIN: usize = 12;
/// The most values of a list that are looked at.
const MOST_VALUES: usize = 60;

/// Judges a tool by its words.
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
        // Many libraries write this of every tool, so that it does not outweigh the verb of a plain read.
        () if says_that_it_acts && kind != READ => (Tier::Medium, GuessBasis::Acts),
        () => (Tier::Low, GuessBasis::Name),
    };
    let says = verb.map(|(word, verbs)| (word.clone(), verbs.says.clone()));
    let pays = tier > Tier::Low && is_named(&lexicon.money, &name, server);
    Guess { tier, kind: verb.map(|_| kind.to_owned()), says, by, is_open, pays }
}

/// The place of the verb among the words of a name: the first that is one wherever it stands, else the first word of the
/// name, unless the server's own stood in front of it.
fn head(words: &[name_words::NameWord], is_behind: bool, known: &LexiconIndex) -> Option<usize> {
    let is_verb = |word: &name_words::NameWord| !word.plural && known.verb(&word.text).is_some();
    let anywhere = words.iter().position(|word| is_verb(word) && !known.lexicon.only_first.contains(&word.text));
    anywhere.or_else(|| (!is_behind && words.first().is_some_and(is_verb)).then_some(0))
}

/// Whether all that such a verb is done to is of kinds that it changes nothing in.
fn is_mild(kind: &str, nouns: &BTreeSet<&str>, known: &LexiconIndex) -> bool {
    let of = known.lexicon.mild.iter().find(|(verb, _)| verb == kind);
    of.is_some_and(|(_, mild)| !nouns.is_empty() && nouns.iter().all(|noun| mild.iter().any(|one| one == noun)))
}

/// Where there is no word of any kind.
const NONE: &str = "none";
/// The kind of verbs that only look.
const READ: &str = "read";

/// What a tool says of itself by this name, yes or no.
fn hint(call: &ToolCall, name: &str) -> Option<bool> {
    call.hints.as_ref().and_then(|hints| hints.get(name)).and_then(Value::as_bool)
}

/// Whether the tool says of itself that it destroys or wants to be confirmed.
pub(super) fn is_warning(call: &ToolCall) -> bool {
    ["destructiveHint", "requires_confirmation", "requiresConfirmation"]
        .iter()
        .any(|name| hint(call, name) == Some(true))
}

/// What was noticed, each thing once.
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

/// By the words of its name. The kinds of its nouns.
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

/// The kinds of verb among the values that choose what is done.
#[derive(Debug, Default)]
struct ValueVerbs {
    /// Of the tool itself.
    own: BTreeSet<String>,
    /// Of each of several things that it does at once.
    each: BTreeSet<String>,
}

impl ValueVerbs {
    /// Whether a change is among them that the tool's name does not say: because it has no verb, or one for any change.
    fn stands_for(&self, kind: &str, known: &LexiconIndex) -> bool {
        let changes = |kinds: &BTreeSet<String>| known.lexicon.changes.iter().any(|change| kinds.contains(change));
        kind == NONE && changes(&self.own) || [NONE, "write", "run"].contains(&kind) && changes(&self.each)
    }
}

/// By the names of its properties: those of the schema, else those that are given. What its values choose is returned.
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
                // A line of words that happens to hold one for a read is a command, which is judged by itself.
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

/// Whether a word that names what is done may hold this.
fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || "_-".contains(letter)
}

/// The kind of the verb of a value that chooses what is done.
fn kind_of_value<'k>(value: &str, known: &'k LexiconIndex) -> &'k str {
    let words = name_words::of_name(value);
    let verb = known.head(&words).and_then(|at| known.verb(words.get(at)?));
    verb.map_or(NONE, |verb| verb.kind.as_str())
}

/// The values that choose what is done: the one that is given, else all that there are. One that nothing is known of says
/// nothing, unless it is a command, which is judged by itself.
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

/// The values that a schema offers.
fn offered(property: &Value) -> impl Iterator<Item = &str> {
    let all = property.get("enum").and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str).take(MOST_VALUES)
}

/// Whether it runs something on another machine or as another account, where what is known of this one does not hold.
fn is_elsewhere(kind: &str, name: &[String], server: Option<&str>, known: &LexiconIndex) -> bool {
    known.lexicon.open.iter().any(|open| open == kind) && is_named(&known.lexicon.elsewhere, name, server)
}

/// Whether a word of a name or of its server's is one of these.
fn is_named(list: &[String], name: &[String], server: Option<&str>) -> bool {
    let served = server.map(name_words::of_name).unwrap_or_default();
    name.iter().chain(&served).any(|word| list.contains(word))
}

/// Whether the input asks for secrets to be shown.
fn reveals(call: &ToolCall, known: &LexiconIndex) -> bool {
    let is_on = |value: &Value| value.as_bool() == Some(true) || value.as_str() == Some("true");
    let names = |name: &String| known.lexicon.reveal.contains(&name_words::plain(name).replace('_', ""));
    call.input.as_object().into_iter().flatten().any(|(name, value)| is_on(value) && names(name))
}

/// Whether a description says that the tool destroys, and not that it does not.
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

/// By the words of its description. The kind of the verb that it begins with.
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
