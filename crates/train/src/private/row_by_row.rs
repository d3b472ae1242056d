//! Rows of tables: the gradient of each by itself, those of a unit added, cut to C and put on the grid. On several threads where there is enough to do.

use super::cut::{cut_to_grid, float_square, sign};
use crate::model::{OneByOne, Room};
use device::Scalar;
use std::ops::Range;

/// How rows are taken one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Groups of more examples go through the model, whose memory does not grow with them. Which way a group goes decides how its numbers round, so a run has one number from its beginning to its end.
    pub(crate) small: usize,
    /// About as many examples are gathered at once.
    pub(crate) block: usize,
    /// Numbers in gradients that a thread has at least to make in a step, of all its examples together.
    pub(crate) work: f64,
    /// The most threads.
    pub(crate) threads: usize,
}

impl Sizes {
    /// On up to this many threads: some hundred microseconds of work are worth another one, and starting it takes tens.
    pub(crate) fn on_threads(threads: usize) -> Self {
        Self {
            small: 256,
            block: 4096,
            work: f64::from(1 << 20),
            threads: threads.clamp(1, 16),
        }
    }

    /// How many threads a step has. It follows from public numbers, so that it shows nobody: the batch that is expected, and how long gradients are.
    pub(super) fn threads_for(&self, expected: f64, coordinates: usize) -> usize {
        let worth = expected * coordinates as f64 / self.work;
        (worth.max(1.0) as usize).min(self.threads)
    }

    /// Groups one after the other, in blocks of about as many examples as are gathered at once.
    pub(super) fn blocks(&self, groups: &[Group]) -> Vec<Range<usize>> {
        let (mut blocks, mut start, mut examples) = (Vec::new(), 0, 0);
        for (number, (group, _)) in groups.iter().enumerate() {
            examples += group.len();
            if examples >= self.block {
                blocks.push(start..number + 1);
                (start, examples) = (number + 1, 0);
            }
        }
        if start < groups.len() {
            blocks.push(start..groups.len());
        }
        blocks
    }
}

/// Examples of a unit or a microbatch, and the weight of each.
pub(super) type Group = (Vec<usize>, f64);

/// What groups have added so far.
pub(super) struct Added {
    /// On the grid.
    pub(super) sum: Vec<i64>,
    /// Of each example.
    pub(super) losses: Vec<f64>,
    /// Groups that were short enough, less those that were cut.
    pub(super) short: i64,
}

impl Added {
    pub(super) fn none(coordinates: usize) -> Self {
        Self {
            sum: vec![0; coordinates],
            losses: Vec::new(),
            short: 0,
        }
    }

    /// Adds groups whose examples stand one after the other in a batch.
    pub(super) fn add_row_by_row<S: Scalar, B: Sync>(
        &mut self,
        single: &dyn OneByOne<S, B>,
        batch: &B,
        groups: &[Group],
        clip: f64,
        threads: usize,
    ) {
        let coordinates = self.sum.len();
        let share = groups.len().div_ceil(threads.max(1)).max(1);
        let mut start = 0;
        let parts: Vec<(usize, &[Group])> = groups
            .chunks(share)
            .map(|groups| {
                let first = start;
                start += groups.iter().map(|(examples, _)| examples.len()).sum::<usize>();
                (first, groups)
            })
            .collect();
        let make = |(first, groups): (usize, &[Group])| {
            let mut added = Self::none(coordinates);
            let mut maker = Maker::new(single, batch, clip);
            let mut first = first;
            for (examples, weight) in groups {
                maker.add(first..first + examples.len(), *weight, &mut added);
                first += examples.len();
            }
            added
        };
        let [here, others @ ..] = &parts[..] else { return };
        let make = &make;
        let made: Vec<Self> = std::thread::scope(|scope| {
            let spawned: Vec<_> = others
                .iter()
                .map(|part| std::thread::Builder::new().spawn_scoped(scope, move || make(*part)))
                .collect();
            let here = make(*here);
            let joined = spawned
                .into_iter()
                .zip(others)
                .map(|(spawned, part)| match spawned {
                    Ok(thread) => thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    // Where there is no thread to be had, this one does it.
                    Err(_) => make(*part),
                });
            std::iter::once(here).chain(joined).collect()
        });
        for added in made {
            add_points(&mut self.sum, &added.sum);
            self.losses.extend(added.losses);
            self.short += added.short;
        }
    }
}

/// Adds modulo 2^64: whatever order numbers are added in, and whatever overflows on the way, a sum that fits is right.
pub(super) fn add_points<P: Copy + Into<i64>>(sum: &mut [i64], points: &[P]) {
    for (total, point) in sum.iter_mut().zip(points) {
        *total = total.wrapping_add((*point).into());
    }
}

/// Makes what groups add, one group after the other, with memory that is used again.
struct Maker<'b, S, B> {
    single: &'b dyn OneByOne<S, B>,
    batch: &'b B,
    clip: f64,
    room: Room<S>,
    /// Of a group with several examples.
    gradient: Vec<S>,
    points: Vec<i32>,
}

impl<'b, S: Scalar, B> Maker<'b, S, B> {
    fn new(single: &'b dyn OneByOne<S, B>, batch: &'b B, clip: f64) -> Self {
        Self {
            single,
            batch,
            clip,
            room: Room::default(),
            gradient: Vec::new(),
            points: Vec::new(),
        }
    }

    /// Adds the group of these examples.
    fn add(&mut self, examples: Range<usize>, weight: f64, added: &mut Added) {
        let weight = S::from_f64(weight);
        if examples.len() == 1 {
            let finite = self.make(examples.start, added);
            let gradient = &mut self.room.gradient;
            if weight != S::ONE {
                gradient
                    .values_mut()
                    .iter_mut()
                    .for_each(|value| *value *= weight);
            }
            // What is not finite counts as 0.
            let short = !finite || cut_to_grid(gradient.values(), self.clip, &mut self.points);
            added.short += sign(short);
            if finite {
                for (start, points) in gradient.runs_of(&self.points) {
                    add_points(&mut added.sum[start..], points);
                }
            }
            return;
        }
        self.gradient.clear();
        self.gradient.resize(added.sum.len(), S::ZERO);
        for example in examples {
            if self.make(example, added) {
                let gradient = &self.room.gradient;
                for (start, values) in gradient.runs_of(gradient.values()) {
                    for (total, &value) in self.gradient[start..].iter_mut().zip(values) {
                        *total += weight * value;
                    }
                }
            }
        }
        added.short += sign(cut_to_grid(&self.gradient, self.clip, &mut self.points));
        add_points(&mut added.sum, &self.points);
    }

    /// Leaves the gradient of an example in `room`, and says whether it is finite.
    fn make(&mut self, example: usize, added: &mut Added) -> bool {
        let loss = self.single.gradient(self.batch, example, &mut self.room);
        added.losses.push(loss);
        float_square(self.room.gradient.values()).is_finite()
    }
}
