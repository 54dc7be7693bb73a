//! Rate limits: token buckets that refill over time.
//!
//! Out of scope: reading the clock. The time is a parameter, so that tests need not wait.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// A rate: `burst` at once, and one more after each period `every`.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub burst: u32,
    pub every: Duration,
}

impl Rate {
    /// Returns a rate of `count` per minute, with a burst of `burst`.
    #[must_use]
    pub fn per_minute(count: u32, burst: u32) -> Self {
        Self { burst, every: Duration::from_secs(60) / count.max(1) }
    }
}

/// A separate rate limit for each key.
#[derive(Debug)]
pub struct Limits<K> {
    rate: Rate,
    /// The time at which the bucket of each key is full again.
    full_at: HashMap<K, Instant>,
}

/// The number of keys at which full buckets are removed. Normal use stays far below it.
const MOST: usize = 10_000;

impl<K: Hash + Eq> Limits<K> {
    /// Creates limits with full buckets.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { rate, full_at: HashMap::new() }
    }

    /// Takes one token from the bucket of this key.
    ///
    /// # Errors
    /// Returns the time until the next token is available.
    pub fn take(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        if self.full_at.len() >= MOST {
            self.full_at.retain(|_, full| *full > now);
        }
        let full = self.full_at.get(&key).copied().unwrap_or(now).max(now) + self.rate.every;
        let most = self.rate.every * self.rate.burst;
        let over = full.saturating_duration_since(now).saturating_sub(most);
        if over.is_zero() {
            self.full_at.insert(key, full);
            return Ok(());
        }
        Err(over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_taken_at_once_and_the_next_one_waits() {
        let mut limits = Limits::new(Rate::per_minute(60, 2));
        let now = Instant::now();
        assert_eq!(limits.take("a", now), Ok(()));
        assert_eq!(limits.take("a", now), Ok(()));
        assert_eq!(limits.take("a", now), Err(Duration::from_secs(1)));
        assert_eq!(limits.take("b", now), Ok(()), "others have their own");
        assert_eq!(limits.take("a", now + Duration::from_millis(999)), Err(Duration::from_millis(1)));
        assert_eq!(limits.take("a", now + Duration::from_secs(1)), Ok(()));
        assert!(limits.take("a", now + Duration::from_secs(1)).is_err());
    }
}
