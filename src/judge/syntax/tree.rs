//! The syntax tree of a command string.
//!
//! In scope: the nodes that the parser creates and that all other modules use. Nothing here knows the effects of
//! programs, and nothing is evaluated: quoting is kept as written.
//!
//! Every node has the byte span from which it was parsed. A substitution is always a subtree, whatever its position (in
//! a parameter default, a subscript, arithmetic, a here-document, a redirection target, a case pattern), so that no
//! command can be hidden in a string.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A half-open byte range in the source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// Creates the span from `start` up to, but not including, `end`.
    #[must_use]
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Returns the smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// The shell whose grammar is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// GNU bash 5.2.
    #[default]
    Bash,
    /// POSIX sh (dash): bash's extensions are parsed as in bash, which can only find more commands.
    Sh,
    /// zsh: constructs that could hide a command are recognised or rejected.
    Zsh,
}

/// A whole command string: statements in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub items: Vec<Item>,
    pub span: Span,
}

/// One statement: pipelines joined by `&&` and `||`, which run in the background if it ends with `&`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    pub first: Pipeline,
    pub rest: Vec<(Join, Pipeline)>,
    pub background: bool,
    pub span: Span,
}

/// The operator between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands, each of whose output is the input of the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pipeline {
    /// Whether there is an odd number of `!`.
    pub negated: bool,
    /// Whether the reserved word `time` precedes it.
    pub timed: bool,
    /// Empty only for a bare `time` or `!`.
    pub commands: Vec<Command>,
    pub span: Span,
}

/// One member of a pipeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Simple(Simple),
    Compound(Compound),
    Function(Function),
    Coprocess(Coprocess),
}

/// Assignments, words and redirections, each in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    /// Assignments that are arguments of a declaring builtin (`declare a=(b)`) are words here; [`Part::Array`] ends a
    /// word that assigns an array.
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    pub span: Span,
}

/// A compound command with the redirections that apply to all of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Compound {
    pub kind: CompoundKind,
    pub redirects: Vec<Redirect>,
    pub span: Span,
}

/// The compound commands of the shell grammar.
#[derive(Clone, Debug, PartialEq)]
pub enum CompoundKind {
    /// `{ …; }`
    Group(Script),
    /// `( … )`
    Subshell(Script),
    /// `(( … ))`
    Arithmetic(Arithmetic),
    /// `[[ … ]]`
    Conditional(Vec<CondToken>),
    /// `if`/`elif` arms in order, then the `else` body.
    If { arms: Vec<(Script, Script)>, otherwise: Option<Script> },
    /// `while` and `until`.
    Loop { until: bool, condition: Script, body: Script },
    /// `for name in words` and zsh's `for name (words)`; `None` means the positional parameters.
    For { names: Vec<String>, words: Option<Vec<Word>>, body: Script },
    /// `for ((init; condition; step))`
    ForArithmetic { header: [Arithmetic; 3], body: Script },
    /// `select name in words`
    Select { name: String, words: Option<Vec<Word>>, body: Script },
    /// `case subject in arms esac`
    Case { subject: Word, arms: Vec<CaseArm> },
    /// zsh's `repeat count body`.
    Repeat { count: Word, body: Script },
    /// zsh's `{ try } always { finally }`.
    Always { body: Script, finally: Script },
}

/// One arm of a `case`.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseArm {
    pub patterns: Vec<Word>,
    pub body: Script,
    /// Whether it ends in `;&` or `;;&` (or zsh's `;|`), so that the next arm may run too.
    pub falls_through: bool,
    pub span: Span,
}

/// One token of `[[ … ]]`: an operand word, or an operator as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum CondToken {
    Word(Word),
    Operator(String, Span),
}

/// The text between arithmetic brackets, with its expansions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arithmetic {
    pub parts: Vec<Part>,
    pub span: Span,
}

/// A function definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Several for zsh's `function a b { … }`, none for its anonymous function, which is executed immediately.
    pub names: Vec<String>,
    /// The arguments after zsh's anonymous function.
    pub arguments: Vec<Word>,
    pub body: Box<Compound>,
    pub span: Span,
}

