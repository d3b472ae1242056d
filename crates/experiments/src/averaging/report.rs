//! The results, stated once for people, programs and a page.

use super::{Fared, Results, Study};
use ::report::{Column, Figure, Findings, Row, Scale, Table, counts, significant};
use serde_json::{Value, json};

/// What a study found, in words, as an object, and drawn.
pub fn findings(study: &Study, results: &Results) -> Findings {
    Findings {
        text: text(study, results),
        json: json(study, results),
        title: "Averaging and differencing",
        introduction: format!(
            "The question: {}\n\n{} accounts ask it at ε = {} each. Noise that is drawn anew averages out; a ledger gives the same question the \
             same answer, and charges every other form of it to one budget, ε = {}, that all accounts share.",
            study.question.plainly(),
            study.settings.accounts,
            study.settings.epsilon,
            study.settings.budget
        ),
        rows: rows(study, results),
        figures: vec![drawn(study, results)],
    }
}

fn bound_words(fared: &Fared) -> String {
    match (fared.at_least(), &fared.spent) {
        (Some(least), Some(spent)) => format!("{} (ε = {spent})", significant(least, 3)),
        _ => "0".to_owned(),
    }
}

/// How far off the mean is, and how far chance moves that where several runs tell.
fn error_words(study: &Study, fared: &Fared) -> String {
    let (error, chance) = (
        significant(fared.error(study.truth), 3),
        fared.standard_error(study.truth),
    );
    if chance.is_finite() {
        format!("{error} ± {}", significant(chance, 2))
    } else {
        error
    }
}

fn text(study: &Study, results: &Results) -> String {
    let settings = &study.settings;
    let mut table = Table::new([
        Column::Left("who answers, and what is asked"),
        Column::Right("asked"),
        Column::Right("fresh"),
        Column::Right("copies"),
        Column::Right("refused"),
        Column::Right("error of the mean"),
        Column::Right("at least"),
    ]);
    for fared in &results.fared {
        let runs = fared.courses.len().max(1);
        let each = |count: usize| match count % runs {
            0 => (count / runs).to_string(),
            _ => significant(count as f64 / runs as f64, 3),
        };
        table.row([
            fared.who.to_owned(),
            each(fared.total(|course| course.averages.len())),
            each(fared.total(|course| course.fresh)),
            each(fared.total(|course| course.repeated)),
            each(fared.total(|course| course.refused)),
            error_words(study, fared),
            bound_words(fared),
        ]);
    }
    let singled = &results.singled;
    let opening = format!(
        "One count of {} people, asked by {} accounts at ε = {} each; Deniable may spend {} in all. Means over {} runs, seed {}.\n  {}\n\n{table}\n",
        settings.people,
        settings.accounts,
        settings.epsilon,
        settings.budget,
        results.fared[1].courses.len(),
        settings.seed,
        study.question.plainly(),
    );
    let meaning = "± is one standard error. At least: 1/sinh ε, below which no estimate from ε-DP answers has its mean error for every count; a measured mean may be \
         below it by chance. Without a ledger nothing keeps the error up.\n\n";
    let mut table = Table::new([
        Column::Left("who answers"),
        Column::Right("right"),
        Column::Right("part"),
        Column::Right("at most"),
    ]);
    let share = |right: u32| significant(f64::from(right) / f64::from(singled.targets.max(1)), 3);
    table.row([
        "exact counts".to_owned(),
        singled.exactly.to_string(),
        share(singled.exactly),
        "no limit".to_owned(),
    ]);
    table.row([
        format!("Deniable, ε = {} for both", settings.budget),
        singled.privately.to_string(),
        share(singled.privately),
        significant(study.at_most(), 3),
    ]);
    format!(
        "{opening}{meaning}Differencing: a count with and a count without each of {} people, to learn her secret. A coin gets one half.\n\n{table}",
        singled.targets
    )
}

