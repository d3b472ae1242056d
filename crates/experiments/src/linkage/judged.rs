//! How many links are right, and what a private release would have allowed instead.

use ::report::{Row, grouped, percent};
use accounting::{Delta, Epsilon};
use attack::linkage::Judged;
use exact::to_f64_nearest;
use serde_json::{Value, json};

/// The private release that is shown beside an attack.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Its ε.
    pub epsilon: Epsilon,
    /// Its δ.
    pub delta: Delta,
}

/// How right links are, in words.
pub(super) fn judged_words(judged: Option<&Judged>) -> String {
    match judged {
        Some(judged) => format!(
            "Of these {} are right and {} are wrong: precision {}, recall {} of the {} who could be found.",
            grouped(judged.right as u64),
            grouped(judged.wrong as u64),
            percent(judged.precision()),
            percent(judged.recall()),
            grouped(judged.findable as u64)
        ),
        None => "How many of them are right is not known without --truth.".to_owned(),
    }
}

/// How right links are, for programs.
pub(super) fn judged_json(judged: Option<&Judged>) -> Value {
    match judged {
        Some(judged) => json!({
            "right": judged.right,
            "wrong": judged.wrong,
            "findable": judged.findable,
            "precision": judged.precision(),
            "recall": judged.recall(),
        }),
        None => Value::Null,
    }
}

impl Beside {
    /// How often a guess at one of two equally likely facts about a person can be right at most: (e^ε + δ)/(1 +
    /// e^ε).
    pub(super) fn right_guesses(&self) -> f64 {
        let ratio = to_f64_nearest(self.epsilon.as_rational()).exp();
        1.0 - (1.0 - self.delta.to_f64_up()) / (1.0 + ratio)
    }

    /// The same in words.
    pub(super) fn words(&self) -> String {
        format!(
            "A release with ({}, {}) differential privacy has no rows to link, and whoever guesses between two equally likely facts about a person from it is right with probability at most {}.",
            self.epsilon,
            self.delta,
            percent(self.right_guesses())
        )
    }

    /// A row of a page: links that were made, where privacy allows none.
    pub(super) fn row(&self, id: &str, claim: &str, linked: usize, judged: Option<&Judged>) -> Row {
        let measured = match judged {
            Some(judged) => format!(
                "{}, {} right",
                grouped(linked as u64),
                percent(judged.precision())
            ),
            None => grouped(linked as u64),
        };
        Row::new(id, claim, "none", measured, linked == 0).note(self.words())
    }
}
