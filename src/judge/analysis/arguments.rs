//! Arguments read by a program's description: options, operands, subcommand, and what the program would do with them.
//!
//! In scope: what can be said from the arguments alone. Out of scope: I/O, rules, and any knowledge of
//! a single program: programs are described in the pattern files.

mod inner;
mod options;
mod scan;

use super::act::{Effect, Flag, Operand, Remote, Value};
use super::streams::descriptor;
use super::value::Build as _;
use super::value_test::given;
use crate::judge::risk::Tier;
use crate::judge::rules::model::{
    Added, ArgumentPlace, EffectSpec, Files, FlagTest, OptionStyle, OutputTaint, Program, Runs, Sub, Target,
};
use crate::judge::rules::text::same_flag;
use crate::judge::syntax::tree::Span;
use scan::ArgumentScan;

/// One argument as it reaches the program, and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    pub value: Value,
    pub span: Span,
    /// It is an operand, whatever it looks like: no option, and no word of the program's own grammar.
    pub operand: bool,
}

impl Arg {
    /// An argument that the program reads for itself.
    #[must_use]
    pub fn word(value: Value, span: Span) -> Self {
        Self { value, span, operand: false }
    }

    /// An argument that reaches the program as an operand.
    #[must_use]
    pub fn of(operand: &Operand) -> Self {
        Self { value: operand.value.clone(), span: operand.span, operand: true }
    }

    /// The same as an argument of the command that stands among the operands: that reads it for itself.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::word(self.value.clone(), self.span)
    }

    /// As an operand.
    #[must_use]
    pub fn operand(&self) -> Operand {
        Operand { value: self.value.clone(), span: self.span }
    }
}

/// What a program makes of its arguments.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The subcommand path in canonical names; one unknown word when the program has subcommands and none fits.
    pub sub: Vec<String>,
    /// Options in canonical spelling, in order.
    pub flags: Vec<Flag>,
    /// What is no option, after the subcommand. A wrapper's command stands among them.
    pub operands: Vec<Operand>,
    /// One of the given flags is documented as a dry run.
    pub dry_run: bool,
    /// Of a plain run.
    pub tier: Tier,
    /// Commands that it runs.
    pub inner: Vec<InnerCommand>,
    pub effects: Vec<DerivedEffect>,
    /// What it runs as an interpreter. Several when code is given in several ways at once.
    pub code: Vec<CodeSource>,
    pub output: OutputTaint,
    /// What names the place that it acts on; environment variables ([`Target::env`]) are for the caller.
    pub target: Vec<Value>,
    /// The directories that it changes to before all else, each from the one before.
    pub chdir: Vec<Value>,
    /// The program's arguments are an expression of tests and actions.
    pub expression: bool,
    /// What it makes is made of the sources that it is given.
    pub compiles: bool,
    /// What it makes of files that no effect speaks of.
    pub files: Files,
}

impl Reading {
    /// Whether one of these options was given, in canonical spelling.
    #[must_use]
    pub fn has_flag(&self, names: &[String]) -> bool {
        self.flags.iter().any(|flag| names.contains(&flag.name))
    }
}

/// A command inside a command.
#[derive(Clone, Debug)]
pub struct InnerCommand {
    pub what: InnerText,
    /// The words that an [`InnerText::Line`] was joined of.
    pub words: Vec<Arg>,
    /// `$0`, `$1`, … of a [`InnerText::Line`].
    pub positional: Vec<Operand>,
    /// What the wrapper sets for it.
    pub env: Vec<(String, Value)>,
    pub root: bool,
    pub remote: Option<Remote>,
    /// What the wrapper adds to its arguments.
    pub adds: Added,
    /// What is added comes in place of this text wherever it stands in an argument; appended when `None`.
    pub replace: Option<String>,
}

/// How the inner command is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InnerText {
    /// As arguments, the command word first. Never empty.
    Argv(Vec<Arg>),
    /// As a text that a shell reads.
    Line(Value, Span),
    /// As arguments that begin somewhere among these.
    Somewhere(Vec<Arg>),
    /// None: a shell that reads standard input.
    BareShell,
}

/// An effect of a program, with what it falls on.
#[derive(Clone, Debug)]
pub struct DerivedEffect {
    pub effect: Effect,
    pub on: Vec<Operand>,
    pub recursive: bool,
}

impl DerivedEffect {
    /// An effect on these alone, not on what is below them.
    pub fn of(effect: Effect, on: Vec<Operand>) -> Self {
        Self { effect, on, recursive: false }
    }
}

/// Code for an interpreter.
#[derive(Clone, Debug)]
pub struct CodeSource {
    /// As described: `shell`, `zsh`, `python`, `sql`, …
    pub language: String,
    pub from: CodeFrom,
    /// The arguments that the code sees. For a shell's `-c` the first is `$0`, for a script `$1`.
    pub positional: Vec<Operand>,
}

