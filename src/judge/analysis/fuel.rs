//! Fuel: the one counter that pays for all work of a judgment, be it reading, expanding, copying, remembering or looking up.
//!
//! It counts steps and never time, so that the same input gets the same verdict under any load. Where it ends the verdict
//! says so; nothing that was found until then is lost. Out of scope: what the work is about.

use std::cell::Cell;

/// What a line has however short it is. A unit is about 50 ns of an optimised build.
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
    pub const GLOB_TARGETS: u64 = 2_000;
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
    /// What a line has.
    #[must_use]
    pub const fn full() -> Self {
        Self::of(BASE)
    }

    /// What a line has that is judged once more, without the files that made it too much.
    #[must_use]
    pub const fn half() -> Self {
        Self::of(BASE / 2)
    }

    const fn of(units: i64) -> Self {
        Self { left: Cell::new(units), reserve: Cell::new(RESERVE), spent: Cell::new(0), files: Cell::new(0) }
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_is_left_to_the_rules() {
        let fuel = Fuel::full();
        assert!(fuel.spend(BASE.unsigned_abs() / 2));
        assert!(!fuel.spend(BASE.unsigned_abs() / 4) && !fuel.lasts());
        assert!(fuel.spend_reserve(RESERVE.unsigned_abs() - 1) && !fuel.is_empty());
        assert!(!fuel.spend_reserve(1) && fuel.is_empty());
        assert_eq!(fuel.spent(), BASE.unsigned_abs());
    }

    #[test]
    fn half_is_half() {
        let fuel = Fuel::half();
        assert!(fuel.spend_reserve(BASE.unsigned_abs() / 2 - 1) && !fuel.spend_reserve(1));
    }

    #[test]
    fn files_add_up_to_a_limit() {
        let fuel = Fuel::full();
        fuel.add_file(MAX_FILES);
        fuel.add_file(MAX_FILES);
        let whole = (BASE + MAX_FILES as i64 * PER_FILE_BYTE).unsigned_abs();
        assert!(fuel.spend(whole - RESERVE.unsigned_abs() - 1) && !fuel.spend(1));
        assert_eq!(fuel.spent(), whole - RESERVE.unsigned_abs());
        assert!(fuel.spend_reserve(RESERVE.unsigned_abs() - 1) && !fuel.spend_reserve(1));
    }

    #[test]
    fn a_longer_line_has_more() {
        let fuel = Fuel::full();
        fuel.add_line(1_000);
        let whole = (BASE + 1_000 * PER_BYTE).unsigned_abs();
        assert!(fuel.spend_reserve(whole - 1) && !fuel.spend_reserve(1));
    }
}
