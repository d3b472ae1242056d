//! What low bits reveal: answers of a textbook mechanism in floats, and of ours on a grid, that the neighbour
//! cannot have produced.
//!
//! ```
//! use experiments::bits::Study;
//!
//! let study = Study::new(accounting::Epsilon::parse("1")?, 1)?;
//! let found = study.found(study.floats(2_000, &|_| true), study.grid(2_000, &|_| true)?, false);
//! assert!(found.is_sound(), "no answer on the grid gives the truth away");
//! assert!(found.findings().json["textbook_on_0"]["share"].as_f64() > Some(0.5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ::report::{
    Column, Figure, Findings, Row, Scale, Table, grouped, percent, percent_interval, significant,
};
use accounting::Epsilon;
use attack::bits::{Exposure, GridExposure, TextbookLaplace, grid_noise};
use attack::{Error, Watch};
use audit::binomial::clopper_pearson;
use exact::to_f64_nearest;
use noise::Seeded;
use serde_json::{Value, json};

/// Each decision takes dozens of logarithms, and a million tell the share to three digits.
const MOST_TEXTBOOK: u64 = 1_000_000;
/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;
/// Answers behind the figure, and the width of its bars.
const DRAWN: u64 = 60_000;
const BAR: f64 = 0.25;

/// A count of 0 or 1, answered by both mechanisms at the same ε.
#[derive(Clone, Debug)]
pub struct Study {
    epsilon: Epsilon,
    /// What determines the textbook's draws; ours come from the operating system.
    seed: u64,
    textbook: TextbookLaplace,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Found<'study> {
    study: &'study Study,
    floats: [Exposure; 2],
    grid: GridExposure,
    stopped: bool,
}

impl Study {
    /// Noise of scale 1/ε; `seed` determines the textbook's draws.
    ///
    /// # Errors
    /// When floats have no noise of this scale.
    pub fn new(epsilon: Epsilon, seed: u64) -> Result<Self, Error> {
        let textbook = TextbookLaplace::new(1.0 / to_f64_nearest(epsilon.as_rational()))?;
        Ok(Self {
            epsilon,
            seed,
            textbook,
        })
    }

    fn claimed(&self) -> f64 {
        to_f64_nearest(self.epsilon.as_rational())
    }

    /// How many pieces [`Study::floats`] tells of.
    pub fn steps_of_floats(&self, draws: u64) -> u64 {
        2 * draws.min(MOST_TEXTBOOK).div_ceil(1 << 12)
    }

    /// The textbook's answers on 0 and on 1, a million each at most.
    pub fn floats(&self, draws: u64, watch: &Watch<'_>) -> [Exposure; 2] {
        let draws = draws.min(MOST_TEXTBOOK);
        let side = |values, seed| self.textbook.exposure(values, draws, seed, watch);
        [
            side([0.0, 1.0], self.seed),
            side([1.0, 0.0], self.seed.wrapping_add(1)),
        ]
    }

    /// How many pieces [`Study::grid`] tells of.
    pub fn steps_of_grid(&self, draws: u64) -> u64 {
        draws.div_ceil(1 << 13)
    }

    /// Our answers on both.
    ///
    /// # Errors
    /// When the mechanism cannot be built, or randomness fails.
    pub fn grid(&self, draws: u64, watch: &Watch<'_>) -> Result<GridExposure, Error> {
        grid_noise(&self.epsilon, draws, watch)
    }

    /// Both together; `stopped` where they are fewer than were asked for.
    pub fn found(&self, floats: [Exposure; 2], grid: GridExposure, stopped: bool) -> Found<'_> {
        Found {
            study: self,
            floats,
            grid,
            stopped,
        }
    }

    /// Which answers give themselves away: the share of them by where they lie.
    fn figure(&self) -> Figure {
        let (textbook, seed) = (&self.textbook, self.seed);
        let width = BAR / self.claimed();
        let shares = |value: f64, neighbour: f64| -> Vec<(f64, f64)> {
            let mut entropy = Seeded::new(seed);
            let mut bars = std::collections::BTreeMap::<i64, (u64, u64)>::new();
            for _ in 0..DRAWN {
                let output = textbook.draw(value, &mut entropy);
                let bar = bars.entry((output / width).floor() as i64).or_default();
                bar.0 += 1;
                bar.1 += u64::from(!textbook.can_produce(output, neighbour));
            }
            bars.into_iter()
                // Fewer tell no share.
                .filter(|(_, (answers, _))| *answers >= 100)
                .map(|(place, (answers, given_away))| {
                    ((place as f64 + 0.5) * width, given_away as f64 / answers as f64)
                })
                .collect()
        };
        Figure::new("Textbook answers that exclude the other count")
            .x_axis("answer", Scale::Linear)
            .y_axis("share that gives the truth away", Scale::Linear)
            .y_at_most(1.0)
            .line("truth is 0", &shares(0.0, 1.0))
            .line("truth is 1", &shares(1.0, 0.0))
            .horizontal("on a grid, and what ε allows", 0.0)
    }
}

