//! Sorting with one implementation for all types. The standard library's sort is compiled for each type and comparison,
//! which is faster for large lists only, and no list here is large. The smaller binary starts faster, and it is started
//! before each command.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Sorts a list. The sort is stable.
pub fn sort<T: Ord>(list: &mut [T]) {
    sort_by(list, Ord::cmp);
}

/// Sorts a list by the result of `key`. The sort is stable.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |one, other| key(one).cmp(&key(other)));
}

/// Sorts a list with a comparison. The sort is stable.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let order = order_of(list.len(), &|one, other| match (list.get(one), list.get(other)) {
        (Some(one), Some(other)) => compare(one, other),
        _ => Ordering::Equal,
    });
    put(list, order);
}

/// Creates a map from pairs; for equal keys, the last pair applies. `collect` would sort the pairs first.
pub fn map<K: Ord, V>(pairs: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        map.insert(key, value);
    }
    map
}

/// Returns, for each position, the index of the element that belongs there.
fn order_of(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    if count < 2 {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|one, other| compare(*one, *other));
    order
}

/// Moves each element to its position, one cycle of the permutation at a time.
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
