//! A table that is as bad as data can be, one that is as it should be, and how expressions run over them.

mod functions;
mod generated;
mod known;
mod narrowed;
mod postgres;
mod refusals;
mod seeded;

use super::{Scope, Typed, accept};
use crate::{Error, Facts, Kind, Range, Value};
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMicrosecondArray, new_null_array,
};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::{DFSchema, ScalarValue, TableReference};
use datafusion::datasource::MemTable;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, ident};
use datafusion::prelude::SessionContext;
use std::sync::Arc;

/// The columns: two of each number, one of which has no range.
fn columns() -> Vec<(&'static str, Facts)> {
    let known = |kind, low, high| Facts {
        range: Range::new(low, high),
        ..Facts::unknown(kind)
    };
    let colours = ["red", "Grün", ""].map(|text| Value::Text(text.into()));
    vec![
        ("b", Facts::unknown(Kind::Bool)),
        ("i", known(Kind::Int, -1000.0, 1000.0)),
        ("j", Facts::unknown(Kind::Int)),
        (
            "u",
            Facts {
                of_unit: true,
                nullable: false,
                ..known(Kind::Int, 0.0, 10.0)
            },
        ),
        ("f", known(Kind::Float, -10.0, 10.0)),
        ("g", Facts::unknown(Kind::Float)),
        ("s", Facts::unknown(Kind::Text)),
        (
            "c",
            Facts {
                values: Some(colours.into()),
                ..Facts::unknown(Kind::Text)
            },
        ),
        (
            "k",
            Facts {
                values: Some([-3, 5, 40].map(Value::Int).into()),
                ..Facts::unknown(Kind::Int)
            },
        ),
        ("d", Facts::unknown(Kind::Date)),
        ("m", Facts::unknown(Kind::Timestamp)),
    ]
}

fn scope() -> Scope {
    let table = Some(TableReference::bare("t"));
    let columns = columns()
        .into_iter()
        .map(|(name, facts)| (table.clone(), name.into(), facts));
    Scope {
        columns: columns.collect(),
    }
}

