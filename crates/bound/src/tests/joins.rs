//! Joins of private tables, against a join that looks at one owner at a time.

use crate::{Meeting, OwnerJoin, session, session_with_all_rules, to_relational};
use datafusion::arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::common::{Column, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, col};
use datafusion::prelude::{SessionConfig, SessionContext};
use proptest::prelude::*;
use std::sync::Arc;

/// An owner, a number and whether the owner is nobody.
type Row = (Option<u8>, Option<i64>);
/// A row of the result: the owner, and the numbers of both sides. A row of the right side that is not there has no number; where it is only asked whether there is a
/// partner, 1 says so.
type Pair = (u8, Option<i64>, Option<i64>);

fn owner(number: u8) -> String {
    // Some short, some longer than what is held in place.
    format!("{}{number}", "owner".repeat(usize::from(number % 3)))
}

fn table(name: &str, rows: &[Row], cut: usize) -> LogicalPlan {
    let schema = Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("u", DataType::Utf8View, true),
    ]));
    let batch = |rows: &[Row]| {
        let numbers = Int64Array::from_iter(rows.iter().map(|(_, number)| *number));
        let owners = StringViewArray::from_iter(rows.iter().map(|(number, _)| number.map(owner)));
        RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(numbers), Arc::new(owners)]).unwrap()
    };
    let parts: Vec<Vec<RecordBatch>> = vec![
        rows[..cut.min(rows.len())].chunks(2).map(batch).collect(),
        rows[cut.min(rows.len())..].chunks(3).map(batch).collect(),
    ];
    let table = Arc::new(MemTable::try_new(schema.clone(), parts).unwrap());
    LogicalPlanBuilder::scan(TableReference::bare(name), provider_as_source(table), None)
        .and_then(LogicalPlanBuilder::build)
        .unwrap()
}

fn join(left: &[Row], right: &[Row], cut: usize, most: (u64, u64), meeting: &Meeting) -> LogicalPlan {
    let column = |table: &str, name: &str| Column::new(Some(TableReference::bare(table)), name);
    OwnerJoin {
        left: table("a", left, cut),
        right: table("b", right, right.len() - cut.min(right.len())),
        left_key: column("a", "u"),
        right_key: column("b", "u"),
        filter: Some(col("a.n").lt(col("b.n") + col("a.n") * col("a.n"))),
        meeting: meeting.clone(),
        most_left: most.0,
        most_right: most.1,
    }
    .plan()
    .unwrap()
}

/// What comes out, sorted; that the owner is the same on both sides is checked.
fn pairs(plan: LogicalPlan, session: &SessionContext) -> Vec<Pair> {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let batches = runtime.block_on(async {
        let frame = session.execute_logical_plan(plan).await.unwrap();
        frame.collect().await.unwrap()
    });
    let mut pairs = Vec::new();
    for batch in batches {
        let number = |place: usize, row: usize| {
            let column = batch.column(place).as_primitive::<Int64Type>();
            column.is_valid(row).then(|| column.value(row))
        };
        for row in 0..batch.num_rows() {
            let owners = batch.column(1).as_string_view();
            let name = owners.value(row).trim_start_matches("owner");
            if let Some(found) = batch.column(2).as_boolean_opt() {
                let found = Some(i64::from(found.value(row)));
                pairs.push((name.parse().unwrap(), number(0, row), found));
                continue;
            }
            let other = batch.column(3).as_string_view();
            assert!(other.is_null(row) || other.value(row) == owners.value(row));
            pairs.push((name.parse().unwrap(), number(0, row), number(2, row)));
        }
    }
    pairs.sort_unstable();
    pairs
}

fn ours(batch_size: usize) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(2)
        .with_batch_size(batch_size);
    session(config, Arc::new(RuntimeEnv::default()))
}

fn owned(rows: &[Row], owner: u8, most: u64) -> Vec<Option<i64>> {
    let mut numbers: Vec<Option<i64>> = rows
        .iter()
        .filter(|(whose, _)| *whose == Some(owner))
        .map(|(_, number)| *number)
        .collect();
    // NULL last.
    numbers.sort_unstable_by_key(|number| (number.is_none(), *number));
    numbers.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    numbers
}

