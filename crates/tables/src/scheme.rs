//! What is measured, and how tables follow from it: shared by plans, which predict, and measurements, which have values.

use crate::table::Term;
use crate::ways::{Reading, Step, Ways};
use crate::{Axis, Domain, Error, Shape};
use serde::{Deserialize, Serialize};

/// Which step of which attributes, by attribute; attributes that are not named are summed over.
pub(crate) type Residual = Vec<(u16, u16)>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scheme {
    pub(crate) domain: Domain,
    pub(crate) ways: Vec<Ways>,
    /// Sorted by residual.
    pub(crate) sets: Vec<Set>,
    pub(crate) kind: Kind,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Set {
    pub(crate) residual: Residual,
    /// The variance of the noise on one number before differences are taken, with what rounding adds.
    pub(crate) variance: f64,
    /// Values are in steps of 2^-shift.
    pub(crate) shift: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Residuals with Gaussian noise: what tables have beyond coarser ones.
    Gaussian,
    /// Whole tables with Laplace noise: a residual names the table of those steps.
    Laplace,
}

impl Scheme {
    pub(crate) fn find(&self, residual: &[(u16, u16)]) -> Option<usize> {
        self.sets
            .binary_search_by(|set| set.residual[..].cmp(residual))
            .ok()
    }

    /// How each axis of a shape is read.
    pub(crate) fn readings(&self, shape: &Shape) -> Result<Vec<Reading<'_>>, Error> {
        shape.check(&self.domain)?;
        shape
            .axes()
            .iter()
            .map(|axis| {
                let place = usize::from(axis.attribute);
                let attribute = &self.domain.attributes()[place];
                self.ways[place].reading(attribute, axis).ok_or(Error::NotCovered)
            })
            .collect()
    }

    /// The shape of the table that a residual is a part of.
    pub(crate) fn shape_of(&self, residual: &[(u16, u16)]) -> Shape {
        let axis = |(attribute, step): &(u16, u16)| {
            let level = match &self.ways[usize::from(*attribute)].steps[usize::from(*step) - 1] {
                Step::Level { level, .. } => *level,
                Step::Strategy(_) => 0,
            };
            Axis::at(usize::from(*attribute), level)
        };
        Shape::new(residual.iter().map(axis).collect()).expect("each attribute once")
    }

    /// How many numbers leave for a set.
    pub(crate) fn released(&self, set: &Set) -> usize {
        let of = |(attribute, step): &(u16, u16)| {
            let ways = &self.ways[usize::from(*attribute)];
            match self.kind {
                Kind::Gaussian => ways.released(usize::from(*step)),
                Kind::Laplace => ways.cells(usize::from(*step)),
            }
        };
        set.residual.iter().map(of).product()
    }

    /// The parts of a table's variances.
    pub(crate) fn terms(&self, shape: &Shape) -> Result<Vec<Term>, Error> {
        let readings = self.readings(shape)?;
        match self.kind {
            Kind::Gaussian => self.residual_terms(shape, &readings),
            Kind::Laplace => {
                let (place, dropped) = self.best_table(shape, &readings)?;
                let factors = readings.iter().map(|reading| counted(reading)).collect();
                Ok(vec![Term {
                    variance: self.sets[place].variance * dropped,
                    factors,
                }])
            }
        }
    }

    fn residual_terms(&self, shape: &Shape, readings: &[Reading<'_>]) -> Result<Vec<Term>, Error> {
        let factors: Vec<Vec<Vec<f64>>> = readings.iter().map(Reading::factors).collect();
        let mut terms = Vec::new();
        for steps in all_below(&readings.iter().map(|reading| reading.reach).collect::<Vec<_>>()) {
            let set = self.find(&residual_of(shape, &steps)).ok_or(Error::NotCovered)?;
            terms.push(Term {
                variance: self.sets[set].variance,
                factors: factors
                    .iter()
                    .zip(&steps)
                    .map(|(factors, step)| factors[*step].clone())
                    .collect(),
            });
        }
        Ok(terms)
    }

    /// With Laplace noise: the measured table from which this one follows with the least variance, and how many of its cells are summed over
    /// attributes that this one does not have.
    pub(crate) fn best_table(&self, shape: &Shape, readings: &[Reading<'_>]) -> Result<(usize, f64), Error> {
        let mut best: Option<(usize, f64)> = None;
        for (place, set) in self.sets.iter().enumerate() {
            let step_of = |attribute: u16| {
                let named = set.residual.iter().find(|(named, _)| *named == attribute);
                named.map_or(0, |(_, step)| usize::from(*step))
            };
            let finer = shape.axes().iter().zip(readings).all(|(axis, reading)| {
                // Read at the step where reading begins, so that factors are the same for every table.
                step_of(axis.attribute) == reading.reach
            });
            if !finer {
                continue;
            }
            let named = |attribute: u16| shape.axes().iter().any(|axis| axis.attribute == attribute);
            let dropped: f64 = set
                .residual
                .iter()
                .filter(|(attribute, _)| !named(*attribute))
                .map(|(attribute, step)| self.ways[usize::from(*attribute)].cells(usize::from(*step)) as f64)
                .product();
            let variance = set.variance * dropped;
            if best.is_none_or(|(best, dropped)| variance < self.sets[best].variance * dropped) {
                best = Some((place, dropped));
            }
        }
        best.ok_or(Error::NotCovered)
    }
}

/// For each number on an axis, how many cells it adds up.
fn counted(reading: &Reading<'_>) -> Vec<f64> {
    (0..reading.size)
        .map(|output| reading.weights(output).iter().sum())
        .collect()
}

/// The residual of these steps of a shape's attributes.
pub(crate) fn residual_of(shape: &Shape, steps: &[usize]) -> Residual {
    shape
        .axes()
        .iter()
        .zip(steps)
        .filter(|(_, step)| **step > 0)
        .map(|(axis, step)| (axis.attribute, *step as u16))
        .collect()
}

/// All vectors that are nowhere above `most`, in order.
pub(crate) fn all_below(most: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for most in most {
        all = all
            .into_iter()
            .flat_map(|begun: Vec<usize>| {
                (0..=*most).map(move |step| {
                    let mut longer = begun.clone();
                    longer.push(step);
                    longer
                })
            })
            .collect();
    }
    all
}
