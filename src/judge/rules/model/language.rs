//! The languages that guard parses.

use serde::{Deserialize, Serialize};

/// A language, named after its parser. Its name in pattern files is the same in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Language {
    Python,
    Js,
    Ruby,
    Perl,
    Php,
    Lua,
    Mongo,
    Sql,
    Awk,
    Sed,
    Redis,
    Powershell,
    Cmd,
    Ex,
    Gdb,
    Ipython,
    Tcl,
    M4,
    Applescript,
    /// Any other language: a name that is followed by strings is a call.
    Other,
}

impl Language {
    /// All languages, with their names.
    const NAMES: [(Self, &str); 20] = [
        (Self::Python, "python"),
        (Self::Js, "js"),
        (Self::Ruby, "ruby"),
        (Self::Perl, "perl"),
        (Self::Php, "php"),
        (Self::Lua, "lua"),
        (Self::Mongo, "mongo"),
        (Self::Sql, "sql"),
        (Self::Awk, "awk"),
        (Self::Sed, "sed"),
        (Self::Redis, "redis"),
        (Self::Powershell, "powershell"),
        (Self::Cmd, "cmd"),
        (Self::Ex, "ex"),
        (Self::Gdb, "gdb"),
        (Self::Ipython, "ipython"),
        (Self::Tcl, "tcl"),
        (Self::M4, "m4"),
        (Self::Applescript, "applescript"),
        (Self::Other, "other"),
    ];

    /// Returns the language with this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(language, _)| *language)
    }

    /// Returns the language with this name, if guard judges files in it by their content.
    #[must_use]
    pub fn of_scripts(name: &str) -> Option<Self> {
        Self::of(name).filter(|language| language.has_scripts())
    }

    /// Returns the name in pattern files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(language, _)| *language == self).map_or("other", |(_, name)| name)
    }

    /// Returns the names of all languages.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(_, name)| *name)
    }

    /// Reports whether it is the language of a database, whose statements run nothing on this machine.
    #[must_use]
    pub fn is_query(self) -> bool {
        matches!(self, Self::Sql | Self::Redis | Self::Mongo)
    }

    /// Reports whether guard judges files in it by their content.
    #[must_use]
    pub fn has_scripts(self) -> bool {
        !matches!(self, Self::Powershell | Self::Cmd | Self::Applescript)
    }

    /// Reports whether the analysis adds an act for each call in its code, so that the act of the interpreter adds
    /// nothing.
    #[must_use]
    pub fn acts_by_call(self) -> bool {
        matches!(self, Self::Python | Self::Js | Self::Ruby | Self::Perl | Self::Php | Self::Lua | Self::Sql)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_one_name() {
        for (language, name) in Language::NAMES {
            assert_eq!((Language::of(name), language.name()), (Some(language), name));
        }
        assert_eq!(Language::of("cobol"), None);
        let queries: Vec<&str> = Language::names().filter(|name| Language::of(name).unwrap().is_query()).collect();
        assert_eq!(queries, ["mongo", "sql", "redis"]);
        let unread: Vec<&str> = Language::names().filter(|name| !Language::of(name).unwrap().has_scripts()).collect();
        assert_eq!(unread, ["powershell", "cmd", "applescript"]);
    }
}
