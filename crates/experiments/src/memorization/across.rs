//! The same study over several seeds: a rank that one seed found may be chance.

use super::{Measured, Run};
use serde::Serialize;

/// What several seeds found of one number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// In the middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// `None` of nothing. Between two middle numbers the median is half-way.
    fn of(numbers: impl Iterator<Item = f64>) -> Option<Self> {
        let mut all: Vec<f64> = numbers.collect();
        all.sort_by(f64::total_cmp);
        let last = all.len().checked_sub(1)?;
        Some(Self {
            median: f64::midpoint(all[last / 2], all[last.div_ceil(2)]),
            least: all[0],
            most: all[last],
        })
    }
}

/// Other people's PINs that are in the text so often.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OthersAcross {
    /// So often.
    pub copies: usize,
    /// Of the mean over the PINs of one seed, in bits.
    pub mean_exposure: Spread,
    /// The share of all PINs of all seeds that rank first.
    pub first: f64,
}

/// One model over all seeds that trained it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Across {
    /// What the model is called.
    pub name: String,
    /// How many seeds this rests on.
    pub seeds: usize,
    /// Of the planted PIN; ties count against the attack.
    pub rank: Spread,
    /// Of the planted PIN, in bits.
    pub exposure: Spread,
    /// On text that was held out.
    pub perplexity: Spread,
    /// Other people's PINs, by how often they are in the text.
    pub others: Vec<OthersAcross>,
}

/// Every model by name, in the order of their first run. A model that was stopped early is no other one, so
/// it is left out.
pub fn across(runs: &[Run]) -> Vec<Across> {
    let asked = || {
        runs.iter()
            .flat_map(|run| &run.asked)
            .filter(|asked| !asked.unfinished)
    };
    let mut names: Vec<&str> = Vec::new();
    for asked in asked() {
        if !names.contains(&asked.name.as_str()) {
            names.push(&asked.name);
        }
    }
    names
        .into_iter()
        .filter_map(|name| {
            let same: Vec<&Measured> = asked().filter(|asked| asked.name == name).collect();
            let spread = |number: fn(&Measured) -> f64| Spread::of(same.iter().map(|asked| number(asked)));
            Some(Across {
                name: name.to_owned(),
                seeds: same.len(),
                rank: spread(|asked| asked.rank.worst as f64)?,
                exposure: spread(|asked| asked.rank.exposure().least)?,
                perplexity: spread(|asked| asked.perplexity)?,
                others: others(&same),
            })
        })
        .collect()
}

fn others(same: &[&Measured]) -> Vec<OthersAcross> {
    let mut copies: Vec<usize> = same
        .iter()
        .flat_map(|asked| asked.others.iter().map(|others| others.copies))
        .collect();
    copies.sort_unstable();
    copies.dedup();
    copies
        .into_iter()
        .filter_map(|copies| {
            let all = same.iter().flat_map(|asked| &asked.others);
            let these: Vec<_> = all.filter(|others| others.copies == copies).collect();
            let secrets: usize = these.iter().map(|others| others.exposure.secrets).sum();
            let first: usize = these.iter().map(|others| others.exposure.first).sum();
            Some(OthersAcross {
                copies,
                mean_exposure: Spread::of(these.iter().map(|others| others.exposure.mean))?,
                first: first as f64 / secrets.max(1) as f64,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ranges() {
        let of = |numbers: &[f64]| Spread::of(numbers.iter().copied());
        assert_eq!(of(&[]), None);
        let three = of(&[40.0, 1.0, 3.0]).expect("a spread");
        assert_eq!((three.median, three.least, three.most), (3.0, 1.0, 40.0));
        assert_eq!(of(&[4.0, 1.0, 3.0, 9.0]).expect("a spread").median, 3.5);
        assert_eq!(of(&[2.0]).expect("a spread").median, 2.0);
    }

    #[test]
    fn models_of_one_name_are_one_row_and_say_how_many_seeds_they_rest_on() {
        let run = |seed, models: &[(&str, usize, f64, bool)]| Run {
            seed,
            rows: 100,
            copies: 5,
            unigram: 50.0,
            asked: models
                .iter()
                .map(|(name, rank, perplexity, unfinished)| {
                    Measured::synthetic(name, *rank, *perplexity, *unfinished)
                })
                .collect(),
        };
        let runs = [
            run(1, &[("ordinary", 1, 10.0, false), ("private", 4000, 30.0, false)]),
            run(2, &[("ordinary", 3, 12.0, false), ("private", 200, 34.0, false)]),
            run(3, &[("ordinary", 2, 11.0, false), ("private", 9000, 99.0, true)]),
        ];
        let found = across(&runs);
        let rows: Vec<(&str, usize, f64, f64)> = found
            .iter()
            .map(|model| {
                (
                    model.name.as_str(),
                    model.seeds,
                    model.rank.median,
                    model.perplexity.most,
                )
            })
            .collect();
        assert_eq!(rows, [("ordinary", 3, 2.0, 12.0), ("private", 2, 2100.0, 34.0)]);
        assert!((found[0].exposure.most - 10_000f64.log2()).abs() < 1e-12);
    }
}
