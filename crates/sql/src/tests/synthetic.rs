//! Synthetic rows: made of what the catalog declares and of what was charged, and of nothing else.

use crate::blocking::Dataset;
use crate::catalog::Catalog;
use crate::mutants::{Mutant, with};
use crate::values::facts::Value;
use crate::{Error, Stage, SynthesisRequest};
use accounting::{Delta, Epsilon};
use std::path::Path;
use synthesis::Method;

/// A catalog of a table whose people have several rows each.
fn catalog(directory: &Path, neighbors: &str) -> Catalog {
    let text = format!(
        "name = \"x\"\n[unit]\nwhose = \"person\"\nneighbors = \"{neighbors}\"\n[budget]\nepsilon = 100\ndelta = 1e-6\n[budget.query]\nepsilon = 1\ndelta = 1e-9\n\
         [tables.t]\nsource = \"t.csv\"\nunit = \"u\"\n[tables.t.limits]\nrows = 3\n[tables.t.columns]\nu = {{ kind = \"int\" }}\n\
         g = {{ kind = \"text\", values = [\"a\", \"b\", \"\"] }}\n\
         n = {{ kind = \"int\", bounds = [0, 999] }}\n\
         x = {{ kind = \"float\", bounds = [0, 2], nullable = false }}\n\
         day = {{ kind = \"date\", bounds = [\"2024-01-15\", \"2024-02-10\"], nullable = false }}\n\
         free = {{ kind = \"text\" }}\n"
    );
    Catalog::parse(&text, directory).unwrap_or_else(|error| panic!("{error}"))
}

fn write(directory: &Path, rows: &[(usize, &str, &str, &str, &str)]) {
    let mut text = "u,g,n,x,day,free\n".to_owned();
    for (person, g, n, x, day) in rows {
        text += &format!("{person},\"{g}\",{n},{x},{day},secret\n");
    }
    std::fs::write(directory.join("t.csv"), text).unwrap();
}

/// Forty people with three rows each.
fn many() -> Vec<(usize, &'static str, &'static str, &'static str, &'static str)> {
    (0..120)
        .map(|row| {
            let g = if row % 3 == 0 { "a" } else { "" };
            let n = ["10", "500", ""][row % 3];
            (row / 3, g, n, "0.5", "2024-01-31")
        })
        .collect()
}

fn wanted() -> SynthesisRequest {
    SynthesisRequest {
        model_cells: 20_000,
        epsilon: Epsilon::parse("2").ok(),
        ..SynthesisRequest::new("T", "ann")
    }
}

/// What rows will be made of is the same whatever the data, and whether there is any.
#[test]
fn cells_follow_from_the_catalog_alone() {
    let said = |rows: &[(usize, &str, &str, &str, &str)]| {
        let here = tempfile::tempdir().unwrap();
        write(here.path(), rows);
        let dataset = Dataset::new(catalog(here.path(), "add_remove")).unwrap();
        serde_json::json!(dataset.explain_synthesis(&wanted()).unwrap())
    };
    let data = many();
    let mut more = data.clone();
    more.push((77, "b", "998", "2", "2024-02-01"));
    assert_eq!(said(&data), said(&more));
    assert_eq!(said(&data), said(&[]));
    let found = with(Mutant::BinsOfData, || said(&data) != said(&more));
    assert!(found, "bins that follow from the data are noticed");
}

#[test]
fn rows_are_of_their_cells() {
    for (neighbors, method) in [
        ("add_remove", Method::Aim),
        ("change_one", Method::Mst),
        ("add_remove", Method::Independent),
    ] {
        // A ledger has one kind of neighbours.
        let here = tempfile::tempdir().unwrap();
        write(here.path(), &many());
        let catalog = catalog(here.path(), neighbors);
        let dataset = Dataset::new(catalog).unwrap();
        let asked = SynthesisRequest { method, ..wanted() };
        let made = dataset.synthesize(&asked, &mut |_| ()).unwrap();
        assert_eq!((made.rows_per_unit, made.repeated), (3, false));
        let rows = made.rows(Some(500)).unwrap();
        let names: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["g", "n", "x", "day"]);
        assert!(made.left_out.iter().any(|(name, _)| name == "free"));
        let fits = |value: &Value| match value {
            Value::Null => true,
            Value::Text(text) => ["a", "b", ""].contains(&text.as_str()),
            Value::Int(number) => (0..=999).contains(number),
            Value::Float(number) => (0.0..=2.0).contains(number),
            Value::Date(day) => (19_737..=19_763).contains(day),
            _ => false,
        };
        assert!(
            rows.columns
                .iter()
                .all(|column| column.values.len() == 500 && column.values.iter().all(fits))
        );
        assert_eq!(rows.to_batch().unwrap().num_rows(), 500);
        let csv = String::from_utf8(rows.to_csv()).unwrap();
        // An empty text has quotes, and NULL has none.
        assert!(csv.starts_with("g,n,x,day\n") && csv.lines().count() == 501 && !csv.contains("secret"));
        let mut file = Vec::new();
        rows.write_parquet(&mut file).unwrap();
        assert!(file.starts_with(b"PAR1"));
    }
}

