//! Synthetic rows: made of what the catalog declares and of what was charged, and of nothing else.

use crate::blocking::Dataset;
use crate::catalog::Catalog;
use crate::mutants::{Mutant, with};
use crate::values::facts::Value;
use crate::{CheckRequest, Error, Stage, SynthesisRequest};
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

/// A check that is charged and not made is finished under its charge; the same check of the same rows is found, and another price is another check.
#[test]
fn a_check_is_charged_before_it_draws_and_once() {
    for end in [Stage::Charged, Stage::Measured] {
        let here = tempfile::tempdir().unwrap();
        write(here.path(), &many());
        let dataset = Dataset::new(catalog(here.path(), "change_one")).unwrap();
        let rows = SynthesisRequest {
            method: Method::Independent,
            ..wanted()
        };
        let made = dataset.synthesize(&rows, &mut |_| ()).unwrap();
        let check = |epsilon| CheckRequest {
            rows: rows.clone(),
            epsilon: Epsilon::parse(epsilon).unwrap(),
        };
        let charges = || dataset.ledger().unwrap().charges().unwrap();
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut watch = |stage| assert_ne!(stage, end, "killed here");
            let _ = dataset.check_synthesis(&check("1"), &made, &mut watch);
        }));
        assert!(killed.is_err());
        assert_eq!((charges().len(), charges()[1].answered), (2, false));
        let finished = dataset.check_synthesis(&check("1"), &made, &mut |_| ()).unwrap();
        assert!(finished.resumed && !finished.repeated);
        let again = dataset.check_synthesis(&check("1"), &made, &mut |_| ()).unwrap();
        assert!(again.repeated && again.report == finished.report);
        assert_eq!(
            (again.of, again.cost.charge),
            (made.cost.charge, finished.cost.charge)
        );
        assert!(charges().len() == 2 && charges()[1].answered);
        dataset.check_synthesis(&check("2"), &made, &mut |_| ()).unwrap();
        assert_eq!(charges().len(), 3);
        let none = dataset
            .check_synthesis(&check("0"), &made, &mut |_| ())
            .unwrap_err();
        let much = dataset
            .check_synthesis(&check("1000"), &made, &mut |_| ())
            .unwrap_err();
        assert!(none.to_string().contains("ε = 0") && matches!(much, Error::OverBudget(_)));
        assert_eq!(charges().len(), 3);
    }
}

/// The same catalog with rules for what cannot be.
fn with_rules(directory: &Path, rules: &str) -> Result<Catalog, Error> {
    let text = format!(
        "name = \"x\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 100\ndelta = 1e-6\n[budget.query]\nepsilon = 1\ndelta = 1e-9\n\
         [tables.t]\nsource = \"t.csv\"\nunit = \"u\"\nimpossible = [{rules}]\n[tables.t.limits]\nrows = 3\n[tables.t.columns]\nu = {{ kind = \"int\" }}\n\
         g = {{ kind = \"text\", values = [\"a\", \"b\", \"\"] }}\n\
         n = {{ kind = \"int\", bounds = [0, 999] }}\n\
         x = {{ kind = \"float\", bounds = [0, 2], nullable = false }}\n\
         day = {{ kind = \"date\", bounds = [\"2024-01-15\", \"2024-02-10\"], nullable = false }}\n\
         free = {{ kind = \"text\" }}\n"
    );
    Catalog::parse(&text, directory)
}

