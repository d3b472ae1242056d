use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a search may go on: until a time, or until somebody raises a flag. What was found by then is
/// kept.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    deadline: Option<Instant>,
    flag: Option<Arc<AtomicBool>>,
}

impl Patience {
    /// However long it takes.
    pub fn endless() -> Self {
        Self::default()
    }

    /// For so long from now on. A time that no clock can tell is no limit.
    pub fn lasting(duration: Duration) -> Self {
        Self {
            deadline: Instant::now().checked_add(duration),
            flag: None,
        }
    }

    /// The same, and no longer than until the flag is raised.
    #[must_use]
    pub fn unless(self, flag: Arc<AtomicBool>) -> Self {
        Self {
            flag: Some(flag),
            ..self
        }
    }

    /// Whether to stop.
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || self
                .flag
                .as_ref()
                .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_by_the_clock_or_by_the_flag() {
        assert!(!Patience::endless().is_over());
        assert!(!Patience::lasting(Duration::MAX).is_over());
        assert!(Patience::lasting(Duration::ZERO).is_over());
        let flag = Arc::new(AtomicBool::new(false));
        let patience = Patience::lasting(Duration::from_secs(1000)).unless(Arc::clone(&flag));
        assert!(!patience.is_over());
        flag.store(true, Ordering::Relaxed);
        assert!(patience.is_over());
    }
}
