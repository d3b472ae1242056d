//! Activations dropped at random while training.

use super::Pass;
use device::{Device, Mask};

/// Drops a share of what passes through, by a mask that is a function of a seed, a step, an example's content and the place in it.
///
/// So a batch may be split, or run on more threads, and the masks stay the same; and nothing is stored for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    share: f64,
    place: u64,
}

impl Dropout {
    /// Drops `share` of the numbers; `place` tells layers of one model apart.
    pub fn new(share: f64, place: u64) -> Self {
        Self { share, place }
    }

    /// Whether it does anything.
    pub fn is_active(&self) -> bool {
        self.share > 0.0
    }

    /// Forward and backward, in place. `seed` belongs to the step, `keys` are one an example.
    pub fn apply<D: Device>(
        &self,
        pass: &Pass<'_, D>,
        seed: u64,
        width: usize,
        keys: &D::Indices,
        values: &mut D::Buffer,
    ) {
        if self.is_active() {
            let mask = Mask {
                seed: seed.rotate_left(17) ^ self.place.wrapping_mul(0xd6e8_feb8_6659_fd93),
                keep: 1.0 - self.share,
            };
            pass.device.dropout(pass.sequences, width, mask, keys, values);
        }
    }
}

/// A key of an example, from what it holds: equal examples have equal masks in one step.
pub(crate) fn key(words: impl Iterator<Item = u32>) -> u32 {
    words.fold(0x811c_9dc5, |hash: u32, word| {
        (hash ^ word).wrapping_mul(0x0100_0193).rotate_left(13)
    })
}