fn share(given_away: u64, draws: u64) -> (f64, (f64, f64)) {
    if draws == 0 {
        return (0.0, (0.0, 1.0));
    }
    (
        given_away as f64 / draws as f64,
        clopper_pearson(given_away, draws, CONFIDENCE),
    )
}

impl Found<'_> {
    /// Whether none of our answers gives the truth away.
    pub fn is_sound(&self) -> bool {
        self.grid.given_away() == 0
    }

    /// In words, as an object, and drawn.
    pub fn findings(&self) -> Findings {
        let ours = self.grid.draws.iter().sum();
        let measured = |given_away, draws| {
            let (share, ends) = share(given_away, draws);
            format!("{} ({})", percent(share), percent_interval(ends))
        };
        let row = |id: &str, claim: &str, given_away: u64, draws: u64| {
            let claim = format!("{claim}: answers that exclude the other count");
            Row::new(id, claim, "none", measured(given_away, draws), given_away == 0)
        };
        Findings {
            text: self.text(),
            json: self.json(),
            title: "Deniable: what low bits give away",
            introduction: format!(
                "A count of 0 or 1 is answered with Laplace noise that claims ε = {}. An answer that no random bits make from the other count gives \
                 the truth away for certain, where ε-differential privacy allows no such answer at all.",
                self.study.epsilon
            ),
            rows: vec![
                row(
                    "textbook 0",
                    "textbook noise in floats, on 0",
                    self.floats[0].given_away,
                    self.floats[0].draws,
                ),
                row(
                    "textbook 1",
                    "textbook noise in floats, on 1",
                    self.floats[1].given_away,
                    self.floats[1].draws,
                ),
                row(
                    "grid",
                    "Deniable's noise on a grid, on both",
                    self.grid.given_away(),
                    ours,
                ),
            ],
            figures: vec![self.study.figure()],
        }
    }

    fn text(&self) -> String {
        let mut table = Table::new([
            Column::Left("noise"),
            Column::Left("truth"),
            Column::Right("answers"),
            Column::Right("give it away"),
            Column::Right("share"),
            Column::Right("95 % interval"),
            Column::Right("ε allows"),
        ]);
        let mut row = |noise: &str, truth: &str, given_away: u64, draws: u64| {
            let (part, ends) = share(given_away, draws);
            table.row([
                noise,
                truth,
                &grouped(draws),
                &grouped(given_away),
                &percent(part),
                &percent_interval(ends),
                "none",
            ]);
        };
        for (truth, exposure) in ["0", "1"].into_iter().zip(&self.floats) {
            row("textbook, in floats", truth, exposure.given_away, exposure.draws);
        }
        row(
            "Deniable, on a grid",
            "0 or 1",
            self.grid.given_away(),
            self.grid.draws.iter().sum(),
        );
        let mut text = format!(
            "A count of 0 or 1, answered with noise of scale {} (ε = {}). An answer gives the truth away if no random bits make it from the other count.\n\n{table}\n",
            significant(1.0 / self.study.claimed(), 3),
            self.study.epsilon
        );
        if let Some((_, example)) = self.floats[0].example {
            text += &format!(
                "Such an answer is {example:e} (bits {:#018x}): it comes from 0, and from 1 by no random bits.\n",
                example.to_bits()
            );
        }
        text += &format!(
            "On the grid {} points came at least {} times; {} came from one count only, and {} answers were off the grid.\n",
            grouped(self.grid.points_compared),
            self.grid.fewest,
            match self.grid.points_one_sided {
                0 => "none".to_owned(),
                some => grouped(some),
            },
            match self.grid.off_grid {
                0 => "no".to_owned(),
                some => grouped(some),
            }
        );
        text += &format!("Seed {}.", self.study.seed);
        if self.stopped {
            text += " Stopped before the end: this is what was found by then.";
        }
        text + "\n"
    }

    fn json(&self) -> Value {
        let exposure = |given_away: u64, draws: u64| {
            let (share, (low, high)) = share(given_away, draws);
            json!({ "answers": draws, "give_away": given_away, "share": share, "share_lower": low, "share_upper": high })
        };
        let example = |exposure: &Exposure| {
            exposure
                .example
                .map(|(_, output)| json!({ "answer": output, "bits": format!("{:#018x}", output.to_bits()) }))
        };
        json!({
            "command": "attack bits",
            "epsilon": self.study.epsilon.to_string(),
            "seed": self.study.seed,
            "stopped_early": self.stopped,
            "confidence": CONFIDENCE,
            "textbook_on_0": exposure(self.floats[0].given_away, self.floats[0].draws),
            "textbook_on_1": exposure(self.floats[1].given_away, self.floats[1].draws),
            "textbook_example": example(&self.floats[0]),
            "grid": exposure(self.grid.given_away(), self.grid.draws.iter().sum()),
            "grid_points_compared": self.grid.points_compared,
            "grid_points_one_sided": self.grid.points_one_sided,
            "allowed": 0,
        })
    }
}
