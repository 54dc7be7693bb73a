//! Acts: what each simple command would do, with quoting, wrappers and nesting already gone.
//!
//! In scope: values that rules match against. How they are derived is the business of the
//! rooms beside this one; whether they are dangerous is the business of [`super::super::rules`].

use std::rc::Rc;

use super::env::EnvView;
use super::paths::NormalPath;
use super::place::Place;
pub use super::value::Value;
pub use crate::judge::effect::Effect;
use crate::judge::risk::Tier;
use crate::judge::syntax::tree::Span;

/// Index of an act in [`Facts::acts`].
pub type ActId = usize;

/// Everything that was worked out about one invocation.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub acts: Vec<Act>,
    /// What could not be understood. Never empty-handed: each carries its reason, and each is at least tier 3.
    pub opaque: Vec<Opaque>,
    /// Every variable whose value from the environment was expanded: part of the digest.
    pub expanded: std::collections::BTreeSet<String>,
    /// The programs that it runs by name or path: an approval is bound to the files that they lead to.
    pub programs: Vec<super::lookup::SearchedName>,
    /// The files that it runs as programs and that were read for what they do, with the digest of their bytes.
    pub scripts: std::collections::BTreeMap<String, [u8; 32]>,
    /// The lines of scripts in which acts stand, counted from 1.
    pub lines: std::collections::BTreeMap<ActId, u32>,
}

impl Facts {
    /// The script in which an act stands, or the program that it is an effect of, and the line there.
    #[must_use]
    pub fn line(&self, id: ActId) -> Option<(&str, u32)> {
        let act = self.acts.get(id)?;
        let Source::Script(path) = &act.source else { return None };
        let line = self.lines.get(&id).or_else(|| self.lines.get(&act.parent?))?;
        Some((path, *line))
    }
}

/// A part that could not be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    pub why: OpaqueReason,
    /// A sentence for a person.
    pub detail: String,
    pub span: Span,
}

/// The kinds of [`Opaque`]. Each has a rule of its own (`opaque.…`) that gives it a tier and a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpaqueReason {
    /// The text does not parse.
    Syntax,
    /// A limit of size, depth, work or includes was hit.
    Limit,
    /// The command word itself is not known.
    CommandWord,
    /// Code handed to a shell or interpreter is not known.
    Code,
    /// Bytes fetched or decoded in this line are then run.
    FetchedCode,
    /// The same as root.
    FetchedCodeAsRoot,
    /// A script that is run cannot be read.
    Script,
    /// The name of a file is not text, so that nothing can be asked about it.
    FileName,
    /// A name holds characters that the judge keeps for itself, so that nothing can be asked about it.
    ReservedCharacter,
}

impl OpaqueReason {
    /// The end of the id of its rule: `opaque.command-word`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Limit => "limit",
            Self::CommandWord => "command-word",
            Self::Code => "code",
            Self::FetchedCode => "fetched-code",
            Self::FetchedCodeAsRoot => "fetched-code-as-root",
            Self::Script => "script",
            Self::FileName => "file-name",
            Self::ReservedCharacter => "reserved-character",
        }
    }
}

/// One thing that a command does: a program run, or one effect of it.
#[derive(Clone, Debug)]
pub struct Act {
    pub verb: Verb,
    /// What a plain run of the program or subcommand is by its description; 1 for a program that none describes, 0 for
    /// an effect (its rules say what it is).
    pub tier: Tier,
    /// The subcommand path (`["remote", "remove"]`), canonical names, for programs that have subcommands.
    pub sub: Vec<String>,
    /// Options, in canonical spelling, clusters taken apart and abbreviations completed.
    pub flags: Vec<Flag>,
    /// What is no option, in order (after the subcommand).
    pub operands: Vec<Operand>,
    /// All arguments as they would reach the program, before any reading of options.
    pub args: Vec<Value>,
    /// Assignments in front of the command and what `env`, `export` and wrappers set for it.
    pub env: EnvView,
    /// The code that an interpreter is handed, when it is one.
    pub code: Option<Code>,
    /// The program documents one of the given flags as a dry run.
    pub dry_run: bool,
    /// The effect reaches into directories (`rm -r`, `chmod -R`).
    pub recursive: bool,
    pub input: Input,
    /// The acts that read this one's output through a pipe.
    pub feeds: Vec<ActId>,
    pub output: Output,
    /// What can be said of the bytes this act prints.
    pub taint: Taint,
    /// Runs as root: `sudo`, `su -c`, or uid 0 is certain.
    pub root: bool,
    /// Runs on another host or in a container.
    pub remote: Option<Remote>,
    /// The working directory when it runs; `None` when it is not known.
    pub cwd: Option<Place>,
    /// What names the place that it acts on (a cluster context, a cloud profile, a database URL), by the program's
    /// description: for the production context.
    pub targets: Vec<Value>,
    /// The names of the wrappers it stood in, outermost first.
    pub wrappers: Rc<[Rc<str>]>,
    /// Spelled so that a reader would not see it.
    pub disguise: Option<Disguise>,
    /// The act that this effect belongs to; `None` for a program act.
    pub parent: Option<ActId>,
    /// Under a condition, in a loop or in a function body that may not run. It counts all the same.
    pub conditional: bool,
    /// Files that a condition around it found not to be there.
    pub absent: Rc<[NormalPath]>,
    /// In a file of the session that the command may load. Only what is grave counts.
    pub staged: bool,
    /// What the program's file does was read, and its acts come after this one.
    pub read: bool,
    /// Where the text came from, when not from the command itself.
    pub source: Source,
    /// In the command as given, or of the construct that brought the text in.
    pub span: Span,
}