/// The definition, one owner at a time.
fn expected(left: &[Row], right: &[Row], most: (u64, u64), meeting: &Meeting) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for owner in 0..=u8::MAX {
        let partners = owned(right, owner, most.1);
        for one in owned(left, owner, most.0) {
            let meets = |other: &&Option<i64>| matches!((one, **other), (Some(one), Some(other)) if one < other + one * one);
            let found: Vec<Pair> = partners
                .iter()
                .filter(meets)
                .map(|other| (owner, one, *other))
                .collect();
            match meeting {
                Meeting::Whether(_) => pairs.push((owner, one, Some(i64::from(!found.is_empty())))),
                Meeting::PairsAndRest if found.is_empty() => pairs.push((owner, one, None)),
                _ => pairs.extend(found),
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (
        prop::option::weighted(0.95, 0u8..6),
        prop::option::weighted(0.9, -3i64..4),
    );
    prop::collection::vec(row, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn owners_meet_nobody_else(
        (left, right) in (rows(), rows()),
        cut in 0usize..40,
        most in (prop::sample::select(&[1, 2, 3, u64::MAX][..]), prop::sample::select(&[1, 2, 5, u64::MAX][..])),
        meeting in prop::sample::select(vec![Meeting::Pairs, Meeting::PairsAndRest, Meeting::Whether("found".to_owned())]),
        batch_size in 1usize..9,
    ) {
        let found = pairs(join(&left, &right, cut, most, &meeting), &ours(batch_size));
        prop_assert_eq!(&found, &expected(&left, &right, most, &meeting));
        // Additive over owners: together they give what each gives alone.
        let mut alone = Vec::new();
        for owner in 0..6 {
            let of = |rows: &[Row]| rows.iter().filter(|(whose, _)| *whose == Some(owner)).copied().collect::<Vec<_>>();
            alone.extend(pairs(join(&of(&left), &of(&right), cut, most, &meeting), &ours(10 - batch_size)));
        }
        alone.sort_unstable();
        prop_assert_eq!(&found, &alone);
        // Built-in operators give the same. They are for a database; here the closed list of operators refuses some of their plans.
        let relational = to_relational(join(&left, &right, cut, most, &meeting)).unwrap();
        let stock = session_with_all_rules(SessionConfig::new(), Arc::new(RuntimeEnv::default()));
        prop_assert_eq!(&found, &pairs(relational, &stock));
    }
}

/// The closed list refuses what the engine's own rules would do with a join of private tables.
#[test]
fn operators_that_are_not_on_the_list_are_refused() {
    let rows = [(Some(1), Some(1))];
    let relational = to_relational(join(&rows, &rows, 1, (u64::MAX, u64::MAX), &Meeting::Pairs)).unwrap();
    let limited = LogicalPlanBuilder::from(table("a", &rows, 1))
        .limit(0, Some(1))
        .and_then(LogicalPlanBuilder::build)
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let session = session(SessionConfig::new(), Arc::new(RuntimeEnv::default()));
    let planned = |plan: &LogicalPlan| runtime.block_on(session.state().create_physical_plan(plan));
    assert!(planned(&limited).is_err());
    // A hash join is for public rows that are in memory, and these are.
    assert!(planned(&relational).is_ok());
}

/// Rows in memory are held by a join where they are public, and not where a program gave them as private ones; whatever order or key it says of them is forgotten.
#[test]
fn private_rows_in_memory_are_no_public_ones() {
    let batch = || {
        let numbers: datafusion::arrow::array::ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        RecordBatch::try_from_iter([("u", numbers)]).unwrap()
    };
    let context = session(SessionConfig::new().with_target_partitions(1), Arc::default());
    let private = crate::GivenRows::new(batch().schema(), vec![batch()]).unwrap();
    let public = MemTable::try_new(batch().schema(), vec![vec![batch()]]).unwrap();
    context.register_table("private", Arc::new(private)).unwrap();
    context.register_table("public", Arc::new(public)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let planned = |sql: &str| {
        runtime.block_on(async {
            context
                .sql(sql)
                .await
                .unwrap()
                .create_physical_plan()
                .await
                .map(|_| ())
        })
    };
    let held = planned("SELECT count(*) FROM private JOIN public ON private.u = public.u");
    assert!(held.unwrap_err().to_string().contains("is not on the list"));
    planned("SELECT count(*) FROM public JOIN private ON private.u = public.u").unwrap();
}