/// `coproc [NAME] command`
#[derive(Clone, Debug, PartialEq)]
pub struct Coprocess {
    pub name: Option<String>,
    pub body: Box<Command>,
    pub span: Span,
}

/// `name=value`, `name+=value`, `name[subscript]=value`, `name=(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub name: String,
    pub subscript: Option<Word>,
    pub append: bool,
    pub value: AssignmentValue,
    pub span: Span,
}

/// The value of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum AssignmentValue {
    Scalar(Word),
    Array(Vec<ArrayElement>),
}

/// One element of `( … )` in the value of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayElement {
    pub subscript: Option<Word>,
    pub value: Word,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirect {
    pub fd: RedirectFd,
    pub op: RedirectOp,
    pub target: RedirectTarget,
    pub span: Span,
}

/// The file descriptor on the left of a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedirectFd {
    /// None given: 0 for input, 1 for output.
    Default,
    Number(u32),
    /// `{name}>…`
    Variable(String),
}

/// The redirection operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectOp {
    /// `<`
    Read,
    /// `>`
    Write,
    /// `>|` and zsh's `>!`
    Clobber,
    /// `>>` (and zsh's `>>|`, `>>!`)
    Append,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateIn,
    /// `>&`
    DuplicateOut,
    /// `&>`
    WriteBoth,
    /// `&>>`
    AppendBoth,
    /// `<<` and `<<-`
    Heredoc,
    /// `<<<`
    HereString,
}

/// The target of a redirection.
#[derive(Clone, Debug, PartialEq)]
pub enum RedirectTarget {
    Word(Word),
    Heredoc(Heredoc),
}

/// A here-document.
#[derive(Clone, Debug, PartialEq)]
pub struct Heredoc {
    /// The delimiter after quote removal.
    pub delimiter: String,
    /// Whether the delimiter was quoted, so that nothing in the body is expanded.
    pub quoted: bool,
    /// Whether it is `<<-`, which removes leading tabs (`body` is already without them).
    pub strip_tabs: bool,
    /// The body as the command receives it, with substitutions as subtrees.
    pub body: Word,
}

/// A word: adjacent parts, each with its own quoting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Word {
    pub parts: Vec<Part>,
    pub span: Span,
}

/// A part of a word. The text is without line continuations; bytes that are not valid UTF-8 are replaced with U+FFFD.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Unquoted text, in which braces, globs and tildes are special.
    Literal(String),
    /// `\c`: one escaped character.
    Escaped(String),
    /// `'…'`
    Single(String),
    /// `$'…'`, decoded.
    AnsiC(String),
    /// `"…"`, and `$"…"` with `localized`.
    Double { parts: Vec<Part>, localized: bool },
    /// `$name`, `${…}`
    Parameter(Box<Parameter>),
    /// `$(…)`, `` `…` ``, `${ …; }`
    Command(CommandSubstitution),
    /// `<(…)`, `>(…)`, zsh's `=(…)`
    Process(ProcessSubstitution),
    /// `$((…))`, `$[…]`
    Arithmetic(Arithmetic),
    /// An extended glob, `?( * + @ !` with alternatives, or a zsh group or qualifier.
    ExtGlob { operator: char, alternatives: Vec<Word> },
    /// `(…)` after `name=` in an argument of a declaring builtin.
    Array(Vec<ArrayElement>),
    /// An unknown part of a composed text, quoted or unquoted.
    Hole(HoleId),
}

/// The identifier of a hole, assigned by the author of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HoleId(pub u32);

/// A command substitution.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandSubstitution {
    pub script: Script,
    /// Whether it is written with backticks. If it contains backslashes, spans inside would refer to the unescaped
    /// text; they are then all set to the span of the whole substitution.
    pub backtick: bool,
    /// Whether it is `${ …; }`, which runs in the current shell.
    pub in_current_shell: bool,
    pub span: Span,
}

