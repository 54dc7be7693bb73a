//! A side file with a digest of each block of rows, which lets a search skip the blocks that cannot contain a match.
//!
//! Every command would have to update an index inside the record with its row. Searches write this file instead, once
//! for each full block, so that other processes have no cost. For each block it contains a bit set of the hashed groups
//! of three letters in its rows, and the tiers and decisions. A search reads these few bytes of each block, and then
//! only the rows of the blocks that may match.
//!
//! The rows are authoritative. An entry is valid only if it is sealed with the local key and contains the hash of the
//! last row of its block in the chain, so a forged file hides nothing that a forged record would not. Invalid entries
//! are computed again from the rows. The file may be removed at any time.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::Paths;
use super::key::DigestKey;

/// The number of rows of a block.
const ROWS: i64 = 512;

/// The number of bytes of the bit set of a block: few enough to be read quickly, and enough that most bits are not set.
const BYTES: usize = 4096;

/// The number of bytes of an entry: the tiers and decisions, the hash of the last row, the seal, the bit set.
const SIZE: usize = 4 + 32 + 32 + BYTES;

/// The first bytes of the file.
const HEAD: &[u8; 16] = b"guard blocks 2\n\0";

/// The purpose of the seals of this file.
const PURPOSE: &str = "block";

/// The SQL expression that joins the text columns of a row. Text searches use the same expression.
pub(super) const WORDS: &str =
    "concat_ws(char(10), command, findings, settled, words, cwd, user, session, agent, what, place)";

/// The SQL condition for commands that ran without an approval by a person and are hard to undo.
pub(super) const UNCONFIRMED: &str = "kind IN ('intent', 'advised') AND decision = 'allow' AND provenance IN ('rule', 'llm', 'hybrid') \
                                      AND reversibility IN ('hard', 'irreversible')";

/// The decisions, each of which has a bit above those of the tiers.
const DECISIONS: [&str; 3] = ["allow", "ask", "deny"];
const UNCONFIRMED_BIT: u32 = 1 << 16;

/// The conditions of a search on a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockQuery {
    /// The groups of letters, all of which have to occur.
    groups: Vec<u16>,
    /// The sets of bits, of each of which at least one has to be set.
    any: Vec<u32>,
}

impl BlockQuery {
    /// Requires a text that occurs in a row.
    pub fn text(&mut self, text: &str) {
        self.groups.extend(groups(text.as_bytes()));
    }

    /// Requires a row of one of these tiers.
    pub fn tiers(&mut self, lowest: u8, highest: u8) {
        self.any.push((lowest..=highest.min(4)).map(|tier| 1 << tier).sum());
    }

    /// Requires a row with this decision.
    pub fn decision(&mut self, decision: &str) {
        self.any.push(decision_bit(decision));
    }

    /// Requires a row of a command that ran without an approval by a person and is hard to undo.
    pub fn unconfirmed(&mut self) {
        self.any.push(UNCONFIRMED_BIT);
    }

    /// Reports whether the conditions can exclude any block.
    pub const fn is_selective(&self) -> bool {
        !self.groups.is_empty() || !self.any.is_empty()
    }

    fn may_be_in(&self, block: &Block) -> bool {
        let set =
            |group: &u16| block.groups.get(usize::from(*group / 8)).is_some_and(|byte| byte & (1 << (group % 8)) != 0);
        self.any.iter().all(|bits| block.occurs & bits != 0) && self.groups.iter().all(set)
    }
}

fn decision_bit(decision: &str) -> u32 {
    DECISIONS.iter().position(|known| *known == decision).map_or(0, |at| 1 << (8 + at))
}

/// Returns the hashes of the groups of three letters in a text, without regard to case.
fn groups(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    text.windows(3).map(|three| {
        let number = three.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(byte.to_ascii_lowercase()));
        let mixed = number.wrapping_mul(2_654_435_761) >> (32 - (BYTES * 8).ilog2());
        #[expect(clippy::cast_possible_truncation, reason = "as many bits as there are groups")]
        let group = mixed as u16;
        group
    })
}

