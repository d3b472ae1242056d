//! What came out, beside what was promised.

use super::{Against, Arguments, Kind, Plan, Row, Way};
use crate::account::figure;
use crate::terminal::{self, CliError, explained};
use accounting::Epsilon;
use attack::linear::{Noise, expected_of_least_squares};
use report::{DynamicTable, Figure, Heading, Scale, significant};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Prints, draws and writes what was asked for; more than was promised is a failed check.
pub(super) fn deliver(plan: &Plan, rows: &[Row<'_>], arguments: &Arguments) -> Result<(), CliError> {
    terminal::print(&if arguments.json {
        format!("{}\n", json(plan, rows, arguments))
    } else {
        text(plan, rows, arguments)
    })?;
    if let Some(path) = &arguments.plot {
        figure::save(path, &drawn(plan, rows, arguments)?)?;
    }
    if let Some(path) = &arguments.html {
        terminal::write_file_atomically(path, page(plan, rows, arguments)?.to_html().as_bytes())?;
        eprintln!("wrote {}", path.display());
    }
    match rows.iter().filter(|row| row.broken()).count() {
        0 => Ok(()),
        broken => Err(CliError::check_failed(format!(
            "at {broken} of the settings more bits came out than (ε, δ) allows"
        ))
        .with_hint("chance explains it with probability below 1e-9: the promise is not kept")),
    }
}

fn name(way: Way) -> &'static str {
    if way == Way::Ls {
        "least squares"
    } else {
        "linear program"
    }
}

/// Where it starts, in one sentence.
fn opening(plan: &Plan, arguments: &Arguments) -> String {
    let who = match arguments.against {
        Against::Model => "answered by a model",
        Against::Deniable => "answered by Deniable, whose ledger has the budget",
    };
    format!(
        "{} people with a secret bit each; {} random sets of them {who}; {} data set{}, seed {}.",
        plan.people,
        plan.queries,
        plan.runs,
        if plan.runs == 1 { "" } else { "s" },
        plan.seed
    )
}

pub(super) fn text(plan: &Plan, rows: &[Row<'_>], arguments: &Arguments) -> String {
    let deniable = arguments.against == Against::Deniable;
    let mut headings = if deniable {
        vec![
            Heading::left("budget"),
            Heading::right("ε of each"),
            Heading::right("answered"),
            Heading::left("then"),
        ]
    } else {
        vec![Heading::left("noise"), Heading::right("deviation")]
    };
    headings.extend(plan.ways.iter().map(|way| Heading::right(name(*way))));
    headings.push(Heading::right("at most"));
    let mut table = DynamicTable::new(headings);
    for row in rows {
        let mut cells = match (&row.ledger, &row.setting.promise) {
            (Some(ledger), Some(promise)) => vec![
                promise.words.clone(),
                ledger.each.to_string(),
                (ledger.answered / plan.runs).to_string(),
                if ledger.refused {
                    "refused"
                } else {
                    "not asked further"
                }
                .to_owned(),
            ],
            _ => vec![row.setting.words(), significant(row.setting.noise.deviation(), 3)],
        };
        cells.extend((0..plan.ways.len()).map(|place| format!("{:.3}", row.fraction(place))));
        cells.push(match &row.setting.promise {
            Some(promise) if row.broken() => format!("{:.3} EXCEEDED", promise.at_most()),
            Some(promise) => format!("{:.3}", promise.at_most()),
            None => "no limit".to_owned(),
        });
        table.row(cells);
    }
    let mut text = format!(
        "{}\nThe part of the bits that came out right:\n\n{table}\n",
        opening(plan, arguments)
    );
    let standard_error = 0.5 / ((plan.people as u64 * plan.runs) as f64).sqrt();
    let _ = writeln!(
        text,
        "A coin gets one half. At most: (e^ε + δ)/(1 + e^ε), on average, for any attack; by chance a measured part is off by about ±{}.",
        significant(standard_error, 1)
    );
    text
}

pub(super) fn json(plan: &Plan, rows: &[Row<'_>], arguments: &Arguments) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let recovered: serde_json::Map<String, Value> = plan
                .ways
                .iter()
                .enumerate()
                .map(|(place, way)| (name(*way).replace(' ', "_"), json!(row.fraction(place))))
                .collect();
            let promise = row.setting.promise.as_ref();
            let mut object = json!({
                "noise": row.setting.kind.name().to_lowercase(),
                "alpha": (row.setting.kind == Kind::Uniform).then(|| row.setting.size.parse::<f64>().ok()).flatten(),
                "epsilon": promise.map(|promise| promise.epsilon.to_string()),
                "delta": promise.map(|promise| promise.delta.to_string()),
                "recovered": recovered,
                "at_most": promise.map(|promise| promise.at_most()),
                "exceeded": row.broken(),
                "bits": row.bits,
            });
            match &row.ledger {
                Some(ledger) => {
                    object["noise"] = json!("deniable");
                    object["epsilon_each"] = json!(ledger.each.to_string());
                    object["answered"] = json!(ledger.answered);
                    object["refused"] = json!(ledger.refused);
                }
                None => {
                    let deviation = row.setting.noise.deviation();
                    object["deviation"] = json!(deviation);
                    object["expected_of_least_squares"] =
                        json!(expected_of_least_squares(plan.people, plan.queries, deviation));
                }
            }
            object
        })
        .collect();
    json!({
        "command": "attack reconstruct linear",
        "against": if arguments.against == Against::Deniable { "deniable" } else { "model" },
        "people": plan.people,
        "queries": plan.queries,
        "runs": plan.runs,
        "seed": plan.seed,
        "rows": rows,
    })
}

