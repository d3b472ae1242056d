//! Windows over one owner's rows, against a computation that looks at one owner at a time.

use crate::{Frame, Ordered, OwnerWindow, WindowValue, session};
use datafusion::arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::common::{Column, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::prelude::SessionConfig;
use proptest::prelude::*;
use std::sync::Arc;

/// An owner, what rows are ordered by, and a number.
type Row = (Option<i64>, Option<i64>, Option<i64>);

fn table(rows: &[Row], cut: usize) -> LogicalPlan {
    let names = ["u", "k", "n"];
    let schema = Arc::new(Schema::new(
        names.map(|name| Field::new(name, DataType::Int64, true)).to_vec(),
    ));
    let batch = |rows: &[Row]| {
        let column = |pick: fn(&Row) -> Option<i64>| Arc::new(Int64Array::from_iter(rows.iter().map(pick)));
        let columns: Vec<Arc<dyn Array>> =
            vec![column(|row| row.0), column(|row| row.1), column(|row| row.2)];
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    };
    let (one, other) = rows.split_at(cut.min(rows.len()));
    let parts = vec![
        one.chunks(2).map(batch).collect(),
        other.chunks(3).map(batch).collect(),
    ];
    let table = Arc::new(MemTable::try_new(Arc::clone(&schema), parts).unwrap());
    LogicalPlanBuilder::scan(TableReference::bare("t"), provider_as_source(table), None)
        .and_then(LogicalPlanBuilder::build)
        .unwrap()
}

const SLIDING: Frame = Frame::Rows(Some(1), Some(1));

/// Each row's owner, key and number, and what is computed of it: its place, its rank, the number before it, a running sum, and the largest number next to it.
fn computed(rows: &[Row], cut: usize, most: u64, batch_size: usize) -> Vec<Vec<Option<i64>>> {
    let column = |name: &str| Column::new(Some(TableReference::bare("t")), name);
    let values = [
        WindowValue::RowNumber,
        WindowValue::Rank,
        WindowValue::Lag(column("n"), 1),
        WindowValue::Sum(column("n"), Frame::UpToPeers),
        WindowValue::Largest(column("n"), SLIDING),
    ];
    let plan = OwnerWindow {
        input: table(rows, cut),
        owner: column("u"),
        partition: Vec::new(),
        order: vec![Ordered {
            column: column("k"),
            descending: true,
            nulls_first: true,
        }],
        values: (0..)
            .zip(values)
            .map(|(place, value)| (value, format!("w{place}")))
            .collect(),
        most,
    }
    .plan()
    .unwrap();
    let config = SessionConfig::new()
        .with_target_partitions(2)
        .with_batch_size(batch_size);
    let session = session(config, Arc::new(RuntimeEnv::default()));
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let batches = runtime.block_on(async {
        let frame = session.execute_logical_plan(plan).await.unwrap();
        frame.collect().await.unwrap()
    });
    let mut found = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let number = |column: &Arc<dyn Array>| {
                let column = column.as_primitive::<Int64Type>();
                column.is_valid(row).then(|| column.value(row))
            };
            found.push(batch.columns().iter().map(number).collect());
        }
    }
    found.sort();
    found
}

/// The definition, for one owner.
fn of_owner(rows: &[Row], owner: i64, most: u64) -> Vec<Vec<Option<i64>>> {
    let mut rows: Vec<Row> = rows.iter().filter(|row| row.0 == Some(owner)).copied().collect();
    // Largest key first and NULL before all; then by the number, NULL last.
    rows.sort_by_key(|(_, key, number)| {
        let key = std::cmp::Reverse(key.map_or(i64::MAX, |key| key));
        (key, number.is_none(), *number)
    });
    rows.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let row = |place: usize| {
        let (_, key, number) = rows[place];
        let first = rows.iter().position(|row| row.1 == key).unwrap();
        let last = rows.iter().rposition(|row| row.1 == key).unwrap();
        let summed: Vec<i64> = rows[..=last].iter().filter_map(|row| row.2).collect();
        let near = &rows[place.saturating_sub(1)..(place + 2).min(rows.len())];
        vec![
            Some(owner),
            key,
            number,
            Some(place as i64 + 1),
            Some(first as i64 + 1),
            place.checked_sub(1).and_then(|before| rows[before].2),
            (!summed.is_empty()).then(|| summed.iter().sum()),
            near.iter().filter_map(|row| row.2).max(),
        ]
    };
    (0..rows.len()).map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn windows_look_at_one_owner(
        rows in prop::collection::vec(
            (
                prop::option::weighted(0.95, 0i64..5),
                prop::option::weighted(0.9, 0i64..3),
                prop::option::weighted(0.8, -3i64..4),
            ),
            0..40,
        ),
        cut in 0usize..40,
        most in prop::sample::select(&[1u64, 3, 100][..]),
        batch_size in 1usize..9,
    ) {
        let mut expected: Vec<_> = (0..5).flat_map(|owner| of_owner(&rows, owner, most)).collect();
        expected.sort();
        prop_assert_eq!(computed(&rows, cut, most, batch_size), expected);
    }
}

/// What comes out holds its own texts: an owner's rows are handed on in small batches, and each would otherwise keep, and count, the texts of all.
#[test]
fn rows_of_a_window_hold_their_own_texts() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("u", DataType::Int64, true),
        Field::new("s", DataType::Utf8View, true),
    ]));
    const ROWS: i64 = 4000;
    let texts = (0..ROWS).map(|row| Some(format!("{row:0>200}")));
    let columns: Vec<Arc<dyn Array>> = vec![
        Arc::new(Int64Array::from_iter_values((0..ROWS).map(|_| 1))),
        Arc::new(StringViewArray::from_iter(texts)),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    let table = Arc::new(MemTable::try_new(schema, vec![vec![batch]]).unwrap());
    let input = LogicalPlanBuilder::scan(TableReference::bare("t"), provider_as_source(table), None);
    let column = |name: &str| Column::new(Some(TableReference::bare("t")), name);
    let plan = OwnerWindow {
        input: input.and_then(LogicalPlanBuilder::build).unwrap(),
        owner: column("u"),
        partition: Vec::new(),
        order: Vec::new(),
        values: vec![(WindowValue::Lag(column("s"), 1), "w".to_owned())],
        most: u64::MAX,
    };
    let config = SessionConfig::new().with_batch_size(100);
    let session = session(config, Arc::new(RuntimeEnv::default()));
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let batches = runtime.block_on(async {
        let frame = session.execute_logical_plan(plan.plan().unwrap()).await.unwrap();
        frame.collect().await.unwrap()
    });
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4000);
    for batch in batches {
        let held: usize = batch
            .columns()
            .iter()
            .filter_map(|column| column.as_string_view_opt())
            .map(|texts| {
                texts
                    .data_buffers()
                    .iter()
                    .map(|buffer| buffer.len())
                    .sum::<usize>()
            })
            .sum();
        // Its own texts, and those of the rows before.
        assert!(
            held <= 2 * 200 * batch.num_rows(),
            "{held} bytes for {} rows",
            batch.num_rows()
        );
    }
}