/// The digest of the rows of one block.
struct Block {
    occurs: u32,
    /// The hash of its last row.
    link: [u8; 32],
    groups: Vec<u8>,
}

impl Block {
    fn sealed(&self, key: &DigestKey, number: i64) -> [u8; 32] {
        let mut bytes = Vec::with_capacity(8 + 4 + 32 + BYTES);
        bytes.extend(number.to_le_bytes());
        bytes.extend(self.occurs.to_le_bytes());
        bytes.extend(self.link);
        bytes.extend(&self.groups);
        key.seal(PURPOSE, &bytes)
    }
}

/// The side file, with the queries that compute and verify its entries.
pub(super) struct Blocks<'a> {
    file: File,
    key: DigestKey,
    last_row: CachedStatement<'a>,
    rows: CachedStatement<'a>,
}

/// Returns the path of the side file.
pub(super) fn path(paths: &Paths) -> PathBuf {
    paths.directory().join("guard.blocks")
}

/// Returns the number of the block that contains a row; the first block has the number 0.
pub(super) const fn of_row(row: i64) -> i64 {
    (row - 1).div_euclid(ROWS)
}

/// Returns the first and the last row of a block.
pub(super) const fn bounds(number: i64) -> (i64, i64) {
    (number * ROWS + 1, (number + 1) * ROWS)
}

fn place(number: i64) -> Option<u64> {
    Some(HEAD.len() as u64 + u64::try_from(number).ok()? * SIZE as u64)
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(path)?;
    let mut head = [0; HEAD.len()];
    let known = file.read_exact_at(&mut head, 0).is_ok() && &head == HEAD;
    if !known {
        file.set_len(0)?;
        file.write_all_at(HEAD, 0)?;
    }
    Ok(file)
}

impl<'a> Blocks<'a> {
    /// Opens the side file, and creates it if it does not exist. `None`: the file cannot be used, and a search has to
    /// read all rows.
    pub fn open(paths: &Paths, connection: &'a Connection) -> Option<Self> {
        let rows = format!(
            "SELECT tier, decision, {UNCONFIRMED}, {WORDS}, root, hash, id FROM record WHERE id BETWEEN ?1 AND ?2 ORDER BY id"
        );
        Some(Self {
            key: DigestKey::read(&paths.key()).ok()?,
            file: open(&path(paths)).ok()?,
            last_row: connection.prepare_cached("SELECT hash FROM record WHERE id = ?1").ok()?,
            rows: connection.prepare_cached(&rows).ok()?,
        })
    }

