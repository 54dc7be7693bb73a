//! An index of the acts of a command by the paths that they change, so that a search for a path need not visit all
//! acts.
//!
//! The index returns candidates; the caller examines the acts themselves. Out of scope: rules.

use std::collections::HashMap;

use crate::judge::analysis::act::{Act, ActId, Effect, Facts, Verb};
use crate::judge::analysis::paths::{Component, NormalPath, Start};

/// An index of the acts of a command.
#[derive(Debug, Default)]
pub(super) struct History {
    nodes: Vec<Node>,
    /// Acts that create or change a path that is not completely known.
    loose: Vec<ActId>,
    /// Acts that may move something to a path that they do not name.
    movers: Vec<ActId>,
    /// Acts of unknown effect, and acts that change what git ignores.
    others: Vec<ActId>,
    /// The acts of each program, by its name.
    programs: HashMap<String, Vec<ActId>>,
    /// For each act, the number of acts up to it that select another target for later acts.
    choosing: Vec<u32>,
    /// The position of the first part that could not be analysed.
    opaque: Option<u32>,
}

/// A name in the tree of paths.
#[derive(Debug, Default)]
struct Node {
    below: HashMap<String, usize>,
    acts: Vec<ActId>,
}

/// The properties of an act that the index records.
pub(super) struct ActHistory {
    /// Whether it creates or changes its operands.
    pub makes: bool,
    /// Whether it may move something to a path that it does not name.
    pub moves: bool,
    /// Whether its effect is unknown, or it changes what git ignores.
    pub other: bool,
    /// Whether it selects a target for later acts.
    pub chooses: bool,
}

impl History {
    /// Creates the index. `entry` returns what to record about an act, and `path` returns the path of an operand.
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

    /// Returns the acts that may create or change the path, anything below it, or a directory above it. Each step is
    /// charged to `pay`.
    pub fn near(&self, path: &NormalPath, pay: &dyn Fn(u64)) -> Vec<ActId> {
        let mut found = self.loose.clone();
        let mut open: Vec<(usize, usize)> = vec![(0, 0)];
        // An unknown path may be any path.
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

    /// Returns the acts of programs whose name `is` accepts.
    pub fn programs(&self, is: impl Fn(&str) -> bool) -> impl Iterator<Item = ActId> {
        self.programs.iter().filter(move |(name, _)| is(name)).flat_map(|(_, acts)| acts.iter().copied())
    }

    /// Reports whether an act from `first` on and before `last` selects another target for later acts.
    pub fn chooses(&self, first: ActId, last: ActId) -> bool {
        let up_to = |id: ActId| id.checked_sub(1).and_then(|id| self.choosing.get(id)).copied().unwrap_or(0);
        up_to(last) > up_to(first)
    }

    /// Reports whether a part that could not be analysed begins at this position or before it.
    pub fn is_opaque(&self, at: u32, anywhere: bool) -> bool {
        self.opaque.is_some_and(|first| anywhere || first <= at)
    }
}

/// Reports whether [`History::near`] has to find an act with this effect.
pub(super) const fn is_entered(effect: Effect) -> bool {
    effect.writes() || matches!(effect, Effect::Link | Effect::Fetch)
}
