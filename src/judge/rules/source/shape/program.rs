//! The shape of `[[program]]`: the keys that describe a program and its subcommands.

use crate::judge::document::{Fields, Located};
use crate::judge::effect::Effect;
use crate::judge::rules::model::{
    Added, Files, Follow, Inner, OperandList, OptionStyle, OutputTaint, Printed, RemoteName, Terminal,
};
use crate::judge::tier::Tier;

/// `[[program]]`
#[derive(Debug)]
pub struct ProgramShape {
    pub name: Located<Vec<String>>,
    pub tier: Option<Tier>,
    pub style: Option<OptionStyle>,
    pub options: Vec<Located<String>>,
    pub dry_run: Vec<Located<String>>,
    pub chdir: Vec<Located<String>>,
    pub effects: Vec<Located<EffectShape>>,
    pub wraps: Vec<Located<WrapShape>>,
    pub runs: Option<Located<RunsShape>>,
    pub command: Vec<Located<String>>,
    pub output: Option<Located<OutputTaint>>,
    pub prints_code: Vec<Located<String>>,
    pub target: Option<Located<TargetShape>>,
    pub compiles: Option<bool>,
    pub prints: Vec<Located<PrintsShape>>,
    pub works_in: Option<Located<WorksInShape>>,
    pub makes: Option<bool>,
    pub renames: Option<bool>,
    pub chooses: Option<bool>,
    pub copies: Option<bool>,
    pub parents: Vec<Located<String>>,
    pub merges: Option<bool>,
    pub as_argument: Option<String>,
    pub resumes: Vec<Located<String>>,
    pub notes: Vec<String>,
    pub defaults: Vec<String>,
    pub generated: Vec<String>,
    pub mounts: Vec<Located<String>>,
    pub tree: Option<Located<TreeShape>>,
    pub files: Option<Located<Files>>,
    pub bins: Vec<String>,
    pub follows: Vec<Follow>,
    pub lists: Option<Located<OperandList>>,
    pub sub: Vec<Located<SubShape>>,
}

impl ProgramShape {
    pub(super) fn read(from: &mut Fields<'_>) -> Self {
        Self {
            name: from.need("name", Fields::one_or_many),
            tier: from.tier("tier").map(Located::into_inner),
            style: from.word("style").map(Located::into_inner),
            options: from.texts("options"),
            dry_run: from.texts("dry_run"),
            chdir: from.texts("chdir"),
            effects: from.tables("effects", EffectShape::read),
            wraps: from.tables("wraps", WrapShape::read),
            runs: from.table("runs", RunsShape::read),
            command: from.texts("command"),
            output: from.word("output"),
            prints_code: from.texts("prints_code"),
            target: from.table("target", TargetShape::read),
            compiles: from.choice("compiles"),
            prints: from.tables("prints", PrintsShape::read),
            works_in: from.table("works_in", WorksInShape::read),
            makes: from.choice("makes"),
            renames: from.choice("renames"),
            chooses: from.choice("chooses"),
            copies: from.choice("copies"),
            parents: from.texts("parents"),
            merges: from.choice("merges"),
            as_argument: from.text("as_argument").map(Located::into_inner),
            resumes: from.texts("resumes"),
            notes: from.lines("notes"),
            defaults: from.lines("defaults"),
            generated: from.lines("generated"),
            mounts: from.texts("mounts"),
            tree: from.table("tree", TreeShape::read),
            files: from.word("files"),
            bins: from.lines("bins"),
            follows: from.words("follows"),
            lists: from.table("lists", operand_list),
            sub: from.tables("sub", SubShape::read),
        }
    }
}

/// `{ option = "-T" }`
fn operand_list(from: &mut Fields<'_>) -> OperandList {
    OperandList {
        option: from.need("option", Fields::text).into_inner(),
        options: from.flag("options"),
        below_first: from.flag("below_first"),
    }
}

/// `[[program.sub]]`
#[derive(Debug)]
pub struct SubShape {
    pub name: Located<Vec<String>>,
    pub tier: Option<Tier>,
    pub options: Vec<Located<String>>,
    pub dry_run: Vec<Located<String>>,
    pub effects: Vec<Located<EffectShape>>,
    pub wraps: Vec<Located<WrapShape>>,
    pub runs: Option<Located<RunsShape>>,
    pub output: Option<Located<OutputTaint>>,
    pub makes: bool,
    pub terminal: Option<Located<Option<Terminal>>>,
    pub files: Option<Located<Files>>,
    pub compiles: Option<bool>,
}

impl SubShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            name: from.need("name", Fields::one_or_many),
            tier: from.tier("tier").map(Located::into_inner),
            options: from.texts("options"),
            dry_run: from.texts("dry_run"),
            effects: from.tables("effects", EffectShape::read),
            wraps: from.tables("wraps", WrapShape::read),
            runs: from.table("runs", RunsShape::read),
            output: from.word("output"),
            makes: from.flag("makes"),
            terminal: from.table("terminal", terminal),
            files: from.word("files"),
            compiles: from.choice("compiles"),
        }
    }
}

