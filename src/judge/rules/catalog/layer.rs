//! Where the files of a catalog stand: one [`LayerFile`] for each, read or not, and what was decoded of it.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::judge::rules::blob::Blob;
use crate::judge::rules::index::Index;
use crate::judge::rules::lazy::Lazy;
use crate::judge::rules::model::{Examples, Match, Program, Rule, Tool};
use crate::judge::rules::problem::Problem;
use crate::judge::tier::{Reversibility, Tier, Weight};

/// Who wrote a pattern file, least trusted last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Part of guard.
    Builtin,
    /// `/etc/guard/patterns`.
    Machine,
    /// `~/.config/guard/patterns`.
    User,
    /// `.guard/patterns` of a project: may only tighten.
    Project,
}

impl Layer {
    /// `built-in`, `machine`, `user`, `project`.
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

/// A pattern file as it was read.
#[derive(Clone, Debug)]
pub struct PatternFile {
    /// For messages.
    pub path: String,
    pub text: String,
    pub layer: Layer,
}

/// One set of packed files and what was decoded of it.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) blob: Blob,
    programs: Lazy<Program>,
    rules: Lazy<Rule>,
    tools: Lazy<Option<Tool>>,
    pub(super) examples: Vec<Examples>,
}

impl Packed {
    pub(super) fn new(bytes: Cow<'static, [u8]>, examples: Vec<Examples>) -> Self {
        let blob = Blob::new(bytes);
        let (programs, rules) = (Lazy::new(blob.program_count()), Lazy::new(blob.rule_count()));
        let tools = Lazy::new(blob.tool_count());
        Self { blob, programs, rules, tools, examples }
    }

    pub(super) fn program(&self, number: usize) -> Option<&Program> {
        self.programs.get(number, || self.blob.program(number).unwrap_or_else(|_| Program::default()))
    }

    /// An entry for tools. Where its bytes are damaged there is none, and what it spoke of is guessed at.
    pub(super) fn tool(&self, number: usize) -> Option<&Tool> {
        self.tools.get(number, || self.blob.tool(number).ok())?.as_ref()
    }

    /// All entries for tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &Tool> {
        (0..self.blob.tool_count()).filter_map(|number| self.tool(number))
    }

    pub(super) fn rule(&self, number: usize) -> Option<&Rule> {
        self.rules.get(number, || self.blob.rule(number).unwrap_or_else(|_| unreadable()))
    }
}

/// A place for one file, or for all that are built in.
#[derive(Debug)]
pub(super) struct LayerFile {
    pub(super) layer: Layer,
    /// `None` for what is built in.
    pub(super) file: Option<PatternFile>,
    /// What the file speaks of; `None` when it has to be read to know.
    pub(super) index: Option<Index>,
    /// The file, read, or what is wrong with it: it is then left out whole.
    pub(super) read: OnceCell<Result<Packed, Vec<Problem>>>,
}

impl LayerFile {
    /// What has been read.
    pub(super) fn packed(&self) -> Option<&Packed> {
        self.read.get()?.as_ref().ok()
    }

    /// Whether it has to be read to know what it says of these names.
    pub(super) fn may_speak_of<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        self.read.get().is_none() && self.index.as_ref().is_none_or(|index| names.any(|name| index.has(name)))
    }
}

/// What stands for a rule whose bytes cannot be read. The build script reads back all that it packs, so this is a
/// damaged binary: everything that would have asked for the rule is asked about.
fn unreadable() -> Rule {
    Rule {
        id: "guard.catalog".to_owned(),
        tier: Tier::High,
        weight: Weight::of_tier(Tier::High),
        reversibility: Reversibility::Irreversible,
        reason: "Guard's built-in rules are damaged, so it cannot judge the command.".to_owned(),
        instead: Some("reinstall guard".to_owned()),
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
