//! The shape of a pattern file: which keys there are and what may stand behind them. What the values
//! mean is checked in `super`.

use crate::judge::document::{At, Fields};
use crate::judge::facts::class::PathClass;
use crate::judge::facts::effect::Effect;
use crate::judge::rules::model::{
    Added, HostClass, Inner, InputTest, Lowering, Note, OutputTaint, Printed, RemoteName, Style, TaintName,
};
use crate::judge::tier::{Reversibility, Tier};

/// A pattern file.
#[derive(Debug)]
pub struct File {
    pub family: At<String>,
    pub about: String,
    pub program: Vec<At<ProgramShape>>,
    pub rule: Vec<At<RuleShape>>,
    pub paths: Vec<At<PathsShape>>,
    pub hosts: Vec<At<HostsShape>>,
}

impl File {
    pub fn read(from: &mut Fields<'_>) -> Self {
        Self {
            family: from.need("family", Fields::text),
            about: from.need("about", Fields::text).into_inner(),
            program: from.tables("program", ProgramShape::read),
            rule: from.tables("rule", RuleShape::read),
            paths: from.tables("paths", PathsShape::read),
            hosts: from.tables("hosts", HostsShape::read),
        }
    }
}

/// `[[program]]`
#[derive(Debug)]
pub struct ProgramShape {
    pub name: At<Vec<String>>,
    pub tier: Option<Tier>,
    pub style: Option<Style>,
    pub options: Vec<At<String>>,
    pub dry_run: Vec<At<String>>,
    pub chdir: Vec<At<String>>,
    pub effects: Vec<At<EffectShape>>,
    pub wraps: Vec<At<WrapShape>>,
    pub runs: Option<At<RunsShape>>,
    pub command: Vec<At<String>>,
    pub output: Option<At<OutputTaint>>,
    pub prints_code: Vec<At<String>>,
    pub target: Option<At<TargetShape>>,
    pub compiles: Option<bool>,
    pub prints: Vec<At<PrintsShape>>,
    pub works_in: Option<At<WorksInShape>>,
    pub makes: Option<bool>,
    pub resumes: Vec<At<String>>,
    pub mounts: Vec<At<String>>,
    pub tree: Option<At<TreeShape>>,
    pub sub: Vec<At<SubShape>>,
}

impl ProgramShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            name: from.need("name", Fields::one_or_many),
            tier: from.tier("tier").map(At::into_inner),
            style: from.word("style").map(At::into_inner),
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
            resumes: from.texts("resumes"),
            mounts: from.texts("mounts"),
            tree: from.table("tree", TreeShape::read),
            sub: from.tables("sub", SubShape::read),
        }
    }
}

/// `[[program.sub]]`
#[derive(Debug)]
pub struct SubShape {
    pub name: At<Vec<String>>,
    pub tier: Option<Tier>,
    pub options: Vec<At<String>>,
    pub dry_run: Vec<At<String>>,
    pub effects: Vec<At<EffectShape>>,
    pub wraps: Vec<At<WrapShape>>,
    pub runs: Option<At<RunsShape>>,
    pub output: Option<At<OutputTaint>>,
    pub makes: bool,
}

impl SubShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            name: from.need("name", Fields::one_or_many),
            tier: from.tier("tier").map(At::into_inner),
            options: from.texts("options"),
            dry_run: from.texts("dry_run"),
            effects: from.tables("effects", EffectShape::read),
            wraps: from.tables("wraps", WrapShape::read),
            runs: from.table("runs", RunsShape::read),
            output: from.word("output"),
            makes: from.flag("makes"),
        }
    }
}

/// `{ does = "delete", to = "operands" }`
#[derive(Debug)]
pub struct EffectShape {
    pub does: Effect,
    pub to: At<String>,
    pub when: Vec<At<String>>,
    pub unless: Vec<At<String>>,
    /// `true`, or the flags that make it so.
    pub recursive: (bool, Vec<At<String>>),
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
    pub from: Option<At<String>>,
    pub each: bool,
    pub skip: u32,
    pub assignments: bool,
    pub when: Vec<At<String>>,
    pub unless: Vec<At<String>>,
    pub root: bool,
    pub remote: Option<RemoteName>,
    pub host: Option<u32>,
    pub adds: Added,
    pub bare_shell: bool,
}

