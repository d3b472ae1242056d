//! From gradients to a clipped sum on the grid: the part of a step that decides what one unit can do.

use super::cut::{LENGTH, clip_factor, cut_to_grid, sign};
use super::grid_sum::GridSum;
use super::plan::{Summation, TrainingPlan};
use super::row_by_row::{Added, Group, Sizes, add_points};
use super::units::{Examples, Units};
use crate::Error;
use crate::model::{Model, Parameter};
use device::{Device, OutOfMemory, or_out_of_memory};
use sha2::{Digest, Sha256};

/// Where gradients are computed.
pub(crate) struct Work<D: Device, M, E> {
    pub(crate) device: D,
    pub(crate) model: M,
    pub(crate) examples: E,
    pub(crate) units: Units,
    /// Examples that are taken through the model at a time.
    pub(crate) at_once: usize,
    /// How rows of tables are taken one by one.
    pub(crate) sizes: Sizes,
    pub(crate) gradient: D::Buffer,
    /// The sum of a step, in grid steps of C·2^-30, with the count of an adaptive clip at the end. Private until the step was released.
    pub(crate) sum: GridSum<D>,
}

/// What a device says, in words of a run.
pub(super) fn out_of_memory(out: OutOfMemory, at_once: usize, fits: usize) -> Error {
    let mib = |bytes: usize| bytes >> 20;
    Error::OutOfMemory {
        at_once,
        fits,
        asked: mib(out.asked),
        free: mib(out.free),
    }
}

/// How many numbers the parameters of a model are.
pub(crate) fn coordinates(layout: &[Parameter]) -> usize {
    let ends = layout.iter().map(|parameter| parameter.start + parameter.len());
    ends.max().unwrap_or(0)
}

/// Of the examples of a step: the sum of their losses, and how many there were. Private.
pub(crate) type Losses = (f64, usize);

impl<D: Device, M: Model<D, Batch = E::Batch>, E: Examples> Work<D, M, E> {
    pub(crate) fn new(device: D, model: M, examples: E, units: Units, at_once: usize) -> Self {
        Self {
            gradient: device.zeros(coordinates(model.layout())),
            sum: GridSum::new(&device, 0),
            device,
            model,
            examples,
            units,
            at_once,
            sizes: Sizes::on_threads(1),
        }
    }

    /// With rows of tables taken so.
    pub(crate) fn with_sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Takes a batch of the largest shape through the model, so that what has no room is refused before anything is charged. Nothing is kept of it but the room.
    ///
    /// # Errors
    /// Where the device has no room, with how many examples at a time do fit.
    pub(crate) fn rehearse(&mut self, plan: &TrainingPlan, parameters: &D::Buffer) -> Result<(), Error> {
        let count = self.examples.count();
        if !self.device.may_run_out() || count == 0 {
            return Ok(());
        }
        let longest = (0..count).max_by_key(|example| self.examples.bytes(*example).len());
        let at_once = self.at_once.clamp(1, count);
        let (mut fits, mut refused) = (at_once, None);
        while fits > 0 {
            match or_out_of_memory(|| self.pass_of(plan, parameters, longest.unwrap_or(0), fits)) {
                Ok(()) => break,
                Err(out) => refused = Some(refused.unwrap_or(out)),
            }
            fits /= 2;
        }
        refused.map_or(Ok(()), |out| Err(out_of_memory(out, at_once, fits)))
    }

    /// A pass with one example, so many times, and room for the sum of a step. They are one unit where units have several examples, as far as one unit of the data has so many.
    fn pass_of(&mut self, plan: &TrainingPlan, parameters: &D::Buffer, example: usize, times: usize) {
        let len = self.device.len(&self.gradient);
        self.sum = GridSum::new(
            &self.device,
            len + usize::from(plan.parameters().clip.count_steps().is_some()),
        );
        let batch = self.examples.gather(&vec![example; times]);
        let size = self.units.most_examples().clamp(1, times);
        let sizes: Vec<usize> = (0..times)
            .step_by(size)
            .map(|start| size.min(times - start))
            .collect();
        if !self.units.one_example_each() && plan.parameters().summation == Summation::Float {
            self.model.group(Some(&sizes));
        }
        let losses = self.model.backward(parameters, &batch);
        self.model.squared_norms();
        self.model
            .accumulate(&vec![0.0; losses.len()], &mut self.gradient);
        self.model.group(None);
    }

    /// Leaves the sum of these units' gradients, each cut to length `clip`, in `sum`.
    pub(crate) fn clipped_sum(
        &mut self,
        plan: &TrainingPlan,
        parameters: &D::Buffer,
        members: &[u64],
        clip: f64,
    ) -> Losses {
        let count = plan.parameters().clip.count_steps();
        let len = self.device.len(&self.gradient) + usize::from(count.is_some());
        if self.sum.len() != len {
            self.sum = GridSum::new(&self.device, len);
        }
        let one_example_each = self.units.one_example_each();
        let groups = match plan.parameters().summation {
            Summation::Float if one_example_each => {
                return self.all_at_once(parameters, members, clip, count);
            }
            Summation::Float | Summation::Exact => {
                members.iter().map(|unit| self.units.of(*unit as usize)).collect()
            }
            Summation::Microbatches { number } => self.microbatches(members, number),
        };
        let expected = plan.parameters().normaliser;
        if plan.parameters().summation == Summation::Float && self.takes_units(parameters) {
            return self.units_at_once(parameters, groups, clip, count, expected);
        }
        self.group_by_group(parameters, groups, clip, count, expected)
    }

