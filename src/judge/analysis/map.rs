//! Maps by name whose copies share unchanged entries. The state of a shell is copied for each pipe, substitution and
//! branch, and most of it remains the same.
//!
//! The entries are in sorted runs. A copy shares the runs, and a change copies one run.

use std::rc::Rc;

/// Maximum number of entries of a run, which a change of a shared map copies.
const RUN: usize = 32;

/// A run of entries, sorted by name; never empty.
type Run<V> = Vec<(Rc<str>, Rc<V>)>;

/// A map by name. A copy increments one reference count for each [`RUN`] entries.
#[derive(Debug)]
pub(super) struct Map<V> {
    runs: Vec<Rc<Run<V>>>,
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self { runs: Vec::new() }
    }
}

impl<V> Clone for Map<V> {
    fn clone(&self) -> Self {
        Self { runs: self.runs.clone() }
    }
}

impl<V: PartialEq> PartialEq for Map<V> {
    fn eq(&self, other: &Self) -> bool {
        self.differences(other).is_empty()
    }
}

impl<V> Map<V> {
    /// Returns the number of runs, which is the cost of a copy.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.len()).sum()
    }

    /// Returns the index of the run of a name.
    fn run_of(&self, name: &str) -> usize {
        let begins = |run: &Rc<Run<V>>| run.first().is_some_and(|(first, _)| **first <= *name);
        self.runs.partition_point(begins).saturating_sub(1)
    }

    /// Returns the run of a name and its position there, or the position for an insertion.
    fn find(&self, name: &str) -> (usize, Result<usize, usize>) {
        let at = self.run_of(name);
        let place = self.runs.get(at).map_or(Err(0), |run| run.binary_search_by(|(key, _)| (**key).cmp(name)));
        (at, place)
    }

    pub fn get(&self, name: &str) -> Option<&V> {
        match self.find(name) {
            (at, Ok(place)) => self.runs.get(at)?.get(place).map(|(_, value)| &**value),
            (_, Err(_)) => None,
        }
    }

    pub fn contains_key(&self, name: &str) -> bool {
        self.find(name).1.is_ok()
    }

    /// Inserts or replaces a value.
    pub fn insert(&mut self, name: impl AsRef<str>, value: V) {
        self.put(name.as_ref(), Rc::new(value));
    }

    fn put(&mut self, name: &str, value: Rc<V>) {
        let (at, place) = self.find(name);
        let Some(run) = self.runs.get_mut(at) else {
            self.runs.push(Rc::new(vec![(name.into(), value)]));
            return;
        };
        let run = Rc::make_mut(run);
        match place {
            Ok(place) => {
                if let Some((_, old)) = run.get_mut(place) {
                    *old = value;
                }
            }
            Err(place) => {
                run.insert(place, (name.into(), value));
                if run.len() > RUN {
                    let rest = run.split_off(RUN / 2);
                    self.runs.insert(at + 1, Rc::new(rest));
                }
            }
        }
    }

    /// Copies the entry of a name from `other`.
    pub fn share(&mut self, name: &str, other: &Self) {
        if let (at, Ok(place)) = other.find(name)
            && let Some((_, value)) = other.runs.get(at).and_then(|run| run.get(place))
        {
            self.put(name, Rc::clone(value));
        }
    }

    pub fn remove(&mut self, name: &str) {
        let (at, Ok(place)) = self.find(name) else { return };
        let Some(run) = self.runs.get_mut(at) else { return };
        let run = Rc::make_mut(run);
        run.remove(place);
        if run.is_empty() {
            self.runs.remove(at);
        }
    }

    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// Returns the entries in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Rc<str>, &V)> {
        self.runs.iter().flat_map(|run| run.iter()).map(|(name, value)| (name, &**value))
    }

    /// Returns the entries whose names begin with a prefix, in order.
    pub fn beginning<'m>(&'m self, prefix: &'m str) -> impl Iterator<Item = (&'m Rc<str>, &'m V)> {
        let first = self.run_of(prefix);
        let entries = self.runs.get(first..).unwrap_or_default().iter().flat_map(|run| run.iter());
        entries
            .skip_while(move |(name, _)| **name < *prefix)
            .take_while(move |(name, _)| name.starts_with(prefix))
            .map(|(name, value)| (name, &**value))
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// Reports whether one is an unchanged copy of the other.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        self.runs.len() == other.runs.len() && self.runs.iter().zip(&other.runs).all(|(own, run)| Rc::ptr_eq(own, run))
    }

    /// Adds the entries of `other` with names that are missing.
    pub fn add_missing(&mut self, other: &Self) {
        if self.is_copy_of(other) {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        for (name, value) in other.runs.iter().flat_map(|run| run.iter()) {
            if !self.contains_key(name) {
                self.put(name, Rc::clone(value));
            }
        }
    }
}

impl<V: Clone> Map<V> {
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        let (at, Ok(place)) = self.find(name) else { return None };
        let run = Rc::make_mut(self.runs.get_mut(at)?);
        run.get_mut(place).map(|(_, value)| Rc::make_mut(value))
    }
}

