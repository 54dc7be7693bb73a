//! The shape of a pattern file: the keys and the types of their values. The parent module checks what the values mean.

mod program;
mod sources;
mod tool;

pub use self::program::{
    EffectShape, PrintsShape, ProgramShape, RunsShape, SubShape, TreeShape, WorksInShape, WrapShape,
};
use self::sources::console;
pub use self::sources::{BuildShape, FetchShape, LoadShape, ReadsShape, UnpackShape};
pub use self::tool::{HoldingShape, ToolShape, ValueTestShape};
use crate::judge::document::{Fields, Located};
use crate::judge::path_class::PathClass;
use crate::judge::rules::model::{Console, HostClass, InputTest, Lowering, Reduction, SessionNote, TaintName};
use crate::judge::tier::{Reversibility, Tier};

/// A pattern file.
#[derive(Debug)]
pub struct File {
    pub family: Located<String>,
    pub about: String,
    pub program: Vec<Located<ProgramShape>>,
    pub loads: Vec<Located<LoadShape>>,
    pub fetches: Vec<Located<FetchShape>>,
    pub unpacks: Vec<Located<UnpackShape>>,
    pub builds: Vec<Located<BuildShape>>,
    pub consoles: Vec<Located<Console>>,
    pub reads: Vec<Located<ReadsShape>>,
    pub exception: Vec<Located<ExceptionShape>>,
    pub rule: Vec<Located<RuleShape>>,
    pub tool: Vec<Located<ToolShape>>,
    pub paths: Vec<Located<PathsShape>>,
    pub hosts: Vec<Located<HostsShape>>,
    pub packages: Vec<Located<PackagesShape>>,
    pub support: Vec<Located<SupportShape>>,
}

impl File {
    pub fn read(from: &mut Fields<'_>) -> Self {
        Self {
            family: from.need("family", Fields::text),
            about: from.need("about", Fields::text).into_inner(),
            program: from.tables("program", ProgramShape::read),
            loads: from.tables("loads", LoadShape::read),
            fetches: from.tables("fetches", FetchShape::read),
            unpacks: from.tables("unpacks", UnpackShape::read),
            builds: from.tables("builds", BuildShape::read),
            consoles: from.tables("consoles", console),
            reads: from.tables("reads", ReadsShape::read),
            exception: from.tables("exception", ExceptionShape::read),
            rule: from.tables("rule", RuleShape::read),
            tool: from.tables("tool", ToolShape::read),
            paths: from.tables("paths", PathsShape::read),
            hosts: from.tables("hosts", HostsShape::read),
            packages: from.tables("packages", PackagesShape::read),
            support: from.tables("support", SupportShape::read),
        }
    }
}

/// `[[support]]`
#[derive(Debug)]
pub struct SupportShape {
    pub argv: Located<Vec<String>>,
    pub why: Located<String>,
}

impl SupportShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { argv: from.need("argv", Fields::one_or_many), why: from.need("why", Fields::text) }
    }
}

/// `[[exception]]`: conditions, any of which exempts a command from the rules that name the exception.
#[derive(Debug)]
pub struct ExceptionShape {
    pub name: Located<String>,
    pub no_flags: Vec<Located<String>>,
    pub no_env: Vec<Located<NoEnvShape>>,
}

impl ExceptionShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            name: from.need("name", Fields::text),
            no_flags: from.texts("no_flags"),
            no_env: from.tables("no_env", NoEnvShape::read),
        }
    }
}

