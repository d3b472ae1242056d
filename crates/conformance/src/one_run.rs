//! What canaries told about models that were trained once.

use crate::witness::verdict_word;
use ::report::{Column, Figure, Findings, Row, Scale, Table, significant};
use audit::black_box::FindingVerdict;
use audit::one_run::Judged;
use exact::to_f64_up;
use serde_json::{Value, json};

/// A model that was judged, in words, as an object, and drawn; `name` is what to call it.
pub fn findings(name: &str, judged: &Judged) -> Findings {
    let shown = Shown { judged };
    Findings {
        text: shown.to_text(),
        json: shown.to_json(),
        title: "An audit of a model, from one run",
        introduction: shown.to_text(),
        rows: vec![row("judge", name, judged)],
        figures: vec![shown.figure("How many guesses were right")],
    }
}

/// A line of a report about one model.
fn row(id: &str, name: &str, judged: &Judged) -> Row {
    let claim = &judged.claim;
    Row::new(
        id,
        name,
        if claim.epsilon.is_some() {
            claim.words()
        } else {
            "no claim".to_owned()
        },
        format!("ε ≥ {}", significant(judged.found.epsilon, 4)),
        !judged.refuted(),
    )
}

/// One of two models that learned the same text with the same canaries, judged.
#[derive(Clone, Debug)]
pub struct AuditedModel {
    /// How it was trained.
    pub name: &'static str,
    /// Whether it was trained to keep the claim.
    pub private: bool,
    /// Its perplexity on other text.
    pub perplexity: f64,
    /// What its likelihoods say of the canaries.
    pub judged: Judged,
}

impl AuditedModel {
    /// What is right about a right auditor: with privacy nothing is refuted, without it the claim is.
    pub fn is_right(&self) -> bool {
        self.judged.refuted() != self.private
    }

    fn verdict(&self) -> Shown<'_> {
        Shown { judged: &self.judged }
    }

    fn to_json(&self) -> Value {
        json!({
            "model": self.name,
            "private": self.private,
            "perplexity": self.perplexity,
            "right": self.is_right(),
            "audit": self.verdict().to_json(),
        })
    }
}

fn text(models: &[AuditedModel]) -> String {
    let mut text = String::new();
    for shown in models {
        text += &format!(
            "A model {} (perplexity {} on other text):\n{}\n",
            shown.name,
            significant(shown.perplexity, 4),
            shown.verdict().to_text()
        );
    }
    if let [private, plain] = models
        && private.is_right()
        && plain.is_right()
    {
        text += "Both learned the same text, with the same canaries in it. The first was trained to keep the claim, and nothing was found against it; for the second it is refuted.\n";
    }
    text
}

/// Both models, in words, as an object, and drawn; `stopped` where one is missing.
pub fn models_findings(models: &[AuditedModel], stopped: bool) -> Findings {
    let judged: Vec<Value> = models.iter().map(AuditedModel::to_json).collect();
    let id = |shown: &AuditedModel| if shown.private { "private" } else { "plain" };
    let rows = models
        .iter()
        .map(|shown| row(id(shown), shown.name, &shown.judged));
    let figures = models
        .iter()
        .rev()
        .map(|shown| shown.verdict().figure(&format!("A model {}", shown.name)));
    Findings {
        text: text(models),
        json: json!({ "models": judged, "stopped": stopped }),
        title: "Two models, audited from one run each",
        introduction: text(models),
        rows: rows.collect(),
        // The last one, without privacy, is the one that is drawn alone.
        figures: figures.collect(),
    }
}

/// A run that was judged, to be shown.
struct Shown<'a> {
    judged: &'a Judged,
}

