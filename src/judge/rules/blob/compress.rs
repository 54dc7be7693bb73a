//! Compresses the packed built-in files, in the build script: finds the symbols that make the records smallest, and
//! writes the records in the codes of these symbols. [`super::symbols`] reads them.
//!
//! The symbols are found in rounds. Each round writes all records in the symbols so far, counts the symbols and the pairs
//! of neighbours, and keeps those that save most as the symbols of the next round.

use std::collections::BTreeMap;

use super::pack::{joined, laid_out};
use super::symbols::{CODES, Entry, LONGEST, SHORT, code};
use super::table::{number, stored};
use super::{BadBlob, Blob, PARTS, Part};

/// The parts whose records are compressed.
const COMPRESSED: [Part; 3] = [Part::Programs, Part::Rules, Part::Tools];

/// The number of rounds. More rounds save less than a hundredth.
const ROUNDS: usize = 6;

/// The number of symbols of two and more bytes. More symbols save less than they take in the table.
const SYMBOLS: usize = 4096;

/// Compresses the records of packed files. Names and lists stay as they are, because they are read in place.
///
/// # Errors
/// The bytes are damaged, or an offset does not fit in 32 bits.
pub fn compress(packed: Vec<u8>) -> Result<Vec<u8>, BadBlob> {
    let blob = Blob::new(packed.into());
    let records = |part: Part| {
        let part = blob.part(part);
        (0..number(part, 0).unwrap_or(0) as usize).filter_map(move |index| stored(part, index))
    };
    let all: Vec<&[u8]> = COMPRESSED.into_iter().flat_map(records).collect();
    let symbols = Symbols::of(&all)?;
    let mut parts: Vec<Vec<u8>> = (0..PARTS).map(|part| blob.part_at(part).to_vec()).collect();
    for part in COMPRESSED {
        let coded: Result<Vec<_>, _> = records(part).map(|record| symbols.coded(record)).collect();
        *parts.get_mut(part as usize).ok_or(BadBlob)? = laid_out(&coded?)?;
    }
    *parts.get_mut(Part::Symbols as usize).ok_or(BadBlob)? = symbols.table()?;
    joined(&parts)
}

/// Sequences of bytes, in the order of their codes. Every single byte is among them, so that any record can be written.
struct Symbols {
    texts: Vec<Vec<u8>>,
    /// A tree of all texts: for each node and byte, the node of the text that is longer by this byte; 0 if there is none.
    nodes: Vec<[u16; 256]>,
    /// For each node, the symbol that ends there.
    ends: Vec<Option<usize>>,
}

impl Symbols {
    /// Finds the symbols for these records.
    fn of(records: &[&[u8]]) -> Result<Self, BadBlob> {
        let mut symbols = Self::new(Vec::new())?;
        for _ in 0..ROUNDS {
            symbols = Self::new(symbols.better(records))?;
        }
        // The shortest codes are for the most frequent symbols.
        let counts = counts(&symbols.texts, &symbols.divided(records));
        let mut counted: Vec<(usize, Vec<u8>)> = counts.into_iter().zip(symbols.texts).collect();
        sort_by_gain(&mut counted);
        Self::with(counted.into_iter().map(|(_, text)| text).collect())
    }

    /// Creates the symbols of all single bytes and of these longer sequences.
    fn new(longer: Vec<Vec<u8>>) -> Result<Self, BadBlob> {
        Self::with((0..=u8::MAX).map(|byte| vec![byte]).chain(longer).collect())
    }

    fn with(texts: Vec<Vec<u8>>) -> Result<Self, BadBlob> {
        let (mut nodes, mut ends) = (vec![[0; 256]], vec![None]);
        for (symbol, text) in texts.iter().enumerate() {
            let mut node = 0;
            for byte in text {
                let new = u16::try_from(nodes.len()).map_err(|_| BadBlob)?;
                let next = nodes.get_mut(node).and_then(|node| node.get_mut(usize::from(*byte))).ok_or(BadBlob)?;
                if *next == 0 {
                    *next = new;
                    node = usize::from(new);
                    nodes.push([0; 256]);
                    ends.push(None);
                } else {
                    node = usize::from(*next);
                }
            }
            *ends.get_mut(node).ok_or(BadBlob)? = Some(symbol);
        }
        Ok(Self { texts, nodes, ends })
    }