impl Act {
    /// An act of tier 1 in this directory, and nothing else said of it: it reads and prints where the whole command does.
    #[must_use]
    pub fn plain(verb: Verb, cwd: Option<Place>) -> Self {
        Self {
            verb,
            tier: Tier::Low,
            sub: Vec::new(),
            flags: Vec::new(),
            operands: Vec::new(),
            args: Vec::new(),
            env: EnvView::default(),
            code: None,
            dry_run: false,
            recursive: false,
            input: Input::default(),
            feeds: Vec::new(),
            output: Output::default(),
            taint: Taint::default(),
            root: false,
            remote: None,
            cwd,
            targets: Vec::new(),
            wrappers: Rc::default(),
            disguise: None,
            parent: None,
            conditional: false,
            absent: Rc::default(),
            staged: false,
            read: false,
            source: Source::default(),
            span: Span::default(),
        }
    }
}

/// Code handed to an interpreter of another language than the shell. (Shell code becomes acts of its own.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The language as the program's description names it (`python`, `js`, `sql`).
    pub language: String,
    pub text: Value,
}

/// What an act is: the key that rules are indexed by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// A program, builtin or library call: its name without a directory. A call made by code in another
    /// language is written `language:callee` (`python:shutil.rmtree`, `js:fs.rmSync`), a statement of a query
    /// language `sql:drop`, `redis:flushall`.
    Program { name: String, path: Option<String> },
    /// An effect on files or the network, derived from a program's description or from a redirection.
    Effect(Effect),
}

impl Verb {
    /// The key under which rules for this verb are indexed: the name, or `:effect`.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Program { name, .. } => name,
            Self::Effect(effect) => effect.key(),
        }
    }
}

/// An option in canonical spelling: the first name its program's description lists for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// With its dashes: `--force`, `-f`, `-auto-approve`; for `dd` the key with `=`: `of=`.
    pub name: String,
    pub value: Option<Value>,
    pub span: Span,
}

/// An argument that is no option.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    pub value: Value,
    pub span: Span,
}

/// A piece of a [`Value`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Known text.
    Text(String),
    /// A live pathname pattern (`*`, `?`, `[…]`, an extended glob), as written.
    Glob(String),
    /// Text that is not known before the command runs.
    Unknown(Unknown),
}

/// Why a piece is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unknown {
    pub why: UnknownReason,
    /// What is known of the bytes all the same.
    pub taint: Taint,
}

/// The reasons of [`Unknown`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnknownReason {
    /// A variable whose value is not known (it may be empty or unset).
    Variable(String),
    /// The output of a command.
    CommandOutput,
    /// Read from standard input (`xargs`, `read`).
    Input,
    /// Shell code that a known program prints to be evaluated.
    ShellCode,
    /// A result of arithmetic, a clock's or a counter's reading, an identifier made of digits and letters: never a slash, and
    /// only some shells leave it empty.
    Number(NumberId),
    /// The name of a temporary file or directory just made by `mktemp`, or what `TMPDIR` says (`variable`) where it is not
    /// set here: what runs may have a directory of its own there, or nothing at all.
    Temporary { variable: bool },
    /// A pipe to another command (`<(…)`).
    Pipe,
    /// What `find` or a loop over a glob found below the given start (its text, when known); empty behind a text: below what
    /// that text names.
    Found(Option<String>),
    /// Anything else, in words.
    Other(&'static str),
}

/// Which number of the line it is, as far as that is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumberId {
    /// The same for each use of one reading; 0 where it is not told apart.
    pub id: u16,
    /// Letters and digits alone: no dash, dot or colon.
    pub plain: bool,
}

/// What is known of bytes that are not known themselves. A set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Taint(pub u8);

impl Taint {
    /// Fetched from the network in this line.
    pub const FETCHED: Self = Self(1);
    /// Decoded from something (`base64 -d`, `xxd -r`).
    pub const DECODED: Self = Self(2);
    /// The content of a secret.
    pub const SECRET: Self = Self(4);
    /// Came in from outside: standard input of the whole line, another host.
    pub const FOREIGN: Self = Self(8);
    /// The value of a variable whose name says that it is a secret.
    pub const NAMED: Self = Self(16);

    /// Both together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` is in it.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Where an act's standard input comes from.
#[derive(Clone, Debug, Default)]
pub enum Input {
    /// guard's own.
    #[default]
    Inherited,
    /// `/dev/null`, or closed.
    Nothing,
    /// The output of these acts.
    Pipe(Vec<ActId>),
    File(Operand),
    /// A heredoc, a here-string, or what a known `echo` feeds.
    Text(Value),
}

/// Where an act's standard output goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// guard's own standard output: whoever called sees it.
    #[default]
    Inherited,
    /// Into another act.
    Pipe,
    /// Into a file or device.
    File,
    /// Into a command substitution.
    Captured,
    /// Thrown away.
    Nothing,
}

/// Where else an act runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub kind: RemoteKind,
    /// The host, container or pod, when known.
    pub name: Option<String>,
    /// The command starts it, so that nothing was in it before.
    pub fresh: bool,
}

/// The kinds of [`Remote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    Ssh,
    Container,
    Cluster,
}

/// How a command was made hard to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disguise {
    /// Quotes or escapes inside a command word or option that need none.
    Quoting,
    /// Encoded (`$'\x72m'`, base64 into a shell).
    Encoding,
    /// Put together from variables, substitutions or braces in the same line.
    Assembly,
    /// Look-alike or invisible characters, control sequences.
    Characters,
}

/// Where the text of an act came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The command itself.
    #[default]
    Command,
    /// A script file, named.
    Script(String),
    /// Code in another language inside the command.
    Code(String),
    /// A definition that the command leads to: a git alias, an npm script, a make target.
    Definition(String),
}
