//! How one attribute is measured, and how tables are read off that.
//!
//! Step 0 is the total. Each further step adds what the one before does not tell: a finer level beyond its parents, or a strategy for ranges.

use crate::strategy::Strategy;
use crate::{Attribute, Axis, Form};
use mechanism::PlannedPart;
use serde::{Deserialize, Serialize};

/// The steps of one attribute, from coarse to fine, without the total.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ways {
    pub(crate) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// A level: what each cell has beyond the mean of its group, which is a cell of the step before.
    Level {
        level: usize,
        /// For each cell, its group.
        groups: Vec<u32>,
    },
    /// All values by integer combinations, for ranges.
    Strategy(Strategy),
}

/// How an axis of a table is read off the steps of its attribute.
pub(crate) struct Reading<'a> {
    ways: &'a Ways,
    /// It needs steps 0 to this one.
    pub(crate) reach: usize,
    /// How many cells that step has.
    pub(crate) base: usize,
    /// The number on the axis to which each cell belongs.
    outputs: Option<Vec<u32>>,
    pub(crate) size: usize,
    form: Form,
}

impl Ways {
    /// Of these levels, or by a strategy for ranges.
    pub(crate) fn of_levels(attribute: &Attribute, levels: &[usize]) -> Self {
        let mut sorted: Vec<usize> = levels.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let size = |level: usize| attribute.levels()[level].size();
        let mut kept: Vec<usize> = Vec::new();
        for level in sorted.into_iter().rev() {
            // Two levels of equal size tell the same: the finer one stays.
            if kept.last().is_some_and(|last| size(*last) == size(level)) {
                kept.pop();
            }
            if size(level) > 1 {
                kept.push(level);
            }
        }
        let mut coarser = None;
        let mut steps = Vec::new();
        for level in kept {
            let groups = match coarser {
                None => vec![0; size(level) as usize],
                Some(coarser) => between(attribute, level, coarser),
            };
            steps.push(Step::Level { level, groups });
            coarser = Some(level);
        }
        Self { steps }
    }

    /// How the mechanism measures each step.
    pub(crate) fn parts(&self, attribute: &Attribute) -> Vec<PlannedPart> {
        let part = |step: &Step| match step {
            Step::Level { level, groups } => PlannedPart::Differences {
                cells: attribute.codes_at(*level),
                groups: groups.clone(),
            },
            Step::Strategy(strategy) => PlannedPart::Combinations(strategy.rows.clone()),
        };
        self.steps.iter().map(part).collect()
    }

    /// How many cells a step has; the total has one.
    pub(crate) fn cells(&self, step: usize) -> usize {
        match step.checked_sub(1).map(|place| &self.steps[place]) {
            None => 1,
            Some(Step::Level { groups, .. }) => groups.len(),
            Some(Step::Strategy(strategy)) => strategy.values(),
        }
    }

    /// How many numbers of a step a sum has factors for: see [`Ways::pull`].
    pub(crate) fn taken(&self, step: usize) -> usize {
        match step.checked_sub(1).map(|place| &self.steps[place]) {
            Some(Step::Strategy(strategy)) => strategy.rows.len(),
            _ => self.cells(step),
        }
    }

    /// How many numbers leave for a step.
    pub(crate) fn released(&self, step: usize) -> usize {
        match step.checked_sub(1).map(|place| &self.steps[place]) {
            None => 1,
            Some(Step::Level { groups, .. }) => groups.len() - self.cells(step - 1),
            Some(Step::Strategy(strategy)) => strategy.rows.len(),
        }
    }

