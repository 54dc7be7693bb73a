//! What names mean in languages: the form of `patterns/languages/names.toml`.
//!
//! Nothing but the form and looking a name up in it. The build script reads this file too, so it stands on `serde` and on
//! what else the build script has.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::glob;
use super::model::Language;
use super::problem::TableError;

/// The tables of all languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Languages {
    pub language: Vec<LanguageTable>,
    /// Variables of the environment and properties whose value is the home directory.
    #[serde(default)]
    pub home: Vec<String>,
}

/// What names mean in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageTable {
    /// As descriptions call it; `*` is every language.
    pub name: String,
    #[serde(default)]
    pub holds: Vec<VariableNames>,
    #[serde(default)]
    pub results: Vec<CallResult>,
    #[serde(default)]
    pub acts: Vec<ActOfCalls>,
}

/// Calls whose arguments are worked out, where a language has no reader of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActOfCalls {
    /// The name of the call in that language which descriptions tell of; [`OPENS`] for one that its mode tells.
    #[serde(rename = "as")]
    pub described: String,
    /// The whole names, or globs of them whose last part is written out.
    pub calls: Vec<String>,
    /// Nothing else has such a name: in code on a command line it counts wherever it stands.
    #[serde(default)]
    pub mentioned: bool,
}

/// The name of calls that open a file for what a later argument says.
pub const OPENS: &str = "open";

/// Names of variables and members of modules that hold the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableNames {
    pub what: VariableMeaning,
    pub names: Vec<String>,
    /// The name of a [`VariableMeaning::Program`].
    #[serde(default)]
    pub program: Option<String>,
}

/// What a variable holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VariableMeaning {
    /// The home directory of the account.
    Home,
    /// The file that the code stands in.
    File,
    /// The directory of that file.
    Directory,
    /// That file as an address.
    Address,
    /// The program that runs the code.
    Program,
}

/// What some calls give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallResult {
    pub gives: ResultKind,
    /// The last parts of their names.
    pub calls: Vec<String>,
    /// The whole name fits one of these globs, where there are any.
    #[serde(default)]
    pub of: Vec<String>,
    /// What a [`ResultKind::Text`] or [`ResultKind::Path`] is; a tilde in front is the home directory.
    #[serde(default)]
    pub text: Option<String>,
}

/// What a call gives, from the object that it is a method of and from its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultKind {
    /// A text that is always the same, where there are no arguments.
    Text,
    /// That text as a path.
    Path,
    /// An empty text.
    Nothing,
    /// The text of the object.
    Same,
    /// The elements of the first argument.
    SameElements,
    /// The object, where it is a name of a directory's files.
    SameNames,
    /// The text of the first argument.
    Argument,
    /// The first argument, be it a text or what another call gives: a file that was read.
    ArgumentAsItIs,
    /// The first argument, of two at most.
    ArgumentInAnEncoding,
    /// The only argument.
    Statement,
    /// The first argument, where it has quotes in it.
    QuotedLine,
    /// The words of the first argument, or of the object.
    Words,
    /// The words of the object, where there are no arguments.
    OwnWords,
    /// The parts of the object between marks that the first argument says.
    Parts,
    /// The parts of the second argument between marks that the first says.
    PartsByMark,
    /// The values that the object carries, with the first argument between them.
    Strung,
    /// The same, with commas where there is no argument.
    StrungWithCommas,
    /// The elements of the first argument with the object between them.
    StrungElements,
    /// The object with the arguments behind it.
    StrungBehind,
    /// The arguments, as a list.
    Arguments,
    /// The arguments, one behind the other.
    StrungArguments,
    /// The first argument, or the object, from its end to its beginning.
    Reversed,
    /// The object with the second argument in the place of the first.
    Replaced,
    /// The object with the arguments in its places.
    Filled,
    /// The first argument with the others in its places.
    FilledArguments,
    /// Nothing, but the first argument comes to stand for a later one with those behind it in its places.
    FillsArgument,
    /// The letters of the numbers among the arguments.
    Letters,
    Base64,
    Hexadecimal,
    /// Decoded as the second argument says.
    DecodedAsNamed,
    /// What the environment holds under the first argument.
    Variable,
    /// The first argument, from the directory of the second.
    PathFrom,
    /// The first argument with its tilde expanded.
    PathAtHome,
    /// The directory of the first argument, so many levels up as the second says.
    Directory,
    /// The first argument in the directory of the object.
    PathBeside,
    /// The path in an address.
    PathOfAddress,
    /// The first argument in the directory of the address that the second is.
    AddressBeside,
    /// The arguments as one path that is an object.
    PathObject,
    /// The arguments below the object, as a path that is an object.
    PathBelow,
    /// The arguments as one path.
    JoinedPath,
    /// The arguments, or the object, as one path without `.` and `..`.
    PlainPath,
    /// A name that nobody else has.
    TemporaryPath,
    /// The files below the object that fit the first argument.
    FilesBelowByPattern,
    /// The files in the object that fit the first argument.
    FilesByPattern,
    /// All files below the object.
    AllBelow,
    /// All files in the object.
    AllIn,
    /// All files below the first argument, or below the working directory.
    AllInArgument,
    /// The files that fit the first argument.
    FilesOfPattern,
    /// The name of some file.
    AName,
}

