//! A query, understood and priced, before anything is spent or read.

use crate::aggregation::{Aggregation, Measure, Selection};
use crate::catalog::Catalog;
use crate::frontier::{self, Split};
use crate::planner::{Planned, Planner};
use crate::price::{Price, price};
use crate::relation::unplannable;
use crate::saved::Piece;
use crate::{Error, same};
use accounting::{Delta, Epsilon};
use datafusion::logical_expr::LogicalPlan;
use exact::Rational;
use mechanism::{Charge, Stated};
use std::collections::BTreeSet;

/// What is asked, by whom, and for how much.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The SQL.
    pub sql: String,
    /// Who asks.
    pub analyst: String,
    /// What it may cost, where the SQL does not say; else the catalog's default.
    pub epsilon: Option<Epsilon>,
    /// Likewise.
    pub delta: Option<Delta>,
}

impl Ask {
    /// A question with nothing but its SQL, asked by `analyst`.
    pub fn new(sql: impl Into<String>, analyst: impl Into<String>) -> Self {
        Self {
            sql: sql.into(),
            analyst: analyst.into(),
            epsilon: None,
            delta: None,
        }
    }
}

/// A query, understood and priced.
#[derive(Debug)]
pub(crate) struct Question {
    /// The plan as the query wrote it.
    pub(crate) written: LogicalPlan,
    pub(crate) split: Split,
    pub(crate) prices: Vec<Price>,
    /// The δ of all its releases together.
    pub(crate) delta: Delta,
    /// What the ledger will say it was for.
    pub(crate) purpose: String,
}