/// The data is full of rows that are declared impossible; none of the rows that are made is one, whichever value of a bin is drawn.
#[test]
fn rows_that_are_declared_impossible_are_never_made() {
    let here = tempfile::tempdir().unwrap();
    write(here.path(), &many());
    let rules = "{ n = { below = 16 }, g = \"a\" }, { x = { from = 0.3, below = 0.7 }, n = { null = true } }, { day = { from = \"2024-02-01\" }, g = { not = \"b\" } }, { n = [500, 501] }";
    let asked = |columns: &[&str], method| SynthesisRequest {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        method,
        model_cells: 60_000,
        epsilon: Epsilon::parse("4").ok(),
        ..SynthesisRequest::new("t", "ann")
    };
    let breaks = |made: &crate::SyntheticRelease| {
        let rows = made.rows(Some(30_000)).unwrap();
        let value = |name: &str, row: usize| {
            let column = rows.columns.iter().find(|column| column.name == name);
            column.map_or(Value::Null, |column| column.values[row].clone())
        };
        let breaks = |row: &usize| {
            let (g, n, x) = (value("g", *row), value("n", *row), value("x", *row));
            let is = |text: &str| g == Value::Text(text.into());
            let small = matches!(n, Value::Int(n) if n < 16);
            let middle = matches!(x, Value::Float(x) if (0.3..0.7).contains(&x));
            let late = matches!(value("day", *row), Value::Date(day) if day >= 19_754);
            (small && is("a"))
                || (middle && n == Value::Null)
                || (late && (is("a") || is("")))
                || matches!(n, Value::Int(500 | 501))
        };
        (0..rows.count()).filter(breaks).count()
    };
    let dataset = Dataset::new(with_rules(here.path(), rules).unwrap()).unwrap();
    for method in [Method::Independent, Method::Mst, Method::Aim] {
        let all = asked(&["g", "n", "x", "day"], method);
        let explained = dataset.explain_synthesis(&all).unwrap();
        assert_eq!(explained.impossible.len(), 4);
        assert!(
            explained
                .to_text()
                .contains("  day from 2024-02-01 and g not b\n")
        );
        let made = dataset.synthesize(&all, &mut |_| ()).unwrap();
        assert_eq!(breaks(&made), 0, "{method:?}");
        assert_eq!(made.impossible, explained.impossible);
        // A rule about a column that is not in the rows says nothing of the others.
        let some = dataset.explain_synthesis(&asked(&["g", "x"], method)).unwrap();
        assert_eq!((some.impossible.len(), some.impossible_elsewhere.len()), (0, 4));
    }
    // Without rules such rows are made: the test sees them.
    let elsewhere = tempfile::tempdir().unwrap();
    write(elsewhere.path(), &many());
    let without = Dataset::new(catalog(elsewhere.path(), "add_remove")).unwrap();
    let made = without.synthesize(&asked(&["g", "n", "x", "day"], Method::Aim), &mut |_| ());
    assert!(breaks(&made.unwrap()) > 1_000);
}

#[test]
fn rules_that_cannot_be_kept_are_refused_before_the_charge() {
    let here = tempfile::tempdir().unwrap();
    write(here.path(), &many());
    let refused = |rules: &str, cells| {
        let dataset = Dataset::new(with_rules(here.path(), rules).unwrap()).unwrap();
        let asked = SynthesisRequest {
            model_cells: cells,
            ..wanted()
        };
        let error = dataset.synthesize(&asked, &mut |_| ()).unwrap_err().to_string();
        assert!(dataset.ledger().unwrap().charges().unwrap().is_empty());
        assert!(
            error.contains("hint: ") && error.contains("nothing was charged"),
            "{error}"
        );
        error
    };
    let wide = "{ n = { below = 500 }, x = { from = 1 }, day = [\"2024-01-20\"] }";
    // Days have no `values`.
    assert!(with_rules(here.path(), wide).is_err());
    let wide = "{ n = { below = 500 }, x = { from = 1 }, day = { from = \"2024-01-20\" } }";
    let said = refused(wide, 5_000);
    assert!(
        said.contains("n and x and day") && said.contains("--model-cells "),
        "{said}"
    );
    let all = "{ g = [\"a\", \"b\", \"\"] }, { g = { null = true } }";
    assert!(refused(all, 20_000).contains("no row is possible"));
    for wrong in [
        "{ }",
        "{ nobody = 1 }",
        "{ u = 1 }",
        "{ g = \"c\" }",
        "{ g = { below = \"b\" } }",
        "{ n = { from = 5, below = 5 } }",
        "{ n = { from = 5, null = true } }",
        "{ x = { null = true } }",
        "{ x = 1.5 }",
        "{ n = {} }",
        "{ n = { under = 5 } }",
    ] {
        let error = with_rules(here.path(), wrong).unwrap_err().to_string();
        assert!(
            error.contains("impossible") && error.contains("hint: "),
            "{wrong}: {error}"
        );
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
