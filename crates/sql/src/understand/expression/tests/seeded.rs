//! The same random expressions from fixed seeds: that they are not vacuous, and that files with statistics do not fail either.

use super::generated::{Tape, check, expected};
use super::*;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::ParquetReadOptions;
use std::fs::File;
use std::path::Path;

/// Decisions from a linear congruential generator.
fn decisions(state: &mut u64) -> Vec<u8> {
    let mut next = || {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 56) as u8
    };
    (0..60).map(|_| next()).collect()
}

/// Most of what the generator writes is taken and run.
#[test]
fn most_of_what_is_generated_is_taken() {
    let (worst, best) = (engine(&worst()), engine(&best()));
    let mut state = 1;
    let taken = (0..60).filter(|_| check(Kind::Float, &decisions(&mut state), &worst, &best).unwrap());
    let taken = taken.count();
    assert!(taken >= 50, "{taken}");
}

/// An engine with a table in a file, which has statistics that the engine computes filters on before it reads rows.
fn file(batch: &RecordBatch, directory: &Path) -> SessionContext {
    let path = directory.join("t.parquet");
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema(), None).unwrap();
    // Groups of rows of different sizes, so that some have only NULLs or only one value.
    for start in [0, 1, 3, 10, 200]
        .into_iter()
        .filter(|start| *start < batch.num_rows())
    {
        let length = (batch.num_rows() - start).min(2 * start + 1);
        writer.write(&batch.slice(start, length)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    let context = SessionContext::new();
    let (scalars, _) = crate::understand::dialect::marker_functions();
    scalars
        .into_iter()
        .for_each(|function| context.register_udf(function));
    let options = ParquetReadOptions::default().parquet_pruning(true);
    let registered = context.register_parquet("t", path.to_str().unwrap(), options);
    runtime().block_on(registered).unwrap();
    let pushed = context.sql("SET datafusion.execution.parquet.pushdown_filters = true");
    runtime().block_on(pushed).unwrap();
    context
}

#[test]
fn statistics_do_not_fail_either() {
    let directory = tempfile::tempdir().unwrap();
    let mut state = 2;
    let mut ran = 0;
    // Whole tables, and few rows of them, so that statistics are wide and narrow.
    let tables = [
        worst(),
        best(),
        worst().slice(1, 2),
        worst().slice(8, 3),
        best().slice(3, 4),
        worst().slice(4, 1),
    ];
    for table in tables {
        let context = file(&table, directory.path());
        for round in 0..50 {
            let decisions = decisions(&mut state);
            let mut tape = Tape {
                decisions: decisions.iter(),
                depth: 0,
            };
            let sql = match round % 3 {
                0 => tape.expression(Kind::Bool),
                _ => tape.simple_filter(),
            };
            let typed = match accept(&planned(&context, &sql), &scope()) {
                Ok(typed) => typed,
                Err(error) => {
                    assert!(expected(&error), "{sql}: {error}");
                    continue;
                }
            };
            let result = run(&context, &typed);
            assert!(result.is_ok(), "{sql}: {:?}", result.err());
            ran += 1;
        }
    }
    assert!(ran > 250, "{ran}");
}

/// Casts that do not keep the order of values make the engine fail on statistics.
#[test]
fn a_cast_that_changes_the_order() {
    let directory = tempfile::tempdir().unwrap();
    for (values, sql) in [
        ([-5, 0], "CAST(j AS BOOLEAN)"),
        ([5, 10], "CAST(j AS VARCHAR) < CAST(j + 1 AS VARCHAR)"),
    ] {
        let values: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
        let context = file(&alone("j", &values), directory.path());
        let filter = |filter: Expr| scan(&context).filter(filter).unwrap().build().unwrap();
        assert!(
            collect(&context, filter(planned(&context, sql))).is_err(),
            "the engine takes {sql}"
        );
        let typed = accept(&planned(&context, sql), &scope()).unwrap();
        assert!(collect(&context, filter(typed.expr)).is_ok(), "{sql}");
    }
}
