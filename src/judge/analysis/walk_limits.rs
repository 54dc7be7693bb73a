//! How far a walk goes: levels of nesting, rounds of loops, scripts in scripts.
//!
//! Out of scope: what is put on record where one of them ends, and the fuel that pays for work.

/// The deepest nesting that is walked, over trees, functions, wrappers and texts together. Its unit is about one KiB of
/// stack in an optimised build, so that all of it fits 256 KiB.
const MAX_DEPTH: u32 = 200;

/// How many rounds of loops over known words are walked one by one, over the whole line.
const MAX_ROUNDS: u32 = 256;

/// What is left of each.
#[derive(Debug)]
pub(super) struct Limits {
    depth: u32,
    rounds: u32,
    /// Scripts that were read into the line so far.
    includes: u32,
    /// That something ended is on record.
    pub reached: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 0, rounds: MAX_ROUNDS, includes: 0, reached: false }
    }
}

impl Limits {
    /// Goes deeper by so many levels. `false`: that is too deep, and nothing is to be left again.
    pub const fn enter(&mut self, by: u32) -> bool {
        let fits = self.depth + by <= MAX_DEPTH;
        if fits {
            self.depth += by;
        }
        fits
    }

    /// Comes back by so many levels.
    pub const fn leave(&mut self, by: u32) {
        self.depth = self.depth.saturating_sub(by);
    }

    /// Takes so many rounds of a loop. `false`: there are not that many left, and none is taken.
    pub fn takes_rounds(&mut self, count: usize) -> bool {
        let left = u32::try_from(count).ok().and_then(|count| self.rounds.checked_sub(count));
        left.into_iter().for_each(|left| self.rounds = left);
        left.is_some()
    }

    /// Takes one more script into the line where there are fewer than `most`.
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
