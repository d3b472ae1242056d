//! Norms from pairs of steps in tiles that stay on the chip.

use super::half;
use super::launch::arguments;
use super::norms::{Numbers, depth_of_products, exactness};
use super::open::{Gpu, Work};
use super::product::Products;
use super::vector::Vector;
use crate::Sequences;

/// Steps from which on inner products of steps are made in tiles.
const FROM: usize = 16;
/// Steps of a tile, as in `tiles.cu`.
const TILE: usize = 64;

/// Whether there are so many steps that tiles are not mostly empty, and few enough tiles for one kernel.
pub(super) fn are_worth_it(steps: usize) -> bool {
    steps >= FROM && tiles(steps) < 1 << 16
}

/// Tiles of steps by steps, those left of the diagonal left out.
fn tiles(steps: usize) -> usize {
    let lines = steps.div_ceil(TILE);
    lines * (lines + 1) / 2
}

impl Gpu {
    /// The same as [`Gpu::pair_norms`] of factors rounded to bf16, two of each side at most: both inner products of a tile of steps by steps are made on the chip, and only sums leave it.
    pub(super) fn pair_norms_in_tiles(
        &self,
        sequences: Sequences,
        inputs: &[Numbers<'_>],
        one: bool,
        gradients: &[Numbers<'_>],
        sums: &mut Vector<f64>,
    ) {
        let (examples, steps) = (sequences.examples, sequences.steps);
        let exact = exactness(Products::Half);
        let all: Vec<_> = inputs.iter().chain(gradients).collect();
        let widest = all.iter().map(|rows| rows.width).max().unwrap_or(0);
        let [before, after] = [inputs, gradients]
            .map(|parts| depth_of_products(parts.iter().map(|rows| rows.width), exact.at_once));
        let error = exact.rounding.pairs(before, after, steps);
        let tiles = tiles(steps);
        let at_once = (half::ROOM / (steps * (widest + 8))).clamp(1, examples);
        let Work { halves, doubles, .. } = &mut *self.work();
        self.reserve(doubles, 2 * at_once * tiles);
        for first in (0..examples).step_by(at_once) {
            let count = at_once.min(examples - first);
            let partial = doubles.at(0, 2 * count * tiles);
            let one = f64::from(u8::from(one));
            let mut arguments = arguments![steps, one, exact.at_once, partial].to_vec();
            let (left, right) = halves.split_at_mut(2);
            for (parts, scratch) in [(inputs, left), (gradients, right)] {
                let mut parts = parts.iter();
                for into in scratch {
                    let Some(rows) = parts.next().filter(|rows| rows.width > 0) else {
                        arguments.extend_from_slice(arguments![0usize, 0usize, 0usize, 0usize]);
                        continue;
                    };
                    let factor = self.halves_of_examples(into, &sequences, rows, first, count);
                    let at = factor.address(steps, rows.width, count);
                    arguments.extend_from_slice(arguments![at, factor.row, factor.batch, rows.width]);
                }
            }
            self.launch_of(128, "pair_tiles", (count, tiles), &arguments);
            let sums = sums.at(first, count);
            self.over(
                "pair_tiles_total",
                count,
                arguments![count, tiles, error, exact.weighing, partial, sums],
            );
        }
    }
}
