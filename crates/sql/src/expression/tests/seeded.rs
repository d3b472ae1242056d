//! The same random expressions from fixed seeds: that they are not vacuous, and that files with statistics do not fail either.

use super::generated::{Tape, check, expected};
use super::*;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::prelude::ParquetReadOptions;

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

/// Over a file the engine reads the least and the largest values first, and computes filters on them.
#[test]
fn statistics_do_not_fail_either() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("worst.parquet");
    let batch = worst();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema(), None).unwrap();
    // Groups of rows of different sizes, so that some have only NULLs or only one value.
    for (start, length) in [(0, 1), (1, 2), (3, 7), (10, 190), (200, 400)] {
        writer.write(&batch.slice(start, length)).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    let context = SessionContext::new();
    let (scalars, _) = crate::dialect::marker_functions();
    scalars
        .into_iter()
        .for_each(|function| context.register_udf(function));
    let options = ParquetReadOptions::default().parquet_pruning(true);
    let registered = context.register_parquet("t", path.to_str().unwrap(), options);
    runtime().block_on(registered).unwrap();
    let pushed = context.sql("SET datafusion.execution.parquet.pushdown_filters = true");
    runtime().block_on(pushed).unwrap();

    let mut state = 2;
    let mut ran = 0;
    for round in 0..600 {
        let decisions = decisions(&mut state);
        let mut tape = Tape {
            decisions: decisions.iter(),
            depth: 0,
        };
        let sql = match round % 2 {
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
    assert!(ran > 250, "{ran}");
}
