//! The meaning of names in programming languages: the format of `patterns/languages/names.toml`.
//!
//! Only the format and lookups by name. The build script includes this file too, so it depends only on `serde` and
//! other modules of the build script.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::glob;
use super::model::Language;
use super::problem::TableError;

/// The tables of all languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Languages {
    pub language: Vec<LanguageTable>,
    /// Environment variables and properties whose value is the home directory.
    #[serde(default)]
    pub home: Vec<String>,
}

/// The meaning of names in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageTable {
    /// The name of the language in program descriptions; `*` is every language.
    pub name: String,
    #[serde(default)]
    pub holds: Vec<VariableNames>,
    #[serde(default)]
    pub results: Vec<CallResult>,
    #[serde(default)]
    pub acts: Vec<ActOfCalls>,
}

/// Calls whose arguments are evaluated, for a language without its own parser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActOfCalls {
    /// The name of the call in the descriptions of that language; [`OPENS`] or [`OPENS_TO_WRITE`] for a call whose mode
    /// determines it.
    #[serde(rename = "as")]
    pub described: String,
    /// Full names, or globs of full names whose last part is literal.
    pub calls: Vec<String>,
    /// Whether nothing else has such a name. In code on a command line it then counts at any position.
    #[serde(default)]
    pub mentioned: bool,
    /// What it falls on.
    #[serde(default)]
    pub on: ActObject,
    /// The positions of the arguments that it falls on, counted from 0; the first one if there are none.
    #[serde(default)]
    pub arguments: Vec<usize>,
    /// The names of an argument that stands for the last of these positions.
    #[serde(default)]
    pub keywords: Vec<String>,
}

/// What the act of a call falls on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActObject {
    /// Its arguments.
    #[default]
    Arguments,
    /// The object whose method it is.
    Receiver,
    /// The object of which it is a member, if a value is assigned to that member.
    Assigned,
}

/// The name of calls that open a file in a mode that a later argument specifies.
pub const OPENS: &str = "open";

/// The name of calls that open a file for writing if a later argument says so, and only name it otherwise.
pub const OPENS_TO_WRITE: &str = "open-to-write";

/// Names of variables and module members with the same value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableNames {
    pub what: VariableMeaning,
    pub names: Vec<String>,
    /// The name of the program of a [`VariableMeaning::Program`].
    #[serde(default)]
    pub program: Option<String>,
}

/// The value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VariableMeaning {
    /// The home directory of the account.
    Home,
    /// The file that contains the code.
    File,
    /// The directory of that file.
    Directory,
    /// That file as a URL.
    Address,
    /// The program that runs the code.
    Program,
}

/// The result of some calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallResult {
    pub gives: ResultKind,
    /// The last parts of their names.
    pub calls: Vec<String>,
    /// Globs one of which the full name must match, if there are any.
    #[serde(default)]
    pub of: Vec<String>,
    /// The text of a [`ResultKind::Text`] or [`ResultKind::Path`]; a leading tilde is the home directory.
    #[serde(default)]
    pub text: Option<String>,
}

/// The result of a call, derived from its receiver (the object whose method it is) and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResultKind {
    /// A constant text, if there are no arguments.
    Text,
    /// That text as a path.
    Path,
    /// An empty text.
    Nothing,
    /// The text of the receiver.
    Same,
    /// The elements of the first argument.
    SameElements,
    /// The receiver, if it is a file name from a listed directory.
    SameNames,
    /// The text of the first argument.
    Argument,
    /// The first argument, whether a text or the result of another call, such as the content of a file.
    ArgumentAsItIs,
    /// The first argument of at most two.
    ArgumentInAnEncoding,
    /// The only argument.
    Statement,
    /// The first argument, if it contains quotes.
    QuotedLine,
    /// The words of the first argument, or of the receiver.
    Words,
    /// The words of the receiver, if there are no arguments.
    OwnWords,
    /// The parts of the receiver, split at the first argument.
    Parts,
    /// The parts of the second argument, split at the first.
    PartsByMark,
    /// The elements of the receiver, joined with the first argument.
    Strung,
    /// The elements of the receiver, joined with the first argument or, without one, with commas.
    StrungWithCommas,
    /// The elements of the first argument, joined with the receiver.
    StrungElements,
    /// The receiver with the arguments appended.
    StrungBehind,
    /// The arguments, as a list.
    Arguments,
    /// The arguments, concatenated.
    StrungArguments,
    /// The first argument, or the receiver, reversed.
    Reversed,
    /// The receiver with the first argument replaced by the second.
    Replaced,
    /// The receiver as a format string, filled with the arguments.
    Filled,
    /// The first argument as a format string, filled with the other arguments.
    FilledArguments,
    /// Nothing, but the first argument becomes a later argument, filled with the arguments after that.
    FillsArgument,
    /// The characters with the numbers among the arguments as their codes.
    Letters,
    Base64,
    Hexadecimal,
    /// Decoded with the encoding in the second argument.
    DecodedAsNamed,
    /// The value of the environment variable in the first argument.
    Variable,
    /// The first argument as a path relative to the second.
    PathFrom,
    /// The first argument with its tilde expanded.
    PathAtHome,
    /// The directory of the first argument, as many levels up as the second specifies.
    Directory,
    /// The first argument in the directory of the receiver.
    PathBeside,
    /// The path in a URL.
    PathOfAddress,
    /// The first argument in the directory of the URL in the second.
    AddressBeside,
    /// The arguments as one path object.
    PathObject,
    /// The arguments below the receiver, as a path object.
    PathBelow,
    /// The arguments as one path.
    JoinedPath,
    /// The arguments, or the receiver, as one path, normalised without `.` and `..`.
    PlainPath,
    /// A unique temporary name.
    TemporaryPath,
    /// The files below the receiver that match the first argument.
    FilesBelowByPattern,
    /// The files in the receiver that match the first argument.
    FilesByPattern,
    /// All files below the receiver.
    AllBelow,
    /// All files in the receiver.
    AllIn,
    /// All files below the first argument, or below the working directory.
    AllInArgument,
    /// The files that match the first argument.
    FilesOfPattern,
    /// The name of some file.
    AName,
}