/// Rows whose run ends after the charge and before noise was drawn are finished under it, and given again for nothing.
#[test]
fn rows_that_were_charged_and_not_made_are_finished_without_a_further_charge() {
    for (end, charged) in [(Stage::Charged, 1), (Stage::Measured, 1)] {
        let here = tempfile::tempdir().unwrap();
        write(here.path(), &many());
        let dataset = Dataset::new(catalog(here.path(), "add_remove")).unwrap();
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut watch = |stage| assert_ne!(stage, end, "killed here");
            let _ = dataset.synthesize(&wanted(), &mut watch);
        }));
        assert!(killed.is_err());
        let charges = || dataset.ledger().unwrap().charges().unwrap();
        assert!(charges().len() == charged && !charges()[0].answered);
        assert!(dataset.synthesized(&wanted()).unwrap().is_none());
        let finished = dataset.synthesize(&wanted(), &mut |_| ()).unwrap();
        assert!(finished.resumed && !finished.repeated);
        let again = dataset.synthesize(&wanted(), &mut |_| ()).unwrap();
        assert!(again.repeated && !again.resumed);
        assert_eq!(again.release(), finished.release());
        let rows = |made: &crate::SyntheticRelease| made.rows(None).unwrap().to_csv();
        assert_eq!(rows(&again), rows(&finished), "the same rows");
        assert!(charges().len() == charged && charges()[0].answered);
    }
}

/// Another version of the data, another price or another column is another release.
#[test]
fn other_requests_are_other_releases() {
    let here = tempfile::tempdir().unwrap();
    write(here.path(), &many());
    let dataset = Dataset::new(catalog(here.path(), "add_remove")).unwrap();
    let base = SynthesisRequest {
        method: Method::Independent,
        ..wanted()
    };
    let others = [
        base.clone(),
        SynthesisRequest {
            columns: vec!["g".to_owned()],
            ..base.clone()
        },
        SynthesisRequest {
            bins: [("n".to_owned(), 4)].into(),
            ..base.clone()
        },
        SynthesisRequest {
            condition: Some("n < 50".to_owned()),
            ..base.clone()
        },
        SynthesisRequest {
            method: Method::Mst,
            ..base.clone()
        },
        SynthesisRequest {
            epsilon: Epsilon::parse("1").ok(),
            ..base.clone()
        },
        SynthesisRequest {
            rows_per_unit: Some(1),
            ..base.clone()
        },
        SynthesisRequest {
            workload: vec![vec!["g".to_owned(), "x".to_owned()]],
            ..base.clone()
        },
    ];
    for (place, asked) in others.iter().enumerate() {
        let made = dataset.synthesize(asked, &mut |_| ()).unwrap();
        assert!(!made.repeated, "{place}");
        assert!(
            dataset.synthesize(asked, &mut |_| ()).unwrap().repeated,
            "{place}"
        );
    }
    assert_eq!(dataset.ledger().unwrap().charges().unwrap().len(), others.len());
}

#[test]
fn what_is_refused_before_the_charge() {
    let here = tempfile::tempdir().unwrap();
    write(here.path(), &many());
    let dataset = Dataset::new(catalog(here.path(), "add_remove")).unwrap();
    let refused = |asked: SynthesisRequest| {
        let error = dataset.synthesize(&asked, &mut |_| ()).unwrap_err();
        assert!(!matches!(error, Error::Unverified { .. }), "{error}");
        let said = error.to_string();
        assert!(said.contains("hint: ") && !said.contains("secret"), "{said}");
        said
    };
    refused(SynthesisRequest::new("nobody", "ann"));
    refused(SynthesisRequest {
        columns: vec!["free".to_owned()],
        ..wanted()
    });
    refused(SynthesisRequest {
        columns: vec!["u".to_owned()],
        ..wanted()
    });
    refused(SynthesisRequest {
        delta: Some(Delta::ZERO),
        ..wanted()
    });
    refused(SynthesisRequest {
        model_cells: 0,
        ..wanted()
    });
    refused(SynthesisRequest {
        workload: vec![vec!["u".to_owned()]],
        ..wanted()
    });
    refused(SynthesisRequest {
        condition: Some("nothing = 1".to_owned()),
        ..wanted()
    });
    assert!(dataset.ledger().unwrap().charges().unwrap().is_empty());
}
