//! From scores and coins to a verdict.
//!
//! How many guesses are made is decided by the number of canaries alone, or by whoever asks, before coins are looked at; for each number the surest are made, on both sides alike. The bound is the
//! best of all numbers, and each is tested at its part of the false-alarm rate: see [`audit::one_run::Tried`], where it is proved.

use super::super::run::verdict_word;
use super::super::{Claim, claim_words};
use super::canaries::Secrets;
use crate::terminal::{CliError, explained, fail};
use attack::memorization::{guess, judge, sides};
use audit::black_box::Verdict;
use audit::one_run::{Found, Tried};
use exact::to_f64_up;
use report::{Column, Figure, Scale, Table, significant};
use serde_json::{Value, json};

/// The numbers of guesses that are tried.
pub(super) struct Tries {
    canaries: usize,
    /// On each side: so many are said to be in, and as many to be out.
    sides: Vec<usize>,
}

impl Tries {
    /// All usual ones, or the one that was decided on.
    pub(super) fn new(canaries: usize, each_side: Option<usize>) -> Result<Self, CliError> {
        let sides = match each_side {
            None => sides(canaries),
            Some(side) if side > 0 && side <= canaries / 2 => vec![side],
            Some(_) => {
                return fail(
                    format!("--guesses must lie between 1 and {}", canaries / 2),
                    "it counts guesses on each side: so many in, and as many out",
                );
            }
        };
        Ok(Self { canaries, sides })
    }

    /// The largest ε that can be shown at δ = 0 and confidence 0.95, if every guess is right.
    pub(super) fn largest_bound(&self) -> Result<f64, CliError> {
        let none = self.sides.iter().map(|side| (2 * *side as u64, 0)).collect();
        let tried = Tried::new(self.canaries as u64, none).map_err(explained)?;
        tried.largest_bound(0.0, 0.95).map_err(explained)
    }
}

/// What was claimed, and what came of it.
struct Claimed {
    verdict: Verdict,
    /// The most right guesses that it allows, for each number of guesses.
    allowed: Vec<u64>,
    /// The share of right guesses that ε allows on average.
    mean: f64,
}

/// A run that was judged.
pub(super) struct Judged {
    claim: Claim,
    confidence: f64,
    canaries: usize,
    inside: usize,
    /// Guesses and how many were right.
    counts: Vec<(u64, u64)>,
    found: Found,
    largest: f64,
    claimed: Option<Claimed>,
}

impl Judged {
    /// Guesses by scores, and only then looks at the coins.
    pub(super) fn new(
        secrets: &Secrets,
        scores: &[f64],
        tries: &Tries,
        claim: Claim,
        confidence: f64,
    ) -> Result<Self, CliError> {
        let mut guessed = Vec::new();
        for side in &tries.sides {
            guessed.push(guess(scores, *side, *side).map_err(explained)?);
        }
        let coins = secrets.coins();
        let mut counts = Vec::new();
        for guesses in &guessed {
            let judged = judge(guesses, &coins).map_err(explained)?;
            counts.push((judged.guesses as u64, judged.correct as u64));
        }
        let tried = Tried::new(coins.len() as u64, counts.clone()).map_err(explained)?;
        // Claims are rounded up, in favour of who claims.
        let delta = to_f64_up(&claim.delta_or_zero().0);
        let found = tried.lower_bound(delta, confidence).map_err(explained)?;
        let claimed = match &claim.epsilon {
            None => None,
            Some(epsilon) => {
                let epsilon = to_f64_up(&epsilon.0);
                let allowed = (0..counts.len())
                    .map(|place| tried.most_allowed(place, epsilon, delta, confidence))
                    .collect::<Result<_, _>>()
                    .map_err(explained)?;
                Some(Claimed {
                    verdict: if found.epsilon > epsilon {
                        Verdict::Refuted
                    } else {
                        Verdict::Consistent
                    },
                    allowed,
                    mean: 1.0 / (1.0 + (-epsilon).exp()),
                })
            }
        };
        Ok(Self {
            largest: tried.largest_bound(delta, confidence).map_err(explained)?,
            canaries: coins.len(),
            inside: secrets.inside(),
            claim,
            confidence,
            counts,
            found,
            claimed,
        })
    }

