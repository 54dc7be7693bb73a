//! What rules are held against: one act of an invocation, with the classes of its operands worked out on demand.

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
    places: HashMap<Features, Rc<[EntryPosition]>>,
}

/// How many names of packages are compared with all well-known ones in one invocation: it is only to say more.
const MOST_COMPARED: u32 = 8;

impl<'a> MatchContext<'a> {
    /// An invocation of which nothing was looked at yet.
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
            raw: RefCell::default(),
            any_rules: RefCell::default(),
            compared: Cell::new(MOST_COMPARED),
        }
    }
}

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
    operands: OnceCell<Vec<InspectedValue<'a>>>,
    words: OnceCell<Vec<InspectedValue<'a>>>,
    network: OnceCell<bool>,
}

impl<'a> View<'a> {
    pub const fn new(context: &'a MatchContext<'a>, id: ActId, act: &'a Act) -> Self {
        Self { context, id, act, operands: OnceCell::new(), words: OnceCell::new(), network: OnceCell::new() }
    }

    pub fn operands(&self) -> &[InspectedValue<'a>] {
        self.operands.get_or_init(|| self.act.operands.iter().map(InspectedValue::of_operand).collect())
    }

    /// All arguments as they reach the program.
    pub fn words(&self) -> &[InspectedValue<'a>] {
        self.words.get_or_init(|| words(self.act).map(|value| InspectedValue::new(value, self.act.span)).collect())
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
        let shown = self.context.shown.get_or_init(|| super::printed_acts::shown(self.context));
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
    pub fn reaches_through_links(&self, path: &NormalPath) -> bool {
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
                    .any(|(at, name)| at > 0 && at + 1 < depth && name.text().starts_with('.'))
            }
            _ => false,
        }
    }

    /// Whether a test holds of a text that is no operand.
    pub fn passes(&self, test: &TextTest, value: &Value) -> bool {
        InspectedValue::new(value, self.act.span).passes(test, self)
    }
}

/// All arguments of an act as they reach the program.
pub(super) fn words(act: &Act) -> impl Iterator<Item = &Value> {
    let operands = if act.args.is_empty() { act.operands.as_slice() } else { &[] };
    act.args.iter().chain(operands.iter().map(|operand| &operand.value))
}
