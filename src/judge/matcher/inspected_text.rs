//! A text of an act (an operand, an argument, the value of an option or a variable), with the facts about it that rules
//! needed so far.
//!
//! Out of scope: facts about the whole act ([`super::match_context`]).

use std::cell::OnceCell;

use super::lowering;
use super::match_context::View;
use crate::judge::analysis::act::{Act, ActId, Effect, Operand, Piece, Source, UnknownReason, Value, Verb};
use crate::judge::analysis::fuel::cost;
use crate::judge::analysis::hosts;
use crate::judge::analysis::paths::{NormalPath, Start};
use crate::judge::analysis::question::{FileFacts, PathKind};
use crate::judge::analysis::value_test;
use crate::judge::path_class::{PathClass, PathClasses};
use crate::judge::rules::model::{HostClass, TextTest};
use crate::judge::rules::{expression, glob, text};
use crate::judge::syntax::tree::Span;

/// An operand or another text of an act. Facts about it are computed when a rule first needs them.
pub(super) struct InspectedValue<'a> {
    pub value: &'a Value,
    pub span: Span,
    /// Whether it is an operand, not an argument or the value of a variable or an option.
    is_operand: bool,
    path: OnceCell<Option<NormalPath>>,
    normal: OnceCell<Option<String>>,
    classes: OnceCell<PathClasses>,
    host: OnceCell<HostClass>,
}

impl<'a> InspectedValue<'a> {
    /// Creates it for an operand.
    pub fn of_operand(operand: &'a Operand) -> Self {
        Self { is_operand: true, ..Self::new(&operand.value, operand.span) }
    }

    /// Creates it for a text that is not an operand.
    pub const fn new(value: &'a Value, span: Span) -> Self {
        Self {
            value,
            span,
            is_operand: false,
            path: OnceCell::new(),
            normal: OnceCell::new(),
            classes: OnceCell::new(),
            host: OnceCell::new(),
        }
    }

    /// Returns the path that it names.
    pub fn path(&self, view: &View<'_>) -> Option<&NormalPath> {
        let cwd = view.act.cwd.as_ref();
        self.path.get_or_init(|| view.context.placer.path(self.value, cwd)).as_ref()
    }

    /// Returns the length of its text in bytes.
    fn length(&self) -> u64 {
        self.value.length() as u64
    }

    /// Returns its path classes. For an act that follows links, they include the more severe classes of the link's
    /// target.
    pub fn classes(&self, view: &View<'_>) -> PathClasses {
        *self.classes.get_or_init(|| {
            let context = view.context;
            let cwd = view.act.cwd.as_ref();
            let classes = context.placer.classes(self.value, cwd, context.catalog, context.inquiry);
            // The project is on this machine.
            if view.act.remote.is_some() {
                return classes.without(PathClass::ProjectRoot).without(PathClass::ProjectParent);
            }
            let classes = classes.and(self.behind_links(view).unwrap_or_default());
            // Moving a directory away also removes guard's files in it.
            let takes = view.act.verb == Verb::Effect(Effect::Move) && view.act.remote.is_none();
            if takes && self.path(view).is_some_and(|path| context.placer.is_above_own(path)) {
                return classes.with(PathClass::Guard);
            }
            classes
        })
    }

    fn behind_links(&self, view: &View<'_>) -> Option<PathClasses> {
        // Most acts do not follow links, so that the path need not be computed.
        if view.act.remote.is_some() || matches!(view.act.verb, Verb::Program { .. }) {
            return None;
        }
        let path = self.path(view)?;
        if !view.reaches_through_links(path) || path.dynamic || path.name().is_some_and(|name| name.glob.is_some()) {
            return None;
        }
        behind_links(view, path)
    }

    /// Reports whether its host has one of these classes.
    fn is_on(&self, classes: &[HostClass], view: &View<'_>) -> bool {
        let class = self.host(view);
        classes.contains(&class) || class == HostClass::Near && classes.contains(&HostClass::Known)
    }

    fn host(&self, view: &View<'_>) -> HostClass {
        *self.host.get_or_init(|| {
            let context = view.context;
            if view.is_data(self) {
                return HostClass::None;
            }
            hosts::class(self.value, view.is_network(), context.catalog, &context.policy.known_hosts)
        })
    }

    /// Reports whether it passes a test.
    pub fn passes(&self, test: &TextTest, view: &View<'_>) -> bool {
        // Without fuel the test is not evaluated: the command then has a finding that says that it exceeded the limit.
        let globs = (test.glob.len() + test.not_glob.len()) as u64;
        let has_class = || test.class.is_empty() || self.classes(view).has_any(&test.class);
        let expressions = u64::from(test.regex.is_some()) + u64::from(test.not_regex.is_some());
        view.context.spend(3 + globs / 2 + self.length() * (1 + globs + 4 * expressions) / 128)
            && (!test.computed || value_test::is_computed(self.value))
            // An expression that must not match is compiled for every text; the classes are mostly known already.
            && (test.not_regex.is_none() || has_class())
            && self.passes_patterns(test, view)
            && has_class()
            && (test.not_class.is_empty() || !self.classes(view).has_any(&test.not_class))
            && (test.host.is_empty() || self.is_on(&test.host, view))
            && (test.matching.is_empty() || self.matches_one(&test.matching))
            && test.content.as_deref().is_none_or(|regex| self.says(regex, view))
            && (!test.only_copy || self.is_only_copy(view))
            && (!test.not_made || self.has_shared_part(view))
            && (test.package.is_empty() || self.is_new_package(&test.package, view))
    }