    /// ε is at least this.
    pub(super) fn epsilon(&self) -> f64 {
        self.found.epsilon
    }

    /// Whether a claim was refuted; not where there is none.
    pub(super) fn refuted(&self) -> bool {
        let verdict = self.claimed.as_ref().map(|claimed| claimed.verdict);
        verdict == Some(Verdict::Refuted)
    }

    /// What was judged.
    pub(super) fn claim(&self) -> &Claim {
        &self.claim
    }

    pub(super) fn to_text(&self) -> String {
        let mut lines = vec![format!(
            "ε is at least {} at δ = {}, with confidence {}",
            significant(self.found.epsilon, 4),
            self.claim.delta_or_zero(),
            self.confidence
        )];
        lines.push(format!(
            "  canaries {}, of which {} were in the text; all guesses right would show ε = {}",
            self.canaries,
            self.inside,
            significant(self.largest, 3)
        ));
        let (guesses, correct) = self.counts[self.found.best];
        lines.push(format!(
            "  guesses  the surest {} on each side: {correct} of {guesses} right ({})",
            guesses / 2,
            percent(correct, guesses)
        ));
        if let Some(claimed) = &self.claimed {
            let allowed = claimed.allowed[self.found.best];
            lines.push(format!(
                "  allowed  {allowed} of {guesses} ({}) before the claim is refuted; {} % on average",
                percent(allowed, guesses),
                significant(100.0 * claimed.mean, 3)
            ));
            let remark = match claimed.verdict {
                Verdict::Refuted => "refuted",
                Verdict::Consistent => "consistent (nothing was found against it, which is not a proof)",
            };
            lines.push(format!("  claim    {}: {remark}", claim_words(&self.claim)));
            if let Some(short) = self.too_few() {
                lines.push(format!("           {short}"));
            }
        }
        format!("{}\n\n{}", lines.join("\n"), self.table())
    }

    /// A claim that so few canaries cannot refute at this δ and confidence, whatever the model tells.
    fn too_few(&self) -> Option<&'static str> {
        let epsilon = to_f64_up(&self.claim.epsilon.as_ref()?.0);
        (epsilon >= self.largest)
            .then_some("no model could refute it here: plant more canaries for a larger ε, or ask for less confidence at this δ")
    }

    /// Every number of guesses that was tried.
    fn table(&self) -> String {
        let mut table = Table::new([
            Column::Right("guesses"),
            Column::Right("right"),
            Column::Right("share"),
            Column::Right("allowed by the claim"),
        ]);
        for (place, (guesses, correct)) in self.counts.iter().enumerate() {
            let allowed = self.claimed.as_ref().map(|claimed| claimed.allowed[place]);
            table.row([
                guesses.to_string(),
                correct.to_string(),
                percent(*correct, *guesses),
                allowed.map_or_else(String::new, |allowed| allowed.to_string()),
            ]);
        }
        let paid = if self.counts.len() > 1 {
            "All numbers of guesses were decided on beforehand, and each pays for its part of the confidence.\n"
        } else {
            ""
        };
        format!("{table}{paid}")
    }

    pub(super) fn to_json(&self) -> Value {
        let claim = self.claimed.as_ref().map(|claimed| {
            json!({
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta_or_zero(),
                "verdict": verdict_word(claimed.verdict),
            })
        });
        let guesses: Vec<Value> = self
            .counts
            .iter()
            .enumerate()
            .map(|(place, (guesses, correct))| {
                json!({
                    "guesses": guesses,
                    "right": correct,
                    "allowed": self.claimed.as_ref().map(|claimed| claimed.allowed[place]),
                })
            })
            .collect();
        json!({
            "epsilon_at_least": self.found.epsilon,
            "delta": to_f64_up(&self.claim.delta_or_zero().0),
            "confidence": self.confidence,
            "canaries": self.canaries,
            "inside": self.inside,
            "guesses": guesses,
            "best": self.found.best,
            "largest_epsilon": self.largest,
            "claim": claim,
        })
    }

    /// How often guesses were right, by how many were made, beside what the claim allows.
    pub(super) fn figure(&self, title: &str) -> Figure {
        let share = |right: u64, guesses: u64| (guesses as f64, right as f64 / guesses as f64);
        let found: Vec<(f64, f64)> = self
            .counts
            .iter()
            .map(|(guesses, correct)| share(*correct, *guesses))
            .collect();
        let figure = Figure::new(title)
            .x_axis("guesses", Scale::Log10)
            .y_axis("share of them that were right", Scale::Linear)
            .line("found", &found)
            .horizontal("tossing a coin", 0.5);
        let Some(claimed) = &self.claimed else {
            return figure;
        };
        let allowed: Vec<(f64, f64)> = self
            .counts
            .iter()
            .zip(&claimed.allowed)
            .map(|((guesses, _), allowed)| share(*allowed, *guesses))
            .collect();
        figure.line(format!("{} allows", claim_words(&self.claim)), &allowed)
    }
}

