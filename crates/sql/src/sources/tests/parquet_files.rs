use super::{count, rows, shown, table};
use crate::catalog::Source;
use crate::sources::tests_support::parquet;
use crate::values::facts::Kind;
use datafusion::arrow::array::*;
use datafusion::arrow::datatypes::{Int8Type, UInt16Type};
use std::sync::Arc;

#[test]
fn types_become_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("types *[1]?.parquet");
    let decimals = Decimal128Array::from(vec![Some(12_345), Some(-1), None])
        .with_precision_and_scale(20, 2)
        .unwrap();
    let words: DictionaryArray<Int8Type> = vec![Some("red"), None, Some("red")].into_iter().collect();
    let zoned = |values: Vec<i64>| TimestampSecondArray::from(values).with_timezone("America/New_York");
    let keys = UInt16Array::from(vec![0u16, 1, 0]);
    let days =
        DictionaryArray::<UInt16Type>::new(keys, Arc::new(TimestampMillisecondArray::from(vec![-1, 0])));
    parquet(
        &path,
        vec![
            ("small", Arc::new(Int8Array::from(vec![1, -2, 3])) as ArrayRef),
            ("large", Arc::new(UInt64Array::from(vec![7, u64::MAX, 9]))),
            ("money", Arc::new(decimals.clone())),
            ("coins", Arc::new(decimals)),
            ("color", Arc::new(words)),
            ("name", Arc::new(LargeStringArray::from(vec!["a", "b", "c"]))),
            ("moment", Arc::new(zoned(vec![0, -1, 1_577_836_800]))),
            ("day", Arc::new(zoned(vec![0, -1, 1_577_836_799]))),
            (
                "nanos",
                Arc::new(TimestampNanosecondArray::from(vec![1_999, 0, -1])),
            ),
            ("noon", Arc::new(Date64Array::from(vec![0, 86_400_000, i64::MAX]))),
            ("date", Arc::new(Date64Array::from(vec![0, 86_400_000, i64::MAX]))),
            ("dictionary", Arc::new(days)),
            (
                "real",
                Arc::new(Float32Array::from(vec![0.5, f32::NAN, f32::INFINITY])),
            ),
            ("whole", Arc::new(Float64Array::from(vec![2.9, f64::NAN, 1e30]))),
            ("truth", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("digits", Arc::new(StringViewArray::from(vec!["5", "five", ""]))),
            (
                "undeclared",
                Arc::new(BinaryArray::from_vec(vec![b"x", b"y", b"z"])),
            ),
        ],
    );
    let table = table(
        Source::Parquet(path),
        &[
            ("large", Kind::Int),
            ("small", Kind::Int),
            ("money", Kind::Float),
            ("coins", Kind::Int),
            ("color", Kind::Text),
            ("name", Kind::Text),
            ("moment", Kind::Timestamp),
            ("day", Kind::Date),
            ("nanos", Kind::Timestamp),
            ("noon", Kind::Timestamp),
            ("date", Kind::Date),
            ("dictionary", Kind::Date),
            ("real", Kind::Float),
            ("whole", Kind::Int),
            ("truth", Kind::Bool),
            ("digits", Kind::Int),
        ],
    );
    assert_eq!(
        shown(&rows(&table).unwrap()),
        [
            "7 1 123.45 123 red a 1970-01-01T00:00:00 1970-01-01 1970-01-01T00:00:00.000001 1970-01-01T00:00:00 1970-01-01 1969-12-31 0.5 2 true 5",
            "- -2 -0.01 0 - b 1969-12-31T23:59:59 1969-12-31 1970-01-01T00:00:00 1970-01-02T00:00:00 1970-01-02 1970-01-01 - - false -",
            "9 3 - - red c 2020-01-01T00:00:00 2019-12-31 1970-01-01T00:00:00 - - 1969-12-31 - - true -",
        ]
    );
    assert!(count(&table).contains("| 3 "), "{}", count(&table));
}

#[test]
fn directories_are_read_whole() {
    let directory = tempfile::tempdir().unwrap();
    let numbers = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    parquet(
        &directory.path().join("a.parquet"),
        vec![("a", numbers(vec![1, 2])), ("b", numbers(vec![3, 4]))],
    );
    parquet(&directory.path().join("b.parquet"), vec![("a", numbers(vec![5]))]);
    std::fs::write(directory.path().join("_SUCCESS"), "").unwrap();
    let table = table(
        Source::Parquet(directory.path().to_owned()),
        &[("a", Kind::Int), ("b", Kind::Int)],
    );
    let mut found = shown(&rows(&table).unwrap());
    found.sort();
    assert_eq!(found, ["1 3", "2 4", "5 -"]);
    parquet(
        &directory.path().join("c.parquet"),
        vec![("a", Arc::new(StringArray::from(vec!["x"])))],
    );
    let error = rows(&table).unwrap_err().to_string();
    assert!(
        error.contains("its files disagree on the type of column `a`"),
        "{error}"
    );
}

#[test]
fn kinds_that_make_no_sense_are_refused_by_the_schema() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    parquet(&path, vec![("day", Arc::new(Date32Array::from(vec![1])))]);
    for kind in [Kind::Bool, Kind::Int, Kind::Float, Kind::Text] {
        let error = rows(&table(Source::Parquet(path.clone()), &[("day", kind)]))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(&format!(
                "column `day` holds values of type Date32, which cannot be read as {kind}"
            )),
            "{error}"
        );
    }
}

#[test]
fn a_broken_file_is_an_incident() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    std::fs::write(&path, "Ada Lovelace, 36, not Parquet at all").unwrap();
    let error = rows(&table(Source::Parquet(path), &[("age", Kind::Int)])).unwrap_err();
    assert!(
        matches!(&error, crate::Error::Engine { what, .. } if what == "table `t`"),
        "{error}"
    );
    assert!(!format!("{error} {error:?}").contains("Lovelace"));
}