    /// Reports whether it is a regular expression that matches one of these texts. Programs ignore an invalid one.
    fn matches_one(&self, texts: &[String]) -> bool {
        let expression = self.value.known().and_then(|text| expression::compile(&text).ok());
        expression.is_some_and(|expression| texts.iter().any(|text| expression.is_match(text.as_bytes())))
    }

    /// Reports whether it names a package that is not well known, or cannot be recognised as a name.
    fn is_new_package(&self, indexes: &[String], view: &View<'_>) -> bool {
        let Some(text) = self.value.known() else { return true };
        view.context.spend(cost::PACKAGE * indexes.len() as u64);
        let known = view.context.catalog.packages();
        let is_known = |requirement: &str| {
            let listed = |(index, name): (&str, String)| known.has(index, &name);
            indexes.iter().any(|index| known.named(index, requirement).is_some_and(listed))
        };
        // An option takes several names, and a comma also separates the bounds of a version.
        let begins = |part: &&str| part.starts_with(|c: char| !"<>=!~ ".contains(c));
        text.split(',').filter(begins).any(|requirement| !is_known(requirement)) || text.is_empty()
    }

    /// Reports whether a path of the list is in the temporary directory and was created neither by the command nor by its
    /// session, nor is in the project. An unknown list may contain such a path.
    fn has_shared_part(&self, view: &View<'_>) -> bool {
        let Some(text) = self.value.known() else { return true };
        let place = |part: &str| view.context.placer.path(&Value::text(part), view.act.cwd.as_ref());
        text.split(':').filter(|part| !part.is_empty()).filter_map(place).any(|path| {
            view.context.placer.is_temp(&path, view.context.inquiry) && !lowering::is_made_here(view, &path)
        })
    }

    /// Reports whether no other copy is known of the file, or of one of the files that the pattern matches.
    fn is_only_copy(&self, view: &View<'_>) -> bool {
        let Some(path) = self.path(view).filter(|_| view.act.remote.is_none()) else { return false };
        match lowering::place(path).filter(|_| !path.everything && !path.found) {
            Some(text) => self.is_kept_nowhere(&text, view),
            // Code that visits all files below a directory also finds those of which there is no other copy.
            None if path.found => matches!(view.act.source, Source::Code(_)) && !self.is_edited(view),
            None => lowering::files_matched(view, path).any(|text| self.is_kept_nowhere(text, view)),
        }
    }

    /// Reports whether code reads the file that it writes.
    fn is_edited(&self, view: &View<'_>) -> bool {
        let (context, act) = (view.context, view.act);
        let reads = |(_, other): (ActId, &Act)| {
            matches!(other.verb, Verb::Effect(Effect::Show | Effect::Load))
                && other.source == act.source
                && other.operands.iter().any(|operand| operand.value == *self.value)
        };
        matches!(act.source, Source::Code(_))
            && context.spend(context.facts.acts.len() as u64)
            && context.facts.acts.iter().enumerate().any(reads)
    }

    fn is_kept_nowhere(&self, text: &str, view: &View<'_>) -> bool {
        let context = view.context;
        let inquiry = context.inquiry;
        // Most written files do not exist yet. git is queried only about existing ones, after links are resolved.
        let Some(facts) = inquiry.path(text).filter(|facts| facts.kind == PathKind::File && facts.bytes > 0) else {
            return false;
        };
        let outside = || {
            let project = context.placer.project(inquiry)?;
            Some(!NormalPath::absolute(&facts.canonical)?.relation(&project).within())
        };
        let kept = match inquiry.git(&facts.canonical) {
            // There is no other copy of uncommitted changes. What was moved into a directory of generated files cannot
            // be generated again.
            Some(git) if git.root.is_some() => {
                git.tracked && git.clean || git.ignored && !lowering::is_brought(context, &facts.canonical)
            }
            _ => !outside().unwrap_or_default(),
        };
        // Code that reads a file before it writes it edits the file.
        !kept && !self.is_edited(view)
    }

    /// Reports whether the content of the file that it names matches.
    fn says(&self, regex: &str, view: &View<'_>) -> bool {
        let Some(path) = self.path(view).filter(|path| path.start == Start::Root && !path.dynamic) else {
            return false;
        };
        // The content of a file of unknown name is unknown.
        if path.components.iter().any(|component| component.is_unknown()) {
            return true;
        }
        let (text, inquiry) = (path.rough(), view.context.inquiry);
        match inquiry.file(&text) {
            Some(FileFacts::Missing) => false,
            Some(FileFacts::Text { bytes, .. }) => text::found(regex, &String::from_utf8_lossy(bytes)),
            Some(FileFacts::Unreadable) => inquiry.path(&text).is_none_or(|facts| facts.kind != PathKind::Directory),
            Some(FileFacts::TooLarge) | None => true,
        }
    }