fn schema() -> SchemaRef {
    let fields = columns()
        .into_iter()
        .map(|(name, facts)| Field::new(name, facts.kind.data_type(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Every value with every other one somewhere: columns repeat with different periods.
fn table(columns: Vec<ArrayRef>, rows: usize) -> RecordBatch {
    let columns = columns.iter().map(|column| {
        let places: Int64Array = (0..rows).map(|row| Some((row % column.len()) as i64)).collect();
        datafusion::arrow::compute::take(column, &places, None).unwrap()
    });
    RecordBatch::try_new(schema(), columns.collect()).unwrap()
}

/// What data can be at worst.
fn worst() -> RecordBatch {
    let integers = vec![
        Some(0),
        Some(i64::MIN),
        None,
        Some(i64::MAX),
        Some(-1),
        Some(1),
        Some(i64::MIN + 1),
        Some(1 << 53),
        Some(-1000),
        Some(77),
        Some(i64::MAX / 2 + 1),
    ];
    let floats = vec![
        Some(0.0),
        Some(f64::NAN),
        Some(-f64::NAN),
        None,
        Some(f64::INFINITY),
        Some(f64::NEG_INFINITY),
        Some(-0.0),
        Some(f64::MAX),
        Some(f64::MIN),
        Some(5e-324),
        Some(-1.5),
        Some(2.5),
        Some(9.3e18),
    ];
    // Columns are canonical where they are read.
    let floats: Vec<Option<f64>> = floats
        .into_iter()
        .map(|value| value.and_then(bound::canonical_float))
        .collect();
    let texts = vec![
        Some(""),
        None,
        Some("ß\u{1F600}ŉΐ İ\u{0}x"),
        Some("2020-02-30"),
        Some("999999-01-01T00:00:00"),
        Some("2020-01-01T10:00:00+02:00"),
        Some("9223372036854775808"),
        Some("1e999"),
        Some("NaN"),
        Some("-inf"),
        Some(" 12 "),
        Some("true"),
        Some("%_\\a,b,,c--"),
        Some("e\u{301}\u{301}\u{200D}"),
        Some("red"),
        Some("-262144-01-01"),
        Some("2020-01-01 00:00:00 Nowhere/Land"),
    ];
    let days = vec![
        Some(0),
        Some(i32::MIN),
        Some(i32::MAX),
        None,
        Some(-719_163),
        Some(2_932_897),
        Some(2_932_896),
        Some(-719_162),
        Some(18_000),
        Some(-98_616),
        Some(95_026_236),
        Some(-96_465_293),
    ];
    let moments = vec![
        Some(0),
        Some(i64::MIN),
        Some(i64::MAX),
        None,
        Some(-9_223_372_036_854_775),
        Some(-9_223_372_036_854_776),
        Some(9_223_372_036_854_775),
        Some(-1),
        Some(1_600_000_000_123_456),
        Some(-62_135_596_800_000_001),
        Some(253_402_300_800_000_000),
        Some(8_210_266_876_799_999_999),
        Some(-8_334_601_228_800_000_001),
        Some(9_214_646_400_000_000),
        Some(-8_520_336_000_000_001),
    ];
    let booleans = vec![Some(true), Some(false), None];
    let reversed =
        |values: &Vec<Option<i64>>| Int64Array::from(values.iter().rev().copied().collect::<Vec<_>>());
    table(
        vec![
            Arc::new(BooleanArray::from(booleans)),
            Arc::new(reversed(&integers)),
            Arc::new(Int64Array::from(integers.clone())),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(-1), None, Some(0)])),
            Arc::new(Float64Array::from(
                floats.iter().rev().copied().collect::<Vec<_>>(),
            )),
            Arc::new(Float64Array::from(floats)),
            Arc::new(StringViewArray::from(texts.clone())),
            Arc::new(StringViewArray::from(
                texts.iter().rev().copied().collect::<Vec<_>>(),
            )),
            Arc::new(reversed(&integers)),
            Arc::new(Date32Array::from(days)),
            Arc::new(TimestampMicrosecondArray::from(moments)),
        ],
        600,
    )
}

/// What data should be: in their ranges and among their values.
fn best() -> RecordBatch {
    table(
        vec![
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
            Arc::new(Int64Array::from(vec![
                Some(-1000),
                Some(1000),
                None,
                Some(0),
                Some(7),
                Some(-33),
                Some(999),
            ])),
            Arc::new(Int64Array::from(vec![
                Some(i64::MIN),
                Some(i64::MAX),
                None,
                Some(3),
                Some(0),
            ])),
            Arc::new(Int64Array::from(vec![Some(0), Some(10), Some(3), Some(1)])),
            Arc::new(Float64Array::from(vec![
                Some(-10.0),
                Some(10.0),
                None,
                Some(0.0),
                Some(-0.1),
                Some(0.1),
                Some(9.99),
                Some(-2.5),
                Some(5e-324),
                Some(1.0),
            ])),
            Arc::new(Float64Array::from(vec![
                Some(f64::MAX),
                Some(f64::MIN),
                None,
                Some(0.5),
                Some(-3.0),
                Some(1e-300),
            ])),
            Arc::new(StringViewArray::from(vec![
                Some("a,b"),
                None,
                Some(""),
                Some("12.5"),
                Some("Ünï"),
                Some("2021-03-04"),
            ])),
            Arc::new(StringViewArray::from(vec![
                Some("red"),
                Some("Grün"),
                Some(""),
                None,
            ])),
            Arc::new(Int64Array::from(vec![Some(-3), Some(5), None, Some(40), Some(5)])),
            Arc::new(Date32Array::from(vec![
                Some(0),
                Some(18_321),
                None,
                Some(-1),
                Some(20_000),
            ])),
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(0),
                Some(1_600_000_000_123_456),
                None,
                Some(-1),
                Some(86_399_999_999),
                Some(4_000_000_000_000_000),
            ])),
        ],
        600,
    )
}

