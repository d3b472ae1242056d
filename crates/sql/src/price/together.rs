//! The noise of a question's sets of groups, planned together: what is measured of the cells under all of them, so that totals agree and the error is small.
//!
//! Three ways are looked at. With a δ, residuals of all sets get Gaussian noise as the crate `tables` plans it. With or without one, each set gets Laplace noise, or the finest cells alone do, and least squares makes tables of it that agree
//! (`agreeing`). Whichever errs least is held against the plain way, in which each set has noise of its own for its part of ε, and the better of both is taken. All of that depends on the question and the catalog alone.

use crate::price::Price;
use crate::price::agreeing::Agreeing;
use crate::understand::together::Together;
use accounting::{Delta, Epsilon, PrivacyUnit, Promise, Rho, smallest_multiplier};
use exact::Rational;
use mechanism::{Accuracy, PlannedTables};
use report::significant;
use std::sync::Arc;
use tables::{Attribute, Domain, Limits, Plan, Shape, Weights, Workload};

/// More cells under all sets together are not measured one by one.
const MOST_CELLS: u64 = 1_000_000;

/// More parts of all sets together are not planned: a price of them would take longer than anybody waits.
const MOST_PARTS: usize = 4096;

/// Tables are not made to agree where that takes more steps than this, which is about a second. Nobody else is answered by a processor that does.
const MOST_STEPS: u64 = 100_000_000;

/// Tables with hardly any noise are weighed as if they had this much: weights stay finite.
const LEAST_VARIANCE: f64 = 1e-12;

/// Rounding to whole numbers that agree adds this to a cell's variance, for each number that is rounded: see `finish::together`.
const OF_ROUNDING: f64 = 1.0 / 12.0;

/// Sets that are planned together.
#[derive(Clone, Debug)]
pub(crate) struct PlannedSets {
    pub(crate) plan: Plan,
    /// What each aggregation is of the cells.
    pub(crate) shapes: Vec<Shape>,
    /// The tables that were measured, where least squares makes those agree.
    pub(crate) agreeing: Option<Agreeing>,
    /// The variance of the numbers of each aggregation.
    variances: Vec<f64>,
}

/// The noise on the numbers of one of several tables that are planned together.
#[derive(Clone, Debug)]
pub(crate) struct SharedNoise {
    pub(crate) mechanism: Arc<PlannedTables>,
    pub(crate) accuracy: Accuracy,
}

/// How far off sets of groups are, each way: the root of the mean of their variances, all sets weighted alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SetErrors {
    pub(crate) together: f64,
    pub(crate) apart: f64,
}

impl SetErrors {
    /// Whether they are planned together.
    pub(crate) fn is_less(self) -> bool {
        self.together < self.apart
    }

    /// What an answer says of sets that were.
    pub(crate) fn agree(self) -> String {
        format!(
            "all sets of groups share their noise, so totals are the sums of their parts. {}",
            self.words()
        )
    }

    /// By how much one way is better, for people.
    pub(crate) fn words(self) -> String {
        let (together, apart) = (significant(self.together, 3), significant(self.apart, 3));
        match self.is_less() {
            true => format!(
                "The expected error of a number is {together}, and would be {apart} with noise for each set by itself"
            ),
            false => format!(
                "The expected error of a number is {apart}, and would be {together} if they shared it"
            ),
        }
    }
}

impl PlannedSets {
    /// Plans the sets for what their parts may cost together. `None` where there is no such noise.
    pub(crate) fn new(sets: &Together, prices: &[Price], delta: &Delta, unit: &PrivacyUnit) -> Option<Self> {
        let parts = (0..sets.sets.len()).map(|place| 1usize.checked_shl(sets.telling(place).len() as u32));
        let parts = parts.sum::<Option<usize>>()?;
        if parts > MOST_PARTS {
            return None;
        }
        let epsilon = prices
            .iter()
            .fold(Rational::ZERO, |sum, price| sum + price.epsilon.as_rational());
        let epsilon = Epsilon::rounded_down(&epsilon).ok()?;
        let gaussian = Self::residuals(sets, &epsilon, delta, unit);
        let each =
            shapes(sets).and_then(|shapes| Self::with(sets, shapes, Promise::Pure(epsilon.clone()), unit));
        let laplace = Self::finest(sets, &epsilon, unit);
        let found = gaussian.into_iter().chain(each).chain(laplace);
        found.min_by(|one, other| one.error().total_cmp(&other.error()))
    }

    /// Gaussian noise on what each set adds to coarser ones. Weighted so that each set counts the same.
    fn residuals(sets: &Together, epsilon: &Epsilon, delta: &Delta, unit: &PrivacyUnit) -> Option<Self> {
        if *delta == Delta::ZERO {
            return None;
        }
        let multiplier = smallest_multiplier(epsilon, delta).ok()?;
        let rho = Rational::ONE / (&multiplier * &multiplier * Rational::from(2u8));
        let promise = Promise::Concentrated(Rho::rounded_down(&rho).ok()?);
        Self::with(sets, shapes(sets)?, promise, unit)
    }