    /// How to read an axis; `None` when it is finer than what is measured.
    pub(crate) fn reading(&self, attribute: &Attribute, axis: &Axis) -> Option<Reading<'_>> {
        let level = usize::from(axis.level);
        let size = attribute.levels()[level].size() as usize;
        let whole = |reach: usize, base: usize, outputs| {
            Some(Reading {
                ways: self,
                reach,
                base,
                outputs,
                size: match axis.form {
                    Form::Ranges => size * (size + 1) / 2,
                    _ => size,
                },
                form: axis.form,
            })
        };
        if size == 1 {
            return whole(0, 1, None);
        }
        let finest = |step: &Step| match step {
            Step::Level { level, .. } => *level,
            Step::Strategy(_) => 0,
        };
        let place = self.steps.iter().position(|step| finest(step) <= level)?;
        let from = finest(&self.steps[place]);
        let outputs = (from < level).then(|| between(attribute, from, level));
        whole(place + 1, self.cells(place + 1), outputs)
    }

    /// For factors of the cells of step `reach`: what each step from 0 on contributes to the sum, as a vector over the cells of that step
    /// (over the released numbers of a strategy). The sum is Σ over steps of its product with the measured residual.
    pub(crate) fn pull(&self, reach: usize, factors: &[f64]) -> Vec<Vec<f64>> {
        let mut pulled = Vec::with_capacity(reach + 1);
        let mut current = factors.to_vec();
        for step in self.steps[..reach].iter().rev() {
            match step {
                Step::Level { groups, .. } => {
                    let (means, sizes) = means_of(groups, &current);
                    pulled.push(
                        current
                            .iter()
                            .zip(groups)
                            .map(|(factor, group)| factor - means[*group as usize])
                            .collect(),
                    );
                    debug_assert_eq!(means.len(), sizes.len());
                    current = means;
                }
                Step::Strategy(strategy) => {
                    let (rows, total) = strategy.pull(&current);
                    pulled.push(rows);
                    current = vec![total];
                }
            }
        }
        pulled.push(current);
        pulled.reverse();
        pulled
    }

    /// One more step of a table along one axis: what the steps before it give, spread evenly, and what this one adds.
    /// `coarse` is outer × cells of the step before × inner, `residual` outer × released numbers × inner.
    pub(crate) fn refine(&self, step: usize, coarse: &[f64], residual: &[f64], inner: usize) -> Vec<f64> {
        match &self.steps[step - 1] {
            Step::Level { groups, .. } => refine_level(groups, coarse, residual, inner),
            Step::Strategy(strategy) => strategy.refine(coarse, residual, inner),
        }
    }
}

/// For each value of level `from`, its ancestor at the coarser level `to`.
fn between(attribute: &Attribute, from: usize, to: usize) -> Vec<u32> {
    let mut codes: Vec<u32> = (0..attribute.levels()[from].size()).collect();
    for level in &attribute.levels()[from + 1..=to] {
        for code in &mut codes {
            *code = level.parents()[*code as usize];
        }
    }
    codes
}

/// The mean of each group, and its size.
fn means_of(groups: &[u32], values: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let count = groups.iter().max().map_or(0, |group| *group as usize + 1);
    let (mut means, mut sizes) = (vec![0.0; count], vec![0.0; count]);
    for (group, value) in groups.iter().zip(values) {
        means[*group as usize] += value;
        sizes[*group as usize] += 1.0;
    }
    for (mean, size) in means.iter_mut().zip(&sizes) {
        *mean /= size;
    }
    (means, sizes)
}

fn refine_level(groups: &[u32], coarse: &[f64], residual: &[f64], inner: usize) -> Vec<f64> {
    let parents = groups.iter().max().map_or(0, |group| *group as usize + 1);
    let mut sizes = vec![0usize; parents];
    let mut places = Vec::with_capacity(groups.len());
    let mut next = 0;
    for group in groups {
        // The first cell of a group was dropped: its difference to itself is zero.
        let first = sizes[*group as usize] == 0;
        places.push((!first).then_some(next));
        next += usize::from(!first);
        sizes[*group as usize] += 1;
    }
    let released = next;
    let mut fine = vec![0.0; coarse.len() / parents * groups.len()];
    let mut means = vec![0.0; parents * inner];
    for (outer, fine) in fine.chunks_exact_mut(groups.len() * inner).enumerate() {
        let coarse = &coarse[outer * parents * inner..][..parents * inner];
        let residual = &residual[outer * released * inner..][..released * inner];
        // What a group gives each of its cells: its part of the coarse cell, less the mean of the differences.
        means.copy_from_slice(coarse);
        for (group, place) in groups.iter().zip(&places) {
            if let Some(place) = place {
                let mean = &mut means[*group as usize * inner..][..inner];
                for (mean, value) in mean.iter_mut().zip(&residual[place * inner..][..inner]) {
                    *mean -= value;
                }
            }
        }
        for (mean, size) in means.chunks_exact_mut(inner).zip(&sizes) {
            for mean in mean {
                *mean /= *size as f64;
            }
        }
        for ((cell, group), place) in fine.chunks_exact_mut(inner).zip(groups).zip(&places) {
            cell.copy_from_slice(&means[*group as usize * inner..][..inner]);
            if let Some(place) = place {
                for (cell, value) in cell.iter_mut().zip(&residual[place * inner..][..inner]) {
                    *cell += value;
                }
            }
        }
    }
    fine
}

