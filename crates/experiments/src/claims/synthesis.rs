//! Y1 to Y3: synthetic rows keep their one charge, get better with better methods, and are as far off as their report says.

use super::local::person;
use super::{Claim, Fault, Outcome};
use ::synthesis::{Method, Plan, Release, Report, Settings, rho_for};
use accounting::{Delta, Epsilon, Neighbors};
use mechanism::{Aggregate, RoundResult, Sensitive, UnlimitedLedger};
use noise::Seeded;
use report::{Figure, Scale, significant};
use tables::{Attribute, Cells, Domain};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "Y1",
        claim: "all rounds of synthetic rows fit into one charge, whatever they choose",
        run: one_charge,
    },
    Claim {
        id: "Y2",
        claim: "tables that are chosen in rounds make better synthetic rows than columns alone",
        run: better,
    },
    Claim {
        id: "Y3",
        claim: "synthetic rows are as far from the data as their report says, which never saw it",
        run: honest,
    },
];

/// Noise is drawn from seeds, so that what is measured here is the same in every run.
const SEEDS: u64 = 3;
const ROWS: usize = 6_000;
const METHODS: [(Method, &str); 3] = [
    (Method::Independent, "independent"),
    (Method::Mst, "mst"),
    (Method::Aim, "aim"),
];

/// People who are made up: each attribute depends on those before it.
fn people() -> Result<(Domain, Vec<Vec<u32>>), Fault> {
    let sizes = [2u32, 6, 12, 5, 8, 3, 4];
    let attributes: Result<Vec<Attribute>, _> = sizes
        .iter()
        .enumerate()
        .map(|(place, size)| Attribute::new(format!("attribute {place}"), *size))
        .collect();
    let mut random = Seeded::new(6);
    let mut columns = vec![Vec::with_capacity(ROWS); sizes.len()];
    for _ in 0..ROWS {
        let mut before = 0u32;
        let mut sum = 0u32;
        for (column, size) in columns.iter_mut().zip(sizes) {
            let code = (before + sum / 3 + random.below(u64::from(size / 2 + 1)) as u32).min(size - 1);
            column.push(code);
            (before, sum) = (code, sum + code);
        }
    }
    Ok((Domain::new(attributes?)?, columns))
}

/// What is released of the people at ε = 1.
fn released(
    method: Method,
    seed: u64,
    domain: &Domain,
    columns: &[Vec<u32>],
) -> Result<(Plan, Release), Fault> {
    let settings = Settings {
        method,
        cells: 20_000,
        ..Settings::default()
    };
    let rho = rho_for(&Epsilon::parse("1")?, &Delta::parse("1e-6")?)?;
    let plan = Plan::new(domain.clone(), settings, rho, 1, &person())?;
    let cells = Sensitive::new(Cells::of_rows(columns.to_vec()));
    let input = Aggregate::of_rows(cells, 1, person())?;
    let mut account = UnlimitedLedger::replayable(Neighbors::AddRemove, seed);
    let rounds = account
        .release_by(plan.mechanism(), input, "synthetic rows")?
        .into_value();
    let release = Release::new(&plan, rounds)?;
    Ok((plan, release))
}

/// The share of each cell of a table.
fn shares(domain: &Domain, columns: &[Vec<u32>], by: &[usize]) -> Vec<f64> {
    let size = |place: &usize| domain.attributes()[*place].size() as usize;
    let mut table = vec![0.0; by.iter().map(size).product()];
    let rows = columns[0].len();
    let cell = |row: usize| {
        by.iter().fold(0, |cell, attribute| {
            cell * size(attribute) + columns[*attribute][row] as usize
        })
    };
    for cell in (0..rows).map(cell) {
        table[cell] += 1.0 / rows as f64;
    }
    table
}

fn distance(one: &[f64], other: &[f64]) -> f64 {
    0.5 * one
        .iter()
        .zip(other)
        .map(|(one, other)| (one - other).abs())
        .sum::<f64>()
}

