//! What rules are held against: one act of an invocation, with the classes of its operands worked out on demand.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::conditions::raw_span;
use super::history::History;
use super::lowering;
use super::original;
use crate::judge::analysis::act::{
    Act, ActId, Effect, Facts, Flag, Operand, Piece, Source, UnknownReason, Value, Verb,
};
use crate::judge::analysis::class::{PathClass, PathClasses};
use crate::judge::analysis::env::EnvView;
use crate::judge::analysis::hosts;
use crate::judge::analysis::paths::{NormalPath, Placer, Start};
use crate::judge::analysis::question::{FileFacts, Inquiry, PathKind};
use crate::judge::invocation::Invocation;
use crate::judge::policy::Policy;
use crate::judge::rules::blob::Features;
use crate::judge::rules::catalog::{At, Catalog};
use crate::judge::rules::model::{HostClass, Program, RawTest, RemoteName, Rule, TextTest, WrapFrom};
use crate::judge::rules::{glob, text};
use crate::judge::sort;
use crate::judge::syntax::tree::Span;

/// One invocation while rules are held against it.
pub(super) struct MatchContext<'a> {
    pub invocation: &'a Invocation,
    pub facts: &'a Facts,
    pub catalog: &'a Catalog,
    pub policy: &'a Policy,
    pub inquiry: &'a Inquiry<'a>,
    pub placer: Rc<Placer>,
    pub text: OnceCell<String>,
    /// The effects of each program act, as pairs of the two, sorted.
    pub effects: OnceCell<Vec<(ActId, ActId)>>,
    /// What the acts did to which places.
    pub history: OnceCell<History>,
    /// Which acts print to whoever called, by their number.
    pub shown: OnceCell<Vec<bool>>,
    /// Raw tests that were held against the original text, by where the catalog keeps them, and whether they found it.
    pub raw: RefCell<HashMap<*const RawTest, bool>>,
    /// The `*` rules that acts could match, where nothing but what the line exported last is in the environment.
    pub any_rules: RefCell<AnyRules>,
    /// How many more names of packages may be compared with all well-known ones.
    pub compared: Cell<u32>,
}

/// Which `*` rules acts with some features could match in one environment.
#[derive(Default)]
pub(super) struct AnyRules {
    env: EnvView,
    places: HashMap<Features, Rc<[At]>>,
}

/// How many names of packages are compared with all well-known ones in one invocation: it is only to say more.
pub(super) const MOST_COMPARED: u32 = 8;

impl MatchContext<'_> {
    /// The `*` rules that an act with these features could match. Those that speak of variables which it does not have
    /// are left out once for all acts that find the same ones.
    pub fn any_rules(&self, act: &Act, features: Features) -> impl Iterator<Item = &Rule> {
        let speaks = |rule: &Rule| {
            let tests = &rule.when.env;
            self.spend(4 * (1 + tests.len() as u64));
            tests.is_empty() || tests.iter().any(|test| act.env.named(&test.name).next().is_some())
        };
        let all = || self.catalog.any_rules(features, speaks);
        let places = if act.env.is_exported() {
            let mut known = self.any_rules.borrow_mut();
            if !known.env.exports_as(&act.env) {
                *known = AnyRules { env: act.env.clone(), places: HashMap::new() };
            }
            known.places.entry(features).or_insert_with(all).clone()
        } else {
            all()
        };
        self.catalog.rules_at(places)
    }

    /// The original text.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| original(self.invocation))
    }

    /// Whether a raw test finds something in the original text. Each is tried once, however many acts ask.
    pub fn finds(&self, test: &RawTest) -> bool {
        let place = std::ptr::from_ref(test);
        if let Some(known) = self.raw.borrow().get(&place) {
            return *known;
        }
        let found = raw_span(test, self.text()).is_some();
        self.raw.borrow_mut().insert(place, found);
        found
    }

    /// What the acts did to which places.
    pub fn history(&self) -> &History {
        self.history.get_or_init(|| lowering::history(self))
    }

    /// Pays for work on rules. `false`: there is no fuel left, and what takes more is not said.
    pub fn spend(&self, units: u64) -> bool {
        self.inquiry.fuel.spend_reserve(units)
    }

    /// How the program of an act is described.
    pub fn program(&self, act: &Act) -> Option<&Program> {
        match &act.verb {
            Verb::Program { name, .. } => self.catalog.program(name),
            Verb::Effect(_) => None,
        }
    }

    /// The effects that belong to a program act.
    pub fn effects_of(&self, parent: ActId) -> impl Iterator<Item = (&Act, Effect)> {
        let all = self.effects.get_or_init(|| {
            let acts = self.facts.acts.iter().enumerate();
            let effects = acts.filter(|(_, act)| matches!(act.verb, Verb::Effect(_)));
            let mut pairs: Vec<_> = effects.filter_map(|(id, act)| Some((act.parent?, id))).collect();
            sort::sort(&mut pairs);
            pairs
        });
        let first = all.partition_point(|(program, _)| *program < parent);
        let own = all.iter().skip(first).take_while(move |(program, _)| *program == parent);
        own.filter_map(|(_, id)| match self.facts.acts.get(*id) {
            Some(act) => match act.verb {
                Verb::Effect(effect) => Some((act, effect)),
                Verb::Program { .. } => None,
            },
            None => None,
        })
    }
}