fn json(study: &Study, results: &Results) -> Value {
    let settings = &study.settings;
    let rows: Vec<Value> = results
        .fared
        .iter()
        .map(|fared| {
            json!({
                "who": fared.who,
                "asked": fared.total(|course| course.averages.len()),
                "fresh": fared.total(|course| course.fresh),
                "copies": fared.total(|course| course.repeated),
                "refused": fared.total(|course| course.refused),
                "error": fared.error(study.truth),
                "error_standard_error": fared.standard_error(study.truth),
                "epsilon": fared.spent.as_ref().map(ToString::to_string),
                "at_least": fared.at_least(),
            })
        })
        .collect();
    let singled = &results.singled;
    json!({
        "command": "attack average",
        "people": settings.people,
        "accounts": settings.accounts,
        "epsilon_each": settings.epsilon.to_string(),
        "budget": settings.budget.to_string(),
        "runs": results.fared[1].courses.len(),
        "seed": settings.seed,
        "truth": study.truth,
        "averaging": rows,
        "ledger_held": study.held(results),
        "differencing": {
            "targets": singled.targets,
            "right_by_exact_counts": singled.exactly,
            "right_through_deniable": singled.privately,
            "refused": singled.refused,
            "at_most": study.at_most(),
        },
    })
}

fn drawn(study: &Study, results: &Results) -> Figure {
    let settings = &study.settings;
    let last = f64::from(settings.times);
    let mut figure = Figure::new(format!(
        "The mean of answers at ε = {} each, {} accounts",
        settings.epsilon, settings.accounts
    ))
    .x_axis("questions asked", Scale::Log10)
    .y_axis("mean error", Scale::Log10);
    for fared in &results.fared {
        let errors = fared.errors(study.truth);
        let mut points: Vec<(f64, f64)> = counts(errors.len().max(1) as u64)
            .into_iter()
            .filter_map(|count| Some((count as f64, *errors.get(count as usize - 1)?)))
            .collect();
        // An account that is refused, or gets copies, can ask for ever: nothing changes.
        if fared.spent.is_some()
            && let Some((end, error)) = points.last().copied()
            && end < last
        {
            points.push((last, error));
        }
        if fared.spent.is_some() {
            let chance = fared.standard_error(study.truth);
            let band: Vec<(f64, f64, f64)> = points
                .iter()
                .map(|(count, error)| (*count, error - chance, error + chance))
                .collect();
            figure = figure.band(fared.who, &band);
        }
        figure = figure.line(fared.who, &points);
    }
    for fared in results.fared.iter().skip(1) {
        if let (Some(least), Some(spent)) = (fared.at_least(), &fared.spent) {
            figure = figure.horizontal(format!("at least, ε = {spent}"), least);
        }
    }
    figure
}

/// What was found beside what is allowed, for a page.
fn rows(study: &Study, results: &Results) -> Vec<Row> {
    let held = study.held(results);
    let fared = results.fared.iter().enumerate().map(|(number, fared)| {
        let counts = format!(
            "{} fresh answers, {} copies, {} refusals in {} runs; the mean is off by {}",
            fared.total(|course| course.fresh),
            fared.total(|course| course.repeated),
            fared.total(|course| course.refused),
            fared.courses.len(),
            error_words(study, fared)
        );
        let expected = match fared.at_least() {
            Some(least) => format!(
                "stopped; off by {} at least, for the worst count",
                significant(least, 3)
            ),
            None => "the error falls as 1/√k".to_owned(),
        };
        let number_words = (number + 1).to_string();
        Row::new(number_words, fared.who, expected, counts, number == 0 || held)
    });
    let singled = &results.singled;
    let differencing = Row::new(
        "4",
        "differencing: two counts that differ in one person",
        format!(
            "at most {} right under ε = {}",
            significant(study.at_most(), 3),
            study.settings.budget
        ),
        format!(
            "{} of {} by exact counts, {} through Deniable",
            singled.exactly, singled.targets, singled.privately
        ),
        !singled.broken(study.at_most()),
    );
    fared.chain([differencing]).collect()
}
