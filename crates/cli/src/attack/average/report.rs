//! What came of it.

use super::{Arguments, Fared, Plan, Results};
use crate::account::figure;
use crate::terminal::{self, CliError};
use report::{Column, Figure, Scale, Table, significant};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Prints, draws and writes what was asked for; a ledger that does not hold is a failed check.
pub(super) fn deliver(plan: &Plan, results: &Results, arguments: &Arguments) -> Result<(), CliError> {
    terminal::print(&if arguments.json {
        format!("{}\n", json(plan, results, arguments))
    } else {
        text(plan, results, arguments)
    })?;
    if let Some(path) = &arguments.plot {
        figure::save(path, &drawn(plan, results, arguments))?;
    }
    if let Some(path) = &arguments.html {
        terminal::write_file_atomically(path, page(plan, results, arguments).to_html().as_bytes())?;
        eprintln!("wrote {}", path.display());
    }
    if results.singled.broken(at_most(plan)) {
        return Err(
            CliError::check_failed("differencing was right more often than ε allows")
                .with_hint("chance explains it with probability below 1e-9: the promise is not kept"),
        );
    }
    if !held(plan, results) {
        return Err(CliError::check_failed("the ledger did not stop the questions")
            .with_hint("every form of a question must be charged, whoever asks"));
    }
    Ok(())
}

/// How often a guess after differencing is right, at most.
fn at_most(plan: &Plan) -> f64 {
    attack::bound::right_guesses(plan.budget.to_f64_up(), 0.0)
}

/// Whether the same question had one answer, and other forms were paid for until the budget was spent.
fn held(plan: &Plan, results: &Results) -> bool {
    let [_, equal, rewritten] = results.fared.as_slice() else {
        return false;
    };
    let once = equal
        .courses
        .iter()
        .all(|course| course.fresh == 1 && course.refused == 0);
    let paid = rewritten
        .spent
        .as_ref()
        .is_some_and(|spent| *spent <= plan.budget);
    // A form that is recognised as one that was answered is stopped as well.
    let stopped = rewritten.courses.iter().all(|course| course.refused > 0);
    once && paid && stopped
}

fn bound_words(fared: &Fared) -> String {
    match (fared.at_least(), &fared.spent) {
        (Some(least), Some(spent)) => format!("{} (ε = {spent})", significant(least, 3)),
        _ => "0".to_owned(),
    }
}

/// How far off the mean is, and how far chance moves that where several runs tell.
fn error_words(plan: &Plan, fared: &Fared) -> String {
    let (error, chance) = (
        significant(fared.error(plan.truth), 3),
        fared.standard_error(plan.truth),
    );
    if chance.is_finite() {
        format!("{error} ± {}", significant(chance, 2))
    } else {
        error
    }
}

pub(super) fn text(plan: &Plan, results: &Results, arguments: &Arguments) -> String {
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
            error_words(plan, fared),
            bound_words(fared),
        ]);
    }
    let singled = &results.singled;
    let mut text = format!(
        "One count of {} people, asked by {} accounts at ε = {} each; Deniable may spend {} in all. Means over {} runs, seed {}.\n  {}\n\n{table}\n",
        arguments.people,
        arguments.accounts,
        plan.epsilon,
        plan.budget,
        results.fared[1].courses.len(),
        arguments.seed,
        plan.question.plainly(),
    );
    text.push_str(
        "± is one standard error. At least: 1/sinh ε, below which no estimate from ε-DP answers has its mean error for every count; a measured mean may be \
         below it by chance. Without a ledger nothing keeps the error up.\n\n",
    );
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
        format!("Deniable, ε = {} for both", plan.budget),
        singled.privately.to_string(),
        share(singled.privately),
        significant(at_most(plan), 3),
    ]);
    let _ = write!(
        text,
        "Differencing: a count with and a count without each of {} people, to learn her secret. A coin gets one half.\n\n{table}",
        singled.targets
    );
    text
}