    /// Laplace noise on the finest cells.
    fn finest(sets: &Together, epsilon: &Epsilon, unit: &PrivacyUnit) -> Option<Self> {
        let all: Vec<usize> = (0..sets.values.len())
            .filter(|key| sets.values[*key].len() > 1)
            .collect();
        let finest = Shape::of(&all).ok()?;
        Self::with(sets, vec![finest], Promise::Pure(epsilon.clone()), unit)
    }

    fn with(sets: &Together, mut measured: Vec<Shape>, promise: Promise, unit: &PrivacyUnit) -> Option<Self> {
        let attributes = sets.values.iter().enumerate().map(|(place, values)| {
            let size = u32::try_from(values.len()).ok()?;
            Attribute::new(format!("key {place}"), size).ok()
        });
        let domain = Domain::new(attributes.collect::<Option<_>>()?).ok()?;
        measured.sort();
        measured.dedup();
        if measured.iter().any(|shape| shape.cells(&domain) > MOST_CELLS) {
            return None;
        }
        let workload = Workload::listed(measured, &domain, Weights::Tables).ok()?;
        let plan = Plan::new(domain, workload, promise, 1, unit, Limits::default()).ok()?;
        let shapes = shapes(sets)?;
        let agreeing = match plan.is_gaussian() {
            true => None,
            false => {
                let agreeing = Agreeing {
                    sizes: sets.values.iter().map(Vec::len).collect(),
                    measured: measured_by(&plan)?,
                };
                let wanted: Vec<Vec<usize>> = shapes.iter().map(keys_of).collect();
                if agreeing.steps(&wanted)? > MOST_STEPS {
                    return None;
                }
                Some(agreeing)
            }
        };
        // What is whole already is not rounded.
        let rounds = agreeing.as_ref().is_none_or(|tables| tables.measured.len() > 1);
        let variance = |shape: &Shape| {
            let keys = keys_of(shape);
            let variance = match &agreeing {
                None => plan.variance(shape, &vec![0; keys.len()]).ok()?,
                Some(tables) => tables.variance(&keys)?,
            };
            let rounded = f64::from(1u32 << keys.len().min(31)) * OF_ROUNDING;
            Some(if rounds { variance + rounded } else { variance })
        };
        Some(Self {
            variances: shapes.iter().map(variance).collect::<Option<_>>()?,
            shapes,
            agreeing,
            plan,
        })
    }

    fn error(&self) -> f64 {
        root_mean(self.variances.iter().copied())
    }

    /// How far off the sets are together, and priced one by one.
    pub(crate) fn errors(&self, prices: &[Price]) -> SetErrors {
        let apart = prices.iter().flat_map(|price| &price.noise);
        SetErrors {
            together: self.error(),
            apart: root_mean(apart.map(|noise| noise.deviation().powi(2))),
        }
    }

    /// The noise of each aggregation.
    pub(crate) fn noise(&self) -> impl Iterator<Item = SharedNoise> {
        let mechanism = Arc::new(self.plan.mechanism().clone());
        self.variances.iter().map(move |variance| SharedNoise {
            mechanism: Arc::clone(&mechanism),
            // Of a sum of Laplace noises the tails are between those of one and those of a Gaussian, so those of one are taken.
            accuracy: match mechanism.is_gaussian() {
                true => Accuracy::Gaussian {
                    deviation: variance.sqrt(),
                },
                false => Accuracy::Laplace {
                    scale: variance.sqrt() / std::f64::consts::SQRT_2,
                },
            },
        })
    }
}

/// What each aggregation is of the cells.
fn shapes(sets: &Together) -> Option<Vec<Shape>> {
    let shapes = (0..sets.sets.len()).map(|place| Shape::of(&sets.telling(place)).ok());
    shapes.collect()
}

/// By which keys a table is.
pub(crate) fn keys_of(shape: &Shape) -> Vec<usize> {
    shape.axes().iter().map(|axis| axis.attribute.into()).collect()
}

/// The tables that a plan with Laplace noise measures, with the variance of each.
fn measured_by(plan: &Plan) -> Option<Vec<(Vec<usize>, f64)>> {
    let mut measured: Vec<Shape> = plan.shares().into_iter().map(|share| share.residual).collect();
    measured.sort();
    let known = measured.iter().map(|shape| {
        let keys = keys_of(shape);
        let variance = plan.variance(shape, &vec![0; keys.len()]).ok()?;
        Some((keys, variance.max(LEAST_VARIANCE)))
    });
    known.collect()
}

fn root_mean(variances: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = variances.fold((0.0, 0.0), |(sum, count), variance| (sum + variance, count + 1.0));
    (sum / count).sqrt()
}
