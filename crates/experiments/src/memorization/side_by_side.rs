//! Trains several models at a time. Which thread trains a model changes nothing about it: everything random
//! follows from its seed.

use super::{Error, Experiment, Measured};
use device::Device;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use train::case_study::Trained;

/// One seed on its way.
struct Seed<'w> {
    wanted: &'w Experiment,
    /// In the order of its arms; `None` is not trained yet.
    trained: Vec<Option<Trained>>,
    asked: Vec<Measured>,
}

impl<'w> Seed<'w> {
    fn new(wanted: &'w Experiment) -> Mutex<Self> {
        let trained = wanted.arms.iter().map(|_| None).collect();
        Mutex::new(Self {
            wanted,
            trained,
            asked: Vec::new(),
        })
    }

    /// Asks what was trained, which is not needed any more.
    fn ask<D: Device<Scalar = f32> + 'static>(&mut self, device: &D) -> Result<(), Error> {
        let arms: Vec<Trained> = self.trained.iter_mut().filter_map(Option::take).collect();
        if !arms.is_empty() {
            self.asked = self.wanted.ask_all(&arms, device)?;
        }
        Ok(())
    }
}

/// A thread that panicked ends the program with its own words; what it held is not looked at.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Trains all arms of all studies and asks them, each thread with a device of its own. `step` hears of each
/// step, and `stopped` is asked whether to stop: then the result is what there is so far.
pub fn side_by_side<D: Device<Scalar = f32> + 'static, E: From<Error> + Send>(
    studies: &[Experiment],
    threads: usize,
    device: impl Fn() -> Result<D, E> + Sync,
    step: &(dyn Fn() + Sync),
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Vec<Measured>>, E> {
    let seeds: Vec<Mutex<Seed<'_>>> = studies.iter().map(Seed::new).collect();
    let arms = studies.iter().zip(&seeds).flat_map(|(wanted, seed)| {
        let mut arms: Vec<usize> = (0..wanted.arms.len()).collect();
        // What takes longest first, so that the threads end together.
        arms.sort_by_key(|arm| Reverse(wanted.arms[*arm].steps * wanted.arms[*arm].batch as u64));
        arms.into_iter().map(move |arm| (wanted, seed, arm))
    });
    let count = studies.iter().map(|wanted| wanted.arms.len()).sum::<usize>();
    let arms = Mutex::new(arms);
    let failed = AtomicBool::new(false);
    let stopped = || stopped() || failed.load(Ordering::Relaxed);
    let work = || -> Result<(), E> {
        let device = device()?;
        while !stopped() {
            let Some((wanted, seed, arm)) = lock(&arms).next() else {
                break;
            };
            let trained = wanted.train(&wanted.arms[arm], &device, &mut |_| {
                step();
                !stopped()
            })?;
            let mut seed = lock(seed);
            seed.trained[arm] = Some(trained);
            if seed.trained.iter().all(Option::is_some) {
                seed.ask(&device)?;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = (0..threads.clamp(1, count.max(1)))
            .map(|_| scope.spawn(|| work().inspect_err(|_| failed.store(true, Ordering::Relaxed))));
        let threads: Vec<_> = threads.collect();
        let ends = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ends.collect::<Result<(), _>>()
    })?;
    let finish = |seed: Mutex<Seed<'_>>| {
        let mut seed = seed.into_inner().unwrap_or_else(PoisonError::into_inner);
        // It was stopped before all its arms were there.
        if seed.trained.iter().any(Option::is_some) {
            seed.ask(&device()?)?;
        }
        Ok(seed.asked)
    };
    seeds.into_iter().map(finish).collect()
}
