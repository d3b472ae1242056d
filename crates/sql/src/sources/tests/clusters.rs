use super::{run, shown, table};
use crate::catalog::{Source, Table};
use crate::sources::cluster::cluster_within;
use crate::sources::tests_support::parquet;
use crate::sources::{Progress, cluster};
use crate::values::facts::Kind;
use datafusion::arrow::array::*;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;
use std::sync::Arc;

fn read(path: &Path) -> RecordBatch {
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let schema = Arc::clone(reader.schema());
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn text_files_become_one_sorted_file() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("visits");
    std::fs::create_dir(&input).unwrap();
    std::fs::write(input.join("1.csv"), "who,what,extra\n10,b,x\n9,a,y\nnobody,c,z\n").unwrap();
    std::fs::write(input.join("2.csv"), "who,what,extra\n07,d,w\n7,e,v\n").unwrap();
    let declared = table(Source::Csv(input.clone()), &[("who", Kind::Int)]);
    let output = directory.path().join("sorted.parquet");
    let mut heard = Vec::new();
    let done = run(cluster(&declared, "who", &output, |progress| {
        heard.push(progress)
    }))
    .unwrap();
    assert_eq!(done, Progress { read: 5, written: 5 });
    assert_eq!(heard.last().map(|last| last.written), Some(5));
    let found = read(&output);
    assert_eq!(*found.schema().field(0).data_type(), DataType::Int64);
    let mut lines = shown(&found);
    // The two rows that are nobody's come in any order: 07 is no way to write 7.
    lines[3..].sort();
    assert_eq!(lines, ["7 e v", "9 a y", "10 b x", "- c z", "- d w"]);
    assert_eq!(
        names(directory.path()),
        ["sorted.parquet", "visits"],
        "nothing else is left"
    );

    let undeclared = Table::undeclared(Source::Csv(input.clone()));
    run(cluster(&undeclared, "who", &output, |_| {})).unwrap();
    assert_eq!(
        shown(&read(&output)),
        ["07 d w", "10 b x", "7 e v", "9 a y", "nobody c z"],
        "as text, over what was there"
    );

    let error = run(cluster(&undeclared, "nobody", &output, |_| {}))
        .unwrap_err()
        .to_string();
    assert!(error.contains("no such column"), "{error}");
    let error = run(cluster(&undeclared, "who", &input.join("x.parquet"), |_| {}))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("would lie in the directory that is sorted"),
        "{error}"
    );
    let nowhere = directory.path().join("no/where.parquet");
    let error = run(cluster(&undeclared, "who", &nowhere, |_| {}))
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be written"), "{error}");
}

#[test]
fn more_rows_than_memory_are_sorted_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.parquet");
    let rows = 400_000u64;
    // A permutation of 0..rows, three times over.
    let units: Vec<i64> = (0..3 * rows)
        .map(|row| ((row * 7_654_321) % rows) as i64)
        .collect();
    let words: Vec<_> = units
        .iter()
        .map(|unit| format!("a text of some length that goes with the unit {unit}"))
        .collect();
    parquet(
        &input,
        vec![
            ("text", Arc::new(StringArray::from(words)) as ArrayRef),
            ("unit", Arc::new(Int64Array::from(units))),
        ],
    );
    let output = directory.path().join("out.parquet");
    let table = Table::undeclared(Source::Parquet(input));
    let done = run(cluster_within(48 << 20, &table, "unit", &output, |_| {})).unwrap();
    assert_eq!(done.written, 3 * rows);
    let found = read(&output);
    let units = found.column_by_name("unit").unwrap().as_primitive::<Int64Type>();
    let texts = found.column_by_name("text").unwrap();
    let texts = texts.as_string_view();
    for row in 0..found.num_rows() {
        assert_eq!(units.value(row), row as i64 / 3);
        assert!(texts.value(row).ends_with(&format!(" {}", units.value(row))));
    }
    assert_eq!(names(directory.path()), ["in.parquet", "out.parquet"]);
}
