//! `deniable attack bits`: outputs that the neighbour cannot have made.

use crate::delivery::{Outputs, count, watched};
use crate::terminal::{CliError, Interrupt, explained, fail};
use ::report::{Findings, grouped, percent, percent_interval};
use accounting::Epsilon;
use attack::bits::{Exposure, GridExposure, TextbookLaplace, grid_noise};
use audit::binomial::clopper_pearson;
use exact::to_f64_nearest;
use noise::Seeded;
use report::{Column, Figure, Row, Scale, Table, significant};
use serde_json::{Value, json};

/// Does one noisy answer give the truth away by its low bits? Floats against a grid
///
/// A count of 0 or of 1 is answered with Laplace noise, many times. Of every answer it is decided whether any random bits would have made it from the other
/// count. If none would, that one answer reveals the truth for certain, whatever ε was claimed (Mironov 2012). First the textbook's noise, computed in
/// floats as most programs do; then Deniable's, exact on a grid, by the same code as every release.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable attack bits                       a million answers each
  deniable attack bits --draws 1e9           a thousand times as many of ours; Ctrl-C shows what was found so far
  deniable attack bits --epsilon 0.1         wider noise gives less away, and still far too much
  deniable attack bits --plot bits.svg       which answers give themselves away

Exit code: 0 when none of Deniable's answers gives the truth away, 4 when one does.")]
pub(super) struct Arguments {
    /// The ε that both claim; noise has scale 1/ε
    #[arg(long, value_name = "E", default_value = "1")]
    epsilon: String,
    /// Answers of ours on each count (the textbook's are at most a million)
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = count)]
    draws: u64,
    /// What determines the textbook's draws; ours come from the operating system
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

/// Each decision takes dozens of logarithms, and a million tell the share to three digits.
const MOST_TEXTBOOK: u64 = 1_000_000;
/// Exact limits are computed for fewer than 2³² answers on both counts together.
const MOST_DRAWS: u64 = 2_000_000_000;
/// Noise that is compared point by point.
const EPSILONS: std::ops::RangeInclusive<f64> = 0.01..=100.0;
/// The confidence of intervals.
const CONFIDENCE: f64 = 0.95;
/// Answers behind the figure, and the width of its bars.
const DRAWN: u64 = 60_000;
const BAR: f64 = 0.25;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let (findings, sound) = findings(arguments)?;
    arguments.outputs.give(&findings)?;
    if sound {
        Ok(())
    } else {
        Err(CliError::check_failed(
            "answers of Deniable give the truth away: this is a fault, please report it",
        ))
    }
}

/// What was found, and whether nothing was found of ours.
fn findings(arguments: &Arguments) -> Result<(Findings, bool), CliError> {
    if !(1..=MOST_DRAWS).contains(&arguments.draws) {
        return fail(
            "--draws must lie between 1 and 2e9",
            "1e6 take a second, 1e9 some minutes",
        );
    }
    let epsilon = Epsilon::parse(&arguments.epsilon).map_err(explained)?;
    let claimed = to_f64_nearest(epsilon.as_rational());
    if !EPSILONS.contains(&claimed) {
        return fail("--epsilon must lie between 0.01 and 100", "1 is a usual choice");
    }
    let textbook = TextbookLaplace::new(1.0 / claimed).map_err(explained)?;
    let interrupt = Interrupt::listen();
    let draws = arguments.draws.min(MOST_TEXTBOOK);
    let floats = {
        let progress = arguments.outputs.progress("floats", 2 * draws.div_ceil(1 << 12));
        let watch = watched(&progress, &interrupt);
        let side = |values, seed| textbook.exposure(values, draws, seed, &watch);
        [
            side([0.0, 1.0], arguments.seed),
            side([1.0, 0.0], arguments.seed.wrapping_add(1)),
        ]
    };
    let grid = {
        let progress = arguments
            .outputs
            .progress("grid", arguments.draws.div_ceil(1 << 13));
        grid_noise(&epsilon, arguments.draws, &watched(&progress, &interrupt)).map_err(explained)?
    };
    let found = Found {
        epsilon,
        claimed,
        seed: arguments.seed,
        floats,
        grid,
        stopped: interrupt.was_pressed(),
    };
    Ok((found.findings(&textbook), grid.given_away() == 0))
}

struct Found {
    epsilon: Epsilon,
    claimed: f64,
    seed: u64,
    floats: [Exposure; 2],
    grid: GridExposure,
    stopped: bool,
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

impl Found {
    fn findings(&self, textbook: &TextbookLaplace) -> Findings {
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
                self.epsilon
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
            figures: vec![figure(textbook, self.claimed, self.seed)],
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
            significant(1.0 / self.claimed, 3),
            self.epsilon
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
        text += &format!("Seed {}.", self.seed);
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
            "epsilon": self.epsilon.to_string(),
            "seed": self.seed,
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

/// Which answers give themselves away: the share of them by where they lie.
fn figure(textbook: &TextbookLaplace, claimed: f64, seed: u64) -> Figure {
    let width = BAR / claimed;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::parsed;

    fn ask(words: &str) -> Result<(Findings, bool), CliError> {
        findings(&parsed::<Arguments>(words)?)
    }

    #[test]
    fn floats_give_two_thirds_away_and_the_grid_nothing() {
        let (findings, sound) = ask("--draws 20000 --seed 1").expect("an answer");
        assert!(sound);
        let share = |name: &str| findings.json[name]["share"].as_f64().expect("a number");
        assert!((0.6..0.72).contains(&share("textbook_on_0")), "{}", findings.json);
        assert!((0.5..0.7).contains(&share("textbook_on_1")), "{}", findings.json);
        assert_eq!(findings.json["grid"]["give_away"], 0);
        assert_eq!(findings.json["grid"]["answers"], 40_000);
        // 0 of 40,000 at 95 %, both sides: 1 − 0.025^(1/40000).
        let upper = findings.json["grid"]["share_upper"].as_f64().expect("a number");
        assert!((upper - 9.22e-5).abs() < 1e-7, "{upper}");
        // The example is one.
        let example = findings.json["textbook_example"]["answer"]
            .as_f64()
            .expect("a number");
        let laplace = TextbookLaplace::new(1.0).expect("a scale");
        assert!(laplace.can_produce(example, 0.0) && !laplace.can_produce(example, 1.0));
        assert!(
            findings
                .text
                .contains("it comes from 0, and from 1 by no random bits"),
            "{}",
            findings.text
        );
        assert_eq!(findings.rows.len(), 3);
        assert!(findings.figures[0].to_svg().contains("truth is 1"));
        // The same seed tells the same.
        let (again, _) = ask("--draws 20000 --seed 1").expect("an answer");
        assert_eq!(again.json["textbook_on_0"], findings.json["textbook_on_0"]);
    }

    #[test]
    fn nonsense_is_refused() {
        for (words, expected) in [
            ("--draws 0", "--draws must lie"),
            ("--draws 3e9", "--draws must lie"),
            ("--draws many", "whole number"),
            ("--epsilon 0", "--epsilon must lie between"),
            ("--epsilon -1", "unexpected argument"),
            ("--epsilon 1e-9", "--epsilon must lie between"),
            ("--epsilon 500", "--epsilon must lie between"),
        ] {
            let error = ask(words).expect_err(words);
            assert_eq!(error.code, 2);
            assert!(error.to_string().contains(expected), "{words}: {error}");
        }
    }
}