    /// Reports whether a block may contain a match. A block of which all rows are pruned contains none.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn may_hold(&mut self, number: i64, wanted: &BlockQuery) -> rusqlite::Result<bool> {
        let (_, last) = bounds(number);
        let link: Option<Vec<u8>> = self.last_row.query_row([last], |row| row.get(0)).optional()?;
        // The block is not full, or its last row was pruned or truncated.
        let Some(link) = link.and_then(|link| <[u8; 32]>::try_from(link).ok()) else { return Ok(true) };
        if let Some(block) = self.read(number, link) {
            return Ok(wanted.may_be_in(&block));
        }
        let block = self.make(number)?;
        if let (true, Some(place)) = (block.link == link, place(number)) {
            let mut bytes = Vec::with_capacity(SIZE);
            bytes.extend(block.occurs.to_le_bytes());
            bytes.extend(block.link);
            bytes.extend(block.sealed(&self.key, number));
            bytes.extend(&block.groups);
            // If the entry is not written, the next search computes it again.
            let _ = self.file.write_all_at(&bytes, place);
        }
        Ok(wanted.may_be_in(&block))
    }

    /// Reads an entry from the file, if it is valid.
    fn read(&self, number: i64, link: [u8; 32]) -> Option<Block> {
        let mut bytes = vec![0; SIZE];
        self.file.read_exact_at(&mut bytes, place(number)?).ok()?;
        let (occurs, rest) = bytes.split_first_chunk()?;
        let (named, rest) = rest.split_first_chunk()?;
        let (seal, groups) = rest.split_first_chunk::<32>()?;
        let block = Block { occurs: u32::from_le_bytes(*occurs), link: *named, groups: groups.to_vec() };
        (block.link == link && block.sealed(&self.key, number) == *seal).then_some(block)
    }

    /// Computes an entry from the rows.
    fn make(&mut self, number: i64) -> rusqlite::Result<Block> {
        let (first, last) = bounds(number);
        let mut block = Block { occurs: 0, link: [0; 32], groups: vec![0; BYTES] };
        let mut rows = self.rows.query(params![first, last])?;
        while let Some(row) = rows.next()? {
            let tier = row.get::<_, Option<i64>>(0)?.filter(|tier| (0..5).contains(tier));
            block.occurs |= tier.map_or(0, |tier| 1 << tier);
            block.occurs |= row.get_ref(1)?.as_str().map_or(0, decision_bit);
            block.occurs |= if row.get::<_, Option<bool>>(2)? == Some(true) { UNCONFIRMED_BIT } else { 0 };
            for column in [3, 4] {
                let ValueRef::Text(text) = row.get_ref(column)? else { continue };
                for group in groups(text) {
                    if let Some(byte) = block.groups.get_mut(usize::from(group / 8)) {
                        *byte |= 1 << (group % 8);
                    }
                }
            }
            if row.get::<_, i64>(6)? == last {
                block.link = row.get(5)?;
            }
        }
        Ok(block)
    }
}

