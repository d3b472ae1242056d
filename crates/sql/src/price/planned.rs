//! What a planned release measures, costs and will be like, before a row is read.

use crate::Error;
use crate::catalog::{Catalog, Objective, PlannedRelease, ReleasePrice};
use crate::price::question::Claims;
use crate::price::{check_size, quantity};
use crate::understand::tabulation::{Tabulation, labels_of};
use accounting::{Delta, Epsilon, PrivacyUnit, Promise, Rho, smallest_multiplier};
use exact::{Rational, to_f64_nearest};
use mechanism::{Charge, Stated};
use sha2::{Digest, Sha256};
use tables::{Attribute, Axis, Domain, Limits, Plan, Predicted, Shape, Wanted, Workload};

/// More noisy numbers than this are not kept: a ledger is no warehouse.
const MOST_NUMBERS: u64 = 5_000_000;

/// Which way of measuring a saved release is of: raised when the same declaration comes to mean something else.
const MEANING: &str = "1";

/// A coarser level of an attribute, as a public table tells it.
#[derive(Clone, Debug)]
pub(crate) struct PublicLevel {
    pub(crate) name: String,
    pub(crate) labels: Vec<String>,
    /// For each value of the level below, its parent here.
    pub(crate) parents: Vec<u32>,
}

/// A release as it is declared, with all that is known before its noise is chosen.
#[derive(Clone, Debug)]
pub(crate) struct DeclaredRelease {
    pub(crate) release: PlannedRelease,
    pub(crate) tabulation: Tabulation,
    pub(crate) domain: Domain,
    workload: Workload,
}

impl DeclaredRelease {
    /// Puts together what is declared. `levels` are those of each attribute, from the next to the finest up.
    ///
    /// # Errors
    /// When a level is none, or a unit would count more than is charged.
    pub(crate) fn new(
        release: PlannedRelease,
        tabulation: Tabulation,
        levels: &[Vec<PublicLevel>],
        catalog: &Catalog,
    ) -> Result<Self, Error> {
        tabulation.check(catalog.unit.neighbors)?;
        let domain = domain(&release, levels)?;
        let workload = workload(&release, &domain)?;
        Ok(Self {
            release,
            tabulation,
            domain,
            workload,
        })
    }

    /// How many tables it has, and how many cells they have together.
    pub(crate) fn size(&self) -> (u64, u64) {
        let tables = self.workload.wanted();
        let cells = tables.iter().map(|table| table.shape.cells(&self.domain));
        (tables.len() as u64, cells.fold(0, u64::saturating_add))
    }

    /// What makes two releases the same: what is measured of which version of the data, and for how much. Not what the release is called.
    pub(crate) fn digest(&self, catalog: &Catalog) -> String {
        let release = &self.release;
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        add("planned release");
        add(MEANING);
        add(&catalog.unit.to_string());
        add(&release.table);
        add(release.condition.as_deref().unwrap_or_default());
        // A condition may name other tables, and the day of the data.
        for (name, table) in &catalog.tables {
            add(name);
            add(&catalog.version_of(table));
        }
        add(&catalog.data.day().unwrap_or_default());
        for attribute in &release.attributes {
            add(&attribute.column);
            add(&format!("{:?}", attribute.cells));
        }
        let declared = serde_json::json!([self.domain, self.workload]);
        add(&declared.to_string());
        add(&format!("{:?}", release.price));
        add(&self.tabulation.rows.to_string());
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Chooses the noise.
    ///
    /// # Errors
    /// When the release does not fit in memory or in the ledger, or there is no noise for its price.
    pub(crate) fn planned(self, catalog: &Catalog) -> Result<ReleasePlan, Error> {
        let (promise, delta) = promise(&self.release.price, self.workload.wanted().len())?;
        let plan = Plan::new(
            self.domain.clone(),
            self.workload.clone(),
            promise,
            self.tabulation.rows,
            &catalog.unit,
            Limits::default(),
        );
        let planned = ReleasePlan {
            plan: plan.map_err(refused)?,
            declared: self,
            delta,
        };
        planned.check_size()?;
        Ok(planned)
    }
}

/// A release with its plan.
#[derive(Clone, Debug)]
pub(crate) struct ReleasePlan {
    pub(crate) declared: DeclaredRelease,
    pub(crate) plan: Plan,
    /// The δ for which its cost is told.
    pub(crate) delta: Delta,
}

impl ReleasePlan {
    /// The same for another price.
    ///
    /// # Errors
    /// When there is no noise for it.
    pub(crate) fn for_price(&self, price: ReleasePrice, catalog: &Catalog) -> Result<Self, Error> {
        let mut declared = self.declared.clone();
        declared.release.price = price;
        declared.planned(catalog)
    }