/// Stands in front of an option of the program that its subcommand has another of.
pub const GLOBAL: &str = "global ";

/// Where the code is.
#[derive(Clone, Debug)]
pub enum CodeFrom {
    Inline(Value, Span),
    /// A file.
    Script(Operand),
    Stdin,
}

/// Reads `args` (without the command word) by the description of the program. A program that nothing describes is read
/// by `Program::default()`.
#[must_use]
pub fn read(program: &Program, args: &[Arg]) -> Reading {
    let scan = ArgumentScan::new(program, args).run();
    let sub = scan.sub;
    let operands: Vec<Operand> = scan.operands.iter().filter_map(|at| args.get(*at)).map(Arg::operand).collect();
    let inner = inner::commands(&scan);
    let runs = sub.map_or(program.runs.as_ref(), |sub| sub.runs.as_ref().or(program.runs.as_ref()));
    let runs = runs.filter(|runs| !any_given(&scan.flags, &runs.unless));
    let code = runs.map(|runs| code(runs, &scan, &operands)).unwrap_or_default();
    let effects = sub.map(|sub| sub.effects.as_slice()).unwrap_or_default().iter().chain(&program.effects);
    let effects: Vec<&EffectSpec> = effects.fold(Vec::new(), |mut all, spec| {
        // Layers may describe the same effect more than once.
        if !all.contains(&spec) {
            all.push(spec);
        }
        all
    });
    let here = args.iter().map(|arg| arg.span).reduce(Span::to).unwrap_or_default();
    let mut derived: Vec<DerivedEffect> = Vec::new();
    for spec in effects {
        derived.extend(derive(spec, &scan.flags, &operands, here));
    }
    let dry_run = is_rehearsed(&scan, &operands) || inner.is_empty() && code.is_empty() && asks_for_help(&scan);
    // A dry run hands nothing on: `bash -n`, `parallel --dry-run`.
    let (inner, code) = if dry_run { (Vec::new(), Vec::new()) } else { (inner, code) };
    let target = program.target.as_ref().map(|target| targets(target, &scan.flags, &operands)).unwrap_or_default();
    Reading {
        sub: sub_path(sub, &scan),
        dry_run,
        tier: sub.and_then(|sub| sub.tier).unwrap_or(program.tier),
        inner,
        effects: derived,
        code,
        output: match sub.and_then(|sub| sub.output) {
            None if any_given(&scan.flags, &program.prints_code) => OutputTaint::Code,
            output => output.unwrap_or(program.output),
        },
        target,
        chdir: directories(program, &scan.flags),
        expression: program.style == OptionStyle::Expression,
        compiles: sub.and_then(|sub| sub.compiles).unwrap_or(program.compiles),
        files: sub.and_then(|sub| sub.files).unwrap_or(program.files),
        flags: scan.flags,
        operands,
    }
}

/// The tests of a dry run, the subcommand's own first.
fn rehearsals<'a>(scan: &ArgumentScan<'a>) -> impl Iterator<Item = &'a FlagTest> {
    scan.sub.map(|sub| sub.dry_run.as_slice()).unwrap_or_default().iter().chain(&scan.program.dry_run)
}

/// Whether one of the documented flags is given, or one of the documented words (`help`, `/?`, `test=True`) stands last:
/// one of letters alone, which may be a name as well, as the only operand.
fn is_rehearsed(scan: &ArgumentScan<'_>, operands: &[Operand]) -> bool {
    let ends = |last: &&Operand| scan.args.last().is_some_and(|arg| arg.span == last.span && !arg.operand);
    let last = operands.last().filter(ends);
    rehearsals(scan).any(|test| {
        let may_be_name = |name: &str| name.chars().all(char::is_alphabetic) && operands.len() > 1;
        let word = |name: &String| {
            !name.starts_with('-') && last.is_some_and(|last| last.value.rough() == *name) && !may_be_name(name)
        };
        given(&scan.flags, test).is_some() || test.names.iter().any(word)
    })
}

/// Whether help is asked for by another spelling of a `--help` that the program documents: `help` in place of a
/// subcommand, or `-h` and `-help` as the last argument, where they are described as nothing else.
fn asks_for_help(scan: &ArgumentScan<'_>) -> bool {
    if !rehearsals(scan).any(|test| test.names.iter().any(|name| name == "--help")) {
        return false;
    }
    let options = scan.sub.map(|sub| sub.options.as_slice()).unwrap_or_default().iter().chain(&scan.program.options);
    let mut names = options.flat_map(|option| &option.names);
    let is_help = |last: &&Arg| !last.operand && (last.value.is("-h") || last.value.is("-help"));
    let last = scan.args.last().filter(is_help);
    let is_option = last.is_some_and(|last| scan.flags.iter().any(|flag| flag.span == last.span));
    let first = scan.unknown_sub.as_ref().or(scan.sub_path.first());
    first.is_some_and(|first| first == "help") || is_option && !names.any(|name| name == "-h" || name == "-help")
}