/// `{ opens = "-s" }`
fn terminal(from: &mut Fields<'_>) -> Option<Terminal> {
    let option = |text: Located<String>| text.into_inner();
    let opens = from.text("opens").map(|text| Terminal::Opens(option(text)));
    let types = from.text("types").map(|text| Terminal::Types(option(text)));
    let closes = from.text("closes").map(|text| Terminal::Closes(option(text)));
    opens.or(types).or(closes)
}

/// `{ does = "delete", to = "operands" }`
#[derive(Debug)]
pub struct EffectShape {
    pub does: Effect,
    pub to: Located<String>,
    pub when: Vec<Located<String>>,
    pub unless: Vec<Located<String>>,
    /// `true`, or the flags with which the effect is recursive.
    pub recursive: (bool, Vec<Located<String>>),
}

impl EffectShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            does: from.need_or("does", Fields::word, Effect::Load).into_inner(),
            to: from.need("to", Fields::text),
            when: from.texts("when"),
            unless: from.texts("unless"),
            recursive: from.flag_or_texts("recursive").unwrap_or_default(),
        }
    }
}

/// `{ inner = "argv", from = "operands" }`
#[derive(Debug)]
pub struct WrapShape {
    pub inner: Inner,
    pub from: Option<Located<String>>,
    pub each: bool,
    pub skip: u32,
    pub assignments: bool,
    pub when: Vec<Located<String>>,
    pub unless: Vec<Located<String>>,
    pub root: bool,
    pub remote: Option<RemoteName>,
    pub host: Option<u32>,
    pub adds: Added,
    pub bare_shell: bool,
    pub scripts: Vec<Located<String>>,
}

impl WrapShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            inner: from.word("inner").map(Located::into_inner).unwrap_or_default(),
            from: from.text("from"),
            each: from.flag("each"),
            skip: from.count("skip").unwrap_or_default(),
            assignments: from.flag("assignments"),
            when: from.texts("when"),
            unless: from.texts("unless"),
            root: from.flag("root"),
            remote: from.word("remote").map(Located::into_inner),
            host: from.count("host"),
            adds: from.word("adds").map(Located::into_inner).unwrap_or_default(),
            bare_shell: from.flag("bare_shell"),
            scripts: from.texts("scripts"),
        }
    }
}

/// `{ language = "python", code = ["-c"] }`
#[derive(Debug)]
pub struct RunsShape {
    pub language: String,
    pub code: Vec<Located<String>>,
    pub code_operand: bool,
    pub script_operand: bool,
    pub script: Vec<Located<String>>,
    pub stdin: bool,
    pub stdin_after: Vec<Located<String>>,
    pub code_at: Option<u32>,
    pub unless: Vec<Located<String>>,
}

impl RunsShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            language: from.need("language", Fields::text).into_inner(),
            code: from.texts("code"),
            code_operand: from.flag("code_operand"),
            script_operand: from.flag("script_operand"),
            script: from.texts("script"),
            stdin: from.flag("stdin"),
            stdin_after: from.texts("stdin_after"),
            code_at: from.count("code_at"),
            unless: from.texts("unless"),
        }
    }
}

/// `{ what = "number", args = ["-u"] }`
#[derive(Debug)]
pub struct PrintsShape {
    pub what: Printed,
    pub args: Vec<Located<String>>,
    pub at: Option<String>,
}

impl PrintsShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            what: from.need_or("what", Fields::word, Printed::Nothing).into_inner(),
            args: from.texts("args"),
            at: from.text("at").map(Located::into_inner),
        }
    }
}

/// `{ flags = ["--work-tree"], env = ["GIT_WORK_TREE"], here = true }`
#[derive(Debug)]
pub struct WorksInShape {
    pub flags: Vec<Located<String>>,
    pub env: Vec<String>,
    pub here: bool,
}

impl WorksInShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { flags: from.texts("flags"), env: from.lines("env"), here: from.flag("here") }
    }
}

/// `{ changes = ["checkout"], moves = ["stash"] }`
#[derive(Debug)]
pub struct TreeShape {
    pub changes: Vec<String>,
    pub moves: Vec<String>,
}

impl TreeShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { changes: from.lines("changes"), moves: from.lines("moves") }
    }
}

/// `{ flags = ["--context"], env = ["AWS_PROFILE"] }`
#[derive(Debug)]
pub struct TargetShape {
    pub flags: Vec<Located<String>>,
    pub operands: bool,
    pub env: Vec<String>,
}

impl TargetShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { flags: from.texts("flags"), operands: from.flag("operands"), env: from.lines("env") }
    }
}