impl Shown<'_> {
    fn to_text(&self) -> String {
        let mut lines = vec![format!(
            "ε is at least {} at δ = {}, with confidence {}",
            significant(self.judged.found.epsilon, 4),
            self.judged.claim.delta_or_zero(),
            self.judged.confidence
        )];
        lines.push(format!(
            "  canaries {}, of which {} were in the text; all guesses right would show ε = {}",
            self.judged.canaries,
            self.judged.inside,
            significant(self.judged.largest, 3)
        ));
        let (guesses, correct) = self.judged.counts[self.judged.found.best];
        lines.push(format!(
            "  guesses  the surest {} on each side: {correct} of {guesses} right ({})",
            guesses / 2,
            percent(correct, guesses)
        ));
        if let Some(claimed) = &self.judged.claimed {
            let allowed = claimed.allowed[self.judged.found.best];
            lines.push(format!(
                "  allowed  {allowed} of {guesses} ({}) before the claim is refuted; {} % on average",
                percent(allowed, guesses),
                significant(100.0 * claimed.mean, 3)
            ));
            let remark = match claimed.verdict {
                FindingVerdict::Refuted => "refuted",
                FindingVerdict::Consistent => {
                    "consistent (nothing was found against it, which is not a proof)"
                }
            };
            lines.push(format!("  claim    {}: {remark}", self.judged.claim.words()));
            if let Some(short) = self.too_few() {
                lines.push(format!("           {short}"));
            }
        }
        format!("{}\n\n{}", lines.join("\n"), self.table())
    }

    /// A claim that so few canaries cannot refute at this δ and confidence, whatever the model tells.
    fn too_few(&self) -> Option<&'static str> {
        let epsilon = to_f64_up(&self.judged.claim.epsilon.as_ref()?.0);
        (epsilon >= self.judged.largest)
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
        for (place, (guesses, correct)) in self.judged.counts.iter().enumerate() {
            let allowed = self.judged.claimed.as_ref().map(|claimed| claimed.allowed[place]);
            table.row([
                guesses.to_string(),
                correct.to_string(),
                percent(*correct, *guesses),
                allowed.map_or_else(String::new, |allowed| allowed.to_string()),
            ]);
        }
        let paid = if self.judged.counts.len() > 1 {
            "All numbers of guesses were decided on beforehand, and each pays for its part of the confidence.\n"
        } else {
            ""
        };
        format!("{table}{paid}")
    }

    fn to_json(&self) -> Value {
        let claim = self.judged.claimed.as_ref().map(|claimed| {
            json!({
                "epsilon": self.judged.claim.epsilon,
                "delta": self.judged.claim.delta_or_zero(),
                "verdict": verdict_word(claimed.verdict),
            })
        });
        let guesses: Vec<Value> = self
            .judged
            .counts
            .iter()
            .enumerate()
            .map(|(place, (guesses, correct))| {
                json!({
                    "guesses": guesses,
                    "right": correct,
                    "allowed": self.judged.claimed.as_ref().map(|claimed| claimed.allowed[place]),
                })
            })
            .collect();
        json!({
            "epsilon_at_least": self.judged.found.epsilon,
            "delta": to_f64_up(&self.judged.claim.delta_or_zero().0),
            "confidence": self.judged.confidence,
            "canaries": self.judged.canaries,
            "inside": self.judged.inside,
            "guesses": guesses,
            "best": self.judged.found.best,
            "largest_epsilon": self.judged.largest,
            "claim": claim,
        })
    }

    /// How often guesses were right, by how many were made, beside what the claim allows.
    fn figure(&self, title: &str) -> Figure {
        let share = |right: u64, guesses: u64| (guesses as f64, right as f64 / guesses as f64);
        let found: Vec<(f64, f64)> = self
            .judged
            .counts
            .iter()
            .map(|(guesses, correct)| share(*correct, *guesses))
            .collect();
        let figure = Figure::new(title)
            .x_axis("guesses", Scale::Log10)
            .y_axis("share of them that were right", Scale::Linear)
            .line("found", &found)
            .horizontal("tossing a coin", 0.5);
        let Some(claimed) = &self.judged.claimed else {
            return figure;
        };
        let allowed: Vec<(f64, f64)> = self
            .judged
            .counts
            .iter()
            .zip(&claimed.allowed)
            .map(|((guesses, _), allowed)| share(*allowed, *guesses))
            .collect();
        figure.line(format!("{} allows", self.judged.claim.words()), &allowed)
    }
}

fn percent(part: u64, of: u64) -> String {
    format!("{} %", significant(100.0 * part as f64 / of as f64, 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::document::Claim;
    use audit::one_run::{Secrets, Tries, plant};
    use noise::{Entropy, Seeded};

    fn secrets(count: usize) -> Secrets {
        let mut seeded = Seeded::new(9);
        let planted = plant("a line\n", count, "planted.txt", &mut |count| seeded.bits(count));
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
        let reported = judged(|place, inside| f64::from(inside) + place as f64 * 1e-6, "2");
        assert!(
            reported.refuted() && reported.found.epsilon > 5.0,
            "{}",
            reported.found.epsilon
        );
        assert!((reported.found.epsilon - reported.largest).abs() < 1e-9);
        let text = |judged: &Judged| Shown { judged }.to_text();
        assert!(
            text(&reported).contains("900 of 900 right (100 %)"),
            "{}",
            text(&reported)
        );
        let nothing = judged(|place, _| (place as f64 * 0.7).sin(), "0.1");
        assert!(!nothing.refuted());
        assert!(text(&nothing).contains("which is not a proof"));
        // Backwards is wrong, not informative: the guesser states the direction beforehand.
        assert_eq!(judged(|_, inside| -f64::from(inside), "1").found.epsilon, 0.0);
        // A large claim cannot be refuted by so few, and that is said.
        let large = judged(|_, inside| f64::from(inside), "8");
        assert!(!large.refuted() && text(&large).contains("plant more canaries"));
    }
}