impl<V: PartialEq> Map<V> {
    /// Returns the names whose entries differ, in order. Shared runs are skipped.
    pub fn differences(&self, other: &Self) -> Vec<Rc<str>> {
        let mut names = Vec::new();
        let (mut own, mut others) = (Cursor::new(self), Cursor::new(other));
        loop {
            if let (Some(run), Some(same)) = (own.whole(), others.whole())
                && Rc::ptr_eq(run, same)
            {
                own.next_run();
                others.next_run();
                continue;
            }
            match (own.entry(), others.entry()) {
                (None, None) => return names,
                (Some((name, one)), Some((name_too, two))) if name == name_too => {
                    if !Rc::ptr_eq(one, two) && one != two {
                        names.push(Rc::clone(name));
                    }
                    own.next();
                    others.next();
                }
                (Some((name, _)), Some((name_too, _))) if name > name_too => {
                    names.push(Rc::clone(name_too));
                    others.next();
                }
                (Some((name, _)), _) => {
                    names.push(Rc::clone(name));
                    own.next();
                }
                (None, Some((name, _))) => {
                    names.push(Rc::clone(name));
                    others.next();
                }
            }
        }
    }
}

impl<V, N: AsRef<str>> FromIterator<(N, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut map = Self::default();
        pairs.into_iter().for_each(|(name, value)| map.insert(name, value));
        map
    }
}

/// A position in a map.
struct Cursor<'m, V> {
    runs: &'m [Rc<Run<V>>],
    at: usize,
}

impl<'m, V> Cursor<'m, V> {
    fn new(map: &'m Map<V>) -> Self {
        Self { runs: &map.runs, at: 0 }
    }

    /// Returns the run at whose beginning it is.
    fn whole(&self) -> Option<&'m Rc<Run<V>>> {
        self.runs.first().filter(|_| self.at == 0)
    }

    fn entry(&self) -> Option<&'m (Rc<str>, Rc<V>)> {
        self.runs.first()?.get(self.at)
    }

    fn next(&mut self) {
        self.at += 1;
        if self.runs.first().is_none_or(|run| self.at >= run.len()) {
            self.next_run();
        }
    }

    fn next_run(&mut self) {
        self.runs = self.runs.get(1..).unwrap_or_default();
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn plain(map: &Map<u8>) -> BTreeMap<String, u8> {
        map.iter().map(|(name, value)| (name.to_string(), *value)).collect()
    }

    #[derive(Clone, Debug)]
    enum Change {
        Insert(u8, u8),
        Remove(u8),
        Add(u8, u8),
    }

    fn changes() -> impl Strategy<Value = Vec<Change>> {
        let change = (0_u8..3, any::<u8>(), any::<u8>()).prop_map(|(what, name, value)| match what {
            0 => Change::Remove(name),
            1 => Change::Add(name, value),
            _ => Change::Insert(name, value),
        });
        prop::collection::vec(change, 0..300)
    }

    fn apply(changes: &[Change], map: &mut Map<u8>, model: &mut BTreeMap<String, u8>) {
        for change in changes {
            match change {
                Change::Insert(name, value) => {
                    map.insert(format!("v{name}"), *value);
                    model.insert(format!("v{name}"), *value);
                }
                Change::Remove(name) => {
                    map.remove(&format!("v{name}"));
                    model.remove(&format!("v{name}"));
                }
                Change::Add(name, value) => {
                    let name = format!("v{name}");
                    if let Some(old) = map.get_mut(&name) {
                        *old = old.wrapping_add(*value);
                    }
                    if let Some(old) = model.get_mut(&name) {
                        *old = old.wrapping_add(*value);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn copies_go_their_own_ways_as_those_of_the_standard_library_do(
            first in changes(), left in changes(), right in changes()
        ) {
            let (mut map, mut model) = (Map::default(), BTreeMap::new());
            apply(&first, &mut map, &mut model);
            let (mut other, mut other_model) = (map.clone(), model.clone());
            prop_assert!(other.is_copy_of(&map));
            apply(&left, &mut map, &mut model);
            apply(&right, &mut other, &mut other_model);
            prop_assert_eq!(plain(&map), model.clone());
            prop_assert_eq!(plain(&other), other_model.clone());
            prop_assert_eq!(map.len(), model.len());
            prop_assert_eq!(map == other, model == other_model);
            let all: std::collections::BTreeSet<&String> = model.keys().chain(other_model.keys()).collect();
            let differing: Vec<&String> =
                all.into_iter().filter(|name| model.get(*name) != other_model.get(*name)).collect();
            let found = map.differences(&other);
            prop_assert_eq!(found.iter().map(|name| name.to_string()).collect::<Vec<_>>(),
                differing.into_iter().cloned().collect::<Vec<_>>());
            let mut both = map.clone();
            both.add_missing(&other);
            let mut both_model = other_model;
            both_model.extend(model);
            prop_assert_eq!(plain(&both), both_model);
        }
    }

    #[test]
    fn a_change_of_a_copy_leaves_the_other_runs_shared() {
        let map: Map<u32> = (0..1_000).map(|number| (format!("v{number:04}"), number)).collect();
        let mut copy = map.clone();
        copy.insert("v0500", 7);
        let shared = map.runs.iter().zip(&copy.runs).filter(|(one, two)| Rc::ptr_eq(one, two)).count();
        assert_eq!(shared + 1, map.runs());
        assert_eq!(map.differences(&copy).len(), 1);
    }
}
