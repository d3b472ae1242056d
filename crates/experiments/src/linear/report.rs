//! The results beside the promise, stated once for people, programs and a page.

use super::{NoiseKind, Recovered, Study, Way};
use crate::people::Error;
use ::report::{DynamicTable, Figure, Findings, Heading, Row, Scale, significant};
use accounting::{Delta, Epsilon};
use attack::linear::{Noise, expected_of_least_squares};
use serde_json::{Value, json};

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// A model, with noise as stated and an answer to every question.
    Model,
    /// Private SQL with a budget.
    Deniable,
}

/// What came out of a study, in words, as an object, and drawn; `delta` is the one of the bound that is
/// drawn.
///
/// # Errors
/// When no noise has an ε of the bound.
pub fn findings(
    study: &Study,
    rows: &[Recovered<'_>],
    against: Against,
    delta: &Delta,
) -> Result<Findings, Error> {
    let opening = opening(study, against);
    let figure = match against {
        Against::Model => by_noise(study, rows, delta)?,
        Against::Deniable => by_budget(study, rows, delta),
    };
    let numbered = rows.iter().enumerate();
    Ok(Findings {
        text: text(study, rows, against, &opening),
        json: json(study, rows, against),
        title: "Linear reconstruction",
        introduction: format!(
            "{opening}\n\nEverybody has one secret bit. Each query asks how many of a random set have theirs set. The answers are equations with \
             errors; solved and rounded they give the bits back, unless the noise is of the order of √n. Under (ε, δ)-differential \
             privacy no attack gets more than (e^ε + δ)/(1 + e^ε) of the bits right, on average."
        ),
        rows: numbered.map(|(number, row)| claim(study, number, row)).collect(),
        figures: vec![figure],
    })
}

fn name(way: Way) -> &'static str {
    match way {
        Way::LeastSquares => "least squares",
        Way::LinearProgram => "linear program",
    }
}

/// Where it starts, in one sentence.
fn opening(study: &Study, against: Against) -> String {
    let who = match against {
        Against::Model => "answered by a model",
        Against::Deniable => "answered by Deniable, whose ledger has the budget",
    };
    format!(
        "{} people with a secret bit each; {} random sets of them {who}; {} data set{}, seed {}.",
        study.people,
        study.queries,
        study.runs,
        if study.runs == 1 { "" } else { "s" },
        study.seed
    )
}

fn text(study: &Study, rows: &[Recovered<'_>], against: Against, opening: &str) -> String {
    let deniable = against == Against::Deniable;
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
    headings.extend(study.ways.iter().map(|way| Heading::right(name(*way))));
    headings.push(Heading::right("at most"));
    let mut table = DynamicTable::new(headings);
    for row in rows {
        let mut cells = match (&row.ledger, &row.setting.promise) {
            (Some(ledger), Some(promise)) => vec![
                promise.words.clone(),
                ledger.each.to_string(),
                (ledger.answered / study.runs).to_string(),
                if ledger.refused {
                    "refused"
                } else {
                    "not asked further"
                }
                .to_owned(),
            ],
            _ => vec![row.setting.words(), significant(row.setting.noise.deviation(), 3)],
        };
        cells.extend((0..study.ways.len()).map(|place| format!("{:.3}", row.fraction(place))));
        cells.push(match &row.setting.promise {
            Some(promise) if row.broken() => format!("{:.3} EXCEEDED", promise.at_most()),
            Some(promise) => format!("{:.3}", promise.at_most()),
            None => "no limit".to_owned(),
        });
        table.row(cells);
    }
    let standard_error = 0.5 / ((study.people as u64 * study.runs) as f64).sqrt();
    format!(
        "{opening}\nThe part of the bits that came out right:\n\n{table}\n\
         A coin gets one half. At most: (e^ε + δ)/(1 + e^ε), on average, for any attack; by chance a measured part is off by about ±{}.\n",
        significant(standard_error, 1)
    )
}

fn json(study: &Study, rows: &[Recovered<'_>], against: Against) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            let recovered: serde_json::Map<String, Value> = study
                .ways
                .iter()
                .enumerate()
                .map(|(place, way)| (name(*way).replace(' ', "_"), json!(row.fraction(place))))
                .collect();
            let promise = row.setting.promise.as_ref();
            let mut object = json!({
                "noise": row.setting.kind.name().to_lowercase(),
                "alpha": (row.setting.kind == NoiseKind::Uniform).then(|| row.setting.size.parse::<f64>().ok()).flatten(),
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
                        json!(expected_of_least_squares(study.people, study.queries, deviation));
                }
            }
            object
        })
        .collect();
    json!({
        "command": "attack reconstruct linear",
        "against": if against == Against::Deniable { "deniable" } else { "model" },
        "people": study.people,
        "queries": study.queries,
        "runs": study.runs,
        "seed": study.seed,
        "rows": rows,
    })
}

