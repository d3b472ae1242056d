//! How well members were distinguished from strangers, beside the most that is allowed.

use ::report::{
    Column, Figure, Findings, Row, Scale, Table, grouped, percent, percent_interval, significant,
};
use attack::Error;
use attack::membership::{Accusations, GaussianLimit, Limit, Noise, Scores};
use audit::binomial::clopper_pearson;
use serde_json::{Value, json};

/// The confidence of each interval.
const CONFIDENCE: f64 = 0.95;
/// A promise is called broken with this confidence, which is far higher: many numbers are looked at.
const BROKEN: f64 = 1.0 - 1e-9;
/// Shares of strangers at which accusations are counted.
const RATES: [f64; 3] = [0.001, 0.01, 0.1];
/// Points of a measured curve that are drawn.
const POINTS: usize = 60;

/// What an experiment found.
#[derive(Clone, Copy, Debug)]
pub struct Report<'found> {
    /// People in each study.
    pub people: u32,
    /// Attributes published.
    pub attributes: usize,
    /// Where all draws started.
    pub seed: u64,
    /// How the means were protected, in each of the ways.
    pub noises: &'found [Noise],
    /// The scores of members and strangers under each noise: by inner product, and by likelihood ratio.
    pub found: &'found [[Scores; 2]],
    /// Whether it ended before all studies were tried.
    pub stopped: bool,
}

/// One way of releasing, and what came of it.
struct Line<'found> {
    name: String,
    /// The noise on a mean: its standard deviation, or its scale.
    size: f64,
    limit: Option<Limit>,
    gaussian: Option<GaussianLimit>,
    inner: &'found Scores,
    ratio: &'found Scores,
}

/// The counts at one rate, by the score that accuses more members, and what is allowed.
struct Accused {
    rate: f64,
    counts: Accusations,
    true_positives: (f64, f64),
    false_positives: (f64, f64),
    /// The most that (ε, δ) and that Gaussian noise allow at the largest plausible rate of false accusations.
    allowed: Option<f64>,
    allowed_gaussian: Option<f64>,
    within: bool,
}

