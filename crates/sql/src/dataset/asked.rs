//! Models and rows as programs ask for them: objects of JSON, the same from Python and over HTTP.

use crate::Error;
use crate::catalog::{Catalog, Owner};
use crate::dataset::regression::{RegressionRequest, TestOf};
use crate::dataset::synthetic::{MODEL_CELLS, SynthesisRequest};
use accounting::{Delta, Epsilon};
use regression::Family;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use synthesis::Method;

/// Which model or test somebody wants. Numbers of a guarantee are decimals in text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegressionAsked {
    /// The formula: `income ~ age + education`.
    pub formula: String,
    /// The table; where it is not said, that of the release, or the only private one.
    #[serde(default)]
    pub table: Option<String>,
    /// What the response is like.
    #[serde(default)]
    pub family: Family,
    /// A test in place of a model.
    #[serde(default)]
    pub test: Option<AskedTest>,
    /// The two groups that a test compares, where there are more.
    #[serde(default)]
    pub groups: Option<(String, String)>,
    /// Only rows that fulfil this SQL condition count.
    #[serde(default, rename = "where")]
    pub condition: Option<String>,
    /// For some factors, the value that others are compared with.
    #[serde(default)]
    pub references: BTreeMap<String, String>,
    /// For some numbers, how wide their bins are, where rows are counted by them.
    #[serde(default)]
    pub bins: BTreeMap<String, f64>,
    /// A planned release that was made: then nothing is charged.
    #[serde(default)]
    pub release: Option<String>,
    /// What it may cost; else the catalog's default.
    #[serde(default)]
    pub epsilon: Option<String>,
    /// Likewise.
    #[serde(default)]
    pub delta: Option<String>,
}

/// A test, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedTest {
    /// Whether two columns are independent.
    Independence,
    /// Whether a share is the same in two groups.
    Proportions,
    /// Whether a mean is the same in two groups.
    Means,
}

impl RegressionAsked {
    /// The request, of this analyst.
    ///
    /// # Errors
    /// When a number cannot be used, or it is not clear which table is meant.
    pub fn request(&self, catalog: &Catalog, analyst: &str) -> Result<RegressionRequest, Error> {
        let table = table_of_model(catalog, self.table.as_deref(), self.release.as_deref())?;
        let groups = self.groups.clone();
        let test = self.test.map(|test| match test {
            AskedTest::Independence => TestOf::Independence,
            AskedTest::Proportions => TestOf::Proportions(groups),
            AskedTest::Means => TestOf::Means(groups),
        });
        if test.is_none() && self.groups.is_some() {
            return Err(Error::refused(
                "two groups are named, and there is no test that compares them",
                "say which test, or leave the groups out",
            ));
        }
        Ok(RegressionRequest {
            family: self.family,
            test,
            condition: self.condition.clone(),
            references: self.references.clone().into_iter().collect(),
            bins: self.bins.clone().into_iter().collect(),
            release: self.release.clone(),
            epsilon: self.epsilon.as_deref().map(Epsilon::parse).transpose()?,
            delta: self.delta.as_deref().map(Delta::parse).transpose()?,
            ..RegressionRequest::new(&self.formula, table, analyst)
        })
    }
}

/// A hint that is written for the command line, with its options as the keywords that programs use.
pub fn keywords_for_options(hint: &str) -> String {
    const WORDS: [(&str, &str); 16] = [
        ("--epsilon 1", "epsilon=1"),
        ("--delta 1e-9", "delta=1e-9"),
        ("a smaller --epsilon", "a smaller epsilon"),
        (
            "--workload age,income for one table by both; repeat it for more",
            "workload=[[\"age\", \"income\"]] for one table by both",
        ),
        ("--bins COLUMN=WIDTH", "bins={\"age\": 10}"),
        ("--bins age=10", "bins={\"age\": 10}"),
        ("--where and --bins", "where and bins"),
        ("--bins ", "bins, "),
        ("--family logistic", "family=\"logistic\""),
        ("--groups ", "groups, "),
        ("with --columns", "with columns=[…]"),
        ("--release", "release"),
        ("--epsilon", "epsilon"),
        ("; group means are shown by --means", ""),
        (
            "see `deniable regress --help`",
            "the formula is R's: income ~ age + education",
        ),
        (
            "see `deniable synthesize --help`",
            "docs/synthetic-data.md says what rows are made of",
        ),
    ];
    WORDS.iter().fold(hint.to_owned(), |hint, (option, keyword)| {
        hint.replace(option, keyword)
    })
}

/// The table that is meant by whoever asks for a model: the one that is named, that of the release, or the only private one.
///
/// # Errors
/// When there are several.
pub fn table_of_model(
    catalog: &Catalog,
    table: Option<&str>,
    release: Option<&str>,
) -> Result<String, Error> {
    if let Some(table) = table {
        return Ok(table.to_lowercase());
    }
    if let Some(release) = release.and_then(|name| catalog.releases.get(name)) {
        return Ok(release.table.clone());
    }
    let tables = catalog.tables.iter();
    let private = tables.filter(|(_, table)| table.owner != Owner::Public);
    let names: Vec<&str> = private.map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [only] => Ok((*only).to_owned()),
        // The sample and most catalogs have one table of the units themselves.
        names if names.contains(&"people") => Ok("people".to_owned()),
        names => Err(Error::refused(
            "it is not said of which table",
            format!("name one: {}", names.join(", ")),
        )),
    }
}