fn sub_path(sub: Option<&Sub>, scan: &ArgumentScan<'_>) -> Vec<String> {
    match (sub, &scan.unknown_sub) {
        (Some(sub), _) => sub.canonical(&scan.sub_path).map(<[String]>::to_vec).unwrap_or_default(),
        (None, Some(word)) => vec![word.clone()],
        (None, None) => Vec::new(),
    }
}

/// The directories that the program's own options name, in front of a subcommand too that has another option of the
/// same name.
fn directories(program: &Program, flags: &[Flag]) -> Vec<Value> {
    let names = |flag: &&Flag| {
        let own = flag.name.strip_prefix(GLOBAL).unwrap_or(&flag.name);
        program.chdir.iter().any(|name| same_flag(name, own))
    };
    flags.iter().filter(names).filter_map(|flag| flag.value.clone()).collect()
}

/// All of the tests are given, or there are none.
fn all_given(flags: &[Flag], tests: &[FlagTest]) -> bool {
    tests.iter().all(|test| given(flags, test).is_some())
}

/// Any of the tests is given.
fn any_given(flags: &[Flag], tests: &[FlagTest]) -> bool {
    tests.iter().any(|test| given(flags, test).is_some())
}

/// The values of the flags of these names.
fn values<'f>(flags: &'f [Flag], names: &'f [impl AsRef<str>]) -> impl Iterator<Item = (&'f Value, Span)> {
    flags
        .iter()
        .filter(|flag| names.iter().any(|name| same_flag(name.as_ref(), &flag.name)))
        .filter_map(|flag| flag.value.as_ref().map(|value| (value, flag.span)))
}

fn derive(spec: &EffectSpec, flags: &[Flag], operands: &[Operand], here: Span) -> Option<DerivedEffect> {
    if !all_given(flags, &spec.when) || any_given(flags, &spec.unless) {
        return None;
    }
    // What is linked alone is linked into the directory that the command runs in.
    let alone = spec.does == Effect::Link && operands.len() == 1;
    let to = if alone && spec.to == ArgumentPlace::Init { &ArgumentPlace::Operands } else { &spec.to };
    let on = place(to, flags, operands, here);
    // What goes over the network goes also where no argument names it.
    let named = matches!(spec.to, ArgumentPlace::Flag(_));
    let needs_none = matches!(spec.does, Effect::Send | Effect::Fetch) && !named || spec.to == ArgumentPlace::Stdin;
    if on.is_empty() && !needs_none {
        return None;
    }
    let recursive = spec.always_recursive || any_given(flags, &spec.recursive);
    Some(DerivedEffect { effect: spec.does, on, recursive })
}

/// What stands at a place.
fn place(place: &ArgumentPlace, flags: &[Flag], operands: &[Operand], here: Span) -> Vec<Operand> {
    match place {
        ArgumentPlace::Operands => operands.to_vec(),
        ArgumentPlace::First => operands.first().cloned().into_iter().collect(),
        ArgumentPlace::Last => operands.last().cloned().into_iter().collect(),
        ArgumentPlace::Init => operands.split_last().map(|(_, init)| init.to_vec()).unwrap_or_default(),
        ArgumentPlace::Rest => operands.split_first().map(|(_, rest)| rest.to_vec()).unwrap_or_default(),
        ArgumentPlace::Flag(names) | ArgumentPlace::Data(names) => {
            values(flags, names).map(|(value, span)| Operand { value: value.clone(), span }).collect()
        }
        ArgumentPlace::Below(names) => {
            let dirs: Vec<&Value> = values(flags, names).map(|(value, _)| value).collect();
            operands.iter().flat_map(|operand| below(&dirs, operand)).collect()
        }
        ArgumentPlace::Names => operands.iter().filter_map(last_name).collect(),
        ArgumentPlace::Here => vec![Operand { value: Value::text("."), span: here }],
        ArgumentPlace::Stdin => Vec::new(),
        ArgumentPlace::All(places) => places.iter().flat_map(|one| self::place(one, flags, operands, here)).collect(),
    }
}

/// An operand where it lies below each of these directories; one that is absolute, or without any directory, as it is.
fn below(dirs: &[&Value], operand: &Operand) -> Vec<Operand> {
    let leading = operand.value.leading();
    if dirs.is_empty() || leading.starts_with(['/', '~']) {
        return vec![operand.clone()];
    }
    let joined = |dir: &&Value| {
        let mut value = (*dir).clone();
        value.push_text("/");
        value.push_value(&operand.value);
        Operand { value, span: operand.span }
    };
    dirs.iter().map(joined).collect()
}

