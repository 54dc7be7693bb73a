//! What the acts of a line did to which places: built once, so that nobody goes through all earlier acts for each path.
//!
//! It finds acts that may matter; whether they do is asked of the acts themselves. Out of scope: rules.

use std::collections::HashMap;

use crate::judge::analysis::act::{Act, ActId, Effect, Facts, Verb};
use crate::judge::analysis::paths::{Component, NormalPath, Start};

/// An index over the acts of a line.
#[derive(Debug, Default)]
pub(super) struct History {
    nodes: Vec<Node>,
    /// Acts that make or change what is at a place that is not plainly known.
    loose: Vec<ActId>,
    /// Acts that may bring something to a place that they do not name.
    movers: Vec<ActId>,
    /// Acts that may do anything, or change what git ignores.
    others: Vec<ActId>,
    /// Programs by name.
    programs: HashMap<String, Vec<ActId>>,
    /// For each act, how many up to it choose another target for those behind them.
    choosing: Vec<u32>,
    /// Where the first part begins that could not be understood.
    opaque: Option<u32>,
}

/// A name in the tree of places.
#[derive(Debug, Default)]
struct Node {
    below: HashMap<String, usize>,
    acts: Vec<ActId>,
}

/// How an act is entered.
pub(super) struct ActHistory {
    /// It makes or changes what its operands name.
    pub makes: bool,
    /// It may bring something to a place that it does not name.
    pub moves: bool,
    /// It may do anything, or changes what git ignores.
    pub other: bool,
    /// It chooses a target for what follows.
    pub chooses: bool,
}

impl History {
    /// Of these acts, each entered as `entry` says, with its operands at the places that `path` gives.
    pub fn new(
        facts: &Facts,
        entry: impl Fn(ActId, &Act) -> ActHistory,
        path: impl Fn(&Act, usize) -> Option<NormalPath>,
    ) -> Self {
        let mut history = Self {
            nodes: vec![Node::default()],
            opaque: facts.opaque.iter().map(|opaque| opaque.span.start).min(),
            ..Self::default()
        };
        let mut choosing = 0;
        for (id, act) in facts.acts.iter().enumerate() {
            let entry = entry(id, act);
            choosing += u32::from(entry.chooses);
            history.choosing.push(choosing);
            if let Verb::Program { name, .. } = &act.verb {
                match history.programs.get_mut(name) {
                    Some(acts) => acts.push(id),
                    None => {
                        history.programs.insert(name.clone(), vec![id]);
                    }
                }
            }
            if entry.moves {
                history.movers.push(id);
            }
            if entry.other {
                history.others.push(id);
            }
            if entry.makes && act.remote.is_none() {
                for operand in 0..act.operands.len() {
                    history.enter(id, path(act, operand).as_ref());
                }
            }
        }
        history
    }

    fn enter(&mut self, id: ActId, path: Option<&NormalPath>) {
        let Some(path) =
            path.filter(|path| path.start == Start::Root && path.components.iter().all(Component::is_plain))
        else {
            if self.loose.last() != Some(&id) {
                self.loose.push(id);
            }
            return;
        };
        let mut at = 0;
        for component in &path.components {
            let next = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else { return };
            at = match node.below.get(component.text()) {
                Some(below) => *below,
                None => {
                    node.below.insert(component.text().to_owned(), next);
                    self.nodes.push(Node::default());
                    next
                }
            };
        }
        if let Some(node) = self.nodes.get_mut(at)
            && node.acts.last() != Some(&id)
        {
            node.acts.push(id);
        }
    }

    /// The acts that may make or change what is at the path, in it, or a directory above it. `pay` is told of each step.
    pub fn near(&self, path: &NormalPath, pay: &dyn Fn(u64)) -> Vec<ActId> {
        let mut found = self.loose.clone();
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        // Of a place that is not known it may be any.
        let components = if path.start == Start::Root { path.components.as_slice() } else { &[] };
        while let Some((at, depth)) = open.pop() {
            let Some(node) = self.nodes.get(at) else { continue };
            found.extend(&node.acts);
            match components.get(depth).filter(|component| component.is_plain()) {
                Some(component) => {
                    open.extend(node.below.get(component.text()).map(|below| (*below, depth + 1)));
                }
                None => open.extend(node.below.values().map(|below| (*below, depth + 1))),
            }
            pay(1);
        }
        pay(found.len() as u64);
        found
    }

    pub fn movers(&self) -> &[ActId] {
        &self.movers
    }

    pub fn others(&self) -> &[ActId] {
        &self.others
    }

    /// The acts that run a program whose name is one of those that `is` accepts.
    pub fn programs(&self, is: impl Fn(&str) -> bool) -> impl Iterator<Item = ActId> {
        self.programs.iter().filter(move |(name, _)| is(name)).flat_map(|(_, acts)| acts.iter().copied())
    }

    /// Whether an act from `first` on and before `last` chooses another target for what follows.
    pub fn chooses(&self, first: ActId, last: ActId) -> bool {
        let up_to = |id: ActId| id.checked_sub(1).and_then(|id| self.choosing.get(id)).copied().unwrap_or(0);
        up_to(last) > up_to(first)
    }

    /// Whether something that could not be understood stands at this place or before it.
    pub fn is_opaque(&self, at: u32, anywhere: bool) -> bool {
        self.opaque.is_some_and(|first| anywhere || first <= at)
    }
}

/// What [`History::near`] must find of these effects.
pub(super) const fn is_entered(effect: Effect) -> bool {
    effect.writes() || matches!(effect, Effect::Link | Effect::Fetch)
}
