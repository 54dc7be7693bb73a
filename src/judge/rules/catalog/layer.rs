//! The files of a catalog: one [`LayerFile`] for each, read or unread, with the decoded entries.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::judge::rules::blob::Blob;
use crate::judge::rules::explanations;
use crate::judge::rules::index::Index;
use crate::judge::rules::lazy::Lazy;
use crate::judge::rules::model::{Examples, Explanation, Match, Program, Rule, Tool};
use crate::judge::rules::problem::Problem;
use crate::judge::tier::{Reversibility, Tier, Weight};

/// The author of a pattern file, in order of decreasing trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Part of guard.
    Builtin,
    /// `/etc/guard/patterns`.
    Machine,
    /// `~/.config/guard/patterns`.
    User,
    /// `.guard/patterns` of a project: it may only add restrictions.
    Project,
}

impl Layer {
    /// Returns the name: `built-in`, `machine`, `user`, `project`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Builtin => "built-in",
            Self::Machine => "machine",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The text of a pattern file.
#[derive(Clone, Debug)]
pub struct PatternFile {
    /// The path, for messages.
    pub path: String,
    pub text: String,
    pub layer: Layer,
}

/// The texts of the rules of a set of files.
#[derive(Debug)]
pub(super) enum Explanations {
    /// Those of the built-in rules, and the blocks that were decompressed.
    Packed(&'static [u8], Lazy<Vec<Explanation>>),
    Read(Vec<Explanation>),
}

impl Explanations {
    /// Creates the texts from bytes that [`explanations::pack`] returned, without reading them.
    pub(super) fn packed(bytes: &'static [u8]) -> Self {
        Self::Packed(bytes, Lazy::new(explanations::blocks(bytes)))
    }

    fn of(&self, rule: usize) -> Option<&Explanation> {
        match self {
            Self::Packed(bytes, read) => {
                let (block, at) = explanations::place(rule);
                read.get(block, || explanations::unpack(bytes, block).unwrap_or_default())?.get(at)
            }
            Self::Read(all) => all.get(rule),
        }
    }
}

/// A set of packed files with the entries that were decoded.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) blob: Blob,
    programs: Lazy<Program>,
    rules: Lazy<Rule>,
    tools: Lazy<Option<Tool>>,
    explanations: Explanations,
    pub(super) examples: Vec<Examples>,
}

impl Packed {
    pub(super) fn new(bytes: Cow<'static, [u8]>, explanations: Explanations, examples: Vec<Examples>) -> Self {
        let blob = Blob::new(bytes);
        let (programs, rules) = (Lazy::new(blob.program_count()), Lazy::new(blob.rule_count()));
        let tools = Lazy::new(blob.tool_count());
        Self { blob, programs, rules, tools, explanations, examples }
    }

    pub(super) fn program(&self, number: usize) -> Option<&Program> {
        self.programs.get(number, || self.blob.program(number).unwrap_or_else(|_| Program::default()))
    }

    /// Returns an entry for tools; `None` if its bytes are damaged. The kind of the tool is then guessed.
    pub(super) fn tool(&self, number: usize) -> Option<&Tool> {
        self.tools.get(number, || self.blob.tool(number).ok())?.as_ref()
    }

    /// Returns all entries for tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        (0..self.blob.tool_count()).filter_map(|number| self.tool(number))
    }

    pub(super) fn rule(&self, number: usize) -> Option<&Rule> {
        self.rules.get(number, || self.blob.rule(number).unwrap_or_else(|_| unreadable()))
    }

    /// Returns the text of a rule; `None` if its bytes are damaged.
    pub(super) fn explanation(&self, number: usize) -> Option<Explanation> {
        self.explanations.of(number).cloned()
    }
}

/// A file, or all built-in files.
#[derive(Debug)]
pub(super) struct LayerFile {
    pub(super) layer: Layer,
    /// `None` for the built-in files.
    pub(super) file: Option<PatternFile>,
    /// The names in the file; `None` if only reading the file determines them.
    pub(super) index: Option<Index>,
    /// The content of the file, or its problems, because of which it is left out completely.
    pub(super) read: OnceCell<Result<Packed, Vec<Problem>>>,
}

impl LayerFile {
    /// Returns the content if it has been read.
    pub(super) fn packed(&self) -> Option<&Packed> {
        self.read.get()?.as_ref().ok()
    }

    /// Reports whether the file has to be read because it may contain one of these names.
    pub(super) fn may_speak_of<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        self.read.get().is_none() && self.index.as_ref().is_none_or(|index| names.any(|name| index.has(name)))
    }
}

/// Returns the replacement of a rule that cannot be decoded. The build script decodes everything that it packs, so the
/// binary is damaged, and guard asks about everything that the rule would match.
fn unreadable() -> Rule {
    Rule {
        id: "guard.catalog".to_owned(),
        tier: Tier::High,
        weight: Weight::of_tier(Tier::High),
        reversibility: Reversibility::Irreversible,
        deny: false,
        yolo: false,
        reversible: false,
        approvals: 1,
        notes: Vec::new(),
        when: Match { dry_run: true, ..Match::default() },
        lower: Vec::new(),
        made_by: Vec::new(),
        refs: None,
    }
}

/// Returns the text of a rule that cannot be decoded, or whose text cannot.
pub(super) fn unexplained() -> Explanation {
    Explanation {
        reason: "Guard's built-in rules are damaged, so it cannot judge the command.".to_owned(),
        instead: Some("reinstall guard".to_owned()),
    }
}