/// Recovered bits of the model against the noise, measured in √n, where the phase change is.
fn by_noise(study: &Study, rows: &[Recovered<'_>], delta: &Delta) -> Result<Figure, Error> {
    let root = (study.people as f64).sqrt();
    let mut figure = Figure::new(format!("{} bits from {} noisy sums", study.people, study.queries))
        .x_axis("standard deviation of the noise, in √n", Scale::Log10)
        .y_axis("part of the bits recovered", Scale::Linear)
        .y_at_most(1.0);
    for kind in [
        NoiseKind::None,
        NoiseKind::Uniform,
        NoiseKind::Gaussian,
        NoiseKind::Laplace,
    ] {
        let chosen: Vec<&Recovered<'_>> = rows.iter().filter(|row| row.setting.kind == kind).collect();
        if chosen.is_empty() || kind == NoiseKind::None {
            continue;
        }
        let label = kind.name();
        for (place, way) in study.ways.iter().enumerate() {
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
    if study.ways.contains(&Way::LeastSquares) && least < most {
        let expected: Vec<(f64, f64)> = evenly(least, most)
            .map(|deviation| {
                (
                    deviation / root,
                    expected_of_least_squares(study.people, study.queries, deviation),
                )
            })
            .collect();
        figure = figure.line("least squares in theory", &expected);
    }
    let bound = bound(study, rows, delta)?;
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
fn bound(study: &Study, rows: &[Recovered<'_>], delta: &Delta) -> Result<Vec<(f64, f64)>, Error> {
    let promises = rows
        .iter()
        .filter(|row| row.setting.kind == NoiseKind::Gaussian)
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
        let rounded = Epsilon::parse(&format!("{epsilon:.6e}"))?;
        let noise = Noise::gaussian_for(&rounded, delta, study.queries as u64)?;
        let at_most = attack::bound::right_guesses(epsilon, delta.to_f64_up());
        points.push((noise.deviation(), at_most));
    }
    points.reverse();
    Ok(points)
}

/// Recovered bits of Deniable against the budget.
fn by_budget(study: &Study, rows: &[Recovered<'_>], delta: &Delta) -> Figure {
    let of = |value: &dyn Fn(&Recovered<'_>) -> f64| -> Vec<(f64, f64)> {
        let point =
            |row: &Recovered<'_>| Some((row.setting.promise.as_ref()?.epsilon.to_f64_up(), value(row)));
        let mut points: Vec<(f64, f64)> = rows.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let mut figure = Figure::new(format!("{} bits through private SQL", study.people))
        .x_axis("budget ε", Scale::Log10)
        .y_axis("part of the bits recovered", Scale::Linear)
        .y_at_most(1.0);
    for (place, way) in study.ways.iter().enumerate() {
        let points = of(&|row| row.fraction(place));
        figure = figure.line(name(*way), &points).points(name(*way), &points);
    }
    let ends = of(&|_| 0.0);
    if let [(least, _), .., (most, _)] = ends.as_slice() {
        let delta = delta.to_f64_up();
        let bound: Vec<(f64, f64)> = evenly(*least, *most)
            .map(|epsilon| (epsilon, attack::bound::right_guesses(epsilon, delta)))
            .collect();
        figure = figure.line("most that (ε, δ) allows", &bound);
    }
    figure.horizontal("a coin", 0.5)
}

/// One setting, for a page.
fn claim(study: &Study, number: usize, row: &Recovered<'_>) -> Row {
    let measured: Vec<String> = study
        .ways
        .iter()
        .enumerate()
        .map(|(place, way)| format!("{:.3} by {}", row.fraction(place), name(*way)))
        .collect();
    let claim = match &row.ledger {
        Some(ledger) => format!(
            "Deniable, {} answers, then {}",
            ledger.answered / study.runs,
            if ledger.refused {
                "refused"
            } else {
                "not asked further"
            }
        ),
        None => row.setting.words(),
    };
    let expected = match &row.setting.promise {
        Some(promise) => format!("at most {:.3} ({})", promise.at_most(), promise.words),
        None => "nothing is promised".to_owned(),
    };
    let number = (number + 1).to_string();
    Row::new(number, claim, expected, measured.join(", "), !row.broken())
}
