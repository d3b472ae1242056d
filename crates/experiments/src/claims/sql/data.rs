//! Small tables with a catalog, in folders that are gone afterwards.

use super::super::Fault;
use accounting::{Epsilon, Neighbors};
use ledger::{Place, Store};
use sql::blocking::Dataset;
use sql::{Answered, Catalog, Error, Explanation, QueryRequest};
use std::cell::Cell;
use tempfile::TempDir;

/// A table `data` of which each row is a person.
pub(super) struct Data {
    folder: TempDir,
    dataset: Dataset,
    /// How many ledgers were made.
    ledgers: Cell<u64>,
}

impl Data {
    /// `columns` are lines of a catalog; `budget` is what may be spent on one ledger.
    pub(super) fn new(csv: &str, columns: &str, neighbors: Neighbors, budget: &str) -> Result<Self, Fault> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("data.csv"), csv)?;
        let neighbors = match neighbors {
            Neighbors::AddRemove => "add_remove",
            Neighbors::ChangeOne => "change_one",
        };
        let catalog = format!(
            "name = \"reproduced\"\n\
             [unit]\nwhose = \"person\"\nneighbors = \"{neighbors}\"\n\
             [budget]\nepsilon = \"{budget}\"\n\
             [tables.data]\nsource = \"data.csv\"\neach_row = true\n\
             [tables.data.columns]\n{columns}"
        );
        let dataset = Dataset::new(Catalog::parse(&catalog, folder.path())?)?;
        Ok(Self {
            folder,
            dataset,
            ledgers: Cell::new(0),
        })
    }

    /// What a query would do at this ε.
    pub(super) fn explain(&self, sql: &str, epsilon: &str) -> Result<Explanation, Fault> {
        Ok(self.dataset.explain(&ask(sql, "reader", epsilon)?, 1000)?)
    }

    /// A ledger of its own, on which nothing was charged.
    pub(super) fn fresh_ledger(&self) -> Result<Store, Fault> {
        self.ledgers.set(self.ledgers.get() + 1);
        let place = self.folder.path().join(format!("ledger-{}", self.ledgers.get()));
        Ok(Store::open(&Place::File(place), &self.dataset.rules()?)?)
    }

    /// Asks, charged to this ledger. What is refused is distinguished from what went wrong.
    pub(super) fn ask(
        &self,
        store: &mut Store,
        analyst: &str,
        sql: &str,
        epsilon: &str,
    ) -> Result<Result<Answered, Error>, Fault> {
        Ok(self.dataset.query_with(&ask(sql, analyst, epsilon)?, store))
    }

    /// One number, as if nobody kept a ledger: the interval is around it.
    pub(super) fn once(&self, sql: &str, epsilon: &str) -> Result<(f64, f64, f64), Fault> {
        let answered = self.ask(&mut self.fresh_ledger()?, "reader", sql, epsilon)??;
        number(&answered)
    }
}

fn ask(sql: &str, analyst: &str, epsilon: &str) -> Result<QueryRequest, Fault> {
    Ok(QueryRequest {
        epsilon: Some(Epsilon::parse(epsilon)?),
        // The claims are about the question itself.
        cut_estimate: false,
        ..QueryRequest::new(sql, analyst)
    })
}

/// The first number of an answer, and the ends of its interval.
pub(super) fn number(answered: &Answered) -> Result<(f64, f64, f64), Fault> {
    let cell = answered.answer.rows.first().and_then(|row| row.first());
    let cell = cell.ok_or("an answer without a cell")?;
    let value = cell.value.as_f64().ok_or("an answer that is no number")?;
    Ok((
        value,
        cell.low.ok_or("no lower end")?,
        cell.high.ok_or("no upper end")?,
    ))
}

/// Rows of numbers as CSV with one column `x`.
pub(super) fn column(values: &[i64]) -> String {
    let lines: String = values.iter().map(|value| format!("{value}\n")).collect();
    format!("x\n{lines}")
}

/// P(G ≤ x) and P(G ≥ x) for a sum G of `count` exponentials of mean 1: G ≤ x when a Poisson process of rate
/// 1 has `count` points by x.
pub(super) fn sum_of_exponentials(count: u32, x: f64) -> (f64, f64) {
    let term = |points: u32| {
        let factorial: f64 = (1..=points).map(|point| f64::from(point).ln()).sum();
        (f64::from(points) * x.ln() - x - factorial).exp()
    };
    let most = count + 200 + (10.0 * x) as u32;
    let below = (count..most).map(term).sum();
    let above = (0..count).map(term).sum();
    (below, above)
}