/// One act.
pub(super) struct View<'a> {
    pub context: &'a MatchContext<'a>,
    pub id: ActId,
    pub act: &'a Act,
    operands: OnceCell<Vec<Seen<'a>>>,
    words: OnceCell<Vec<Seen<'a>>>,
    network: OnceCell<bool>,
}

impl<'a> View<'a> {
    pub const fn new(context: &'a MatchContext<'a>, id: ActId, act: &'a Act) -> Self {
        Self { context, id, act, operands: OnceCell::new(), words: OnceCell::new(), network: OnceCell::new() }
    }

    pub fn operands(&self) -> &[Seen<'a>] {
        let seen = |operand: &'a Operand| Seen { is_operand: true, ..Seen::new(&operand.value, operand.span) };
        self.operands.get_or_init(|| self.act.operands.iter().map(seen).collect())
    }

    /// All arguments as they reach the program.
    pub fn words(&self) -> &[Seen<'a>] {
        self.words.get_or_init(|| words(self.act).map(|value| Seen::new(value, self.act.span)).collect())
    }

    /// The program act that an effect belongs to, or the act itself.
    pub fn program(&self) -> &'a Act {
        self.act.parent.and_then(|id| self.context.facts.acts.get(id)).unwrap_or(self.act)
    }

    /// The flags; an effect has those of its program.
    pub fn flags(&self) -> &'a [Flag] {
        if self.act.flags.is_empty() { &self.program().flags } else { &self.act.flags }
    }

    /// Whether what it prints reaches whoever called.
    pub fn is_shown(&self) -> bool {
        let shown = self.context.shown.get_or_init(|| super::shown::shown(self.context));
        shown.get(self.act.parent.unwrap_or(self.id)).copied().unwrap_or_default()
    }

    /// Whether its operands name hosts and URLs by their place.
    pub fn is_network(&self) -> bool {
        *self.network.get_or_init(|| match &self.act.verb {
            Verb::Effect(effect) => matches!(effect, Effect::Send | Effect::Fetch),
            Verb::Program { name, .. } => {
                let talks = |(_, effect)| matches!(effect, Effect::Send | Effect::Fetch);
                let ssh = || {
                    self.context.catalog.program(name).is_some_and(|program| {
                        program
                            .wraps
                            .iter()
                            .any(|wrap| wrap.remote == Some(RemoteName::Ssh) && wrap.from == WrapFrom::Operands)
                    })
                };
                self.context.effects_of(self.id).any(talks) || ssh()
            }
        })
    }

    /// Whether the act destroys or opens up what it falls on, all the way down or behind a link.
    fn reaches_through_links(&self, path: &NormalPath) -> bool {
        match self.act.verb {
            Verb::Effect(Effect::Delete) => self.act.recursive || path.slash || path.everything,
            Verb::Effect(Effect::Permit) => self.act.recursive,
            Verb::Effect(Effect::Move) => path.slash,
            // What is written through a link changes what it leads to, and a repository may bring the link.
            Verb::Effect(Effect::Write | Effect::Edit | Effect::Append) => true,
            // What is shown may lie elsewhere than it says, under whatever name.
            Verb::Effect(Effect::Show) => path.start == Start::Root,
            // What is loaded is looked at only where a name below another is one that homes keep secrets under.
            Verb::Effect(Effect::Load) => {
                let depth = path.components.len();
                path.components
                    .iter()
                    .enumerate()
                    .any(|(at, name)| at > 0 && at + 1 < depth && name.text.starts_with('.'))
            }
            _ => false,
        }
    }

    /// Whether a test holds of a text that is no operand.
    pub fn passes(&self, test: &TextTest, value: &Value) -> bool {
        Seen::new(value, self.act.span).passes(test, self)
    }
}