/// The file that a download of this address is saved as.
fn last_name(operand: &Operand) -> Option<Operand> {
    let text = operand.value.known()?;
    let path = text.split(['?', '#']).next()?.trim_end_matches('/').trim_end_matches(".git");
    let name = path.rsplit(['/', ':']).next().filter(|name| !name.is_empty())?;
    Some(Operand { value: Value::text(name), span: operand.span })
}

fn targets(target: &Target, flags: &[Flag], operands: &[Operand]) -> Vec<Value> {
    let operands = operands.iter().filter(|_| target.operands).map(|operand| operand.value.clone());
    values(flags, &target.flags).map(|(value, _)| value.clone()).chain(operands).collect()
}

/// Returns the code that an interpreter runs, in order.
fn code(runs: &Runs, scan: &ArgumentScan<'_>, operands: &[Operand]) -> Vec<CodeSource> {
    let mut found = named_code(runs, scan, operands);
    let is_given = |name: &String| name == "*" || scan.flags.iter().any(|flag| same_flag(name, &flag.name));
    if runs.stdin_after.iter().any(is_given) && !found.iter().any(|source| matches!(source.from, CodeFrom::Stdin)) {
        found.push(CodeSource { language: runs.language.clone(), from: CodeFrom::Stdin, positional: Vec::new() });
    }
    found
}

/// Returns the code that the arguments name, or standard input where they name none.
fn named_code(runs: &Runs, scan: &ArgumentScan<'_>, operands: &[Operand]) -> Vec<CodeSource> {
    let source = |from, positional: &[Operand]| CodeSource {
        language: runs.language.clone(),
        from,
        positional: positional.to_vec(),
    };
    let mut found = Vec::new();
    // A code option without a value (a shell's `-c`) makes the first operand the code.
    let bare =
        scan.flags.iter().any(|flag| flag.value.is_none() && runs.code.iter().any(|name| same_flag(name, &flag.name)));
    let inline: Vec<(&Value, Span)> = values(&scan.flags, &runs.code).collect();
    if bare && let Some((first, rest)) = operands.split_first() {
        found.push(source(CodeFrom::Inline(first.value.clone(), first.span), rest));
    }
    if let Some(span) = inline.iter().map(|(_, span)| *span).reduce(Span::to) {
        let text = Value::join(inline.iter().map(|(value, _)| *value), "\n");
        found.push(source(CodeFrom::Inline(text, span), operands));
    }
    let scripts = values(&scan.flags, &runs.script);
    let scripts: Vec<CodeSource> =
        scripts.map(|(value, span)| source(script(Operand { value: value.clone(), span }), operands)).collect();
    // A shell reads such a file before what it is told to run, not in its place.
    if scan.is_shell() && !scripts.is_empty() {
        let plain = Runs { script: Vec::new(), ..runs.clone() };
        let rest = named_code(&plain, scan, operands);
        return scripts.into_iter().chain(rest).collect();
    }
    found.extend(scripts);
    // What is told before a database is opened does not stand for what is told it.
    if !found.is_empty() && runs.code_at.is_some() {
        let plain = Runs { code: Vec::new(), script: Vec::new(), ..runs.clone() };
        found.extend(named_code(&plain, scan, operands));
        return found;
    }
    if !found.is_empty() || scan.runs_module {
        return found;
    }
    if runs.stdin && scan.reads_stdin {
        return vec![source(CodeFrom::Stdin, operands)];
    }
    let code_at = runs.code_at.map(|at| at as usize).or(runs.code_operand.then_some(0));
    if let Some(at) = code_at
        && let Some(operand) = operands.get(at)
    {
        let rest = operands.get(at + 1..).unwrap_or_default();
        let mut found = vec![source(CodeFrom::Inline(operand.value.clone(), operand.span), rest)];
        // `sqlite3 DB SQL SQL`
        if runs.code_at.is_some() {
            found.extend(rest.iter().map(|more| source(CodeFrom::Inline(more.value.clone(), more.span), &[])));
        }
        return found;
    }
    if runs.script_operand
        && let Some((first, rest)) = operands.split_first()
    {
        return vec![source(script(first.clone()), rest)];
    }
    if runs.stdin { vec![source(CodeFrom::Stdin, operands)] } else { Vec::new() }
}

/// A script file by name, or standard input by one of its names.
fn script(operand: Operand) -> CodeFrom {
    let stdin = operand.value.is("-") || operand.value.known().as_deref().and_then(descriptor) == Some(0);
    if stdin { CodeFrom::Stdin } else { CodeFrom::Script(operand) }
}

#[cfg(test)]
mod tests;
