//! A private SQL question over a table in memory, under a budget: `cargo run -p deniable --example question`.

use deniable::prelude::*;
use deniable::sql::arrow::array::{Int64Array, RecordBatch, StringArray};
use std::sync::Arc;

const CATALOG: &str = r#"
name = "clinic"
[unit]
whose = "patient"
neighbors = "add_remove"
[budget]
epsilon = 3
ledger = "clinic.ledger"
[budget.query]
epsilon = 0.5
[limits]
groups = 1
rows_per_group = 3
[tables.visits]
source = "memory"
unit = "patient"
[tables.visits.columns]
patient = { kind = "int" }
ward = { kind = "text", values = ["north", "south"], nullable = false }
minutes = { kind = "int", bounds = [0, 120], nullable = false }
"#;

/// Prints a private answer, and asks the same again for nothing.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The ledger is a file: charges survive the program.
    let folder = tempfile::tempdir()?;
    let mut catalog = Catalog::parse(CATALOG, folder.path())?;
    let patients = 0..2000;
    let wards = patients
        .clone()
        .map(|patient| if patient % 3 == 0 { "north" } else { "south" });
    let minutes = patients.clone().map(|patient| 10 + patient % 50);
    let visits = RecordBatch::try_from_iter([
        ("ward", Arc::new(StringArray::from_iter_values(wards)) as _),
        ("minutes", Arc::new(Int64Array::from_iter_values(minutes)) as _),
        ("patient", Arc::new(Int64Array::from_iter_values(patients)) as _),
    ])?;
    catalog.provide_batches("visits", vec![visits])?;

    let dataset = Dataset::new(catalog);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let sql = "SELECT ward, COUNT(*) AS visits, AVG(minutes) AS average FROM visits GROUP BY ward";
        let answered = dataset.query(&QueryRequest::new(sql, "ann")).await?;
        for row in &answered.answer.rows {
            for cell in row {
                match (cell.low, cell.high) {
                    (Some(low), Some(high)) => print!("{} ({low} to {high})  ", cell.value),
                    _ => print!("{}  ", cell.value),
                }
            }
            println!();
        }
        println!(
            "cost: {}; left: ε = {}",
            answered
                .answer
                .cost
                .expect("a private question costs something")
                .guarantee,
            answered.left.epsilon
        );

        // The same question again costs nothing, however it is written and whoever asks.
        let sql = "SELECT COUNT(1), AVG(v.minutes), v.ward FROM visits AS v GROUP BY v.ward";
        assert!(dataset.query(&QueryRequest::new(sql, "bob")).await?.repeated);
        Ok(())
    })
}
