mod checks;
mod clusters;
mod csv;
mod databases;
mod formats;
mod kinds;
mod objects;
mod parquet_files;
mod trees;

use super::tests_support::run;
use super::{Texts, typed_scan};
use crate::Error;
use crate::catalog::{Source, Table};
use crate::values::facts::{Facts, Kind};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::sync::Arc;

/// A table with these columns.
fn table(source: Source, columns: &[(&str, Kind)]) -> Table {
    Table {
        columns: columns
            .iter()
            .map(|&(name, kind)| (name.to_owned(), Facts::unknown(kind)))
            .collect(),
        ..Table::undeclared(source)
    }
}

/// All rows of a table, typed.
fn rows(table: &Table) -> Result<RecordBatch, Error> {
    run(async {
        // One thread, so that rows come in the order of the file.
        let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        let plan = typed_scan(&session.state(), "t", table, Texts::Canonical).await?;
        let schema = Arc::clone(plan.schema().inner());
        for ((name, facts), (relation, field)) in table.columns.iter().zip(plan.schema().iter()) {
            assert_eq!(relation.map(|relation| relation.table()), Some("t"));
            assert_eq!(field.name(), name);
            assert_eq!(*field.data_type(), facts.kind.data_type());
        }
        assert_eq!(schema.fields().len(), table.columns.len());
        let batches = DataFrame::new(session.state(), plan).collect().await;
        let batches = batches.expect("no value may raise an error");
        Ok(concat_batches(&schema, &batches).unwrap())
    })
}

/// The rows as lines of text, NULL as `-`.
fn shown(batch: &RecordBatch) -> Vec<String> {
    let options = datafusion::arrow::util::display::FormatOptions::default().with_null("-");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| datafusion::arrow::util::display::ArrayFormatter::try_new(column, &options).unwrap())
        .collect();
    (0..batch.num_rows())
        .map(|row| {
            let values: Vec<_> = columns
                .iter()
                .map(|column| column.value(row).to_string())
                .collect();
            values.join(" ")
        })
        .collect()
}

/// How many rows there are, asked in a way that needs no column.
fn count(table: &Table) -> String {
    run(async {
        let session = SessionContext::new();
        let plan = typed_scan(&session.state(), "t", table, Texts::Canonical)
            .await
            .unwrap();
        let rows = DataFrame::new(session.state(), plan);
        let count = datafusion::functions_aggregate::expr_fn::count(datafusion::logical_expr::lit(1));
        let batches = rows
            .aggregate(vec![], vec![count])
            .unwrap()
            .collect()
            .await
            .unwrap();
        pretty_format_batches(&batches).unwrap().to_string()
    })
}