impl WrapShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            inner: from.word("inner").map(At::into_inner).unwrap_or_default(),
            from: from.text("from"),
            each: from.flag("each"),
            skip: from.count("skip").unwrap_or_default(),
            assignments: from.flag("assignments"),
            when: from.texts("when"),
            unless: from.texts("unless"),
            root: from.flag("root"),
            remote: from.word("remote").map(At::into_inner),
            host: from.count("host"),
            adds: from.word("adds").map(At::into_inner).unwrap_or_default(),
            bare_shell: from.flag("bare_shell"),
        }
    }
}

/// `{ language = "python", code = ["-c"] }`
#[derive(Debug)]
pub struct RunsShape {
    pub language: String,
    pub code: Vec<At<String>>,
    pub code_operand: bool,
    pub script_operand: bool,
    pub script: Vec<At<String>>,
    pub stdin: bool,
    pub code_at: Option<u32>,
    pub unless: Vec<At<String>>,
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
            code_at: from.count("code_at"),
            unless: from.texts("unless"),
        }
    }
}

/// `{ what = "number", args = ["-u"] }`
#[derive(Debug)]
pub struct PrintsShape {
    pub what: Printed,
    pub args: Vec<At<String>>,
}

impl PrintsShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { what: from.need_or("what", Fields::word, Printed::Nothing).into_inner(), args: from.texts("args") }
    }
}

/// `{ flags = ["--work-tree"], env = ["GIT_WORK_TREE"], here = true }`
#[derive(Debug)]
pub struct WorksInShape {
    pub flags: Vec<At<String>>,
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
    pub flags: Vec<At<String>>,
    pub operands: bool,
    pub env: Vec<String>,
}

impl TargetShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { flags: from.texts("flags"), operands: from.flag("operands"), env: from.lines("env") }
    }
}

/// `[[rule]]`
#[derive(Debug)]
pub struct RuleShape {
    pub id: At<String>,
    pub tier: At<Tier>,
    pub weight: Option<At<f64>>,
    pub reversibility: Reversibility,
    pub reason: At<String>,
    pub instead: Option<String>,
    pub program: At<Vec<String>>,
    pub sub: Option<At<Vec<String>>>,
    pub flags: Vec<At<String>>,
    pub no_flags: Vec<At<String>>,
    pub operand: Option<At<OperandShape>>,
    pub operands: Vec<At<OperandShape>>,
    pub count: Option<At<[u32; 2]>>,
    pub words: Vec<At<TestShape>>,
    pub env: Vec<At<EnvShape>>,
    pub input: Vec<InputTest>,
    pub tainted: Vec<TaintName>,
    pub feeds: Vec<String>,
    pub no_feeds: Vec<String>,
    pub wrapped: Vec<String>,
    pub root: Option<bool>,
    pub recursive: Option<bool>,
    pub remote: Option<bool>,
    pub dry_run: bool,
    pub guarded: bool,
    pub shown: Option<bool>,
    pub code: Option<At<CodeShape>>,
    pub text: Option<At<TextShape>>,
    pub lower: Option<At<Vec<Lowering>>>,
    pub made_by: Option<At<Vec<String>>>,
    pub deny: bool,
    pub yolo: Option<At<bool>>,
    pub approvals: Option<At<u32>>,
    pub notes: Vec<Note>,
    pub bad: Vec<String>,
    pub good: Vec<String>,
    pub other: Vec<String>,
}

