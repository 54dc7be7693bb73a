//! The context of a command: its enclosing constructs, which apply to everything in it.

use std::rc::Rc;

use super::act::{Disguise, OpaqueReason, Remote, Source};
use super::paths::NormalPath;
use super::recursion::ActiveCall;
use crate::judge::rules::model::Language;
use crate::judge::rules::shell_languages::ShellLanguage;
use crate::judge::syntax::tree::{Dialect, ParseError, Span};

/// The mapping of positions in the parsed text to positions in the command as given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SpanMap {
    /// The text is the command as given.
    #[default]
    Same,
    /// The text begins at this byte of the command as given.
    Shifted(u32),
    /// The text is not part of the command: all of its positions are that of this construct.
    At(Span),
}

impl SpanMap {
    /// Returns the position in the command as given.
    pub fn map(self, span: Span) -> Span {
        match self {
            Self::Same => span,
            Self::Shifted(by) => Span::new(span.start.saturating_add(by), span.end.saturating_add(by)),
            Self::At(span) => span,
        }
    }
}

/// The context of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    pub spans: SpanMap,
    pub source: Source,
    pub dialect: Dialect,
    /// The shell whose code is translated to the grammar of bash, if its own grammar differs.
    pub translation: Option<&'static ShellLanguage>,
    /// Whether it is in a condition, a loop or a function, and so may not run.
    pub conditional: bool,
    /// Whether it may run more than once, or later: it is in a loop, a function, a script or a trap.
    pub repeated: bool,
    /// Whether it is in a file of the session that the command may load. Findings below tier 3 are then ignored.
    pub staged: bool,
    /// Whether it is in a generated script, in which only literal commands are judged.
    pub plainly: bool,
    /// Whether the system starts a script, by the interpreter in its first line. A shell that is given a script ignores
    /// that line.
    pub by_first_line: bool,
    pub root: bool,
    pub remote: Option<Remote>,
    /// The enclosing wrappers, the outermost first.
    pub wrappers: Rc<[Rc<str>]>,
    pub disguise: Option<Disguise>,
    /// The functions and scripts that are being walked, to detect recursion.
    pub calls: Rc<[ActiveCall]>,
    /// Whether it runs in another process than the caller of the outermost of `calls`.
    pub beside: bool,
    /// Whether it is in a condition inside the outermost of `calls`.
    pub under_condition: bool,
    /// The files that do not exist, because an enclosing condition tests that.
    pub absent: Rc<[NormalPath]>,
}

impl Context {
    /// Returns the reason for code that the command downloads or decodes, which depends on whether it runs as root.
    pub const fn fetched_code(&self) -> OpaqueReason {
        if self.root { OpaqueReason::FetchedCodeAsRoot } else { OpaqueReason::FetchedCode }
    }

    /// Selects the grammar of this shell for inner texts, instead of a translation.
    pub fn reads(&mut self, dialect: Dialect) {
        self.dialect = dialect;
        self.translation = None;
    }

    /// Adds an enclosing wrapper.
    pub fn wrapped(&mut self, name: &str) {
        self.wrappers = longer(&self.wrappers, name);
    }

    /// Returns the context of a part that may run any number of times, or later.
    pub fn perhaps(&self) -> Self {
        Self { conditional: true, repeated: true, absent: Rc::default(), ..self.clone() }
    }

    /// Returns the context of a file of the session that a command here may load.
    pub fn staged(&self) -> Self {
        Self { staged: true, ..self.perhaps() }
    }

    /// Reports whether a text with this error is not a command. In code of an unknown language, a name that is followed
    /// by strings is treated as a call, and such a string as a command string. A reached limit says nothing about the
    /// text.
    pub fn takes_for_no_command(&self, error: &ParseError) -> bool {
        let other = matches!(&self.source, Source::Code(language) if Language::of(language) == Some(Language::Other));
        other && !error.kind.is_limit()
    }

    /// Returns the context of a generated script.
    pub fn generated(&self) -> Self {
        Self { plainly: true, ..self.staged() }
    }

    /// Returns the context of a part in a condition.
    pub fn guarded(&self) -> Self {
        Self { conditional: true, under_condition: true, ..self.clone() }
    }

    /// Returns the context of a part that runs in another process.
    pub fn forked(&self) -> Self {
        Self { beside: true, ..self.clone() }
    }
}

/// Returns a list with one more name.
fn longer(names: &[Rc<str>], name: &str) -> Rc<[Rc<str>]> {
    names.iter().cloned().chain([name.into()]).collect()
}
