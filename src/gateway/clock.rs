//! How often something may happen: buckets that fill again as time passes.
//!
//! Out of scope: a clock. The time is a parameter, so that a test can pass an hour in no time.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// So many at once, and one more each time this long has passed.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub burst: u32,
    pub every: Duration,
}

impl Rate {
    /// `count` in a minute, `burst` of them at once.
    #[must_use]
    pub fn per_minute(count: u32, burst: u32) -> Self {
        Self { burst, every: Duration::from_secs(60) / count.max(1) }
    }
}

/// A limit for each of many.
#[derive(Debug)]
pub struct Limits<K> {
    rate: Rate,
    /// When each would be full again.
    full_at: HashMap<K, Instant>,
}

/// More than anybody needs; the ones that are full again are forgotten then.
const MOST: usize = 10_000;

impl<K: Hash + Eq> Limits<K> {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { rate, full_at: HashMap::new() }
    }

    /// Takes one, or says how long to wait for it.
    ///
    /// # Errors
    /// The time until one may be taken again.
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
