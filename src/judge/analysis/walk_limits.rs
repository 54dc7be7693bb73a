//! The limits of a walk: nesting, iterations of loops, and nested scripts.
//!
//! Out of scope: reporting that a limit was reached, and fuel.

/// Maximum nesting of trees, functions, wrappers and texts together. A unit needs about one KiB of stack in an
/// optimised build, so that the maximum fits in 256 KiB.
const MAX_DEPTH: u32 = 200;

/// Maximum number of iterations of loops over known words in a command that are walked one by one.
const MAX_ROUNDS: u32 = 256;

/// The remaining amounts.
#[derive(Debug)]
pub(super) struct Limits {
    depth: u32,
    rounds: u32,
    /// The number of scripts that were walked so far.
    includes: u32,
    /// Whether an opaque part for a reached limit was added.
    pub reached: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 0, rounds: MAX_ROUNDS, includes: 0, reached: false }
    }
}

impl Limits {
    /// Increases the depth. `false`: the limit would be exceeded, and the depth is unchanged.
    pub const fn enter(&mut self, by: u32) -> bool {
        let fits = self.depth + by <= MAX_DEPTH;
        if fits {
            self.depth += by;
        }
        fits
    }

    /// Decreases the depth.
    pub const fn leave(&mut self, by: u32) {
        self.depth = self.depth.saturating_sub(by);
    }

    /// Counts iterations of a loop. Returns `false` if not enough are left, and counts none.
    pub fn takes_rounds(&mut self, count: usize) -> bool {
        let left = u32::try_from(count).ok().and_then(|count| self.rounds.checked_sub(count));
        left.into_iter().for_each(|left| self.rounds = left);
        left.is_some()
    }

    /// Counts a script, if fewer than `most` were walked. Returns whether it did.
    pub const fn takes_script(&mut self, most: u32) -> bool {
        let fits = self.includes < most;
        if fits {
            self.includes += 1;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_left_as_they_were_entered() {
        let mut limits = Limits::default();
        assert!(limits.enter(MAX_DEPTH) && !limits.enter(1));
        limits.leave(3);
        assert!(!limits.enter(4), "what does not fit is not entered");
        assert!(limits.enter(3) && !limits.enter(1));
    }

    #[test]
    fn rounds_are_taken_whole_or_not_at_all() {
        let mut limits = Limits::default();
        assert!(limits.takes_rounds(MAX_ROUNDS as usize - 1));
        assert!(!limits.takes_rounds(2) && !limits.takes_rounds(usize::MAX));
        assert!(limits.takes_rounds(1) && !limits.takes_rounds(1));
    }

    #[test]
    fn scripts_are_counted_over_the_whole_line() {
        let mut limits = Limits::default();
        assert!(limits.takes_script(2) && limits.takes_script(2) && !limits.takes_script(2));
        assert!(limits.takes_script(3));
    }
}
