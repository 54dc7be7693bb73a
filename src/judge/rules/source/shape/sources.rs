//! The shapes of the tables that describe what programs load, fetch, unpack, build and read.

use crate::judge::document::{Fields, Located};
use crate::judge::rules::model::{Console, FetchInto, Module, Packed, SettingLine, Tasks};

/// `[[loads]]`
#[derive(Debug)]
pub struct LoadShape {
    pub program: Located<Vec<String>>,
    pub language: Option<String>,
    pub options: Vec<Located<String>>,
    pub within: Vec<String>,
    pub operands: bool,
    pub variables: Vec<String>,
    pub arguments: Vec<String>,
    pub under: Vec<String>,
    pub search: Vec<String>,
    pub separator: Option<String>,
    pub files: Vec<String>,
    pub endings: Vec<String>,
    pub words: Vec<String>,
    pub unless: Vec<String>,
    pub changed: bool,
    pub session: bool,
    pub listed: bool,
    pub compiles: bool,
    pub stdin: bool,
    pub lines: Vec<Located<SettingLine>>,
    pub file_keys: Vec<String>,
    pub bases: Vec<String>,
    pub code_keys: Vec<String>,
    pub option_keys: Vec<String>,
    pub requirements: Vec<Located<SettingLine>>,
    pub locks: Vec<String>,
    pub comment: Option<String>,
    pub tasks: Option<Located<Tasks>>,
    pub module: Option<Located<Module>>,
}

/// `{ begins = "exec", skip = 1 }`
fn setting_line(from: &mut Fields<'_>) -> SettingLine {
    SettingLine {
        begins: from.line("begins").unwrap_or_default(),
        skip: from.count("skip").unwrap_or_default(),
        before: from.line("before").unwrap_or_default(),
        word: from.flag("word"),
    }
}

/// `{ option = "-m", stdin = ["code"], runs = ["pdb"], script = ".py" }`
fn module(from: &mut Fields<'_>) -> Module {
    Module {
        option: from.need("option", Fields::text).into_inner(),
        stdin: from.lines("stdin"),
        runs: from.lines("runs"),
        script: from.line("script").unwrap_or_default(),
    }
}

impl LoadShape {
    pub(super) fn read(from: &mut Fields<'_>) -> Self {
        Self {
            program: from.need("program", Fields::one_or_many),
            language: from.line("language"),
            options: from.texts("options"),
            within: from.lines("within"),
            operands: from.flag("operands"),
            variables: from.lines("variables"),
            arguments: from.lines("arguments"),
            under: from.lines("under"),
            search: from.lines("search"),
            separator: from.line("separator"),
            files: from.lines("files"),
            endings: from.lines("endings"),
            words: from.lines("words"),
            unless: from.lines("unless"),
            changed: from.flag("changed"),
            session: from.flag("session"),
            listed: from.flag("listed"),
            compiles: from.flag("compiles"),
            stdin: from.flag("stdin"),
            lines: from.tables("lines", setting_line),
            file_keys: from.lines("file_keys"),
            bases: from.lines("bases"),
            code_keys: from.lines("code_keys"),
            option_keys: from.lines("option_keys"),
            requirements: from.tables("requirements", setting_line),
            locks: from.lines("locks"),
            comment: from.line("comment"),
            tasks: from.word("tasks"),
            module: from.table("module", module),
        }
    }
}

/// `[[fetches]]`
#[derive(Debug)]
pub struct FetchShape {
    pub program: Located<Vec<String>>,
    pub words: Vec<String>,
    pub options: Vec<String>,
    pub into: Option<Located<FetchInto>>,
    pub directory: Vec<String>,
    pub elsewhere: bool,
}

impl FetchShape {
    pub(super) fn read(from: &mut Fields<'_>) -> Self {
        Self {
            program: from.need("program", Fields::one_or_many),
            words: from.lines("words"),
            options: from.lines("options"),
            into: from.word("into"),
            directory: from.lines("directory"),
            elsewhere: from.flag("elsewhere"),
        }
    }
}

/// `[[unpacks]]`
#[derive(Debug)]
pub struct UnpackShape {
    pub program: Located<Vec<String>>,
    pub kind: Option<Located<Packed>>,
    pub words: Vec<String>,
    pub options: Vec<String>,
    pub unless: Vec<String>,
    pub strip: Option<u32>,
}

impl UnpackShape {
    pub(super) fn read(from: &mut Fields<'_>) -> Self {
        Self {
            program: from.need("program", Fields::one_or_many),
            kind: from.word("kind"),
            words: from.lines("words"),
            options: from.lines("options"),
            unless: from.lines("unless"),
            strip: from.count("strip"),
        }
    }
}

/// `[[builds]]`
#[derive(Debug)]
pub struct BuildShape {
    pub program: Located<Vec<String>>,
    pub words: Vec<String>,
    pub bare: bool,
    pub named: bool,
    pub installs: bool,
}

impl BuildShape {
    pub(super) fn read(from: &mut Fields<'_>) -> Self {
        Self {
            program: from.need("program", Fields::one_or_many),
            words: from.lines("words"),
            bare: from.flag("bare"),
            named: from.flag("named"),
            installs: from.flag("installs"),
        }
    }
}

/// `[[reads]]`
#[derive(Debug)]
pub struct ReadsShape {
    pub program: Located<Vec<String>>,
}

impl ReadsShape {
    pub(super) fn read(from: &mut Fields<'_>) -> Self {
        Self { program: from.need("program", Fields::one_or_many) }
    }
}

/// `[[consoles]]`
pub(super) fn console(from: &mut Fields<'_>) -> Console {
    Console {
        programs: from.need("program", Fields::one_or_many).into_inner(),
        language: from.line("language").unwrap_or_default(),
        words: from.lines("words"),
        bare: from.flag("bare"),
        operands: from.count("operands"),
        keyboard: from.flag("keyboard"),
        visible: from.flag("visible"),
        unless: from.lines("unless"),
        variables: from.lines("variables"),
    }
}
