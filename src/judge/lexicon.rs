//! The words that a tool's kind is guessed by, and how much each says.
//!
//! Nothing but the form: the words are data (`patterns/guess/tools.toml`). The build script reads this file too, so it
//! stands on `serde` alone.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

/// All that a guess goes by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lexicon {
    /// The least sum of first numbers at which a tool is no plain read.
    pub acts: f64,
    /// The least sum of second numbers at which it is of tier 3.
    pub high: f64,
    /// What both sums begin with.
    pub start: (f64, f64),
    /// Kinds of verb that are never taken for a read.
    pub changes: Vec<String>,
    /// Words of a name that no plain read has.
    pub secrets: Vec<String>,
    /// Kinds of verb whose sums a description may raise and not lower.
    pub firm: Vec<String>,
    /// Kinds of verb that leave all as it is: what the description of a tool begins with whose name has no verb. `none`
    /// stands for no verb at all.
    pub harmless: Vec<String>,
    /// Kinds of verb that say nothing of what is done: a tool that is not described is no plain read by one of them.
    pub open: Vec<String>,
    pub verbs: Vec<Verbs>,
    pub nouns: Vec<Words>,
    /// Words that are a verb only where they stand first.
    pub only_first: Vec<String>,
    /// Last words of a name that is about what its verb names.
    pub about: Vec<String>,
    /// Kinds of verb that are no change where all their nouns are of these kinds.
    pub mild: Vec<(String, Vec<String>)>,
    /// Verbs that are a change whatever they are done to.
    pub never_mild: Vec<String>,
    /// Names of input properties that choose what of a list is read.
    pub page: Vec<String>,
    /// Last words of input properties that choose what is done.
    pub action: Vec<String>,
    /// Names of switches that have secrets shown, in plain spelling without separators.
    pub reveal: Vec<String>,
    /// Words of a name or of its server's that say that what it runs runs elsewhere, or as another account.
    pub elsewhere: Vec<String>,
    /// Words of a name or of its server's by which money may move where the tool is no plain read.
    pub money: Vec<String>,
    /// What descriptions say of tools that destroy, in small letters, and words that say in front of it that they do not.
    pub destroys: Vec<String>,
    pub denies: Vec<String>,
    /// What properties of these names hold, of a tool that nothing describes.
    pub held: Vec<PropertyWords>,
    /// What a URL begins with of which something is fetched, beside a file.
    pub schemes: Vec<String>,
    /// Names of properties that hold commands of which each is one of its own.
    pub commands: Vec<String>,
    /// Names of properties that hold code: of the language that is named beside it or by the tool.
    pub code: Vec<String>,
    /// Names of properties that name that language.
    pub language: Vec<String>,
    /// The names of languages that are read.
    pub languages: Vec<PropertyWords>,
    /// Names of properties that name a program, and of those that hold its arguments.
    pub program: Vec<String>,
    pub arguments: Vec<String>,
    /// How a call of another tool is written.
    pub calls: Calls,
    /// Names of properties whose values are secrets, in plain spelling without separators.
    pub hidden: Vec<String>,
    /// What descriptions of tools hold that speak to the model and not of the tool, in small letters with single blanks.
    pub instructions: Vec<String>,
    pub signals: BTreeMap<String, (f64, f64)>,
}

/// Verbs of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verbs {
    pub kind: String,
    /// What a tool of this kind does, behind "it ".
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

/// Names of properties, in plain spelling, and what they hold, as the pattern files write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyWords {
    #[serde(rename = "as")]
    pub what: String,
    pub words: Vec<String>,
}

/// Names of properties, in plain spelling, that together make a call of another tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Of its tool, the likelier first.
    pub name: Vec<String>,
    /// Of its input.
    pub input: Vec<String>,
    /// Of the server that offers the tool.
    pub server: Vec<String>,
    /// Of a list of calls.
    pub list: Vec<String>,
}

/// A lexicon with its words by name.
#[derive(Debug)]
pub struct LexiconIndex {
    pub lexicon: Lexicon,
    verbs: HashMap<String, usize>,
    nouns: HashMap<String, Vec<usize>>,
}

impl LexiconIndex {
    /// Of the stored form.
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

    /// The verbs that a word is one of.
    #[must_use]
    pub fn verb(&self, word: &str) -> Option<&Verbs> {
        self.verbs.get(word).and_then(|number| self.lexicon.verbs.get(*number))
    }

    /// The kinds of noun that a word is.
    pub fn nouns<'a>(&'a self, word: &str) -> impl Iterator<Item = &'a str> {
        let kinds = self.nouns.get(word).map(Vec::as_slice).unwrap_or_default();
        kinds.iter().filter_map(|number| self.lexicon.nouns.get(*number)).map(|list| list.kind.as_str())
    }

    /// The place of the verb among the words of a sentence: the first that is a verb wherever it stands, else the first
    /// word of all.
    #[must_use]
    pub fn head(&self, words: &[String]) -> Option<usize> {
        let is_verb = |word: &String| self.verbs.contains_key(word);
        let anywhere = words.iter().position(|word| is_verb(word) && !self.lexicon.only_first.contains(word));
        anywhere.or_else(|| words.first().is_some_and(is_verb).then_some(0))
    }

    /// Whether an input property of these words chooses what is done.
    #[must_use]
    pub fn is_action(&self, words: &[String]) -> bool {
        words.last().is_some_and(|last| self.lexicon.action.contains(last))
    }
}