    /// Whether the model makes norms of units. Rows of tables are taken one by one instead, which is exact and as fast.
    fn takes_units(&mut self, parameters: &D::Buffer) -> bool {
        self.model.one_by_one(parameters).is_none() && self.model.group(Some(&[])) && self.model.group(None)
    }

    /// The examples of these units in up to `number` groups, with the weight that makes a group's sum its mean.
    ///
    /// # Privacy
    ///
    /// Claim: where a unit comes or goes, one group changes and all others stay what they are, to the last bit.
    /// Proof: which group a unit is in is a hash of the multiset of its own examples, so it depends on no other unit and on no order of rows. A group is computed from its own examples alone, in
    /// the order of their digests. ∎
    /// What a group adds has a norm of at most C whatever is in it, so the sum moves by at most 2C, which is what [`TrainingPlan::sensitivity`] says.
    fn microbatches(&self, members: &[u64], number: u64) -> Vec<Group> {
        let mut groups = std::collections::BTreeMap::<u64, Vec<([u8; 32], usize)>>::new();
        for unit in members {
            let (examples, _) = self.units.of(*unit as usize);
            let mut digests: Vec<([u8; 32], usize)> = examples
                .into_iter()
                .map(|example| (Sha256::digest(self.examples.bytes(example)).into(), example))
                .collect();
            digests.sort_unstable();
            let mut hash = Sha256::new();
            hash.update(b"which microbatch a unit is in");
            digests.iter().for_each(|(digest, _)| hash.update(digest));
            let hash: [u8; 32] = hash.finalize().into();
            let [first, ..] = *hash.as_chunks::<8>().0 else {
                continue;
            };
            let group = u64::from_le_bytes(first) % number.max(1);
            groups.entry(group).or_default().extend(digests);
        }
        let groups = groups.into_values().filter(|examples| !examples.is_empty());
        groups
            .map(|mut examples| {
                examples.sort_unstable();
                let weight = 1.0 / examples.len() as f64;
                (examples.into_iter().map(|(_, example)| example).collect(), weight)
            })
            .collect()
    }

    /// One example a unit, in floats: the clip factor is folded into the sum.
    fn all_at_once(
        &mut self,
        parameters: &D::Buffer,
        members: &[u64],
        clip: f64,
        count: Option<i64>,
    ) -> Losses {
        self.device.clear(&mut self.gradient);
        let (mut total, mut short) = (0.0, 0i64);
        let members: Vec<usize> = members
            .iter()
            .map(|unit| *unit as usize)
            .filter(|unit| *unit < self.units.count())
            .collect();
        for part in members.chunks(self.at_once.max(1)) {
            let batch = self.examples.gather(part);
            let losses = self.model.backward(parameters, &batch);
            total += losses.iter().filter(|loss| loss.is_finite()).sum::<f64>();
            let norms = self.model.squared_norms();
            let weights: Vec<f64> = norms.iter().map(|square| clip_factor(*square, clip)).collect();
            short += norms
                .iter()
                .map(|square| sign(square.sqrt() <= clip))
                .sum::<i64>();
            self.model.accumulate(&weights, &mut self.gradient);
        }
        self.sum.put(LENGTH as f64 / clip, &self.gradient);
        if let Some(steps) = count {
            self.sum.write(&[steps * short], self.sum.len() - 1);
        }
        (total, members.len())
    }

