//! Parses arguments by the description of a program: options, operands, the subcommand, and their use by the program.
//!
//! The result depends on the arguments alone. Out of scope: I/O, rules, and knowledge about programs, which is in the
//! pattern files.

mod inner;
mod options;
mod scan;

use super::act::{Effect, Flag, Operand, PassedOn, Remote, Value};
use super::streams::descriptor;
use super::value::Build as _;
use super::value_test::given;
use crate::judge::risk::Tier;
use crate::judge::rules::model::{
    Added, ArgumentPlace, EffectSpec, Files, FlagTest, Language, OptionStyle, OutputTaint, Program, Runs, Sub, Target,
};
use crate::judge::rules::text::same_flag;
use crate::judge::syntax::tree::Span;
use scan::ArgumentScan;

/// An argument as the program receives it, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    pub value: Value,
    pub span: Span,
    /// Whether it is an operand even if it looks like an option or a keyword of the program.
    pub operand: bool,
}

impl Arg {
    /// Creates an argument that the program parses.
    #[must_use]
    pub fn word(value: Value, span: Span) -> Self {
        Self { value, span, operand: false }
    }

    /// Creates an argument that is an operand.
    #[must_use]
    pub fn of(operand: &Operand) -> Self {
        Self { value: operand.value.clone(), span: operand.span, operand: true }
    }

    /// Returns the argument as one of the inner command, which parses it again.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::word(self.value.clone(), self.span)
    }

    /// Returns it as an operand.
    #[must_use]
    pub fn operand(&self) -> Operand {
        Operand { value: self.value.clone(), span: self.span }
    }
}

/// The parsed arguments of a program.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The path of the subcommand in canonical names; one unknown word if the program has subcommands and none matches.
    pub sub: Vec<String>,
    /// The options in canonical spelling, in order.
    pub flags: Vec<Flag>,
    /// The arguments after the subcommand that are not options, including the command of a wrapper.
    pub operands: Vec<Operand>,
    /// Whether one of the given flags is documented as a dry run.
    pub dry_run: bool,
    /// The tier of a run that no rule matches.
    pub tier: Tier,
    /// The commands that the program runs.
    pub inner: Vec<InnerCommand>,
    /// The arguments at the end that only such a command receives.
    pub passed_on: PassedOn,
    pub effects: Vec<DerivedEffect>,
    /// The code that the program runs as an interpreter, possibly from several sources.
    pub code: Vec<CodeSource>,
    pub output: OutputTaint,
    /// The arguments that name the target of its acts. The caller adds the environment variables of [`Target::env`].
    pub target: Vec<Value>,
    /// The directories to which the program changes first, each relative to the one before.
    pub chdir: Vec<Value>,
    /// Whether the arguments are an expression of tests and actions.
    pub expression: bool,
    /// Whether the program compiles its operands.
    pub compiles: bool,
    /// The program's use of files that no effect mentions.
    pub files: Files,
}

impl Reading {
    /// Reports whether one of these options was given, in canonical spelling.
    #[must_use]
    pub fn has_flag(&self, names: &[String]) -> bool {
        self.flags.iter().any(|flag| names.contains(&flag.name))
    }
}

/// A command that a wrapper runs.
#[derive(Clone, Debug)]
pub struct InnerCommand {
    pub what: InnerText,
    /// The words of which an [`InnerText::Line`] was joined.
    pub words: Vec<Arg>,
    /// `$0`, `$1`, … of an [`InnerText::Line`].
    pub positional: Vec<Operand>,
    /// The variables that the wrapper sets for it.
    pub env: Vec<(String, Value)>,
    pub root: bool,
    pub remote: Option<Remote>,
    /// The text or operands that the wrapper adds to the inner command's arguments.
    pub adds: Added,
    /// The text in its arguments that is replaced by the wrapper's additions. If `None`, they are appended.
    pub replace: Option<String>,
}

/// The form of an inner command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InnerText {
    /// Arguments, of which the first is the command word. Never empty.
    Argv(Vec<Arg>),
    /// A command string, which a shell interprets.
    Line(Value, Span),
    /// Arguments, of which an unknown one is the command word.
    Somewhere(Vec<Arg>),
    /// No command: a shell that reads standard input.
    BareShell,
}

/// An effect of a program, with the operands to which it applies.
#[derive(Clone, Debug)]
pub struct DerivedEffect {
    pub effect: Effect,
    pub on: Vec<Operand>,
    pub recursive: bool,
}

impl DerivedEffect {
    /// Creates an effect that is not recursive.
    pub fn of(effect: Effect, on: Vec<Operand>) -> Self {
        Self { effect, on, recursive: false }
    }
}

/// Code for an interpreter.
#[derive(Clone, Debug)]
pub struct CodeSource {
    /// The language as in the description: `shell`, `zsh`, `python`, `sql`, …
    pub language: String,
    pub from: CodeFrom,
    /// The arguments of the code. For a shell's `-c` the first is `$0`, for a script `$1`.
    pub positional: Vec<Operand>,
}

/// The prefix of an option of the program if its subcommand has another option of that name.
pub const GLOBAL: &str = "global ";

/// The source of code.
#[derive(Clone, Debug)]
pub enum CodeFrom {
    Inline(Value, Span),
    /// A script file.
    Script(Operand),
    Stdin,
}

