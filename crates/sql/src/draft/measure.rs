//! What public data says of itself: kinds, bounds, values and keys.

use crate::Error;
use crate::catalog::{CsvFormat, Source, Table};
use crate::sources::{Texts, guess, incident, typed_scan};
use crate::values::facts::{Facts, Kind, Range, Value};

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type, SchemaRef};
use datafusion::common::{Column, ScalarValue};
use datafusion::dataframe::DataFrame;
use datafusion::functions_aggregate::expr_fn::{count, count_distinct, max, min};
use datafusion::logical_expr::{Expr, lit};
use datafusion::prelude::SessionContext;

/// A column of text with so few different values is one whose values are worth listing.
const FEW: usize = 24;

/// What was found.
pub(super) struct Measured {
    pub(super) columns: Vec<(String, Facts)>,
    pub(super) keys: Vec<String>,
    /// Columns of types that queries cannot use.
    pub(super) left_out: Vec<String>,
    /// What stands for NULL in a CSV file.
    pub(super) nulls: Vec<&'static str>,
    /// How its files are written.
    pub(super) csv: CsvFormat,
}

/// Reads the whole table, a few times.
pub(super) async fn measured(
    session: &SessionContext,
    name: &str,
    mut table: Table,
    schema: &SchemaRef,
) -> Result<Measured, Error> {
    let mut left_out = Vec::new();
    for field in schema.fields() {
        match Kind::of(field.data_type()) {
            None => left_out.push(field.name().clone()),
            Some(kind) => table.columns.push((field.name().clone(), Facts::unknown(kind))),
        }
    }
    let mut nulls = Vec::new();
    if matches!(table.source, Source::Csv(_)) {
        let columns: Vec<String> = table.columns.iter().map(|(name, _)| name.clone()).collect();
        let guesses = guess(session, name, &table, &columns).await?;
        for ((_, facts), guess) in table.columns.iter_mut().zip(guesses) {
            facts.kind = guess.kind;
            nulls.extend(guess.nulls);
        }
        nulls.sort_unstable();
        nulls.dedup();
        table.csv.nulls = nulls.iter().map(|null| (*null).to_owned()).collect();
    }
    let mut columns = Vec::new();
    let mut keys = Vec::new();
    for (column, facts) in &table.columns {
        let mut facts = facts.clone();
        let rows = DataFrame::new(
            session.state(),
            typed_scan(&session.state(), name, &table, Texts::Canonical).await?,
        );
        let own = Expr::Column(Column::new(Some(name), column));
        let counts = [
            count(lit(1)),
            count(own.clone()),
            count_distinct(own.clone()),
            min(own.clone()),
            max(own.clone()),
        ];
        let counts = one(name, rows.clone().aggregate(vec![], counts.to_vec())).await?;
        let [all, known, different] = [0, 1, 2].map(|index| integer(&counts, index));
        facts.nullable = known != all;
        if different == all && !facts.nullable && all > 0 && matches!(facts.kind, Kind::Int | Kind::Text) {
            keys.push(column.clone());
        }
        facts.range = bounds(&counts, facts.kind);
        if facts.kind == Kind::Text && different >= 1 && different <= FEW as i64 && different < all {
            let distinct = rows
                .aggregate(vec![own.clone()], vec![])
                .and_then(|rows| rows.sort(vec![own.sort(true, false)]));
            facts.values = Some(texts(name, distinct).await?.into());
        }
        columns.push((column.clone(), facts));
    }
    Ok(Measured {
        columns,
        keys,
        left_out,
        nulls,
        csv: table.csv,
    })
}

/// The one row of an aggregate.
async fn one(
    name: &str,
    rows: Result<DataFrame, datafusion::error::DataFusionError>,
) -> Result<RecordBatch, Error> {
    let rows = rows.map_err(|error| incident(name, error))?;
    let batches = rows.collect().await.map_err(|error| incident(name, error))?;
    batches
        .into_iter()
        .find(|batch| batch.num_rows() == 1)
        .ok_or_else(|| incident(name, "an aggregate without a row"))
}

fn integer(batch: &RecordBatch, index: usize) -> i64 {
    batch
        .column(index)
        .as_primitive_opt::<Int64Type>()
        .map_or(0, |column| column.value(0))
}

/// The smallest and the largest number.
fn bounds(batch: &RecordBatch, kind: Kind) -> Option<Range> {
    let end = |index: usize| {
        let column = batch.column(index);
        if column.is_null(0) {
            return None;
        }
        match kind {
            Kind::Int => Some(column.as_primitive::<Int64Type>().value(0) as f64),
            Kind::Float => Some(column.as_primitive::<Float64Type>().value(0)),
            _ => None,
        }
    };
    let range = Range::new(end(3)?, end(4)?)?;
    // Bounds on whole numbers reach as far as floats are exact.
    let exact = 9_007_199_254_740_992.0;
    (kind == Kind::Float || (range.low >= -exact && range.high <= exact)).then_some(range)
}

async fn texts(
    name: &str,
    rows: Result<DataFrame, datafusion::error::DataFusionError>,
) -> Result<Vec<Value>, Error> {
    let rows = rows.map_err(|error| incident(name, error))?;
    let batches = rows.collect().await.map_err(|error| incident(name, error))?;
    let mut values = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let value =
                ScalarValue::try_from_array(batch.column(0), row).map_err(|error| incident(name, error))?;
            if let Some(Some(text)) = value.try_as_str() {
                values.push(Value::Text(text.to_owned()));
            }
        }
    }
    Ok(values)
}
