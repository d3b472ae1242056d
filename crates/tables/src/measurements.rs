//! What left: noisy integers, from which every table follows.

use crate::scheme::{Kind, Scheme, all_below, residual_of};
use crate::ways::{Reading, Step};
use crate::{Domain, Error, Estimate, Shape, Table};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One factor for each value of some attributes: see [`Measurements::sum`].
pub type Factors<'a> = &'a [(usize, Vec<f64>)];

/// What was measured, with its noise. Public, and enough by itself: what follows from it costs nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurements {
    pub(crate) scheme: Scheme,
    pub(crate) wanted: Vec<Shape>,
    pub(crate) values: Vec<Vec<i64>>,
}

/// One measurement in a sum.
pub(crate) struct SumPart {
    place: usize,
    /// What attributes contribute that the measurement sums over.
    scalar: f64,
    /// For each of its attributes the factors of its numbers before differences are taken.
    factors: Vec<Vec<f64>>,
}

impl Measurements {
    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.scheme.domain
    }

    /// The shapes of the tables that were wanted, in the order of the workload.
    pub fn wanted(&self) -> &[Shape] {
        &self.wanted
    }

    /// The integers, a vector for each residual, in the order of the plan.
    pub fn values(&self) -> &[Vec<i64>] {
        &self.values
    }

    /// Whether a table of this shape follows from them.
    pub fn covers(&self, shape: &Shape) -> bool {
        self.scheme.covers(shape)
    }

    /// The table of this shape: unbiased, with the least variance that these measurements allow.
    ///
    /// # Errors
    /// When it does not follow from them.
    pub fn table(&self, shape: &Shape) -> Result<Table, Error> {
        let terms = self.scheme.terms(shape)?;
        let readings = self.scheme.readings(shape)?;
        let mut values = match self.scheme.kind {
            Kind::Gaussian => {
                let axes: Vec<(u16, usize)> = shape
                    .axes()
                    .iter()
                    .zip(&readings)
                    .map(|(axis, reading)| (axis.attribute, reading.reach))
                    .collect();
                self.rebuild(&axes, &mut Vec::new())
            }
            Kind::Laplace => self.added_up(shape, &readings)?,
        };
        // From the cells of each axis to its numbers, the last axis first, so that what lies inside is finished.
        let mut inner = 1;
        for reading in readings.iter().rev() {
            values = reading.finish(values, inner);
            inner *= reading.size;
        }
        Ok(Table {
            shape: shape.clone(),
            sizes: readings.iter().map(|reading| reading.size).collect(),
            values,
            terms,
            gaussian: self.scheme.kind == Kind::Gaussian,
        })
    }

    /// All wanted tables, on as many threads as there are cores.
    pub fn tables(&self) -> Vec<Table> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(vec![None; self.wanted.len()]);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.wanted.len()) {
                scope.spawn(|| {
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(shape) = self.wanted.get(place) else {
                            return;
                        };
                        let table = self.table(shape).ok();
                        done.lock().expect("no thread panicked")[place] = table;
                    }
                });
            }
        });
        let done = done.into_inner().expect("no thread panicked");
        done.into_iter().flatten().collect()
    }

    /// The cells of these axes, each at the step up to which it is read, for each released number of `begun`.
    fn rebuild(&self, axes: &[(u16, usize)], begun: &mut Vec<(u16, u16)>) -> Vec<f64> {
        let Some(((attribute, reach), rest)) = axes.split_first() else {
            let place = self.scheme.find(begun).expect("covered, as terms found");
            return self.reals(place);
        };
        let ways = &self.scheme.ways[usize::from(*attribute)];
        let mut table = self.rebuild(rest, begun);
        for step in 1..=*reach {
            begun.push((*attribute, step as u16));
            let residual = self.rebuild(rest, begun);
            begun.pop();
            let inner: usize = rest
                .iter()
                .map(|(attribute, reach)| self.scheme.ways[usize::from(*attribute)].cells(*reach))
                .product();
            table = ways.refine(step, &table, &residual, inner);
        }
        table
    }

    fn reals(&self, place: usize) -> Vec<f64> {
        let step = (-f64::from(self.scheme.sets[place].shift)).exp2();
        self.values[place]
            .iter()
            .map(|value| *value as f64 * step)
            .collect()
    }

    /// With Laplace noise: the best measured table, summed over what is not asked for.
    fn added_up(&self, shape: &Shape, readings: &[Reading<'_>]) -> Result<Vec<f64>, Error> {
        let (place, _) = self.scheme.best_table(shape, readings)?;
        let mut values = self.reals(place);
        let mut inner = 1;
        for (attribute, step) in self.scheme.sets[place].residual.iter().rev() {
            let cells = self.scheme.ways[usize::from(*attribute)].cells(usize::from(*step));
            if shape.axes().iter().any(|axis| axis.attribute == *attribute) {
                inner *= cells;
                continue;
            }
            let mut sums = vec![0.0; values.len() / cells];
            for (sums, values) in sums
                .chunks_exact_mut(inner)
                .zip(values.chunks_exact(cells * inner))
            {
                for line in values.chunks_exact(inner) {
                    for (sum, value) in sums.iter_mut().zip(line) {
                        *sum += value;
                    }
                }
            }
            values = sums;
        }
        Ok(values)
    }

    /// The sum over all rows of the product of one factor for each attribute, by its value at the finest level: counts of any product of
    /// sets, such as `age in 30..40 and sex = 2`. Attributes that are not named have the factor 1.
    ///
    /// # Errors
    /// When it does not follow from the measurements, or there is not one factor for each value of an attribute.
    pub fn sum(&self, factors: Factors<'_>) -> Result<Estimate, Error> {
        let mut estimate = Estimate {
            value: 0.0,
            variance: 0.0,
            gaussian: self.scheme.kind == Kind::Gaussian,
        };
        for part in self.parts_of(factors)? {
            let square: f64 = part.factors.iter().map(|factors| dot(factors, factors)).product();
            estimate.variance += self.scheme.sets[part.place].variance * part.scalar * part.scalar * square;
            estimate.value += self.contracted(&part);
        }
        Ok(estimate)
    }

    /// The covariance of two such sums, which a ratio of them needs.
    ///
    /// # Errors
    /// As [`Measurements::sum`].
    pub fn covariance(&self, one: Factors<'_>, other: Factors<'_>) -> Result<f64, Error> {
        let (one, other) = (self.parts_of(one)?, self.parts_of(other)?);
        Ok(self.covariance_of_parts(&one, &other))
    }

    pub(crate) fn covariance_of_parts(&self, one: &[SumPart], other: &[SumPart]) -> f64 {
        let mut covariance = 0.0;
        for part in one {
            let Some(opposite) = other.iter().find(|other| other.place == part.place) else {
                continue;
            };
            let pairs = part.factors.iter().zip(&opposite.factors);
            let product: f64 = pairs.map(|(one, other)| dot(one, other)).product();
            covariance += self.scheme.sets[part.place].variance * part.scalar * opposite.scalar * product;
        }
        covariance
    }

    pub(crate) fn parts_of(&self, factors: Factors<'_>) -> Result<Vec<SumPart>, Error> {
        let mut named: Vec<&(usize, Vec<f64>)> = factors.iter().collect();
        named.sort_by_key(|(attribute, _)| *attribute);
        if named.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::AttributeTwice);
        }
        let cells: Vec<(u16, Vec<f64>)> = named
            .iter()
            .map(|(attribute, factors)| Ok((*attribute as u16, self.by_cell(*attribute, factors)?)))
            .collect::<Result<_, Error>>()?;
        match self.scheme.kind {
            Kind::Gaussian => self.residual_parts(&cells),
            Kind::Laplace => self.table_part(&cells).map(|part| vec![part]),
        }
    }

    fn residual_parts(&self, cells: &[(u16, Vec<f64>)]) -> Result<Vec<SumPart>, Error> {
        let pulled: Vec<Vec<Vec<f64>>> = cells
            .iter()
            .map(|(attribute, factors)| {
                let ways = &self.scheme.ways[usize::from(*attribute)];
                ways.pull(ways.steps.len(), factors)
            })
            .collect();
        let mut parts = Vec::new();
        let reaches: Vec<usize> = pulled.iter().map(|pulled| pulled.len() - 1).collect();
        for steps in all_below(&reaches) {
            // What floats leave of zero is none: a factor that is the same everywhere asks only for the total.
            let none = steps.iter().enumerate().any(|(place, step)| {
                let whole = dot(&cells[place].1, &cells[place].1);
                let part = &pulled[place][*step];
                *step > 0 && self.is_level(cells[place].0, *step) && dot(part, part) <= 1e-24 * whole
            });
            if none {
                continue;
            }
            let residual: Vec<(u16, u16)> = cells
                .iter()
                .zip(&steps)
                .filter(|(_, step)| **step > 0)
                .map(|((attribute, _), step)| (*attribute, *step as u16))
                .collect();
            let place = self.scheme.find(&residual).ok_or(Error::NotCovered)?;
            let mut part = SumPart {
                place,
                scalar: 1.0,
                factors: Vec::new(),
            };
            for (pulled, step) in pulled.iter().zip(&steps) {
                match step {
                    0 => part.scalar *= pulled[0][0],
                    step => part.factors.push(pulled[*step].clone()),
                }
            }
            parts.push(part);
        }
        Ok(parts)
    }

    fn is_level(&self, attribute: u16, step: usize) -> bool {
        matches!(
            self.scheme.ways[usize::from(attribute)].steps[step - 1],
            Step::Level { .. }
        )
    }

    /// With Laplace noise: the table with all these attributes in which the sum has the least variance.
    fn table_part(&self, cells: &[(u16, Vec<f64>)]) -> Result<SumPart, Error> {
        let mut best: Option<(f64, SumPart)> = None;
        for (place, set) in self.scheme.sets.iter().enumerate() {
            let covered = cells.iter().all(|(attribute, _)| {
                let step = self.scheme.ways[usize::from(*attribute)].steps.len() as u16;
                step == 0 || set.residual.contains(&(*attribute, step))
            });
            if !covered {
                continue;
            }
            let factors: Vec<Vec<f64>> = set
                .residual
                .iter()
                .map(|(attribute, step)| {
                    let named = cells.iter().find(|(named, _)| named == attribute);
                    let count = self.scheme.ways[usize::from(*attribute)].cells(usize::from(*step));
                    named.map_or_else(|| vec![1.0; count], |(_, factors)| factors.clone())
                })
                .collect();
            let square: f64 = factors.iter().map(|factors| dot(factors, factors)).product();
            let variance = square * set.variance;
            if best.as_ref().is_none_or(|(least, ..)| variance < *least) {
                let part = SumPart {
                    place,
                    scalar: 1.0,
                    factors,
                };
                best = Some((variance, part));
            }
        }
        best.map(|(_, part)| part).ok_or(Error::NotCovered)
    }

    /// Factors by value as factors by cell of the finest step that is measured.
    fn by_cell(&self, attribute: usize, factors: &[f64]) -> Result<Vec<f64>, Error> {
        let declared = self
            .scheme
            .domain
            .attributes()
            .get(attribute)
            .ok_or(Error::NoAttribute { place: attribute })?;
        if factors.len() != declared.size() as usize {
            return Err(Error::FactorsMissing {
                name: declared.name().to_owned(),
                given: factors.len(),
                values: declared.size(),
            });
        }
        let ways = &self.scheme.ways[attribute];
        let codes = match ways.steps.last() {
            None => vec![0; factors.len()],
            Some(Step::Strategy(_)) => return Ok(factors.to_vec()),
            Some(Step::Level { level, .. }) => declared.codes_at(*level),
        };
        let mut cells = vec![None; ways.cells(ways.steps.len())];
        for (code, factor) in codes.iter().zip(factors) {
            match &mut cells[*code as usize] {
                none @ None => *none = Some(*factor),
                Some(known) if known == factor => {}
                Some(_) => return Err(Error::NotCovered),
            }
        }
        Ok(cells.into_iter().map(|factor| factor.unwrap_or(0.0)).collect())
    }

    /// Σ of the numbers of a measurement times the product of the factors of their attributes.
    pub(crate) fn contracted(&self, part: &SumPart) -> f64 {
        let mut values = self.reals(part.place);
        let residual = &self.scheme.sets[part.place].residual;
        for ((attribute, step), factors) in residual.iter().zip(&part.factors).rev() {
            let kept = self.kept(*attribute, usize::from(*step));
            let factors: Vec<f64> = factors
                .iter()
                .enumerate()
                .filter(|(cell, _)| kept.as_ref().is_none_or(|kept| kept[*cell]))
                .map(|(_, factor)| *factor)
                .collect();
            values = values
                .chunks_exact(factors.len())
                .map(|line| dot(line, &factors))
                .collect();
        }
        part.scalar * values[0]
    }

    /// Which cells of a step leave: all but the first of each group, whose difference is zero. `None` for all.
    fn kept(&self, attribute: u16, step: usize) -> Option<Vec<bool>> {
        match (
            &self.scheme.ways[usize::from(attribute)].steps[step - 1],
            self.scheme.kind,
        ) {
            (Step::Level { groups, .. }, Kind::Gaussian) => {
                let mut seen = std::collections::BTreeSet::new();
                Some(groups.iter().map(|group| !seen.insert(*group)).collect())
            }
            _ => None,
        }
    }
}

impl Scheme {
    pub(crate) fn covers(&self, shape: &Shape) -> bool {
        let Ok(readings) = self.readings(shape) else {
            return false;
        };
        match self.kind {
            Kind::Gaussian => all_below(&readings.iter().map(|reading| reading.reach).collect::<Vec<_>>())
                .iter()
                .all(|steps| self.find(&residual_of(shape, steps)).is_some()),
            Kind::Laplace => self.best_table(shape, &readings).is_ok(),
        }
    }
}

pub(crate) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
