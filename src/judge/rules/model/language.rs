//! The languages that have a reader.

use serde::{Deserialize, Serialize};

/// A language by what reads it. What the pattern files call it is its name in lower case.
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
    /// Any other: a name with texts behind it is a call.
    Other,
}

impl Language {
    /// All of them, with their names.
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

    /// The language of a name; none has a reader that is not among these.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(language, _)| *language)
    }

    /// The language of a name, where a file of the world in it is read for what it does.
    #[must_use]
    pub fn of_scripts(name: &str) -> Option<Self> {
        Self::of(name).filter(|language| language.has_scripts())
    }

    /// What the pattern files call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(language, _)| *language == self).map_or("other", |(_, name)| name)
    }

    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(_, name)| *name)
    }

    /// Whether a client hands statements in it to a database, which runs nothing on this machine.
    #[must_use]
    pub fn is_query(self) -> bool {
        matches!(self, Self::Sql | Self::Redis | Self::Mongo)
    }

    /// Whether a file of the world in it is read for what it does.
    #[must_use]
    pub fn has_scripts(self) -> bool {
        !matches!(self, Self::Powershell | Self::Cmd | Self::Applescript)
    }

    /// Whether every call that its code makes is an act of its own, so that the interpreter's own act adds nothing.
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
