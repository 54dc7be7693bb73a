//! The tables of a blob: numbers, sorted names that are listed, and values that are decoded one by one. Names that are
//! looked up are in [`super::names`].

use serde::Deserialize;

use super::BadBlob;

pub fn number(bytes: &[u8], index: usize) -> Option<u32> {
    let at = index.checked_mul(4)?;
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(super) fn decode<'a, T: Deserialize<'a>>(part: &'a [u8], index: usize) -> Result<T, BadBlob> {
    postcard::from_bytes(stored(part, index).ok_or(BadBlob)?).map_err(|_| BadBlob)
}

/// Returns the bytes of an entry.
pub fn stored(part: &[u8], index: usize) -> Option<&[u8]> {
    let count = number(part, 0)? as usize;
    let data = part.get((count + 2) * 4..)?;
    let (start, end) = (number(part, index + 1)?, number(part, index + 2)?);
    (index < count).then(|| data.get(start as usize..end as usize))?
}

/// Returns the name at `index` of a table, as bytes, and its value.
pub(super) fn entry(part: &[u8], index: usize) -> Option<(&[u8], u32)> {
    let count = number(part, 0)? as usize;
    let names = part.get((count * 2 + 2) * 4..)?;
    // A name ends at the start of the next one.
    let (start, end) = (number(part, index * 2 + 1)?, number(part, index * 2 + 3)?);
    Some((names.get(start as usize..end as usize)?, number(part, index * 2 + 2)?))
}

pub(super) fn entries(part: &[u8]) -> impl Iterator<Item = (&str, u32)> {
    entries_from(part, 0)
}

pub(super) fn entries_from(part: &[u8], first: usize) -> impl Iterator<Item = (&str, u32)> {
    (first..number(part, 0).unwrap_or(0) as usize).filter_map(move |index| {
        let (name, value) = entry(part, index)?;
        Some((std::str::from_utf8(name).ok()?, value))
    })
}

/// Returns the index of a name in a table, or the index at which it would be inserted.
pub(super) fn place(part: &[u8], name: &[u8]) -> Result<usize, usize> {
    let (mut low, mut high) = (0, number(part, 0).unwrap_or(0) as usize);
    while low < high {
        let middle = low.midpoint(high);
        let Some((here, _)) = entry(part, middle) else { return Err(high) };
        match here.cmp(name) {
            std::cmp::Ordering::Equal => return Ok(middle),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Err(low)
}