/// All arguments of an act as they reach the program.
pub(super) fn words(act: &Act) -> impl Iterator<Item = &Value> {
    let operands = if act.args.is_empty() { act.operands.as_slice() } else { &[] };
    act.args.iter().chain(operands.iter().map(|operand| &operand.value))
}

/// An operand or another text of an act, with what is known of it as far as it was asked.
pub(super) struct Seen<'a> {
    pub value: &'a Value,
    pub span: Span,
    /// Not the value of a variable or of an option, nor a mere argument.
    is_operand: bool,
    path: OnceCell<Option<NormalPath>>,
    normal: OnceCell<Option<String>>,
    classes: OnceCell<PathClasses>,
    host: OnceCell<HostClass>,
}

impl<'a> Seen<'a> {
    /// A text that is no operand.
    const fn new(value: &'a Value, span: Span) -> Self {
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

    /// The path that it names.
    pub fn path(&self, view: &View<'_>) -> Option<&NormalPath> {
        let cwd = view.act.cwd.as_deref();
        self.path.get_or_init(|| view.context.placer.path(self.value, cwd)).as_ref()
    }

    /// How long its text is, in bytes.
    fn length(&self) -> u64 {
        let of = |piece: &Piece| match piece {
            Piece::Text(text) | Piece::Glob(text) => text.len(),
            Piece::Unknown(_) => 0,
        };
        self.value.pieces().iter().map(of).sum::<usize>() as u64
    }

    /// Its path classes; for an act that reaches through links, with the graver ones of the place that links lead to.
    pub fn classes(&self, view: &View<'_>) -> PathClasses {
        *self.classes.get_or_init(|| {
            let context = view.context;
            let cwd = view.act.cwd.as_deref();
            let classes = context.placer.classes(self.value, cwd, context.catalog, context.inquiry);
            // The project lies on this machine.
            if view.act.remote.is_some() {
                return classes.without(PathClass::ProjectRoot).without(PathClass::ProjectParent);
            }
            let classes = classes.and(self.behind_links(view).unwrap_or_default());
            // Taken away with the directory that holds them, guard's own files are gone as well.
            let takes = view.act.verb == Verb::Effect(Effect::Move) && view.act.remote.is_none();
            if takes && self.path(view).is_some_and(|path| context.placer.is_above_own(path)) {
                return classes.with(PathClass::Guard);
            }
            classes
        })
    }

    fn behind_links(&self, view: &View<'_>) -> Option<PathClasses> {
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
        // Most acts look through no link, and what they name need not be read as a path then.
        if view.act.remote.is_some() || matches!(view.act.verb, Verb::Program { .. }) {
            return None;
        }
        let path = self.path(view)?;
        if !view.reaches_through_links(path) || path.dynamic || path.name().is_some_and(|name| name.glob.is_some()) {
            return None;
        }
        let context = view.context;
        let text = path.text();
        let facts = match view.act.verb {
            Verb::Effect(Effect::Show) => context.inquiry.elsewhere(&text)?,
            _ => context.inquiry.path(&text)?,
        };
        // Deleting a link deletes the link.
        let link_itself =
            facts.symlink && !path.slash && !path.everything && view.act.verb == Verb::Effect(Effect::Delete);
        if link_itself || facts.canonical == path.text() {
            return None;
        }
        let mut canonical = NormalPath::absolute(&facts.canonical)?;
        canonical.everything = path.everything;
        let behind = context.placer.of(&canonical, context.catalog, context.inquiry);
        Some(GRAVE.into_iter().filter(|class| behind.has(*class)).fold(PathClasses::NONE, PathClasses::with))
    }

    /// Whether its host is of one of these classes.
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

    /// Whether a test holds of it.
    pub fn passes(&self, test: &TextTest, view: &View<'_>) -> bool {
        // What is not looked at for want of fuel is found to be too large.
        let globs = (test.glob.len() + test.not_glob.len()) as u64;
        view.context.spend(3 + globs / 2 + self.length() * (1 + globs) / 128)
            && self.passes_patterns(test, view)
            && (test.class.is_empty() || self.classes(view).has_any(&test.class))
            && (test.not_class.is_empty() || !self.classes(view).has_any(&test.not_class))
            && (test.host.is_empty() || self.is_on(&test.host, view))
            && test.content.as_deref().is_none_or(|regex| self.says(regex, view))
            && (!test.only_copy || self.is_only_copy(view))
            && (test.package.is_empty() || self.is_new_package(&test.package, view))
    }

    /// Whether it names a package that is not well known, or nothing that could be told to be.
    fn is_new_package(&self, indexes: &[String], view: &View<'_>) -> bool {
        let Some(text) = self.value.known() else { return true };
        let known = view.context.catalog.packages();
        let is_known = |requirement: &str| {
            let listed = |(index, name): (&str, String)| known.has(index, &name);
            indexes.iter().any(|index| known.named(index, requirement).is_some_and(listed))
        };
        // Options take several, and a comma parts the bounds of a version too.
        let begins = |part: &&str| part.starts_with(|c: char| !"<>=!~ ".contains(c));
        text.split(',').filter(begins).any(|requirement| !is_known(requirement)) || text.is_empty()
    }

    /// Whether nobody else keeps what the file holds.
    fn is_only_copy(&self, view: &View<'_>) -> bool {
        let (context, act) = (view.context, view.act);
        let Some(text) = self.path(view).filter(|_| act.remote.is_none()).and_then(lowering::place) else {
            return false;
        };
        let inquiry = context.inquiry;
        // Most of what is written is not there yet: git is asked about what is, wherever a link leads.
        let Some(facts) = inquiry.path(&text).filter(|facts| facts.kind == PathKind::File && facts.bytes > 0) else {
            return false;
        };
        let outside = || {
            let project = context.placer.project(inquiry)?;
            Some(!NormalPath::absolute(&facts.canonical)?.relation(&project).within())
        };
        let kept = match inquiry.git(&facts.canonical) {
            // Changes that were not committed are nowhere else.
            Some(git) if git.root.is_some() => git.tracked && git.clean || git.ignored,
            _ => !outside().unwrap_or_default(),
        };
        // Code that reads a file and writes it again edits it.
        let reads = |(_, other): (ActId, &Act)| {
            matches!(other.verb, Verb::Effect(Effect::Show | Effect::Load))
                && other.source == act.source
                && other.operands.iter().any(|operand| operand.value == *self.value)
        };
        let edits = || {
            matches!(act.source, Source::Code(_))
                && context.spend(context.facts.acts.len() as u64)
                && context.facts.acts.iter().enumerate().any(reads)
        };
        !kept && !edits()
    }

    /// Whether the file that it names says something.
    fn says(&self, regex: &str, view: &View<'_>) -> bool {
        let Some(path) = self.path(view).filter(|path| path.start == Start::Root && !path.dynamic) else {
            return false;
        };
        let (text, inquiry) = (path.text(), view.context.inquiry);
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
            return text::passes(test, value);
        }
        // Written otherwise, it is the same place.
        let normal = self.normal.get_or_init(|| {
            self.path(view).map(|path| {
                let text = path.text();
                if path.everything { format!("{}/*", text.trim_end_matches('/')) } else { text }
            })
        });
        let Some(normal) = normal else { return text::passes(test, value) };
        let written = value.rough();
        let hits = |text: &str| test.glob.iter().any(|pattern| glob::text(pattern, text)) || text::matches(test, text);
        let exact = |text: &str| !value.is_dynamic() && test.exact.iter().any(|exact| exact == text);
        let hit = !wants || exact(&written) || exact(normal) || hits(&written) || hits(normal);
        // A way back up may lead out of what a pattern excepts.
        let plain = !written.split('/').any(|name| name == "..");
        let excepted = |text: &str| {
            test.not_glob.iter().any(|pattern| glob::text(pattern, text))
                || test.not_regex.as_deref().is_some_and(|regex| text::found(regex, text))
        };
        hit && test.dynamic.is_none_or(|dynamic| dynamic == value.is_dynamic())
            && !(excepted(normal) || plain && excepted(&written))
    }
}

/// A value as a person reads it: what is unknown is named.
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
