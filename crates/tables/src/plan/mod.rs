//! What is measured, with how much noise. Depends on declarations, never on data.

mod laplace;
mod memory;
mod optimum;
mod search;

use crate::scheme::{Kind, Scheme};
use crate::{Domain, Error, Measurements, Shape, Workload};
use accounting::{Event, PrivacyUnit, Promise};
use mechanism::{Aggregate, Cells, PlannedTables, Release, Request, Sensitive, Stated};
use search::Goal;

/// How much room there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that measurements and tables may take together.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 2 << 30 }
    }
}

/// A planned release.
#[derive(Clone, Debug)]
pub struct Plan {
    scheme: Scheme,
    workload: Workload,
    mechanism: PlannedTables,
    memory: u64,
}

/// What a wanted table will be like, before anything is charged.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Its shape.
    pub shape: Shape,
    /// How many numbers it has.
    pub cells: u64,
    /// The mean of the variances of its cells.
    pub mean_variance: f64,
    /// The largest variance of one of its cells, or a bound on it where cells are of too many kinds.
    pub worst_variance: f64,
}

/// Where the budget goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Which attributes, at which levels, are measured for what they add to coarser tables.
    pub residual: Shape,
    /// Its part of the cost, all parts adding up to 1.
    pub share: f64,
    /// The variance of the noise on one cell, before what coarser tables tell is taken away.
    pub variance: f64,
}

impl Plan {
    /// The best plan for this workload that keeps this promise to a unit that has at most `rows` rows.
    ///
    /// A pure promise is kept with Laplace noise on whole tables. Any other is kept with Gaussian noise on residuals, or with Laplace noise
    /// where that errs less, as it may for one small table.
    ///
    /// # Errors
    /// When a table asks for what the domain does not have, the promise allows no noise that a sampler has, or it would not fit in memory.
    pub fn new(
        domain: Domain,
        workload: Workload,
        promise: Promise,
        rows: u64,
        unit: &PrivacyUnit,
        limits: Limits,
    ) -> Result<Self, Error> {
        for wanted in workload.wanted() {
            wanted.shape.check(&domain)?;
        }
        let memory = memory::needed(&domain, &workload);
        if memory > limits.memory {
            return Err(memory::refusal(&domain, &workload, memory, limits.memory));
        }
        let goal = Goal {
            domain: &domain,
            workload: &workload,
            rows,
            neighbors: unit.neighbors,
        };
        let gaussian = match PlannedTables::squared_multiplier(&promise)? {
            None => None,
            Some(multiplier_squared) => Some(search::gaussian(&goal, promise.clone(), &multiplier_squared)?),
        };
        let epsilon = match &promise {
            Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => Some(epsilon.clone()),
            Promise::Concentrated(_) => None,
        };
        let laplace = match epsilon {
            // Many tables share ε so thinly that Laplace noise is not worth looking at.
            Some(epsilon) if gaussian.is_none() || workload.wanted().len() <= 64 => {
                Some(laplace::plan(&goal, &epsilon)?)
            }
            _ => None,
        };
        let (scheme, mechanism) = better(&workload, gaussian, laplace)?;
        Ok(Self {
            scheme,
            workload,
            mechanism,
            memory,
        })
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.scheme.domain
    }

    /// What was asked for.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// What runs, as data, for the ledger.
    pub fn event(&self) -> &Event {
        self.mechanism.terms().event()
    }

    /// What it promises alone.
    pub fn promise(&self) -> &Promise {
        self.mechanism.terms().promise()
    }

    /// The mechanism, for an account.
    pub fn mechanism(&self) -> &PlannedTables {
        &self.mechanism
    }

    /// Whether noise is Gaussian, or else Laplace.
    pub fn is_gaussian(&self) -> bool {
        self.scheme.kind == Kind::Gaussian
    }

    /// What each wanted table will be like, in the order of the workload.
    pub fn predicted(&self) -> Vec<Predicted> {
        let shapes = self.workload.wanted().iter().map(|wanted| &wanted.shape);
        shapes.map(|shape| predict(&self.scheme, shape)).collect()
    }

    /// The root of the mean of the variances of all numbers of all wanted tables, whatever their weights.
    pub fn root_mean_squared_error(&self) -> f64 {
        let (sum, count) = self.predicted().iter().fold((0.0, 0.0), |(sum, count), table| {
            let cells = table.cells as f64;
            (sum + cells * table.mean_variance, count + cells)
        });
        (sum / count).sqrt()
    }

    /// Whether a table of this shape follows from what is measured.
    pub fn covers(&self, shape: &Shape) -> bool {
        self.scheme.covers(shape)
    }

