//! Sums, wherever they are, and the noise that is added to them there.

use super::fingerprint::Fingerprint;
use noise::PlacedGaussian;

/// Numbers that share a fingerprint: many enough to be worth a thread.
pub(super) const CHUNK: usize = 1 << 16;

/// A sum in grid steps, in the host's memory or on a device that it was computed on.
///
/// What implements it is trusted as whoever claims a sensitivity is: it must add the noise it is given, all of it, once. `Vec<i64>` and `[i64]` do; another sum does
/// right if it does what they do with the same numbers.
pub trait Summed {
    /// [`Fingerprint::of`] each [`Fingerprint::CHUNK`] of the numbers, in order.
    fn fingerprints(&mut self, fingerprint: &Fingerprint, threads: usize) -> Vec<[u8; 32]>;

    /// Adds to each number the noise of its place, on up to this many threads.
    fn add(&mut self, noise: &PlacedGaussian<'_>, threads: usize);
}

impl Summed for [i64] {
    fn fingerprints(&mut self, fingerprint: &Fingerprint, threads: usize) -> Vec<[u8; 32]> {
        let mut prints = vec![[0u8; 32]; self.len().div_ceil(CHUNK)];
        let each = share(prints.len(), threads);
        let work = self.chunks(each * CHUNK).zip(prints.chunks_mut(each));
        in_parallel(work, |(numbers, prints)| {
            for (chunk, print) in numbers.chunks(CHUNK).zip(prints) {
                *print = fingerprint.of(chunk);
            }
        });
        prints
    }

    fn add(&mut self, noise: &PlacedGaussian<'_>, threads: usize) {
        let each = share(self.len().div_ceil(CHUNK), threads) * CHUNK;
        let work = self.chunks_mut(each).enumerate();
        in_parallel(work, |(part, numbers)| {
            noise.add_to((part * each) as u64, numbers)
        });
    }
}

impl<S: Summed + ?Sized> Summed for &mut S {
    fn fingerprints(&mut self, fingerprint: &Fingerprint, threads: usize) -> Vec<[u8; 32]> {
        (**self).fingerprints(fingerprint, threads)
    }

    fn add(&mut self, noise: &PlacedGaussian<'_>, threads: usize) {
        (**self).add(noise, threads);
    }
}

impl Summed for Vec<i64> {
    fn fingerprints(&mut self, fingerprint: &Fingerprint, threads: usize) -> Vec<[u8; 32]> {
        self[..].fingerprints(fingerprint, threads)
    }

    fn add(&mut self, noise: &PlacedGaussian<'_>, threads: usize) {
        self[..].add(noise, threads);
    }
}

/// How many of `chunks` each of this many threads takes.
fn share(chunks: usize, threads: usize) -> usize {
    chunks.div_ceil(threads.clamp(1, chunks.max(1))).max(1)
}

/// Each part on a thread of its own, and the first on this one.
fn in_parallel<T: Send>(parts: impl Iterator<Item = T>, work: impl Fn(T) + Sync) {
    let mut parts = parts.fuse();
    let Some(first) = parts.next() else { return };
    std::thread::scope(|scope| {
        for part in parts {
            let work = &work;
            scope.spawn(move || work(part));
        }
        work(first);
    });
}
