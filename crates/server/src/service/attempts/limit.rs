//! A rate limit for each key. Strangers choose the keys.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Keys that a limit holds; if there are more, newcomers share one.
const MOST_KEYS: usize = 16 << 10;
/// How often keys that mean nothing any more are forgotten.
const BETWEEN_PRUNING: Duration = Duration::from_secs(10);
const MINUTE: Duration = Duration::from_secs(60);

/// How often something may be done, for each key: all at once, and then again at an even pace.
#[derive(Debug)]
pub(super) struct Limit<K> {
    most: u32,
    /// When the last of what was done is forgotten; a key whose moment is past is as good as none.
    until: HashMap<Option<K>, Instant>,
    pruned: Option<Instant>,
}

impl<K: Copy + Eq + Hash> Limit<K> {
    pub(super) fn a_minute(most: u32) -> Self {
        Self {
            most,
            until: HashMap::new(),
            pruned: None,
        }
    }

    /// Does it once more, or says how long to wait.
    pub(super) fn take(&mut self, key: K, now: Instant) -> Result<(), Duration> {
        let key = self.place_of(key, now);
        let until = self.until.get(&key).map_or(now, |until| now.max(*until));
        let after = until + MINUTE / self.most;
        let early = after.saturating_duration_since(now + MINUTE);
        if !early.is_zero() {
            return Err(early);
        }
        self.until.insert(key, after);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.until.len()
    }

    /// The key, or the one that newcomers share if there are too many.
    fn place_of(&mut self, key: K, now: Instant) -> Option<K> {
        if self.until.contains_key(&Some(key)) {
            return Some(key);
        }
        if self
            .pruned
            .is_none_or(|pruned| now.saturating_duration_since(pruned) >= BETWEEN_PRUNING)
        {
            self.until.retain(|_, until| *until > now);
            self.until.shrink_to(MOST_KEYS / 16);
            self.pruned = Some(now);
        }
        (self.until.len() < MOST_KEYS).then_some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_and_gets_it_back_in_time() {
        let mut limit = Limit::a_minute(10);
        let now = Instant::now();
        assert!((0..10).all(|_| limit.take("ann", now).is_ok()));
        assert_eq!(limit.take("ann", now), Err(Duration::from_secs(6)));
        assert_eq!(limit.take("bob", now), Ok(()));
        assert_eq!(limit.take("ann", now + Duration::from_secs(6)), Ok(()));
        assert!(limit.take("ann", now + Duration::from_secs(6)).is_err());
    }

    #[test]
    fn keys_have_an_end_and_are_forgotten() {
        let mut limit = Limit::a_minute(10);
        let now = Instant::now();
        let taken = (0..2 * MOST_KEYS).filter(|key| limit.take(*key, now).is_ok());
        // Beyond the end all newcomers have ten together.
        assert_eq!(taken.count(), MOST_KEYS + 10);
        assert_eq!(limit.until.len(), MOST_KEYS + 1);
        // Those who came in time keep their own.
        assert_eq!(limit.take(0, now), Ok(()));
        // A minute later nothing is left of them.
        let later = now + MINUTE;
        assert_eq!(limit.take(3 * MOST_KEYS, later), Ok(()));
        assert_eq!(limit.until.len(), 1);
        assert!(limit.until.capacity() < MOST_KEYS / 4);
    }
}
