//! The context in which rules are matched: an act of an invocation, with the classes of its operands computed on
//! demand.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::conditions::raw_span;
use super::history::History;
use super::inspected_text::InspectedValue;
use super::lowering;
use super::original;
use crate::judge::analysis::act::{Act, ActId, Effect, Facts, Flag, Value, Verb};
use crate::judge::analysis::env::EnvView;
use crate::judge::analysis::inquiry::Inquiry;
use crate::judge::analysis::paths::{NormalPath, Placer, Start};
use crate::judge::invocation::Invocation;
use crate::judge::policy::Policy;
use crate::judge::rules::blob::Features;
use crate::judge::rules::catalog::{Catalog, EntryPosition};
use crate::judge::rules::model::{Program, RawTest, RemoteName, Rule, TextTest, WrapFrom};
use crate::judge::sort;

/// An invocation while rules are matched with it.
pub(super) struct MatchContext<'a> {
    pub invocation: &'a Invocation,
    pub facts: &'a Facts,
    pub catalog: &'a Catalog,
    pub policy: &'a Policy,
    pub inquiry: &'a Inquiry<'a>,
    pub placer: Rc<Placer>,
    pub text: OnceCell<String>,
    /// The effects of the program acts, as sorted pairs of a program act and its effect.
    pub effects: OnceCell<Vec<(ActId, ActId)>>,
    /// The index of the acts by the paths that they change.
    pub history: OnceCell<History>,
    /// For each act, whether the caller sees its output.
    pub shown: OnceCell<Vec<bool>>,
    /// The same, without what programs reduce to counts or names.
    pub shown_whole: OnceCell<Vec<bool>>,
    /// The results of tests of raw text, by the address of the test in the catalog.
    pub raw: RefCell<HashMap<*const RawTest, bool>>,
    /// The rules for `*` that acts with no other variables than the last exported ones could match.
    pub any_rules: RefCell<AnyRules>,
    /// The number of package names that may still be compared with all well-known ones.
    pub compared: Cell<u32>,
}

/// The rules for `*` that acts with certain features could match in one environment.
#[derive(Default)]
pub(super) struct AnyRules {
    env: EnvView,
    places: HashMap<Features, Rc<[EntryPosition]>>,
}

/// Maximum number of package names that are compared with all well-known ones in an invocation. The comparison only
/// adds a hint to a finding.
const MOST_COMPARED: u32 = 8;

impl<'a> MatchContext<'a> {
    /// Creates the context of an invocation.
    pub fn new(
        invocation: &'a Invocation,
        facts: &'a Facts,
        catalog: &'a Catalog,
        policy: &'a Policy,
        inquiry: &'a Inquiry<'a>,
    ) -> Self {
        Self {
            invocation,
            facts,
            catalog,
            policy,
            inquiry,
            placer: inquiry.placer(invocation),
            text: OnceCell::new(),
            effects: OnceCell::new(),
            history: OnceCell::new(),
            shown: OnceCell::new(),
            shown_whole: OnceCell::new(),
            raw: RefCell::default(),
            any_rules: RefCell::default(),
            compared: Cell::new(MOST_COMPARED),
        }
    }
}

impl MatchContext<'_> {
    /// Returns the rules for `*` that an act with these features could match. Rules about variables that it does not
    /// have are filtered once for all acts with the same variables.
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

    /// Returns the text of the command.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| original(self.invocation))
    }

    /// Reports whether a test of raw text matches the command. The result is cached for all acts.
    pub fn finds(&self, test: &RawTest) -> bool {
        let place = std::ptr::from_ref(test);
        if let Some(known) = self.raw.borrow().get(&place) {
            return *known;
        }
        let found = raw_span(test, self.text()).is_some();
        self.raw.borrow_mut().insert(place, found);
        found
    }

    /// Returns the index of the acts by the paths that they change.
    pub fn history(&self) -> &History {
        self.history.get_or_init(|| lowering::history(self))
    }

    /// Charges work on rules. Returns `false` if no fuel is left.
    pub fn spend(&self, units: u64) -> bool {
        self.inquiry.fuel.spend_reserve(units)
    }

    /// Returns the description of the program of an act.
    pub fn program(&self, act: &Act) -> Option<&Program> {
        match &act.verb {
            Verb::Program { name, .. } => self.catalog.program(name),
            Verb::Effect(_) => None,
        }
    }

    /// Returns the program act of an effect, or the act itself.
    pub fn program_of(&self, id: ActId) -> ActId {
        self.facts.acts.get(id).and_then(|act| act.parent).unwrap_or(id)
    }

    /// Returns the effects of a program act.
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

