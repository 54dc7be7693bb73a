//! Lists of words in the format of the pattern files, converted to constants of the judge when guard is built.
//!
//! Out of scope: the use of the words.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::model::Language;
use super::problem::TableError;

/// The lists of a file, by name.
pub type WordLists = BTreeMap<String, WordList>;

/// A list of words, with the value of each. All entries are of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct WordList {
    /// The doc comment of the constant: the meaning of the words.
    means: String,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    pairs: Vec<(String, String)>,
    #[serde(default)]
    counts: Vec<(String, usize)>,
    #[serde(default)]
    by_language: Vec<(String, String, Belonging)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Belonging {
    Word(String),
    Count(usize),
}

impl WordList {
    /// Returns the list as the source code of a Rust constant.
    ///
    /// # Errors
    /// The list has no entries, several kinds of entries, an entry twice, or an unknown language.
    pub fn constant(&self, name: &str) -> Result<String, TableError> {
        let mut languages = Vec::new();
        for (language, word, belonging) in &self.by_language {
            let language = Language::of(language).ok_or_else(|| TableError::UnknownLanguage(language.clone()))?;
            languages.push((language, word, belonging));
        }
        let counted = matches!(languages.first(), Some((.., Belonging::Count(_))));
        let kinds: [(&str, Vec<String>); 4] = [
            ("&str", self.words.iter().map(|word| format!("{word:?}")).collect()),
            ("(&str, &str)", self.pairs.iter().map(|pair| format!("{pair:?}")).collect()),
            ("(&str, usize)", self.counts.iter().map(|count| format!("{count:?}")).collect()),
            (
                if counted { "(Language, &str, usize)" } else { "(Language, &str, &str)" },
                languages.iter().map(|(language, word, belonging)| of_language(*language, word, belonging)).collect(),
            ),
        ];
        let mut filled = kinds.into_iter().filter(|(_, entries)| !entries.is_empty());
        let (Some((kind, entries)), None) = (filled.next(), filled.next()) else {
            return Err(TableError::Entries(name.to_owned()));
        };
        let mut seen = BTreeSet::new();
        if let Some(entry) = entries.iter().find(|entry| !seen.insert(*entry)) {
            return Err(TableError::ListedTwice(format!("{name}: {entry}")));
        }
        let constant = name.to_uppercase().replace('-', "_");
        Ok(format!(
            "/// {}.\npub const {constant}: [{kind}; {}] = [{}];\n",
            self.means,
            entries.len(),
            entries.join(", ")
        ))
    }
}

fn of_language(language: Language, word: &str, belonging: &Belonging) -> String {
    match belonging {
        Belonging::Word(other) => format!("(Language::{language:?}, {word:?}, {other:?})"),
        Belonging::Count(count) => format!("(Language::{language:?}, {word:?}, {count})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(text: &str) -> Result<String, TableError> {
        let lists: WordLists = toml::from_str(text).unwrap();
        let (name, list) = lists.first_key_value().unwrap();
        list.constant(name)
    }

    #[test]
    fn a_list_becomes_a_constant() {
        let of = |entries: &str| constant(&format!("[some-words]\nmeans = \"Words\"\n{entries}")).unwrap();
        assert_eq!(of("words = [\"a\", 'b\"']"), "/// Words.\npub const SOME_WORDS: [&str; 2] = [\"a\", \"b\\\"\"];\n");
        assert!(of("pairs = [[\"a\", \"b\"]]").ends_with(": [(&str, &str); 1] = [(\"a\", \"b\")];\n"));
        assert!(of("counts = [[\"a\", 2]]").ends_with(": [(&str, usize); 1] = [(\"a\", 2)];\n"));
        assert!(of("by-language = [[\"js\", \"a\", 2]]").ends_with("&str, usize); 1] = [(Language::Js, \"a\", 2)];\n"));
        assert!(
            of("by-language = [[\"js\", \"a\", \"\"]]").ends_with("&str, &str); 1] = [(Language::Js, \"a\", \"\")];\n")
        );
    }

    #[test]
    fn a_list_has_entries_of_one_kind_and_each_once() {
        let wrong = |entries: &str| constant(&format!("[a]\nmeans = \"Words\"\n{entries}")).unwrap_err();
        let name = "a".to_owned();
        assert_eq!(wrong(""), TableError::Entries(name.clone()));
        assert_eq!(wrong("words = [\"b\"]\npairs = [[\"c\", \"d\"]]"), TableError::Entries(name));
        assert_eq!(wrong("words = [\"b\", \"b\"]"), TableError::ListedTwice("a: \"b\"".to_owned()));
        let unknown = TableError::UnknownLanguage("klingon".to_owned());
        assert_eq!(wrong("by-language = [[\"klingon\", \"a\", 1]]"), unknown);
    }
}
