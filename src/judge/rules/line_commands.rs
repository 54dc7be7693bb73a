//! The commands of languages whose code is one command per line, as of editors and debuggers: the format of
//! `patterns/languages/commands.toml`.
//!
//! Only the format and lookups by name. The build script includes this file too, so it depends only on `serde` and
//! other modules of the build script.

use serde::{Deserialize, Serialize};

use super::glob;
use super::model::Language;
use super::problem::TableError;

/// The tables of all such languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineLanguages {
    pub language: Vec<LineLanguage>,
}

/// The commands of one language.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineLanguage {
    /// The name of the language in program descriptions.
    pub name: String,
    /// Whether lines of addresses can stand before a command, and `|` begins another command of the line.
    #[serde(default)]
    pub addresses: bool,
    /// Texts before a command that do not change what it does, longer ones first.
    #[serde(default)]
    pub modifiers: Vec<String>,
    /// Commands that delete all lines.
    #[serde(default)]
    pub deletes_all: Vec<String>,
    /// Commands that save the file, without an operand.
    #[serde(default)]
    pub saves: Vec<String>,
    #[serde(default)]
    pub commands: Vec<LineCommand>,
    /// Functions in the expressions of [`Taken::Functions`].
    #[serde(default)]
    pub functions: Vec<LineFunctions>,
}

/// Commands with the same effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineCommand {
    /// The words that begin each of them. A word is a glob.
    pub begins: Vec<String>,
    /// The name of the call in descriptions. Empty: what it contains has its own.
    #[serde(default, rename = "as")]
    pub described: String,
    /// The argument of that call.
    #[serde(default)]
    pub takes: Taken,
    /// The end of the argument, if only such arguments count.
    #[serde(default)]
    pub ending: Option<String>,
    /// The names of the options or settings whose value is the argument.
    #[serde(default)]
    pub names: Vec<String>,
}

/// The part of a command that is the argument of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taken {
    /// All text behind the words.
    #[default]
    Rest,
    /// The whole command.
    Line,
    /// The text behind the words as a file name, up to a `|`. Behind `>>` it is appended to.
    File,
    /// That file name, if a `!` directly follows the words.
    ForcedFile,
    /// The text behind a `!` that follows the words.
    Shell,
    /// The text behind a `!` that blanks separate from the words.
    ShellBehindBlank,
    /// The first word behind the words.
    NextWord,
    /// The last word, unless it is an option.
    LastWord,
    /// The word behind one of the options `names`.
    Option,
    /// The text behind the first `|`.
    BehindBar,
    /// The text behind the last `|`.
    BehindLastBar,
    /// A name and a value, as an assignment.
    Assignment,
    /// The value of one of the settings `names`, with its escaped blanks.
    Setting,
    /// The calls of described functions.
    Functions,
    /// The text behind the words is another command.
    Command,
    /// Each text in quotes is another command.
    QuotedCommands,
    /// The text behind a `:` among typed keys is another command.
    TypedCommand,
}

/// Functions with the same effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineFunctions {
    pub calls: Vec<String>,
    /// The name of the call in descriptions.
    #[serde(rename = "as")]
    pub described: String,
    /// Whether the last argument counts instead of the first one.
    #[serde(default)]
    pub last: bool,
}

impl LineLanguages {
    /// Checks the tables.
    ///
    /// # Errors
    /// The first table with an unknown language, or the first command without words or name, or with superfluous or
    /// missing `names`.
    pub fn check(&self) -> Result<(), TableError> {
        for table in &self.language {
            if Language::of(&table.name).is_none() {
                return Err(TableError::UnknownLanguage(table.name.clone()));
            }
            for command in &table.commands {
                let nests = matches!(
                    command.takes,
                    Taken::Functions | Taken::Command | Taken::QuotedCommands | Taken::TypedCommand
                );
                let is_named = matches!(command.takes, Taken::Option | Taken::Setting);
                if command.begins.is_empty()
                    || nests != command.described.is_empty()
                    || is_named == command.names.is_empty()
                {
                    return Err(TableError::LineCommand(command.begins.clone()));
                }
            }
        }
        Ok(())
    }

    /// Returns the table of a language.
    #[must_use]
    pub fn of(&self, language: Language) -> Option<&LineLanguage> {
        self.language.iter().find(|table| Language::of(&table.name) == Some(language))
    }
}

