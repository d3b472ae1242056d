//! What an audit of somebody's program found.

use crate::witness::{curve_figure, deltas, event_lines, names, verdict_word};
use ::report::{Figure, Findings, Row, significant};
use audit::black_box::{FindingVerdict, Lens, Witness};
use audit::document::{Claim, Number};
use exact::to_f64_up;
use serde_json::{Value, json};

/// An audit of a program, to be reported.
#[derive(Clone, Debug)]
pub struct AuditedProgram {
    /// The program and its arguments.
    pub program: String,
    /// The claim that it was held to.
    pub claim: Claim,
    /// One minus the probability of a false alarm, as it was asked for.
    pub confidence: Number,
    /// Draws from each input, about.
    pub samples: u64,
    /// The pair of inputs that told most.
    pub inputs: [String; 2],
    /// How many pairs were searched.
    pub pairs: usize,
    /// What was looked at in the outputs.
    pub lens: Lens,
    /// What was found.
    pub witness: Witness,
    /// The command that makes the same audit again.
    pub replay: String,
}

impl AuditedProgram {
    /// Whether the claim is refuted; `None` if none was made. Claims are rounded up, in favour of the
    /// program.
    pub fn verdict(&self) -> Option<FindingVerdict> {
        let epsilon = self.claim.epsilon.as_ref()?;
        Some(self.witness.verdict(to_f64_up(&epsilon.0), self.delta()))
    }

    fn delta(&self) -> f64 {
        to_f64_up(&self.claim.delta_or_zero().0)
    }

    /// ε is at least this, at the claimed δ.
    fn bound(&self) -> f64 {
        self.witness.epsilon_at(self.delta())
    }

    fn lines(&self) -> Vec<String> {
        let witness = &self.witness;
        let claim = &self.claim;
        let mut lines = vec![format!(
            "ε is at least {} at δ = {}, with confidence {}",
            significant(self.bound(), 4),
            claim.delta_or_zero(),
            self.confidence
        )];
        if self.pairs > 1 {
            let searched = format!("the best of {} pairs", self.pairs);
            lines.push(format!(
                "  inputs   {} and {}, {searched}",
                quoted(&self.inputs[0]),
                quoted(&self.inputs[1])
            ));
        } else {
            lines.push(format!(
                "  inputs   {} and {}",
                quoted(&self.inputs[0]),
                quoted(&self.inputs[1])
            ));
        }
        lines.extend(event_lines(witness));
        if witness.event.contains("bit") && self.lens == Lens::Everything {
            lines.push("           raw bits give it away; --look values audits the values alone".to_string());
        }
        if let Some(verdict) = self.verdict() {
            let remark = match verdict {
                FindingVerdict::Refuted => "refuted",
                FindingVerdict::Consistent => {
                    "consistent (nothing was found against it, which is not a proof)"
                }
            };
            lines.push(format!("  claim    {}: {remark}", claim.words()));
        }
        lines.push(format!("  replay   {}", self.replay));
        lines
    }

    fn to_json(&self) -> Value {
        let witness = &self.witness;
        let claim = self.verdict().map(|verdict| {
            json!({
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta_or_zero(),
                "verdict": verdict_word(verdict),
            })
        });
        let curve: Vec<Value> = deltas()
            .map(|delta| json!([delta, witness.epsilon_at(delta)]))
            .collect();
        json!({
            "epsilon_at_least": self.bound(),
            "delta": self.delta(),
            "confidence": witness.confidence,
            "holds_at_any_moment": witness.anytime,
            "samples_per_input": self.samples,
            "inputs": self.inputs,
            "event": witness.event,
            "mirror_event": witness.mirror,
            "likely_input": names(witness.likely).0,
            "counts": {
                "likely": witness.hits[0],
                "unlikely": witness.hits[1],
                "likely_draws": witness.draws[0],
                "unlikely_draws": witness.draws[1],
            },
            "epsilon_at_least_by_delta": curve,
            "claim": claim,
            "replay": self.replay,
        })
    }

    fn figure(&self) -> Figure {
        let claimed = self.claim.epsilon.as_ref().map(|epsilon| to_f64_up(&epsilon.0));
        curve_figure("What was found", &self.witness, claimed)
    }

    /// In words, as an object, and drawn.
    pub fn findings(&self) -> Findings {
        let claim = &self.claim;
        let text = self.lines().join("\n") + "\n";
        let row = Row::new(
            "run",
            &self.program,
            if claim.epsilon.is_some() {
                claim.words()
            } else {
                "no claim".to_string()
            },
            format!("ε ≥ {}", significant(self.bound(), 4)),
            self.verdict() != Some(FindingVerdict::Refuted),
        );
        Findings {
            introduction: text.clone(),
            text,
            json: self.to_json(),
            title: "An audit of a program",
            rows: vec![row],
            figures: vec![self.figure()],
        }
    }
}

/// The word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_shell_reads_back_what_was_quoted() {
        for (word, expected) in [
            ("./noisy-count", "./noisy-count"),
            ("", "''"),
            ("{ print $1 }", "'{ print $1 }'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