/// Parses `args` (without the command word) by the description of the program; for an undescribed program, pass
/// `Program::default()`.
#[must_use]
pub fn read(program: &Program, args: &[Arg]) -> Reading {
    let scan = ArgumentScan::new(program, args).run();
    let sub = scan.sub;
    let operands: Vec<Operand> = scan.operands.iter().filter_map(|at| args.get(*at)).map(Arg::operand).collect();
    let inner = inner::commands(&scan);
    let passed_on = if inner.is_empty() { PassedOn::default() } else { inner::passed_on(&scan) };
    let runs = sub.map_or(program.runs.as_ref(), |sub| sub.runs.as_ref().or(program.runs.as_ref()));
    let runs = runs.filter(|runs| !any_given(&scan.flags, &runs.unless));
    let code = runs.map(|runs| code(runs, &scan, &operands)).unwrap_or_default();
    let effects = sub.map(|sub| sub.effects.as_slice()).unwrap_or_default().iter().chain(&program.effects);
    let effects: Vec<&EffectSpec> = effects.fold(Vec::new(), |mut all, spec| {
        // Several layers may describe the same effect.
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
    // A dry run runs nothing: `bash -n`, `parallel --dry-run`.
    let (inner, code) = if dry_run { (Vec::new(), Vec::new()) } else { (inner, code) };
    let target = program.target.as_ref().map(|target| targets(target, &scan.flags, &operands)).unwrap_or_default();
    Reading {
        sub: sub_path(sub, &scan),
        dry_run,
        tier: sub.and_then(|sub| sub.tier).unwrap_or(program.tier),
        inner,
        passed_on,
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

/// Returns the tests of a dry run, those of the subcommand first.
fn rehearsals<'a>(scan: &ArgumentScan<'a>) -> impl Iterator<Item = &'a FlagTest> {
    scan.sub.map(|sub| sub.dry_run.as_slice()).unwrap_or_default().iter().chain(&scan.program.dry_run)
}

/// Reports whether one of the documented flags is given, or the last argument is one of the documented words (`help`,
/// `/?`, `test=True`). A word of letters, which may also be a name, must be the only operand.
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

/// Reports whether another spelling of a documented `--help` is given: `help` instead of a subcommand, or `-h` or
/// `-help` as the last argument if these have no other description.
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

/// Returns the directories that options of the program name, even if the subcommand has another option of that name.
fn directories(program: &Program, flags: &[Flag]) -> Vec<Value> {
    let names = |flag: &&Flag| {
        let own = flag.name.strip_prefix(GLOBAL).unwrap_or(&flag.name);
        program.chdir.iter().any(|name| same_flag(name, own))
    };
    flags.iter().filter(names).filter_map(|flag| flag.value.clone()).collect()
}

/// Reports whether all of the tests succeed.
fn all_given(flags: &[Flag], tests: &[FlagTest]) -> bool {
    tests.iter().all(|test| given(flags, test).is_some())
}

/// Reports whether one of the tests succeeds.
fn any_given(flags: &[Flag], tests: &[FlagTest]) -> bool {
    tests.iter().any(|test| given(flags, test).is_some())
}

/// Returns the values of the flags with these names.
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
    // A link with one operand is created in the working directory.
    let alone = spec.does == Effect::Link && operands.len() == 1;
    let to = if alone && spec.to == ArgumentPlace::Init { &ArgumentPlace::Operands } else { &spec.to };
    let on = place(to, flags, operands, here);
    // An effect on the network exists even if no argument names the host.
    let named = matches!(spec.to, ArgumentPlace::Flag(_));
    let needs_none = matches!(spec.does, Effect::Send | Effect::Fetch) && !named || spec.to == ArgumentPlace::Stdin;
    if on.is_empty() && !needs_none {
        return None;
    }
    let recursive = spec.always_recursive || any_given(flags, &spec.recursive);
    Some(DerivedEffect { effect: spec.does, on, recursive })
}

/// Returns the arguments to which an effect applies.
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
        ArgumentPlace::Inside(inner, names) => {
            let dirs: Vec<&Value> = values(flags, names).map(|(value, _)| value).collect();
            self::place(inner, flags, operands, here).iter().flat_map(|one| below(&dirs, one)).collect()
        }
        ArgumentPlace::Names => operands.iter().filter_map(last_name).collect(),
        ArgumentPlace::Here => vec![Operand { value: Value::text("."), span: here }],
        ArgumentPlace::Stdin => Vec::new(),
        ArgumentPlace::All(places) => places.iter().flat_map(|one| self::place(one, flags, operands, here)).collect(),
    }
}

/// Returns an operand relative to each of these directories; unchanged if it is absolute or there is no directory.
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

/// Returns the file name under which a download of this address is saved.
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

/// Returns the code that the arguments name, or standard input if they name none.
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
        // Each option of a database client has a statement of its own.
        let between = if runs.language == Language::Sql.name() { ";\n" } else { "\n" };
        let text = Value::join(inline.iter().map(|(value, _)| *value), between);
        found.push(source(CodeFrom::Inline(text, span), operands));
    }
    let scripts = values(&scan.flags, &runs.script);
    let scripts: Vec<CodeSource> =
        scripts.map(|(value, span)| source(script(Operand { value: value.clone(), span }), operands)).collect();
    // A shell reads such a file before the code that it runs, not instead of it.
    if scan.is_shell() && !scripts.is_empty() {
        let plain = Runs { script: Vec::new(), ..runs.clone() };
        let rest = named_code(&plain, scan, operands);
        return scripts.into_iter().chain(rest).collect();
    }
    found.extend(scripts);
    // Code that runs before a database is opened does not replace the code that runs on it.
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

/// Returns the script of this name, or standard input for one of its names.
fn script(operand: Operand) -> CodeFrom {
    let stdin = operand.value.is("-") || operand.value.known().as_deref().and_then(descriptor) == Some(0);
    if stdin { CodeFrom::Stdin } else { CodeFrom::Script(operand) }
}

#[cfg(test)]
mod tests;