impl LineLanguage {
    /// Returns the commands that begin a line, with the text behind their words, in the order in which they are tried.
    pub fn commands<'l>(&'l self, line: &'l str) -> impl Iterator<Item = (&'l LineCommand, &'l str)> {
        self.commands.iter().filter_map(move |command| {
            let rest = command.begins.iter().find_map(|begin| self.behind(begin, line))?;
            Some((command, rest))
        })
    }

    /// Returns the text behind the words of `begin`, if the line begins with them.
    fn behind<'l>(&self, begin: &str, line: &'l str) -> Option<&'l str> {
        let mut rest = line;
        for (at, word) in begin.split(' ').enumerate() {
            let found = if at == 0 { self.first_word(line) } else { next_word(rest) };
            if !glob::text(word, found) {
                return None;
            }
            let start = rest.len() - rest.trim_start().len();
            rest = rest.get(start + found.len()..)?;
        }
        Some(rest)
    }

    /// Returns the word that begins a command: letters, or a mark.
    fn first_word<'l>(&self, line: &'l str) -> &'l str {
        let joins = |c: char| c.is_ascii_alphanumeric() || !self.addresses && matches!(c, '-' | '_');
        let end = line.find(|c: char| !joins(c)).unwrap_or(line.len());
        let mark = line.chars().next().map_or(0, char::len_utf8);
        line.get(..if end == 0 { mark } else { end }).unwrap_or_default()
    }
}

/// Returns the next word that blanks separate.
#[must_use]
pub fn next_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> LineLanguages {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_command_begins_with_all_its_words() {
        let tables = read(
            "[[language]]\nname = \"gdb\"\ncommands = [\n  { begins = [\"set env*\", \"show\"], as = \"a\" },\n  \
             { begins = [\"set\"], as = \"b\" },\n  { begins = [\"!\"], as = \"c\" },\n  { begins = [\"x-y\"], as = \"d\" },\n]\n",
        );
        let table = tables.of(Language::Gdb).unwrap();
        let found =
            |line| table.commands(line).map(|(command, rest)| (command.described.as_str(), rest)).collect::<Vec<_>>();
        assert_eq!(found("set  environment A 1"), [("a", " A 1"), ("b", "  environment A 1")]);
        assert_eq!(found("show env"), [("a", " env")]);
        assert_eq!(found("set"), [("b", "")]);
        assert_eq!(found("settle"), []);
        assert_eq!(found("!ls -l"), [("c", "ls -l")]);
        assert_eq!(found("x-y/z"), [("d", "/z")]);
        assert_eq!(found(""), []);
        assert!(tables.of(Language::Ex).is_none());
    }

    #[test]
    fn a_dash_joins_no_words_where_lines_have_addresses() {
        let tables =
            read("[[language]]\nname = \"ex\"\naddresses = true\ncommands = [{ begins = [\"w\"], as = \"a\" }]\n");
        let table = tables.of(Language::Ex).unwrap();
        assert_eq!(table.commands("w-").map(|(_, rest)| rest).collect::<Vec<_>>(), ["-"]);
    }

    #[test]
    fn a_table_names_what_its_kind_needs_and_no_more() {
        let checked = |name: &str, command: &str| {
            read(&format!("[[language]]\nname = {name:?}\ncommands = [{{ {command} }}]\n")).check()
        };
        let wrong = Err(TableError::LineCommand(vec!["x".to_owned()]));
        assert_eq!(checked("gdb", "begins = [\"x\"], as = \"y\""), Ok(()));
        assert_eq!(checked("gdb", "begins = [\"x\"], takes = \"command\""), Ok(()));
        assert_eq!(checked("gdb", "begins = [\"x\"], as = \"y\", takes = \"option\", names = [\"-o\"]"), Ok(()));
        assert_eq!(
            checked("pascal", "begins = [\"x\"], as = \"y\""),
            Err(TableError::UnknownLanguage("pascal".to_owned()))
        );
        assert_eq!(checked("gdb", "begins = [], as = \"y\""), Err(TableError::LineCommand(Vec::new())));
        assert_eq!(checked("gdb", "begins = [\"x\"]"), wrong);
        assert_eq!(checked("gdb", "begins = [\"x\"], as = \"y\", takes = \"functions\""), wrong);
        assert_eq!(checked("gdb", "begins = [\"x\"], as = \"y\", takes = \"setting\""), wrong);
        assert_eq!(checked("gdb", "begins = [\"x\"], as = \"y\", names = [\"-o\"]"), wrong);
    }
}
