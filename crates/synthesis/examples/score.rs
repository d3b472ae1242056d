//! Makes synthetic rows of a table of codes and scores them against it: `score FILE EPSILON DELTA METHOD SEED [CELLS [WAYS]]`.
//!
//! The first line of the file has `name:size` for each column, the others codes from 0. The scores are that of SDNist: 1000 times one less the mean distance of all tables by two columns, and by three. They
//! compare with the data, so they are for data that is public.

use accounting::{Delta, Epsilon, Neighbors, PrivacyUnit};
use mechanism::{Aggregate, Cells, Sensitive, UnlimitedLedger};
use std::time::Instant;
use synthesis::{Method, Plan, Release, Settings, Wanted, rho_for};
use tables::{Attribute, Domain};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, epsilon, delta, method, seed, rest @ ..] = &arguments[..] else {
        return Err("score FILE EPSILON DELTA METHOD SEED [CELLS [WAYS]]".into());
    };
    let text = std::fs::read_to_string(file)?;
    let mut lines = text.lines();
    let mut attributes = Vec::new();
    for column in lines.next().unwrap_or_default().split(',') {
        let (name, size) = column.split_once(':').ok_or("name:size")?;
        attributes.push(Attribute::new(name, size.parse()?)?);
    }
    let sizes: Vec<usize> = attributes
        .iter()
        .map(|attribute| attribute.size() as usize)
        .collect();
    let mut columns: Vec<Vec<u32>> = vec![Vec::new(); attributes.len()];
    for line in lines {
        for (column, code) in columns.iter_mut().zip(line.split(',')) {
            column.push(code.parse()?);
        }
    }
    let ways: usize = rest.get(1).map_or(Ok(3), |ways| ways.parse())?;
    let settings = Settings {
        wanted: chosen(attributes.len(), ways)
            .into_iter()
            .map(|attributes| Wanted {
                attributes,
                weight: 1,
            })
            .collect(),
        method: match method.as_str() {
            "independent" => Method::Independent,
            "mst" => Method::Mst,
            _ => Method::Aim,
        },
        cells: rest.first().map_or(Ok(200_000), |cells| cells.parse())?,
    };
    let person = PrivacyUnit::new("person", Neighbors::AddRemove);
    let rho = rho_for(&Epsilon::parse(epsilon)?, &Delta::parse(delta)?)?;
    let plan = Plan::new(Domain::new(attributes)?, settings, rho, 1, &person)?;
    let mut account = UnlimitedLedger::replayable(Neighbors::AddRemove, seed.parse()?);
    let begun = Instant::now();
    let input = Aggregate::of_rows(Sensitive::new(Cells::of_rows(columns.clone())), 1, person)?;
    let rounds = account.release_by(plan.mechanism(), input, "score")?.into_value();
    let drawn = begun.elapsed().as_secs_f64();
    let release = Release::new(&plan, rounds)?;
    let model = release.model()?;
    let fitted = begun.elapsed().as_secs_f64();
    let rows = model.rows(columns[0].len(), release.seed());
    let made = begun.elapsed().as_secs_f64();
    println!(
        "{method} seed {seed}: score {:.1} by pairs, {:.1} by three; {} rounds, model of {} cells; {drawn:.1} s for rounds, {:.1} s for the model, {:.1} s for rows",
        score(&sizes, &columns, &rows, 2),
        score(&sizes, &columns, &rows, 3),
        release.rounds().results.len(),
        model.cells(),
        fitted - drawn,
        made - fitted,
    );
    Ok(())
}

/// All choices of so many columns.
fn chosen(columns: usize, ways: usize) -> Vec<Vec<usize>> {
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..ways {
        let longer = chosen.iter().flat_map(|begun| {
            let from = begun.last().map_or(0, |last| last + 1);
            (from..columns).map(move |next| begun.iter().copied().chain([next]).collect())
        });
        chosen = longer.collect();
    }
    chosen
}

fn score(sizes: &[usize], one: &[Vec<u32>], other: &[Vec<u32>], ways: usize) -> f64 {
    let chosen = chosen(sizes.len(), ways);
    let distances = chosen.iter().map(|by| {
        let (here, there) = (shares(sizes, one, by), shares(sizes, other, by));
        0.5 * here
            .iter()
            .zip(&there)
            .map(|(one, other)| (one - other).abs())
            .sum::<f64>()
    });
    1000.0 * (1.0 - distances.sum::<f64>() / chosen.len() as f64)
}

fn shares(sizes: &[usize], columns: &[Vec<u32>], by: &[usize]) -> Vec<f64> {
    let mut table = vec![0.0; by.iter().map(|place| sizes[*place]).product()];
    let rows = columns[0].len();
    let mut places = vec![0; rows];
    for column in by {
        for (place, code) in places.iter_mut().zip(&columns[*column]) {
            *place = *place * sizes[*column] + *code as usize;
        }
    }
    for place in places {
        table[place] += 1.0 / rows as f64;
    }
    table
}
