//! Sorting, by one sort for all types: the standard library's is compiled anew for every type and every comparison,
//! which is worth it where much is sorted, and nothing here sorts much. What it does not speed up is a program that
//! is read from disk before each command.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Sorts a list. What is equal keeps its order.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, Ord::cmp);
}

/// Sorts a list by what `key` makes of each. What is equal keeps its order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |one, other| key(one).cmp(&key(other)));
}

/// Sorts a list by a comparison. What is equal keeps its order.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let order = order_of(list.len(), &|one, other| match (list.get(one), list.get(other)) {
        (Some(one), Some(other)) => compare(one, other),
        _ => Ordering::Equal,
    });
    put(list, order);
}

/// A map of these pairs; of several with one key the last. Collecting would sort them first.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        map.insert(key, value);
    }
    map
}

/// For each place, which element belongs there.
fn order_of(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    if count < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|one, other| compare(*one, *other));
    order
}

/// Puts each element where it belongs, one round of exchanges after the other.
fn put<T>(list: &mut [T], mut order: Vec<usize>) {
    for start in 0..order.len() {
        let mut at = start;
        while let Some(place) = order.get_mut(at) {
            let from = std::mem::replace(place, at);
            if from == start || from == at {
                break;
            }
            list.swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_sorted_as_the_standard_library_sorts_them(list in prop::collection::vec((0_u8..8, any::<u8>()), 0..40)) {
            let (mut own, mut standard) = (list.clone(), list.clone());
            sort_by_key(&mut own, |pair| pair.0);
            standard.sort_by_key(|pair| pair.0);
            prop_assert_eq!(&own, &standard);
            sort(&mut own);
            standard.sort();
            prop_assert_eq!(own, standard);
            prop_assert_eq!(map(list.clone()), list.into_iter().collect::<BTreeMap<_, _>>());
        }
    }
}