impl Report<'_> {
    /// Everything, and whether all of it is within what is allowed.
    ///
    /// # Errors
    /// When a noise does not exist.
    pub fn findings(&self) -> Result<(Findings, bool), Error> {
        let lines = self.lines()?;
        let accused: Vec<Vec<Accused>> = lines.iter().map(Line::accused).collect();
        let within = accused.iter().flatten().all(|accused| accused.within);
        let findings = Findings {
            text: self.text(&lines, &accused),
            json: self.json(&lines, &accused),
            title: "Deniable: tracing people from published means",
            introduction: format!(
                "{} synthetic studies of {} people and {} attributes, whose frequencies in the population are uniform between 0 and 1 and known. Each is tried on one \
                 member and on one stranger. Seed {}.",
                self.trials(),
                self.people,
                self.attributes,
                self.seed
            ),
            rows: lines
                .iter()
                .zip(&accused)
                .map(|(line, accused)| line.row(accused))
                .collect(),
            figures: vec![self.figure(&lines)],
        };
        Ok((findings, within))
    }

    fn trials(&self) -> u64 {
        self.found
            .first()
            .map_or(0, |scores| scores[0].outside.len() as u64)
    }

    fn lines(&self) -> Result<Vec<Line<'_>>, Error> {
        self.noises
            .iter()
            .zip(self.found)
            .map(|(noise, scores)| {
                Ok(Line {
                    name: match noise {
                        Noise::None => "no noise".to_owned(),
                        Noise::Gaussian(epsilon, _) => format!("Gaussian, ε = {epsilon}"),
                        Noise::Laplace(epsilon) => format!("Laplace, ε = {epsilon}"),
                    },
                    size: noise.size(self.attributes, self.people)?,
                    limit: noise.limit(),
                    gaussian: noise.gaussian_limit()?,
                    inner: &scores[0],
                    ratio: &scores[1],
                })
            })
            .collect()
    }

    fn text(&self, lines: &[Line<'_>], accused: &[Vec<Accused>]) -> String {
        let mut areas = Table::new([
            Column::Left("means with"),
            Column::Right("noise on each"),
            Column::Right("AUC, inner product"),
            Column::Right("AUC, likelihood ratio"),
            Column::Right("(ε, δ) allows"),
            Column::Right("this noise allows"),
        ]);
        let shown = |area: Option<f64>| area.map_or("1".to_owned(), |area| format!("{area:.3}"));
        for line in lines {
            let area = |scores: &Scores| format!("{:.3} ± {:.3}", scores.area(), 1.96 * scores.area_error());
            areas.row([
                line.name.clone(),
                significant(line.size, 3),
                area(line.inner),
                area(line.ratio),
                shown(line.limit.map(|limit| limit.area())),
                match line.gaussian {
                    Some(limit) => format!("{:.3}", limit.area()),
                    None => String::new(),
                },
            ]);
        }
        let mut rates = Table::new([
            Column::Left("means with"),
            Column::Right("threshold for"),
            Column::Right("strangers accused"),
            Column::Right("members accused"),
            Column::Right("95 % interval"),
            Column::Right("(ε, δ) allows"),
            Column::Right("this noise allows"),
        ]);
        for (line, accused) in lines.iter().zip(accused) {
            for accused in accused {
                let most = |share: Option<f64>| share.map_or(String::new(), percent);
                rates.row([
                    line.name.clone(),
                    percent(accused.rate),
                    percent(accused.counts.false_positives as f64 / accused.counts.trials as f64),
                    percent(accused.counts.true_positives as f64 / accused.counts.trials as f64),
                    percent_interval(accused.true_positives),
                    accused.allowed.map_or("100 %".to_owned(), percent),
                    most(accused.allowed_gaussian),
                ]);
            }
        }
        let delta = lines
            .iter()
            .find_map(|line| line.limit)
            .map_or(String::new(), |limit| {
                format!(
                    "; ε and δ = {} are about all means together and one person exchanged for another",
                    significant(limit.delta, 1)
                )
            });
        let verdict = if accused.iter().flatten().all(|accused| accused.within) {
            "Nobody is traced more often than (ε, δ) allows."
        } else {
            "MORE are traced than (ε, δ) allows."
        };
        let stopped = if self.stopped {
            " Stopped before the end: this is what was found by then."
        } else {
            ""
        };
        format!(
            "{} studies of {} people and {} attributes, each tried on one member and one stranger{delta}.\n\n{areas}\n{rates}\n\
             Thresholds were fixed on one half of the studies and counted on the other, by the score that accuses more members; what is allowed is \
             taken at the upper end of the interval for strangers. {verdict} Seed {}.{stopped}\n",
            grouped(self.trials()),
            self.people,
            grouped(self.attributes as u64),
            self.seed
        )
    }

    fn json(&self, lines: &[Line<'_>], accused: &[Vec<Accused>]) -> Value {
        let area = |scores: &Scores| json!({ "area": scores.area(), "standard_error": scores.area_error() });
        let releases: Vec<Value> = lines
            .iter()
            .zip(accused)
            .zip(self.noises)
            .map(|((line, accused), noise)| {
                json!({
                    "noise": line.name,
                    "promise": noise.promise().map(|promise| promise.to_string()),
                    "size_on_a_mean": line.size,
                    "inner_product": area(line.inner),
                    "likelihood_ratio": area(line.ratio),
                    "area_allowed": line.limit.map_or(1.0, |limit| limit.area()),
                    "area_allowed_by_gaussian_noise": line.gaussian.map(|limit| limit.area()),
                    "accusations": accused.iter().map(Accused::json).collect::<Vec<Value>>(),
                })
            })
            .collect();
        json!({
            "command": "attack membership",
            "people": self.people,
            "attributes": self.attributes,
            "trials": self.trials(),
            "seed": self.seed,
            "stopped_early": self.stopped,
            "confidence": CONFIDENCE,
            "releases": releases,
        })
    }

    /// Points are measured, lines are the most that is allowed; a release has one colour.
    fn figure(&self, lines: &[Line<'_>]) -> Figure {
        let mut figure = Figure::new("Tracing from means: points measured, lines the most allowed")
            .x_axis("strangers accused", Scale::Linear)
            .y_axis("members accused", Scale::Linear)
            .y_at_most(1.0);
        for line in lines {
            figure = figure.points(line.name.clone(), &thinned(&line.better().curve()));
            if let Some(limit) = line.limit {
                figure = figure.line(line.name.clone(), &limit.corners());
            }
            if let Some(limit) = line.gaussian {
                figure = figure.line(line.name.clone(), &limit.curve(100));
            }
        }
        figure.line("a coin", &[(0.0, 0.0), (1.0, 1.0)])
    }
}

/// About sixty points of a curve, evenly along it.
fn thinned(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut passed = 0.0;
    for pair in curve.windows(2) {
        passed += (pair[1].0 - pair[0].0) + (pair[1].1 - pair[0].1);
        if passed >= 2.0 / POINTS as f64 {
            kept.push(pair[1]);
            passed = 0.0;
        }
    }
    kept
}

impl Line<'_> {
    /// The scores with the larger area.
    fn better(&self) -> &Scores {
        if self.ratio.area() > self.inner.area() {
            self.ratio
        } else {
            self.inner
        }
    }

    fn accused(&self) -> Vec<Accused> {
        RATES.iter().map(|rate| self.accused_at(*rate)).collect()
    }

    fn accused_at(&self, rate: f64) -> Accused {
        let [inner, ratio] = [self.inner, self.ratio].map(|scores| scores.accusations(rate));
        let within = |counts: &Accusations| {
            let (least, _) = clopper_pearson(counts.true_positives, counts.trials, BROKEN);
            let (_, most) = clopper_pearson(counts.false_positives, counts.trials, BROKEN);
            let ordinary = self.limit.is_none_or(|limit| least <= limit.true_positives(most));
            ordinary
                && self
                    .gaussian
                    .is_none_or(|limit| least <= limit.true_positives(most))
        };
        let counts = if ratio.true_positives > inner.true_positives {
            ratio
        } else {
            inner
        };
        let true_positives = clopper_pearson(counts.true_positives, counts.trials, CONFIDENCE);
        let false_positives = clopper_pearson(counts.false_positives, counts.trials, CONFIDENCE);
        Accused {
            rate,
            counts,
            true_positives,
            false_positives,
            allowed: self.limit.map(|limit| limit.true_positives(false_positives.1)),
            allowed_gaussian: self.gaussian.map(|limit| limit.true_positives(false_positives.1)),
            within: within(&inner) && within(&ratio),
        }
    }

    fn row(&self, accused: &[Accused]) -> Row {
        let expected = match (self.limit, self.gaussian) {
            (Some(limit), Some(gaussian)) => format!(
                "at most {:.3}, with Gaussian noise {:.3}",
                limit.area(),
                gaussian.area()
            ),
            (Some(limit), None) => format!("at most {:.3}", limit.area()),
            _ => "nothing is promised".to_owned(),
        };
        let measured = format!(
            "{:.3} by inner product, {:.3} by likelihood ratio",
            self.inner.area(),
            self.ratio.area()
        );
        let within = accused.iter().all(|accused| accused.within);
        accused.iter().fold(
            Row::new(&self.name, "area under the curve", expected, measured, within),
            |row, accused| {
                row.note(format!(
                    "Of {} strangers {} are accused, and of as many members {} ({}); allowed are {}.",
                    accused.counts.trials,
                    accused.counts.false_positives,
                    accused.counts.true_positives,
                    percent_interval(accused.true_positives),
                    percent(accused.allowed.unwrap_or(1.0)),
                ))
            },
        )
    }
}

impl Accused {
    fn json(&self) -> Value {
        json!({
            "threshold_for": self.rate,
            "trials": self.counts.trials,
            "strangers_accused": self.counts.false_positives,
            "members_accused": self.counts.true_positives,
            "members_lower": self.true_positives.0,
            "members_upper": self.true_positives.1,
            "strangers_upper": self.false_positives.1,
            "members_allowed": self.allowed.unwrap_or(1.0),
            "members_allowed_by_gaussian_noise": self.allowed_gaussian,
            "within": self.within,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::Epsilon;

    #[test]
    fn more_than_is_allowed_is_seen() {
        // Scores that always tell, under noise that promises ε = 1.
        let telling = Scores {
            inside: vec![1.0; 400],
            outside: vec![0.0; 400],
        };
        let epsilon = Epsilon::parse("1").expect("a number");
        let noises = [Noise::Laplace(epsilon)];
        let found = [[telling.clone(), telling]];
        let report = Report {
            people: 10,
            attributes: 10,
            seed: 1,
            noises: &noises,
            found: &found,
            stopped: false,
        };
        let (findings, within) = report.findings().expect("a report");
        assert!(!within);
        assert!(findings.text.contains("MORE are traced"), "{}", findings.text);
    }
}
