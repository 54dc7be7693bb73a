//! The languages that a reader is there for.

/// A language by what reads it. What the pattern files call it is its name in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    Other,
}

impl Language {
    /// The language of a name; none has a reader that is not among these.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "python" => Self::Python,
            "js" => Self::Js,
            "ruby" => Self::Ruby,
            "perl" => Self::Perl,
            "php" => Self::Php,
            "lua" => Self::Lua,
            "mongo" => Self::Mongo,
            "sql" => Self::Sql,
            "awk" => Self::Awk,
            "sed" => Self::Sed,
            "redis" => Self::Redis,
            "powershell" => Self::Powershell,
            "cmd" => Self::Cmd,
            "ex" => Self::Ex,
            "gdb" => Self::Gdb,
            "ipython" => Self::Ipython,
            "tcl" => Self::Tcl,
            "m4" => Self::M4,
            "applescript" => Self::Applescript,
            "other" => Self::Other,
            _ => return None,
        })
    }
}