fn one_charge() -> Result<Outcome, Fault> {
    let (domain, columns) = people()?;
    let mut pass = true;
    let mut measured = Vec::new();
    for (method, name) in METHODS {
        let mut used = Vec::new();
        for seed in 0..SEEDS {
            let (plan, release) = released(method, seed, &domain, &columns)?;
            let rounds = release.rounds();
            let (spent, charged) = (rounds.spent.as_rational(), plan.mechanism().rho().as_rational());
            pass &= spent <= charged;
            used.push(rounds.spent.to_f64_up() / plan.mechanism().rho().to_f64_up());
            let choices = rounds
                .results
                .iter()
                .filter(|result| matches!(result, RoundResult::Chosen { .. }));
            pass &= (choices.count() > 0) == (method != Method::Independent);
        }
        let least = used.iter().copied().fold(f64::INFINITY, f64::min);
        measured.push(format!("{name} {}", significant(least, 4)));
    }
    Ok(Outcome::new("at most 1 of ρ", measured.join(", "), pass))
}

/// The mean distance of all tables by two attributes, for each method and seed.
fn better() -> Result<Outcome, Fault> {
    let (domain, columns) = people()?;
    let mut means = Vec::new();
    for (place, (method, _)) in METHODS.into_iter().enumerate() {
        for seed in 0..SEEDS {
            let (_, release) = released(method, seed, &domain, &columns)?;
            let rows = release.model()?.rows(ROWS, release.seed());
            let mut distances = Vec::new();
            for first in 0..columns.len() {
                for second in first + 1..columns.len() {
                    let by = [first, second];
                    distances.push(distance(
                        &shares(&domain, &rows, &by),
                        &shares(&domain, &columns, &by),
                    ));
                }
            }
            means.push((place, distances.iter().sum::<f64>() / distances.len() as f64));
        }
    }
    let of = |method: usize| {
        means
            .iter()
            .filter(move |(place, _)| *place == method)
            .map(|(_, mean)| *mean)
    };
    let worst = |method: usize| of(method).fold(0.0, f64::max);
    let best = |method: usize| of(method).fold(f64::INFINITY, f64::min);
    let pass = worst(1) < 0.7 * best(0) && worst(2) < best(1);
    let points: Vec<(f64, f64)> = means
        .iter()
        .map(|(place, mean)| (*place as f64, 100.0 * mean))
        .collect();
    let figure =
        Figure::new("Tables by two attributes: mean distance of synthetic rows from the data, at ε = 1")
            .x_axis("0 independent, 1 mst, 2 aim", Scale::Linear)
            .y_axis("distance, %", Scale::Linear)
            .points("", &points);
    let measured: Vec<String> = METHODS
        .iter()
        .enumerate()
        .map(|(place, (_, name))| format!("{name} {} %", significant(100.0 * worst(place), 3)))
        .collect();
    Ok(Outcome::new("independent > mst > aim", measured.join(", "), pass).figure(figure))
}

/// The distance from the data is at most what the report states of the distance from noisy counts, and what it states of their noise.
fn honest() -> Result<Outcome, Fault> {
    let (domain, columns) = people()?;
    let (mut worst, mut tables) = (0.0f64, 0usize);
    for (method, _) in METHODS {
        for seed in 0..SEEDS {
            let (_, release) = released(method, seed, &domain, &columns)?;
            let model = release.model()?;
            let rows = model.rows(ROWS, release.seed());
            let report = Report::new(&release, &model, &rows);
            for table in &report.measured {
                let place = |name: &String| {
                    let attributes = domain.attributes().iter();
                    attributes
                        .enumerate()
                        .find(|(_, attribute)| attribute.name() == name)
                        .map(|(place, _)| place)
                };
                let by: Vec<usize> = table.by.iter().filter_map(place).collect();
                let truly = distance(&shares(&domain, &rows, &by), &shares(&domain, &columns, &by));
                // Noise is above its mean here and there: half as much again, and a tenth of a percent.
                worst = worst.max(truly / (table.distance + 1.5 * table.distance_of_noise + 0.001));
                tables += 1;
            }
        }
    }
    let measured = format!("at most {} of it, in {tables} tables", significant(worst, 3));
    Ok(Outcome::new(
        "at most 1 of what is stated",
        measured,
        worst <= 1.0,
    ))
}