/// Which synthetic rows somebody wants. Numbers of a guarantee are decimals in text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynthesisAsked {
    /// The private table.
    pub table: String,
    /// Only rows that fulfil this SQL condition count.
    #[serde(default, rename = "where")]
    pub condition: Option<String>,
    /// Its columns; none for all that have declared values or bounds.
    #[serde(default)]
    pub columns: Vec<String>,
    /// For some columns of numbers, how many bins of equal width they have.
    #[serde(default)]
    pub bins: BTreeMap<String, u32>,
    /// Tables that matter, each by some columns; none for all by three.
    #[serde(default)]
    pub workload: Vec<Vec<String>>,
    /// How tables are chosen that are measured.
    #[serde(default)]
    pub method: Method,
    /// How many cells the model may have.
    #[serde(default)]
    pub model_cells: Option<u64>,
    /// How many rows of one unit count, where the catalog does not say.
    #[serde(default)]
    pub rows_per_unit: Option<u64>,
    /// What it may cost; else the catalog's default.
    #[serde(default)]
    pub epsilon: Option<String>,
    /// Likewise.
    #[serde(default)]
    pub delta: Option<String>,
}

impl SynthesisAsked {
    /// The request, of this analyst.
    ///
    /// # Errors
    /// When a number cannot be used.
    pub fn request(&self, analyst: &str) -> Result<SynthesisRequest, Error> {
        Ok(SynthesisRequest {
            condition: self.condition.clone(),
            columns: self.columns.clone(),
            bins: self.bins.clone(),
            workload: self.workload.clone(),
            method: self.method,
            model_cells: self.model_cells.unwrap_or(MODEL_CELLS),
            rows_per_unit: self.rows_per_unit,
            epsilon: self.epsilon.as_deref().map(Epsilon::parse).transpose()?,
            delta: self.delta.as_deref().map(Delta::parse).transpose()?,
            ..SynthesisRequest::new(&self.table, analyst)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const CATALOG: &str = r#"
        name = "two"
        [unit]
        whose = "person"
        [budget]
        epsilon = 3
        delta = 1e-6
        [tables.visits]
        source = "visits.csv"
        unit = "person"
        rows_per_unit = 1
        [tables.visits.columns]
        person = { kind = "int" }
        cost = { kind = "int", bounds = [0, 100] }
        [tables.patients]
        source = "patients.csv"
        unit = "person"
        rows_per_unit = 1
        [tables.patients.columns]
        person = { kind = "int" }
        age = { kind = "int", bounds = [0, 100] }
    "#;

    #[test]
    fn what_programs_write_becomes_a_request() {
        let catalog = Catalog::parse(CATALOG, Path::new("")).unwrap();
        let asked: RegressionAsked = serde_json::from_str(
            r#"{"formula": "cost ~ 1", "table": "Visits", "test": "means", "groups": ["a", "b"], "where": "cost > 0",
                "references": {"sex": "f"}, "bins": {"age": 5}, "epsilon": "0.25"}"#,
        )
        .unwrap();
        let request = asked.request(&catalog, "ann").unwrap();
        assert_eq!(request.table, "visits");
        assert_eq!(
            request.test,
            Some(TestOf::Means(Some(("a".to_owned(), "b".to_owned()))))
        );
        assert_eq!(request.condition.as_deref(), Some("cost > 0"));
        assert_eq!(request.bins, [("age".to_owned(), 5.0)]);
        assert_eq!(request.epsilon, Some(Epsilon::parse("0.25").unwrap()));

        let unclear = RegressionAsked {
            formula: "cost ~ 1".to_owned(),
            ..RegressionAsked::default()
        };
        let refusal = unclear.request(&catalog, "ann").unwrap_err().to_string();
        assert!(refusal.contains("patients, visits"), "{refusal}");
        let without_test = RegressionAsked { test: None, ..asked };
        assert!(without_test.request(&catalog, "ann").is_err());
        assert!(serde_json::from_str::<RegressionAsked>(r#"{"formula": "a ~ b", "epsilom": "1"}"#).is_err());
    }

    #[test]
    fn rows_are_asked_for_with_the_defaults_of_the_command() {
        let asked: SynthesisAsked = serde_json::from_str(
            r#"{"table": "people", "method": "mst", "workload": [["age", "sex"]], "bins": {"age": 10}, "delta": "1e-9"}"#,
        )
        .unwrap();
        let request = asked.request("ann").unwrap();
        assert_eq!(request.method, Method::Mst);
        assert_eq!(request.model_cells, MODEL_CELLS);
        assert_eq!(request.delta, Some(Delta::parse("1e-9").unwrap()));
        let wrong = SynthesisAsked {
            epsilon: Some("much".to_owned()),
            ..asked
        };
        assert!(wrong.request("ann").is_err());
    }
}
