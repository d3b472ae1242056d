//! What is measured, with how much noise. Depends on declarations, never on data.

use crate::{Domain, Error, Measurements, Shape, Workload};
use accounting::{Event, PrivacyUnit, Promise};
use mechanism::{Aggregate, Cells, PlannedTables, Release, Request, Sensitive};

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
    domain: Domain,
    workload: Workload,
    mechanism: PlannedTables,
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
    /// The largest variance of one of its cells.
    pub worst_variance: f64,
}

/// Where the budget goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Which attributes, at which levels, are measured for what they add to coarser tables.
    pub residual: Shape,
    /// Its part of the cost, all parts adding up to 1.
    pub share: f64,
    /// The variance of the noise on one cell.
    pub variance: f64,
}

impl Plan {
    /// The best plan for this workload that keeps this promise to a unit that has at most `rows` rows.
    ///
    /// A pure promise is kept with Laplace noise on each table, any other with Gaussian noise on residuals.
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
        let _ = (&domain, &workload, promise, rows, unit, limits);
        todo!("under construction")
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// What was asked for.
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// What runs, as data, for the ledger.
    pub fn event(&self) -> &Event {
        use mechanism::Stated;
        self.mechanism.terms().event()
    }

    /// What it promises alone.
    pub fn promise(&self) -> &Promise {
        use mechanism::Stated;
        self.mechanism.terms().promise()
    }

    /// The mechanism, for an account.
    pub fn mechanism(&self) -> &PlannedTables {
        &self.mechanism
    }

    /// What each wanted table will be like, in the order of the workload.
    pub fn predicted(&self) -> Vec<Predicted> {
        todo!("under construction")
    }

    /// The variance of one number of a table: any table that the plan covers, by its codes on each axis.
    ///
    /// # Errors
    /// When the plan does not cover it.
    pub fn variance(&self, shape: &Shape, cell: &[usize]) -> Result<f64, Error> {
        let _ = (shape, cell);
        todo!("under construction")
    }

    /// Where the budget goes, the largest part first.
    pub fn shares(&self) -> Vec<Share> {
        todo!("under construction")
    }

    /// Bytes that measurements and the wanted tables take together.
    pub fn memory(&self) -> u64 {
        todo!("under construction")
    }

    /// The request to make of an [`Account`](mechanism::Account): it charges, then draws.
    ///
    /// `rows` in the plan is the claim about `cells`: under add/remove, one unit adds at most that many rows; under change-one it takes away
    /// at most that many and adds at most that many. Whoever bounded the rows makes that true.
    ///
    /// # Errors
    /// When the unit has other neighbours than those that the plan was made for.
    pub fn request(
        &self,
        cells: Sensitive<Cells>,
        unit: PrivacyUnit,
    ) -> Result<Request<Cells, PlannedTables>, Error> {
        let input = Aggregate::of_rows(cells, self.mechanism.rows(), unit)?;
        Ok(Request::new(self.mechanism.clone(), input))
    }

    /// What was released, as measurements.
    pub fn measurements(&self, released: &Release<Vec<Vec<i64>>>) -> Measurements {
        self.measured(released.value().clone())
    }

    /// Measurements of this plan with these values, such as a ledger kept them.
    pub fn measured(&self, values: Vec<Vec<i64>>) -> Measurements {
        let _ = values;
        todo!("under construction")
    }
}