impl RuleShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            id: from.need("id", Fields::text),
            tier: from.need("tier", Fields::tier),
            weight: from.number("weight"),
            reversibility: from.need("reversibility", Fields::word).into_inner(),
            reason: from.need("reason", Fields::text),
            instead: from.line("instead"),
            program: from.need("program", Fields::one_or_many),
            sub: from.one_or_many("sub"),
            flags: from.texts("flags"),
            no_flags: from.texts("no_flags"),
            operand: from.table("operand", OperandShape::read),
            operands: from.tables("operands", OperandShape::read),
            count: from.range("count"),
            words: from.tables("words", TestShape::read),
            env: from.tables("env", EnvShape::read),
            input: from.words("input"),
            tainted: from.words("tainted"),
            feeds: from.lines("feeds"),
            no_feeds: from.lines("no_feeds"),
            wrapped: from.lines("wrapped"),
            root: from.choice("root"),
            recursive: from.choice("recursive"),
            remote: from.choice("remote"),
            dry_run: from.flag("dry_run"),
            guarded: from.flag("guarded"),
            shown: from.choice("shown"),
            code: from.table("code", CodeShape::read),
            text: from.table("text", TextShape::read),
            lower: from.words_at("lower"),
            made_by: from.one_or_many("made_by"),
            deny: from.flag("deny"),
            yolo: from.flag_at("yolo"),
            approvals: from.count_at("approvals"),
            notes: from.words("notes"),
            bad: from.lines("bad"),
            good: from.lines("good"),
            other: from.lines("other"),
        }
    }
}

/// A test of a text.
#[derive(Clone, Debug, Default)]
pub struct TestShape {
    pub exact: Vec<String>,
    pub glob: Vec<String>,
    pub regex: Option<String>,
    pub class: Vec<PathClass>,
    pub not_class: Vec<PathClass>,
    pub host: Vec<HostClass>,
    pub dynamic: Option<bool>,
    pub not_glob: Vec<String>,
    pub not_regex: Option<String>,
    pub content: Option<String>,
}

impl TestShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            exact: from.lines("exact"),
            glob: from.lines("glob"),
            regex: from.line("regex"),
            class: from.words("class"),
            not_class: from.words("not_class"),
            host: from.words("host"),
            dynamic: from.choice("dynamic"),
            not_glob: from.lines("not_glob"),
            not_regex: from.line("not_regex"),
            content: from.line("content"),
        }
    }
}

/// A test of operands.
#[derive(Debug)]
pub struct OperandShape {
    /// `any`, `all`, `no`, `last`, or a number from 0.
    pub which: Option<String>,
    pub test: TestShape,
}

impl OperandShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { which: from.word_or_number("which"), test: TestShape::read(from) }
    }
}

/// `{ name = "GIT_*", value = { … } }`
#[derive(Debug)]
pub struct EnvShape {
    pub name: String,
    pub value: Option<At<TestShape>>,
}

impl EnvShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { name: from.need("name", Fields::text).into_inner(), value: from.table("value", TestShape::read) }
    }
}

/// `{ language = ["python"], regex = "…" }`
#[derive(Debug)]
pub struct CodeShape {
    pub language: Vec<String>,
    pub literal: Vec<String>,
    pub regex: At<String>,
}

impl CodeShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            language: from.need("language", Fields::one_or_many).into_inner(),
            literal: from.lines("literal"),
            regex: from.need("regex", Fields::text),
        }
    }
}

/// `{ literal = "…", regex = "…" }`
#[derive(Debug)]
pub struct TextShape {
    pub literal: String,
    pub regex: Option<At<String>>,
}

impl TextShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { literal: from.line("literal").unwrap_or_default(), regex: from.text("regex") }
    }
}

/// `[[paths]]`
#[derive(Debug)]
pub struct PathsShape {
    pub class: At<PathClass>,
    pub globs: At<Vec<String>>,
    pub except: Vec<String>,
}

impl PathsShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            class: from.need_or("class", Fields::word, PathClass::Project),
            globs: from.need("globs", Fields::list),
            except: from.lines("except"),
        }
    }
}

/// `[[hosts]]`
#[derive(Debug)]
pub struct HostsShape {
    pub class: At<HostClass>,
    pub names: At<Vec<String>>,
}

impl HostsShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { class: from.need_or("class", Fields::word, HostClass::None), names: from.need("names", Fields::list) }
    }
}
