//! Fuel: one counter that limits all work of a judgment: parsing, expanding, copying, storing and looking up.
//!
//! It counts steps and not time, so that the same input gets the same verdict under any load. If it is used up, the
//! verdict reports it, and all earlier findings remain.

use std::cell::Cell;

/// The fuel of every command. A unit is about 60 ns in a release build.
const BASE: i64 = 850_000;

/// The additional fuel for each byte of the command.
const PER_BYTE: i64 = 1;

/// The additional fuel for each byte of a file that is parsed as code.
const PER_FILE_BYTE: i64 = 24;

/// Maximum number of bytes of files that add fuel.
const MAX_FILES: usize = 4 * 1024 * 1024;

/// The fuel that is reserved for the rules, so that they are matched with everything found before the analysis stopped.
const RESERVE: i64 = BASE / 4;

/// The additional fuel for the command at which the fuel is used up.
const GRACE: i64 = 20_000;

/// The remaining fuel.
#[derive(Debug)]
pub struct Fuel {
    left: Cell<i64>,
    /// The remaining fuel for the rules.
    reserve: Cell<i64>,
    spent: Cell<i64>,
    files: Cell<usize>,
}

/// The costs of operations, in units of fuel.
pub mod cost {
    /// A simple command, an iteration of a loop, a compound command.
    pub const STEP: u64 = 16;
    /// A copy of the state of a shell, in addition to the cost of its size.
    pub const FORK: u64 = 40;
    /// An act, including the matching of the rules for its program.
    pub const ACT: u64 = 180;
    /// An argument of an act.
    pub const ARGUMENT: u64 = 8;
    /// A new question.
    pub const QUESTION: u64 = 60;
    /// Computing the classes of a path.
    pub const CLASSES: u64 = 80;
    /// Computing the classes of a path with a glob, which is compared with all listed paths.
    pub const GLOB_TARGETS: u64 = 2_000;
    /// A word that an expansion returns.
    pub const FIELD: u64 = 10;
    /// A word of a brace expansion, in addition to [`FIELD`].
    pub const BRACES: u64 = 30;
    /// Looking up a file that the command wrote or a link that it created.
    pub const LOOK_UP: u64 = 2;
    /// Preparing a replacement in a text.
    pub const REPLACEMENT: u64 = 800;
    /// Parsing an argument by the description of a program; five times that for an option.
    pub const READ: u64 = 12;
    /// An argument with a glob, in addition to [`ARGUMENT`].
    pub const GLOB: u64 = 80;
    /// A copy of a value, in addition to the cost of its bytes.
    pub const COPY: u64 = 3;
    /// A token of code in another language, each time that it is parsed.
    pub const TOKEN: u64 = 2;
    /// Looking up the name of a package in the lists.
    pub const PACKAGE: u64 = 30;
    /// Comparing the name of a package with all names of a list.
    pub const LIKE: u64 = 20_000;
}

/// The length up to which the cost of an argument includes that of its text, in bytes.
const SHORT: usize = 64;

/// Returns the cost of copying or reading this number of bytes.
#[must_use]
pub const fn of_bytes(length: usize) -> u64 {
    (length / 16) as u64
}

/// Returns the cost of reading an argument of this number of bytes, in addition to that of an argument. Several passes
/// read it: as an option, as a path with its classes, in the tests of rules.
#[must_use]
pub const fn of_argument(length: usize) -> u64 {
    (length.saturating_sub(SHORT) / 4) as u64
}

impl Fuel {
    /// Returns the fuel of a command.
    #[must_use]
    pub const fn full() -> Self {
        Self::of(BASE)
    }

    /// Returns the fuel of a command that is judged again without the files that exceeded the limit.
    #[must_use]
    pub const fn half() -> Self {
        Self::of(BASE / 2)
    }

    const fn of(units: i64) -> Self {
        Self { left: Cell::new(units), reserve: Cell::new(RESERVE), spent: Cell::new(0), files: Cell::new(0) }
    }

    /// Adds the fuel for a command with this number of bytes.
    pub fn add_line(&self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.left.set(self.left.get().saturating_add(bytes.saturating_mul(PER_BYTE)));
    }

    /// Adds the fuel for a file with this number of bytes, up to the limit for all files.
    pub fn add_file(&self, bytes: usize) {
        let bytes = bytes.min(MAX_FILES.saturating_sub(self.files.get()));
        self.files.set(self.files.get().saturating_add(bytes));
        let units = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(PER_FILE_BYTE);
        self.left.set(self.left.get().saturating_add(units));
    }

    /// Charges the analysis. `false`: only the reserve is left.
    pub fn spend(&self, units: u64) -> bool {
        self.take(units);
        self.lasts()
    }

    /// Adds fuel for the beginning of the command at which the fuel was used up.
    pub fn grace(&self) {
        if self.reserve.get() == RESERVE {
            self.reserve.set(self.left.get().min(RESERVE) - GRACE);
        }
    }

    /// Reports whether fuel is left besides the reserve.
    #[must_use]
    pub fn lasts(&self) -> bool {
        self.left.get() > self.reserve.get()
    }

    /// Charges the rules. `false`: no fuel is left.
    pub fn spend_reserve(&self, units: u64) -> bool {
        self.take(units);
        self.left.get() > 0
    }

    /// Reports whether no fuel is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.left.get() <= 0
    }

    fn take(&self, units: u64) {
        let units = i64::try_from(units).unwrap_or(i64::MAX);
        self.left.set(self.left.get().saturating_sub(units));
        self.spent.set(self.spent.get().saturating_add(units));
    }

    /// Returns the fuel spent so far, in units.
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