/// One act, with what rules need to know about it.
pub(super) struct View<'a> {
    pub context: &'a MatchContext<'a>,
    pub id: ActId,
    pub act: &'a Act,
    operands: OnceCell<Vec<InspectedValue<'a>>>,
    words: OnceCell<Vec<InspectedValue<'a>>>,
    network: OnceCell<bool>,
}

impl<'a> View<'a> {
    pub const fn new(context: &'a MatchContext<'a>, id: ActId, act: &'a Act) -> Self {
        Self { context, id, act, operands: OnceCell::new(), words: OnceCell::new(), network: OnceCell::new() }
    }

    /// Returns the operands, except those that only a command of the program receives.
    pub fn operands(&self) -> &[InspectedValue<'a>] {
        let (all, passed_on) = (&self.act.operands, self.act.passed_on.operands);
        let own = || all.iter().take(all.len().saturating_sub(passed_on)).map(InspectedValue::of_operand).collect();
        self.operands.get_or_init(own)
    }

    /// Returns the arguments as the program receives them, except those that only a command of the program receives.
    pub fn words(&self) -> &[InspectedValue<'a>] {
        self.words.get_or_init(|| {
            let all: Vec<&Value> = words(self.act).collect();
            let own = all.len().saturating_sub(self.act.passed_on.arguments);
            all.into_iter().take(own).map(|value| InspectedValue::new(value, self.act.span)).collect()
        })
    }

    /// Returns the program act of an effect, or the act itself.
    pub fn program(&self) -> &'a Act {
        self.act.parent.and_then(|id| self.context.facts.acts.get(id)).unwrap_or(self.act)
    }

    /// Returns the flags; an effect has those of its program.
    pub fn flags(&self) -> &'a [Flag] {
        if self.act.flags.is_empty() { &self.program().flags } else { &self.act.flags }
    }

    /// Reports whether the caller sees its output, or what programs that read it leave of it.
    pub fn may_be_shown(&self) -> bool {
        let shown = self.context.shown.get_or_init(|| super::printed_acts::shown(self.context, false));
        shown.get(self.act.parent.unwrap_or(self.id)).copied().unwrap_or_default()
    }

    /// Reports whether the caller sees its output, and more of it than counts or names.
    pub fn is_shown(&self) -> bool {
        let whole = || self.context.shown_whole.get_or_init(|| super::printed_acts::shown(self.context, true));
        self.may_be_shown() && whole().get(self.act.parent.unwrap_or(self.id)).copied().unwrap_or_default()
    }

    /// Reports whether its operands are hosts and URLs.
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

    /// Reports whether the act affects the target of a link and not the link.
    pub fn reaches_through_links(&self, path: &NormalPath) -> bool {
        match self.act.verb {
            Verb::Effect(Effect::Delete) => self.act.recursive || path.slash || path.everything,
            Verb::Effect(Effect::Permit) => self.act.recursive,
            Verb::Effect(Effect::Move) => path.slash,
            // Writing through a link changes its target, and a repository may contain the link.
            Verb::Effect(Effect::Write | Effect::Edit | Effect::Append) => true,
            // A file that is shown may be a link with any name.
            Verb::Effect(Effect::Show) => path.start == Start::Root,
            // A loaded file is resolved only if its path contains a name under which homes keep secrets.
            Verb::Effect(Effect::Load) => {
                let depth = path.components.len();
                path.components
                    .iter()
                    .enumerate()
                    .any(|(at, name)| at > 0 && at + 1 < depth && name.text().starts_with('.'))
            }
            _ => false,
        }
    }

    /// Reports whether a text that is not an operand passes a test.
    pub fn passes(&self, test: &TextTest, value: &Value) -> bool {
        InspectedValue::new(value, self.act.span).passes(test, self)
    }
}

/// Returns all arguments of an act as the program receives them.
pub(super) fn words(act: &Act) -> impl Iterator<Item = &Value> {
    let operands = if act.args.is_empty() { act.operands.as_slice() } else { &[] };
    act.args.iter().chain(operands.iter().map(|operand| &operand.value))
}
