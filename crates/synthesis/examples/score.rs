//! Makes synthetic rows of a table of codes and scores them against it: `score FILE EPSILON DELTA METHOD SEED [CELLS [WAYS]]`.
//!
//! The first line of the file has `name:size` for each column, the others codes from 0. The scores are that of SDNist: 1000 times one less the mean distance of all tables by two columns, and by three.
//! As SDNist does it, a column of numbers (`name:size:number`) is scored in twenty parts of about as many rows, and with a column `name:size:group` all tables are by that one too. The scores compare with
//! the data, so they are for data that is public.

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
    let (mut attributes, mut numbers, mut group) = (Vec::new(), Vec::new(), None);
    for (place, column) in lines.next().unwrap_or_default().split(',').enumerate() {
        let mut words = column.split(':');
        let (Some(name), Some(size)) = (words.next(), words.next()) else {
            return Err("name:size".into());
        };
        attributes.push(Attribute::new(name, size.parse()?)?);
        match words.next() {
            Some("number") => numbers.push(place),
            Some("group") => group = Some(place),
            _ => {}
        }
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
        ..Settings::default()
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
    let scored = Scored::new(sizes, &columns, &numbers, group);
    println!(
        "{method} seed {seed}: score {:.1} by pairs, {:.1} by three; {} rounds, model of {} cells; {drawn:.1} s for rounds, {:.1} s for the model, {:.1} s for rows",
        scored.score(&columns, &rows, 2),
        scored.score(&columns, &rows, 3),
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

/// What tables are compared.
struct Scored {
    /// For each column, the part that each code counts in.
    parts: Vec<Vec<usize>>,
    group: Option<usize>,
}

impl Scored {
    fn new(sizes: Vec<usize>, data: &[Vec<u32>], numbers: &[usize], group: Option<usize>) -> Self {
        let parts = sizes.into_iter().enumerate().map(|(column, size)| {
            if numbers.contains(&column) {
                twentieths(size, &data[column])
            } else {
                (0..size).collect()
            }
        });
        Self {
            parts: parts.collect(),
            group,
        }
    }

    fn score(&self, one: &[Vec<u32>], other: &[Vec<u32>], ways: usize) -> f64 {
        let columns: Vec<usize> = (0..self.parts.len())
            .filter(|column| Some(*column) != self.group)
            .collect();
        let chosen = chosen(columns.len(), ways);
        let distances = chosen.iter().map(|by| {
            let by: Vec<usize> = by.iter().map(|place| columns[*place]).chain(self.group).collect();
            let (here, there) = (self.shares(one, &by), self.shares(other, &by));
            0.5 * here
                .iter()
                .zip(&there)
                .map(|(one, other)| (one - other).abs())
                .sum::<f64>()
        });
        1000.0 * (1.0 - distances.sum::<f64>() / chosen.len() as f64)
    }

    fn shares(&self, rows: &[Vec<u32>], by: &[usize]) -> Vec<f64> {
        let size = |column: usize| self.parts[column].iter().max().map_or(1, |last| last + 1);
        let mut table = vec![0.0; by.iter().map(|column| size(*column)).product()];
        let count = rows[0].len();
        let mut places = vec![0; count];
        for column in by {
            for (place, code) in places.iter_mut().zip(&rows[*column]) {
                *place = *place * size(*column) + self.parts[*column][*code as usize];
            }
        }
        for place in places {
            table[place] += 1.0 / count as f64;
        }
        table
    }
}

/// The twentieth of the rows that each code is in, by its mean rank; a code that no row has is in that of the next one.
fn twentieths(size: usize, rows: &[u32]) -> Vec<usize> {
    let mut counts = vec![0_usize; size];
    for code in rows {
        counts[*code as usize] += 1;
    }
    let (mut below, mut parts) = (0, vec![19; size]);
    for (part, count) in parts.iter_mut().zip(&counts) {
        let rank = below as f64 + (*count as f64 + 1.0) / 2.0;
        *part = ((20.0 * rank / rows.len() as f64) as usize).min(19);
        below += count;
    }
    for code in (0..size.saturating_sub(1)).rev() {
        if counts[code] == 0 {
            parts[code] = parts[code + 1];
        }
    }
    parts
}