/// One column with these values, and all others NULL.
fn alone(column: &str, values: &ArrayRef) -> RecordBatch {
    let schema = schema();
    let arrays = schema.fields().iter().map(|field| match field.name() == column {
        true => values.clone(),
        false => new_null_array(field.data_type(), values.len()),
    });
    RecordBatch::try_new(schema.clone(), arrays.collect()).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// An engine with the functions of the dialect and a table in two parts.
fn engine(batch: &RecordBatch) -> SessionContext {
    let context = SessionContext::new();
    let (scalars, _) = crate::understand::dialect::marker_functions();
    scalars
        .into_iter()
        .for_each(|function| context.register_udf(function));
    let half = batch.num_rows() / 2;
    let parts = vec![
        vec![batch.slice(0, half)],
        vec![batch.slice(half, batch.num_rows() - half)],
    ];
    let table = MemTable::try_new(schema(), parts).unwrap();
    context.register_table("t", Arc::new(table)).unwrap();
    context
}

/// SQL as the planner leaves it, before anything is coerced. Names are read as in a query.
fn planned(context: &SessionContext, sql: &str) -> Expr {
    let schema = DFSchema::try_from_qualified_schema("t", &schema()).unwrap();
    let read = crate::understand::dialect::read(&format!("SELECT {sql} AS x FROM t"))
        .unwrap()
        .query
        .to_string();
    let sql = read
        .strip_prefix("SELECT ")
        .unwrap()
        .strip_suffix(" AS x FROM t")
        .unwrap();
    context
        .state()
        .create_logical_expr(sql, &schema)
        .unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn taken(sql: &str) -> Result<Typed, Error> {
    let context = engine(&RecordBatch::new_empty(schema()));
    accept(&planned(&context, sql), &scope())
}

/// The facts of an expression, which must be taken.
fn facts(sql: &str) -> Facts {
    taken(sql).unwrap_or_else(|error| panic!("{sql}: {error}")).facts
}

fn scan(context: &SessionContext) -> LogicalPlanBuilder {
    let provider = runtime().block_on(context.table_provider("t")).unwrap();
    let source = datafusion::datasource::provider_as_source(provider);
    LogicalPlanBuilder::scan("t", source, None).unwrap()
}

fn collect(context: &SessionContext, plan: LogicalPlan) -> Result<Vec<RecordBatch>, String> {
    let run = async { context.execute_logical_plan(plan).await?.collect().await };
    runtime().block_on(run).map_err(|error| error.to_string())
}

/// Runs an expression through the whole engine: as a column, and as a filter if it can be one.
fn run(context: &SessionContext, typed: &Typed) -> Result<ArrayRef, String> {
    let data_type = typed.facts.kind.data_type();
    let plan = scan(context)
        .project([typed.expr.clone().alias("result")])
        .unwrap()
        .build()
        .unwrap();
    // The analyzer finds nothing to add.
    let options = context.copied_config().options().clone();
    let analyzed = context
        .state()
        .analyzer()
        .execute_and_check(plan.clone(), &options, |_, _| {})
        .unwrap();
    if analyzed.expressions() != plan.expressions() {
        let (old, new) = (plan.display_indent(), analyzed.display_indent());
        return Err(format!("the analyzer made of\n{old}\nthis\n{new}"));
    }
    assert_eq!(plan.schema().field(0).data_type(), &data_type, "{}", typed.expr);
    let batches = collect(context, plan)?;
    let columns: Vec<_> = batches.iter().map(|batch| batch.column(0).as_ref()).collect();
    let result = datafusion::arrow::compute::concat(&columns).map_err(|error| error.to_string())?;
    assert_eq!(result.data_type(), &data_type);
    if typed.facts.kind == Kind::Bool {
        let plan = scan(context)
            .filter(typed.expr.clone())
            .unwrap()
            .project([ident("i")])
            .unwrap();
        collect(context, plan.build().unwrap())?;
    }
    Ok(result)
}

/// The results of SQL over a table, as text.
fn shown(context: &SessionContext, sql: &str) -> Vec<String> {
    let typed = accept(&planned(context, sql), &scope()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let result = run(context, &typed).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let show = |row| match result.is_null(row) {
        true => "NULL".to_string(),
        false => array_value_to_string(&result, row).unwrap(),
    };
    (0..result.len()).map(show).collect()
}

fn value_at(array: &ArrayRef, row: usize) -> Option<Value> {
    super::values::value(&ScalarValue::try_from_array(array, row).unwrap())
}
