//! Sorted names that are looked up but seldom listed: thousands of programs, rules, tools and packages.
//!
//! They are stored in blocks. In a block, each name is stored as the number of bytes that it shares with the name before
//! it, and the rest; a value follows, or nothing in a set. A lookup finds the block by binary search and reads the names
//! of that block alone.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::BadBlob;
use super::table::{number, stored};

/// The number of names in a block. Larger blocks are smaller in total and slower to read.
const BLOCK: usize = 16;

/// Returns the blocks of sorted names with their values.
///
/// # Errors
/// A value cannot be stored.
pub(super) fn blocks<'n, V: Serialize>(entries: impl Iterator<Item = (&'n str, V)>) -> Result<Vec<Vec<u8>>, BadBlob> {
    let mut blocks: Vec<Vec<u8>> = Vec::new();
    let mut before: &[u8] = &[];
    for (count, (name, value)) in entries.enumerate() {
        let name = name.as_bytes();
        if count.is_multiple_of(BLOCK) {
            blocks.push(Vec::new());
            before = &[];
        }
        let shared = common(before, name);
        let entry = (shared, name.get(shared..).unwrap_or_default(), value);
        let bytes = postcard::to_allocvec(&entry).map_err(|_| BadBlob)?;
        blocks.last_mut().ok_or(BadBlob)?.extend(bytes);
        before = name;
    }
    Ok(blocks)
}

/// Returns the value of a name.
pub(super) fn find<'a, V: Deserialize<'a>>(part: &'a [u8], name: &str) -> Option<V> {
    let name = name.as_bytes();
    let mut rest = stored(part, block_of(part, name)?)?;
    // The number of bytes of `name` with which the entry before this one begins. That entry is less than `name`.
    let mut met = 0;
    while !rest.is_empty() {
        let ((shared, end, value), after) = entry::<V>(rest)?;
        rest = after;
        match shared.cmp(&met) {
            // It differs from `name` where the entry before it does.
            Ordering::Greater => {}
            // It is greater than the entry before it within the bytes that this one had in common with `name`.
            Ordering::Less => return None,
            Ordering::Equal => {
                let wanted = name.get(met..)?;
                match end.cmp(wanted) {
                    Ordering::Equal => return Some(value),
                    Ordering::Greater => return None,
                    Ordering::Less => met += common(end, wanted),
                }
            }
        }
    }
    None
}

/// Returns the names that begin with a prefix, in their order.
pub(super) fn beginning<'a, V: Deserialize<'a>>(part: &'a [u8], prefix: String) -> impl Iterator<Item = String> + 'a {
    let first = block_of(part, prefix.as_bytes()).unwrap_or(0);
    let count = number(part, 0).unwrap_or(0) as usize;
    let mut blocks = (first..count).map_while(|block| stored(part, block));
    let mut rest: &[u8] = &[];
    let mut name: Vec<u8> = Vec::new();
    let mut next = move || {
        if rest.is_empty() {
            rest = blocks.next()?;
        }
        let ((shared, end, _), after) = entry::<V>(rest)?;
        rest = after;
        name.truncate(shared);
        name.extend(end);
        String::from_utf8(name.clone()).ok()
    };
    std::iter::from_fn(move || {
        let found = std::iter::from_fn(&mut next).find(|name| *name >= prefix)?;
        found.starts_with(&prefix).then_some(found)
    })
}

/// Returns the index of the last block whose first name is not greater than `name`; `None` if there is none.
fn block_of(part: &[u8], name: &[u8]) -> Option<usize> {
    let (mut low, mut high) = (0, number(part, 0)? as usize);
    while low < high {
        let middle = low.midpoint(high);
        // The value of the first name is not read.
        let ((_, first, ()), _) = entry(stored(part, middle)?)?;
        if first <= name {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low.checked_sub(1)
}

type Entry<'a, V> = (usize, &'a [u8], V);

fn entry<'a, V: Deserialize<'a>>(bytes: &'a [u8]) -> Option<(Entry<'a, V>, &'a [u8])> {
    postcard::take_from_bytes(bytes).ok()
}

/// Returns the number of bytes with which both begin.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::pack::laid_out;
    use super::*;

    fn packed(names: &BTreeMap<String, u32>) -> Vec<u8> {
        laid_out(&blocks(names.iter().map(|(name, value)| (name.as_str(), *value))).unwrap()).unwrap()
    }

    proptest! {
        #[test]
        fn exactly_the_stored_names_are_found(
            names in prop::collection::btree_map("[abä]{0,5}", any::<u32>(), 0..80),
            others in prop::collection::vec("[abä]{0,6}", 20),
        ) {
            let part = packed(&names);
            for name in names.keys().chain(&others) {
                prop_assert_eq!(find::<u32>(&part, name), names.get(name).copied(), "{}", name);
                let wanted: Vec<&String> = names.keys().filter(|known| known.starts_with(name.as_str())).collect();
                let found: Vec<String> = beginning::<u32>(&part, name.clone()).collect();
                prop_assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{}", name);
            }
        }

        #[test]
        fn damaged_bytes_make_no_failure(bytes in prop::collection::vec(any::<u8>(), 0..60), name in "[ab]{0,3}") {
            let _ = find::<u32>(&bytes, &name);
            let _ = beginning::<u32>(&bytes, name).count();
        }
    }

    #[test]
    fn a_set_has_no_values() {
        let names = ["npm:left-pad", "npm:lodash", "pypi:requests"];
        let part = laid_out(&blocks(names.iter().map(|name| (*name, ()))).unwrap()).unwrap();
        assert_eq!(find::<()>(&part, "npm:lodash"), Some(()));
        assert_eq!(find::<()>(&part, "npm:lodas"), None);
        assert_eq!(beginning::<()>(&part, "npm:".to_owned()).collect::<Vec<_>>(), ["npm:left-pad", "npm:lodash"]);
    }
}
