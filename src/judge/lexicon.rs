//! The format of the words and weights by which the kind of a tool is guessed.
//!
//! Only the format: the words are data (`patterns/guess/tools.toml`). The build script includes this file too, so it
//! depends on `serde` alone.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

/// The words and thresholds of the guess.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lexicon {
    /// The minimum sum of the first numbers at which a tool is not a plain read.
    pub acts: f64,
    /// The minimum sum of the second numbers at which a tool has tier 3.
    pub high: f64,
    /// The initial values of the two sums.
    pub start: (f64, f64),
    /// Kinds of verbs that are never treated as a read.
    pub changes: Vec<String>,
    /// Words that do not occur in the name of a plain read.
    pub secrets: Vec<String>,
    /// Kinds of verbs whose sums a description can raise but not lower.
    pub firm: Vec<String>,
    /// Kinds of verbs that change nothing: for a tool whose name has no verb, the kind of verb with which its
    /// description begins. `none` is a description without a verb.
    pub harmless: Vec<String>,
    /// Kinds of verbs that do not tell what is done: without an entry in the patterns, a tool with such a verb is not a
    /// plain read.
    pub open: Vec<String>,
    pub verbs: Vec<Verbs>,
    pub nouns: Vec<Words>,
    /// Words that are verbs only as the first word.
    pub only_first: Vec<String>,
    /// Last words of the names of tools that give information about the action of their verb.
    pub about: Vec<String>,
    /// Kinds of verbs that change nothing if all their nouns are of these kinds.
    pub mild: Vec<(String, Vec<String>)>,
    /// Verbs that are always a change, whatever their nouns are.
    pub never_mild: Vec<String>,
    /// Names of input properties that select the part of a list to read.
    pub page: Vec<String>,
    /// Last words of input properties that select an action.
    pub action: Vec<String>,
    /// Names of switches that reveal secrets, normalised and without separators.
    pub reveal: Vec<String>,
    /// Words in the name of a tool or server that mean that its commands run on another machine or as another account.
    pub elsewhere: Vec<String>,
    /// Words in the name of a tool or server that mean that the tool may move money, if it is not a plain read.
    pub money: Vec<String>,
    /// Words in the descriptions of tools that destroy something, in lower case, and words before them that negate
    /// them.
    pub destroys: Vec<String>,
    pub denies: Vec<String>,
    /// The content of properties with these names, for a tool without an entry in the patterns.
    pub held: Vec<PropertyWords>,
    /// Schemes of URLs that are fetched, in addition to `file`.
    pub schemes: Vec<String>,
    /// Names of properties that contain several independent commands.
    pub commands: Vec<String>,
    /// Names of properties that contain code. Another property or the tool names its language.
    pub code: Vec<String>,
    /// Names of properties that contain the name of that language.
    pub language: Vec<String>,
    /// The names of the languages that guard can parse.
    pub languages: Vec<PropertyWords>,
    /// Names of properties that contain a program, and of those that contain its arguments.
    pub program: Vec<String>,
    pub arguments: Vec<String>,
    /// The properties of a call of another tool.
    pub calls: Calls,
    /// Names of properties whose values are secrets, normalised and without separators.
    pub hidden: Vec<String>,
    /// Texts in descriptions of tools that are addressed to the model and do not describe the tool, in lower case with
    /// single spaces.
    pub instructions: Vec<String>,
    pub signals: BTreeMap<String, (f64, f64)>,
}

/// Verbs of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verbs {
    pub kind: String,
    /// The action of a tool of this kind, as the words after "it ".
    pub says: String,
    pub words: Vec<String>,
}

/// Nouns of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    pub kind: String,
    pub words: Vec<String>,
}

/// Names of properties, normalised, and their content, in the notation of the pattern files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyWords {
    #[serde(rename = "as")]
    pub what: String,
    pub words: Vec<String>,
}

/// Names of properties, normalised, that together make up a call of another tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Properties that contain the name of the tool, in order of likelihood.
    pub name: Vec<String>,
    /// Properties that contain its input.
    pub input: Vec<String>,
    /// Properties that contain the server of the tool.
    pub server: Vec<String>,
    /// Properties that contain a list of calls.
    pub list: Vec<String>,
}

/// A lexicon with its words indexed by name.
#[derive(Debug)]
pub struct LexiconIndex {
    pub lexicon: Lexicon,
    verbs: HashMap<String, usize>,
    nouns: HashMap<String, Vec<usize>>,
}

impl LexiconIndex {
    /// Creates the index of a lexicon.
    #[must_use]
    pub fn new(lexicon: Lexicon) -> Self {
        let mut verbs = HashMap::new();
        for (number, list) in lexicon.verbs.iter().enumerate() {
            for word in &list.words {
                verbs.entry(word.clone()).or_insert(number);
            }
        }
        let mut nouns: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, list) in lexicon.nouns.iter().enumerate() {
            for word in &list.words {
                nouns.entry(word.clone()).or_default().push(number);
            }
        }
        Self { lexicon, verbs, nouns }
    }

    /// Returns the verbs to which a word belongs.
    #[must_use]
    pub fn verb(&self, word: &str) -> Option<&Verbs> {
        self.verbs.get(word).and_then(|number| self.lexicon.verbs.get(*number))
    }

    /// Returns the kinds of nouns to which a word belongs.
    pub fn nouns<'a>(&'a self, word: &str) -> impl Iterator<Item = &'a str> {
        let kinds = self.nouns.get(word).map(Vec::as_slice).unwrap_or_default();
        kinds.iter().filter_map(|number| self.lexicon.nouns.get(*number)).map(|list| list.kind.as_str())
    }

    /// Returns the index of the verb among the words of a sentence: the first word that is a verb in any position, else
    /// the first word if it is a verb there.
    #[must_use]
    pub fn head(&self, words: &[String]) -> Option<usize> {
        let is_verb = |word: &String| self.verbs.contains_key(word);
        let anywhere = words.iter().position(|word| is_verb(word) && !self.lexicon.only_first.contains(word));
        anywhere.or_else(|| words.first().is_some_and(is_verb).then_some(0))
    }

    /// Reports whether an input property with these words selects an action.
    #[must_use]
    pub fn is_action(&self, words: &[String]) -> bool {
        words.last().is_some_and(|last| self.lexicon.action.contains(last))
    }
}
