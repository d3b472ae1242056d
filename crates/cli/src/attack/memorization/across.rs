//! The same over several seeds: a rank that one seed found may be chance.

use super::super::told::percent;
use super::report::Run;
use super::study::Asked;
use ::report::{Column, Figure, Scale, Table, significant};
use serde::Serialize;

/// What several seeds found of one number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
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

    /// `3 (1 to 40)`.
    pub(super) fn words(&self, digits: usize) -> String {
        let [median, least, most] =
            [self.median, self.least, self.most].map(|value| significant(value, digits));
        format!("{median} ({least} to {most})")
    }

    /// The same for what is counted: up to 10,000, so no digit is rounded away.
    pub(super) fn counted(&self) -> String {
        format!("{} ({} to {})", self.median, self.least, self.most)
    }
}

/// Other people's PINs that are in the text so often.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Others {
    pub(super) copies: usize,
    /// Of the mean over the PINs of one seed, in bits.
    pub(super) mean_exposure: Spread,
    /// The share of all PINs of all seeds that rank first.
    pub(super) first: f64,
}

/// One model over all seeds that trained it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Across {
    pub(super) name: String,
    /// How many seeds this rests on.
    pub(super) seeds: usize,
    /// Of the planted PIN; ties count against the attack.
    pub(super) rank: Spread,
    pub(super) exposure: Spread,
    /// On text that was held out.
    pub(super) perplexity: Spread,
    pub(super) others: Vec<Others>,
}

/// Every model by name, in the order of their first run. A model that was stopped early is no other one, so it is left out.
pub(super) fn across(runs: &[Run]) -> Vec<Across> {
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
            let same: Vec<&Asked> = asked().filter(|asked| asked.name == name).collect();
            let spread = |number: fn(&Asked) -> f64| Spread::of(same.iter().map(|asked| number(asked)));
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

fn others(same: &[&Asked]) -> Vec<Others> {
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
            Some(Others {
                copies,
                mean_exposure: Spread::of(these.iter().map(|others| others.exposure.mean))?,
                first: first as f64 / secrets.max(1) as f64,
            })
        })
        .collect()
}

/// How much of other people's PINs is remembered, by how often they were in the text. `None` without any.
pub(super) fn figure(across: &[Across]) -> Option<Figure> {
    let planted = |model: &Across| -> Vec<(f64, f64)> {
        let planted = model.others.iter().filter(|others| others.copies > 0);
        planted
            .map(|others| (others.copies as f64, others.mean_exposure.median))
            .collect()
    };
    let models = across.iter().map(|model| (model, planted(model)));
    let mut models = models.filter(|(_, points)| !points.is_empty()).peekable();
    models.peek()?;
    let figure = Figure::new("Other people's PINs: what is remembered of them")
        .x_axis("copies in the text", Scale::Log10)
        .y_axis("mean exposure, bits", Scale::Linear)
        .horizontal("never in the text", std::f64::consts::LOG2_E);
    Some(models.fold(figure, |figure, (model, points)| {
        figure.line(&model.name, &points)
    }))
}

/// Medians and ranges, and how much they rest on.
pub(super) fn text(across: &[Across], runs: usize) -> String {
    if runs < 2 {
        return "All of this rests on one seed, and a rank of one seed may be chance: --seeds 5 repeats it.\n".to_owned();
    }
    let mut models = Table::new([
        Column::Left("median (range) over seeds"),
        Column::Right("seeds"),
        Column::Right("PIN's rank"),
        Column::Right("its exposure, bits"),
        Column::Right("perplexity"),
    ]);
    let mut secrets = Table::new([
        Column::Left("other people's PINs"),
        Column::Right("seeds"),
        Column::Right("copies"),
        Column::Right("mean exposure, bits"),
        Column::Right("rank first"),
    ]);
    for model in across {
        models.row([
            model.name.clone(),
            model.seeds.to_string(),
            model.rank.counted(),
            model.exposure.words(3),
            model.perplexity.words(4),
        ]);
        for others in &model.others {
            secrets.row([
                model.name.clone(),
                model.seeds.to_string(),
                others.copies.to_string(),
                others.mean_exposure.words(3),
                percent(others.first),
            ]);
        }
    }
    format!(
        "All {runs} seeds together. A claim about a model rests on as many seeds as its row says.\n\n{models}\n{secrets}"
    )
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
        assert_eq!(three.counted(), "3 (1 to 40)");
        let four = of(&[4.0, 1.0, 3.0, 9.0]).expect("a spread");
        assert_eq!(four.median, 3.5);
        assert_eq!(four.words(3), "3.50 (1.00 to 9.00)");
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
                    Asked::made_up(name, *rank, *perplexity, *unfinished)
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
        let told = text(&found, runs.len());
        assert!(
            told.contains("All 3 seeds together") && told.contains("2 (1 to 3)"),
            "{told}"
        );
        assert!(text(&found[..0], 1).contains("one seed"));
    }
}