    /// The variance of one number of a table: any table that the plan covers, by its place on each axis.
    ///
    /// # Errors
    /// When the plan does not cover it.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn variance(&self, shape: &Shape, cell: &[usize]) -> Result<f64, Error> {
        let terms = self.scheme.terms(shape)?;
        Ok(terms.iter().map(|term| term.at(cell)).sum())
    }

    /// Where the budget goes, the largest part first.
    pub fn shares(&self) -> Vec<Share> {
        let costs = search::costs(&self.mechanism);
        let total: f64 = costs.iter().sum();
        let mut shares: Vec<Share> = self
            .scheme
            .sets
            .iter()
            .zip(&costs)
            .map(|(set, cost)| Share {
                residual: self.scheme.shape_of(&set.residual),
                share: cost / total,
                variance: set.variance,
            })
            .collect();
        shares.sort_by(|one, other| other.share.total_cmp(&one.share));
        shares
    }

    /// Bytes that measurements and the wanted tables take together.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The request to make of an [`Account`](mechanism::Account): it charges, then draws.
    ///
    /// `rows` in the plan is the claim about `cells`: under add/remove, one unit adds at most that many rows; under change-one it takes away
    /// at most that many and adds at most that many. Whoever bounded the rows makes that true.
    ///
    /// # Errors
    /// When the plan was made for units without rows.
    pub fn request(
        &self,
        cells: Sensitive<Cells>,
        unit: PrivacyUnit,
    ) -> Result<Request<Cells, PlannedTables>, Error> {
        let input = Aggregate::of_rows(cells, self.mechanism.rows(), unit)?;
        Ok(Request::new(self.mechanism.clone(), input))
    }

    /// What was released, as measurements.
    ///
    /// # Errors
    /// When it was released by another plan.
    pub fn measurements(&self, released: Release<Vec<Vec<i64>>>) -> Result<Measurements, Error> {
        self.measured(released.into_value())
    }

    /// Measurements of this plan with these values, such as a ledger kept them.
    ///
    /// # Errors
    /// When there are not as many as the plan measures.
    pub fn measured(&self, values: Vec<Vec<i64>>) -> Result<Measurements, Error> {
        let sets = &self.scheme.sets;
        let fits = values.len() == sets.len()
            && sets
                .iter()
                .zip(&values)
                .all(|(set, values)| self.scheme.released(set) == values.len());
        if !fits {
            return Err(Error::OtherPlan);
        }
        let wanted = self.workload.wanted().iter().map(|wanted| wanted.shape.clone());
        Ok(Measurements {
            scheme: self.scheme.clone(),
            wanted: wanted.collect(),
            values,
        })
    }
}

/// A scheme and its mechanism.
type Found = (Scheme, PlannedTables);

/// Whichever errs less, by the objective.
fn better(workload: &Workload, one: Option<Found>, other: Option<Found>) -> Result<Found, Error> {
    let error = |found: &Found| {
        let tables = workload.wanted().iter().map(|wanted| {
            let predicted = predict(&found.0, &wanted.shape);
            match workload.objective() {
                crate::Objective::Sum => wanted.weight * predicted.mean_variance * predicted.cells as f64,
                crate::Objective::Worst => wanted.weight * predicted.worst_variance,
            }
        });
        match workload.objective() {
            crate::Objective::Sum => tables.sum(),
            crate::Objective::Worst => tables.fold(0.0, f64::max),
        }
    };
    match (one, other) {
        (Some(one), Some(other)) => Ok(if error(&other) < error(&one) { other } else { one }),
        (Some(found), None) | (None, Some(found)) => Ok(found),
        (None, None) => Err(Error::BadPromise {
            what: "no noise keeps this promise",
            hint: "give a positive ε, with δ or without, or a positive ρ",
        }),
    }
}

/// More kinds of cells than this are bounded and not enumerated.
const MOST_KINDS: usize = 1 << 16;

fn predict(scheme: &Scheme, shape: &Shape) -> Predicted {
    let terms = scheme.terms(shape).expect("a plan covers what was wanted");
    let cells = shape.cells(&scheme.domain);
    let mean = |factors: &Vec<f64>| factors.iter().sum::<f64>() / factors.len() as f64;
    let mean_variance = terms
        .iter()
        .map(|term| term.variance * term.factors.iter().map(mean).product::<f64>())
        .sum();
    Predicted {
        shape: shape.clone(),
        cells,
        mean_variance,
        worst_variance: worst(&terms),
    }
}

/// The largest variance: cells whose factors are equal on an axis are of one kind.
fn worst(terms: &[crate::table::Term]) -> f64 {
    let axes = terms.first().map_or(0, |term| term.factors.len());
    let kinds: Vec<Vec<usize>> = (0..axes)
        .map(|axis| {
            let profile = |place: usize| -> Vec<u64> {
                terms
                    .iter()
                    .map(|term| term.factors[axis][place].to_bits())
                    .collect()
            };
            let mut seen = std::collections::BTreeSet::new();
            (0..terms[0].factors[axis].len())
                .filter(|place| seen.insert(profile(*place)))
                .collect()
        })
        .collect();
    let count = kinds
        .iter()
        .fold(1usize, |product, kinds| product.saturating_mul(kinds.len()));
    if count > MOST_KINDS {
        let most = |factors: &Vec<f64>| factors.iter().copied().fold(0.0, f64::max);
        return terms
            .iter()
            .map(|term| term.variance * term.factors.iter().map(most).product::<f64>())
            .sum();
    }
    let largest: Vec<usize> = kinds.iter().map(|kinds| kinds.len() - 1).collect();
    crate::scheme::all_below(&largest)
        .iter()
        .map(|choice| {
            let cell: Vec<usize> = choice
                .iter()
                .zip(&kinds)
                .map(|(place, kinds)| kinds[*place])
                .collect();
            terms.iter().map(|term| term.at(&cell)).sum()
        })
        .fold(0.0, f64::max)
}