    /// Units of several examples, in floats: all examples of many units in one batch, the norm of each unit's sum from products between all its rows, and its clip factor folded into the product that sums gradients.
    ///
    /// # Privacy
    ///
    /// Claim: a unit adds at most C, up to how weighted gradients round when they are added, as where each example is a unit.
    /// Proof: a unit's examples are in one batch, and what it adds is f·Σₑ w·gₑ with one factor f for all of them. [`Model::squared_norms`] gives a number that is at least ‖Σₑ gₑ‖², so w² times that is at least ‖Σₑ w·gₑ‖²
    /// (its rounding, 2^-52, is in the margin), and f is [`clip_factor`] of it. A unit with more examples than are taken at a time is cut by itself, in integers. ∎
    /// Audited by: `units_of_texts_are_clipped_as_one`, with a mutant that clips a unit's texts one by one, and one that takes the norm of the wrong factor.
    fn units_at_once(
        &mut self,
        parameters: &D::Buffer,
        groups: Vec<Group>,
        clip: f64,
        count: Option<i64>,
        expected: f64,
    ) -> Losses {
        let at_once = self.at_once.max(1);
        let (units, large): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|(examples, _)| examples.len() <= at_once);
        // Units without examples add nothing, and are short enough.
        let (units, empty): (Vec<_>, Vec<_>) =
            units.into_iter().partition(|(examples, _)| !examples.is_empty());
        let (mut total, mut seen, mut before) = (0.0, 0, None);
        if !large.is_empty() {
            (total, seen) = self.group_by_group(parameters, large, clip, count, expected);
            before = Some(self.sum.numbers());
        }
        let mut short = empty.len() as i64;
        self.device.clear(&mut self.gradient);
        for units in batches_of(&units, at_once) {
            let sizes: Vec<usize> = units.iter().map(|(examples, _)| examples.len()).collect();
            let examples = units.iter().flat_map(|(examples, _)| examples).copied();
            let batch = self.examples.gather(&examples.collect::<Vec<_>>());
            self.model.group(Some(&sizes));
            let losses = self.model.backward(parameters, &batch);
            let squares = self.model.squared_norms();
            assert_eq!(squares.len(), units.len(), "one norm a unit");
            let mut weights = Vec::with_capacity(losses.len());
            for (square, (examples, weight)) in squares.iter().zip(units) {
                let square = square * weight * weight;
                short += sign(square.sqrt() <= clip);
                let weight = weight * clip_factor(square, clip);
                weights.extend(std::iter::repeat_n(weight, examples.len()));
            }
            self.model.accumulate(&weights, &mut self.gradient);
            total += losses.iter().filter(|loss| loss.is_finite()).sum::<f64>();
            seen += losses.len();
        }
        self.model.group(None);
        self.sum.put(LENGTH as f64 / clip, &self.gradient);
        if let Some(steps) = count {
            self.sum.write(&[steps * short], self.sum.len() - 1);
        }
        if let Some(mut before) = before {
            add_points(&mut before, &self.sum.numbers());
            self.sum.write(&before, 0);
        }
        (total, seen)
    }

    /// The gradient of each group of weighted examples by itself, cut and added in integers. A group is a unit or a microbatch.
    ///
    /// # Privacy
    ///
    /// Claim: a group adds integers that are a function of its own examples, their weight, the parameters and C, with Σ point² ≤ (2^30)², and one sign.
    /// Proof: whether it is taken row by row depends on how many examples it has, and on the model. Row by row, each example's gradient is its own ([`OneByOne`]), and those of a group are added in its order; otherwise
    /// its examples go through the model without any others. [`cut_to_grid`] cuts what comes of it. Integers are added modulo 2^64 in any order, so neither other groups nor the number of threads matter. ∎
    /// Audited by: `what_a_unit_adds_is_its_own`, on neighbours and on several threads, bit for bit.
    fn group_by_group(
        &mut self,
        parameters: &D::Buffer,
        groups: Vec<Group>,
        clip: f64,
        count: Option<i64>,
        expected: f64,
    ) -> Losses {
        let mut added = Added::none(self.device.len(&self.gradient));
        let large = match self.model.one_by_one(parameters) {
            None => groups,
            Some(single) => {
                let threads = self.sizes.threads_for(expected, added.sum.len());
                let is_small = |group: &Group| group.0.len() <= self.sizes.small;
                let (small, large): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_small);
                for block in self.sizes.blocks(&small) {
                    let groups = &small[block];
                    let examples: Vec<usize> = groups
                        .iter()
                        .flat_map(|(examples, _)| examples)
                        .copied()
                        .collect();
                    let batch = self.examples.gather(&examples);
                    added.add_row_by_row(&*single, &batch, groups, clip, threads);
                }
                large
            }
        };
        let mut points = Vec::new();
        for (examples, weight) in large {
            self.device.clear(&mut self.gradient);
            for part in examples.chunks(self.at_once.max(1)) {
                let batch = self.examples.gather(part);
                added.losses.extend(self.model.backward(parameters, &batch));
                let norms = self.model.squared_norms();
                let weigh = |square: &f64| if square.is_finite() { weight } else { 0.0 };
                let weights: Vec<f64> = norms.iter().map(weigh).collect();
                self.model.accumulate(&weights, &mut self.gradient);
            }
            let gradient = self.device.download(&self.gradient);
            added.short += sign(cut_to_grid(&gradient, clip, &mut points));
            add_points(&mut added.sum, &points);
        }
        let seen = added.losses.len();
        let total = added.losses.iter().filter(|loss| loss.is_finite()).sum();
        added.sum.extend(count.map(|steps| steps * added.short));
        self.sum.write(&added.sum, 0);
        (total, seen)
    }
}

/// Units one after the other, in batches of at most so many examples. No unit has more.
fn batches_of(units: &[Group], most: usize) -> Vec<&[Group]> {
    let (mut batches, mut start, mut examples) = (Vec::new(), 0, 0);
    for (number, (unit, _)) in units.iter().enumerate() {
        if examples + unit.len() > most {
            batches.push(&units[start..number]);
            (start, examples) = (number, 0);
        }
        examples += unit.len();
    }
    if start < units.len() {
        batches.push(&units[start..]);
    }
    batches
}