/// `[[rule]]`
#[derive(Debug)]
pub struct RuleShape {
    pub id: Located<String>,
    pub tier: Located<Tier>,
    pub weight: Option<Located<f64>>,
    pub reversibility: Reversibility,
    pub reason: Located<String>,
    pub instead: Option<String>,
    pub program: Located<Vec<String>>,
    pub sub: Option<Located<Vec<String>>>,
    pub flags: Vec<Located<String>>,
    pub no_flags: Vec<Located<String>>,
    pub operand: Option<Located<OperandShape>>,
    pub operands: Vec<Located<OperandShape>>,
    pub count: Option<Located<[u32; 2]>>,
    pub words: Vec<Located<TestShape>>,
    pub env: Vec<Located<EnvShape>>,
    pub no_env: Vec<Located<NoEnvShape>>,
    pub exceptions: Vec<Located<String>>,
    pub input: Vec<InputTest>,
    pub tainted: Vec<TaintName>,
    pub feeds: Vec<String>,
    pub no_feeds: Vec<String>,
    pub no_taken_by: Vec<String>,
    pub no_reduced: Vec<Reduction>,
    pub brought: Vec<String>,
    pub wrapped: Vec<String>,
    pub no_wrapped: Vec<String>,
    pub outside: Vec<String>,
    pub root: Option<bool>,
    pub recursive: Option<bool>,
    pub remote: Option<bool>,
    pub dry_run: bool,
    pub guarded: bool,
    pub shown: Option<bool>,
    pub stored: Option<bool>,
    pub code: Option<Located<CodeShape>>,
    pub text: Option<Located<TextShape>>,
    pub lower: Option<Located<Vec<Lowering>>>,
    pub made_by: Option<Located<Vec<String>>>,
    pub refs: Option<String>,
    pub deny: bool,
    pub yolo: Option<Located<bool>>,
    pub reversible: Option<Located<bool>>,
    pub approvals: Option<Located<u32>>,
    pub notes: Vec<SessionNote>,
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
            no_env: from.tables("no_env", NoEnvShape::read),
            exceptions: from.texts("exceptions"),
            input: from.words("input"),
            tainted: from.words("tainted"),
            feeds: from.lines("feeds"),
            no_feeds: from.lines("no_feeds"),
            no_taken_by: from.lines("no_taken_by"),
            no_reduced: from.words("no_reduced"),
            brought: from.lines("brought"),
            wrapped: from.lines("wrapped"),
            no_wrapped: from.lines("no_wrapped"),
            outside: from.lines("outside"),
            root: from.choice("root"),
            recursive: from.choice("recursive"),
            remote: from.choice("remote"),
            dry_run: from.flag("dry_run"),
            guarded: from.flag("guarded"),
            shown: from.choice("shown"),
            stored: from.choice("stored"),
            code: from.table("code", CodeShape::read),
            text: from.table("text", TextShape::read),
            lower: from.words_at("lower"),
            made_by: from.one_or_many("made_by"),
            refs: from.line("refs"),
            deny: from.flag("deny"),
            yolo: from.flag_at("yolo"),
            reversible: from.flag_at("reversible"),
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
    pub computed: bool,
    pub not_glob: Vec<String>,
    pub not_regex: Option<String>,
    pub matching: Vec<String>,
    pub content: Option<String>,
    pub only_copy: bool,
    pub not_made: bool,
    pub package: Vec<String>,
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
            computed: from.choice("computed").unwrap_or_default(),
            not_glob: from.lines("not_glob"),
            not_regex: from.line("not_regex"),
            matching: from.lines("matching"),
            content: from.line("content"),
            only_copy: from.choice("only_copy").unwrap_or_default(),
            not_made: from.choice("not_made").unwrap_or_default(),
            package: from.lines("package"),
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
    pub value: Option<Located<TestShape>>,
}

impl EnvShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { name: from.need("name", Fields::text).into_inner(), value: from.table("value", TestShape::read) }
    }
}

/// `{ name = "APP_ENV", value = { … }, unless = ["DATABASE_URL"] }`
#[derive(Debug)]
pub struct NoEnvShape {
    pub name: String,
    pub value: Located<TestShape>,
    pub unless: Vec<String>,
}

impl NoEnvShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            name: from.need("name", Fields::text).into_inner(),
            value: from.need("value", |from, key| from.table(key, TestShape::read)),
            unless: from.lines("unless"),
        }
    }
}

/// `{ language = ["python"], regex = "…" }`
#[derive(Debug)]
pub struct CodeShape {
    pub language: Vec<String>,
    pub literal: Vec<String>,
    pub regex: Located<String>,
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
    pub regex: Option<Located<String>>,
}

impl TextShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { literal: from.line("literal").unwrap_or_default(), regex: from.text("regex") }
    }
}

/// `[[paths]]`
#[derive(Debug)]
pub struct PathsShape {
    pub class: Located<PathClass>,
    pub globs: Located<Vec<String>>,
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
    pub class: Located<HostClass>,
    pub names: Located<Vec<String>>,
}

impl HostsShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self { class: from.need_or("class", Fields::word, HostClass::None), names: from.need("names", Fields::list) }
    }
}

/// `[[packages]]`
#[derive(Debug)]
pub struct PackagesShape {
    pub index: Located<String>,
    pub alike: String,
    pub marks: Vec<String>,
    pub names: Vec<String>,
}

impl PackagesShape {
    fn read(from: &mut Fields<'_>) -> Self {
        Self {
            index: from.need("index", Fields::text),
            alike: from.line("alike").unwrap_or_default(),
            marks: from.lines("marks"),
            names: from.lines("names"),
        }
    }
}
