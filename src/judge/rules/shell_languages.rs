//! Shells whose code is translated to bash's grammar: the format of `patterns/languages/shells.toml`.
//!
//! Only the format and lookups by name. The build script includes this file too, so it depends only on `serde` and
//! other modules of the build script.

use serde::{Deserialize, Serialize};

use super::problem::TableError;

/// The known shells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellLanguages {
    pub shell: Vec<ShellLanguage>,
}

/// A shell, and what its translation has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellLanguage {
    /// The name of the language in program descriptions.
    pub language: String,
    pub grammar: Grammar,
    /// The prefix of the names of its own commands in descriptions.
    #[serde(default)]
    pub prefix: String,
    /// What can stand before the name of an external program.
    #[serde(default)]
    pub external: String,
    /// Whether `<` and `>` redirect, a quoted first word is a command, and a value that stands first is one too.
    #[serde(default)]
    pub redirects: bool,
    /// Commands that only compute values, and words that hold blocks. A name that ends in a colon stands for all names
    /// that begin with it.
    #[serde(default)]
    pub computing: Vec<String>,
    /// Commands of the shell with effects, which descriptions know by the prefix.
    #[serde(default)]
    pub own: Vec<String>,
    /// Commands that change the meaning of later ones, or that run what guard cannot read.
    #[serde(default)]
    pub unreadable: Vec<String>,
    /// Words with which a line begins that is a statement of Python.
    #[serde(default)]
    pub statements: Vec<String>,
}

/// The grammar of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grammar {
    /// Commands with blocks that end in `end`.
    Fish,
    /// Commands whose pipes pass structured values.
    Structured,
    /// Lines that are commands or statements of Python.
    Python,
}

impl ShellLanguages {
    /// Checks the tables.
    ///
    /// # Errors
    /// A language that is listed twice, or a command with two meanings.
    pub fn check(&self) -> Result<(), TableError> {
        for (at, shell) in self.shell.iter().enumerate() {
            if self.shell.iter().take(at).any(|other| other.language == shell.language) {
                return Err(TableError::ListedTwice(shell.language.clone()));
            }
            let mut known: Vec<&String> = Vec::new();
            for name in shell.computing.iter().chain(&shell.own).chain(&shell.unreadable).chain(&shell.statements) {
                if known.contains(&name) {
                    return Err(TableError::ListedTwice(name.clone()));
                }
                known.push(name);
            }
        }
        Ok(())
    }

    /// Returns the table of a language.
    #[must_use]
    pub fn of(&self, language: &str) -> Option<&ShellLanguage> {
        self.shell.iter().find(|shell| shell.language == language)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_found_by_the_name_of_its_language() {
        let known: ShellLanguages = toml::from_str(
            "[[shell]]\nlanguage = \"a\"\ngrammar = \"fish\"\n[[shell]]\nlanguage = \"b\"\ngrammar = \"python\"\n",
        )
        .unwrap();
        assert_eq!(known.check(), Ok(()));
        assert_eq!(known.of("b").map(|shell| shell.grammar), Some(Grammar::Python));
        assert!(known.of("c").is_none());
    }

    #[test]
    fn a_language_and_a_command_have_one_table_and_one_meaning() {
        let checked = |text: &str| toml::from_str::<ShellLanguages>(text).unwrap().check();
        let shell = "[[shell]]\nlanguage = \"a\"\ngrammar = \"structured\"\n";
        let twice = |name: &str| Err(TableError::ListedTwice(name.to_owned()));
        assert_eq!(checked(&format!("{shell}{shell}")), twice("a"));
        assert_eq!(checked(&format!("{shell}computing = [\"x\"]\nown = [\"x\"]\n")), twice("x"));
        assert_eq!(checked(&format!("{shell}unreadable = [\"y\", \"z\", \"y\"]\n")), twice("y"));
        assert_eq!(checked(&format!("{shell}computing = [\"x\"]\nown = [\"y\"]\nstatements = [\"z\"]\n")), Ok(()));
    }
}
