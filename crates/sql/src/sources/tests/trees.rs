use super::{rows, shown, table};
use crate::catalog::{ParquetTree, Root, Source, Table};
use crate::sources::tests_support::parquet;
use crate::sources::tests_support::run;
use crate::sources::{Texts, typed_scan};
use crate::values::facts::Kind;
use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};
use datafusion::dataframe::DataFrame;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::path::Path;
use std::sync::Arc;

/// A file of numbers below `root`.
pub(super) fn write(root: &Path, place: &str, numbers: Vec<i64>) {
    let file = root.join(place);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    parquet(
        &file,
        vec![("n", Arc::new(Int64Array::from(numbers)) as ArrayRef)],
    );
}

fn tree(root: &Path, partitions: &[&str]) -> Table {
    let source = Source::ParquetTree(ParquetTree {
        root: Root::Directory(root.to_owned()),
        partitions: partitions.iter().map(|name| (*name).to_owned()).collect(),
    });
    table(
        source,
        &[("n", Kind::Int), ("year", Kind::Int), ("city", Kind::Text)],
    )
}

#[test]
fn directories_are_columns() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(root, "year=2025/city=Rome/a.parquet", vec![1, 2]);
    write(root, "year=2025/city=New%20York/a.parquet", vec![3]);
    write(
        root,
        "year=2026/city=__HIVE_DEFAULT_PARTITION__/b.parquet",
        vec![4],
    );
    write(root, "year=soon/city=/b.parquet", vec![5]);
    // What is not a part of the table.
    write(root, "year=2026/city=Rome/_temporary/c.parquet", vec![6]);
    write(root, "_delta_log/d.parquet", vec![7]);
    write(root, "year=2026/city=Rome/.e.parquet", vec![8]);
    std::fs::write(root.join("_SUCCESS"), "").unwrap();
    let mut found = shown(&rows(&tree(root, &["year", "city"])).unwrap());
    found.sort();
    assert_eq!(
        found,
        [
            "1 2025 Rome",
            "2 2025 Rome",
            "3 2025 New York",
            "4 2026 -",
            "5 - "
        ]
    );
}

#[test]
fn what_a_directory_says_comes_before_what_a_file_says() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("year=2025/city=Rome");
    std::fs::create_dir_all(&place).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("n", Arc::new(Int64Array::from(vec![1]))),
        ("city", Arc::new(StringArray::from(vec!["Paris"]))),
    ];
    parquet(&place.join("a.parquet"), columns);
    let found = rows(&tree(directory.path(), &["year", "city"])).unwrap();
    assert_eq!(shown(&found), ["1 2025 Rome"]);
}

#[test]
fn files_in_other_directories_are_refused() {
    for place in [
        "a.parquet",
        "year=2025/a.parquet",
        "city=Rome/year=2025/a.parquet",
        "year=2025/city=Rome/month=1/a.parquet",
        "year=2025/city=Rome/month=1/day=2/a.parquet",
        "2025/Rome/a.parquet",
    ] {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), "year=2025/city=Rome/a.parquet", vec![1]);
        write(directory.path(), place, vec![2]);
        let error = rows(&tree(directory.path(), &["year", "city"]))
            .unwrap_err()
            .to_string();
        assert!(error.contains("year=…/city=…"), "{place}: {error}");
    }
    let nothing = tempfile::tempdir().unwrap();
    let error = rows(&tree(nothing.path(), &["year", "city"]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("no Parquet files"), "{error}");
}

/// How many rows of a table a condition is true of, and how many files are opened for it, under the rules for private rows.
fn counted(table: &Table, condition: &str) -> (usize, usize) {
    run(async {
        let session = bound::session(SessionConfig::new().with_target_partitions(2), Arc::default());
        let plan = typed_scan(&session.state(), "t", table, Texts::Canonical)
            .await
            .unwrap();
        let rows = DataFrame::new(session.state(), plan);
        let condition = rows.parse_sql_expr(condition).unwrap();
        let rows = rows.filter(condition).unwrap();
        let plan = rows.clone().create_physical_plan().await.unwrap();
        let shown = displayable(plan.as_ref()).indent(true).to_string();
        (rows.count().await.unwrap(), shown.matches("a.parquet").count())
    })
}

#[test]
fn directories_of_every_kind_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let moments = ["2026-01-01 00%3A00%3A00", "2026-01-01T12%3A00%3A00", "never"];
    let mut files = 0;
    for (number, text) in ["e%CC%81", "%C3%A9", "Rome", "rome", ""].into_iter().enumerate() {
        for (place, moment) in moments.into_iter().enumerate() {
            let (truth, float) = (["true", "false", "x"][place], ["0", "-0.0", "NaN"][place]);
            let path = format!("s={text}/b={truth}/f={float}/m={moment}/a.parquet");
            write(directory.path(), &path, vec![number as i64, place as i64]);
            files += 1;
        }
    }
    let source = Source::ParquetTree(ParquetTree {
        root: Root::Directory(directory.path().to_owned()),
        partitions: ["s", "b", "f", "m"].map(str::to_owned).into(),
    });
    let columns = [
        ("n", Kind::Int),
        ("s", Kind::Text),
        ("b", Kind::Bool),
        ("f", Kind::Float),
        ("m", Kind::Timestamp),
    ];
    let tree = table(source, &columns);
    let all = rows(&tree).unwrap();
    for (condition, opened) in [
        // Both ways to write the letter are the same text.
        ("s = 'é'", files * 2 / 5),
        ("s <> 'é' AND s <> ''", files * 2 / 5),
        ("upper(s) = 'ROME'", files * 2 / 5),
        ("b", files / 3),
        ("NOT b", files / 3),
        ("b IS NULL", files / 3),
        ("f = 0", files * 2 / 3),
        ("f IS NOT NULL AND s = 'Rome'", files * 2 / 15),
        ("m >= TIMESTAMP '2026-01-01T06:00:00'", files / 3),
        ("m IS NULL", files / 3),
        ("n = 1", files),
        ("n = 1 OR b", files),
        ("b AND NOT b", 0),
    ] {
        let reference = run(async {
            let rows = SessionContext::new().read_batch(all.clone()).unwrap();
            let condition = rows.parse_sql_expr(condition).unwrap();
            rows.filter(condition).unwrap().count().await.unwrap()
        });
        assert_eq!(counted(&tree, condition), (reference, opened), "{condition}");
    }
}