    fn passes_patterns(&self, test: &TextTest, view: &View<'_>) -> bool {
        let value = self.value;
        let is_path = self.is_operand
            && matches!(view.act.verb, Verb::Effect(effect) if !matches!(effect, Effect::Send | Effect::Fetch));
        let wants = !(test.exact.is_empty() && test.glob.is_empty() && test.regex.is_none());
        if !is_path || !wants && test.not_glob.is_empty() && test.not_regex.is_none() {
            return value_test::passes(test, value);
        }
        // Another spelling of the path is the same path.
        let normal = self.normal.get_or_init(|| {
            self.path(view).map(|path| {
                let text = path.rough();
                if path.everything { format!("{}/*", text.trim_end_matches('/')) } else { text }
            })
        });
        let Some(normal) = normal else { return value_test::passes(test, value) };
        let written = value.rough();
        let hits = |text: &str| test.glob.iter().any(|pattern| glob::text(pattern, text)) || text::matches(test, text);
        let exact = |text: &str| !value.is_dynamic() && test.exact.iter().any(|exact| exact == text);
        let hit = !wants || exact(&written) || exact(normal) || hits(&written) || hits(normal);
        // `..` may lead out of the directory that a pattern excludes.
        let plain = !written.split('/').any(|name| name == "..");
        let excepted = |text: &str| {
            test.not_glob.iter().any(|pattern| glob::text(pattern, text))
                || test.not_regex.as_deref().is_some_and(|regex| text::found(regex, text))
        };
        hit && test.dynamic.is_none_or(|dynamic| dynamic == value.is_dynamic())
            && !(excepted(normal) || plain && excepted(&written))
    }
}

/// Returns the more severe classes of what a path leads to, if one of its components is a link.
pub(super) fn behind_links(view: &View<'_>, path: &NormalPath) -> Option<PathClasses> {
    const GRAVE: [PathClass; 12] = [
        PathClass::Root,
        PathClass::System,
        PathClass::SystemTop,
        PathClass::Device,
        PathClass::Kernel,
        PathClass::Home,
        PathClass::Secret,
        PathClass::Startup,
        PathClass::Persistence,
        PathClass::Guard,
        PathClass::Agent,
        PathClass::Repository,
    ];
    let context = view.context;
    // Below an unknown component, only the known components before it can be resolved.
    let known = path.components.iter().take_while(|component| component.is_plain()).count();
    let mut above = path.clone();
    let rest = above.components.split_off(known);
    let text = super::lowering::place(&above)?;
    let facts = context.inquiry.path(&text)?;
    // Deleting a link deletes the link.
    let link_itself = facts.symlink && !path.slash && !path.everything && view.act.verb == Verb::Effect(Effect::Delete);
    if link_itself && rest.is_empty() || facts.canonical == text {
        return None;
    }
    let mut canonical = NormalPath::absolute(&facts.canonical)?;
    canonical.globbed |= rest.iter().any(|component| component.glob.is_some());
    canonical.components.extend(rest);
    canonical.everything = path.everything;
    let behind = context.placer.of(&canonical, context.catalog, context.inquiry);
    Some(GRAVE.into_iter().filter(|class| behind.has(*class)).fold(PathClasses::NONE, PathClasses::with))
}

/// Returns a value as text for people, with names for its unknown parts.
#[must_use]
pub fn shown(value: &Value) -> String {
    let mut text = String::new();
    for piece in value.pieces() {
        match piece {
            Piece::Text(known) | Piece::Glob(known) => text.push_str(known),
            Piece::Unknown(unknown) => match &unknown.why {
                UnknownReason::Variable(name) => {
                    text.push('$');
                    text.push_str(name);
                }
                UnknownReason::CommandOutput => text.push_str("$(…)"),
                UnknownReason::Input => text.push_str("(what is read)"),
                UnknownReason::ShellCode => text.push_str("(the set-up code of a program)"),
                UnknownReason::Number(_) => text.push_str("(a number)"),
                UnknownReason::Temporary { .. } => text.push_str("(a temporary name)"),
                UnknownReason::Pipe => text.push_str("(a pipe)"),
                UnknownReason::Found(Some(start)) => {
                    text.push_str("(what is found below ");
                    text.push_str(start);
                    text.push(')');
                }
                UnknownReason::Found(None) => text.push_str("(what is found)"),
                UnknownReason::Installation => text.push_str("(a directory of installed programs)"),
                UnknownReason::FileText(edited) => {
                    text.push_str("(the text of ");
                    text.push_str(&edited.path);
                    text.push(')');
                }
                UnknownReason::Other(words) => {
                    text.push('(');
                    text.push_str(words);
                    text.push(')');
                }
            },
        }
    }
    text
}