impl Question {
    /// Understands and prices. Reads no data, and depends on none.
    pub(crate) async fn new(ask: &Ask, catalog: &Catalog, planner: &Planner) -> Result<Self, Error> {
        let Planned { plan, selects } = planner.plan(&ask.sql, catalog).await?;
        let split = frontier::split(&plan, &selects, catalog)?;
        let (prices, delta) = prices(&split.aggregations, ask, None, catalog)?;
        Ok(Self {
            written: plan,
            split,
            prices,
            delta,
            purpose: ask.sql.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }

    /// What everything together will cost.
    pub(crate) fn charge(&self, catalog: &Catalog) -> Result<Charge, Error> {
        Ok(Charge::for_all(
            &self.mechanisms(),
            &catalog.unit,
            &self.delta,
            &self.purpose,
        )?)
    }

    /// What it would cost for another ε. Where every SELECT states its own, none takes more than this.
    pub(crate) fn for_epsilon(
        &self,
        ask: &Ask,
        epsilon: &Epsilon,
        catalog: &Catalog,
    ) -> Result<Charge, Error> {
        let ask = Ask {
            epsilon: Some(epsilon.clone()),
            ..ask.clone()
        };
        let most = self.states_its_price().then_some(epsilon);
        let (prices, delta) = prices(&self.split.aggregations, &ask, most, catalog)?;
        let mechanisms: Vec<&dyn Stated> = prices
            .iter()
            .flat_map(|price| price.noise.iter().map(|noise| noise.stated()))
            .collect();
        Ok(Charge::for_all(
            &mechanisms,
            &catalog.unit,
            &delta,
            &self.purpose,
        )?)
    }

    /// Whether every SELECT of it says what it may cost.
    pub(crate) fn states_its_price(&self) -> bool {
        let mut parts = self.split.aggregations.iter();
        parts.all(|aggregation| aggregation.options.epsilon.is_some())
    }

    /// The mechanisms, in the order of the reservation.
    pub(crate) fn mechanisms(&self) -> Vec<&dyn Stated> {
        self.prices
            .iter()
            .flat_map(|price| price.noise.iter().map(|noise| noise.stated()))
            .collect()
    }

    /// Where an aggregation's mechanisms begin.
    pub(crate) fn first(&self, aggregation: usize) -> usize {
        self.prices[..aggregation]
            .iter()
            .map(|price| price.noise.len())
            .sum()
    }

    /// What its parts release, in the order of the aggregations.
    pub(crate) fn pieces(&self, catalog: &Catalog) -> Vec<Piece<'_>> {
        let parts = self.split.aggregations.iter().zip(&self.split.marks);
        parts
            .zip(&self.prices)
            .map(|((aggregation, marks), price)| Piece {
                aggregation,
                price,
                marks,
                mark: marks.release(aggregation, price, catalog),
            })
            .collect()
    }

    /// What makes two questions the same: what they release, of which version of the data, and for how much. Not who asks, not how it is written, and not
    /// what is done with what is released.
    pub(crate) fn digest(&self, catalog: &Catalog) -> String {
        let pieces = self.pieces(catalog);
        same::together(pieces.iter().map(|piece| piece.mark).collect()).hexadecimal()
    }

    /// The question as it is written, to the letter, but for white space.
    pub(crate) fn as_written(&self) -> Result<same::Mark, Error> {
        same::as_written(&self.written).map_err(unplannable)
    }

    /// What the intervals do not cover, for people.
    pub(crate) fn notes(&self, catalog: &Catalog) -> Vec<String> {
        let whose = &catalog.unit.whose;
        let mut notes = Vec::new();
        for (aggregation, price) in self.split.aggregations.iter().zip(&self.prices) {
            let groups = &aggregation.groups;
            if groups.sampled {
                notes.push(format!(
                    "a {whose} in more than {} groups counts in {} of them, chosen by chance: totals may be too low",
                    groups.per_unit, groups.per_unit
                ));
            }
            if let Some(threshold) = price.noise.iter().find_map(|noise| noise.threshold()) {
                notes.push(format!(
                    "groups of fewer than about {threshold} {whose}s do not appear: their names are private"
                ));
            } else if !aggregation.keys.is_empty() && matches!(groups.selection, Selection::Listed(_)) {
                notes.push(
                    "all declared groups appear, empty ones included; values that are not declared do not"
                        .to_owned(),
                );
            }
            for statistic in &aggregation.statistics {
                // Squares are an inner matter of variances.
                let inner = statistic.name.contains("squares of");
                if let Some(note) = clamped(&statistic.measure, whose, aggregation).filter(|_| !inner) {
                    notes.push(note);
                }
            }
        }
        let mut seen = BTreeSet::new();
        notes.retain(|note| seen.insert(note.clone()));
        notes
    }
}

fn clamped(measure: &Measure, whose: &str, aggregation: &Aggregation) -> Option<String> {
    let many = aggregation.rows.rows_per_unit != Some(1);
    match measure {
        Measure::Sum { argument, .. } | Measure::Mean { argument, .. } => {
            let size = argument.steps.size();
            let (low, high) = (argument.low as f64 * size, argument.high as f64 * size);
            Some(format!("values are clamped to {low}..{high} before they count"))
        }
        Measure::Tree { range, .. } => Some(format!(
            "quantiles are read from a tree over {}..{}; values outside count at its ends",
            range.low, range.high
        )),
        Measure::Rows { most } | Measure::Present { most, .. } if many => {
            Some(format!("at most {most} rows of one {whose} count in a group"))
        }
        Measure::Distinct { most, .. } if many => Some(format!(
            "at most {most} different values of one {whose} count in a group"
        )),
        _ => None,
    }
}

/// The price of each aggregation, and the δ of all. What a SELECT states itself is cut to `most`.
fn prices(
    aggregations: &[Aggregation],
    ask: &Ask,
    most: Option<&Epsilon>,
    catalog: &Catalog,
) -> Result<(Vec<Price>, Delta), Error> {
    let silent = aggregations
        .iter()
        .filter(|one| one.options.epsilon.is_none())
        .count()
        .max(1);
    let part = Rational::ONE / Rational::from(silent as u64);
    let default_epsilon = ask
        .epsilon
        .clone()
        .or_else(|| catalog.budget.query_epsilon.clone());
    let default_delta = match &ask.delta {
        Some(delta) => delta.clone(),
        None if catalog.budget.delta == Delta::ZERO => Delta::ZERO,
        None => catalog.budget.query_delta.clone(),
    };
    let parts = Rational::ONE / Rational::from(aggregations.len().max(1) as u64);
    let shared_delta = Delta::rounded_down(&(default_delta.as_rational() * parts))?;
    let mut prices = Vec::new();
    let mut total = Delta::ZERO;
    for aggregation in aggregations {
        let epsilon = match (&aggregation.options.epsilon, &default_epsilon) {
            (Some(stated), _) => {
                let stated = Epsilon::parse(stated)?;
                match most {
                    Some(most) => stated.min(most.clone()),
                    None => stated,
                }
            }
            (None, Some(default)) => Epsilon::rounded_down(&(default.as_rational() * &part))?,
            (None, None) => {
                return Err(Error::refused(
                    "nothing says how much this query may cost",
                    "pass --epsilon 0.5, write OPTIONS(epsilon = 0.5), or set `epsilon` under [budget.query] in the catalog",
                ));
            }
        };
        let delta = match &aggregation.options.delta {
            Some(stated) => Delta::parse(stated)?,
            None => shared_delta.clone(),
        };
        total = total.plus(&delta)?;
        prices.push(price(aggregation, &epsilon, &delta, &catalog.unit)?);
    }
    Ok((prices, total))
}