impl Languages {
    /// Checks the tables.
    ///
    /// # Errors
    /// The first table with an unknown language, the first result whose `text` is missing or superfluous, or the first
    /// variables whose `program` is missing or superfluous or which are in the table for every language.
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

/// All names, indexed for lookups.
#[derive(Debug, Default)]
pub struct LanguageIndex {
    /// The results of calls, by the last part of their names.
    results: HashMap<String, Vec<(Option<Language>, CallResult)>>,
    holds: HashMap<String, Vec<(Language, VariableMeaning, Option<String>)>>,
    /// The calls by the last part of their names.
    acts: HashMap<String, Vec<NamedAct>>,
    home: Vec<String>,
}

/// A name of calls that descriptions contain.
#[derive(Debug)]
struct NamedAct {
    language: Language,
    /// A glob of the full name.
    pattern: String,
    act: Arc<ActOfCalls>,
}

impl LanguageIndex {
    #[must_use]
    pub fn new(languages: Languages) -> Self {
        let mut known = Self { home: languages.home, ..Self::default() };
        // The tables of one language come before the table of all languages.
        let (any, own): (Vec<_>, Vec<_>) = languages.language.into_iter().partition(|table| table.name == ANY);
        for table in own.into_iter().chain(any) {
            let language = Language::of(&table.name);
            for (held, language) in table.holds.iter().filter_map(|held| Some((held, language?))) {
                for name in &held.names {
                    known.holds.entry(name.clone()).or_default().push((language, held.what, held.program.clone()));
                }
            }
            for (act, language) in table.acts.into_iter().filter_map(|act| Some((Arc::new(act), language?))) {
                for call in &act.calls {
                    let act = NamedAct { language, pattern: call.clone(), act: Arc::clone(&act) };
                    known.acts.entry(last_part(call).trim_start_matches('*').to_owned()).or_default().push(act);
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

    /// Returns the meaning of a variable or module member in a language, and the program if it is one.
    #[must_use]
    pub fn held(&self, language: Language, name: &str) -> Option<(VariableMeaning, Option<&str>)> {
        let (_, what, program) = self.holds.get(name)?.iter().find(|(of, ..)| *of == language)?;
        Some((*what, program.as_deref()))
    }

    /// Reports whether the value of an environment variable or property is the home directory.
    #[must_use]
    pub fn is_home(&self, variable: &str) -> bool {
        self.home.iter().any(|name| name == variable)
    }

    /// Returns the possible results of a call in a language, in the order in which they are tried.
    pub fn results<'r>(&'r self, language: Language, callee: &'r str) -> impl Iterator<Item = &'r CallResult> {
        let all = self.results.get(last_part(callee)).map(Vec::as_slice).unwrap_or_default();
        let own = all.iter().filter(move |(of, _)| of.is_none_or(|of| of == language));
        let fits = move |result: &&CallResult| {
            result.of.is_empty() || result.of.iter().any(|pattern| glob::text(pattern, callee))
        };
        own.map(|(_, result)| result).filter(fits)
    }

    /// Returns the descriptions of a call whose arguments are evaluated, by its full name, in the order in which they
    /// are tried.
    pub fn acts<'n>(&'n self, language: Language, callee: &'n str) -> impl Iterator<Item = &'n ActOfCalls> {
        let all = self.acts.get(last_part(callee)).map(Vec::as_slice).unwrap_or_default();
        let fits = move |act: &&NamedAct| act.language == language && glob::text(&act.pattern, callee);
        all.iter().filter(fits).map(|named| &*named.act)
    }

    /// Returns the name in descriptions of a call with a name that nothing else has.
    #[must_use]
    pub fn mentioned<'n>(&'n self, language: Language, callee: &'n str) -> Option<&'n str> {
        self.acts(language, callee).find(|act| act.mentioned).map(|act| act.described.as_str())
    }
}

/// Returns the last part of the name of a call.
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
