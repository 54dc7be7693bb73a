//! Acts: the program runs and effects of each simple command, after quoting, wrappers and nesting are resolved.
//!
//! This module defines the values that rules are matched with. The other modules of the analysis compute them, and
//! rules ([`super::super::rules`]) determine which are dangerous.

use std::rc::Rc;

use super::env::EnvView;
use super::paths::NormalPath;
use super::place::Place;
use super::replacements::EditedText;
pub use super::value::Value;
pub use crate::judge::effect::Effect;
use crate::judge::risk::Tier;
use crate::judge::syntax::tree::Span;

/// The index of an act in [`Facts::acts`].
pub type ActId = usize;

/// The result of the analysis of an invocation.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub acts: Vec<Act>,
    /// The parts that could not be analysed, each with its reason.
    pub opaque: Vec<Opaque>,
    /// The variables whose value in the environment was expanded. They are part of the digest.
    pub expanded: std::collections::BTreeSet<String>,
    /// The programs that it runs by name or path. An approval is bound to the resolved files.
    pub programs: Vec<super::lookup::SearchedName>,
    /// The scripts that it runs and whose content was analysed, with the digest of their bytes.
    pub scripts: std::collections::BTreeMap<String, [u8; 32]>,
    /// For acts in scripts, the number of the line, counted from 1.
    pub lines: std::collections::BTreeMap<ActId, u32>,
    /// The files that it downloads or takes from a download: absolute paths, with a slash at the end for a directory in
    /// which the names are unknown.
    pub fetched: Vec<String>,
}

impl Facts {
    /// Returns the script that contains an act, or the program act of an effect, and the number of the line.
    #[must_use]
    pub fn line(&self, id: ActId) -> Option<(&str, u32)> {
        let act = self.acts.get(id)?;
        let Source::Script(path) = &act.source else { return None };
        let line = self.lines.get(&id).or_else(|| self.lines.get(&act.parent?))?;
        Some((path, *line))
    }
}

/// A part that could not be analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    pub why: OpaqueReason,
    /// An explanation for the user.
    pub detail: String,
    pub span: Span,
}

/// The reason why a part could not be analysed. For each there is a rule (`opaque.…`) with a tier and a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpaqueReason {
    /// The text has a syntax error.
    Syntax,
    /// A limit of size, depth, work or includes was reached.
    Limit,
    /// The command word is unknown.
    CommandWord,
    /// The code that a shell or an interpreter runs is unknown.
    Code,
    /// The command runs data that it downloads or decodes.
    FetchedCode,
    /// The command runs data that it downloads or decodes, as root.
    FetchedCodeAsRoot,
    /// A script cannot be read.
    Script,
    /// The name of a file is not valid UTF-8, so that no question about it is possible.
    FileName,
    /// A name contains characters that the judge reserves, so that no question about it is possible.
    ReservedCharacter,
}