fn percent(part: u64, of: u64) -> String {
    format!("{} %", significant(100.0 * part as f64 / of as f64, 3))
}

#[cfg(test)]
mod tests {
    use super::super::canaries::plant;
    use super::*;
    use noise::Seeded;

    fn secrets(count: usize) -> Secrets {
        let planted = plant("a line\n", count, "planted.txt", &mut Seeded::new(9));
        planted.expect("planted").secrets
    }

    fn claim(epsilon: &str) -> Claim {
        Claim {
            epsilon: Some(epsilon.parse().expect("a number")),
            delta: Some("1e-6".parse().expect("a number")),
        }
    }

    fn judged(scores: impl Fn(usize, bool) -> f64, epsilon: &str) -> Judged {
        let secrets = secrets(1000);
        let coins = secrets.coins().into_iter().enumerate();
        let scores: Vec<f64> = coins.map(|(place, inside)| scores(place, inside)).collect();
        let tries = Tries::new(1000, None).expect("tries");
        Judged::new(&secrets, &scores, &tries, claim(epsilon), 0.95).expect("judged")
    }

    #[test]
    fn a_model_that_tells_all_is_refuted_and_one_that_tells_nothing_is_not() {
        let told = judged(|place, inside| f64::from(inside) + place as f64 * 1e-6, "2");
        assert!(told.refuted() && told.epsilon() > 5.0, "{}", told.epsilon());
        assert!((told.epsilon() - told.largest).abs() < 1e-9);
        assert!(
            told.to_text().contains("900 of 900 right (100 %)"),
            "{}",
            told.to_text()
        );
        let nothing = judged(|place, _| (place as f64 * 0.7).sin(), "0.1");
        assert!(!nothing.refuted());
        assert!(nothing.to_text().contains("which is not a proof"));
        // Backwards is wrong, not informative: who guesses says which way before.
        assert_eq!(judged(|_, inside| -f64::from(inside), "1").epsilon(), 0.0);
        // A large claim cannot be refuted by so few, and that is said.
        let large = judged(|_, inside| f64::from(inside), "8");
        assert!(!large.refuted() && large.to_text().contains("plant more canaries"));
    }

    #[test]
    fn the_number_of_guesses_may_be_fixed() {
        for bad in [0, 501, usize::MAX] {
            assert!(Tries::new(1000, Some(bad)).is_err());
        }
        let one = Tries::new(1000, Some(500)).expect("tries");
        let all = Tries::new(1000, None).expect("tries");
        let bound = |tries: &Tries| tries.largest_bound().expect("a bound");
        assert!(bound(&one) > bound(&all), "a choice is paid for");
    }
}
