//! Fuel: the one counter that pays for all work of a judgment, be it reading, expanding, copying, remembering or looking up.
//!
//! It counts steps and never time, so that the same input gets the same verdict under any load. Where it ends the verdict
//! says so; nothing that was found until then is lost. What may not enter: what the work is about.

use std::cell::Cell;

/// What a line has however short it is, over all rounds in which it is judged. A unit is about 50 ns of an optimised build.
const BASE: i64 = 1_000_000;

/// What each byte of the line adds.
const PER_BYTE: i64 = 1;

/// What each byte of a file adds that is read as code.
const PER_FILE_BYTE: i64 = 24;

/// The most bytes of files that add something.
const MAX_FILES: usize = 4 * 1024 * 1024;

/// What only the rules may use: what was worked out before the end is still held against them.
const RESERVE: i64 = BASE / 4;

/// What the command may take in which the fuel ends.
const GRACE: i64 = 20_000;

/// How much work may still be done.
#[derive(Debug)]
pub struct Fuel {
    left: Cell<i64>,
    /// What is left to the rules.
    reserve: Cell<i64>,
    spent: Cell<i64>,
    /// What was added for files that were read.
    added: Cell<i64>,
    files: Cell<usize>,
}

/// What things cost, in units.
pub mod cost {
    /// A simple command, a round of a loop, a compound command.
    pub const STEP: u64 = 16;
    /// A copy of a shell's state, beside what its size adds.
    pub const FORK: u64 = 40;
    /// An act, with being held against the rules that speak of its program.
    pub const ACT: u64 = 180;
    /// An argument of an act.
    pub const ARGUMENT: u64 = 8;
    /// A question that was not asked before.
    pub const QUESTION: u64 = 60;
    /// The classes of a path.
    pub const CLASSES: u64 = 80;
    /// The same of a path with a live glob, which is held against all that is listed.
    pub const AIMED: u64 = 2_000;
    /// A word that an expansion comes to.
    pub const FIELD: u64 = 10;
    /// One of the words that braces come to, beside the field.
    pub const BRACES: u64 = 30;
    /// A look into what the line made or wrote.
    pub const LOOK_UP: u64 = 2;
    /// An argument that a program's description is held against.
    pub const READ: u64 = 12;
    /// What one that is a live glob takes beside that, wherever it is looked at.
    pub const GLOB: u64 = 80;
}

/// The units of work that so many bytes take to be copied or read once.
#[must_use]
pub const fn of_bytes(length: usize) -> u64 {
    (length / 16) as u64
}

impl Fuel {
    /// Fuel for one round, when the rounds before it took so much.
    #[must_use]
    pub const fn new(spent: u64) -> Self {
        let spent = if spent > i64::MAX as u64 { i64::MAX } else { spent as i64 };
        Self {
            left: Cell::new(BASE.saturating_sub(spent)),
            reserve: Cell::new(RESERVE),
            spent: Cell::new(0),
            added: Cell::new(0),
            files: Cell::new(0),
        }
    }

    /// Adds what a line of so many bytes has.
    pub fn add_line(&self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.left.set(self.left.get().saturating_add(bytes.saturating_mul(PER_BYTE)));
    }

    /// Adds what a file of so many bytes has, up to a limit over all of them.
    pub fn add_file(&self, bytes: usize) {
        let bytes = bytes.min(MAX_FILES.saturating_sub(self.files.get()));
        self.files.set(self.files.get().saturating_add(bytes));
        let units = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(PER_FILE_BYTE);
        self.left.set(self.left.get().saturating_add(units));
        self.added.set(self.added.get().saturating_add(units));
    }

    /// Spends fuel on working out what a line does. `false`: there is none left but the reserve.
    pub fn spend(&self, units: u64) -> bool {
        self.take(units);
        self.lasts()
    }

    /// Lets the command that took what was left be looked at, cut short.
    pub fn grace(&self) {
        if self.reserve.get() == RESERVE {
            self.reserve.set(self.left.get().min(RESERVE) - GRACE);
        }
    }

    /// Whether some is left beside the reserve.
    #[must_use]
    pub fn lasts(&self) -> bool {
        self.left.get() > self.reserve.get()
    }

    /// Spends fuel on rules. `false`: there is none left at all.
    pub fn spend_reserve(&self, units: u64) -> bool {
        self.take(units);
        self.left.get() > 0
    }

    /// Whether none is left at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left.get() <= 0
    }

    fn take(&self, units: u64) {
        let units = i64::try_from(units).unwrap_or(i64::MAX);
        self.left.set(self.left.get().saturating_sub(units));
        self.spent.set(self.spent.get().saturating_add(units));
    }

    /// What was spent so far, in units.
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent.get().unsigned_abs()
    }

    /// What was spent beyond what files added: what a next round has less.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.spent.get().saturating_sub(self.added.get()).max(0).unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_left_to_the_rules() {
        let fuel = Fuel::new(0);
        assert!(fuel.spend(BASE.unsigned_abs() / 2));
        assert!(!fuel.spend(BASE.unsigned_abs() / 4) && !fuel.lasts());
        assert!(fuel.spend_reserve(RESERVE.unsigned_abs() - 1) && !fuel.is_empty());
        assert!(!fuel.spend_reserve(1) && fuel.is_empty());
        assert_eq!((fuel.spent(), fuel.counted()), (BASE.unsigned_abs(), BASE.unsigned_abs()));
    }

    #[test]
    fn what_rounds_before_took_is_gone_and_what_files_add_is_not_counted() {
        let fuel = Fuel::new(BASE.unsigned_abs() - 10);
        assert!(fuel.spend_reserve(9) && !fuel.spend_reserve(1));
        let fuel = Fuel::new(BASE.unsigned_abs());
        fuel.add_file(MAX_FILES);
        fuel.add_file(MAX_FILES);
        let added = MAX_FILES as u64 * PER_FILE_BYTE.unsigned_abs();
        assert!(fuel.spend(added - RESERVE.unsigned_abs() - 1) && !fuel.spend(1));
        assert_eq!(fuel.counted(), 0);
        fuel.spend(u64::MAX);
        assert!(fuel.counted() > 0 && fuel.is_empty());
    }

    #[test]
    fn a_longer_line_has_more() {
        let fuel = Fuel::new(0);
        fuel.add_line(1_000);
        let whole = (BASE + 1_000 * PER_BYTE).unsigned_abs();
        assert!(fuel.spend_reserve(whole - 1) && !fuel.spend_reserve(1));
    }
}