impl Languages {
    /// What is wrong with the tables, in words.
    ///
    /// # Errors
    /// The first that names no language, has a text that it does not give, or gives one that it does not have; the same
    /// of programs, and of what a name holds in every language.
    pub fn check(&self) -> Result<(), TableError> {
        for table in &self.language {
            if table.name != ANY && Language::of(&table.name).is_none() {
                return Err(TableError::UnknownLanguage(table.name.clone()));
            }
            for held in &table.holds {
                if table.name == ANY || (held.what == VariableMeaning::Program) != held.program.is_some() {
                    return Err(TableError::Holds(held.names.clone()));
                }
            }
            for result in &table.results {
                if matches!(result.gives, ResultKind::Text | ResultKind::Path) != result.text.is_some() {
                    return Err(TableError::Gives(result.calls.clone()));
                }
            }
        }
        Ok(())
    }
}

/// The name of the table for every language.
const ANY: &str = "*";

/// All names by which something can be looked up.
#[derive(Debug, Default)]
pub struct LanguageIndex {
    /// Results of calls, by the last part of their names.
    results: HashMap<String, Vec<(Option<Language>, CallResult)>>,
    holds: HashMap<String, Vec<(Language, VariableMeaning, Option<String>)>>,
    /// Calls by the last part of their names.
    acts: HashMap<String, Vec<NamedAct>>,
    home: Vec<String>,
}

/// One name of calls that descriptions tell of.
#[derive(Debug)]
struct NamedAct {
    language: Language,
    /// A glob of the whole name.
    pattern: String,
    described: String,
    mentioned: bool,
}

impl LanguageIndex {
    #[must_use]
    pub fn new(languages: Languages) -> Self {
        let mut known = Self { home: languages.home, ..Self::default() };
        // Those of one language first.
        let (any, own): (Vec<_>, Vec<_>) = languages.language.into_iter().partition(|table| table.name == ANY);
        for table in own.into_iter().chain(any) {
            let language = Language::of(&table.name);
            for (held, language) in table.holds.iter().filter_map(|held| Some((held, language?))) {
                for name in &held.names {
                    known.holds.entry(name.clone()).or_default().push((language, held.what, held.program.clone()));
                }
            }
            for (act, language) in table.acts.iter().filter_map(|act| Some((act, language?))) {
                for call in &act.calls {
                    let (pattern, described) = (call.clone(), act.described.clone());
                    let act = NamedAct { language, pattern, described, mentioned: act.mentioned };
                    known.acts.entry(last_part(call).to_owned()).or_default().push(act);
                }
            }
            for result in table.results {
                for call in &result.calls {
                    known.results.entry(call.clone()).or_default().push((language, result.clone()));
                }
            }
        }
        known
    }

    /// What a variable or a member of a module holds in a language, and the program where it is one.
    #[must_use]
    pub fn held(&self, language: Language, name: &str) -> Option<(VariableMeaning, Option<&str>)> {
        let (_, what, program) = self.holds.get(name)?.iter().find(|(of, ..)| *of == language)?;
        Some((*what, program.as_deref()))
    }

    /// Whether a variable of the environment, or a property, holds the home directory.
    #[must_use]
    pub fn is_home(&self, variable: &str) -> bool {
        self.home.iter().any(|name| name == variable)
    }

    /// What a call may give in a language, in the order in which it is tried.
    pub fn results<'r>(&'r self, language: Language, callee: &'r str) -> impl Iterator<Item = &'r CallResult> {
        let all = self.results.get(last_part(callee)).map(Vec::as_slice).unwrap_or_default();
        let own = all.iter().filter(move |(of, _)| of.is_none_or(|of| of == language));
        let fits = move |result: &&CallResult| {
            result.of.is_empty() || result.of.iter().any(|pattern| glob::text(pattern, callee))
        };
        own.map(|(_, result)| result).filter(fits)
    }

