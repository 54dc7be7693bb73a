//! The names of files that contain code: the format of `patterns/languages/files.toml`.
//!
//! Only the format and lookups by name. The build script includes this file too, so it depends only on `serde` and
//! other modules of the build script.

use serde::{Deserialize, Serialize};

use super::model::Language;
use super::problem::TableError;

/// The known names of files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFiles {
    /// Files, other than source code, from which a program determines what to build and run.
    pub recipes: Vec<String>,
    pub source: Vec<SourceNames>,
}

/// The files that contain code in one language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceNames {
    /// The name of the language in program descriptions.
    pub language: String,
    /// The texts after the last dot of their names.
    #[serde(default)]
    pub endings: Vec<String>,
    /// Full names.
    #[serde(default)]
    pub files: Vec<String>,
}

/// Formats without a language parser: they are analysed like shell code, or cell by cell.
const WALKED: [&str; 5] = ["shell", "notebook", "report", "doctest", "robot"];

impl SourceFiles {
    /// Checks the tables.
    ///
    /// # Errors
    /// A table with an unknown language or without files, or a name in two tables.
    pub fn check(&self) -> Result<(), TableError> {
        let mut known: Vec<&String> = Vec::new();
        for source in &self.source {
            let name = &source.language;
            if Language::of(name).is_none() && !WALKED.contains(&name.as_str()) {
                return Err(TableError::UnknownLanguage(name.clone()));
            }
            if source.endings.is_empty() && source.files.is_empty() {
                return Err(TableError::NoFiles(name.clone()));
            }
            for name in source.endings.iter().chain(&source.files) {
                if known.contains(&name) {
                    return Err(TableError::ListedTwice(name.clone()));
                }
                known.push(name);
            }
        }
        Ok(())
    }

    /// Returns the language of a file with this name.
    #[must_use]
    pub fn language_of(&self, path: &str) -> Option<&str> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let whole = self.source.iter().find(|source| source.files.iter().any(|known| known == name));
        let ending = || {
            let (_, ending) = name.rsplit_once('.')?;
            self.source.iter().find(|source| source.endings.iter().any(|known| known == ending))
        };
        whole.or_else(ending).map(|source| source.language.as_str())
    }

    /// Reports whether a file with this name determines what a program builds and runs.
    #[must_use]
    pub fn is_recipe(&self, name: &str) -> bool {
        self.recipes.iter().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::SourceFiles;
    use crate::judge::rules::problem::TableError;

    const TABLES: &str = "recipes = [\"Cargo.toml\"]\n\
        [[source]]\nlanguage = \"python\"\nendings = [\"py\"]\nfiles = [\"BUILD.js\"]\n\
        [[source]]\nlanguage = \"js\"\nendings = [\"js\"]\n";

    fn read(text: &str) -> SourceFiles {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_whole_name_comes_before_an_ending() {
        let files = read(TABLES);
        assert_eq!(files.check(), Ok(()));
        assert_eq!(files.language_of("a/b.js"), Some("js"));
        assert_eq!(files.language_of("b.js/c.d.py"), Some("python"));
        assert_eq!(files.language_of("a/BUILD.js"), Some("python"));
        assert_eq!(
            (files.language_of("js"), files.language_of("a.js/x"), files.language_of("a.JS")),
            (None, None, None)
        );
        assert!(files.is_recipe("Cargo.toml") && !files.is_recipe("b.js"));
    }

    #[test]
    fn a_table_names_a_language_and_each_name_once() {
        let checked = |table: &str| read(&format!("{TABLES}[[source]]\n{table}\n")).check();
        assert_eq!(checked("language = \"shell\"\nendings = [\"sh\"]"), Ok(()));
        let unknown = TableError::UnknownLanguage("cobol".to_owned());
        assert_eq!(checked("language = \"cobol\"\nendings = [\"cob\"]"), Err(unknown));
        assert_eq!(checked("language = \"ruby\""), Err(TableError::NoFiles("ruby".to_owned())));
        let twice = |name: &str| Err(TableError::ListedTwice(name.to_owned()));
        assert_eq!(checked("language = \"ruby\"\nendings = [\"py\"]"), twice("py"));
        assert_eq!(checked("language = \"ruby\"\nfiles = [\"BUILD.js\"]"), twice("BUILD.js"));
    }
}