    /// What the ledger will say it was for.
    pub(crate) fn purpose(&self) -> String {
        format!(
            "release {} of {}",
            self.declared.release.name, self.declared.release.table
        )
    }

    /// What the plans of its pass are held against. All its tables are one release of the counts of cells.
    pub(crate) fn claims(&self, catalog: &Catalog) -> Result<Claims<'_>, Error> {
        let mechanism = self.plan.mechanism();
        Ok(Claims {
            aggregations: std::slice::from_ref(&self.declared.tabulation.aggregation),
            drawn: vec![vec![(mechanism.terms().sensitivity(), mechanism as &dyn Stated)]],
            charge: self.charge(&catalog.unit)?,
        })
    }

    /// What it will cost.
    pub(crate) fn charge(&self, unit: &PrivacyUnit) -> Result<Charge, Error> {
        let charge = Charge::for_all(&[self.plan.mechanism()], unit, &self.delta, &self.purpose());
        charge.map_err(|error| quantity(error.into()))
    }

    /// That the ledger can keep what is measured: nothing that is paid for is lost.
    fn check_size(&self) -> Result<(), Error> {
        let numbers = self.plan.shares().iter().fold(0u64, |sum, share| {
            sum.saturating_add(share.residual.cells(self.plan.domain()))
        });
        if numbers <= MOST_NUMBERS {
            return Ok(());
        }
        Err(Error::refused(
            format!(
                "the release `{}` measures {numbers} numbers, and a ledger keeps at most {MOST_NUMBERS} of one release",
                self.declared.release.name
            ),
            "lower `up_to`, list fewer `marginals`, or use wider bins; nothing was charged",
        ))
    }

    /// The tables, as the plan predicts them, in the order of the release.
    pub(crate) fn predicted(&self) -> Vec<Predicted> {
        self.plan.predicted()
    }

    /// What a table is called: the levels that it is by.
    pub(crate) fn name_of(&self, shape: &Shape) -> String {
        name_of(self.plan.domain(), shape)
    }

    /// The standard deviation of a cell if all tables were asked one by one, for equal parts of the same ρ.
    pub(crate) fn deviation_one_by_one(&self) -> Option<f64> {
        let accounting::Event::Gaussian {
            multiplier_squared, ..
        } = self.plan.event()
        else {
            return None;
        };
        let tables = self.plan.workload().wanted().len() as f64;
        let multiplier_squared = to_f64_nearest(multiplier_squared.as_rational());
        // Of one table a unit moves as many cells as it has rows, all of them one and the same at worst; where it is changed, as many go and as many come.
        let moved = self.moved_squared();
        Some((multiplier_squared * moved * tables).sqrt())
    }

    fn moved_squared(&self) -> f64 {
        use mechanism::Stated;
        to_f64_nearest(self.plan.mechanism().terms().sensitivity().l2_squared())
    }
}

/// What a table is called: the levels that it is by.
pub(crate) fn name_of(domain: &Domain, shape: &Shape) -> String {
    let names: Vec<&str> = shape.axes().iter().map(|axis| axis_name(domain, *axis)).collect();
    match names.is_empty() {
        true => "total".to_owned(),
        false => names.join(" × "),
    }
}

/// What an axis of a table is called: its attribute, or a coarser level of it.
pub(crate) fn axis_name(domain: &Domain, axis: Axis) -> &str {
    let attribute = &domain.attributes()[usize::from(axis.attribute)];
    attribute.levels()[usize::from(axis.level)].name()
}

