//! `survey estimate`: how common each answer is, from reports.

use clap::Args;
use files::sheet::Sheet;
use mechanism::{Estimate, Questionnaire};
use std::path::PathBuf;

use super::method::{MethodArguments, catch_all_words, estimate_json};
use crate::delivery::Outputs;
use crate::terminal::{CliError, explained, fail};
use ::report::{Column, Figure, Findings, Scale, Table};

const NOTES: &str = "\
Reports are public, so this costs no privacy. Give the same --answers, --mechanism and noise as to `survey randomize`, \
which counted every answer that is not in --answers as the last of them. Every line after the first is one report.

Estimates are right on average, and may be below 0 or above 1. The intervals rest on no approximation: with the stated probability \
they hold the true fractions of all answers together, provided that every report was randomized as stated.

Example:
  deniable survey estimate reports.csv --column cheated --epsilon 1 --confidence 0.99";

#[derive(Args, Debug)]
#[command(after_help = NOTES)]
pub(super) struct Arguments {
    /// The CSV file with the reports.
    file: PathBuf,
    /// The column with the reports.
    #[arg(long, value_name = "NAME")]
    column: String,
    #[command(flatten)]
    method: MethodArguments,
    /// With what probability the intervals hold.
    #[arg(long, default_value_t = 0.95, allow_negative_numbers = true)]
    confidence: f64,
    #[command(flatten)]
    outputs: Outputs,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let method = arguments.method.method()?;
    // Also refuses a confidence that is none, before any file is read.
    method
        .frequencies()
        .half_width(1, arguments.confidence)
        .map_err(explained)?;
    let sheet = Sheet::read(&arguments.file)?;
    let column = sheet.column(&arguments.column)?;
    let mut reports = method.reports().map_err(explained)?;
    for (row, record) in (1u64..).zip(sheet.rows()) {
        if reports.push(record.field(column)).is_none() {
            return fail(
                format!(
                    "row {row} of `{}` holds no report of this mechanism",
                    arguments.file.display()
                ),
                "give the same --answers, --mechanism and noise as to `deniable survey randomize`",
            );
        }
    }
    let count = reports.len() as u64;
    if count == 0 {
        let name = arguments.file.display();
        return fail(
            format!("`{name}` has no reports"),
            "there must be a row for each respondent",
        );
    }
    let estimates = reports.estimate(arguments.confidence).map_err(explained)?;
    let text = text(&method, &estimates, arguments, count);
    arguments.outputs.give(&Findings {
        introduction: text.clone(),
        text,
        json: json(&method, &estimates, arguments, count)?,
        title: "Estimates from randomized reports",
        rows: Vec::new(),
        figures: vec![figure(&method, &estimates, arguments)],
    })
}

fn text(method: &Questionnaire, estimates: &[Estimate], arguments: &Arguments, count: u64) -> String {
    let mut table = Table::new([
        Column::Left("answer"),
        Column::Right("estimate"),
        Column::Right("from"),
        Column::Right("to"),
    ]);
    for (answer, estimate) in method.answers().iter().zip(estimates) {
        // Three decimals are more than any survey is good for.
        let shown = |fraction: f64| format!("{fraction:.3}");
        table.row([
            answer.clone(),
            shown(estimate.fraction),
            shown(estimate.low),
            shown(estimate.high),
        ]);
    }
    format!(
        "{count} reports with ε = {} for each respondent.\n\n{table}\n\
         All intervals hold together with probability {}.\n{}\n",
        method.epsilon(),
        arguments.confidence,
        catch_all_words(method),
    )
}

fn json(
    method: &Questionnaire,
    estimates: &[Estimate],
    arguments: &Arguments,
    count: u64,
) -> Result<serde_json::Value, CliError> {
    let half_width = method
        .frequencies()
        .half_width(count, arguments.confidence)
        .map_err(explained)?;
    let rows = method
        .answers()
        .iter()
        .zip(estimates)
        .map(|(answer, estimate)| estimate_json(answer, estimate));
    Ok(serde_json::json!({
        "command": "survey estimate",
        "reports": count,
        "column": arguments.column,
        "mechanism": arguments.method.mechanism_name(),
        "other_answers_count_as": method.catch_all(),
        "epsilon": method.epsilon().to_string(),
        "confidence": arguments.confidence,
        "half_width": half_width,
        "estimates": rows.collect::<Vec<_>>(),
    }))
}

/// Answers side by side, numbered, since an axis has numbers only.
fn figure(method: &Questionnaire, estimates: &[Estimate], arguments: &Arguments) -> Figure {
    const NAMED: usize = 12;
    let names = method.answers().iter().enumerate().take(NAMED);
    let mut legend: Vec<String> = names
        .map(|(index, answer)| format!("{} = {answer}", index + 1))
        .collect();
    if method.answers().len() > NAMED {
        legend.push("…".to_owned());
    }
    let place = |index: usize| index as f64 + 1.0;
    let points: Vec<(f64, f64)> = estimates
        .iter()
        .enumerate()
        .map(|(index, estimate)| (place(index), estimate.fraction))
        .collect();
    let interval = format!("interval, {} together", arguments.confidence);
    let mut figure = Figure::new(format!("Estimated fractions of `{}`", arguments.column))
        .x_axis(format!("answer: {}", legend.join(", ")), Scale::Whole)
        .y_axis("fraction of respondents", Scale::Linear);
    for (index, estimate) in estimates.iter().enumerate() {
        let ends = [place(index) - 0.25, place(index) + 0.25].map(|x| (x, estimate.low, estimate.high));
        figure = figure.band(interval.clone(), &ends);
    }
    figure.points("estimate", &points)
}
