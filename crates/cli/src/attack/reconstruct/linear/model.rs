//! The attack on a model that answers everything.

use super::{Plan, Row, stream, unusable};
use crate::terminal::{CliError, Interrupt, Progress};
use attack::linear::{Model, Queries, estimate, interrogate, right, rounded, secrets};

/// All settings, each over all runs.
pub(super) fn attack<'p>(plan: &'p Plan, interrupt: &Interrupt) -> Result<Vec<Row<'p>>, CliError> {
    let steps = plan.settings.len() as u64 * plan.runs * plan.ways.len() as u64;
    let progress = Progress::new("reconstructing", steps, plan.quiet);
    let mut rows: Vec<Row<'_>> = plan
        .settings
        .iter()
        .map(|setting| Row {
            setting,
            right: vec![0; plan.ways.len()],
            bits: 0,
            ledger: None,
        })
        .collect();
    for run in 0..plan.runs {
        if run > 0 && interrupt.was_pressed() {
            break;
        }
        let mut seeded = stream(plan.seed, run);
        let bits = secrets(plan.people, &mut seeded);
        let queries = Queries::random(plan.people, plan.queries, &mut seeded).map_err(unusable)?;
        for (place, row) in rows.iter_mut().enumerate() {
            progress.label(row.setting.words());
            row.bits += plan.people as u64;
            let noise = stream(
                plan.seed,
                plan.runs + run * plan.settings.len() as u64 + place as u64,
            );
            let mut model = Model::new(&bits, row.setting.noise, noise);
            let Ok(answers) = interrogate(&mut model, &queries, || ());
            for (way, count) in plan.ways.iter().zip(&mut row.right) {
                let estimates = estimate(&queries, &answers, row.setting.method(*way)).map_err(unusable)?;
                *count += right(&rounded(&estimates), &bits);
                progress.advance(1);
            }
        }
    }
    Ok(rows)
}