/// What the planner says, as a refusal.
pub(crate) fn refused(error: tables::Error) -> Error {
    let text = error.to_string();
    let (what, hint) = text
        .split_once("\nhint: ")
        .unwrap_or((&text, "see `deniable tables --help`"));
    Error::refused(what, format!("{hint}; nothing was charged"))
}

fn domain(release: &PlannedRelease, levels: &[Vec<PublicLevel>]) -> Result<Domain, Error> {
    let mut attributes = Vec::new();
    for (place, declared) in release.attributes.iter().enumerate() {
        let mut attribute =
            Attribute::with_labels(&declared.name, labels_of(&declared.cells)).map_err(refused)?;
        if declared.cells.edges().is_some() || declared.kind.is_number() {
            attribute = attribute.ordered();
        }
        for level in levels.get(place).map(Vec::as_slice).unwrap_or_default() {
            let size = u32::try_from(level.labels.len()).unwrap_or(u32::MAX);
            let with = attribute.with_level(
                &level.name,
                size,
                level.parents.clone(),
                Some(level.labels.clone()),
            );
            attribute = with.map_err(refused)?;
        }
        attributes.push(attribute);
    }
    Domain::new(attributes).map_err(refused)
}

/// The wanted tables: each by all levels of its attributes.
fn workload(release: &PlannedRelease, domain: &Domain) -> Result<Workload, Error> {
    let mut wanted = Vec::new();
    for marginal in &release.marginals {
        let mut shapes: Vec<Vec<Axis>> = vec![Vec::new()];
        for place in &marginal.attributes {
            let levels = domain.attributes()[*place].levels().len();
            shapes = (0..levels)
                .rev()
                .flat_map(|level| {
                    shapes.iter().map(move |axes| {
                        let mut axes = axes.clone();
                        axes.push(Axis::at(*place, level));
                        axes
                    })
                })
                .collect();
        }
        for axes in shapes {
            wanted.push(Wanted {
                shape: Shape::new(axes).map_err(refused)?,
                weight: to_f64_nearest(&marginal.weight),
            });
        }
    }
    let objective = match release.objective {
        Objective::Sum => tables::Objective::Sum,
        Objective::Worst => tables::Objective::Worst,
    };
    let workload = Workload::new(wanted).map_err(refused)?;
    Ok(workload.minimizing(objective))
}

/// What the plan keeps, and the δ for which its cost is told.
///
/// Several tables share their noise, so that they agree: that noise is Gaussian, and as much as (ε, δ) needs of it is a ρ. One table alone may have the noise that errs less.
fn promise(price: &ReleasePrice, tables: usize) -> Result<(Promise, Delta), Error> {
    Ok(match price {
        ReleasePrice::Approximate(epsilon, delta) if *delta == Delta::ZERO => {
            (Promise::Pure(epsilon.clone()), Delta::ZERO)
        }
        ReleasePrice::Approximate(epsilon, delta) if tables == 1 => (
            Promise::Approximate(epsilon.clone(), delta.clone()),
            delta.clone(),
        ),
        ReleasePrice::Approximate(epsilon, delta) => {
            check_size(epsilon, delta).map_err(quantity)?;
            let multiplier = smallest_multiplier(epsilon, delta)?;
            let rho = Rational::ONE / (&multiplier * &multiplier * Rational::from(2u8));
            (Promise::Concentrated(Rho::rounded_down(&rho)?), delta.clone())
        }
        ReleasePrice::Concentrated(rho, delta) => (Promise::Concentrated(rho.clone()), delta.clone()),
    })
}

/// The same price with another ε.
pub(crate) fn with_epsilon(price: &ReleasePrice, epsilon: &Epsilon) -> ReleasePrice {
    let (ReleasePrice::Approximate(_, delta) | ReleasePrice::Concentrated(_, delta)) = price;
    ReleasePrice::Approximate(epsilon.clone(), delta.clone())
}