pub(super) fn json(plan: &Plan, results: &Results, arguments: &Arguments) -> Value {
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
                "error": fared.error(plan.truth),
                "error_standard_error": fared.standard_error(plan.truth),
                "epsilon": fared.spent.as_ref().map(ToString::to_string),
                "at_least": fared.at_least(),
            })
        })
        .collect();
    let singled = &results.singled;
    json!({
        "command": "attack average",
        "people": arguments.people,
        "accounts": arguments.accounts,
        "epsilon_each": plan.epsilon.to_string(),
        "budget": plan.budget.to_string(),
        "runs": results.fared[1].courses.len(),
        "seed": arguments.seed,
        "truth": plan.truth,
        "averaging": rows,
        "ledger_held": held(plan, results),
        "differencing": {
            "targets": singled.targets,
            "right_by_exact_counts": singled.exactly,
            "right_through_deniable": singled.privately,
            "refused": singled.refused,
            "at_most": at_most(plan),
        },
    })
}

pub(super) fn drawn(plan: &Plan, results: &Results, arguments: &Arguments) -> Figure {
    let last = f64::from(arguments.times);
    let mut figure = Figure::new(format!(
        "The mean of answers at ε = {} each, {} accounts",
        plan.epsilon, arguments.accounts
    ))
    .x_axis("questions asked", Scale::Log10)
    .y_axis("mean error", Scale::Log10);
    for fared in &results.fared {
        let errors = fared.errors(plan.truth);
        let mut points: Vec<(f64, f64)> = figure::counts(errors.len().max(1) as u64)
            .into_iter()
            .filter_map(|count| Some((count as f64, *errors.get(count as usize - 1)?)))
            .collect();
        // Whoever is refused, or gets copies, can ask on for ever: nothing changes.
        if fared.spent.is_some()
            && let Some((end, error)) = points.last().copied()
            && end < last
        {
            points.push((last, error));
        }
        if fared.spent.is_some() {
            let chance = fared.standard_error(plan.truth);
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

pub(super) fn page(plan: &Plan, results: &Results, arguments: &Arguments) -> ::report::Page {
    let mut report = ::report::Page::new(
        "Averaging and differencing",
        format!(
            "The question: {}\n\n{} accounts ask it at ε = {} each. Noise that is drawn anew averages out; a ledger gives the same question the \
             same answer, and charges every other form of it to one budget, ε = {}, that all accounts share.",
            plan.question.plainly(),
            arguments.accounts,
            plan.epsilon,
            plan.budget
        ),
    );
    let held = held(plan, results);
    for (number, fared) in results.fared.iter().enumerate() {
        let counts = format!(
            "{} fresh answers, {} copies, {} refusals in {} runs; the mean is off by {}",
            fared.total(|course| course.fresh),
            fared.total(|course| course.repeated),
            fared.total(|course| course.refused),
            fared.courses.len(),
            error_words(plan, fared)
        );
        let expected = match fared.at_least() {
            Some(least) => format!(
                "stopped; off by {} at least, for the worst count",
                significant(least, 3)
            ),
            None => "the error falls as 1/√k".to_owned(),
        };
        let mut row = ::report::Row::new(
            format!("{}", number + 1),
            fared.who,
            expected,
            counts,
            number == 0 || held,
        );
        if number == 0 {
            row = row.figure(drawn(plan, results, arguments));
        }
        report.row(row);
    }
    let singled = &results.singled;
    report.row(::report::Row::new(
        "4",
        "differencing: two counts that differ in one person",
        format!(
            "at most {} right under ε = {}",
            significant(at_most(plan), 3),
            plan.budget
        ),
        format!(
            "{} of {} by exact counts, {} through Deniable",
            singled.exactly, singled.targets, singled.privately
        ),
        !singled.broken(at_most(plan)),
    ));
    report
}