impl OpaqueReason {
    /// Returns the last part of the ID of its rule: `command-word` for `opaque.command-word`.
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

/// The run of a program, or one effect of a run.
#[derive(Clone, Debug)]
pub struct Act {
    pub verb: Verb,
    /// The tier of the program or subcommand in its description; 1 for an undescribed program, 0 for an effect, whose
    /// tier comes from rules.
    pub tier: Tier,
    /// The path of the subcommand in canonical names (`["remote", "remove"]`).
    pub sub: Vec<String>,
    /// The options in canonical spelling, with clusters split and abbreviations completed.
    pub flags: Vec<Flag>,
    /// The arguments after the subcommand that are not options, in order.
    pub operands: Vec<Operand>,
    /// All arguments as the program receives them.
    pub args: Vec<Value>,
    /// The arguments at the end that only a command of the program receives. This command is another act.
    pub passed_on: PassedOn,
    /// The files that a search deletes itself, as far as its tests say: one value for each start and name.
    pub found: Vec<Value>,
    /// The variables that assignments, `env`, `export` and wrappers set for the command.
    pub env: EnvView,
    /// The code that an interpreter runs.
    pub code: Option<Code>,
    /// Whether the program documents one of the given flags as a dry run.
    pub dry_run: bool,
    /// Whether the effect is recursive (`rm -r`, `chmod -R`).
    pub recursive: bool,
    pub input: Input,
    /// The acts that read its output through a pipe.
    pub feeds: Vec<ActId>,
    pub output: Output,
    /// The taints of its output.
    pub taint: Taint,
    /// Whether it certainly runs as root: `sudo`, `su -c`, or uid 0.
    pub root: bool,
    /// The other host or the container in which it runs.
    pub remote: Option<Remote>,
    /// The working directory; `None` if it is unknown.
    pub cwd: Option<Place>,
    /// The arguments and variables that name its target (a cluster context, a cloud profile, a database URL), for the
    /// production context.
    pub targets: Vec<Value>,
    /// The names of the enclosing wrappers, the outermost first.
    pub wrappers: Rc<[Rc<str>]>,
    /// The kind of obfuscation, if there is one.
    pub disguise: Option<Disguise>,
    /// The program act of an effect; `None` for a program act.
    pub parent: Option<ActId>,
    /// Whether it is in a condition, a loop or a function that may not run. It is judged nevertheless.
    pub conditional: bool,
    /// Whether it is conditional and may run more than once, or later than its position.
    pub repeated: bool,
    /// The files that do not exist, because an enclosing condition tests that.
    pub absent: Rc<[NormalPath]>,
    /// Whether it is in a file of the session that the command may load. Findings below tier 3 are then ignored.
    pub staged: bool,
    /// Whether the file of the program was analysed. Its acts follow this one.
    pub read: bool,
    /// The origin of its text.
    pub source: Source,
    /// Its position in the command as given, or the position of the construct that contains its text.
    pub span: Span,
}

impl Act {
    /// Creates an act of tier 1 in this directory. Its input and output are those of guard.
    #[must_use]
    pub fn plain(verb: Verb, cwd: Option<Place>) -> Self {
        Self {
            verb,
            tier: Tier::Low,
            sub: Vec::new(),
            flags: Vec::new(),
            operands: Vec::new(),
            args: Vec::new(),
            passed_on: PassedOn::default(),
            found: Vec::new(),
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
            repeated: false,
            absent: Rc::default(),
            staged: false,
            read: false,
            source: Source::default(),
            span: Span::default(),
        }
    }
}

/// The numbers of arguments at the end of a command that are only passed on: of all words, and of the operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedOn {
    pub arguments: usize,
    pub operands: usize,
}

/// Code in another language than that of shells. Shell code is analysed into acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The name of the language in pattern files (`python`, `js`, `sql`).
    pub language: String,
    pub text: Value,
}

/// The kind of an act. Rules are indexed by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// The run of a program or a builtin, by its name without a directory. A call in code has the name
    /// `language:callee` (`python:shutil.rmtree`, `js:fs.rmSync`), and a statement of a query language `sql:drop` or
    /// `redis:flushall`.
    Program { name: String, path: Option<String> },
    /// An effect on files or the network, from the description of a program or from a redirection.
    Effect(Effect),
}

impl Verb {
    /// Returns the key under which rules are indexed: the name, or `:effect`.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Program { name, .. } => name,
            Self::Effect(effect) => effect.key(),
        }
    }
}

/// An option in canonical spelling, which is the first name in the description of its program.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// The name with its dashes (`--force`, `-f`, `-auto-approve`), or for `dd` the key with `=` (`of=`).
    pub name: String,
    pub value: Option<Value>,
    pub span: Span,
}

/// An argument that is not an option.
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
    /// An unquoted glob (`*`, `?`, `[…]`, an extended glob), as written.
    Glob(String),
    /// Text that is unknown before the command runs.
    Unknown(Unknown),
}