/// Erases the entries of blocks with pruned rows.
pub(super) fn forget(paths: &Paths, first: i64, last: i64) {
    let Ok(file) = OpenOptions::new().write(true).custom_flags(libc::O_NOFOLLOW).open(path(paths)) else { return };
    let long = file.metadata().map_or(0, |about| about.len());
    for number in of_row(first.max(1))..=of_row(last.max(1)) {
        match place(number) {
            Some(place) if place < long => drop(file.write_all_at(&[0; SIZE], place)),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::Sample;
    use super::super::{Filter, RecordedDecision, Store};
    use super::*;
    use crate::judge::policy::{ApprovalReason, Refusal};
    use crate::judge::risk::{Risk, Tier};
    use crate::store::sample::risk;

    /// A record of `count` rows, of which the row `odd` is a denial with a text.
    fn filled(count: i64, odd: i64) -> Sample {
        let sample = Sample::new();
        sample.store.head().unwrap();
        for number in 1..=count {
            if number == odd {
                let words = Refusal::Person { words: Some("Never on Sundays".into()) };
                sample.decide(
                    "odd-root",
                    number,
                    &risk("x.y", Tier::High, &[]),
                    RecordedDecision::Refused(&words),
                    Some(9),
                );
            } else {
                sample.decide("r", number, &Risk::default(), RecordedDecision::Allowed(&ApprovalReason::Score), None);
            }
        }
        sample
    }

    fn searches() -> Vec<Filter> {
        let text = |text: &str| Filter { text: Some(text.into()), ..Filter::default() };
        vec![
            text("on sundays"),
            text("NEVER"),
            text("no such words"),
            text("x."),
            Filter { session: Some("odd-root".into()), ..Filter::default() },
            Filter { session: Some("one".into()), limit: Some(3), ..Filter::default() },
            Filter { tiers: Some((Tier::High, Tier::Critical)), ..Filter::default() },
            Filter { decision: Some("deny".into()), ..Filter::default() },
            Filter { command: Some("TOOL".into()), limit: Some(700), ..Filter::default() },
            Filter { directory: Some("/home/ada".into()), limit: Some(2), after: Some(600), ..Filter::default() },
            Filter { unconfirmed: true, ..Filter::default() },
        ]
    }

    #[test]
    fn a_search_finds_the_same_rows_with_the_side_file_and_without_it() {
        let sample = filled(1600, 777);
        let side = path(&super::super::Paths::new(sample.directory.path()));
        for filter in searches() {
            let _ = std::fs::remove_file(&side);
            let made = (sample.store.find(&filter).unwrap(), sample.store.find_oldest(&filter).unwrap());
            let used = (sample.store.find(&filter).unwrap(), sample.store.find_oldest(&filter).unwrap());
            // If the file cannot be created, all rows are read.
            let _ = std::fs::remove_file(&side);
            std::fs::create_dir(&side).unwrap();
            let without = (sample.store.find(&filter).unwrap(), sample.store.find_oldest(&filter).unwrap());
            std::fs::remove_dir(&side).unwrap();
            assert_eq!((&made, &made), (&used, &without), "{filter:?}");
        }
        assert_eq!(sample.store.find(&searches()[0]).unwrap(), [777]);
        assert_eq!(sample.store.find(&searches()[9]).unwrap(), [1599, 1600]);
    }

    #[test]
    fn a_false_side_file_hides_nothing() {
        let sample = filled(1100, 300);
        let wanted = &searches()[0];
        assert_eq!(sample.store.find(wanted).unwrap(), [300]);
        let side = path(&super::super::Paths::new(sample.directory.path()));
        let good = std::fs::read(&side).unwrap();
        assert_eq!(good.len(), HEAD.len() + 2 * SIZE);
        let swapped = [&good[..HEAD.len()], &good[HEAD.len() + SIZE..], &good[HEAD.len()..HEAD.len() + SIZE]].concat();
        let mut emptied = good.clone();
        emptied[HEAD.len() + SIZE - BYTES..HEAD.len() + SIZE].fill(0);
        let mut headless = good.clone();
        headless[0] = b'x';
        for bad in [swapped, emptied, headless, good[..5000].to_vec(), Vec::new(), vec![0xff; good.len()]] {
            std::fs::write(&side, &bad).unwrap();
            assert_eq!(sample.store.find(wanted).unwrap(), [300]);
            assert_eq!(std::fs::read(&side).unwrap(), good);
        }
    }

    #[test]
    fn rows_that_were_rewritten_are_found_as_they_are_now() {
        let sample = filled(600, 300);
        assert_eq!(sample.store.find(&searches()[0]).unwrap(), [300]);
        // Like an attacker who rebuilds the chain to its end.
        sample.tamper(
            "UPDATE record SET words = 'Only on Mondays' WHERE id = 300; UPDATE record SET hash = randomblob(32)",
        );
        let mondays = Filter { text: Some("on mondays".into()), ..Filter::default() };
        assert_eq!(sample.store.find(&mondays).unwrap(), [300]);
    }

    #[test]
    fn what_was_pruned_is_in_the_side_file_no_more() {
        let sample = filled(1100, 300);
        assert_eq!(sample.store.find(&searches()[0]).unwrap(), [300]);
        let side = path(&super::super::Paths::new(sample.directory.path()));
        let limit = super::super::Limit {
            before: jiff::Timestamp::from_second(700).unwrap(),
            why: super::super::PruneReason::Person,
        };
        let now = jiff::Timestamp::from_second(9_000_000).unwrap();
        assert_eq!(sample.store.prune(&limit, "ada", now).unwrap().unwrap().last, 699);
        let kept = std::fs::read(&side).unwrap();
        assert!(kept[HEAD.len()..HEAD.len() + 2 * SIZE].iter().all(|byte| *byte == 0));
        assert_eq!(sample.store.find(&searches()[0]).unwrap(), [0; 0]);
        assert!(
            Store::open(&super::super::Paths::new(sample.directory.path()))
                .unwrap()
                .verify()
                .unwrap()
                .faults
                .is_empty()
        );
    }
}