/// Recovered bits against the noise. For the model, the noise is measured in √n, where the phase change is; for Deniable, by the budget.
pub(super) fn drawn(plan: &Plan, rows: &[Row<'_>], arguments: &Arguments) -> Result<Figure, CliError> {
    if arguments.against == Against::Deniable {
        return Ok(by_budget(plan, rows));
    }
    let root = (plan.people as f64).sqrt();
    let mut figure = Figure::new(format!("{} bits from {} noisy sums", plan.people, plan.queries))
        .x_axis("standard deviation of the noise, in √n", Scale::Log10)
        .y_axis("part of the bits recovered", Scale::Linear)
        .y_at_most(1.0);
    for kind in [Kind::None, Kind::Uniform, Kind::Gaussian, Kind::Laplace] {
        let chosen: Vec<&Row<'_>> = rows.iter().filter(|row| row.setting.kind == kind).collect();
        if chosen.is_empty() || kind == Kind::None {
            continue;
        }
        let label = kind.name();
        for (place, way) in plan.ways.iter().enumerate() {
            let mut points: Vec<(f64, f64)> = chosen
                .iter()
                .map(|row| (row.setting.noise.deviation() / root, row.fraction(place)))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let series = format!("{label} noise, {}", name(*way));
            figure = figure.line(series.clone(), &points).points(series, &points);
        }
    }
    let deviations = rows
        .iter()
        .map(|row| row.setting.noise.deviation())
        .filter(|deviation| *deviation > 0.0);
    let (least, most) = deviations.fold((f64::INFINITY, 0.0f64), |(least, most), deviation| {
        (least.min(deviation), most.max(deviation))
    });
    if plan.ways.contains(&Way::Ls) && least < most {
        let expected: Vec<(f64, f64)> = evenly(least, most)
            .map(|deviation| {
                (
                    deviation / root,
                    expected_of_least_squares(plan.people, plan.queries, deviation),
                )
            })
            .collect();
        figure = figure.line("least squares in theory", &expected);
    }
    let bound = bound(plan, rows)?;
    if !bound.is_empty() {
        figure = figure.line(
            "most that (ε, δ) allows",
            &bound.iter().map(|(x, y)| (x / root, *y)).collect::<Vec<_>>(),
        );
    }
    Ok(figure.horizontal("a coin", 0.5))
}

/// Points for a curve, evenly in the logarithm.
fn evenly(least: f64, most: f64) -> impl Iterator<Item = f64> {
    const POINTS: u32 = 40;
    let ratio = (most / least).ln();
    (0..=POINTS).map(move |step| least * (ratio * f64::from(step) / f64::from(POINTS)).exp())
}

/// The most that Gaussian noise of each deviation allows, between the smallest and the largest ε of the rows.
fn bound(plan: &Plan, rows: &[Row<'_>]) -> Result<Vec<(f64, f64)>, CliError> {
    let promises = rows
        .iter()
        .filter(|row| row.setting.kind == Kind::Gaussian)
        .filter_map(|row| row.setting.promise.as_ref());
    let epsilons: Vec<f64> = promises.map(|promise| promise.epsilon.to_f64_up()).collect();
    let (least, most) = epsilons
        .iter()
        .fold((f64::INFINITY, 0.0f64), |(least, most), epsilon| {
            (least.min(*epsilon), most.max(*epsilon))
        });
    if least >= most {
        return Ok(Vec::new());
    }
    let mut points = Vec::new();
    for epsilon in evenly(least, most) {
        let rounded = Epsilon::parse(&format!("{epsilon:.6e}")).map_err(explained)?;
        let noise =
            Noise::gaussian_for(&rounded, &plan.delta, plan.queries as u64).map_err(super::unusable)?;
        let at_most = attack::bound::right_guesses(epsilon, plan.delta.to_f64_up());
        points.push((noise.deviation(), at_most));
    }
    points.reverse();
    Ok(points)
}

fn by_budget(plan: &Plan, rows: &[Row<'_>]) -> Figure {
    let of = |value: &dyn Fn(&Row<'_>) -> f64| -> Vec<(f64, f64)> {
        let point = |row: &Row<'_>| Some((row.setting.promise.as_ref()?.epsilon.to_f64_up(), value(row)));
        let mut points: Vec<(f64, f64)> = rows.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let mut figure = Figure::new(format!("{} bits through private SQL", plan.people))
        .x_axis("budget ε", Scale::Log10)
        .y_axis("part of the bits recovered", Scale::Linear)
        .y_at_most(1.0);
    for (place, way) in plan.ways.iter().enumerate() {
        let points = of(&|row| row.fraction(place));
        figure = figure.line(name(*way), &points).points(name(*way), &points);
    }
    let ends = of(&|_| 0.0);
    if let [(least, _), .., (most, _)] = ends.as_slice() {
        let delta = plan.delta.to_f64_up();
        let bound: Vec<(f64, f64)> = evenly(*least, *most)
            .map(|epsilon| (epsilon, attack::bound::right_guesses(epsilon, delta)))
            .collect();
        figure = figure.line("most that (ε, δ) allows", &bound);
    }
    figure.horizontal("a coin", 0.5)
}

pub(super) fn page(plan: &Plan, rows: &[Row<'_>], arguments: &Arguments) -> Result<::report::Page, CliError> {
    let mut report = ::report::Page::new(
        "Linear reconstruction",
        format!(
            "{}\n\nEverybody has one secret bit. Each query asks how many of a random set have theirs set. The answers are equations with \
             errors; solved and rounded they give the bits back, unless the noise is of the order of √n. Under (ε, δ)-differential \
             privacy no attack gets more than (e^ε + δ)/(1 + e^ε) of the bits right, on average.",
            opening(plan, arguments)
        ),
    );
    for (number, row) in rows.iter().enumerate() {
        let measured: Vec<String> = plan
            .ways
            .iter()
            .enumerate()
            .map(|(place, way)| format!("{:.3} by {}", row.fraction(place), name(*way)))
            .collect();
        let (claim, expected) = match &row.setting.promise {
            Some(promise) => {
                let whose = row.ledger.as_ref().map_or_else(
                    || row.setting.words(),
                    |ledger| {
                        format!(
                            "Deniable, {} answers, then {}",
                            ledger.answered / plan.runs,
                            if ledger.refused {
                                "refused"
                            } else {
                                "not asked further"
                            }
                        )
                    },
                );
                (
                    whose,
                    format!("at most {:.3} ({})", promise.at_most(), promise.words),
                )
            }
            None => (row.setting.words(), "nothing is promised".to_owned()),
        };
        let mut entry = ::report::Row::new(
            format!("{}", number + 1),
            claim,
            expected,
            measured.join(", "),
            !row.broken(),
        );
        if number == 0 {
            entry = entry.figure(drawn(plan, rows, arguments)?);
        }
        report.row(entry);
    }
    Ok(report)
}