/// A process substitution.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessSubstitution {
    /// `'<'`, `'>'` or zsh's `'='`.
    pub direction: char,
    pub script: Script,
    pub span: Span,
}

/// A parameter expansion.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name of a variable, a position or a special parameter (`@ * # ? - $ ! 0`).
    pub name: String,
    /// `${!name}`
    pub indirect: bool,
    /// `${#name}`
    pub length: bool,
    pub subscript: Option<Word>,
    pub operation: Option<ParameterOp>,
    pub span: Span,
}

/// An operation on a parameter's value. Each operand is a word with its substitutions as subtrees.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterOp {
    /// `-` or `:-`
    Default { colon: bool, word: Word },
    /// `=` or `:=`
    AssignDefault { colon: bool, word: Word },
    /// `?` or `:?`
    Error { colon: bool, word: Word },
    /// `+` or `:+`
    Alternative { colon: bool, word: Word },
    /// `#` or `##`
    RemovePrefix { longest: bool, pattern: Word },
    /// `%` or `%%`
    RemoveSuffix { longest: bool, pattern: Word },
    /// `/`, `//`, `/#`, `/%`
    Replace { anchor: ReplaceAnchor, pattern: Word, replacement: Word },
    /// `^ ^^ , ,, ~ ~~`, as written.
    Case { operator: String, pattern: Word },
    /// `:offset[:length]`
    Substring { offset: Arithmetic, length: Option<Arithmetic> },
    /// `@Q` and similar operators.
    Transform(char),
    /// `${!prefix*}` and `${!prefix@}`
    NamesWithPrefix(char),
    /// A zsh construct that is parsed but not evaluated (flags, nested expansion, `:t`), with the substitutions in it.
    Other(Word),
}

/// The matches that `${x/pattern/…}` replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplaceAnchor {
    First,
    All,
    Prefix,
    Suffix,
}

/// The reason why a text could not be parsed. No part of such a text is trusted: it is opaque as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    pub kind: ParseErrorKind,
    /// The position at which parsing stopped.
    pub at: u32,
}

/// The kinds of [`ParseError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The grammar does not allow the token.
    Unexpected(String),
    /// The text ended in a construct that began at the given offset.
    Unterminated { what: &'static str, began: u32 },
    /// A NUL byte.
    Nul,
    /// Longer than [`super::limits::MAX_BYTES`].
    TooLarge,
    /// Nested deeper than [`super::limits::MAX_DEPTH`].
    TooDeep,
    /// More steps than the limits allow for the text's length.
    TooMuchWork,
    /// A construct whose meaning depends on the shell's options or version, which are unknown.
    Unsupported(&'static str),
}

impl ParseError {
    /// Returns the start of the construct that cannot be parsed: a shell that reads line by line has run the lines
    /// before it.
    #[must_use]
    pub fn begins(&self) -> u32 {
        match self.kind {
            ParseErrorKind::Unterminated { began, .. } => began.min(self.at),
            _ => self.at,
        }
    }
}

impl ParseErrorKind {
    /// Reports whether a limit was exceeded. It is then unknown whether the text is valid.
    #[must_use]
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::TooLarge | Self::TooDeep | Self::TooMuchWork)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ParseErrorKind::Unexpected(what) => write!(f, "unexpected {what} at byte {}", self.at),
            ParseErrorKind::Unterminated { what, began } => {
                write!(f, "unterminated {what} that begins at byte {began}")
            }
            ParseErrorKind::Nul => write!(f, "a NUL byte at byte {}", self.at),
            ParseErrorKind::TooLarge => f.write_str("too large to analyse"),
            ParseErrorKind::TooDeep => write!(f, "too deeply nested to analyse (byte {})", self.at),
            ParseErrorKind::TooMuchWork => write!(f, "too complex to analyse (byte {})", self.at),
            ParseErrorKind::Unsupported(what) => write!(f, "{what} at byte {} cannot be analysed", self.at),
        }
    }
}