    /// What descriptions call a call whose arguments are worked out, by its whole name.
    #[must_use]
    pub fn act(&self, language: Language, callee: &str) -> Option<&str> {
        self.named_act(language, callee).map(|act| act.described.as_str())
    }

    /// The same, of a name that nothing else has.
    #[must_use]
    pub fn mentioned(&self, language: Language, callee: &str) -> Option<&str> {
        self.named_act(language, callee).filter(|act| act.mentioned).map(|act| act.described.as_str())
    }

    fn named_act(&self, language: Language, callee: &str) -> Option<&NamedAct> {
        let all = self.acts.get(last_part(callee))?;
        all.iter().find(|act| act.language == language && glob::text(&act.pattern, callee))
    }
}

/// The name of a call without what it belongs to.
#[must_use]
pub fn last_part(callee: &str) -> &str {
    callee.rsplit('.').next().unwrap_or(callee)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> LanguageIndex {
        let result = |gives, calls: &[&str], of: &[&str]| CallResult {
            gives,
            calls: calls.iter().map(|name| (*name).to_owned()).collect(),
            of: of.iter().map(|name| (*name).to_owned()).collect(),
            text: None,
        };
        let file = VariableNames { what: VariableMeaning::File, names: vec!["here".to_owned()], program: None };
        let table = |name: &str, results| LanguageTable {
            name: name.to_owned(),
            holds: vec![file.clone()],
            results,
            acts: Vec::new(),
        };
        LanguageIndex::new(Languages {
            home: vec!["PLACE".to_owned()],
            language: vec![
                table("*", vec![result(ResultKind::Same, &["join", "trim"], &[])]),
                table("js", vec![result(ResultKind::Strung, &["join"], &["join", "x.*"])]),
            ],
        })
    }

    #[test]
    fn a_language_comes_before_every_language_and_names_fit_as_a_whole() {
        let known = known();
        assert_eq!(known.held(Language::Js, "here"), Some((VariableMeaning::File, None)));
        assert_eq!((known.is_home("PLACE"), known.is_home("HERE")), (true, false));
        assert_eq!((known.held(Language::Php, "here"), known.held(Language::Js, "there")), (None, None));
        let of =
            |language, callee: &str| known.results(language, callee).map(|result| result.gives).collect::<Vec<_>>();
        assert_eq!(of(Language::Js, "join"), [ResultKind::Strung, ResultKind::Same]);
        assert_eq!(of(Language::Js, "x.join"), [ResultKind::Strung, ResultKind::Same]);
        assert_eq!(of(Language::Js, "y.join"), [ResultKind::Same]);
        assert_eq!(of(Language::Php, "join"), [ResultKind::Same]);
        assert_eq!(of(Language::Php, "a.b.trim"), [ResultKind::Same]);
        assert_eq!(of(Language::Php, "trimmed"), []);
    }

    #[test]
    fn a_table_names_a_language_and_a_text_where_it_gives_one() {
        let read = |text: &str| toml::from_str::<Languages>(text);
        let checked = |text: &str| read(text).unwrap().check();
        let table = |name: &str, entry: &str| format!("[[language]]\nname = {name:?}\nresults = [{{ {entry} }}]\n");
        let calls = vec!["x".to_owned()];
        assert_eq!(checked(&table("*", "gives = \"text\", text = \"~\", calls = [\"home\"]")), Ok(()));
        let unknown = Err(TableError::UnknownLanguage("cobol".to_owned()));
        assert_eq!(checked(&table("cobol", "gives = \"same\", calls = [\"x\"]")), unknown);
        let gives = Err(TableError::Gives(calls.clone()));
        assert_eq!(checked(&table("*", "gives = \"text\", calls = [\"x\"]")), gives);
        assert_eq!(checked(&table("*", "gives = \"same\", text = \"a\", calls = [\"x\"]")), gives);
        let held = |entry: &str| format!("[[language]]\nname = \"js\"\nholds = [{{ names = [\"x\"], {entry} }}]\n");
        assert_eq!(checked(&held("what = \"file\"")), Ok(()));
        let holds = Err(TableError::Holds(calls));
        assert_eq!(checked(&held("what = \"program\"")), holds);
        assert_eq!(checked(&held("what = \"home\", program = \"x\"")), holds);
        assert!(read(&table("*", "gives = \"magic\", calls = [\"x\"]")).is_err());
    }
}