    /// Returns the longest symbol with which a text begins, and the rest of the text.
    fn longest<'t>(&self, text: &'t [u8]) -> Option<(usize, &'t [u8])> {
        let mut longest = None;
        let (mut node, mut rest) = (0, text);
        while let Some((byte, after)) = rest.split_first() {
            node = usize::from(*self.nodes.get(node)?.get(usize::from(*byte))?);
            if node == 0 {
                break;
            }
            rest = after;
            longest = self.ends.get(node)?.map(|symbol| (symbol, rest)).or(longest);
        }
        longest
    }

    /// Divides a record into symbols, each the longest that fits.
    fn divide(&self, record: &[u8]) -> Vec<usize> {
        let mut rest = record;
        let next = || {
            let (symbol, after) = self.longest(rest)?;
            rest = after;
            Some(symbol)
        };
        std::iter::from_fn(next).collect()
    }

    fn divided(&self, records: &[&[u8]]) -> Vec<Vec<usize>> {
        records.iter().map(|record| self.divide(record)).collect()
    }

    /// Returns a record in the form in which it is stored.
    fn coded(&self, record: &[u8]) -> Result<Vec<u8>, BadBlob> {
        let mut coded = postcard::to_allocvec(&record.len()).map_err(|_| BadBlob)?;
        coded.extend(self.divide(record).into_iter().flat_map(code));
        Ok(coded)
    }

    /// Returns the table of the symbols.
    fn table(&self) -> Result<Vec<u8>, BadBlob> {
        let mut table: Vec<Entry> = Vec::new();
        for text in &self.texts {
            let mut entry = Entry::default();
            entry.get_mut(..text.len()).ok_or(BadBlob)?.copy_from_slice(text);
            *entry.last_mut().ok_or(BadBlob)? = u8::try_from(text.len()).map_err(|_| BadBlob)?;
            table.push(entry);
        }
        Ok(table.concat())
    }

    /// Returns the sequences that save most of these records: symbols and pairs of neighbours.
    fn better(&self, records: &[&[u8]]) -> Vec<Vec<u8>> {
        let divided = self.divided(records);
        let mut pairs: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (one, next) in divided.iter().flat_map(|symbols| symbols.iter().zip(symbols.iter().skip(1))) {
            *pairs.entry((*one, *next)).or_default() += 1;
        }
        let counts = counts(&self.texts, &divided);
        let mut texts: BTreeMap<Vec<u8>, usize> = self.texts.iter().cloned().zip(counts).collect();
        let text = |symbol: usize| self.texts.get(symbol).map_or(&[][..], Vec::as_slice);
        for ((one, next), count) in pairs {
            if count > 1 && text(one).len() + text(next).len() <= LONGEST {
                *texts.entry([text(one), text(next)].concat()).or_default() += count;
            }
        }
        let saves =
            |text: &[u8], count: usize| (count * text.len().saturating_sub(1)).saturating_sub(size_of::<Entry>());
        let mut saving: Vec<(usize, Vec<u8>)> = texts
            .into_iter()
            .map(|(text, count)| (saves(&text, count), text))
            .filter(|(saved, _)| *saved > 0)
            .collect();
        sort_by_gain(&mut saving);
        saving.into_iter().map(|(_, text)| text).take(SYMBOLS).collect()
    }
}

/// Returns how often each symbol occurs.
fn counts(texts: &[Vec<u8>], divided: &[Vec<usize>]) -> Vec<usize> {
    let mut counts = vec![0; texts.len()];
    for symbol in divided.iter().flatten() {
        counts.get_mut(*symbol).into_iter().for_each(|count| *count += 1);
    }
    counts
}

/// Sorts texts by a number, the greatest first. The order of equal ones is fixed, so that each build gives the same bytes.
fn sort_by_gain(texts: &mut [(usize, Vec<u8>)]) {
    texts.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
}

const _: () = assert!(SYMBOLS + 256 <= CODES && SHORT < 256, "every symbol has a code");

#[cfg(test)]
mod tests {
    use super::super::{Contents, pack};
    use super::*;
    use crate::judge::rules::model::Program;

    fn programs(count: usize) -> Contents {
        let program = |number: usize| Program {
            names: vec![format!("program-{number}"), format!("the-other-name-of-program-{number}")],
            ..Program::default()
        };
        Contents { programs: (0..count).map(program).collect(), ..Contents::default() }
    }

    #[test]
    fn compressed_records_are_smaller_and_come_back() {
        let contents = programs(300);
        let plain = pack(&contents).unwrap();
        let packed = compress(plain.clone()).unwrap();
        assert!(packed.len() * 2 < plain.len(), "{} of {} bytes", packed.len(), plain.len());
        assert_eq!(packed, compress(plain).unwrap(), "each build gives the same bytes");
        let blob = Blob::new(packed.into());
        for (number, program) in contents.programs.iter().enumerate() {
            assert_eq!(blob.program(number).as_ref(), Ok(program));
            assert_eq!(blob.program_named(&program.names[1]), Some(number));
        }
        assert_eq!(blob.program(300), Err(BadBlob));
    }

    #[test]
    fn a_record_is_divided_into_the_longest_symbols() {
        let symbols = Symbols::new(["ab", "abcd", "cde"].map(|text| text.as_bytes().to_vec()).to_vec()).unwrap();
        let texts = |record: &str| -> Vec<Vec<u8>> {
            symbols.divide(record.as_bytes()).into_iter().map(|symbol| symbols.texts[symbol].clone()).collect()
        };
        assert_eq!(texts("abcdeabcx"), [&b"abcd"[..], b"e", b"ab", b"c", b"x"]);
        assert_eq!(texts("cdcde"), [&b"c"[..], b"d", b"cde"]);
        assert!(texts("").is_empty());
    }

    #[test]
    fn what_saves_nothing_is_no_symbol() {
        let symbols = Symbols::of(&[b"no sequence of it", b"twice"]).unwrap();
        assert_eq!(symbols.texts.iter().map(Vec::len).max(), Some(1));
        let symbols = Symbols::of(&[b"again and again and again and again and again and again and again"]).unwrap();
        assert!(symbols.texts.iter().any(|text| text.len() > 4));
        assert!(symbols.texts.iter().all(|text| text.len() <= LONGEST));
    }
}