impl Reading<'_> {
    /// For each step from 0 to the reach, for each number on the axis, the square of how much of the step's noise it has.
    pub(crate) fn factors(&self) -> Vec<Vec<f64>> {
        if self.outputs.is_none() && self.form == Form::Cells && !self.by_strategy() {
            return self.plain_factors();
        }
        let mut factors = vec![Vec::with_capacity(self.size); self.reach + 1];
        for output in 0..self.size {
            let pulled = self.ways.pull(self.reach, &self.weights(output));
            for (factors, pulled) in factors.iter_mut().zip(&pulled) {
                factors.push(pulled.iter().map(|value| value * value).sum());
            }
        }
        factors
    }

    fn by_strategy(&self) -> bool {
        matches!(self.ways.steps.first(), Some(Step::Strategy(_)))
    }

    /// Of single cells at a measured level: 1 − 1/g of its own step, and 1/g² for each step that it is spread down from.
    fn plain_factors(&self) -> Vec<Vec<f64>> {
        let mut factors = vec![vec![1.0]];
        for step in &self.ways.steps[..self.reach] {
            let Step::Level { groups, .. } = step else {
                unreachable!("a strategy is read in another way")
            };
            let (_, sizes) = means_of(groups, &vec![0.0; groups.len()]);
            let of = |group: &u32| sizes[*group as usize];
            for factors in &mut factors {
                *factors = groups
                    .iter()
                    .map(|group| factors[*group as usize] / (of(group) * of(group)))
                    .collect();
            }
            factors.push(groups.iter().map(|group| 1.0 - 1.0 / of(group)).collect());
        }
        factors
    }

    /// The factors of the cells in one number on the axis.
    pub(crate) fn weights(&self, output: usize) -> Vec<f64> {
        let (first, last) = match self.form {
            Form::Cells => (output, output),
            Form::Prefixes => (0, output),
            Form::Ranges => range_of(output, self.base),
        };
        (0..self.base)
            .map(|cell| {
                let output = self
                    .outputs
                    .as_ref()
                    .map_or(cell, |outputs| outputs[cell] as usize);
                f64::from(u8::from((first..=last).contains(&output)))
            })
            .collect()
    }

    /// From the cells of the last step to the numbers on the axis.
    pub(crate) fn finish(&self, values: Vec<f64>, inner: usize) -> Vec<f64> {
        let values = match &self.outputs {
            None => values,
            Some(outputs) => add_up(outputs, &values, inner),
        };
        match self.form {
            Form::Cells => values,
            Form::Prefixes => prefixes(values, self.size, inner),
            Form::Ranges => ranges(&prefixes(values, self.base, inner), self.base, inner),
        }
    }
}

/// The first and the last value of a range by its place: by first value, then by last.
pub(crate) fn range_of(place: usize, values: usize) -> (usize, usize) {
    let (mut first, mut rest) = (0, place);
    while rest >= values - first {
        rest -= values - first;
        first += 1;
    }
    (first, first + rest)
}

fn add_up(outputs: &[u32], values: &[f64], inner: usize) -> Vec<f64> {
    let count = outputs.iter().max().map_or(0, |output| *output as usize + 1);
    let mut sums = vec![0.0; values.len() / outputs.len() * count];
    for (sums, values) in sums
        .chunks_exact_mut(count * inner)
        .zip(values.chunks_exact(outputs.len() * inner))
    {
        for (output, values) in outputs.iter().zip(values.chunks_exact(inner)) {
            for (sum, value) in sums[*output as usize * inner..][..inner].iter_mut().zip(values) {
                *sum += value;
            }
        }
    }
    sums
}

fn prefixes(mut values: Vec<f64>, size: usize, inner: usize) -> Vec<f64> {
    for slab in values.chunks_exact_mut(size * inner) {
        for place in inner..size * inner {
            slab[place] += slab[place - inner];
        }
    }
    values
}

fn ranges(prefixes: &[f64], size: usize, inner: usize) -> Vec<f64> {
    let mut ranges = Vec::with_capacity(prefixes.len() * (size + 1) / 2);
    for slab in prefixes.chunks_exact(size * inner) {
        for first in 0..size {
            for last in first..size {
                let end = &slab[last * inner..][..inner];
                match first.checked_sub(1) {
                    None => ranges.extend_from_slice(end),
                    Some(before) => {
                        let before = &slab[before * inner..][..inner];
                        ranges.extend(end.iter().zip(before).map(|(end, before)| end - before));
                    }
                }
            }
        }
    }
    ranges
}
