//! Where a command stands: what surrounds it and holds for everything in it.

use std::rc::Rc;

use super::act::{Disguise, OpaqueReason, Remote, Source};
use super::paths::NormalPath;
use super::recursion::ActiveCall;
use crate::judge::rules::model::Language;
use crate::judge::syntax::tree::{Dialect, ParseError, Span};

/// How spans of the text that is being read map onto the command as given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SpanMap {
    /// The text is the command as given.
    #[default]
    Same,
    /// The text stands in the command as given, this many bytes in.
    Shifted(u32),
    /// The text came from elsewhere: all of it is where this construct stands.
    At(Span),
}

impl SpanMap {
    /// The span in the command as given.
    pub fn map(self, span: Span) -> Span {
        match self {
            Self::Same => span,
            Self::Shifted(by) => Span::new(span.start.saturating_add(by), span.end.saturating_add(by)),
            Self::At(span) => span,
        }
    }
}

/// What surrounds a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    pub spans: SpanMap,
    pub source: Source,
    pub dialect: Dialect,
    /// The text is fish's, which is read in bash's grammar after a translation.
    pub fish: bool,
    pub conditional: bool,
    /// In a file of the session that the command may load: only the grave counts.
    pub staged: bool,
    /// In a script that another program wrote: only what it says plainly counts.
    pub plainly: bool,
    pub root: bool,
    pub remote: Option<Remote>,
    /// Outermost first.
    pub wrappers: Rc<[Rc<str>]>,
    pub disguise: Option<Disguise>,
    /// Functions and scripts that are being walked, so that recursion is seen.
    pub calls: Rc<[ActiveCall]>,
    /// In a process of its own beside its caller's, since the outermost of `calls`.
    pub beside: bool,
    /// Under a condition, since the outermost of `calls`.
    pub under_condition: bool,
    /// Files that a condition around it found not to be there.
    pub absent: Rc<[NormalPath]>,
}

impl Context {
    /// Why code that is fetched or decoded in this line is not known: as root it is worse.
    pub const fn fetched_code(&self) -> OpaqueReason {
        if self.root { OpaqueReason::FetchedCodeAsRoot } else { OpaqueReason::FetchedCode }
    }

    /// From here on texts are read as this shell does, and no longer as fish.
    pub fn reads(&mut self, dialect: Dialect) {
        self.dialect = dialect;
        self.fish = false;
    }

    /// Inside one more wrapper of this name.
    pub fn wrapped(&mut self, name: &str) {
        self.wrappers = longer(&self.wrappers, name);
    }

    /// The same place, but what stands there may not run, or more than once, or later.
    pub fn perhaps(&self) -> Self {
        Self { conditional: true, absent: Rc::default(), ..self.clone() }
    }

    /// A file of the session that a command at this place may load.
    pub fn staged(&self) -> Self {
        Self { staged: true, ..self.perhaps() }
    }

    /// Whether a text is no command because a shell cannot read it. In code whose language guard does not know, a name with
    /// texts behind it is taken for a call, and such a text for a line of a shell. A limit says nothing of the text.
    pub fn takes_for_no_command(&self, error: &ParseError) -> bool {
        let other = matches!(&self.source, Source::Code(language) if Language::of(language) == Some(Language::Other));
        other && !error.kind.is_limit()
    }

    /// A script that another program wrote.
    pub fn generated(&self) -> Self {
        Self { plainly: true, ..self.staged() }
    }

    /// The same place, under a condition.
    pub fn guarded(&self) -> Self {
        Self { conditional: true, under_condition: true, ..self.clone() }
    }

    /// The same place, in a process beside the caller's.
    pub fn forked(&self) -> Self {
        Self { beside: true, ..self.clone() }
    }
}

/// A list with one more name at its end.
fn longer(names: &[Rc<str>], name: &str) -> Rc<[Rc<str>]> {
    names.iter().cloned().chain([name.into()]).collect()
}