/// An unknown text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unknown {
    pub why: UnknownReason,
    /// The taints of the text.
    pub taint: Taint,
}

/// The reason why a text is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnknownReason {
    /// It is the value of a variable, which may be empty or unset.
    Variable(String),
    /// It is the output of a command.
    CommandOutput,
    /// It is read from standard input (`xargs`, `read`).
    Input,
    /// It is shell code that a known program prints to be evaluated.
    ShellCode,
    /// It is the result of arithmetic, a time, a counter, or an identifier of digits and letters. It never contains a
    /// slash, and is empty only in some shells.
    Number(NumberId),
    /// It is the name of a file or directory that `mktemp` creates, or the value of `TMPDIR` (`variable`) if the
    /// command does not set it, which may be any directory or empty.
    Temporary { variable: bool },
    /// It is the name of a pipe (`<(…)`).
    Pipe,
    /// It is a path that `find` or a loop over a glob finds below this directory, if the directory is known. An empty
    /// text after a known piece means: below the path in that piece.
    Found(Option<String>),
    /// A directory of installed programs.
    Installation,
    /// The text of a file, which code edited.
    FileText(Box<EditedText>),
    /// Another reason, described by this text.
    Other(&'static str),
}

/// The identity of an unknown number in a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumberId {
    /// Equal for all uses of one value; 0 if the identity is unknown.
    pub id: u16,
    /// Whether it contains only letters and digits, and no dash, dot or colon.
    pub plain: bool,
}

/// The origins of data, as a set of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Taint(pub u8);

impl Taint {
    /// The command downloads it.
    pub const FETCHED: Self = Self(1);
    /// The command decodes it (`base64 -d`, `xxd -r`).
    pub const DECODED: Self = Self(2);
    /// It is the content of a secret.
    pub const SECRET: Self = Self(4);
    /// It comes from the standard input of guard, or from another host.
    pub const FOREIGN: Self = Self(8);
    /// It is the value of a variable whose name suggests a secret.
    pub const NAMED: Self = Self(16);
    /// It is the process ID of the program that started the shell: guard, or an agent above it.
    pub const PARENT: Self = Self(32);

    /// Returns the union of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Reports whether it contains all of `other`.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The source of an act's standard input.
#[derive(Clone, Debug, Default)]
pub enum Input {
    /// The standard input of guard.
    #[default]
    Inherited,
    /// `/dev/null`, or closed.
    Nothing,
    /// The output of these acts.
    Pipe(Vec<ActId>),
    File(Operand),
    /// A heredoc, a here-string, or the output of a known `echo`.
    Text(Value),
}

/// The destination of an act's standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// The standard output of guard, which the caller sees.
    #[default]
    Inherited,
    /// A pipe to another act.
    Pipe,
    /// A file or device.
    File,
    /// A command substitution.
    Captured,
    /// `/dev/null`, or closed.
    Nothing,
}

/// Another host or a container in which an act runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub kind: RemoteKind,
    /// The name of the host, container or pod, if known.
    pub name: Option<String>,
    /// Whether the command starts the container, so that it contains no earlier work.
    pub fresh: bool,
}

/// The kind of a [`Remote`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteKind {
    Ssh,
    Container,
    Cluster,
}

/// The kind of obfuscation of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disguise {
    /// Unnecessary quotes or escapes in a command word or an option.
    Quoting,
    /// An encoding (`$'\x72m'`, base 64 into a shell).
    Encoding,
    /// A command word that is composed of variables, substitutions or braces of the same command.
    Assembly,
    /// Homoglyphs, invisible characters, or control sequences.
    Characters,
}

/// The origin of the text of an act.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The command itself.
    #[default]
    Command,
    /// A script with this name.
    Script(String),
    /// Code in this language in the command.
    Code(String),
    /// A definition that the command uses: an alias of git, a script of npm, a target of make.
    Definition(String),
}
