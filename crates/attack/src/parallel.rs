//! Work on all cores, with progress, that can be stopped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Is reported how many pieces of work were just finished, and says whether to go on. What was found by then
/// is kept.
pub type Watch<'watcher> = dyn Fn(u64) -> bool + Sync + 'watcher;

/// Runs `work` on pieces 0, 1, … `pieces` − 1, on all cores. Each core has a state of its own; all states are
/// returned.
///
/// Which core takes which piece is chance, so what is read from the states must not depend on it.
pub(crate) fn share<S: Send>(
    pieces: u64,
    watch: &Watch<'_>,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, u64) + Sync,
) -> Vec<S> {
    let next = AtomicU64::new(0);
    let stopped = AtomicBool::new(false);
    let labour = || {
        let mut state = start();
        while !stopped.load(Ordering::Relaxed) {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                break;
            }
            work(&mut state, piece);
            if !watch(1) {
                stopped.store(true, Ordering::Relaxed);
            }
        }
        state
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    std::thread::scope(|scope| {
        let hands: Vec<_> = (1..cores.min(pieces)).map(|_| scope.spawn(labour)).collect();
        let mut states = vec![labour()];
        for hand in hands {
            match hand.join() {
                Ok(state) => states.push(state),
                Err(cause) => std::panic::resume_unwind(cause),
            }
        }
        states
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_done_once() {
        let states = share(1000, &|_| true, Vec::new, |done, piece| done.push(piece));
        let mut done: Vec<u64> = states.into_iter().flatten().collect();
        done.sort_unstable();
        assert_eq!(done, (0..1000).collect::<Vec<u64>>());
    }

    #[test]
    fn what_was_done_before_a_stop_is_kept() {
        let seen = AtomicU64::new(0);
        let watch = |pieces| seen.fetch_add(pieces, Ordering::Relaxed) < 10;
        let states = share(1_000_000, &watch, || 0u64, |done, _| *done += 1);
        let done: u64 = states.iter().sum();
        assert!((10..1000).contains(&done), "{done}");
    }
}
